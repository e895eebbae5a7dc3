"""Mistakes that people ask about on the trackers of Flax and JAX and elsewhere, each as in some real project."""

from __future__ import annotations

from tests.lint.programs import Pair

PAIRS = {
    "a method keeps what it computed": Pair(
        "NNX804",
        """
class Box:
    @functools.partial(jax.jit, static_argnums=0)
    def apply(self, array):
        self.cache = array * 2
        return self.cache + 1

box = Box()
out = box.apply(jnp.arange(3.0))
print(np.asarray(box.cache))
""",
        """
class Box:
    @functools.partial(jax.jit, static_argnums=0)
    def apply(self, array):
        cache = array * 2
        return cache + 1, cache

box = Box()
out, box.cache = box.apply(jnp.arange(3.0))
print(np.asarray(box.cache))
""",
    ),
    "a compiled bound method and a changed field": Pair(
        "NNX807",
        """
class Scale:
    def __init__(self, factor):
        self.factor = factor

    def calc(self, value):
        return value * self.factor

scale = Scale(2.0)
calc = jax.jit(scale.calc)
first = calc(1.0)
scale.factor = 5.0
print(first, calc(1.0))
""",
        """
class Scale:
    def __init__(self, factor):
        self.factor = factor

    def calc(self, value, factor):
        return value * factor

scale = Scale(2.0)
calc = jax.jit(scale.calc)
first = calc(1.0, scale.factor)
scale.factor = 5.0
print(first, calc(1.0, scale.factor))
""",
    ),
    "a vector-mapped model that keeps averages": Pair(
        "NNX880",
        """
class Model(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(4, 5, rngs=rngs)
        self.bn = nnx.BatchNorm(5, rngs=rngs)

    def __call__(self, x):
        return self.bn(self.linear(x))

model = Model(nnx.Rngs(0))
parts = nnx.vmap(lambda model, part: model(part), in_axes=(None, 0))
for _ in range(2):
    out = parts(model, jnp.stack([x, 2 * x]))
print(out.shape)
""",
        """
class Model(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(4, 5, rngs=rngs)
        self.bn = nnx.BatchNorm(5, rngs=rngs)

    def __call__(self, x):
        return self.bn(self.linear(x))

model = Model(nnx.Rngs(0))
model.eval()
parts = nnx.vmap(lambda model, part: model(part), in_axes=(None, 0))
for _ in range(2):
    out = parts(model, jnp.stack([x, 2 * x]))
print(out.shape)
""",
    ),
    "heads by name in a plain dict": Pair(
        "NNX601",
        """
class Heads(nnx.Module):
    def __init__(self, sizes, rngs):
        self.trunk = nnx.Linear(4, 8, rngs=rngs)
        self.heads = {name: nnx.Linear(8, size, rngs=rngs) for name, size in sizes.items()}

    def __call__(self, x):
        hidden = self.trunk(x)
        return {name: head(hidden) for name, head in self.heads.items()}

print(len(Heads({"policy": 3, "value": 1}, nnx.Rngs(0))(x)))
""",
        """
class Heads(nnx.Module):
    def __init__(self, sizes, rngs):
        self.trunk = nnx.Linear(4, 8, rngs=rngs)
        self.heads = nnx.Dict({name: nnx.Linear(8, size, rngs=rngs) for name, size in sizes.items()})

    def __call__(self, x):
        hidden = self.trunk(x)
        return {name: head(hidden) for name, head in self.heads.items()}

print(len(Heads({"policy": 3, "value": 1}, nnx.Rngs(0))(x)))
""",
        since="0.12",
    ),
    "blocks that a helper builds": Pair(
        "NNX601",
        """
def make_blocks(count, rngs):
    blocks = []
    for _ in range(count):
        blocks.append(nnx.Linear(4, 4, rngs=rngs))
    return blocks

class Tower(nnx.Module):
    def __init__(self, rngs):
        self.blocks = make_blocks(3, rngs)

    def __call__(self, x):
        for block in self.blocks:
            x = nnx.relu(block(x))
        return x

print(Tower(nnx.Rngs(0))(x).shape)
""",
        """
def make_blocks(count, rngs):
    blocks = []
    for _ in range(count):
        blocks.append(nnx.Linear(4, 4, rngs=rngs))
    return blocks

class Tower(nnx.Module):
    def __init__(self, rngs):
        self.blocks = nnx.List(make_blocks(3, rngs))

    def __call__(self, x):
        for block in self.blocks:
            x = nnx.relu(block(x))
        return x

print(Tower(nnx.Rngs(0))(x).shape)
""",
        since="0.12",
    ),
    "a partial of the optimizer": Pair(
        "NNX101",
        """
make_optimizer = functools.partial(nnx.Optimizer, tx=optax.adam(1e-3))

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = make_optimizer(model)
optimizer.update(model, nnx.grad(lambda model: ((model(x) - y) ** 2).mean())(model))
print(int(optimizer.step.get_value()))
""",
        """
make_optimizer = functools.partial(nnx.Optimizer, tx=optax.adam(1e-3), wrt=nnx.Param)

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = make_optimizer(model)
optimizer.update(model, nnx.grad(lambda model: ((model(x) - y) ** 2).mean())(model))
print(int(optimizer.step.get_value()))
""",
        since="0.12",
    ),
    "arguments of update the other way round": Pair(
        "NNX105",
        """
@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda model: ((model(x) - y) ** 2).mean())(model)
    optimizer.update(grads, model)
    return loss

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.5), wrt=nnx.Param)
train_step(model, optimizer, x, y)
print(total(model))
""",
        """
@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda model: ((model(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
    return loss

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.5), wrt=nnx.Param)
train_step(model, optimizer, x, y)
print(total(model))
""",
        since="0.12",
    ),
    "a mask of a length that is an argument": Pair(
        "NNX823",
        """
from masks import causal

@jax.jit
def attend(scores, length):
    return jnp.where(causal(length), scores, -1e9).sum()

print(float(attend(jnp.ones((4, 4)), 4)) < 0)
# file: masks.py
import jax.numpy as jnp

def causal(size):
    places = jnp.arange(size)
    return places[:, None] >= places[None, :]
""",
        """
from masks import causal

@functools.partial(jax.jit, static_argnames="length")
def attend(scores, length):
    return jnp.where(causal(length), scores, -1e9).sum()

print(float(attend(jnp.ones((4, 4)), length=4)) < 0)
# file: masks.py
import jax.numpy as jnp

def causal(size):
    places = jnp.arange(size)
    return places[:, None] >= places[None, :]
""",
    ),
    "an axis as an argument": Pair(
        "NNX823",
        """
@jax.jit
def smallest(array, axis):
    return array.min(axis)

print(smallest(x, 0).shape)
""",
        """
@functools.partial(jax.jit, static_argnums=1)
def smallest(array, axis):
    return array.min(axis)

print(smallest(x, 0).shape)
""",
    ),
    "the first so many of every row": Pair(
        "NNX823",
        """
def head_mean(row, count):
    return row[:count].mean()

print(jax.vmap(head_mean)(x, jnp.arange(1, 9)).shape)
""",
        """
def head_mean(row, count):
    return jnp.where(jnp.arange(row.shape[0]) < count, row, 0).sum() / count

print(jax.vmap(head_mean)(x, jnp.arange(1, 9)).shape)
""",
    ),
    "the mean of what is positive": Pair(
        "NNX824",
        """
def positive_mean(values):
    chosen = values > 0
    return jnp.mean(values[chosen])

fast = jax.jit(positive_mean)
print(f"{float(fast(x)):.4f}")
""",
        """
def positive_mean(values):
    chosen = values > 0
    return jnp.mean(values, where=chosen)

fast = jax.jit(positive_mean)
print(f"{float(fast(x)):.4f}")
""",
    ),
    "steps of a loop as an argument": Pair(
        "NNX821",
        """
class Euler(nnx.Module):
    def __init__(self, rngs):
        self.field = nnx.Linear(4, 4, rngs=rngs)

    @nnx.jit
    def integrate(self, state, steps):
        for _ in range(steps):
            state = state + 0.1 * self.field(state)
        return state

print(Euler(nnx.Rngs(0)).integrate(x, 3).shape)
""",
        """
class Euler(nnx.Module):
    def __init__(self, rngs):
        self.field = nnx.Linear(4, 4, rngs=rngs)

    @functools.partial(nnx.jit, static_argnames=("steps",))
    def integrate(self, state, *, steps):
        for _ in range(steps):
            state = state + 0.1 * self.field(state)
        return state

print(Euler(nnx.Rngs(0)).integrate(x, steps=3).shape)
""",
    ),
    "numpy and math on what is differentiated": Pair(
        "NNX810",
        """
import math

def log_likelihood(mean, scale, data):
    return -0.5 * jnp.sum(((data - mean) / scale) ** 2) - data.size * math.log(scale)

gradient = jax.jit(jax.grad(log_likelihood, argnums=(0, 1)))
print(len(gradient(0.5, 1.5, jnp.arange(3.0))))
""",
        """
import math

def log_likelihood(mean, scale, data):
    return -0.5 * jnp.sum(((data - mean) / scale) ** 2) - data.size * jnp.log(scale) - 0.5 * math.log(2 * math.pi)

gradient = jax.jit(jax.grad(log_likelihood, argnums=(0, 1)))
print(len(gradient(0.5, 1.5, jnp.arange(3.0))))
""",
    ),
    "rows that are set one by one": Pair(
        "NNX840",
        """
def table(rows, columns):
    return jnp.zeros((rows, columns))

filled = table(3, 4)
for row in range(3):
    filled[row] = x[row]
print(float(filled.sum()))
""",
        """
def table(rows, columns):
    return np.zeros((rows, columns))

filled = table(3, 4)
for row in range(3):
    filled[row] = x[row]
print(float(filled.sum()))
""",
    ),
    "a weight of a layer that is set in place": Pair(
        "NNX840",
        """
class Padded(nnx.Module):
    def __init__(self, rngs):
        self.table = nnx.Embed(6, 3, rngs=rngs)
        self.table.embedding.value[0] = jnp.zeros(3)

print(float(jnp.abs(Padded(nnx.Rngs(0)).table(jnp.array(0))).sum()))
""",
        """
class Padded(nnx.Module):
    def __init__(self, rngs):
        self.table = nnx.Embed(6, 3, rngs=rngs)
        self.table.embedding[...] = self.table.embedding[...].at[0].set(0.0)

print(float(jnp.abs(Padded(nnx.Rngs(0)).table(jnp.array(0))).sum()))
""",
    ),
    "weights of all layers from one key": Pair(
        "NNX830",
        """
def init_network(sizes, key):
    return [jax.random.normal(key, (m, n)) * 0.1 for m, n in zip(sizes[:-1], sizes[1:])]

first, second = init_network([4, 4, 4], jax.random.key(0))
print(bool((first == second).all()))
""",
        """
def init_network(sizes, key):
    keys = jax.random.split(key, len(sizes) - 1)
    return [jax.random.normal(k, (m, n)) * 0.1 for k, m, n in zip(keys, sizes[:-1], sizes[1:])]

first, second = init_network([4, 4, 4], jax.random.key(0))
print(bool((first == second).all()))
""",
    ),
    "a split whose first half is thrown away": Pair(
        "NNX830",
        """
key = jax.random.key(0)
seen = set()
for epoch in range(3):
    _, subkey = jax.random.split(key)
    order = jax.random.permutation(subkey, 8)
    seen.add(tuple(order.tolist()))
print(len(seen))
""",
        """
key = jax.random.key(0)
seen = set()
for epoch in range(3):
    key, subkey = jax.random.split(key)
    order = jax.random.permutation(subkey, 8)
    seen.add(tuple(order.tolist()))
print(len(seen))
""",
    ),
    "one noise for all rows": Pair(
        "NNX836",
        """
def noisy(row, key):
    return row + jax.random.normal(key, row.shape)

key = jax.random.key(0)
rows = jax.vmap(lambda row: noisy(row, key))(jnp.zeros((3, 2)))
print(bool((rows[0] == rows[1]).all()))
""",
        """
def noisy(row, key):
    return row + jax.random.normal(key, row.shape)

keys = jax.random.split(jax.random.key(0), 3)
rows = jax.vmap(lambda row, key: noisy(row, key))(jnp.zeros((3, 2)), keys)
print(bool((rows[0] == rows[1]).all()))
""",
    ),
    "the stream of the same seed in every call": Pair(
        "NNX832",
        """
class Noisy(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(4, 4, rngs=rngs)
        self.drop = nnx.Dropout(0.5)

    def __call__(self, x):
        return self.drop(self.linear(x), rngs=nnx.Rngs(dropout=0))

model = Noisy(nnx.Rngs(0))
print(bool((model(x) == model(x)).all()))
""",
        """
class Noisy(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(4, 4, rngs=rngs)
        self.drop = nnx.Dropout(0.5)
        self.rngs = rngs

    def __call__(self, x):
        return self.drop(self.linear(x), rngs=self.rngs)

model = Noisy(nnx.Rngs(0))
print(bool((model(x) == model(x)).all()))
""",
    ),
    "a mean over an axis that nobody named": Pair(
        "NNX863",
        """
def update(weights, batch):
    grads = jax.grad(lambda w: ((batch @ w) ** 2).mean())(weights)
    return weights - 0.1 * jax.lax.pmean(grads, axis_name="batch")

print(jax.vmap(update, in_axes=(None, 0))(jnp.ones(4), jnp.stack([x, x])).shape)
""",
        """
def update(weights, batch):
    grads = jax.grad(lambda w: ((batch @ w) ** 2).mean())(weights)
    return weights - 0.1 * jax.lax.pmean(grads, axis_name="batch")

print(jax.vmap(update, in_axes=(None, 0), axis_name="batch")(jnp.ones(4), jnp.stack([x, x])).shape)
""",
    ),
    "a collective under a compiled function": Pair(
        "NNX863",
        """
@jax.jit
def global_norm(tree):
    return jnp.sqrt(jax.lax.psum(sum(jnp.sum(leaf ** 2) for leaf in jax.tree.leaves(tree)), "data"))

print(f"{float(global_norm({'a': x, 'b': y})):.4f}")
""",
        """
@jax.jit
def global_norm(tree):
    return jnp.sqrt(sum(jnp.sum(leaf ** 2) for leaf in jax.tree.leaves(tree)))

print(f"{float(global_norm({'a': x, 'b': y})):.4f}")
""",
    ),
    "donated weights that are read once more": Pair(
        "NNX856",
        """
@functools.partial(jax.jit, donate_argnames=("params",))
def step(params, batch):
    return jax.tree.map(lambda p: p - 0.1 * batch.mean(), params)

params = {"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}
new = step(params, x)
change = jax.tree.map(lambda a, b: float(jnp.abs(a - b).sum()), params, new)
print(len(change))
""",
        """
@functools.partial(jax.jit, donate_argnames=("params",))
def step(params, batch):
    return jax.tree.map(lambda p: p - 0.1 * batch.mean(), params)

params = {"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}
old = jax.tree.map(jnp.copy, params)
new = step(params, x)
change = jax.tree.map(lambda a, b: float(jnp.abs(a - b).sum()), old, new)
print(len(change))
""",
    ),
    "sizes as a static list": Pair(
        "NNX826",
        """
@functools.partial(jax.jit, static_argnames=("sizes",))
def pyramid(image, sizes):
    return [jax.image.resize(image, (size, size), "nearest").sum() for size in sizes]

SIZES = [2, 4]
print(len(pyramid(jnp.ones((8, 8)), sizes=SIZES)))
""",
        """
@functools.partial(jax.jit, static_argnames=("sizes",))
def pyramid(image, sizes):
    return [jax.image.resize(image, (size, size), "nearest").sum() for size in sizes]

SIZES = [2, 4]
print(len(pyramid(jnp.ones((8, 8)), sizes=tuple(SIZES))))
""",
    ),
    "a config that cannot be hashed": Pair(
        "NNX826",
        """
import dataclasses

@dataclasses.dataclass
class Config:
    width: int = 4
    scale: float = 2.0

@functools.partial(jax.jit, static_argnums=(0,))
def forward(config, x):
    return config.scale * x[:, : config.width]

print(forward(Config(width=2), x).shape)
""",
        """
import dataclasses

@dataclasses.dataclass(frozen=True)
class Config:
    width: int = 4
    scale: float = 2.0

@functools.partial(jax.jit, static_argnums=(0,))
def forward(config, x):
    return config.scale * x[:, : config.width]

print(forward(Config(width=2), x).shape)
""",
    ),
    "a config that is no array": Pair(
        "NNX879",
        """
import dataclasses

@dataclasses.dataclass
class Settings:
    width: int = 4
    scale: float = 2.0

@jax.jit
def forward(settings, x):
    return settings.scale * x

print(forward(Settings(), x).shape)
""",
        """
import dataclasses

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Settings:
    width: int = 4
    scale: float = 2.0

@jax.jit
def forward(settings, x):
    return settings.scale * x

print(forward(Settings(), x).shape)
""",
    ),
    "a mode that is a string": Pair(
        "NNX822",
        """
@nnx.jit
def run(model, x, mode):
    out = model(x)
    return out.mean() if mode == "mean" else out.sum()

print(float(run(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, mode="mean")) != 7)
""",
        """
@functools.partial(nnx.jit, static_argnames="mode")
def run(model, x, mode):
    out = model(x)
    return out.mean() if mode == "mean" else out.sum()

print(float(run(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, mode="mean")) != 7)
""",
    ),
    "dropout that has no stream": Pair(
        "NNX858",
        """
class Block(nnx.Module):
    def __init__(self, size, rngs):
        self.up = nnx.Linear(size, 2 * size, rngs=rngs)
        self.down = nnx.Linear(2 * size, size, rngs=rngs)
        self.dropout = nnx.Dropout(rate=0.1)

    def __call__(self, x):
        return self.dropout(self.down(nnx.gelu(self.up(x))))

print(Block(4, nnx.Rngs(0))(x).shape)
""",
        """
class Block(nnx.Module):
    def __init__(self, size, rngs):
        self.up = nnx.Linear(size, 2 * size, rngs=rngs)
        self.down = nnx.Linear(2 * size, size, rngs=rngs)
        self.dropout = nnx.Dropout(rate=0.1, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.down(nnx.gelu(self.up(x))))

print(Block(4, nnx.Rngs(0))(x).shape)
""",
    ),
    "an epoch that evaluates and trains on": Pair(
        "NNX860",
        """
def evaluate(model, x, y):
    model.eval()
    return float(((model(x) - y) ** 2).mean())

@nnx.jit
def train_step(model, optimizer, x, y):
    grads = nnx.grad(lambda model: ((model(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)

def fit(epochs):
    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    model.train()
    for _ in range(epochs):
        train_step(model, optimizer, x, y)
        evaluate(model, x, y)
    return model

print(total(fit(3)))
""",
        """
def evaluate(model, x, y):
    model.eval()
    return float(((model(x) - y) ** 2).mean())

@nnx.jit
def train_step(model, optimizer, x, y):
    grads = nnx.grad(lambda model: ((model(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)

def fit(epochs):
    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    for _ in range(epochs):
        model.train()
        train_step(model, optimizer, x, y)
        evaluate(model, x, y)
    return model

print(total(fit(3)))
""",
        since="0.12",
    ),
    "a sum that begins with an integer": Pair(
        "NNX865",
        """
def total_return(rewards, gamma):
    def body(carry, reward):
        carry = reward + gamma * carry
        return carry, carry

    return jax.lax.scan(body, jnp.zeros((), jnp.int32), rewards, reverse=True)[1]

print(total_return(jnp.ones(4), 0.9).shape)
""",
        """
def total_return(rewards, gamma):
    def body(carry, reward):
        carry = reward + gamma * carry
        return carry, carry

    return jax.lax.scan(body, jnp.zeros(()), rewards, reverse=True)[1]

print(total_return(jnp.ones(4), 0.9).shape)
""",
    ),
    "a sequence that grows in a scan": Pair(
        "NNX865",
        """
def generate(first, steps):
    def body(tokens, _):
        following = tokens[-1] + 1
        return jnp.concatenate([tokens, following[None]]), following

    return jax.lax.scan(body, first, None, length=steps)[1]

print(generate(jnp.array([1]), 3))
""",
        """
def generate(first, steps):
    def body(tokens, _):
        following = tokens[-1] + 1
        return jnp.concatenate([tokens[1:], following[None]]), following

    return jax.lax.scan(body, first, None, length=steps)[1]

print(generate(jnp.array([1]), 3))
""",
    ),
    "branches of different types": Pair(
        "NNX865",
        """
@jax.jit
def reward(done, score):
    return jax.lax.cond(done, lambda score: 0, lambda score: score * 1.5, score)

print(float(reward(False, 2.0)))
""",
        """
@jax.jit
def reward(done, score):
    return jax.lax.cond(done, lambda score: 0.0, lambda score: score * 1.5, score)

print(float(reward(False, 2.0)))
""",
    ),
    "a loop that forgets a part of its state": Pair(
        "NNX865",
        """
def newton(guess):
    def unfinished(state):
        value, error, steps = state
        return (error > 1e-4) & (steps < 50)

    def improve(state):
        value, error, steps = state
        new = value - (value ** 2 - 2.0) / (2.0 * value)
        return new, jnp.abs(new - value)

    return jax.lax.while_loop(unfinished, improve, (guess, jnp.inf, 0))[0]

print(f"{float(newton(1.0)):.4f}")
""",
        """
def newton(guess):
    def unfinished(state):
        value, error, steps = state
        return (error > 1e-4) & (steps < 50)

    def improve(state):
        value, error, steps = state
        new = value - (value ** 2 - 2.0) / (2.0 * value)
        return new, jnp.abs(new - value), steps + 1

    return jax.lax.while_loop(unfinished, improve, (guess, jnp.inf, 0))[0]

print(f"{float(newton(1.0)):.4f}")
""",
    ),
    "double precision that is not there": Pair(
        "NNX917",
        """
def cumulative(values):
    return jnp.cumsum(jnp.asarray(values), dtype=jnp.float64)

print(cumulative([1e8, 1.0, -1e8])[-1] == 1.0)
""",
        """
def cumulative(values):
    return np.cumsum(np.asarray(values), dtype=np.float64)

print(cumulative([1e8, 1.0, -1e8])[-1] == 1.0)
""",
    ),
    "the time of what is not done yet": Pair(
        "NNX907",
        """
@jax.jit
def work(x):
    return x @ x.T

work(x)
start = time.perf_counter()
for _ in range(3):
    out = work(x)
print((time.perf_counter() - start) / 3 < 100)
""",
        """
@jax.jit
def work(x):
    return x @ x.T

work(x)
start = time.perf_counter()
for _ in range(3):
    out = work(x)
out.block_until_ready()
print((time.perf_counter() - start) / 3 < 100)
""",
        slow=True,
    ),
    "a table that a cache keeps": Pair(
        "NNX876",
        """
@functools.lru_cache(maxsize=None)
def frequencies(size):
    return 1.0 / (10000.0 ** (jnp.arange(size) / size))

@jax.jit
def rotate(x):
    return x * frequencies(x.shape[-1])

print(rotate(x).shape, rotate(x[:2]).shape)
""",
        """
@functools.lru_cache(maxsize=None)
def frequencies(size):
    return 1.0 / (10000.0 ** (np.arange(size) / size))

@jax.jit
def rotate(x):
    return x * frequencies(x.shape[-1])

print(rotate(x).shape, rotate(x[:2]).shape)
""",
    ),
    "a history of losses beside a compiled step": Pair(
        "NNX805",
        """
history = {"loss": []}

@jax.jit
def step(weights, batch):
    loss, grads = jax.value_and_grad(lambda w: ((batch @ w) ** 2).mean())(weights)
    history["loss"].append(loss)
    return weights - 0.1 * grads

weights = jnp.ones(4)
for _ in range(3):
    weights = step(weights, x)
print(len(history["loss"]))
""",
        """
history = {"loss": []}

@jax.jit
def step(weights, batch):
    loss, grads = jax.value_and_grad(lambda w: ((batch @ w) ** 2).mean())(weights)
    return weights - 0.1 * grads, loss

weights = jnp.ones(4)
for _ in range(3):
    weights, loss = step(weights, x)
    history["loss"].append(loss)
print(len(history["loss"]))
""",
    ),
    "the gradient at an integer": Pair(
        "NNX851",
        """
def cube(value):
    return value ** 3

slope = jax.grad(cube)
print([float(slope(place)) for place in range(3)])
""",
        """
def cube(value):
    return value ** 3

slope = jax.grad(cube)
print([float(slope(float(place))) for place in range(3)])
""",
    ),
    "the gradient of a loss of every example": Pair(
        "NNX853",
        """
def loss_fn(model, x, labels):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), labels)

grads = nnx.grad(loss_fn)(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, labels)
print(len(jax.tree.leaves(grads)))
""",
        """
def loss_fn(model, x, labels):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), labels).mean()

grads = nnx.grad(loss_fn)(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, labels)
print(len(jax.tree.leaves(grads)))
""",
    ),
    "a loss with logits of another file": Pair(
        "NNX850",
        """
from losses import cross_entropy

@nnx.jit
def train_step(model, x, labels):
    loss, grads = nnx.value_and_grad(cross_entropy)(model, x, labels)
    return loss

print(float(train_step(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, labels)) > 0)
# file: losses.py
import optax

def cross_entropy(model, x, labels):
    logits = model(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), logits
""",
        """
from losses import cross_entropy

@nnx.jit
def train_step(model, x, labels):
    (loss, logits), grads = nnx.value_and_grad(cross_entropy, has_aux=True)(model, x, labels)
    return loss

print(float(train_step(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, labels)) > 0)
# file: losses.py
import optax

def cross_entropy(model, x, labels):
    logits = model(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), logits
""",
    ),
    "parts of a model in the wrong order": Pair(
        "NNX874",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
state, graphdef = nnx.split(model)

@jax.jit
def forward(state, x):
    return nnx.merge(graphdef, state)(x)

print(forward(state, x).shape)
""",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
graphdef, state = nnx.split(model)

@jax.jit
def forward(state, x):
    return nnx.merge(graphdef, state)(x)

print(forward(state, x).shape)
""",
    ),
    "metrics beside the compiled step": Pair(
        "NNX801",
        """
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))

@nnx.jit
def eval_step(model, x, y):
    metrics.update(loss=((model(x) - y) ** 2).mean())

eval_step(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, y)
print(float(metrics.compute()["loss"]) > 0)
""",
        """
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))

@nnx.jit
def eval_step(model, metrics, x, y):
    metrics.update(loss=((model(x) - y) ** 2).mean())

eval_step(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), metrics, x, y)
print(float(metrics.compute()["loss"]) > 0)
""",
    ),
    "an abstract model that is called": Pair(
        "NNX877",
        """
model = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
model.eval()
print(model(x).shape)
""",
        """
abstract = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
model = nnx.merge(nnx.graphdef(abstract), nnx.state(Net(nnx.Rngs(0))))
model.eval()
print(model(x).shape)
""",
    ),
    "fewer specs than arguments": Pair(
        "NNX867",
        """
from jax.sharding import PartitionSpec as P

mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))

def local_loss(weights, batch):
    return jax.lax.pmean(((batch @ weights) ** 2).mean(), "data")

loss = jax.shard_map(local_loss, mesh=mesh, in_specs=(P("data"),), out_specs=P())
print(float(loss(jnp.ones(4), x)) > 0)
""",
        """
from jax.sharding import PartitionSpec as P

mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))

def local_loss(weights, batch):
    return jax.lax.pmean(((batch @ weights) ** 2).mean(), "data")

loss = jax.shard_map(local_loss, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
print(float(loss(jnp.ones(4), x)) > 0)
""",
        since="0.12",
    ),
    "the larger of two traced numbers": Pair(
        "NNX820",
        """
@jax.jit
def hinge(scores, labels):
    margins = 1 - scores * labels
    return sum(max(margin, 0.0) for margin in margins)

print(float(hinge(jnp.array([0.5, 2.0]), jnp.array([1.0, 1.0]))))
""",
        """
@jax.jit
def hinge(scores, labels):
    margins = 1 - scores * labels
    return sum(jnp.maximum(margin, 0.0) for margin in margins)

print(float(hinge(jnp.array([0.5, 2.0]), jnp.array([1.0, 1.0]))))
""",
    ),
    "between two bounds": Pair(
        "NNX820",
        """
def inside(point, low, high):
    return low < point < high

print(jax.vmap(inside, in_axes=(0, None, None))(jnp.arange(3.0), 0.5, 1.5))
""",
        """
def inside(point, low, high):
    return (low < point) & (point < high)

print(jax.vmap(inside, in_axes=(0, None, None))(jnp.arange(3.0), 0.5, 1.5))
""",
    ),
    "a message with a number": Pair(
        "NNX803",
        """
import logging

@nnx.jit
def train_step(model, x, y):
    loss = ((model(x) - y) ** 2).mean()
    logging.getLogger("train").info(f"loss {loss:.4f}")
    return loss

print(float(train_step(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, y)) > 0)
""",
        """
import logging

@nnx.jit
def train_step(model, x, y):
    loss = ((model(x) - y) ** 2).mean()
    return loss

loss = train_step(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, y)
logging.getLogger("train").info(f"loss {loss:.4f}")
print(float(loss) > 0)
""",
    ),
    "a formatted text for debug.print": Pair(
        "NNX803",
        """
@jax.jit
def normalise(values):
    total = values.sum()
    jax.debug.print(f"sum: {total}")
    return values / total

normalise(jnp.array([1.0, 3.0])).block_until_ready()
jax.effects_barrier()
""",
        """
@jax.jit
def normalise(values):
    total = values.sum()
    jax.debug.print("sum: {}", total)
    return values / total

normalise(jnp.array([1.0, 3.0])).block_until_ready()
jax.effects_barrier()
""",
    ),
    "noise of numpy in a compiled step": Pair(
        "NNX806",
        """
def augment(images):
    return images + np.random.default_rng(0).normal(size=images.shape) * np.random.rand()

step = jax.jit(augment)
print(bool((step(x) == step(x)).all()))
""",
        """
def augment(images, key):
    return images + jax.random.normal(key, images.shape)

step = jax.jit(augment)
one, two = jax.random.split(jax.random.key(0))
print(bool((step(x, one) == step(x, two)).all()))
""",
    ),
    "a layer chosen by a traced index": Pair(
        "NNX821",
        """
class Stack(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.List([nnx.Linear(4, 4, rngs=rngs) for _ in range(3)])

    def __call__(self, x):
        return jax.lax.fori_loop(0, 3, lambda i, x: nnx.relu(self.layers[i](x)), x)

print(Stack(nnx.Rngs(0))(x).shape)
""",
        """
class Stack(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.List([nnx.Linear(4, 4, rngs=rngs) for _ in range(3)])

    def __call__(self, x):
        for i in range(3):
            x = nnx.relu(self.layers[i](x))
        return x

print(Stack(nnx.Rngs(0))(x).shape)
""",
        since="0.12",
    ),
    "a number that is mapped": Pair(
        "NNX867",
        """
def scaled(row, factor):
    return factor * row.sum()

print(jax.vmap(scaled)(x, 2.0).shape)
""",
        """
def scaled(row, factor):
    return factor * row.sum()

print(jax.vmap(scaled, in_axes=(0, None))(x, 2.0).shape)
""",
    ),
    "a keyword that is mapped all the same": Pair(
        "NNX867",
        """
def scaled(row, factor):
    return factor * row.sum()

print(jax.vmap(scaled, in_axes=(0, None))(x, factor=2.0).shape)
""",
        """
def scaled(row, factor):
    return factor * row.sum()

print(jax.vmap(functools.partial(scaled, factor=2.0), in_axes=(0,))(x).shape)
""",
    ),
    "streams by position": Pair(
        "NNX858",
        """
class Mlp(nnx.Module):
    def __init__(self, din, dout, rngs):
        self.inner = nnx.Linear(din, 8, rngs)
        self.outer = nnx.Linear(8, dout, rngs)

    def __call__(self, x):
        return self.outer(nnx.relu(self.inner(x)))

print(Mlp(4, 2, nnx.Rngs(0))(x).shape)
""",
        """
class Mlp(nnx.Module):
    def __init__(self, din, dout, rngs):
        self.inner = nnx.Linear(din, 8, rngs=rngs)
        self.outer = nnx.Linear(8, dout, rngs=rngs)

    def __call__(self, x):
        return self.outer(nnx.relu(self.inner(x)))

print(Mlp(4, 2, nnx.Rngs(0))(x).shape)
""",
    ),
    "layers of a sequence in a list": Pair(
        "NNX874",
        """
def build(rngs):
    layers = [nnx.Linear(4, 8, rngs=rngs), nnx.relu, nnx.Linear(8, 2, rngs=rngs)]
    return nnx.Sequential(layers)

print(build(nnx.Rngs(0))(x).shape)
""",
        """
def build(rngs):
    layers = [nnx.Linear(4, 8, rngs=rngs), nnx.relu, nnx.Linear(8, 2, rngs=rngs)]
    return nnx.Sequential(*layers)

print(build(nnx.Rngs(0))(x).shape)
""",
        since="0.12",
    ),
    "init and apply of Linen": Pair(
        "NNX875",
        """
model = Net(nnx.Rngs(0))
variables = model.init(jax.random.key(0), x)
print(model.apply(variables, x).shape)
""",
        """
model = Net(nnx.Rngs(0))
graphdef, variables = nnx.split(model)
print(nnx.merge(graphdef, variables)(x).shape)
""",
    ),
    "streams where a key belongs": Pair(
        "NNX874",
        """
class Token(nnx.Module):
    def __init__(self, size, rngs):
        self.token = nnx.Param(jax.random.normal(rngs.params, (1, size)))
        self.linear = nnx.Linear(size, size, rngs=rngs)

    def __call__(self, x):
        return self.linear(x + self.token)

print(Token(4, nnx.Rngs(0))(x).shape)
""",
        """
class Token(nnx.Module):
    def __init__(self, size, rngs):
        self.token = nnx.Param(jax.random.normal(rngs.params(), (1, size)))
        self.linear = nnx.Linear(size, size, rngs=rngs)

    def __call__(self, x):
        return self.linear(x + self.token)

print(Token(4, nnx.Rngs(0))(x).shape)
""",
    ),
    "a model with streams under jax.grad": Pair(
        "NNX817",
        """
model = Net(nnx.Rngs(0))

def loss_fn(model, x, y):
    return ((model(x) - y) ** 2).mean()

loss, grads = jax.value_and_grad(loss_fn)(model, x, y)
print(float(loss) > 0)
""",
        """
model = Net(nnx.Rngs(0))

def loss_fn(model, x, y):
    return ((model(x) - y) ** 2).mean()

loss, grads = nnx.value_and_grad(loss_fn)(model, x, y)
print(float(loss) > 0)
""",
    ),
    "updates and state of optax swapped": Pair(
        "NNX878",
        """
tx = optax.adam(0.1)
params = {"w": jnp.ones(4)}
opt_state = tx.init(params)

@jax.jit
def step(params, opt_state):
    grads = jax.grad(lambda p: ((x @ p["w"]) ** 2).mean())(params)
    opt_state, updates = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state

params, opt_state = step(params, opt_state)
print(total(params))
""",
        """
tx = optax.adam(0.1)
params = {"w": jnp.ones(4)}
opt_state = tx.init(params)

@jax.jit
def step(params, opt_state):
    grads = jax.grad(lambda p: ((x @ p["w"]) ** 2).mean())(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state

params, opt_state = step(params, opt_state)
print(total(params))
""",
    ),
    "updates that nobody keeps": Pair(
        "NNX842",
        """
tx = optax.sgd(0.1)
params = {"w": jnp.ones(4)}
opt_state = tx.init(params)
for _ in range(3):
    grads = jax.grad(lambda p: ((x @ p["w"]) ** 2).mean())(params)
    updates, opt_state = tx.update(grads, opt_state)
    optax.apply_updates(params, updates)
print(total(params))
""",
        """
tx = optax.sgd(0.1)
params = {"w": jnp.ones(4)}
opt_state = tx.init(params)
for _ in range(3):
    grads = jax.grad(lambda p: ((x @ p["w"]) ** 2).mean())(params)
    updates, opt_state = tx.update(grads, opt_state)
    params = optax.apply_updates(params, updates)
print(total(params))
""",
    ),
    "arrays in a list for a sum": Pair(
        "NNX844",
        """
losses = []
for part in jnp.split(x, 2):
    losses.append((part ** 2).mean())
print(f"{float(jnp.mean(losses)):.4f}")
""",
        """
losses = []
for part in jnp.split(x, 2):
    losses.append((part ** 2).mean())
print(f"{float(jnp.mean(jnp.array(losses))):.4f}")
""",
    ),
    "a key and a shape the other way round": Pair(
        "NNX874",
        """
def sample(key, count):
    return jax.random.uniform((count, 2), key)

print(sample(jax.random.key(0), 4).shape)
""",
        """
def sample(key, count):
    return jax.random.uniform(key, (count, 2))

print(sample(jax.random.key(0), 4).shape)
""",
    ),
    "a compiled lambda in a loop": Pair(
        "NNX903",
        """
totals = []
for power in range(1, 12):
    totals.append(float(jax.jit(lambda values: (values ** 2).sum())(x * power)))
print(len(totals))
""",
        """
square = jax.jit(lambda values: (values ** 2).sum())
totals = []
for power in range(1, 12):
    totals.append(float(square(x * power)))
print(len(totals))
""",
        slow=True,
    ),
    "a learning rate in a global": Pair(
        "NNX807",
        """
learning_rate = 0.1

@jax.jit
def step(weights):
    return weights - learning_rate * weights

weights = jnp.ones(2)
for epoch in range(3):
    weights = step(weights)
    learning_rate *= 0.1
print(weights)
""",
        """
learning_rate = 0.1

@jax.jit
def step(weights, learning_rate):
    return weights - learning_rate * weights

weights = jnp.ones(2)
for epoch in range(3):
    weights = step(weights, learning_rate)
    learning_rate *= 0.1
print(weights)
""",
    ),
    "a snapshot that follows the model": Pair(
        "NNX859",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.5), wrt=nnx.Param)
best, best_loss = None, float("inf")
for _ in range(3):
    loss, grads = nnx.value_and_grad(lambda model: ((model(x) - y) ** 2).mean())(model)
    if float(loss) < best_loss and best is None:
        best, best_loss = model, float(loss)
    optimizer.update(model, grads)
print(f"{float(((best(x) - y) ** 2).mean()) - best_loss:.4f}")
""",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.5), wrt=nnx.Param)
best, best_loss = None, float("inf")
for _ in range(3):
    loss, grads = nnx.value_and_grad(lambda model: ((model(x) - y) ** 2).mean())(model)
    if float(loss) < best_loss and best is None:
        best, best_loss = nnx.clone(model), float(loss)
    optimizer.update(model, grads)
print(f"{float(((best(x) - y) ** 2).mean()) - best_loss:.4f}")
""",
        since="0.12",
    ),
}
