"""Mistakes that no message of Flax or JAX explains, in many shapes."""

from __future__ import annotations

from tests.lint.programs import Pair

PAIRS = {
    "a donated state read again": Pair(
        "NNX856",
        """
@functools.partial(jax.jit, donate_argnums=0)
def step(state, x):
    return state + x.sum()

state = jnp.zeros(3)
new = step(state, x)
print(state + new)
""",
        """
@functools.partial(jax.jit, donate_argnums=0)
def step(state, x):
    return state + x.sum()

state = jnp.zeros(3)
state = step(state, x)
print(state)
""",
    ),
    "a donated state given again in a loop": Pair(
        "NNX856",
        """
def update(params, batch):
    return jax.tree.map(lambda p: p - batch.mean(), params)

step = jax.jit(update, donate_argnames=("params",))
params = {"w": jnp.ones(3)}
for _ in range(3):
    new = step(params, x)
print(new)
""",
        """
def update(params, batch):
    return jax.tree.map(lambda p: p - batch.mean(), params)

step = jax.jit(update, donate_argnames=("params",))
params = {"w": jnp.ones(3)}
for _ in range(3):
    params = step(params, x)
print(params)
""",
    ),
    "a donated state logged by another function": Pair(
        "NNX856",
        """
from steps import train_step

class Trainer:
    def __init__(self):
        self.params = jnp.ones(3)

    def run(self):
        new = train_step(self.params, x)
        drift = jnp.abs(new - self.params).max()
        self.params = new
        return drift

print(Trainer().run())
# file: steps.py
from functools import partial
from jax import jit

@partial(jit, donate_argnums=(0,))
def train_step(params, x):
    return params - 0.1 * x.mean()
""",
        """
from steps import train_step

class Trainer:
    def __init__(self):
        self.params = jnp.ones(3)

    def run(self):
        old = np.array(self.params)
        self.params = train_step(self.params, x)
        return np.abs(self.params - old).max()

print(Trainer().run())
# file: steps.py
from functools import partial
from jax import jit

@partial(jit, donate_argnums=(0,))
def train_step(params, x):
    return params - 0.1 * x.mean()
""",
    ),
    "gradients and loss the wrong way round": Pair(
        "NNX857",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
grads, loss = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
optimizer.update(model, grads)
print(f"{float(loss):.4f}")
""",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
optimizer.update(model, grads)
print(f"{float(loss):.4f}")
""",
    ),
    "gradients first, of a function with a name": Pair(
        "NNX857",
        """
def loss_fn(params, x):
    return ((x @ params) ** 2).mean()

grad_fn = jax.jit(jax.value_and_grad(loss_fn))
params = jnp.ones((4, 2))
for _ in range(3):
    g, l = grad_fn(params, x)
    params = params - 0.1 * g
print(total(params))
""",
        """
def loss_fn(params, x):
    return ((x @ params) ** 2).mean()

grad_fn = jax.jit(jax.value_and_grad(loss_fn))
params = jnp.ones((4, 2))
for _ in range(3):
    l, g = grad_fn(params, x)
    params = params - 0.1 * g
print(total(params))
""",
    ),
    "a layer without streams": Pair(
        "NNX858",
        """
class Classifier(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.hidden = nnx.Linear(4, 8, rngs=rngs)
        self.out = nnx.Linear(8, 2)

    def __call__(self, x):
        return self.out(nnx.relu(self.hidden(x)))

print(Classifier(nnx.Rngs(0))(x).shape)
""",
        """
class Classifier(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.hidden = nnx.Linear(4, 8, rngs=rngs)
        self.out = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.out(nnx.relu(self.hidden(x)))

print(Classifier(nnx.Rngs(0))(x).shape)
""",
    ),
    "a dropout without streams": Pair(
        "NNX858",
        """
drop = nnx.Dropout(0.5)
print(drop(x).shape)
""",
        """
drop = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
print(drop(x).shape)
""",
    ),
    "streams by position": Pair(
        "NNX858",
        """
from flax.nnx import Rngs, Linear as Dense

layer = Dense(4, 2, Rngs(0))
print(layer(x).shape)
""",
        """
from flax.nnx import Rngs, Linear as Dense

layer = Dense(4, 2, rngs=Rngs(0))
print(layer(x).shape)
""",
    ),
    "a target network that is the online one": Pair(
        "NNX859",
        """
class Agent:
    def __init__(self, rngs):
        self.online = nnx.Linear(4, 2, rngs=rngs)
        self.target = self.online
        self.optimizer = nnx.Optimizer(self.online, optax.sgd(0.1), wrt=nnx.Param)

    def learn(self, x, y):
        goal = self.target(x)
        grads = nnx.grad(lambda m: ((m(x) - y - goal) ** 2).mean())(self.online)
        self.optimizer.update(self.online, grads)

agent = Agent(nnx.Rngs(0))
agent.learn(x, y)
print(total(agent.target) == total(agent.online))
""",
        """
class Agent:
    def __init__(self, rngs):
        self.online = nnx.Linear(4, 2, rngs=rngs)
        self.target = nnx.clone(self.online)
        self.optimizer = nnx.Optimizer(self.online, optax.sgd(0.1), wrt=nnx.Param)

    def learn(self, x, y):
        goal = self.target(x)
        grads = nnx.grad(lambda m: ((m(x) - y - goal) ** 2).mean())(self.online)
        self.optimizer.update(self.online, grads)

agent = Agent(nnx.Rngs(0))
agent.learn(x, y)
print(total(agent.target) == total(agent.online))
""",
    ),
    "an average that is the model": Pair(
        "NNX859",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
ema_model = model
model.kernel.value = model.kernel.value + 1
new = jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p, nnx.state(ema_model), nnx.state(model))
print(total(new) == total(nnx.state(model)))
""",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
ema_model = nnx.clone(model)
model.kernel.value = model.kernel.value + 1
new = jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p, nnx.state(ema_model), nnx.state(model))
print(total(new) == total(nnx.state(model)))
""",
    ),
    "evaluation mode for good": Pair(
        "NNX860",
        """
@nnx.jit
def train_step(model, optimizer, x, y):
    grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)

model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
for epoch in range(3):
    for _ in range(2):
        train_step(model, optimizer, x, y)
    model.eval()
    out = model(x)
print(f"{float(jnp.abs(model.norm.mean.value).sum()):.4f}")
""",
        """
@nnx.jit
def train_step(model, optimizer, x, y):
    grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)

model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
for epoch in range(3):
    model.train()
    for _ in range(2):
        train_step(model, optimizer, x, y)
    model.eval()
    out = model(x)
print(f"{float(jnp.abs(model.norm.mean.value).sum()):.4f}")
""",
    ),
    "evaluation mode for good in a method": Pair(
        "NNX860",
        """
class Trainer:
    def __init__(self):
        self.model = Net(nnx.Rngs(0))
        self.optimizer = nnx.Optimizer(self.model, optax.sgd(0.1), wrt=nnx.Param)

    def train_epoch(self):
        grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(self.model)
        self.optimizer.update(self.model, grads)

    def evaluate(self):
        self.model.eval()
        return self.model(x).mean()

    def fit(self, epochs):
        for _ in range(epochs):
            self.train_epoch()
            self.evaluate()

trainer = Trainer()
trainer.fit(3)
print(f"{float(jnp.abs(trainer.model.norm.mean.value).sum()):.4f}")
""",
        """
class Trainer:
    def __init__(self):
        self.model = Net(nnx.Rngs(0))
        self.optimizer = nnx.Optimizer(self.model, optax.sgd(0.1), wrt=nnx.Param)

    def train_epoch(self):
        self.model.train()
        grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(self.model)
        self.optimizer.update(self.model, grads)

    def evaluate(self):
        self.model.eval()
        return self.model(x).mean()

    def fit(self, epochs):
        for _ in range(epochs):
            self.train_epoch()
            self.evaluate()

trainer = Trainer()
trainer.fit(3)
print(f"{float(jnp.abs(trainer.model.norm.mean.value).sum()):.4f}")
""",
    ),
    "a head that the optimizer does not know": Pair(
        "NNX861",
        """
model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
model.b = nnx.Linear(8, 2, use_bias=False, rngs=nnx.Rngs(1))
grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
optimizer.update(model, grads)
print(total(model))
""",
        """
model = Net(nnx.Rngs(0))
model.b = nnx.Linear(8, 2, use_bias=False, rngs=nnx.Rngs(1))
optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
optimizer.update(model, grads)
print(total(model))
""",
    ),
    "a model made anew behind its optimizer": Pair(
        "NNX854",
        """
model = nnx.Linear(4, 8, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
optimizer.update(model, grads)
print(total(model))
""",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
optimizer.update(model, grads)
print(total(model))
""",
    ),
    "a restored state that nobody uses": Pair(
        "NNX862",
        """
import tempfile
import orbax.checkpoint as ocp

def load(model, path):
    checkpointer = ocp.StandardCheckpointer()
    state = checkpointer.restore(path, nnx.state(model))
    return model

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
path = tempfile.mkdtemp() + "/state"
saver = ocp.StandardCheckpointer()
saver.save(path, nnx.state(model))
saver.wait_until_finished()
print(total(load(nnx.Linear(4, 2, rngs=nnx.Rngs(1)), path)) == total(model))
""",
        """
import tempfile
import orbax.checkpoint as ocp

def load(model, path):
    checkpointer = ocp.StandardCheckpointer()
    state = checkpointer.restore(path, nnx.state(model))
    nnx.update(model, state)
    return model

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
path = tempfile.mkdtemp() + "/state"
saver = ocp.StandardCheckpointer()
saver.save(path, nnx.state(model))
saver.wait_until_finished()
print(total(load(nnx.Linear(4, 2, rngs=nnx.Rngs(1)), path)) == total(model))
""",
    ),
    "an axis that the mesh has not": Pair(
        "NNX863",
        """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
batch = jax.device_put(x, NamedSharding(mesh, P("batch", None)))
print(batch.shape)
""",
        """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
batch = jax.device_put(x, NamedSharding(mesh, P("data", None)))
print(batch.shape)
""",
    ),
    "a misspelled axis in shard_map": Pair(
        "NNX863",
        """
from jax.sharding import Mesh, PartitionSpec

mesh = Mesh(np.array(jax.devices()[:1]), ("devices",))
spec = PartitionSpec("device")
double = jax.shard_map(lambda a: a * 2, mesh=mesh, in_specs=(spec,), out_specs=spec)
print(double(x).shape)
""",
        """
from jax.sharding import Mesh, PartitionSpec

mesh = Mesh(np.array(jax.devices()[:1]), ("devices",))
spec = PartitionSpec("devices")
double = jax.shard_map(lambda a: a * 2, mesh=mesh, in_specs=(spec,), out_specs=spec)
print(double(x).shape)
""",
    ),
    "a scan body that gives the carry alone": Pair(
        "NNX864",
        """
def body(carry, v):
    carry = carry + v.sum()
    return carry

print(jax.lax.scan(body, 0.0, x))
""",
        """
def body(carry, v):
    carry = carry + v.sum()
    return carry, None

print(jax.lax.scan(body, 0.0, x))
""",
    ),
    "a scan body without a return": Pair(
        "NNX864",
        """
from jax import lax

class Rollout:
    def step(self, state, action):
        state = state + action

    def run(self, state, actions):
        return lax.scan(self.step, state, actions)

print(Rollout().run(jnp.zeros(4), x))
""",
        """
from jax import lax

class Rollout:
    def step(self, state, action):
        state = state + action
        return state, state

    def run(self, state, actions):
        return lax.scan(self.step, state, actions)

print(Rollout().run(jnp.zeros(4), x))
""",
    ),
    "a carry that becomes a float": Pair(
        "NNX865",
        """
def body(carry, v):
    return carry + v.sum(), v

print(jax.lax.scan(body, jnp.zeros((), int), x)[0])
""",
        """
def body(carry, v):
    return carry + v.sum(), v

print(jax.lax.scan(body, jnp.zeros(()), x)[0])
""",
    ),
    "a loop whose count becomes a float": Pair(
        "NNX865",
        """
def halve(i, state):
    n, total = state
    return n / 2, total + n

print(jax.lax.fori_loop(0, 3, halve, (jnp.int32(8), 0.0)))
""",
        """
def halve(i, state):
    n, total = state
    return n / 2, total + n

print(jax.lax.fori_loop(0, 3, halve, (jnp.float32(8), 0.0)))
""",
    ),
    "a carry of another structure": Pair(
        "NNX865",
        """
def body(carry, v):
    s, n = carry
    return (s + v, n + 1, s), None

print(jax.lax.scan(body, (jnp.zeros(4), 0), x)[0])
""",
        """
def body(carry, v):
    s, n = carry
    return (s + v, n + 1), None

print(jax.lax.scan(body, (jnp.zeros(4), 0), x)[0])
""",
    ),
    "a loop body with its arguments swapped": Pair(
        "NNX866",
        """
def body(x, i):
    return x + x * i

print(jax.lax.fori_loop(0, 4, body, jnp.ones(3)))
""",
        """
def body(i, x):
    return x + x * i

print(jax.lax.fori_loop(0, 4, body, jnp.ones(3)))
""",
    ),
    "a loop body without the counter": Pair(
        "NNX866",
        """
print(jax.lax.fori_loop(0, 4, lambda v: v * 2, jnp.ones(3)))
""",
        """
print(jax.lax.fori_loop(0, 4, lambda i, v: v * 2, jnp.ones(3)))
""",
    ),
    "axes for two of three arguments": Pair(
        "NNX867",
        """
def predict(params, x, scale):
    return x @ params * scale

print(jax.vmap(predict, in_axes=(None, 0))(jnp.ones((4, 2)), x, 2.0).shape)
""",
        """
def predict(params, x, scale):
    return x @ params * scale

print(jax.vmap(predict, in_axes=(None, 0, None))(jnp.ones((4, 2)), x, 2.0).shape)
""",
    ),
    "axes for one argument too many": Pair(
        "NNX867",
        """
@nnx.vmap(in_axes=(0, None, 0))
def make(key, n):
    return nnx.Linear(4, 2, rngs=nnx.Rngs(key))

print(make(jax.random.split(jax.random.key(0), 3), 2).kernel.value.shape)
""",
        """
@nnx.vmap(in_axes=(0, None))
def make(key, n):
    return nnx.Linear(4, 2, rngs=nnx.Rngs(key))

print(make(jax.random.split(jax.random.key(0), 3), 2).kernel.value.shape)
""",
    ),
    "axes of a scan in another order": Pair(
        "NNX868",
        """
@nnx.split_rngs(splits=3)
@nnx.vmap(in_axes=(0,), out_axes=0)
def make(rngs):
    return nnx.Linear(4, 4, rngs=rngs)

@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
def forward(layer, x):
    return layer(x)

print(forward(make(nnx.Rngs(0)), x).shape)
""",
        """
@nnx.split_rngs(splits=3)
@nnx.vmap(in_axes=(0,), out_axes=0)
def make(rngs):
    return nnx.Linear(4, 4, rngs=rngs)

@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
def forward(layer, x):
    return layer(x)

print(forward(make(nnx.Rngs(0)), x).shape)
""",
    ),
    "an ensemble of equals": Pair(
        "NNX836",
        """
@nnx.vmap(in_axes=None, out_axes=0, axis_size=3)
def make(rngs):
    return nnx.Linear(4, 2, rngs=rngs)

kernel = make(nnx.Rngs(0)).kernel.value
print(bool((kernel[0] == kernel[1]).all()))
""",
        """
@nnx.split_rngs(splits=3)
@nnx.vmap(in_axes=(0,), out_axes=0)
def make(rngs):
    return nnx.Linear(4, 2, rngs=rngs)

kernel = make(nnx.Rngs(0)).kernel.value
print(bool((kernel[0] == kernel[1]).all()))
""",
    ),
    "an ensemble of one seed": Pair(
        "NNX836",
        """
def make(_):
    return nnx.Linear(4, 2, rngs=nnx.Rngs(0))

kernel = nnx.vmap(make)(jnp.arange(3)).kernel.value
print(bool((kernel[0] == kernel[1]).all()))
""",
        """
def make(seed):
    return nnx.Linear(4, 2, rngs=nnx.Rngs(jax.random.key(seed)))

kernel = nnx.vmap(make)(jnp.arange(3)).kernel.value
print(bool((kernel[0] == kernel[1]).all()))
""",
    ),
    "softmax twice": Pair(
        "NNX869",
        """
class Classifier(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return nnx.softmax(self.a(x))

def loss_fn(model, x, labels):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), labels).mean()

print(f"{float(loss_fn(Classifier(nnx.Rngs(0)), x, labels)):.4f}")
""",
        """
class Classifier(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.a(x)

def loss_fn(model, x, labels):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), labels).mean()

print(f"{float(loss_fn(Classifier(nnx.Rngs(0)), x, labels)):.4f}")
""",
    ),
    "sigmoid twice": Pair(
        "NNX869",
        """
model = nnx.Linear(4, 1, rngs=nnx.Rngs(0))

def loss_fn(model, x, labels):
    probs = jax.nn.sigmoid(model(x))[:, 0]
    return optax.sigmoid_binary_cross_entropy(probs, labels).mean()

print(f"{float(loss_fn(model, x, labels)):.4f}")
""",
        """
model = nnx.Linear(4, 1, rngs=nnx.Rngs(0))

def loss_fn(model, x, labels):
    logits = model(x)[:, 0]
    return optax.sigmoid_binary_cross_entropy(logits, labels).mean()

print(f"{float(loss_fn(model, x, labels)):.4f}")
""",
    ),
    "a root behind where": Pair(
        "NNX870",
        """
def loss(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0).sum()

print(jax.grad(loss)(jnp.array([-1.0, 0.0, 4.0])))
""",
        """
def loss(x):
    safe = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.sqrt(safe), 0.0).sum()

print(jax.grad(loss)(jnp.array([-1.0, 0.0, 4.0])))
""",
    ),
    "a quotient behind where": Pair(
        "NNX870",
        """
def mean(values, counts):
    return jnp.where(counts == 0, 0.0, values / counts).sum()

print(jax.value_and_grad(mean)(jnp.ones(3), jnp.array([0.0, 1.0, 2.0])))
""",
        """
def mean(values, counts):
    safe = jnp.where(counts == 0, 1.0, counts)
    return jnp.where(counts == 0, 0.0, values / safe).sum()

print(jax.value_and_grad(mean)(jnp.ones(3), jnp.array([0.0, 1.0, 2.0])))
""",
    ),
}
