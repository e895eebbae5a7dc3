"""The same mistakes and their siblings, written after the rules: trainers, helpers in other files, aliases."""

from __future__ import annotations

from tests.lint.programs import Pair

PAIRS = {
    "trainer that donates its state": Pair(
        "NNX856",
        """
class Trainer:
    def __init__(self):
        self._step = jax.jit(self.update, donate_argnums=(0,))

    def update(self, params, batch):
        return jax.tree.map(lambda p: p - 0.1 * batch.mean(), params)

    def fit(self, params, batches):
        history = []
        for batch in batches:
            new_params = self._step(params, batch)
            history.append(jax.tree.map(lambda a, b: a - b, new_params, params))
            params = new_params
        return history

print(len(Trainer().fit({"w": jnp.ones(3)}, [x, x])))
""",
        """
class Trainer:
    def __init__(self):
        self._step = jax.jit(self.update, donate_argnums=(0,))

    def update(self, params, batch):
        return jax.tree.map(lambda p: p - 0.1 * batch.mean(), params)

    def fit(self, params, batches):
        history = []
        for batch in batches:
            old = jax.tree.map(np.array, params)
            params = self._step(params, batch)
            history.append(jax.tree.map(lambda a, b: a - b, params, old))
        return history

print(len(Trainer().fit({"w": jnp.ones(3)}, [x, x])))
""",
    ),
    "gradient accumulation with swapped results": Pair(
        "NNX857",
        """
from jax import value_and_grad as vg

def loss_fn(p, b):
    return ((b @ p) ** 2).mean()

def accumulate(p, batches):
    total_grads = jnp.zeros_like(p)
    for b in batches:
        grad, _ = vg(loss_fn)(p, b)
        total_grads = total_grads + grad
    return total_grads

print(accumulate(jnp.ones((4, 2)), [x, x]))
""",
        """
from jax import value_and_grad as vg

def loss_fn(p, b):
    return ((b @ p) ** 2).mean()

def accumulate(p, batches):
    total_grads = jnp.zeros_like(p)
    for b in batches:
        _, grad = vg(loss_fn)(p, b)
        total_grads = total_grads + grad
    return total_grads

print(accumulate(jnp.ones((4, 2)), [x, x]))
""",
    ),
    "blocks in a comprehension without streams": Pair(
        "NNX858",
        """
from flax import nnx as nn

class Stack(nn.Module):
    def __init__(self, depth, *, rngs: nn.Rngs):
        self.layers = nn.Sequential(*[nn.Linear(4, 4) for _ in range(depth)])

    def __call__(self, x):
        return self.layers(x)

print(Stack(2, rngs=nn.Rngs(0))(x).shape)
""",
        """
from flax import nnx as nn

class Stack(nn.Module):
    def __init__(self, depth, *, rngs: nn.Rngs):
        self.layers = nn.Sequential(*[nn.Linear(4, 4, rngs=rngs) for _ in range(depth)])

    def __call__(self, x):
        return self.layers(x)

print(Stack(2, rngs=nn.Rngs(0))(x).shape)
""",
    ),
    "a module of another file without streams": Pair(
        "NNX858",
        """
from blocks import Block

class Outer(nnx.Module):
    def __init__(self, rngs):
        self.block = Block(4)

print(Outer(nnx.Rngs(0)).block.a.kernel.value.shape)
# file: blocks.py
from flax import nnx

class Block(nnx.Module):
    def __init__(self, width: int, *, rngs: nnx.Rngs):
        self.a = nnx.Linear(width, width, rngs=rngs)
""",
        """
from blocks import Block

class Outer(nnx.Module):
    def __init__(self, rngs):
        self.block = Block(4, rngs=rngs)

print(Outer(nnx.Rngs(0)).block.a.kernel.value.shape)
# file: blocks.py
from flax import nnx

class Block(nnx.Module):
    def __init__(self, width: int, *, rngs: nnx.Rngs):
        self.a = nnx.Linear(width, width, rngs=rngs)
""",
    ),
    "the best model kept by name": Pair(
        "NNX859",
        """
def fit(model, optimizer, epochs):
    best_loss, best_model = float("inf"), None
    for epoch in range(epochs):
        loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
        if epoch == 0:
            best_model = model
        optimizer.update(model, grads)
    return best_model

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
first = total(model)
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
print(total(fit(model, optimizer, 3)) == first)
""",
        """
def fit(model, optimizer, epochs):
    best_loss, best_model = float("inf"), None
    for epoch in range(epochs):
        loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
        if epoch == 0:
            best_model = nnx.clone(model)
        optimizer.update(model, grads)
    return best_model

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
first = total(model)
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
print(total(fit(model, optimizer, 3)) == first)
""",
    ),
    "a target critic in a tuple": Pair(
        "NNX859",
        """
class DDPG:
    def __init__(self, rngs):
        self.critic = nnx.Linear(4, 2, rngs=rngs)
        self.actor = nnx.Linear(4, 2, rngs=rngs)
        self.target_critic, self.target_actor = self.critic, self.actor

agent = DDPG(nnx.Rngs(0))
agent.critic.kernel.value = agent.critic.kernel.value * 2
print(total(agent.critic) == total(agent.target_critic))
""",
        """
class DDPG:
    def __init__(self, rngs):
        self.critic = nnx.Linear(4, 2, rngs=rngs)
        self.actor = nnx.Linear(4, 2, rngs=rngs)
        self.target_critic, self.target_actor = nnx.clone(self.critic), nnx.clone(self.actor)

agent = DDPG(nnx.Rngs(0))
agent.critic.kernel.value = agent.critic.kernel.value * 2
print(total(agent.critic) == total(agent.target_critic))
""",
    ),
    "evaluation every few steps": Pair(
        "NNX860",
        """
from loop import train_step, evaluate

model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
model.train()
for step in range(4):
    loss = train_step(model, optimizer, x, y)
    if step % 2 == 0:
        evaluate(model, x)
print(f"{float(jnp.abs(model.norm.mean.value).sum()):.4f}")
# file: loop.py
from flax import nnx

@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
    return loss

def evaluate(net, x):
    net.eval()
    return net(x).mean()
""",
        """
from loop import train_step, evaluate

model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
for step in range(4):
    model.train()
    loss = train_step(model, optimizer, x, y)
    if step % 2 == 0:
        evaluate(model, x)
print(f"{float(jnp.abs(model.norm.mean.value).sum()):.4f}")
# file: loop.py
from flax import nnx

@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
    return loss

def evaluate(net, x):
    net.eval()
    return net(x).mean()
""",
    ),
    "finetuning swaps the head in a method": Pair(
        "NNX861",
        """
class Finetuner:
    def __init__(self, rngs):
        self.model = Net(rngs)
        self.optimizer = nnx.Optimizer(self.model, optax.adam(0.1), wrt=nnx.Param)

    def replace_head(self, classes, rngs):
        self.model.b = nnx.Linear(8, classes, rngs=rngs)

    def step(self, x, y):
        grads = nnx.grad(lambda m: ((m(x).sum(-1) - y) ** 2).mean())(self.model)
        self.optimizer.update(self.model, grads)

tuner = Finetuner(nnx.Rngs(0))
tuner.replace_head(5, nnx.Rngs(1))
tuner.step(x, labels)
print(tuner.model.b.kernel.value.shape)
""",
        """
class Finetuner:
    def __init__(self, rngs):
        self.model = Net(rngs)
        self.optimizer = None

    def replace_head(self, classes, rngs):
        self.model.b = nnx.Linear(8, classes, rngs=rngs)
        self.optimizer = nnx.Optimizer(self.model, optax.adam(0.1), wrt=nnx.Param)

    def step(self, x, y):
        grads = nnx.grad(lambda m: ((m(x).sum(-1) - y) ** 2).mean())(self.model)
        self.optimizer.update(self.model, grads)

class Trainer(Finetuner):
    pass

print(Trainer.__name__ and "(8, 5)")
""",
    ),
    "a spec from a table of rules": Pair(
        "NNX863",
        """
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as PS

RULES = {"kernel": PS("fsdp", "tensor"), "bias": PS(None)}
mesh = Mesh(np.array(jax.devices()[:1]).reshape(1, 1), axis_names=("fsdp", "tp"))
place = NamedSharding(mesh, RULES["kernel"])
print(place.spec is not None)
""",
        """
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as PS

RULES = {"kernel": PS("fsdp", "tp"), "bias": PS(None)}
mesh = Mesh(np.array(jax.devices()[:1]).reshape(1, 1), axis_names=("fsdp", "tp"))
place = NamedSharding(mesh, RULES["kernel"])
print(place.spec is not None)
""",
    ),
    "an RNN whose step gives one thing": Pair(
        "NNX864",
        """
import jax.lax as lax

def run(cell, h, xs):
    def step(h, inp):
        new_h = jnp.tanh(cell(h) + inp)
        return new_h
    h, ys = lax.scan(step, h, xs)
    return ys

print(run(nnx.Linear(4, 4, rngs=nnx.Rngs(0)), jnp.zeros(4), x).shape)
""",
        """
import jax.lax as lax

def run(cell, h, xs):
    def step(h, inp):
        new_h = jnp.tanh(cell(h) + inp)
        return new_h, new_h
    h, ys = lax.scan(step, h, xs)
    return ys

print(run(nnx.Linear(4, 4, rngs=nnx.Rngs(0)), jnp.zeros(4), x).shape)
""",
    ),
    "a while loop that averages integers": Pair(
        "NNX865",
        """
def mean_until(values):
    def cond(state):
        return state[0] < 3

    def body(state):
        i, acc = state
        return i + 1, (acc + values[i]) / 2

    return jax.lax.while_loop(cond, body, (0, jnp.zeros((4,), dtype=jnp.int32)))

print(mean_until(x))
""",
        """
def mean_until(values):
    def cond(state):
        return state[0] < 3

    def body(state):
        i, acc = state
        return i + 1, (acc + values[i]) / 2

    return jax.lax.while_loop(cond, body, (0, jnp.zeros((4,))))

print(mean_until(x))
""",
    ),
    "a scan over a loss of scalars": Pair(
        "NNX865",
        """
def epoch(params, batches):
    def step(carry, batch):
        params, losses = carry
        loss = ((batch * params) ** 2).mean()
        return (params - 0.1 * loss, jnp.concatenate([losses, loss[None]])), None

    return jax.lax.scan(step, (params, jnp.zeros(0)), batches)[0]

print(epoch(jnp.ones(4), x)[1].shape)
""",
        """
def epoch(params, batches):
    def step(params, batch):
        loss = ((batch * params) ** 2).mean()
        return params - 0.1 * loss, loss

    return jax.lax.scan(step, params, batches)

print(epoch(jnp.ones(4), x)[1].shape)
""",
    ),
    "a fori loop with the state first": Pair(
        "NNX866",
        """
from jax.lax import fori_loop

class Solver:
    def iterate(self, state, step):
        return state - 0.1 * state / (step + 1)

    def solve(self, state):
        return fori_loop(0, 10, self.iterate, state)

print(Solver().solve(jnp.ones(3)))
""",
        """
from jax.lax import fori_loop

class Solver:
    def iterate(self, step, state):
        return state - 0.1 * state / (step + 1)

    def solve(self, state):
        return fori_loop(0, 10, self.iterate, state)

print(Solver().solve(jnp.ones(3)))
""",
    ),
    "axes behind a jit": Pair(
        "NNX867",
        """
def loss(params, example, target, weight):
    return weight * ((example @ params - target) ** 2).sum()

per_example = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
print(per_example(jnp.ones((4, 2)), x, y, 1.0).shape)
""",
        """
def loss(params, example, target, weight):
    return weight * ((example @ params - target) ** 2).sum()

per_example = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0, None)))
print(per_example(jnp.ones((4, 2)), x, y, 1.0).shape)
""",
    ),
    "an ensemble with one Rngs for all": Pair(
        "NNX836",
        """
class Ensemble(nnx.Module):
    def __init__(self, size, rngs):
        def member(rngs):
            return nnx.Linear(4, 2, rngs=rngs)
        self.members = nnx.vmap(member, in_axes=None, axis_size=size)(rngs)

kernel = Ensemble(3, nnx.Rngs(0)).members.kernel.value
print(bool((kernel[0] == kernel[2]).all()))
""",
        """
class Ensemble(nnx.Module):
    def __init__(self, size, rngs):
        @nnx.split_rngs(splits=size)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def member(rngs):
            return nnx.Linear(4, 2, rngs=rngs)
        self.members = member(rngs)

kernel = Ensemble(3, nnx.Rngs(0)).members.kernel.value
print(bool((kernel[0] == kernel[2]).all()))
""",
    ),
    "probabilities from another file": Pair(
        "NNX869",
        """
import networks

def loss_fn(model, images, labels):
    preds = model(images, train=True)
    return jnp.mean(optax.softmax_cross_entropy(preds, jax.nn.one_hot(labels, 2)))

print(f"{float(loss_fn(networks.create(), x, labels)):.4f}")
# file: networks.py
from flax import nnx
import jax

class CNN(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x, train=False):
        x = self.out(x)
        x = jax.nn.softmax(x)
        return x

def create():
    return CNN(nnx.Rngs(0))
""",
        """
import networks

def loss_fn(model, images, labels):
    preds = model(images, train=True)
    return jnp.mean(optax.softmax_cross_entropy(preds, jax.nn.one_hot(labels, 2)))

print(f"{float(loss_fn(networks.create(), x, labels)):.4f}")
# file: networks.py
from flax import nnx
import jax

class CNN(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x, train=False):
        x = self.out(x)
        return x

    def probabilities(self, x):
        return jax.nn.softmax(self(x))

def create():
    return CNN(nnx.Rngs(0))
""",
    ),
    "a safe norm that is not": Pair(
        "NNX870",
        """
def normalize(v):
    squared = jnp.sum(v ** 2, axis=-1, keepdims=True)
    return jnp.where(squared > 0, v / jnp.sqrt(squared), 0.0)

def energy(points):
    return normalize(points).sum()

print(bool(jnp.isnan(jax.grad(energy)(jnp.zeros((2, 3)))).any()))
""",
        """
def normalize(v):
    squared = jnp.sum(v ** 2, axis=-1, keepdims=True)
    length = jnp.sqrt(jnp.where(squared > 0, squared, 1.0))
    return jnp.where(squared > 0, v / length, 0.0)

def energy(points):
    return normalize(points).sum()

print(bool(jnp.isnan(jax.grad(energy)(jnp.zeros((2, 3)))).any()))
""",
    ),
    "the same key for every layer of a list": Pair(
        "NNX830",
        """
def init_layer(rng, n_in, n_out):
    return {"w": jax.random.normal(rng, (n_in, n_out)), "b": jnp.zeros(n_out)}

def init_network(rng, sizes):
    return [init_layer(rng, a, b) for a, b in zip(sizes[:-1], sizes[1:])]

layers = init_network(jax.random.PRNGKey(0), [4, 4, 4])
print(bool((layers[0]["w"] == layers[1]["w"]).all()))
""",
        """
def init_layer(rng, n_in, n_out):
    return {"w": jax.random.normal(rng, (n_in, n_out)), "b": jnp.zeros(n_out)}

def init_network(rng, sizes):
    keys = jax.random.split(rng, len(sizes))
    return [init_layer(k, a, b) for k, a, b in zip(keys, sizes[:-1], sizes[1:])]

layers = init_network(jax.random.PRNGKey(0), [4, 4, 4])
print(bool((layers[0]["w"] == layers[1]["w"]).all()))
""",
    ),
    "a key made in a sampling method": Pair(
        "NNX832",
        """
class VAE(nnx.Module):
    def __init__(self, rngs):
        self.decoder = nnx.Linear(4, 2, rngs=rngs)

    def sample(self, n):
        z = jax.random.normal(jax.random.key(42), (n, 4))
        return self.decoder(z)

model = VAE(nnx.Rngs(0))
print(bool((model.sample(2) == model.sample(2)).all()))
""",
        """
class VAE(nnx.Module):
    def __init__(self, rngs):
        self.decoder = nnx.Linear(4, 2, rngs=rngs)

    def sample(self, n, key):
        z = jax.random.normal(key, (n, 4))
        return self.decoder(z)

model = VAE(nnx.Rngs(0))
print(bool((model.sample(2, jax.random.key(1)) == model.sample(2, jax.random.key(2))).all()))
""",
    ),
    "a step compiled in every epoch": Pair(
        "NNX903",
        """
traces = []

def run_epoch(params, batches):
    def update(p, b):
        traces.append(1)
        return p - 0.1 * b.mean()
    update = jax.jit(update)
    for b in batches:
        params = update(params, b)
    return params

params = jnp.ones(3)
for epoch in range(12):
    params = run_epoch(params, [x, x])
print(len(traces))
""",
        """
traces = []

@jax.jit
def update(p, b):
    traces.append(1)
    return p - 0.1 * b.mean()

def run_epoch(params, batches):
    for b in batches:
        params = update(params, b)
    return params

params = jnp.ones(3)
for epoch in range(12):
    params = run_epoch(params, [x, x])
print(len(traces))
""",
    ),
    "the optimizer of the generator for both": Pair(
        "NNX854",
        """
class GAN:
    def __init__(self, rngs):
        self.generator = nnx.Linear(4, 2, rngs=rngs)
        self.critic = nnx.Linear(4, 2, rngs=rngs)
        self.g_opt = nnx.Optimizer(self.generator, optax.adam(0.1), wrt=nnx.Param)
        self.c_opt = nnx.Optimizer(self.critic, optax.adam(0.1), wrt=nnx.Param)

    def step(self):
        grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(self.critic)
        self.g_opt.update(self.critic, grads)

gan = GAN(nnx.Rngs(0))
gan.step()
print(int(gan.g_opt.step.value), int(gan.c_opt.step.value))
""",
        """
class GAN:
    def __init__(self, rngs):
        self.generator = nnx.Linear(4, 2, rngs=rngs)
        self.critic = nnx.Linear(4, 2, rngs=rngs)
        self.g_opt = nnx.Optimizer(self.generator, optax.adam(0.1), wrt=nnx.Param)
        self.c_opt = nnx.Optimizer(self.critic, optax.adam(0.1), wrt=nnx.Param)

    def step(self):
        grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(self.critic)
        self.c_opt.update(self.critic, grads)

gan = GAN(nnx.Rngs(0))
gan.step()
print(int(gan.g_opt.step.value), int(gan.c_opt.step.value))
""",
        since="0.11",
    ),
    "a schedule step as a static argument": Pair(
        "NNX908",
        """
traces = []

@functools.partial(nnx.jit, static_argnames=("epoch",))
def train(model, batch, epoch):
    traces.append(1)
    return model(batch).sum() * 0.9**epoch

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
for e, batch in enumerate([x] * 12):
    train(model, batch, epoch=e + 1)
print(len(traces))
""",
        """
traces = []

@nnx.jit
def train(model, batch, epoch):
    traces.append(1)
    return model(batch).sum() * 0.9**epoch

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
for e, batch in enumerate([x] * 12):
    train(model, batch, epoch=e + 1)
print(len(traces))
""",
    ),
    "parameters moved to nowhere": Pair(
        "NNX842",
        """
def place(tree, device):
    tree = jax.tree.map(lambda leaf: jax.device_put(leaf, device), tree)

params = {"w": np.ones(3)}
place(params, jax.devices()[0])
print(type(params["w"]).__name__ == "ndarray")
""",
        """
def place(tree, device):
    return jax.tree.map(lambda leaf: jax.device_put(leaf, device), tree)

params = {"w": np.ones(3)}
params = place(params, jax.devices()[0])
print(type(params["w"]).__name__ == "ndarray")
""",
    ),
    "a dropout whose counter is lost": Pair(
        "NNX811",
        """
class Small(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.a = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.a(self.drop(x))

graphdef, params, rest = nnx.split(Small(nnx.Rngs(0)), nnx.Param, ...)

@jax.jit
def loss_and_grads(params, rest, x):
    def loss_fn(params):
        net = nnx.merge(graphdef, params, rest)
        return net(x).sum()
    return jax.value_and_grad(loss_fn)(params)

a, b = loss_and_grads(params, rest, x)[0], loss_and_grads(params, rest, x)[0]
print(bool(a == b))
""",
        """
class Small(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.a = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.a(self.drop(x))

graphdef, params, rest = nnx.split(Small(nnx.Rngs(0)), nnx.Param, ...)

@jax.jit
def loss_and_grads(params, rest, x):
    net = nnx.merge(graphdef, params, rest)
    loss, grads = nnx.value_and_grad(lambda m: m(x).sum())(net)
    return loss, grads, nnx.state(net, nnx.Not(nnx.Param))

a, _, rest = loss_and_grads(params, rest, x)
b, _, rest = loss_and_grads(params, rest, x)
print(bool(a == b))
""",
    ),
}
