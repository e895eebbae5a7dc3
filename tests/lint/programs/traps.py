"""Mistakes with JAX and optax that people ask about: tracing, loops, keys, types and steps that go the wrong way."""

from __future__ import annotations

from tests.lint.programs import Pair

PAIRS = {
    "fori structure": Pair(
        "NNX865",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def rollout(model, x, steps):
    graph, state = nnx.split(model)

    def body(i, carry):
        x, total = carry
        x = jnp.tanh(nnx.merge(graph, state)(x))
        return x

    return jax.lax.fori_loop(0, steps, body, (x, 0.0))


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
print(rollout(model, jnp.ones(2), 3))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def rollout(model, x, steps):
    graph, state = nnx.split(model)

    def body(i, carry):
        x, total = carry
        x = jnp.tanh(nnx.merge(graph, state)(x))
        return x, total + x.sum()

    return jax.lax.fori_loop(0, steps, body, (x, 0.0))


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
print(rollout(model, jnp.ones(2), 3))
""",
    ),
    "while structure": Pair(
        "NNX865",
        """
import jax
import jax.numpy as jnp
from flax import nnx

init = (0, jnp.ones(3), jnp.zeros(3))


def going(carry):
    return carry[0] < 10


def body(carry):
    i, x = carry[0], carry[1]
    return i + 1, x * 0.5


print(jax.lax.while_loop(going, body, init))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx

init = (0, jnp.ones(3), jnp.zeros(3))
init = (0, jnp.ones(3))


def going(carry):
    return carry[0] < 10


def body(carry):
    i, x = carry[0], carry[1]
    return i + 1, x * 0.5


print(jax.lax.while_loop(going, body, init))
""",
    ),
    "clip after adam": Pair(
        "NNX837",
        """
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
tx = optax.chain(
    optax.adam(1e-3),
    optax.clip_by_global_norm(1.0),
)
optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)
for size in (100.0, 1.0, 0.1):
    grads = nnx.grad(lambda m: (m(jnp.full((2, 2), size)) ** 2).mean())(model)
    optimizer.update(model, grads)
print(model.kernel[...])
""",
        """
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
tx = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.adam(1e-3),
)
optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)
for size in (100.0, 1.0, 0.1):
    grads = nnx.grad(lambda m: (m(jnp.full((2, 2), size)) ** 2).mean())(model)
    optimizer.update(model, grads)
print(model.kernel[...])
""",
    ),
    "generator twice": Pair(
        "NNX752",
        """
import jax.numpy as jnp
from flax import nnx


def batches(x, size):
    for i in range(0, x.shape[0], size):
        yield x[i : i + size]


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
data = jnp.ones((8, 2))
loader = batches(data, 4)
for epoch in range(3):
    seen = 0
    for batch in loader:
        seen += 1
        model(batch)
    print(epoch, seen)
""",
        """
import jax.numpy as jnp
from flax import nnx


def batches(x, size):
    for i in range(0, x.shape[0], size):
        yield x[i : i + size]


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
data = jnp.ones((8, 2))
for epoch in range(3):
    seen = 0
    for batch in batches(data, 4):
        seen += 1
        model(batch)
    print(epoch, seen)
""",
    ),
    "scan list": Pair(
        "NNX756",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def body(h, w):
    return jnp.tanh(h @ w), None


rngs = nnx.Rngs(0)
layers = [rngs.params.normal((3, 3)) for _ in range(4)]
h, _ = jax.lax.scan(body, jnp.ones(3), layers)
print(h)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def body(h, w):
    return jnp.tanh(h @ w), None


rngs = nnx.Rngs(0)
layers = [rngs.params.normal((3, 3)) for _ in range(4)]
h, _ = jax.lax.scan(body, jnp.ones(3), jnp.stack(layers))
print(h)
""",
        since="0.12",
    ),
    "shard map mean": Pair(
        "NNX757",
        """
from functools import partial

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import PartitionSpec as P

mesh = jax.sharding.Mesh(jax.devices(), ("data",))


@partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P())
def mean_loss(x):
    return jnp.mean(x**2)


layer = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
print(mean_loss(layer(jnp.ones((4, 2)))))
""",
        """
from functools import partial

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import PartitionSpec as P

mesh = jax.sharding.Mesh(jax.devices(), ("data",))


@partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P())
def mean_loss(x):
    return jax.lax.pmean(jnp.mean(x**2), "data")


layer = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
print(mean_loss(layer(jnp.ones((4, 2)))))
""",
    ),
    "cond shapes": Pair(
        "NNX865",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def choose(model, x, flag):
    h = model(x)

    def pooled(h):
        return h.mean(axis=0), h.max()

    def first(h):
        return h[0]

    return jax.lax.cond(flag, pooled, first, h)


model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
print(choose(model, jnp.ones((4, 2)), True))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def choose(model, x, flag):
    h = model(x)

    def pooled(h):
        return h.mean(axis=0)

    def first(h):
        return h[0]

    return jax.lax.cond(flag, pooled, first, h)


model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
print(choose(model, jnp.ones((4, 2)), True))
""",
    ),
    "late lambda": Pair(
        "NNX753",
        """
import jax
import jax.numpy as jnp
from flax import nnx

rngs = nnx.Rngs(0)
scales = [1.0, 10.0, 100.0]
branches = []
for scale in scales:
    branches.append(lambda x: x * scale)
for i in range(3):
    print(jax.lax.switch(i, branches, jnp.ones(())))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx

rngs = nnx.Rngs(0)
scales = [1.0, 10.0, 100.0]
branches = []
for scale in scales:
    branches.append(lambda x, scale=scale: x * scale)
for i in range(3):
    print(jax.lax.switch(i, branches, jnp.ones(())))
""",
    ),
    "equal nan": Pair(
        "NNX750",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def clean(x):
    return jnp.where(x == jnp.nan, 0.0, x)


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
x = jnp.array([1.0, jnp.nan])
print(model(clean(x)))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def clean(x):
    return jnp.where(jnp.isnan(x), 0.0, x)


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
x = jnp.array([1.0, jnp.nan])
print(model(clean(x)))
""",
    ),
    "uint8": Pair(
        "NNX754",
        """
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

images = jnp.asarray(np.arange(16, dtype=np.uint8).reshape(4, 4))
mean = jnp.uint8(8)
centered = images - mean
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
print(centered.min(), model(centered.astype(jnp.float32)).shape)
""",
        """
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

images = jnp.asarray(np.arange(16, dtype=np.uint8).reshape(4, 4))
mean = jnp.uint8(8)
centered = images.astype(jnp.float32) - mean
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
print(centered.min(), model(centered.astype(jnp.float32)).shape)
""",
    ),
    "append loop": Pair(
        "NNX761",
        """
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
x = jnp.ones((2,))
values = jnp.array([])
for i in range(50):
    s = model(x * i).sum()
    values = jnp.append(values, s)
print(values.shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
x = jnp.ones((2,))
collected = []
for i in range(50):
    s = model(x * i).sum()
    collected.append(s)
values = jnp.stack(collected)
print(values.shape)
""",
        slow=True,
    ),
    # jax-ml/jax pull 16430: `nullable or default` on a traced value
    "or default": Pair(
        "NNX820",
        """
import jax
import jax.numpy as jnp
from flax import nnx


class Scaled(nnx.Module):
    def __init__(self, features, rngs):
        self.linear = nnx.Linear(4, features, rngs=rngs)

    def __call__(self, x, temperature=None):
        temperature = temperature or 1.0
        return self.linear(x) / temperature


@nnx.jit
def predict(model, x, temperature):
    logits = model(x, temperature)
    return jax.nn.softmax(logits)


model = Scaled(3, nnx.Rngs(0))
x = jnp.ones((2, 4))
print(predict(model, x, jnp.float32(0.5)).shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


class Scaled(nnx.Module):
    def __init__(self, features, rngs):
        self.linear = nnx.Linear(4, features, rngs=rngs)

    def __call__(self, x, temperature=None):
        temperature = 1.0 if temperature is None else temperature
        return self.linear(x) / temperature


@nnx.jit
def predict(model, x, temperature):
    logits = model(x, temperature)
    return jax.nn.softmax(logits)


model = Scaled(3, nnx.Rngs(0))
x = jnp.ones((2, 4))
print(predict(model, x, jnp.float32(0.5)).shape)
""",
    ),
    # Stack Overflow: "min/max of tracers under jit"; jax errors page, TracerBoolConversionError
    "builtin max": Pair(
        "NNX820",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def hinge(margin, score):
    return max(0.0, margin - score)


class Ranker(nnx.Module):
    def __init__(self, rngs):
        self.score = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.score(x).mean()


@nnx.jit
def loss_fn(model, good, bad):
    difference = model(good) - model(bad)
    return hinge(1.0, difference)


model = Ranker(nnx.Rngs(0))
key = jax.random.key(0)
a, b = jax.random.normal(key, (2, 5, 8))
print(float(loss_fn(model, a, b)))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def hinge(margin, score):
    return jnp.maximum(0.0, margin - score)


class Ranker(nnx.Module):
    def __init__(self, rngs):
        self.score = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.score(x).mean()


@nnx.jit
def loss_fn(model, good, bad):
    difference = model(good) - model(bad)
    return hinge(1.0, difference)


model = Ranker(nnx.Rngs(0))
key = jax.random.key(0)
a, b = jax.random.normal(key, (2, 5, 8))
print(float(loss_fn(model, a, b)))
""",
    ),
    # jax Sharp Bits, control flow; Stack Overflow "while loop with jit"
    "while tolerance": Pair(
        "NNX820",
        """
import jax
import jax.numpy as jnp
import flax.nnx as nnx


@jax.jit
def sinkhorn(cost, tolerance):
    u = jnp.ones(cost.shape[0])
    v = jnp.ones(cost.shape[1])
    kernel = jnp.exp(-cost)
    error = jnp.inf
    while error > tolerance:
        previous = u
        u = 1.0 / (kernel @ v)
        v = 1.0 / (kernel.T @ u)
        error = jnp.abs(u - previous).max()
    return u[:, None] * kernel * v[None, :]


embed = nnx.Embed(6, 3, rngs=nnx.Rngs(0))
points = embed(jnp.arange(6))
cost = jnp.sum((points[:, None] - points[None]) ** 2, axis=-1)
plan = sinkhorn(cost, 1e-3)
print(plan.shape)
""",
        """
import jax
import jax.numpy as jnp
import flax.nnx as nnx


@jax.jit
def sinkhorn(cost, tolerance):
    u = jnp.ones(cost.shape[0])
    v = jnp.ones(cost.shape[1])
    kernel = jnp.exp(-cost)

    def going(carry):
        return carry[2] > tolerance

    def body(carry):
        u, v, _ = carry
        new = 1.0 / (kernel @ v)
        return new, 1.0 / (kernel.T @ new), jnp.abs(new - u).max()

    u, v, _ = jax.lax.while_loop(going, body, (u, v, jnp.inf))
    return u[:, None] * kernel * v[None, :]


embed = nnx.Embed(6, 3, rngs=nnx.Rngs(0))
points = embed(jnp.arange(6))
cost = jnp.sum((points[:, None] - points[None]) ** 2, axis=-1)
plan = sinkhorn(cost, 1e-3)
print(plan.shape)
""",
    ),
    # Stack Overflow "truth value of an array with more than one element is ambiguous" with jnp.where
    "chained comparison": Pair(
        "NNX820",
        """
import jax
import jax.numpy as jnp
from flax import nnx


class Gate(nnx.Module):
    def __init__(self, rngs):
        self.low = nnx.Param(jnp.zeros(()))
        self.high = nnx.Param(jnp.ones(()))
        self.linear = nnx.Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = self.linear(x)
        return jnp.where(-1.0 < x < 1.0, x, jnp.sign(x))


model = Gate(nnx.Rngs(0))
x = jax.random.normal(jax.random.key(1), (3, 4))
y = nnx.jit(lambda m, x: m(x))(model, x)
print(y.shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


class Gate(nnx.Module):
    def __init__(self, rngs):
        self.low = nnx.Param(jnp.zeros(()))
        self.high = nnx.Param(jnp.ones(()))
        self.linear = nnx.Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = self.linear(x)
        return jnp.where((-1.0 < x) & (x < 1.0), x, jnp.sign(x))


model = Gate(nnx.Rngs(0))
x = jax.random.normal(jax.random.key(1), (3, 4))
y = nnx.jit(lambda m, x: m(x))(model, x)
print(y.shape)
""",
    ),
    # jax-ml/jax errors page, TracerIntegerConversionError; Stack Overflow "range with a traced argument"
    "range traced": Pair(
        "NNX821",
        """
import jax
import jax.numpy as jnp
from flax import nnx


class Refiner(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.Linear(4, 4, rngs=rngs)

    def __call__(self, x, steps):
        for _ in range(steps):
            x = jnp.tanh(self.cell(x))
        return x


@nnx.jit
def refine(model, x, steps):
    return model(x, steps)


model = Refiner(nnx.Rngs(0))
for steps in (2, 4, 8):
    out = refine(model, jnp.ones((1, 4)), steps)
    print(steps, out.shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


class Refiner(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.Linear(4, 4, rngs=rngs)

    def __call__(self, x, steps):
        graph, state = nnx.split(self)
        return jax.lax.fori_loop(0, steps, lambda i, h: jnp.tanh(nnx.merge(graph, state).cell(h)), x)


@nnx.jit
def refine(model, x, steps):
    return model(x, steps)


model = Refiner(nnx.Rngs(0))
for steps in (2, 4, 8):
    out = refine(model, jnp.ones((1, 4)), steps)
    print(steps, out.shape)
""",
    ),
    # jax-ml/jax issue 648: a shape that depends on an argument of the jitted function
    "arange of length": Pair(
        "NNX823",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def causal_mask(length):
    rows = jnp.arange(length)
    return rows[:, None] >= rows[None, :]


@jax.jit
def attend(scores, length):
    mask = causal_mask(length)
    return jax.nn.softmax(jnp.where(mask, scores, -1e9))


query = nnx.Linear(8, 8, rngs=nnx.Rngs(0))
x = jnp.ones((5, 8))
scores = query(x) @ x.T
print(attend(scores, 5).shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def causal_mask(length):
    rows = jnp.arange(length.shape[0])
    return rows[:, None] >= rows[None, :]


@jax.jit
def attend(scores, tokens):
    mask = causal_mask(tokens)
    return jax.nn.softmax(jnp.where(mask, scores, -1e9))


query = nnx.Linear(8, 8, rngs=nnx.Rngs(0))
x = jnp.ones((5, 8))
scores = query(x) @ x.T
print(attend(scores, x).shape)
""",
    ),
    # Stack Overflow "Array slice indices must have static start/stop/step"; jax-ml/jax issue 4309
    "slice by length": Pair(
        "NNX823",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def pooled(model, tokens, length):
    hidden = model(tokens)
    return hidden[:length].mean(axis=0)


model = nnx.Embed(16, 8, rngs=nnx.Rngs(0))
tokens = jnp.arange(10)
lengths = [3, 7]
for n in lengths:
    print(pooled(model, tokens, n).shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def pooled(model, tokens, length):
    hidden = model(tokens)
    keep = (jnp.arange(hidden.shape[0]) < length)[:, None]
    return (hidden * keep).sum(axis=0) / length


model = nnx.Embed(16, 8, rngs=nnx.Rngs(0))
tokens = jnp.arange(10)
lengths = [3, 7]
for n in lengths:
    print(pooled(model, tokens, n).shape)
""",
    ),
    # jax errors page, NonConcreteBooleanIndexError; jax-ml/jax issue 4418
    "mask in helper": Pair(
        "NNX824",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def masked_mean(values, mask):
    return values[mask].mean()


class Classifier(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        return self.head(x)


@nnx.jit
def train_step(model, x, labels):
    def loss_fn(model):
        logp = jax.nn.log_softmax(model(x))
        nll = -jnp.take_along_axis(logp, labels[:, None] % 3, axis=1)[:, 0]
        valid = labels != -1
        return masked_mean(nll, valid)

    return nnx.value_and_grad(loss_fn)(model)[0]


model = Classifier(nnx.Rngs(0))
x = jnp.ones((6, 4))
labels = jnp.array([0, 1, -1, 2, 0, -1])
print(float(train_step(model, x, labels)))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def masked_mean(values, mask):
    return jnp.sum(values * mask) / jnp.sum(mask)


class Classifier(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        return self.head(x)


@nnx.jit
def train_step(model, x, labels):
    def loss_fn(model):
        logp = jax.nn.log_softmax(model(x))
        nll = -jnp.take_along_axis(logp, labels[:, None] % 3, axis=1)[:, 0]
        valid = labels != -1
        return masked_mean(nll, valid)

    return nnx.value_and_grad(loss_fn)(model)[0]


model = Classifier(nnx.Rngs(0))
x = jnp.ones((6, 4))
labels = jnp.array([0, 1, -1, 2, 0, -1])
print(float(train_step(model, x, labels)))
""",
    ),
    # jax-ml/jax issue 10231: unique under jit
    "unique jit": Pair(
        "NNX825",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@jax.jit
def prototypes(features, labels):
    classes = jnp.unique(labels)
    onehot = (labels[:, None] == classes[None, :]).astype(features.dtype)
    counts = onehot.sum(axis=0)
    return onehot.T @ features / jnp.maximum(counts, 1)[:, None]


encoder = nnx.Linear(5, 2, rngs=nnx.Rngs(0))
x = jax.random.normal(jax.random.key(0), (9, 5))
labels = jnp.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
print(prototypes(encoder(x), labels).shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@jax.jit
def prototypes(features, labels):
    classes = jnp.unique(labels, size=3, fill_value=-1)
    onehot = (labels[:, None] == classes[None, :]).astype(features.dtype)
    counts = onehot.sum(axis=0)
    return onehot.T @ features / jnp.maximum(counts, 1)[:, None]


encoder = nnx.Linear(5, 2, rngs=nnx.Rngs(0))
x = jax.random.normal(jax.random.key(0), (9, 5))
labels = jnp.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
print(prototypes(encoder(x), labels).shape)
""",
    ),
    # jax errors page, TracerArrayConversionError; Stack Overflow "numpy function on a tracer"
    "numpy in module": Pair(
        "NNX810",
        """
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx


class Spectral(nnx.Module):
    def __init__(self, modes, rngs):
        self.modes = modes
        self.weight = nnx.Param(nnx.initializers.normal()(rngs.params(), (modes,)))

    def __call__(self, x):
        spectrum = np.fft.rfft(x, axis=-1)
        kept = spectrum[..., : self.modes] * self.weight
        return jnp.fft.irfft(kept, n=x.shape[-1])


@nnx.jit
def apply(model, x):
    return model(x)


model = Spectral(4, nnx.Rngs(0))
print(apply(model, jnp.ones((2, 16))).shape)
""",
        """
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx


class Spectral(nnx.Module):
    def __init__(self, modes, rngs):
        self.modes = modes
        self.weight = nnx.Param(nnx.initializers.normal()(rngs.params(), (modes,)))

    def __call__(self, x):
        spectrum = jnp.fft.rfft(x, axis=-1)
        kept = spectrum[..., : self.modes] * self.weight
        return jnp.fft.irfft(kept, n=x.shape[-1])


@nnx.jit
def apply(model, x):
    return model(x)


model = Spectral(4, nnx.Rngs(0))
print(apply(model, jnp.ones((2, 16))).shape)
""",
    ),
    # jax errors page, UnexpectedTracerError; Stack Overflow "leaked tracer appended to a list"
    "leaked into log": Pair(
        "NNX805",
        """
import jax
import jax.numpy as jnp
from flax import nnx


class Recorder:
    def __init__(self):
        self.norms = []

    def add(self, value):
        self.norms.append(value)


recorder = Recorder()


@nnx.jit
def forward(model, x):
    h = jax.nn.relu(model(x))
    recorder.add(jnp.linalg.norm(h))
    return h.sum()


model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
for i in range(3):
    forward(model, jnp.full((2, 3), i, dtype=jnp.float32))
print(sum(recorder.norms) / len(recorder.norms) + 1)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


class Recorder:
    def __init__(self):
        self.norms = []

    def add(self, value):
        jax.debug.callback(lambda v: self.norms.append(v), value)


recorder = Recorder()


@nnx.jit
def forward(model, x):
    h = jax.nn.relu(model(x))
    recorder.add(jnp.linalg.norm(h))
    return h.sum()


model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
for i in range(3):
    forward(model, jnp.full((2, 3), i, dtype=jnp.float32))
jax.effects_barrier()
print(sum(recorder.norms) / len(recorder.norms) + 1)
""",
    ),
    # jax FAQ/Sharp Bits, pure functions: a global changed after the first call; Stack Overflow "jit ignores changed
    # global"
    "stale global": Pair(
        "NNX807",
        """
import jax
import jax.numpy as jnp
from flax import nnx

learning_rate = 0.1


@nnx.jit
def train_step(model, x, y):
    def loss_fn(model):
        return jnp.mean((model(x) - y) ** 2)

    grads = nnx.grad(loss_fn)(model)
    state = nnx.state(model, nnx.Param)
    new = jax.tree.map(lambda p, g: p - learning_rate * g, state, grads)
    nnx.update(model, new)


model = nnx.Linear(1, 1, rngs=nnx.Rngs(0))
x = jnp.ones((4, 1))
for epoch in range(3):
    train_step(model, x, 2 * x)
    before = model.kernel[...].item()
    train_step(model, x, 2 * x)
    print(epoch, learning_rate, model.kernel[...].item() - before)
    learning_rate *= 0.1
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx

learning_rate = 0.1


@nnx.jit
def train_step(model, x, y, rate):
    def loss_fn(model):
        return jnp.mean((model(x) - y) ** 2)

    grads = nnx.grad(loss_fn)(model)
    state = nnx.state(model, nnx.Param)
    new = jax.tree.map(lambda p, g: p - rate * g, state, grads)
    nnx.update(model, new)


model = nnx.Linear(1, 1, rngs=nnx.Rngs(0))
x = jnp.ones((4, 1))
for epoch in range(3):
    train_step(model, x, 2 * x, learning_rate)
    before = model.kernel[...].item()
    train_step(model, x, 2 * x, learning_rate)
    print(epoch, learning_rate, model.kernel[...].item() - before)
    learning_rate *= 0.1
""",
    ),
    # jax FAQ, "How to use jit with methods?": static self that changes later
    "stale self": Pair(
        "NNX807",
        """
from functools import partial

import jax
import jax.numpy as jnp
from flax import nnx


class Trainer:
    def __init__(self, model, rate):
        self.graph, self.params = nnx.split(model, nnx.Param)
        self.rate = rate

    @partial(jax.jit, static_argnums=0)
    def step(self, params, x, y):
        def loss_fn(params):
            return jnp.mean((nnx.merge(self.graph, params)(x) - y) ** 2)

        grads = jax.grad(loss_fn)(params)
        return jax.tree.map(lambda p, g: p - self.rate * g, params, grads)

    def fit(self, x, y, epochs):
        for _ in range(epochs):
            self.params = self.step(self.params, x, y)
            print(self.rate, self.params.kernel[...].item())
            self.rate *= 0.1


trainer = Trainer(nnx.Linear(1, 1, use_bias=False, rngs=nnx.Rngs(0)), 0.1)
x = jnp.ones((4, 1))
trainer.fit(x, 3 * x, 3)
""",
        """
from functools import partial

import jax
import jax.numpy as jnp
from flax import nnx


class Trainer:
    def __init__(self, model, rate):
        self.graph, self.params = nnx.split(model, nnx.Param)
        self.rate = rate

    @partial(jax.jit, static_argnums=0)
    def step(self, params, x, y, rate):
        def loss_fn(params):
            return jnp.mean((nnx.merge(self.graph, params)(x) - y) ** 2)

        grads = jax.grad(loss_fn)(params)
        return jax.tree.map(lambda p, g: p - rate * g, params, grads)

    def fit(self, x, y, epochs):
        for _ in range(epochs):
            self.params = self.step(self.params, x, y, self.rate)
            print(self.rate, self.params.kernel[...].item())
            self.rate *= 0.1


trainer = Trainer(nnx.Linear(1, 1, use_bias=False, rngs=nnx.Rngs(0)), 0.1)
x = jnp.ones((4, 1))
trainer.fit(x, 3 * x, 3)
""",
    ),
    # jax Sharp Bits, random numbers and side effects: numpy.random traced once
    "numpy noise": Pair(
        "NNX806",
        """
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

rng = np.random.default_rng(0)


def augment(images):
    noise = rng.normal(size=images.shape)
    return images + 0.1 * noise


@nnx.jit
def step(model, images):
    return model(augment(images)).sum()


model = nnx.Linear(6, 2, rngs=nnx.Rngs(0))
images = jnp.ones((4, 6))
for i in range(3):
    print(step(model, images))
""",
        """
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

rng = np.random.default_rng(0)


def augment(images, key):
    noise = jax.random.normal(key, images.shape)
    return images + 0.1 * noise


@nnx.jit
def step(model, images, key):
    return model(augment(images, key)).sum()


model = nnx.Linear(6, 2, rngs=nnx.Rngs(0))
images = jnp.ones((4, 6))
keys = jax.random.split(jax.random.key(0), 3)
for i in range(3):
    print(step(model, images, keys[i]))
""",
    ),
    # google/flax issue 587, jax-ml/jax issue 7561: a list or dict as static argument
    "static list": Pair(
        "NNX826",
        """
from functools import partial

import jax
import jax.numpy as jnp
from flax import nnx


@partial(jax.jit, static_argnames=("sizes",))
def init_params(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    params = []
    for k, m, n in zip(keys, sizes[:-1], sizes[1:]):
        params.append({"w": jax.random.normal(k, (m, n)) / jnp.sqrt(m), "b": jnp.zeros(n)})
    return params


def build(hidden):
    model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    layers = [2] + hidden + [1]
    return model, init_params(jax.random.key(0), sizes=layers)


model, params = build([16, 16])
print(len(params))
""",
        """
from functools import partial

import jax
import jax.numpy as jnp
from flax import nnx


@partial(jax.jit, static_argnames=("sizes",))
def init_params(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    params = []
    for k, m, n in zip(keys, sizes[:-1], sizes[1:]):
        params.append({"w": jax.random.normal(k, (m, n)) / jnp.sqrt(m), "b": jnp.zeros(n)})
    return params


def build(hidden):
    model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    layers = (2, *hidden, 1)
    return model, init_params(jax.random.key(0), sizes=layers)


model, params = build([16, 16])
print(len(params))
""",
    ),
    # jax-ml/jax issue 883: an array as static argument
    "static array": Pair(
        "NNX826",
        """
from functools import partial

import jax
import jax.numpy as jnp
from flax import nnx


@partial(jax.jit, static_argnums=(1,))
def weighted_loss(logits, class_weights, labels):
    logp = jax.nn.log_softmax(logits)
    picked = jnp.take_along_axis(logp, labels[:, None], axis=1)[:, 0]
    return -(picked * class_weights[labels]).mean()


model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
x = jnp.ones((5, 4))
labels = jnp.array([0, 1, 2, 1, 0])
weights = jnp.array([1.0, 2.0, 0.5])
print(weighted_loss(model(x), weights, labels))
""",
        """
from functools import partial

import jax
import jax.numpy as jnp
from flax import nnx


@jax.jit
def weighted_loss(logits, class_weights, labels):
    logp = jax.nn.log_softmax(logits)
    picked = jnp.take_along_axis(logp, labels[:, None], axis=1)[:, 0]
    return -(picked * class_weights[labels]).mean()


model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
x = jnp.ones((5, 4))
labels = jnp.array([0, 1, 2, 1, 0])
weights = jnp.array([1.0, 2.0, 0.5])
print(weighted_loss(model(x), weights, labels))
""",
    ),
    # jax FAQ and docs on jit caching: jit of a new lambda in a loop
    "jit lambda in loop": Pair(
        "NNX903",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def forward(graph, state, x, scale):
    return nnx.merge(graph, state)(x).sum() * scale


model = nnx.Linear(4, 4, rngs=nnx.Rngs(0))
graph, state = nnx.split(model)
batches = [jnp.full((2, 4), i, dtype=jnp.float32) for i in range(5)]
total = 0.0
for batch in batches:
    run = jax.jit(lambda s, x: forward(graph, s, x, 2.0))
    total += run(state, batch)
print(total)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def forward(graph, state, x, scale):
    return nnx.merge(graph, state)(x).sum() * scale


model = nnx.Linear(4, 4, rngs=nnx.Rngs(0))
graph, state = nnx.split(model)
batches = [jnp.full((2, 4), i, dtype=jnp.float32) for i in range(5)]
total = 0.0
run = jax.jit(lambda s, x: forward(graph, s, x, 2.0))
for batch in batches:
    total += run(state, batch)
print(total)
""",
        slow=True,
    ),
    # jax-ml/jax discussions: generation that recompiles for each length
    "growing tokens": Pair(
        "NNX919",
        """
import jax
import jax.numpy as jnp
from flax import nnx


class LM(nnx.Module):
    def __init__(self, vocab, rngs):
        self.embed = nnx.Embed(vocab, 8, rngs=rngs)
        self.head = nnx.Linear(8, vocab, rngs=rngs)

    def __call__(self, tokens):
        return self.head(self.embed(tokens))


@nnx.jit
def next_token(model, tokens):
    return jnp.argmax(model(tokens)[:, -1], axis=-1)


model = LM(11, nnx.Rngs(0))
tokens = jnp.zeros((1, 1), dtype=jnp.int32)
for i in range(20):
    token = next_token(model, tokens)
    tokens = jnp.concatenate([tokens, token[:, None]], axis=1)
print(tokens.shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


class LM(nnx.Module):
    def __init__(self, vocab, rngs):
        self.embed = nnx.Embed(vocab, 8, rngs=rngs)
        self.head = nnx.Linear(8, vocab, rngs=rngs)

    def __call__(self, tokens):
        return self.head(self.embed(tokens))


@nnx.jit
def next_token(model, tokens, at):
    return jnp.argmax(model(tokens)[:, at], axis=-1)


model = LM(11, nnx.Rngs(0))
tokens = jnp.zeros((1, 21), dtype=jnp.int32)
for i in range(20):
    token = next_token(model, tokens, i)
    tokens = tokens.at[:, i + 1].set(token)
print(tokens.shape)
""",
        slow=True,
    ),
    # jax-ml/jax issue 2287: the result of an indexed update thrown away
    "at set dropped": Pair(
        "NNX841",
        """
import jax
import jax.numpy as jnp
from flax import nnx


class ReplayBuffer:
    def __init__(self, size, features):
        self.data = jnp.zeros((size, features))
        self.at = 0

    def push(self, row):
        self.data.at[self.at].set(row)
        self.at = (self.at + 1) % self.data.shape[0]


model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
buffer = ReplayBuffer(4, 2)
for i in range(4):
    buffer.push(model(jnp.full((3,), i + 1.0)))
print(buffer.data.sum() != 0)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


class ReplayBuffer:
    def __init__(self, size, features):
        self.data = jnp.zeros((size, features))
        self.at = 0

    def push(self, row):
        self.data = self.data.at[self.at].set(row)
        self.at = (self.at + 1) % self.data.shape[0]


model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
buffer = ReplayBuffer(4, 2)
for i in range(4):
    buffer.push(model(jnp.full((3,), i + 1.0)))
print(buffer.data.sum() != 0)
""",
    ),
    # jax Sharp Bits, out-of-bounds indexing: the index is clamped
    "past the end": Pair(
        "NNX847",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def returns_to_go(rewards, discount):
    total = 0.0
    out = []
    steps = len(rewards)
    for t in range(steps):
        total = rewards[steps - t] + discount * total
        out.append(total)
    return jnp.stack(out[::-1])


policy = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
rewards = jnp.array([1.0, 0.0, 0.0, 5.0])
print(returns_to_go(rewards, 0.5))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def returns_to_go(rewards, discount):
    total = 0.0
    out = []
    steps = len(rewards)
    for t in range(steps):
        total = rewards[steps - t - 1] + discount * total
        out.append(total)
    return jnp.stack(out[::-1])


policy = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
rewards = jnp.array([1.0, 0.0, 0.0, 5.0])
print(returns_to_go(rewards, 0.5))
""",
    ),
    # Stack Overflow "same permutation every epoch"; jax docs on keys
    "same shuffle": Pair(
        "NNX830",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def epochs(x, batch, count, key):
    for epoch in range(count):
        order = jax.random.permutation(key, x.shape[0])
        print(epoch, order)
        for i in range(0, x.shape[0], batch):
            yield x[order[i : i + batch]]


model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
data = jnp.arange(24.0).reshape(8, 3)
for batch in epochs(data, 4, 3, jax.random.key(42)):
    model(batch)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def epochs(x, batch, count, key):
    for epoch in range(count):
        order = jax.random.permutation(jax.random.fold_in(key, epoch), x.shape[0])
        print(epoch, order)
        for i in range(0, x.shape[0], batch):
            yield x[order[i : i + batch]]


model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
data = jnp.arange(24.0).reshape(8, 3)
for batch in epochs(data, 4, 3, jax.random.key(42)):
    model(batch)
""",
    ),
    # jax docs, random numbers: the split key used instead of the new one
    "parent key used": Pair(
        "NNX830",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def sample_chain(model, key, steps):
    x = jnp.zeros(3)
    for _ in range(steps):
        key, noise_key = jax.random.split(key)
        drift = model(x)
        x = x + 0.1 * drift + jax.random.normal(key, x.shape)
    return x


model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
print(sample_chain(model, jax.random.key(0), 4))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def sample_chain(model, key, steps):
    x = jnp.zeros(3)
    for _ in range(steps):
        key, noise_key = jax.random.split(key)
        drift = model(x)
        x = x + 0.1 * drift + jax.random.normal(noise_key, x.shape)
    return x


model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
print(sample_chain(model, jax.random.key(0), 4))
""",
    ),
    # jax-ml/jax discussions: random.categorical takes logits
    "categorical of probabilities": Pair(
        "NNX869",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def act(policy, observation, key):
    logits = policy(observation)
    probs = jax.nn.softmax(logits)
    return jax.random.categorical(key, probs)


policy = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
policy.bias[...] = jnp.array([8.0, 0.0, 0.0])
obs = jnp.zeros((1000, 4))
actions = act(policy, obs, jax.random.key(0))
print((actions == 0).mean())
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def act(policy, observation, key):
    logits = policy(observation)
    return jax.random.categorical(key, logits)


policy = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
policy.bias[...] = jnp.array([8.0, 0.0, 0.0])
obs = jnp.zeros((1000, 4))
actions = act(policy, obs, jax.random.key(0))
print((actions == 0).mean())
""",
    ),
    # jax-ml/jax discussions, many notebooks: too few names for the keys that split gives
    "split count": Pair(
        "NNX751",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def setup(seed):
    key = jax.random.key(seed)
    data_key, noise_key = jax.random.split(key, 3)
    x = jax.random.uniform(data_key, (16, 1))
    y = 3 * x + 0.1 * jax.random.normal(noise_key, x.shape)
    return x, y


x, y = setup(0)
model = nnx.Linear(1, 1, rngs=nnx.Rngs(0))
print(jnp.mean((model(x) - y) ** 2))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def setup(seed):
    key = jax.random.key(seed)
    data_key, noise_key, _ = jax.random.split(key, 3)
    x = jax.random.uniform(data_key, (16, 1))
    y = 3 * x + 0.1 * jax.random.normal(noise_key, x.shape)
    return x, y


x, y = setup(0)
model = nnx.Linear(1, 1, rngs=nnx.Rngs(0))
print(jnp.mean((model(x) - y) ** 2))
""",
    ),
    # Stack Overflow "scan carry input and output must have equal types"; jax-ml/jax issue 1686
    "scan int carry": Pair(
        "NNX865",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def evaluate(model, xs, ys):
    graph, state = nnx.split(model)

    def body(carry, batch):
        total, count = carry
        x, y = batch
        loss = jnp.mean((nnx.merge(graph, state)(x) - y) ** 2)
        return (total + loss, count + 1), loss

    start = (jnp.zeros((), jnp.int32), 0)
    (total, count), losses = jax.lax.scan(body, start, (xs, ys))
    return total / count


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
xs, ys = jnp.ones((5, 4, 2)), jnp.ones((5, 4, 1))
print(evaluate(model, xs, ys))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def evaluate(model, xs, ys):
    graph, state = nnx.split(model)

    def body(carry, batch):
        total, count = carry
        x, y = batch
        loss = jnp.mean((nnx.merge(graph, state)(x) - y) ** 2)
        return (total + loss, count + 1), loss

    start = (jnp.zeros(()), 0)
    (total, count), losses = jax.lax.scan(body, start, (xs, ys))
    return total / count


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
xs, ys = jnp.ones((5, 4, 2)), jnp.ones((5, 4, 1))
print(evaluate(model, xs, ys))
""",
    ),
    # jax docs of while_loop: cond_fun must return a boolean scalar
    "vector condition": Pair(
        "NNX760",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def fixed_point(f, x, tolerance):
    def going(carry):
        old, new = carry
        return jnp.abs(old - new) > tolerance

    def body(carry):
        _, new = carry
        return new, f(new)

    return jax.lax.while_loop(going, body, (x, f(x)))[1]


layer = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
layer.kernel[...] = layer.kernel[...] * 0.1
print(fixed_point(lambda h: jnp.tanh(layer(h)), jnp.ones(3), 1e-3).shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def fixed_point(f, x, tolerance):
    def going(carry):
        old, new = carry
        return jnp.max(jnp.abs(old - new)) > tolerance

    def body(carry):
        _, new = carry
        return new, f(new)

    return jax.lax.while_loop(going, body, (x, f(x)))[1]


layer = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
layer.kernel[...] = layer.kernel[...] * 0.1
print(fixed_point(lambda h: jnp.tanh(layer(h)), jnp.ones(3), 1e-3).shape)
""",
    ),
    # Stack Overflow "lax.cond: object is not callable": results instead of branch functions
    "cond of results": Pair(
        "NNX759",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def update(model, x, clip):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean())(model)
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))

    def clipped(n):
        return clip / n

    scale = jax.lax.cond(norm > clip, clipped(norm), 1.0)
    return jax.tree.map(lambda g: g * scale, grads)


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
grads = update(model, jnp.ones((3, 2)), 0.5)
print(jax.tree.leaves(grads)[0].shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def update(model, x, clip):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean())(model)
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))

    def clipped(n):
        return clip / n

    scale = jax.lax.cond(norm > clip, clipped, lambda n: 1.0, norm)
    return jax.tree.map(lambda g: g * scale, grads)


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
grads = update(model, jnp.ones((3, 2)), 0.5)
print(jax.tree.leaves(grads)[0].shape)
""",
    ),
    # jax docs, control flow table: while_loop has no reverse-mode; Stack Overflow same error text
    "grad through while": Pair(
        "NNX872",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def solve(theta, steps):
    def body(i, x):
        return x - 0.1 * (x - theta)

    return jax.lax.fori_loop(0, steps, body, jnp.zeros_like(theta))


@jax.jit
def loss(theta, steps):
    return jnp.sum(solve(theta, steps) ** 2)


net = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
theta = net(jnp.ones(2))
print(jax.grad(loss)(theta, 20).shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def solve(theta, steps):
    def body(i, x):
        return x - 0.1 * (x - theta)

    return jax.lax.fori_loop(0, 20, body, jnp.zeros_like(theta))


@jax.jit
def loss(theta, steps):
    return jnp.sum(solve(theta, steps) ** 2)


net = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
theta = net(jnp.ones(2))
print(jax.grad(loss)(theta, 20).shape)
""",
    ),
    # jax-ml/jax issues 7465, 24406, pull 39450: in_axes says nothing of keyword arguments
    "vmap keyword": Pair(
        "NNX867",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def distance(point, center, scale):
    return jnp.sum(((point - center) / scale) ** 2)


def kernel(points, center, scale):
    each = jax.vmap(distance, in_axes=(0, None, None))
    return jnp.exp(-each(points, center, scale=scale))


embed = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
points = embed(jnp.ones((7, 2)))
print(kernel(points, jnp.zeros(3), 2.0).shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def distance(point, center, scale):
    return jnp.sum(((point - center) / scale) ** 2)


def kernel(points, center, scale):
    each = jax.vmap(distance, in_axes=(0, None, None))
    return jnp.exp(-each(points, center, scale))


embed = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
points = embed(jnp.ones((7, 2)))
print(kernel(points, jnp.zeros(3), 2.0).shape)
""",
    ),
    # Stack Overflow "grad requires real- or complex-valued inputs, but got int32"
    "grad of ints": Pair(
        "NNX851",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def energy(weights, x):
    return jnp.sum((x @ weights) ** 2)


layer = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
weights = jnp.array([1, 2, 3])
x = layer(jnp.ones((4, 3)))
gradient = jax.grad(energy)
for _ in range(3):
    weights = weights - 0.1 * gradient(weights, x)
print(weights.shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def energy(weights, x):
    return jnp.sum((x @ weights) ** 2)


layer = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
weights = jnp.array([1.0, 2.0, 3.0])
x = layer(jnp.ones((4, 3)))
gradient = jax.grad(energy)
for _ in range(3):
    weights = weights - 0.1 * gradient(weights, x)
print(weights.shape)
""",
    ),
    # google-deepmind/dm-haiku issue 442: no gradient through argmax
    "loss through argmax": Pair(
        "NNX884",
        """
import jax
import jax.numpy as jnp
import optax
from flax import nnx


def loss_fn(model, x, labels):
    logits = model(x)
    predictions = jnp.argmax(logits, axis=-1)
    return jnp.mean((predictions - labels) ** 2.0)


@nnx.jit
def step(model, optimizer, x, labels):
    loss, grads = nnx.value_and_grad(loss_fn)(model, x, labels)
    optimizer.update(model, grads)
    return loss, optax.global_norm(grads)


model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(0), (8, 4))
labels = jnp.array([0, 1, 2, 0, 1, 2, 0, 1])
for _ in range(3):
    print(step(model, optimizer, x, labels))
""",
        """
import jax
import jax.numpy as jnp
import optax
from flax import nnx


def loss_fn(model, x, labels):
    logits = model(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@nnx.jit
def step(model, optimizer, x, labels):
    loss, grads = nnx.value_and_grad(loss_fn)(model, x, labels)
    optimizer.update(model, grads)
    return loss, optax.global_norm(grads)


model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(0), (8, 4))
labels = jnp.array([0, 1, 2, 0, 1, 2, 0, 1])
for _ in range(3):
    print(step(model, optimizer, x, labels))
""",
    ),
    # Stack Overflow "grad: expected a callable value, got a traced array"
    "grad of a value": Pair(
        "NNX759",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def loss_fn(params, x, y):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)


@jax.jit
def step(params, x, y):
    grads = jax.grad(loss_fn(params, x, y))
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


rngs = nnx.Rngs(0)
params = {"w": rngs.params.normal((3, 1)), "b": jnp.zeros(1)}
x = jnp.ones((4, 3))
params = step(params, x, x[:, :1])
print(params["w"].shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def loss_fn(params, x, y):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)


@jax.jit
def step(params, x, y):
    grads = jax.grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


rngs = nnx.Rngs(0)
params = {"w": rngs.params.normal((3, 1)), "b": jnp.zeros(1)}
x = jnp.ones((4, 3))
params = step(params, x, x[:, :1])
print(params["w"].shape)
""",
        since="0.12",
    ),
    # pytorch and jax forum threads: an epsilon below the smallest half number
    "half epsilon": Pair(
        "NNX754",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def normalize(x):
    x = x.astype(jnp.float16)
    mean = x.mean(axis=-1, keepdims=True)
    std = x.std(axis=-1, keepdims=True)
    return (x - mean) / (std + 1e-8)


encoder = nnx.Linear(4, 4, rngs=nnx.Rngs(0))
images = jnp.ones((2, 4))
flat = normalize(images)
print(flat)
print(encoder(flat))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def normalize(x):
    x = x.astype(jnp.float16)
    mean = x.mean(axis=-1, keepdims=True)
    std = x.std(axis=-1, keepdims=True)
    return (x - mean) / (std + 1e-4)


encoder = nnx.Linear(4, 4, rngs=nnx.Rngs(0))
images = jnp.ones((2, 4))
flat = normalize(images)
print(flat)
print(encoder(flat))
""",
    ),
    # optax docs, quick start: apply_updates adds what update returned
    "apply grads as updates": Pair(
        "NNX871",
        """
import jax
import jax.numpy as jnp
import optax
from flax import nnx


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
graph, params = nnx.split(model, nnx.Param)
tx = optax.sgd(0.1)
opt_state = tx.init(params)


def loss_fn(params, x, y):
    return jnp.mean((nnx.merge(graph, params)(x) - y) ** 2)


@jax.jit
def step(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, grads)
    return params, opt_state, loss


x = jnp.ones((4, 2))
for _ in range(4):
    params, opt_state, loss = step(params, opt_state, x, 5 + x[:, :1])
    print(loss)
""",
        """
import jax
import jax.numpy as jnp
import optax
from flax import nnx


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
graph, params = nnx.split(model, nnx.Param)
tx = optax.sgd(0.1)
opt_state = tx.init(params)


def loss_fn(params, x, y):
    return jnp.mean((nnx.merge(graph, params)(x) - y) ** 2)


@jax.jit
def step(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return params, opt_state, loss


x = jnp.ones((4, 2))
for _ in range(4):
    params, opt_state, loss = step(params, opt_state, x, 5 + x[:, :1])
    print(loss)
""",
    ),
    # optax docs of scale_by_learning_rate; optax issue 364 on chains: a chain that ascends
    "positive scale": Pair(
        "NNX755",
        """
import jax.numpy as jnp
import optax
from flax import nnx


def make_optimizer(model, rate):
    tx = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.scale_by_adam(),
        optax.scale(rate),
    )
    return nnx.Optimizer(model, tx, wrt=nnx.Param)


@nnx.jit
def step(model, optimizer, x, y):
    def loss_fn(model):
        return jnp.mean((model(x) - y) ** 2)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = make_optimizer(model, 0.1)
x = jnp.ones((4, 2))
for _ in range(4):
    print(step(model, optimizer, x, 5 + x[:, :1]))
""",
        """
import jax.numpy as jnp
import optax
from flax import nnx


def make_optimizer(model, rate):
    tx = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.scale_by_adam(),
        optax.scale(-rate),
    )
    return nnx.Optimizer(model, tx, wrt=nnx.Param)


@nnx.jit
def step(model, optimizer, x, y):
    def loss_fn(model):
        return jnp.mean((model(x) - y) ** 2)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = make_optimizer(model, 0.1)
x = jnp.ones((4, 2))
for _ in range(4):
    print(step(model, optimizer, x, 5 + x[:, :1]))
""",
    ),
    # optax docs, quick start: the new optimizer state must be kept
    "opt state dropped": Pair(
        "NNX871",
        """
import jax
import jax.numpy as jnp
import optax
from flax import nnx


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
graph, params = nnx.split(model, nnx.Param)
tx = optax.adam(optax.linear_schedule(0.1, 0.0, 3))
opt_state = tx.init(params)


def loss_fn(params, x, y):
    return jnp.mean((nnx.merge(graph, params)(x) - y) ** 2)


@jax.jit
def gradients(params, x, y):
    return jax.value_and_grad(loss_fn)(params, x, y)


x = jnp.ones((4, 2))
for i in range(5):
    loss, grads = gradients(params, x, 5 + x[:, :1])
    updates, _ = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    print(loss, optax.global_norm(updates))
""",
        """
import jax
import jax.numpy as jnp
import optax
from flax import nnx


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
graph, params = nnx.split(model, nnx.Param)
tx = optax.adam(optax.linear_schedule(0.1, 0.0, 3))
opt_state = tx.init(params)


def loss_fn(params, x, y):
    return jnp.mean((nnx.merge(graph, params)(x) - y) ** 2)


@jax.jit
def gradients(params, x, y):
    return jax.value_and_grad(loss_fn)(params, x, y)


x = jnp.ones((4, 2))
for i in range(5):
    loss, grads = gradients(params, x, 5 + x[:, :1])
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    print(loss, optax.global_norm(updates))
""",
    ),
    # Stack Overflow "NameError: unbound axis name": pmean outside of a mapped function
    "unbound axis": Pair(
        "NNX863",
        """
import jax
import jax.numpy as jnp
import optax
from flax import nnx


@nnx.jit
def train_step(model, optimizer, x, y):
    def loss_fn(model):
        return jnp.mean((model(x) - y) ** 2)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    grads = jax.lax.pmean(grads, axis_name="batch")
    optimizer.update(model, grads)
    return loss


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
x = jnp.ones((4, 2))
print(train_step(model, optimizer, x, x[:, :1]))
""",
        """
import jax
import jax.numpy as jnp
import optax
from flax import nnx


@jax.jit
def train_step(model, optimizer, x, y):
    def loss_fn(model):
        return jnp.mean((model(x) - y) ** 2)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    return loss


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
x = jnp.ones((4, 2))
graph, state = nnx.split((model, optimizer))
mapped = jax.vmap(lambda s, x, y: jax.lax.pmean(train_step(*nnx.merge(graph, s), x, y), axis_name="batch"),
                  in_axes=(None, 0, 0), axis_name="batch")
print(mapped(state, x[None], x[None, :, :1]))
""",
        since="0.12",
    ),
    # jax Sharp Bits, non-array inputs: jnp functions take no lists
    "list to sum": Pair(
        "NNX844",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def losses_of(model, x):
    h = model(x)
    parts = [jnp.mean(h**2), jnp.mean(jnp.abs(h)), 0.1 * jnp.max(h)]
    return jnp.sum(parts)


model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
print(losses_of(model, jnp.ones((4, 3))))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def losses_of(model, x):
    h = model(x)
    parts = [jnp.mean(h**2), jnp.mean(jnp.abs(h)), 0.1 * jnp.max(h)]
    return jnp.sum(jnp.array(parts))


model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
print(losses_of(model, jnp.ones((4, 3))))
""",
    ),
    # Stack Overflow "unhashable type: ArrayImpl": an array element as dictionary key
    "array as key": Pair(
        "NNX758",
        """
from collections import defaultdict

import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
x = jax.random.normal(jax.random.key(0), (6, 4))
predicted = jnp.argmax(model(x), axis=-1)

counts = defaultdict(int)
for label in predicted:
    counts[label] += 1
print(len(counts) > 0)
""",
        """
from collections import defaultdict

import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
x = jax.random.normal(jax.random.key(0), (6, 4))
predicted = jnp.argmax(model(x), axis=-1)

counts = defaultdict(int)
for label in predicted:
    counts[int(label)] += 1
print(len(counts) > 0)
""",
    ),
    # jax changelog 0.4.26/0.6: jax.tree_map removed; google/flax issues on it
    "tree map removed": Pair(
        "NNX302",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def ema_update(average, params, decay):
    return jax.tree_map(lambda a, p: decay * a + (1 - decay) * p, average, params)


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
average = nnx.state(model, nnx.Param)
for _ in range(3):
    average = ema_update(average, nnx.state(model, nnx.Param), 0.9)
print(jax.tree.leaves(average)[0].shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def ema_update(average, params, decay):
    return jax.tree.map(lambda a, p: decay * a + (1 - decay) * p, average, params)


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
average = nnx.state(model, nnx.Param)
for _ in range(3):
    average = ema_update(average, nnx.state(model, nnx.Param), 0.9)
print(jax.tree.leaves(average)[0].shape)
""",
    ),
}
