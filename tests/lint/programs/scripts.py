"""Whole scripts with one mistake each, from what people ask about NNX: training, agents, adapters, checkpoints."""

from __future__ import annotations

from tests.lint.programs.lined import lined

PAIRS = {
    "list of blocks built by a helper": lined(
        "NNX601",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class Block(nnx.Module):
    def __init__(self, dim, rngs):
        self.norm = nnx.LayerNorm(dim, rngs=rngs)
        self.mlp = nnx.Linear(dim, dim, rngs=rngs)

    def __call__(self, x):
        return x + jax.nn.gelu(self.mlp(self.norm(x)))


def make_blocks(depth, dim, rngs):
    blocks = []
    for _ in range(depth):
        blocks.append(Block(dim, rngs))
    return blocks


class Encoder(nnx.Module):
    def __init__(self, vocab, dim, depth, *, rngs):
        self.embed = nnx.Embed(vocab, dim, rngs=rngs)
-|        self.blocks = make_blocks(depth, dim, rngs)
+|        self.blocks = nnx.List(make_blocks(depth, dim, rngs))
        self.head = nnx.Linear(dim, vocab, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


model = Encoder(32, 8, 2, rngs=nnx.Rngs(0))
print(model(jnp.zeros((2, 5), jnp.int32)).shape)
""",
    ),
    "dict of modules filled key by key": lined(
        "NNX601",
        r'''
import jax.numpy as jnp
from flax import nnx


class MultiTask(nnx.Module):
    """One trunk, one head per task."""

    def __init__(self, tasks, dim, *, rngs: nnx.Rngs):
        self.trunk = nnx.Linear(dim, dim, rngs=rngs)
-|        heads = {}
+|        heads = nnx.Dict()
        for name, classes in tasks.items():
            heads[name] = nnx.Linear(dim, classes, rngs=rngs)
        self.heads = heads

    def __call__(self, x, task):
        return self.heads[task](nnx.relu(self.trunk(x)))


tasks = {"colour": 4, "shape": 3}
model = MultiTask(tasks, 8, rngs=nnx.Rngs(0))
x = jnp.ones((2, 8))
for task in tasks:
    print(task, model(x, task).shape)
''',
    ),
    "layers through functools.partial lack rngs": lined(
        "NNX858",
        r"""
from functools import partial

import jax.numpy as jnp
from flax import nnx


class ResBlock(nnx.Module):
    def __init__(self, features, *, rngs: nnx.Rngs):
-|        conv = partial(nnx.Conv, kernel_size=(3, 3), padding="SAME", use_bias=False)
+|        conv = partial(nnx.Conv, kernel_size=(3, 3), padding="SAME", use_bias=False, rngs=rngs)
        norm = partial(nnx.BatchNorm, momentum=0.9, rngs=rngs)
        self.conv1 = conv(features, features)
        self.norm1 = norm(features)
        self.conv2 = conv(features, features)
        self.norm2 = norm(features)

    def __call__(self, x):
        y = nnx.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return nnx.relu(x + y)


class ResNet(nnx.Module):
    def __init__(self, classes, *, rngs: nnx.Rngs):
        self.stem = nnx.Conv(3, 8, (3, 3), rngs=rngs)
        self.block = ResBlock(8, rngs=rngs)
        self.head = nnx.Linear(8, classes, rngs=rngs)

    def __call__(self, x):
        x = self.block(self.stem(x))
        return self.head(x.mean((1, 2)))


model = ResNet(10, rngs=nnx.Rngs(0))
print(model(jnp.ones((1, 8, 8, 3))).shape)
""",
    ),
    "different predictions each time in evaluation": lined(
        "NNX815",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Classifier(nnx.Module):
    def __init__(self, rngs):
        self.fc1 = nnx.Linear(16, 32, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.fc2 = nnx.Linear(32, 4, rngs=rngs)

    def __call__(self, x):
        return self.fc2(self.drop(nnx.relu(self.fc1(x))))


class Trainer:
    def __init__(self, seed=0):
        self.model = Classifier(nnx.Rngs(seed))
        self.optimizer = nnx.Optimizer(self.model, optax.adam(1e-3), wrt=nnx.Param)

    def train_epoch(self, batches):
        self.model.train()
        for x, y in batches:
            def loss_fn(model):
                return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

            grads = nnx.grad(loss_fn)(self.model)
            self.optimizer.update(self.model, grads)

    def evaluate(self, batches):
+|        self.model.eval()
        correct = total = 0
        for x, y in batches:
            pred = self.model(x).argmax(-1)
            correct += int((pred == y).sum())
            total += y.size
        return correct / total


xs = jax.random.normal(jax.random.key(0), (8, 64, 16))
ys = jax.random.randint(jax.random.key(1), (8, 64), 0, 4)
batches = list(zip(xs, ys))
trainer = Trainer()
for epoch in range(2):
    trainer.train_epoch(batches)
    print(epoch, trainer.evaluate(batches))
""",
    ),
    "loss of training stops behaving after the first validation": lined(
        "NNX860",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(8, 16, rngs=rngs)
        self.bn = nnx.BatchNorm(16, rngs=rngs)
        self.l2 = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x):
        return self.l2(nnx.relu(self.bn(self.l1(x))))


@nnx.jit
def train_step(model, optimizer, x, y):
    def loss_fn(m):
        return ((m(x)[:, 0] - y) ** 2).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


def validate(model, x, y):
    model.eval()
    return float(((model(x)[:, 0] - y) ** 2).mean())


def main():
    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(1e-2), wrt=nnx.Param)
    x = 3 + jax.random.normal(jax.random.key(0), (32, 8))
    y = x.sum(-1)
-|    model.train()
    for epoch in range(5):
+|        model.train()
        loss = train_step(model, optimizer, x, y)
        print(epoch, loss, validate(model, x, y))


main()
""",
    ),
    "generator's optimizer gets the discriminator's gradients": lined(
        "NNX890",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Generator(nnx.Module):
    def __init__(self, latent, rngs):
        self.fc1 = nnx.Linear(latent, 32, rngs=rngs)
        self.fc2 = nnx.Linear(32, 2, rngs=rngs)

    def __call__(self, z):
        return self.fc2(nnx.relu(self.fc1(z)))


class Discriminator(nnx.Module):
    def __init__(self, rngs):
        self.fc1 = nnx.Linear(2, 32, rngs=rngs)
        self.fc2 = nnx.Linear(32, 1, rngs=rngs)

    def __call__(self, x):
        return self.fc2(nnx.leaky_relu(self.fc1(x)))[:, 0]


def d_loss(disc, gen, real, z):
    fake = gen(z)
    return jax.nn.softplus(-disc(real)).mean() + jax.nn.softplus(disc(fake)).mean()


def g_loss(gen, disc, z):
    return jax.nn.softplus(-disc(gen(z))).mean()


@nnx.jit
def step(gen, disc, g_opt, d_opt, real, z):
    d_value, d_grads = nnx.value_and_grad(d_loss)(disc, gen, real, z)
    d_opt.update(disc, d_grads)
    g_value, g_grads = nnx.value_and_grad(g_loss)(gen, disc, z)
-|    g_opt.update(gen, d_grads)
+|    g_opt.update(gen, g_grads)
    return d_value, g_value


rngs = nnx.Rngs(0)
gen, disc = Generator(4, rngs), Discriminator(rngs)
g_opt = nnx.Optimizer(gen, optax.adam(1e-4), wrt=nnx.Param)
d_opt = nnx.Optimizer(disc, optax.adam(1e-4), wrt=nnx.Param)
for i in range(3):
    real = jax.random.normal(rngs.data(), (8, 2))
    z = jax.random.normal(rngs.latent(), (8, 4))
    print(step(gen, disc, g_opt, d_opt, real, z))
""",
    ),
    "generator loss differentiated for its first argument, the critic": lined(
        "NNX890",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class MLP(nnx.Module):
    def __init__(self, din, dout, rngs):
        self.a = nnx.Linear(din, 16, rngs=rngs)
        self.b = nnx.Linear(16, dout, rngs=rngs)

    def __call__(self, x):
        return self.b(nnx.relu(self.a(x)))


def critic_loss(critic, generator, real, z):
    return critic(generator(z)).mean() - critic(real).mean()


def generator_loss(critic, generator, z):
    return -critic(generator(z)).mean()


def train(generator, critic, opt_g, opt_c, key, steps=3):
    for i in range(steps):
        key, k1, k2 = jax.random.split(key, 3)
        real = jax.random.normal(k1, (16, 2)) * 0.5 + 1.0
        z = jax.random.normal(k2, (16, 2))
        c, grads_c = nnx.value_and_grad(critic_loss)(critic, generator, real, z)
        opt_c.update(critic, grads_c)
-|        g, grads_g = nnx.value_and_grad(generator_loss)(critic, generator, z)
+|        g, grads_g = nnx.value_and_grad(generator_loss, argnums=1)(critic, generator, z)
        opt_g.update(generator, grads_g)
        print(i, c, g)


rngs = nnx.Rngs(7)
generator = MLP(2, 2, rngs)
critic = MLP(2, 1, rngs)
train(
    generator,
    critic,
    nnx.Optimizer(generator, optax.rmsprop(5e-5), wrt=nnx.Param),
    nnx.Optimizer(critic, optax.rmsprop(5e-5), wrt=nnx.Param),
    jax.random.key(0),
)
""",
    ),
    "noise of the VAE is the same in every call": lined(
        "NNX897",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class VAE(nnx.Module):
    def __init__(self, din, latent, *, rngs: nnx.Rngs):
        self.enc = nnx.Linear(din, 2 * latent, rngs=rngs)
        self.dec = nnx.Linear(latent, din, rngs=rngs)
-|        self.noise_key = rngs.noise()
+|        self.rngs = rngs

    def encode(self, x):
        return jnp.split(self.enc(x), 2, axis=-1)

    def sample(self, mean, logvar):
-|        eps = jax.random.normal(self.noise_key, mean.shape)
+|        eps = jax.random.normal(self.rngs.noise(), mean.shape)
        return mean + jnp.exp(0.5 * logvar) * eps

    def __call__(self, x):
        mean, logvar = self.encode(x)
        return self.dec(self.sample(mean, logvar)), mean, logvar


@nnx.jit
def elbo(model, x):
    recon, mean, logvar = model(x)
    kl = -0.5 * (1 + logvar - mean**2 - jnp.exp(logvar)).sum(-1)
    return (((recon - x) ** 2).sum(-1) + kl).mean()


model = VAE(6, 2, rngs=nnx.Rngs(0, noise=1))
x = jnp.ones((4, 6))
values = []
for _ in range(3):
    values.append(float(elbo(model, x)))
    print(values[-1])
""",
    ),
    "target network bound to the online network": lined(
        "NNX859",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class QNet(nnx.Module):
    def __init__(self, obs, actions, rngs):
        self.fc1 = nnx.Linear(obs, 32, rngs=rngs)
        self.fc2 = nnx.Linear(32, actions, rngs=rngs)

    def __call__(self, s):
        return self.fc2(nnx.relu(self.fc1(s)))


class Agent:
    def __init__(self, obs, actions, seed=0):
        self.online = QNet(obs, actions, nnx.Rngs(seed))
        self.opt = nnx.Optimizer(self.online, optax.adam(1e-2), wrt=nnx.Param)
        self.sync()

    def sync(self):
-|        self.target = self.online
+|        self.target = nnx.clone(self.online)

    def learn(self, s, a, r, s2, gamma=0.99):
        q_next = self.target(s2).max(-1)

        def loss_fn(net):
            q = jnp.take_along_axis(net(s), a[:, None], axis=1)[:, 0]
            return ((q - (r + gamma * q_next)) ** 2).mean()

        loss, grads = nnx.value_and_grad(loss_fn)(self.online)
        self.opt.update(self.online, grads)
        return loss


agent = Agent(4, 2)
key = jax.random.key(0)
for step in range(6):
    key, k = jax.random.split(key)
    s = jax.random.normal(k, (16, 4))
    agent.learn(s, jnp.zeros(16, jnp.int32), jnp.ones(16), s + 0.1)
    if step % 3 == 2:
        agent.sync()
agent.learn(s, jnp.zeros(16, jnp.int32), jnp.ones(16), s + 0.1)
assert agent.target is not agent.online
""",
    ),
    "soft update computes a state that nobody writes back": lined(
        "NNX842",
        r'''
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Critic(nnx.Module):
    def __init__(self, obs, act, rngs):
        self.l1 = nnx.Linear(obs + act, 32, rngs=rngs)
        self.l2 = nnx.Linear(32, 1, rngs=rngs)

    def __call__(self, s, a):
        x = jnp.concatenate([s, a], -1)
        return self.l2(nnx.relu(self.l1(x)))[..., 0]


def soft_update(target: nnx.Module, source: nnx.Module, tau: float = 0.005) -> None:
    """Moves the target a little towards the source."""
    source_params = nnx.state(source, nnx.Param)
    target_params = nnx.state(target, nnx.Param)
    new_params = jax.tree.map(lambda t, s: (1 - tau) * t + tau * s, target_params, source_params)
+|    nnx.update(target, new_params)


critic = Critic(3, 1, nnx.Rngs(0))
target = nnx.clone(critic)
optimizer = nnx.Optimizer(critic, optax.adam(3e-2), wrt=nnx.Param)
before = jnp.array(target.l1.kernel[...])
for i in range(4):
    s = jax.random.normal(jax.random.key(i), (8, 3))
    a = jnp.zeros((8, 1))
    goal = 1.0 + 0.99 * target(s, a)
    grads = nnx.grad(lambda c: ((c(s, a) - goal) ** 2).mean())(critic)
    optimizer.update(critic, grads)
    soft_update(target, critic)
assert not jnp.allclose(before, target.l1.kernel[...], atol=0)
''',
    ),
    "the helper binds its own name anew": lined(
        "NNX842",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


def ema_update(ema_params, params, decay):
-|    ema_params = jax.tree.map(lambda e, p: decay * e + (1 - decay) * p, ema_params, params)
+|    return jax.tree.map(lambda e, p: decay * e + (1 - decay) * p, ema_params, params)


@nnx.jit
def train_step(model, optimizer, x, y):
    def loss_fn(m):
        return ((m(x) - y) ** 2).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


model = nnx.Linear(4, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
graphdef, state = nnx.split(nnx.clone(model))
ema_params = state
x = jax.random.normal(jax.random.key(1), (32, 4))
y = x.sum(-1, keepdims=True)
for step in range(5):
    train_step(model, optimizer, x, y)
-|    ema_update(ema_params, nnx.state(model), 0.9)
+|    ema_params = ema_update(ema_params, nnx.state(model), 0.9)
ema_model = nnx.merge(graphdef, ema_params)
print(((ema_model(x) - y) ** 2).mean())
""",
    ),
    "the optimizer is made for the teacher": lined(
        "NNX854",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class MLP(nnx.Module):
    def __init__(self, hidden, rngs):
        self.l1 = nnx.Linear(8, hidden, rngs=rngs)
        self.l2 = nnx.Linear(hidden, 3, rngs=rngs)

    def __call__(self, x):
        return self.l2(nnx.relu(self.l1(x)))


def distill(teacher, student, data, temperature=2.0):
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
-|    optimizer = nnx.Optimizer(teacher, tx, wrt=nnx.Param)
+|    optimizer = nnx.Optimizer(student, tx, wrt=nnx.Param)

    @nnx.jit
    def step(student, optimizer, teacher, x):
        soft = jax.nn.softmax(teacher(x) / temperature)

        def loss_fn(model):
            logp = jax.nn.log_softmax(model(x) / temperature)
            return -(soft * logp).sum(-1).mean()

        loss, grads = nnx.value_and_grad(loss_fn)(student)
        optimizer.update(student, grads)
        return loss

    for x in data:
        print(step(student, optimizer, teacher, x))


teacher = MLP(64, nnx.Rngs(0))
student = MLP(8, nnx.Rngs(1))
distill(teacher, student, jax.random.normal(jax.random.key(0), (3, 16, 8)))
""",
    ),
    "gradient for LoRAParam, optimizer for Param": lined(
        "NNX106",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Adapted(nnx.Module):
    def __init__(self, dim, rank, *, rngs):
        base = nnx.Linear(dim, dim, rngs=rngs)
        self.proj = nnx.LoRA(dim, rank, dim, base_module=base, rngs=rngs)
        self.out = nnx.Linear(dim, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(nnx.gelu(self.proj(x)))


def fine_tune(model, xs, ys):
-|    optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)
+|    optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.LoRAParam)
    diff = nnx.DiffState(0, nnx.LoRAParam)

    @nnx.jit
    def step(model, optimizer, x, y):
        def loss_fn(m, x, y):
            return ((m(x)[:, 0] - y) ** 2).mean()

        loss, grads = nnx.value_and_grad(loss_fn, argnums=diff)(model, x, y)
        optimizer.update(model, grads)
        return loss

    for x, y in zip(xs, ys):
        print(step(model, optimizer, x, y))


model = Adapted(8, 2, rngs=nnx.Rngs(0))
xs = jax.random.normal(jax.random.key(1), (3, 16, 8))
fine_tune(model, xs, xs.sum(-1))
""",
    ),
    "the head is replaced after the optimizer was made": lined(
        "NNX861",
        r'''
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, classes, rngs):
        self.body = nnx.Linear(8, 16, rngs=rngs)
        self.head = nnx.Linear(16, classes, rngs=rngs)

    def __call__(self, x):
        return self.head(nnx.relu(self.body(x)))


def adapt(model, classes, rngs):
    """Puts a fresh head on a pretrained model."""
    model.head = nnx.Linear(16, classes, rngs=rngs)
    return model


def loss_fn(model, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()


@nnx.jit
def train_step(model, optimizer, x, y):
    grads = nnx.grad(loss_fn)(model, x, y)
    optimizer.update(model, grads)


rngs = nnx.Rngs(0)
model = Net(1000, rngs)
-|optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
-|model = adapt(model, 5, rngs)
+|model = adapt(model, 5, rngs)
+|optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(0), (4, 8))
y = jnp.array([0, 1, 2, 3])
for _ in range(2):
    train_step(model, optimizer, x, y)
print(loss_fn(model, x, y))
''',
    ),
    "wrt became required": lined(
        "NNX101",
        r"""
import jax
import optax
from flax import nnx


def create(config):
    model = nnx.Linear(config["din"], config["dout"], rngs=nnx.Rngs(config["seed"]))
    schedule = optax.warmup_cosine_decay_schedule(0.0, config["lr"], 10, 100)
-|    return model, nnx.Optimizer(model, tx=optax.adamw(schedule))
+|    return model, nnx.Optimizer(model, tx=optax.adamw(schedule), wrt=nnx.Param)


def run(config):
    model, optimizer = create(config)
    x = jax.random.normal(jax.random.key(0), (16, config["din"]))

    @nnx.jit
    def step(model, optimizer):
        loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
        optimizer.update(model, grads)
        return loss

    for _ in range(3):
        print(step(model, optimizer))


run({"din": 4, "dout": 2, "seed": 0, "lr": 1e-3})
""",
    ),
    "update takes the model": lined(
        "NNX103",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizers = {"main": nnx.Optimizer(model, optax.sgd(lr), wrt=nnx.Param)}

    def step(self, x, y):
        def loss_fn(model):
            return jnp.abs(model(x) - y).mean()

        loss, grads = nnx.value_and_grad(loss_fn)(self.model)
        for optimizer in self.optimizers.values():
-|            optimizer.update(grads)
+|            optimizer.update(self.model, grads)
        return loss


trainer = Trainer(nnx.Linear(3, 1, rngs=nnx.Rngs(0)), 0.1)
x = jax.random.normal(jax.random.key(0), (8, 3))
for _ in range(3):
    print(trainer.step(x, jnp.ones((8, 1))))
""",
    ),
    "split by Param of a model with batch statistics": lined(
        "NNX895",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class CNN(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(1, 4, kernel_size=(3, 3), rngs=rngs)
        self.bn = nnx.BatchNorm(4, rngs=rngs)
        self.fc = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.bn(self.conv(x)))
        return self.fc(x.mean((1, 2)))


def to_functional(model):
-|    graphdef, params = nnx.split(model, nnx.Param)
-|
-|    def forward(params, x):
-|        return nnx.merge(graphdef, params)(x)
+|    graphdef, params, rest = nnx.split(model, nnx.Param, ...)
+|
+|    def forward(params, x):
+|        return nnx.merge(graphdef, params, rest)(x)

    return forward, params


model = CNN(nnx.Rngs(0))
model.eval()
forward, params = to_functional(model)
x = jnp.ones((2, 8, 8, 1))
print(jax.jit(forward)(params, x).shape)
""",
    ),
    "names of the split's parts in another order than the filters": lined(
        "NNX819",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 8, rngs=rngs)
        self.bn = nnx.BatchNorm(8, rngs=rngs)
        self.out = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(nnx.relu(self.bn(self.fc(x))))


model = Net(nnx.Rngs(0))
-|graphdef, batch_stats, params = nnx.split(model, nnx.Param, nnx.BatchStat)
+|graphdef, params, batch_stats = nnx.split(model, nnx.Param, nnx.BatchStat)
tx = optax.adam(1e-2)
opt_state = tx.init(params)


@jax.jit
def train_step(params, batch_stats, opt_state, x, y):
    def loss_fn(params):
        model = nnx.merge(graphdef, params, batch_stats, copy=True)
        loss = ((model(x) - y) ** 2).mean()
        return loss, nnx.state(model, nnx.BatchStat)

    (loss, batch_stats), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), batch_stats, opt_state, loss


x = jax.random.normal(jax.random.key(0), (16, 4))
y = x.sum(-1, keepdims=True)
losses = []
for _ in range(3):
    params, batch_stats, opt_state, loss = train_step(params, batch_stats, opt_state, x, y)
    losses.append(float(loss))
print(losses)
""",
    ),
    "the ellipsis is not the last filter": lined(
        "NNX895",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 8, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        return self.drop(self.fc(x))


class Snapshotter:
-|    filters = (..., nnx.Param)
+|    filters = (nnx.Param, ...)

    def __init__(self, model):
        self.model = model

    def take(self):
-|        graphdef, rest, params = nnx.split(self.model, *self.filters)
+|        graphdef, params, rest = nnx.split(self.model, *self.filters)
        return params, rest


params, rest = Snapshotter(Net(nnx.Rngs(0))).take()
print(jax.tree.map(jnp.shape, params))
""",
    ),
    "functional step that forgets the merged model": lined(
        "NNX811",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(4, 16, rngs=rngs)
        self.l2 = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x):
        return self.l2(nnx.tanh(self.l1(x)))


model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
graphdef, state = nnx.split((model, optimizer))


@jax.jit
def train_step(graphdef, state, x, y):
    model, optimizer = nnx.merge(graphdef, state)

    def loss_fn(model):
        return ((model(x) - y) ** 2).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
-|    return loss
+|    return loss, nnx.state((model, optimizer))


x = jax.random.normal(jax.random.key(0), (16, 4))
y = x.sum(-1, keepdims=True)
losses = []
for _ in range(5):
-|    loss = train_step(graphdef, state, x, y)
+|    loss, state = train_step(graphdef, state, x, y)
    losses.append(float(loss))
print(losses)
""",
    ),
    "jax.jit around a function that trains a global model": lined(
        "NNX801",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(4, 16, rngs=rngs)
        self.bn = nnx.BatchNorm(16, rngs=rngs)
        self.l2 = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x):
        return self.l2(nnx.relu(self.bn(self.l1(x))))


model = Net(rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)


def loss_fn(model, x, y):
    return jnp.mean((model(x) - y) ** 2)


-|@jax.jit
-|def train_step(x, y):
+|@nnx.jit
+|def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(loss_fn)(model, x, y)
    optimizer.update(model, grads)
    return loss


x = jax.random.normal(jax.random.key(0), (16, 4))
y = x.sum(-1, keepdims=True)
for _ in range(3):
-|    print(train_step(x, y))
+|    print(train_step(model, optimizer, x, y))
""",
    ),
    "nnx.jit of a nested step that closes over self": lined(
        "NNX801",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Trainer:
    def __init__(self, model, tx):
        self.model = model
        self.optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)

    def fit(self, xs, ys):
-|        @nnx.jit
-|        def step(x, y):
-|            def loss_fn(m):
-|                return ((m(x) - y) ** 2).mean()
-|
-|            loss, grads = nnx.value_and_grad(loss_fn)(self.model)
-|            self.optimizer.update(self.model, grads)
-|            return loss
+|        @nnx.jit
+|        def step(model, optimizer, x, y):
+|            def loss_fn(m):
+|                return ((m(x) - y) ** 2).mean()
+|
+|            loss, grads = nnx.value_and_grad(loss_fn)(model)
+|            optimizer.update(model, grads)
+|            return loss

        history = []
        for x, y in zip(xs, ys):
-|            history.append(step(x, y))
+|            history.append(step(self.model, self.optimizer, x, y))
        return history


trainer = Trainer(nnx.Linear(4, 1, rngs=nnx.Rngs(0)), optax.sgd(0.1))
xs = jax.random.normal(jax.random.key(0), (3, 16, 4))
print(trainer.fit(xs, xs.sum(-1, keepdims=True)))
""",
    ),
    "gradients and loss named in the wrong order": lined(
        "NNX857",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Policy(nnx.Module):
    def __init__(self, obs, actions, rngs):
        self.net = nnx.Sequential(
            nnx.Linear(obs, 32, rngs=rngs), nnx.tanh, nnx.Linear(32, actions, rngs=rngs)
        )

    def __call__(self, obs):
        return jax.nn.log_softmax(self.net(obs))


class Reinforce:
    def __init__(self, policy, lr=1e-3):
        self.policy = policy
        self.optimizer = nnx.Optimizer(policy, optax.adam(lr), wrt=nnx.Param)

    def loss(self, policy, obs, actions, returns):
        logp = policy(obs)
        chosen = jnp.take_along_axis(logp, actions[:, None], axis=-1)[:, 0]
        return -(chosen * returns).mean()

    def update(self, obs, actions, returns):
        grad_fn = nnx.value_and_grad(self.loss)
-|        grads, loss = grad_fn(self.policy, obs, actions, returns)
+|        loss, grads = grad_fn(self.policy, obs, actions, returns)
        self.optimizer.update(self.policy, grads)
        return float(loss)


agent = Reinforce(Policy(4, 2, nnx.Rngs(0)))
obs = jax.random.normal(jax.random.key(0), (10, 4))
print(agent.update(obs, jnp.zeros(10, jnp.int32), jnp.arange(10.0)))
""",
    ),
    "gradient only defined for scalar-output functions (tuple)": lined(
        "NNX850",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Transformer(nnx.Module):
    def __init__(self, vocab, dim, rngs):
        self.embed = nnx.Embed(vocab, dim, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(2, dim, decode=False, rngs=rngs)
        self.head = nnx.Linear(dim, vocab, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        mask = nnx.make_causal_mask(tokens)
        return self.head(x + self.attn(x, mask=mask))


def loss_fn(model, tokens):
    logits = model(tokens[:, :-1])
    targets = tokens[:, 1:]
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
    accuracy = (logits.argmax(-1) == targets).mean()
    return losses.mean(), {"accuracy": accuracy}


@nnx.jit
def train_step(model, optimizer, metrics, tokens):
-|    (loss, aux), grads = nnx.value_and_grad(loss_fn)(model, tokens)
+|    (loss, aux), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, tokens)
    metrics.update(loss=loss, accuracy=aux["accuracy"])
    optimizer.update(model, grads)


model = Transformer(16, 8, nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"), accuracy=nnx.metrics.Average("accuracy"))
train_step(model, optimizer, metrics, jax.random.randint(jax.random.key(0), (2, 6), 0, 16))
print(metrics.compute())
""",
    ),
    "grad requires real- or complex-valued inputs; the batch stands first": lined(
        "NNX890",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Regressor(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 1, rngs=rngs)

    def __call__(self, x):
        return self.linear(x)[:, 0]


def batch_loss(batch, model):
    pred = model(batch["x"])
    return jnp.mean((pred - batch["y"]) ** 2)


-|grad_step = nnx.jit(nnx.value_and_grad(batch_loss))
+|grad_step = nnx.jit(nnx.value_and_grad(batch_loss, argnums=1))


def fit(model, optimizer, batches):
    for batch in batches:
        loss, grads = grad_step(batch, model)
        optimizer.update(model, grads)
        print(loss)


model = Regressor(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(0), (16, 3))
fit(model, optimizer, [{"x": x, "y": x.sum(-1), "id": jnp.arange(16)}])
""",
    ),
    "members of an ensemble from one seed": lined(
        "NNX836",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class Member(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(2, 16, rngs=rngs)
        self.l2 = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x):
        return self.l2(nnx.relu(self.l1(x)))


class Ensemble:
    def __init__(self, size, seed):
-|        self.members = [Member(nnx.Rngs(seed)) for _ in range(size)]
+|        self.members = [Member(nnx.Rngs(seed + i)) for i in range(size)]

    def predict(self, x):
        preds = jnp.stack([member(x) for member in self.members])
        return preds.mean(0), preds.std(0)


ensemble = Ensemble(5, 42)
x = jax.random.normal(jax.random.key(0), (7, 2))
mean, std = ensemble.predict(x)
print(mean.shape, std.max())
""",
    ),
    "vmapped constructor that broadcasts its rngs": lined(
        "NNX836",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class Block(nnx.Module):
    def __init__(self, dim, rngs):
        self.linear = nnx.Linear(dim, dim, rngs=rngs)

    def __call__(self, x):
        return x + nnx.relu(self.linear(x))


class Stack(nnx.Module):
    def __init__(self, dim, depth, rngs):
        self.depth = depth

-|        @nnx.vmap(in_axes=None, out_axes=0, axis_size=depth)
-|        def create(key):
-|            return Block(dim, nnx.Rngs(key))
-|
-|        self.blocks = create(rngs.params())
+|        @nnx.vmap(in_axes=0, out_axes=0)
+|        def create(key):
+|            return Block(dim, nnx.Rngs(key))
+|
+|        self.blocks = create(jax.random.split(rngs.params(), depth))

    def __call__(self, x):
        @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
        def forward(block, x):
            return block(x)

        return forward(self.blocks, x)


stack = Stack(4, 3, nnx.Rngs(0))
print(stack(jnp.ones((2, 4))).shape)
k = stack.blocks.linear.kernel[...]
assert not jnp.allclose(k[0], k[1])
""",
    ),
    "carry and layers at each other's place in in_axes": lined(
        "NNX868",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class Layer(nnx.Module):
    def __init__(self, dim, *, rngs: nnx.Rngs):
        self.norm = nnx.RMSNorm(dim, rngs=rngs)
        self.linear = nnx.Linear(dim, dim, rngs=rngs)

    def __call__(self, x):
        return x + self.linear(self.norm(x))


class Decoder(nnx.Module):
    def __init__(self, dim, num_layers, *, rngs: nnx.Rngs):
        @nnx.split_rngs(splits=num_layers)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def make(rngs):
            return Layer(dim, rngs=rngs)

        self.layers = make(rngs)

    def __call__(self, x):
-|        @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
+|        @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
        def body(layer, carry):
            return layer(carry)

        return body(self.layers, x)


model = Decoder(6, 3, rngs=nnx.Rngs(0))
print(model(jnp.ones((2, 6))).shape)
""",
    ),
    "BatchNorm inside vmap with the model unmapped": lined(
        "NNX836",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class Scorer(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 8, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.out = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(self.drop(nnx.relu(self.fc(x))))[0]


def score_all(model, xs):
    one = lambda m, x: m(x)
-|    return nnx.vmap(one, in_axes=(None, 0))(model, xs)
+|    model.eval()
+|    return nnx.vmap(one, in_axes=(None, 0))(model, xs)


model = Scorer(nnx.Rngs(0))
print(score_all(model, jnp.ones((5, 4))))
""",
    ),
    "jax.lax.scan over steps with the model in the closure": lined(
        "NNX809",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 1, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)


def train(model, optimizer, xs, ys):
-|    def body(carry, batch):
-|        x, y = batch
-|        loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
-|        optimizer.update(model, grads)
-|        return carry, loss
-|
-|    _, losses = jax.lax.scan(body, 0, (xs, ys))
+|    def body(carry, batch):
+|        model, optimizer = carry
+|        x, y = batch
+|        loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
+|        optimizer.update(model, grads)
+|        return (model, optimizer), loss
+|
+|    _, losses = nnx.scan(body, in_axes=(nnx.Carry, 0))((model, optimizer), (xs, ys))
    return losses


model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.05), wrt=nnx.Param)
xs = jax.random.normal(jax.random.key(0), (4, 8, 3))
print(train(model, optimizer, xs, xs.sum(-1, keepdims=True)))
""",
    ),
    "no RNG stream for dropout": lined(
        "NNX207",
        r"""
import jax.numpy as jnp
from flax import nnx


class Head(nnx.Module):
    def __init__(self, dim, classes, dropout_rate, *, rngs: nnx.Rngs):
        self.drop = nnx.Dropout(dropout_rate, rngs=rngs)
        self.out = nnx.Linear(dim, classes, rngs=rngs)

    def __call__(self, x):
        return self.out(self.drop(x))


class ViT(nnx.Module):
    def __init__(self, dim=8, classes=3, *, rngs: nnx.Rngs):
        self.patch = nnx.Conv(3, dim, (4, 4), strides=(4, 4), rngs=rngs)
        self.head = Head(dim, classes, 0.1, rngs=rngs)

    def __call__(self, images):
        x = self.patch(images)
        return self.head(x.reshape(x.shape[0], -1, x.shape[-1]).mean(1))


def build(seed):
-|    rngs = nnx.Rngs(params=seed)
+|    rngs = nnx.Rngs(params=seed, dropout=seed + 1)
    return ViT(rngs=rngs)


print(build(0)(jnp.ones((2, 8, 8, 3))).shape)
""",
    ),
    "the averages run over all epochs": lined(
        "NNX892",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))


def loss_fn(model, batch):
    logits = model(batch["image"])
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"]).mean()
    return loss, logits


@nnx.jit
def train_step(model, optimizer, metrics, batch):
    grad_fn = nnx.value_and_grad(loss_fn, has_aux=True)
    (loss, logits), grads = grad_fn(model, batch)
    metrics.update(loss=loss, logits=logits, labels=batch["label"])
    optimizer.update(model, grads)


x = jax.random.normal(jax.random.key(0), (64, 4))
batch = {"image": x, "label": x[:, :3].argmax(-1)}
history = {"loss": [], "accuracy": []}
for epoch in range(4):
    for _ in range(5):
        train_step(model, optimizer, metrics, batch)
    for name, value in metrics.compute().items():
        history[name].append(float(value))
+|    metrics.reset()
print(history)
""",
    ),
    "Accuracy is not given the labels": lined(
        "NNX893",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def eval_step(model, metrics, batch):
    x, y = batch
    logits = model(x)
    losses = jnp.square(logits - jax.nn.one_hot(y, 3)).mean()
-|    metrics.update(loss=losses, logits=logits)
+|    metrics.update(loss=losses, logits=logits, labels=y)


def evaluate(model, batches):
    metrics = nnx.MultiMetric(
        accuracy=nnx.metrics.Accuracy(),
        loss=nnx.metrics.Average("loss"),
    )
    for batch in batches:
        eval_step(model, metrics, batch)
    return metrics.compute()


model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
xs = jax.random.normal(jax.random.key(0), (3, 8, 4))
ys = jnp.zeros((3, 8), jnp.int32)
print(evaluate(model, list(zip(xs, ys))))
""",
    ),
    "the best model is the running model": lined(
        "NNX859",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class EarlyStopping:
    def __init__(self, patience):
        self.patience = patience
        self.best_loss = float("inf")
        self.best_model = None
        self.bad = 0

    def check(self, loss, model):
        if loss < self.best_loss:
            self.best_loss = loss
            self.bad = 0
            self.remember(model)
        else:
            self.bad += 1
        return self.bad > self.patience

    def remember(self, candidate):
-|        self.best_model = candidate
+|        self.best_model = nnx.clone(candidate)


@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
    return loss


model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(1.2), wrt=nnx.Param)
stopper = EarlyStopping(2)
x = jax.random.normal(jax.random.key(0), (16, 3))
y = x.sum(-1, keepdims=True)
for epoch in range(20):
    train_step(model, optimizer, x, y)
    loss = float(((model(x) - y) ** 2).mean())
    if stopper.check(loss, model):
        break
model = stopper.best_model
print(((model(x) - y) ** 2).mean(), stopper.best_loss)
""",
    ),
    "what was restored reaches no model": lined(
        "NNX862",
        r"""
import os
import tempfile

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
from flax import nnx


class MLP(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(4, 8, rngs=rngs)
        self.l2 = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.l2(nnx.relu(self.l1(x)))


def save(model, folder):
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(os.path.join(folder, "model"), nnx.state(model))


def load(folder):
    model = MLP(nnx.Rngs(0))
    graphdef, state = nnx.split(model)
    with ocp.StandardCheckpointer() as checkpointer:
        restored = checkpointer.restore(os.path.join(folder, "model"), state)
    print("restored", len(jax.tree.leaves(restored)), "arrays")
-|    return nnx.merge(graphdef, state)
+|    return nnx.merge(graphdef, restored)


folder = tempfile.mkdtemp()
trained = MLP(nnx.Rngs(99))
save(trained, folder)
loaded = load(folder)
x = jnp.ones((1, 4))
print(loaded(x), trained(x))
""",
    ),
    "the abstract state is merged": lined(
        "NNX862",
        r"""
import tempfile

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
from flax import nnx


class TwoLayer(nnx.Module):
    def __init__(self, dim, rngs):
        self.l1 = nnx.Linear(dim, dim, rngs=rngs)
        self.l2 = nnx.Linear(dim, dim, rngs=rngs)

    def __call__(self, x):
        return self.l2(self.l1(x))


def restore(path):
    abstract_model = nnx.eval_shape(lambda: TwoLayer(4, nnx.Rngs(0)))
    graphdef, abstract_state = nnx.split(abstract_model)
    checkpointer = ocp.StandardCheckpointer()
    state = checkpointer.restore(path, abstract_state)
-|    model = nnx.merge(graphdef, abstract_state)
+|    model = nnx.merge(graphdef, state)
    return model, state


path = tempfile.mkdtemp() + "/s"
with ocp.StandardCheckpointer() as saver:
    saver.save(path, nnx.split(TwoLayer(4, nnx.Rngs(3)))[1])
model, _ = restore(path)
print(model(jnp.ones((2, 4))))
""",
    ),
    "eval_shape of a constructor, called in a helper": lined(
        "NNX877",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, width, *, rngs):
        self.a = nnx.Linear(3, width, rngs=rngs)
        self.b = nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, x):
        return self.b(nnx.relu(self.a(x)))


def count(model):
    return sum(p.size for p in jax.tree.leaves(nnx.state(model, nnx.Param)))


def create_model(width):
    make = lambda: Net(width, rngs=nnx.Rngs(0))
-|    return nnx.eval_shape(make)
+|    print("parameters", count(nnx.eval_shape(make)))
+|    return make()


def predict(x):
    model = create_model(16)
    return model(x)


print(predict(jnp.ones((2, 3))))
""",
    ),
    "init and apply of an nnx module": lined(
        "NNX875",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class CNN(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(1, 8, (3, 3), rngs=rngs)
        self.fc = nnx.Linear(8, 10, rngs=rngs)

    def __call__(self, x):
        return self.fc(nnx.relu(self.conv(x)).mean((1, 2)))


def create_train_state(seed):
    model = CNN(nnx.Rngs(seed))
-|    variables = model.init(jax.random.key(seed), jnp.ones((1, 28, 28, 1)))
-|    params = variables["params"]
+|    graphdef, params = nnx.split(model)
    tx = optax.sgd(0.1)
    return model, params, tx.init(params)


model, params, opt_state = create_train_state(0)
print(jax.tree.map(jnp.shape, params))
""",
    ),
    "setup in an nnx module": lined(
        "NNX875",
        r"""
import jax.numpy as jnp
from flax import nnx


class Encoder(nnx.Module):
-|    def setup(self):
-|        self.proj = nnx.Linear(4, 8, rngs=nnx.Rngs(0))
+|    def __init__(self, rngs):
+|        self.proj = nnx.Linear(4, 8, rngs=rngs)

    def __call__(self, x):
        return nnx.relu(self.proj(x))


class Autoencoder(nnx.Module):
    def __init__(self, rngs):
-|        self.encoder = Encoder()
+|        self.encoder = Encoder(rngs)
        self.decoder = nnx.Linear(8, 4, rngs=rngs)

    def __call__(self, x):
        return self.decoder(self.encoder(x))


model = Autoencoder(nnx.Rngs(0))
print(model(jnp.ones((2, 4))).shape)
""",
    ),
    "clipped weights replace the Param": lined(
        "NNX846",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Critic(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(2, 16, rngs=rngs)
        self.l2 = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x):
        return self.l2(nnx.leaky_relu(self.l1(x)))[:, 0]


def clip(critic, c):
    for layer in (critic.l1, critic.l2):
-|        layer.kernel = jnp.clip(layer.kernel[...], -c, c)
+|        layer.kernel[...] = jnp.clip(layer.kernel[...], -c, c)


critic = Critic(nnx.Rngs(0))
optimizer = nnx.Optimizer(critic, optax.rmsprop(5e-5), wrt=nnx.Param)
for i in range(3):
    real = jax.random.normal(jax.random.key(i), (8, 2))
    fake = jax.random.normal(jax.random.key(100 + i), (8, 2))
    loss, grads = nnx.value_and_grad(lambda c: c(fake).mean() - c(real).mean())(critic)
    optimizer.update(critic, grads)
    clip(critic, 0.01)
    print(loss)
""",
    ),
    "surgery on a state that is not put back": lined(
        "NNX896",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class GPT(nnx.Module):
    def __init__(self, vocab, dim, rngs):
        self.wte = nnx.Embed(vocab, dim, rngs=rngs)
        self.head = nnx.Linear(dim, vocab, use_bias=False, rngs=rngs)

    def __call__(self, ids):
        return self.head(self.wte(ids))


def load_pretrained(model, weights):
    params = nnx.to_pure_dict(nnx.state(model, nnx.Param))
    for path, array in weights.items():
        node = params
        *parents, last = path.split(".")
        for part in parents:
            node = node[part]
        node[last] = jnp.asarray(array)
-|    return model
+|    nnx.update(model, params)
+|    return model


weights = {"wte.embedding": jnp.zeros((8, 4)), "head.kernel": jnp.zeros((4, 8))}
model = load_pretrained(GPT(8, 4, nnx.Rngs(0)), weights)
print(model(jnp.array([[1, 2]])).sum())
""",
    ),
    "nnx.update(state, model) instead of nnx.update(model, state)": lined(
        "NNX874",
        r'''
import jax
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)


class Swap:
    """Holds an average of the weights, puts it in for an evaluation and takes it out again."""

    def __init__(self, model):
        self.model = model
        self.average = jax.tree.map(jnp.copy, nnx.state(model, nnx.Param))

    def accumulate(self, decay):
        current = nnx.state(self.model, nnx.Param)
        self.average = jax.tree.map(lambda a, c: decay * a + (1 - decay) * c, self.average, current)

    def __enter__(self):
        self.saved = jax.tree.map(jnp.copy, nnx.state(self.model, nnx.Param))
        nnx.update(self.model, self.average)
        return self.model

    def __exit__(self, *args):
-|        nnx.update(self.saved, self.model)
+|        nnx.update(self.model, self.saved)


model = Net(nnx.Rngs(0))
swap = Swap(model)
swap.accumulate(0.9)
with swap as averaged:
    print(averaged(jnp.ones((1, 4))))
print(model(jnp.ones((1, 4))))
''',
    ),
    "Adam's moments are lost because the optimizer is made anew": lined(
        "NNX894",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)


def loss_fn(model, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()


-|def train_one_step(model, x, y, lr):
-|    optimizer = nnx.Optimizer(model, optax.adam(lr), wrt=nnx.Param)
+|def train_one_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(loss_fn)(model, x, y)
    optimizer.update(model, grads)
    return loss


model = Net(nnx.Rngs(0))
x = jax.random.normal(jax.random.key(0), (32, 4))
y = (x.sum(-1) > 0).astype(jnp.int32)
+|optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
for step in range(5):
-|    print(train_one_step(model, x, y, 1e-3))
+|    print(train_one_step(model, optimizer, x, y))
""",
    ),
    "dropout mask the same in each step": lined(
        "NNX832",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class NoisyNet(nnx.Module):
    def __init__(self, dim, *, rngs):
        self.linear = nnx.Linear(dim, dim, rngs=rngs)
        self.sigma = 0.1
+|        self.rngs = rngs

    def perturb(self, x):
-|        rngs = nnx.Rngs(noise=0)
-|        return x + self.sigma * jax.random.normal(rngs.noise(), x.shape)
+|        return x + self.sigma * jax.random.normal(self.rngs.noise(), x.shape)

    def __call__(self, x):
        return self.linear(self.perturb(x))


model = NoisyNet(4, rngs=nnx.Rngs(0))
x = jnp.ones((1, 4))
outs = [model(x) for _ in range(3)]
print(outs)
""",
    ),
    "autoregressive cache not initialized": lined(
        "NNX898",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class Decoder(nnx.Module):
    def __init__(self, vocab, dim, heads, rngs):
        self.embed = nnx.Embed(vocab, dim, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(heads, dim, decode=True, rngs=rngs)
        self.out = nnx.Linear(dim, vocab, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens)
        return self.out(x + self.attn(x))


def generate(model, prompt, steps):
+|    model.attn.init_cache((prompt.shape[0], steps, 8))
    token = prompt
    out = []
    for _ in range(steps):
        logits = model(token)
        token = logits[:, -1:].argmax(-1)
        out.append(token)
    return jnp.concatenate(out, axis=1)


model = Decoder(16, 8, 2, nnx.Rngs(0))
print(generate(model, jnp.zeros((2, 1), jnp.int32), 4))
""",
    ),
    "Sequential is given a list": lined(
        "NNX874",
        r"""
import jax.numpy as jnp
from flax import nnx


def mlp(sizes, rngs):
    layers = []
    for din, dout in zip(sizes[:-1], sizes[1:]):
        layers.append(nnx.Linear(din, dout, rngs=rngs))
        layers.append(nnx.relu)
-|    return nnx.Sequential(layers[:-1])
+|    return nnx.Sequential(*layers[:-1])


net = mlp([4, 16, 16, 2], nnx.Rngs(0))
print(net(jnp.ones((3, 4))).shape)
""",
    ),
    "BatchNorm never learns its statistics": lined(
        "NNX891",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class ConvNet(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(1, 4, (3, 3), rngs=rngs)
-|        self.bn = nnx.BatchNorm(4, use_running_average=True, rngs=rngs)
+|        self.bn = nnx.BatchNorm(4, use_running_average=False, rngs=rngs)
        self.fc = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.bn(self.conv(x)))
        return self.fc(x.mean((1, 2)))


@nnx.jit
def train_step(model, optimizer, images, labels):
    def loss_fn(m):
        return optax.softmax_cross_entropy_with_integer_labels(m(images), labels).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


model = ConvNet(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
images = 5 + jax.random.normal(jax.random.key(0), (8, 8, 8, 1))
for _ in range(3):
    print(train_step(model, optimizer, images, jnp.zeros(8, jnp.int32)))
""",
    ),
    "training loop computes gradients but never updates": lined(
        "NNX842",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(4, 8, rngs=rngs)
        self.l2 = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.l2(nnx.relu(self.l1(x)))


def make_step(tx):
    @nnx.jit
    def step(model, opt_state, x, y):
        loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
        params = nnx.state(model, nnx.Param)
        updates, opt_state = tx.update(grads, opt_state, params)
-|        optax.apply_updates(params, updates)
+|        nnx.update(model, optax.apply_updates(params, updates))
        return loss, opt_state

    return step


model = Net(nnx.Rngs(0))
tx = optax.adam(1e-2)
opt_state = tx.init(nnx.state(model, nnx.Param))
step = make_step(tx)
x = jax.random.normal(jax.random.key(0), (16, 4))
y = x.sum(-1, keepdims=True)
losses = []
for _ in range(5):
    loss, opt_state = step(model, opt_state, x, y)
    losses.append(float(loss))
print(losses)
""",
    ),
}
