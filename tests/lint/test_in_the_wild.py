"""Code as it stands in public projects, in which rules once found mistakes that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemods.nnx.analyse import analyse
from codemods.nnx.options import Options
from codemods.nnx.source import Source
from tests.batch import execute_all
from tests.migration import look

HEAD = """\
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
"""

RIGHT = {
    "a question for the devices of one platform before that is chosen": """\
def choose(platform):
    if platform == "cpu":
        jax.devices("cpu")
        jax.config.update("jax_platform_name", "cpu")
choose("cpu")
print(jnp.ones(2))
""",
    "a variable of the environment that has its value already": """\
import os

os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = ".9"
print(len(jax.devices()))
os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = ".9"
""",
    "shapes whose parameters each base class writes anew, captured by what is mapped": """\
class Shape:
    def _cast(self):
        for key, value in self.params.items():
            self.params[key] = jnp.asarray(value)
class Ball(Shape):
    def __init__(self, size):
        self.params = {"size": size}
        self._cast()
    def __call__(self, v):
        return v * self.params["size"]
class Moved(Shape):
    def __init__(self, shape, by):
        self.shape = shape
        self.params = {"by": by}
        self._cast()
    def __call__(self, v):
        return self.shape(v - self.params["by"])
shape = Moved(Ball(2.0), by=1.0)
def wide(v):
    return shape(v)
print(jax.vmap(wide)(jnp.ones(3)))
""",
    "the graph definition of a model that compiled code gets the values of": """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.fc(v)
    def run(self, v):
        @jax.jit
        def forward(state, v):
            return nnx.merge(nnx.graphdef(self), state)(v)
        return forward(nnx.state(self), v)
net = Net(nnx.Rngs(0))
print(net.run(jnp.ones(3)))
""",
    "a constructor that is not called, and what it alone would call": """\
class Base(nnx.Module):
    def __init__(self, rngs):
        self.width = 3
        self.fc = self._made(rngs)
    def _made(self, rngs):
        return nnx.Linear(self.width, 3, rngs=rngs)
class Around(Base):
    def __init__(self, inner):
        self.inner = inner
    def __call__(self, v):
        return self.inner.fc(v)
print(Around(Base(nnx.Rngs(0)))(jnp.ones(3)))
""",
    "an optimizer that searches along no line, by what a helper is called with": """\
import optax

def make(searched=None):
    return optax.lbfgs(1e-1, linesearch=searched)
def fit(params):
    tx = make()
    state = tx.init(params)
    updates, state = tx.update(params, state, params)
    return optax.apply_updates(params, updates)
print(fit(jnp.ones(3)))
""",
    "a function with another decorator, which one test compiles with a static argument": """\
@jax.named_call
def lookup(table, specs):
    return table * len(specs)
compiled = jax.jit(lookup, static_argnums=(1,))
print(compiled(jnp.ones(3), ("a", "b")), lookup(jnp.ones(3), {"a": 1}))
""",
    "a function that a test compiles with a static argument, and others map": """\
def mask(table, agent):
    return table[agent]
def check_compiles(table):
    compiled = jax.jit(mask, static_argnums=(1,))
    return compiled(table, 0)
over_agents = jax.vmap(mask, in_axes=(None, 0))
print(check_compiles(jnp.ones(3)), over_agents(jnp.ones(3), jnp.arange(3)))
""",
    "shapes of a tree that are logged": """\
import logging
@jax.jit
def init(tree):
    logging.info("shapes %s", jax.tree.map(jnp.shape, tree))
    return tree
print(init({"a": jnp.ones(2)})["a"])
""",
    "what is guarded and given beside the loss": """\
def loss(params, x, targets):
    value = params * x
    spread = jnp.var(value)
    explained = jnp.where(spread > 0, 1 - jnp.var(targets - value) / spread, 0.0)
    return jnp.mean((value - targets) ** 2), (explained, spread)
print(jax.value_and_grad(loss, has_aux=True)(1.0, jnp.arange(3.0), jnp.ones(3))[1])
""",
    "a global that every compilation binds before it reads it": """\
@jax.jit
def update(params, batch, bound=False):
    global bound_now
    bound_now = bound
    def loss(params):
        error = params * batch
        return jnp.mean(error ** 2) if bound_now is False else 0.0
    return jax.grad(loss)(params)
print(update(1.0, jnp.arange(3.0)))
""",
    "keys for a function that ignores them": """\
def get_root(params):
    def root(state, _key):
        return params * state
    return root
def search(params, state, key):
    one, two = jax.random.split(key)
    root = get_root(params)(state, jax.random.split(two, 4))
    return root + jax.random.normal(two, (3,))
print(search(1.0, jnp.ones(3), jax.random.key(0)))
""",
    "a method that is mapped over a key for each member": """\
class World:
    @functools.partial(jax.vmap, in_axes=[None, 0, 0])
    def force(self, key, position):
        return position + jax.random.normal(key, position.shape)

    def step(self, key, count):
        keys = jax.random.split(key, count)
        return self.force(keys, jnp.zeros((count, 2)))

print(World().step(jax.random.key(0), 3).shape)
""",
    "a function that its class keeps, mapped and kept in an attribute of another object": """\
class Linear:
    def __init__(self):
        self.weights = jnp.ones(3)

    @jax.jit
    def value(weights, state):
        return state @ weights

    @jax.jit
    def loss(weights, state):
        return (state @ weights).mean()

class Agent:
    def __init__(self):
        self.linear = Linear()
        self.values = jax.jit(jax.vmap(Linear.value, in_axes=[None, 0]))
        self.slopes = jax.grad(Linear.loss)

    def act(self, states):
        return self.values(self.linear.weights, states), self.slopes(self.linear.weights, states)

print(Agent().act(jnp.ones((2, 3))))
""",
    "an axis that is left out or None": """\
@jax.jit
def joined(parts, axis=0):
    return jnp.concatenate(parts, axis=axis)

print(joined([jnp.ones(2), jnp.zeros(1)]), joined([jnp.ones((2, 2))], axis=None))
""",
    "metrics that are given the losses of one device": """\
@functools.partial(jax.pmap, axis_name="devices")
def step(params, x, metrics):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p) ** 2))(params)
    loss_and_slope, _ = jax.value_and_grad(lambda p: jnp.mean(p**2))(params)
    (grads,) = jax.lax.pmean((grads,), "devices")
    metrics.update(g_loss=loss, own=loss_and_slope)
    return params - 0.1 * grads, loss

print(step(jnp.ones((1, 2)), jnp.ones((1, 3, 2)), {})[0].shape)
""",
    "two keys of one split that are unpacked together": """\
def draws(key):
    keys = jax.random.split(key)
    one, two = keys[0], keys[1]
    return jax.random.normal(one), jax.random.normal(two)

print(draws(jax.random.key(0)))
""",
    "a length that is no array in the way it is asked for": """\
def longest(rows, known=None):
    if known is None:
        return jnp.max(rows)
    return known

@functools.partial(jax.jit, static_argnames="length")
def padded(x, length):
    return jnp.pad(x, (0, length - x.shape[0]))

print(padded(jnp.ones(2), length=longest(jnp.ones(2), known=4)).shape, longest(jnp.ones(2)))
""",
    "a tree that a scan stacks, changed by its names": """\
@jax.jit
def train(batch):
    def body(total, row):
        return total + row.sum(), {"weight": jnp.ones(()), "row_max": row}

    total, extra = jax.lax.scan(body, jnp.zeros(()), batch)
    weight = extra.pop("weight")
    for name, value in extra.items():
        if name.endswith("_max"):
            extra[name] = jax.tree.map(lambda v: v.max(axis=0), value)
        else:
            extra[name] = value * weight
    return total, extra

print(train(jnp.ones((3, 2))))
""",
    "a part of a reference of Pallas": """\
from jax.experimental import pallas as pl

def kernel(x_ref, o_ref):
    def body(i, carry):
        part = o_ref.at[pl.ds(i * 4, 4)]
        part[...] = x_ref[0:4] + i
        return carry
    jax.lax.fori_loop(0, 2, body, None)

@jax.jit
def run(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8,), jnp.float32), interpret=True)(x)

print(run(jnp.ones(8)))
""",
    "a global key that a function binds anew in every round": """\
keys = jax.random.split(jax.random.key(0), 1)

def chain():
    global keys
    while True:
        keys = jax.random.split(keys[0], 1)
        yield jax.random.uniform(keys[0], (1,))

draws = chain()
print(next(draws) != next(draws))
""",
    "streams of a fixed seed that only ask for shapes": """\
class Block(nnx.Module):
    def __init__(self, n, *, rngs):
        self.n = n
        self.linear = nnx.Linear(n, n, rngs=rngs)

    def lazily(self):
        return nnx.eval_shape(lambda rngs: nnx.Linear(self.n, self.n, rngs=rngs), nnx.Rngs(0))

print(len(jax.tree.leaves(nnx.state(Block(2, rngs=nnx.Rngs(0)).lazily()))))
""",
    "an implementation chosen on first use": """\
chosen = None

sine = jax.custom_jvp(lambda x: jnp.sin(x))
sine.defjvp(lambda x, dx: (jnp.sin(x[0]), jnp.cos(x[0]) * dx[0]))

def choose():
    global chosen
    if jax.default_backend() == "cpu":
        chosen = sine
    else:
        chosen = jnp.cos
    return chosen

@jax.jit
def wave(x):
    function = chosen
    if function is None:
        function = choose()
    return function(x)

print(wave(1.0))
""",
    "a random name, and a file that is read, while compiling": """\
import os
import random

@jax.jit
def scaled(x):
    with open(os.devnull) as file:
        settings = file.read()
    with jax.named_scope(f"part_{random.randint(0, 9)}"):
        return x * (1 + len(settings))

print(scaled(1.0))
""",
    "a callback that another inner function hands over": """\
def checked(x, bad):
    def shown(value):
        print(float(value))
        return np.asarray(value)

    def failed():
        return jax.pure_callback(shown, jax.ShapeDtypeStruct((), jnp.float32), x)

    return jax.lax.cond(bad, failed, lambda: x)

print(jax.jit(checked)(1.0, False))
""",
    "the weights of a quadrature, which nothing trains": """\
def features(x, params):
    weights = params["weights"]
    return x * jnp.sqrt(jnp.maximum(weights, 0.0)) * jnp.sqrt(jnp.maximum(params["scale"], 0.0))

def loss(w, params):
    return features(w, params).sum()

print(jax.grad(loss)(jnp.ones(2), {"weights": jnp.zeros(2), "scale": jnp.ones(2)}))
""",
    "a method taken from its class and mapped": """\
class Box:
    @staticmethod
    def area(box): return box.sum()
    def inside(self, other): return self > other

print(jax.vmap(Box.inside, in_axes=(0, None))(jnp.ones(3), jnp.zeros(())))
print(jax.vmap(jax.vmap(Box.inside, in_axes=(None, 0)), in_axes=(0, None))(jnp.ones(3), jnp.zeros(2)).shape)
""",
    "a static method of self with axes": """\
class Draws:
    logits = jnp.zeros((2, 3))

    def sample(self, key, n):
        return jax.vmap(self._scalar, in_axes=(0, None, 0))(jax.random.split(key), n, self.logits)

    @staticmethod
    def _scalar(key, n, logits):
        return jnp.zeros((n, logits.shape[0])) + jax.random.normal(key)

print(Draws().sample(jax.random.key(0), 4).shape)
""",
    "a flag bound before the function is mapped in a loop": """\
def fill(flag, ts, ys):
    if flag:
        ys = ys + 1
    return ys * ts

def run(ts, ys, flag=False):
    fn = functools.partial(fill, flag, ts)
    for _ in range(ys.ndim - 1):
        fn = jax.vmap(fn, in_axes=-1, out_axes=-1)
    return fn(ys)

print(run(jnp.ones(2), jnp.ones((2, 3))).shape)
""",
    "a seed of the round": """\
def make(scale):
    def init(key):
        return scale * jax.random.normal(key)
    return init

for index, (scale, _) in enumerate(((1.0, 2), (2.0, 3))):
    init = make(scale)
    print(init(jax.random.PRNGKey(index)) != 0)
""",
    "a partial function for the leaves of a tree": """\
def fill(flag, ts, ys):
    if flag:
        ys = ys + 1
    return ys * ts

@functools.partial(jax.jit, static_argnames="flag")
def run(ts, ys, flag=False):
    fn = functools.partial(fill, flag, ts)
    return jax.tree.map(fn, ys)

print(run(jnp.ones(2), {"a": jnp.ones((3, 2))}))
""",
    "a benchmark that begins anew in every round": """\
for count in (1, 2):
    key = jax.random.key(0)
    print(jax.random.split(key, num=count).shape)
""",
    "sizes of a shape as static arguments": """\
class Geometry:
    shape = np.zeros((2, 3)).shape

@functools.partial(jax.jit, static_argnums=(1, 2))
def flat(x, rows, columns):
    return x.reshape(rows * columns)

rows, columns = Geometry().shape
print(flat(jnp.ones((2, 3)), rows, columns).shape)
""",
    "one of many keys in every round of a scan": """\
def shuffled(key, values):
    keys = jax.random.split(key, values.size)

    def body(total, index):
        return total + jax.random.uniform(keys[index]), index

    return jax.lax.scan(body, 0.0, jnp.arange(values.size))[0]

print(shuffled(jax.random.key(0), jnp.ones(3)) > 0)
""",
    "the number of devices": """\
def send(x, name):
    count = jax.lax.psum(1, name)
    return jax.lax.ppermute(x, perm=[(i, (i + 1) % count) for i in range(count)], axis_name=name)

print(jax.vmap(lambda x: send(x, "i"), axis_name="i")(jnp.arange(3)))
""",
    "a model captured by what is compiled and called at once": """\
model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
print(jax.jit(lambda x: model(x))(jnp.ones((1, 2))).shape)
""",
    "draws under opposite conditions": """\
def start(key, kind, noise):
    u = 0.0
    if kind == "abl" and noise > 0:
        u = jax.random.normal(key)
    if kind != "abl" and noise > 0:
        u = u + jax.random.normal(key)
    return u

print(start(jax.random.key(0), "abl", 1.0))
""",
    "the same features for a pair of inputs": """\
def features(rng, x, rank):
    return x @ jax.random.normal(rng, (x.shape[1], rank))

def pair(rng, x, y, rank):
    first = features(rng, x, rank)
    second = features(rng, y, rank)
    return first, second

print(pair(jax.random.key(0), jnp.ones((2, 3)), jnp.ones((4, 3)), 5)[1].shape)
""",
    "values computed while compiling": """\
@jax.jit
def states(x):
    with jax.ensure_compile_time_eval():
        parts = jnp.unique(jnp.array([1, 2, 2]))
    return parts + x

print(states(1))
""",
    "a size found where none is given": """\
def pooled(x, n=None):
    if n is None:
        n = int(x.max()) + 1
    return jnp.zeros(n) + x.sum()

@functools.partial(jax.jit, static_argnames="n")
def compiled(x, n):
    return pooled(x, n)

print(pooled(jnp.ones(2)).shape, compiled(jnp.ones(2), 3).shape)
""",
    "a way that ends before what compiled code cannot do": """\
class Settings:
    stop = None

def run(x, stop=None):
    if stop is None:
        return x * 2
    if float(x.max()) < stop:
        return x
    return x * 3

@functools.partial(jax.jit, static_argnames="settings")
def compiled(x, settings):
    return run(x, stop=settings.stop)

print(compiled(jnp.ones(2), Settings), run(jnp.ones(2), 3.0))
""",
    "one start for all members of a sweep": """\
def rollout(key, size, steps):
    return size * jax.random.normal(key, (3,)).sum()

sweep = jax.vmap(rollout, in_axes=(None, 0, None))
print(sweep(jax.random.key(0), jnp.arange(3.0), 10).shape)
""",
    "a call of one of two functions that draw": """\
def easy(key): return jax.random.normal(key, (4,)) * 0.1
def hard(key): return jax.random.uniform(key, (4,))

def make(harder):
    start = hard if harder else easy
    def reset(key):
        following, key = jax.random.split(key)
        return start(key), following
    return jax.jit(reset)

print(make(True)(jax.random.key(0))[0].shape)
""",
    "a helper that draws what it was not given": """\
def references(key, values): return jax.random.permutation(key, values)

def run_single(key, values, given):
    if given is None:
        given = references(key, values)
    return values - given

def run(key, values):
    given = references(key, values)
    return run_single(key, values, given)

print(run(jax.random.key(0), jnp.arange(3)).sum())
""",
    "antithetic perturbations see the same noise": """\
def unrolled(theta, key, steps): return theta + jax.random.normal(key, (steps,))

def gradient(vec_p_theta, vec_n_theta, key, steps):
    one = unrolled(vec_p_theta, key, steps)
    two = unrolled(vec_n_theta, key, 3)
    return one - two

print(gradient(1.0, -1.0, jax.random.key(0), 3))
""",
    "a method that gives a new buffer": """\
@jax.tree_util.register_pytree_node_class
class Buffer:
    def __init__(self, data):
        self.data = data
    def tree_flatten(self): return (self.data,), None
    @classmethod
    def tree_unflatten(cls, _, data): return cls(*data)
    def insert(self, part): return Buffer(jnp.concatenate([self.data, part]))

@jax.jit
def warm(buffer, parts):
    buffer = buffer.insert(parts * 2)
    return buffer

print(warm(Buffer(jnp.ones(2)), jnp.ones(3)).data.shape)
""",
    "a type of numbers as a static argument": """\
def wanted(text): return jnp.dtype(text) if text else None

@functools.partial(jax.jit, static_argnames=("dtype",))
def packed(x, dtype): return x if dtype is None else x.astype(dtype)

print(packed(jnp.ones(2), wanted("int32")))
""",
    "a decorator that adds a parameter": """\
def with_summary(fn):
    def wrapped(*args, with_summary=False):
        return fn(*args), {"on": 1} if with_summary else {}
    return wrapped

@functools.partial(jax.jit, static_argnames="with_summary")
@with_summary
def loss(values):
    return values.sum()

print(loss(jnp.ones(2), with_summary=True)[0])
""",
    "a loop that a result ends": """\
import time

@jax.jit
def step(x): return x * 0.5

@jax.jit
def done(x): return (x < 0.1).all()

def run(x):
    start = time.perf_counter()
    for _ in range(99):
        x = step(x)
        if done(x):
            break
    return x, time.perf_counter() - start

print(run(jnp.ones(2))[0].shape)
""",
    "results that a lambda fetches": """\
import time

step = jax.jit(lambda x: {"a": x * 0.5})

start = time.perf_counter()
result = step(jnp.ones(2))
fetched = jax.tree.map(lambda x: jax.device_get(x), result)
print(time.perf_counter() - start > 0)
""",
    "a static flag from a list": """\
cast = jax.jit(lambda x, wide: x.astype(jnp.float32) if wide else x, static_argnums=1)

def casted(leaves, flags):
    return [cast(leaf, flag) for leaf, flag in zip(leaves, flags)]

for leaf, wide in zip([jnp.ones(2), jnp.ones(3)], [True, False]):
    print(cast(leaf, wide).shape)
""",
    "a draw in a function that ends under the condition of another": """\
def noise(key, values): return jax.random.normal(key, values.shape)

def run(key, values, given=None, bootstrap=False):
    if given is None and not bootstrap:
        given = noise(key, values)
    if not bootstrap:
        return values - given
    return jax.random.permutation(key, values)

print(run(jax.random.key(0), jnp.ones(3)).shape)
""",
    "items that become smaller": """\
def lowest(row, index, values): return row.at[index].min(values)

print(jax.vmap(lowest)(jnp.ones((2, 3)), jnp.zeros((2, 1), int), jnp.zeros((2, 1))).shape)
""",
    "a mode without randomness": """\
class Noise(nnx.Module):
    def __init__(self, stochastic): self.stochastic = stochastic
    def __call__(self, x, noise=None):
        if self.stochastic and noise is not None:
            return x + noise
        else:
            key = jax.random.key(0)
            return x + jax.random.normal(key, x.shape)

print(Noise(False)(jnp.ones(2)).shape)
""",
    "a factorisation that its object keeps": """\
class Matrix:
    def __init__(self, data):
        self.data, self._kept = data, {}

    def factors(self, pivot=False):
        kept = self._kept
        if pivot in kept:
            return kept[pivot]
        lu, piv = jax.scipy.linalg.lu_factor(self.data)
        if float(jnp.min(jnp.abs(jnp.diag(lu)))) == 0.0 or bool(jnp.any(jnp.isnan(lu))):
            raise ValueError("singular")
        kept[pivot] = (lu, piv)
        return kept[pivot]

    def solve(self, b):
        return jax.scipy.linalg.lu_solve(self.factors(), b)

class Stepper:
    def __init__(self, matrix):
        self.matrix = matrix
        self.matrix.factors()

    @functools.partial(jax.jit, static_argnums=0)
    def step(self, u):
        return self.matrix.solve(u)

print(Stepper(Matrix(jnp.eye(2) * 2)).step(jnp.ones(2)))
""",
    "a module, or one of Linen": """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
    def __call__(self, x):
        return self.linear(x)

def applied(x):
    net = Net(nnx.Rngs(0))
    if isinstance(net, nnx.Module):
        return lambda: net(x)
    params = net.init(jax.random.key(0), x)
    def predict():
        return net.apply(params, x)
    return predict

print(applied(jnp.ones((1, 2)))().shape)
""",
    "a report that nothing calls": """\
import time

@jax.jit
def train(x):
    def report(value):
        print(time.time(), value)
    # jax.debug.callback(report, x)
    return x * 2

print(train(1.0))
""",
    "a clock that a callback goes on with": """\
import time

@jax.jit
def train(x):
    last = time.time()
    def report(value):
        nonlocal last
        now = time.time()
        print(value, now - last >= 0)
        last = now
    jax.debug.callback(report, x)
    return x * 2

print(train(1.0))
""",
    "weights that are loaded while compiling": """\
import os, pickle, tempfile

PATH = os.path.join(tempfile.mkdtemp(), "weights")
with open(PATH, "wb") as file:
    pickle.dump(3.0, file)

@jax.jit
def scaled(x):
    with open(PATH, "rb") as file:
        weight = pickle.load(file)
    return x * weight

print(scaled(1.0))
""",
    "a flag that switches draws off": """\
def batches(key, data, shuffle=False):
    if shuffle:
        order = jax.random.permutation(key, len(data))
    else:
        order = jnp.arange(len(data))
    return data[order]

def epoch(key, train, test):
    return batches(key, train, shuffle=True), batches(key, test), batches(key, test, False)

print(epoch(jax.random.key(0), jnp.arange(3), jnp.arange(4))[1])
""",
    "one of two draws for each place": """\
def interval(key):
    mix, value = jax.random.split(key)
    often = jax.random.uniform(mix) < 0.8
    return jnp.where(often, jax.random.randint(value, (), 24, 31), jax.random.randint(value, (), 31, 37))

print(interval(jax.random.key(0)) > 0)
""",
    "a key of the whole run by default": """\
class Model:
    def fit(self, x, key=jax.random.key(0)):
        return x + jax.random.normal(key, x.shape)

for size in (1, 2):
    print(Model().fit(jnp.ones(size)).shape)
""",
    "a shape that is put right for nobody": """\
def metrics(loss, targets):
    targets = jnp.squeeze(targets)
    return {"loss": loss}

print(metrics(1.0, jnp.ones((2, 1))))
""",
    "static sizes of a function that is compiled by itself": """\
@functools.partial(jax.jit, static_argnames=["size"])
def halves(x, scale, size=None):
    return x[:size] * scale, x[size:]

def run(x, rest):
    return halves(x, *rest, 1)

print(jax.jit(lambda x: run(x, (2.0,)))(jnp.ones(3))[0].shape)
""",
    "a restored model that nothing changes any more": """\
def restore(model):
    model.bias[...] = jnp.ones(2)

def record(x):
    model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    optimizer = nnx.ModelAndOptimizer(model, None) if False else None
    restore(model)

    @jax.jit
    def act(x):
        return model(x)

    return [act(x) for _ in range(2)]

print(len(record(jnp.ones((1, 2)))))
""",
    "a step of an evaluation that is told to donate": """\
evaluate_step = lambda params, batch: (params * batch).sum()

def eval_step(params, batch):
    return (params * batch).sum()

step = jax.jit(eval_step, donate_argnames=("params", "batch"))
params = jnp.ones(3)
for _, batch in enumerate(iter([jnp.ones(3), jnp.ones(3)])):
    print(step(params, batch), batch.shape)
""",
    "keys by a counter that goes on in the loop": """\
def weights(key, count):
    keys = jax.random.split(key, 1 + count * 2)
    at = 0
    found = [jax.random.normal(keys[at], (3,))]
    at += 1
    for _ in range(count):
        inner = jax.random.split(keys[at], 2)
        at += 1
        found += [jax.random.normal(inner[0], (3,)), jax.random.normal(keys[at], (3,))]
        at += 1
    return found

print(len(weights(jax.random.key(0), 2)))
""",
    "a static argument that is bound before the rest is mapped": """\
@functools.partial(jax.jit, static_argnums=(0,))
def tiled(count, x, y):
    return jnp.tile(x * y, count)

run = functools.partial(tiled, 3)
print(jax.vmap(run)(jnp.ones((2, 4)), jnp.ones((2, 4))).shape)
""",
    "a default that nnx.vmap gives by place": """\
@nnx.vmap(in_axes=(0, None, None))
def huber(difference, target, kappa: float = 1.0):
    return jnp.where(jnp.abs(difference - target) < kappa, difference, kappa).sum()

print(huber(jnp.ones((2, 3)), jnp.zeros(3)).shape)
""",
    "a dropout of nothing": """\
class Residual(nnx.Module):
    def __init__(self, width, dropout: float = 0.0, *, rngs):
        self.first = nnx.Linear(width, width, rngs=rngs)
        self.dropout = nnx.Dropout(rate=dropout, rngs=rngs)

    def __call__(self, x):
        return x + self.first(self.dropout(x))

net = Residual(4, rngs=nnx.Rngs(0))

def loss(x):
    return net(x).sum()

print(jax.grad(loss)(jnp.ones((2, 4))).shape)
""",
    "a norm that is never 0": """\
SMALL = 1e-6

def project(x, radius):
    norm = jnp.sqrt(jnp.sum(x**2) + SMALL**2)
    return jnp.where(norm > radius, x * (radius / norm), x)

print(jax.grad(lambda x: project(x, 1.0).sum())(jnp.zeros(3)))
""",
    "what a module holds beside its arrays": """\
class Bandit:
    def pull(self, state, action):
        return state + action, state

class Players(nnx.Module):
    def __init__(self):
        self.bandit = Bandit()

        def pull(state, action):
            state, reward = self.bandit.pull(state, action)
            return state.reshape(-1), reward

        self.pull = jax.jit(jax.vmap(pull))

print(Players().pull(jnp.ones((2, 3)), jnp.ones((2, 3)))[0].shape)
""",
    "some of the layers of a list": """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(2, 2, rngs=rngs)

    def __call__(self, x):
        return self.out(x)

class Chunk(nnx.Module):
    def __init__(self, blocks):
        self.count = len(blocks)
        for at, block in enumerate(blocks):
            setattr(self, f"block{at}", block)

    def __call__(self, x):
        for at in range(self.count):
            x = getattr(self, f"block{at}")(x)
        return x

class Tower(nnx.Module):
    def __init__(self, rngs):
        blocks = [Block(rngs) for _ in range(4)]
        self.low, self.high = Chunk(blocks[:2]), Chunk(blocks[2:])

    def __call__(self, x):
        return self.high(self.low(x))

print(Tower(nnx.Rngs(0))(jnp.ones((1, 2))).shape)
""",
    "a walk over whatever it is given": """\
def parts(thing):
    if isinstance(thing, (list, tuple)):
        for at, one in enumerate(thing):
            yield from parts(one)
        return
    yield thing

print(len(list(parts(nnx.Linear(2, 2, rngs=nnx.Rngs(0))))))
""",
    "a gradient of JAX for a model of parameters alone": """\
class Head(nnx.Module):
    def __init__(self, width, rngs: nnx.Rngs):
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.out = nnx.Linear(width, 1, rngs=rngs)
        self.width = width

    def __call__(self, x):
        return self.out(self.norm(x))

class Whole(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.first = nnx.Linear(2, 4, rngs=rngs)
        self.head = Head(4, rngs)

    def __call__(self, x):
        return self.head(self.first(x))

whole = Whole(nnx.Rngs(0))
print(whole(jnp.ones((1, 2))).shape)

def step(whole: Whole, x):
    return jax.value_and_grad(lambda m: m(x).sum())(whole)
""",
    "a state that is looked at": """\
seen = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
nnx.state(seen)
print(seen.kernel.shape)
""",
    "arrays that are only timed": """\
import time

def bench(run):
    start = time.perf_counter()
    run().block_until_ready()
    return time.perf_counter() - start

def measure(size):
    key = jax.random.key(0)
    left = jax.random.normal(key, (size, size))
    right = jax.random.normal(key, (size, size))
    product = jax.jit(lambda a, b: a @ b)
    return bench(lambda: product(left, right))

print(measure(4) > 0)
""",
    "an outer object that is filled in and handed on": """\
class Plasma:
    def __init__(self):
        self.heat = 1.0

def density(plasma):
    return plasma.heat * 2

plasma = Plasma()

@jax.jit
def at_heat(heat):
    plasma.heat = heat
    return density(plasma)

print(at_heat(2.0), at_heat(3.0))
""",
    "pictures of the same noise": """\
randkey = jax.random.key(0)

def save_image(rows):
    return rows.mean()

def sample_pictures(model, labels):
    noise = jax.random.normal(randkey, (len(labels), 2))
    return save_image(model(noise))

net = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
for epoch in range(2):
    print(sample_pictures(net, [1, 2]))
""",
    "what is guarded for the metrics that a loss gives beside its number": """\
def ratio(hits, count):
    return jnp.where(count > 0, jnp.sum(hits) / count, 0.0)
def loss(params, x, roles):
    errors = (params * x - 1.0) ** 2
    attacker = 0.0
    if roles is not None:
        count = jnp.sum(x * roles)
        attacker = jnp.where(count > 0, jnp.sum(errors * roles) / count, 0.0)
    metrics = {"attacker": attacker}
    metrics["share"] = ratio(errors, jnp.sum(x))
    return jnp.mean(errors), metrics
grads, metrics = jax.grad(loss, has_aux=True)(1.0, jnp.arange(3.0), jnp.ones(3))
print(grads, metrics["attacker"], metrics["share"])
""",
    "a mask that is drawn once and handed on": """\
def composed(images, others, key, masks):
    def one(image, other, mask):
        if mask is None:
            mask = jax.random.bernoulli(key, 0.5, (3,))
        return jnp.where(mask, image, other), mask
    return jax.vmap(one)(images, others, masks)
def cut(key, images, labels):
    images, masks = composed(images, images[::-1], key, None)
    labels, _ = composed(labels, labels[::-1], key, masks)
    return images, labels
def dropped(x, key, mask=None):
    mask = mask if mask is not None else jax.random.bernoulli(key, 0.5, x.shape)
    return x * mask, mask
def pair(key, x, y):
    x, mask = dropped(x, key)
    y, _ = dropped(y * 2, key, mask)
    return x + y
print(cut(jax.random.key(0), jnp.ones((2, 3)), jnp.ones((2, 3))), pair(jax.random.key(1), jnp.ones(3), jnp.ones(3)))
""",
    "a key for what is loaded, and for what begins anew": """\
def train(key, latest):
    start = 0
    state = jnp.zeros(3)
    if latest:
        start = int(latest) + 1
        state = state + jax.random.normal(key, (3,))
    if start == 0:
        key, subkey = jax.random.split(key)
        state = state + jax.random.uniform(subkey, (3,))
    return state
print(train(jax.random.key(0), ""), train(jax.random.key(0), "3"))
""",
    "an abstract function that is mapped as those of the classes below": """\
import abc

class World(abc.ABC):
    @staticmethod
    @abc.abstractmethod
    def problem():
        raise NotImplementedError
    def shape(self):
        raise NotImplementedError
class Plane(World):
    @staticmethod
    def problem(key, size):
        return jax.random.normal(key, (2,)) * size
    def shape(self, x, y):
        return x + y
def problems(world: World, key):
    return jax.vmap(world.problem, in_axes=(0, None))(jax.random.split(key, 3), 2.0)
def shapes(world: World, x):
    return jax.vmap(world.shape, in_axes=(0, None))(x, 1.0)
print(problems(Plane(), jax.random.key(0)), shapes(Plane(), jnp.ones(3)))
""",
    "an estimator of the gradient whose value is a label as well": """\
def loss(weights, x):
    encoded = x @ weights
    rounded = jnp.round(encoded)
    code = encoded + jax.lax.stop_gradient(rounded - encoded)
    predicted = jax.nn.log_softmax(jnp.tanh(code))
    return jnp.mean(code**2) - jnp.sum(jax.lax.stop_gradient(code) * predicted)
print(jax.grad(loss)(jnp.ones((3, 2)) * 0.3, jnp.ones((4, 3))))
""",
    "one key for the weights of all devices": """\
count = jax.local_device_count()
def begin(common, own):
    return jax.random.normal(common, (3,)), own
def states(key):
    common, own = jax.random.split(key)
    commons = jnp.repeat(common[None], count, axis=0)
    return jax.pmap(begin)(commons, jax.random.split(own, count))
def init_params(key):
    return jax.random.normal(key, (3,))
def replicated(key):
    return jax.pmap(init_params)(jnp.stack([key for _ in range(count)]))
print(states(jax.random.PRNGKey(0)), replicated(jax.random.PRNGKey(1)))
""",
    "names for the nodes of a graph that compiled code makes": """\
import uuid

class Graph:
    def __init__(self):
        self.nodes = {}
    def add(self, name, what):
        self.nodes[name] = what
    def total(self):
        return sum(self.nodes.values())
@jax.jit
def spread(x):
    node = str(uuid.uuid4())
    graph = Graph()
    graph.add(node, x)
    other = f"second {uuid.uuid4()}"
    table = {}
    table[other] = 2 * x
    return graph.total() + sum(table.values())
print(spread(jnp.ones(2)))
""",
    "a static module whose parameters are arguments": """\
class Spectrum(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(2, 2, rngs=rngs)
    def flux(self, v):
        return self.fc(v)
    @functools.partial(jax.jit, static_argnums=0)
    def run(self, params, v):
        graphdef, state, rest = nnx.split(self, nnx.Param, ...)
        state = jax.tree.map(lambda old, new: new, state, params)
        return nnx.merge(graphdef, state, rest).flux(v)
net = Spectrum(nnx.Rngs(0))
print(net.run(nnx.state(net, nnx.Param), jnp.ones(2)))
""",
    "a module without weights of its own, in a project that trains none": """\
class Posterior(nnx.Module):
    def __init__(self, prior):
        self.prior = prior
    def log_prob(self, p):
        return -self.prior * jnp.sum(p**2)
    @functools.cached_property
    def compiled(self):
        @jax.jit
        def run(p):
            return self.log_prob(p)
        return run
posterior = Posterior(2.0)
@jax.jit
def log_prob(p):
    return posterior.log_prob(p)
print(log_prob(jnp.ones(3)), Posterior(3.0).compiled(jnp.ones(3)))
""",
    "a first call whose time is shown as that of compiling": """\
import time

@jax.jit
def square(x):
    return x @ x
def measured(x):
    start = time.time()
    y = square(x)
    first = time.time() - start
    print(f"first call: {first:.2f} s (includes compilation)")
    begun = time.time()
    z = square(x)
    z.block_until_ready()
    print("second call:", time.time() - begun)
    return y
def warmed(x):
    start = time.time()
    y = square(x)
    compile_time = time.time() - start
    return y, compile_time
print(measured(jnp.ones((2, 2))), warmed(jnp.ones((2, 2)))[0])
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str) -> None:
    """Nothing is found in code that is right."""
    analysis = look(HEAD + RIGHT[name], Options(origin="0.12", targets=("0.12",), lint=True))
    assert not analysis.failures
    noted = [f for f in analysis.findings if f.code.startswith(("NNX7", "NNX8")) or f.code in {"NNX907", "NNX908"}]
    assert [(f.code, f.message) for f in noted] == []


@pytest.mark.parametrize("version", ["0.10", "0.12"])
def test_runs(version: str, tmp_path: Path) -> None:
    """The code really is right."""
    done = execute_all(version, {name: HEAD + text for name, text in RIGHT.items()}, tmp_path)
    assert {name: output.err for name, output in done.items() if output.code} == {}


WRONG = {
    "NNX830 beside a training that is timed": """\
import time
import optax

def measure(size):
    key = jax.random.key(0)
    weights = jax.random.normal(key, (size, size))
    data = jax.random.normal(key, (size, size))
    tx = optax.adam(1e-3)
    start = time.perf_counter()
    state = tx.init(weights)
    return time.perf_counter() - start, data, state

def timed_training(bench, train_step, size):
    key = jax.random.key(0)
    train_step(jax.random.normal(key, (size,)), 0)
    return bench(train_step, 1)
""",
    "NNX804 read by others": """\
class Plasma:
    def __init__(self):
        self.heat = 1.0

plasma = Plasma()

@jax.jit
def at_heat(heat):
    plasma.heat = heat
    return heat * 2

print(at_heat(2.0), plasma.heat)
""",
    "NNX820 a chain of conditions": """\
@jax.jit
def step(error, size):
    if error > 1:
        return size * 0.5
    elif error < 0.1:
        return size * 1.5
    return size
""",
    "NNX828": """\
step = jax.jit(lambda a, b: a + b, static_argnums=(2, 3))
""",
    "NNX817": """\
class Noisy(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.out = nnx.Linear(2, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(self.drop(x))

def step(noisy: Noisy, x):
    return jax.value_and_grad(lambda m: m(x).sum())(noisy)
""",
    "NNX870": """\
def project(x, radius):
    norm = jnp.sqrt(jnp.sum(x**2))
    return jnp.where(norm > radius, x * (radius / norm), x)

print(jax.grad(lambda x: project(x, 1.0).sum())(jnp.zeros(3)))
""",
    "NNX867": """\
@nnx.vmap(in_axes=(0, None))
def huber(difference, target, kappa):
    return (difference - target) * kappa

print(huber(jnp.ones((2, 3)), jnp.zeros(3), 1.0).shape)
""",
    "NNX830 a counter that starts again": """\
def weights(key, count):
    keys = jax.random.split(key, 4)
    found = []
    for _ in range(count):
        at = 0
        at += 1
        found.append(jax.random.normal(keys[at], (3,)))
    return found
""",
    "NNX821": """\
class Matrix:
    def __init__(self):
        self._kept = {}

    def factors(self, data, pivot=False):
        kept = self._kept
        if pivot in kept:
            return kept[pivot]
        kept[pivot] = float(data.sum())
        return kept[pivot]

@jax.jit
def solve(data):
    return Matrix().factors(data)
""",
    "NNX806": """\
import time

@jax.jit
def train(x):
    def now():
        return time.time()
    return x * now()
""",
    "NNX801": """\
def run(batches):
    model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, None, wrt=nnx.Param)

    @jax.jit
    def predict(x):
        return model(x)

    for x in batches:
        predict(x)
        optimizer.update(model, x)
""",
    "NNX830": """\
def batches(key, data, shuffle=False):
    if shuffle:
        return jax.random.permutation(key, len(data))
    return jnp.arange(len(data))

def epoch(key, train, test):
    return batches(key, train, shuffle=True), batches(key, test, True)
""",
    "NNX830 of a condition and what it chooses": """\
def wave(key):
    return jnp.where(jax.random.bernoulli(key, 0.05), jax.random.randint(key, (), 6, 23), 0)
""",
    "NNX842": """\
def clipped(grads):
    grads = jnp.clip(grads, -1, 1)
""",
    "NNX827": """\
class Matrix(nnx.Pytree):
    def __init__(self, data):
        self.data = data

    def setup(self, step):
        self.data = self.data * step

    @functools.partial(jax.jit, static_argnums=0)
    def times(self, x):
        return self.data @ x
""",
    "NNX856": """\
def move(params, batch):
    return params - batch

step = jax.jit(move, donate_argnames=("params",))
params = jnp.ones(3)
for batch in [jnp.ones(3), jnp.ones(3)]:
    print(step(params, batch))
""",
    "NNX875": """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)

def applied(x, wide):
    net = Net(nnx.Rngs(0))
    if wide:
        return net
    return net.apply({}, x)
""",
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    """What looks like right code, and is none, is still found, and once."""
    found = [f.code for f in look(HEAD + WRONG[name], Options(origin="0.12", targets=("0.12",), lint=True)).findings]
    assert found.count(name[:6]) == 1, found


JITTED_AGAIN = """\
class Agent:
    def __init__(self):
        self.grads = jax.grad(lambda x: x.sum())
        self.predict = jax.jit(self.predict)
        self.step = jax.jit(self.step)

    def predict(self, x):
        return x

    def step(self, x):
        return self.predict(x)

def run(agent: Agent, x):
    return agent.step(agent.predict(x))

run(Agent(), jnp.ones(2))
"""


def test_compiled_in_its_own_place() -> None:
    """What ``jit`` makes of a method that it takes the place of leads back to itself."""
    assert not look(HEAD + JITTED_AGAIN, Options(origin="0.12", targets=("0.12",), lint=True)).failures


CONSTANT = """\
class Matrix(nnx.Pytree):
    def __init__(self, data):
        self.data = data

    @functools.partial(jax.jit, static_argnums=0)
    def times(self, x):
        return self.data @ x
"""


def test_constant_object() -> None:
    """The arrays of an object that is no module, and that nothing changes, may be constants; Flax 0.10 has none."""
    assert not look(HEAD + CONSTANT, Options(origin="0.12", targets=("0.12",), lint=True)).findings


CELLS = "import jax\nkey = jax.random.key(0)\na = jax.random.normal(key)\nb = jax.random.uniform(key)\n"


@pytest.mark.parametrize(("cells", "found"), [((1, 4), False), ((1, 3), True), ((1,), True)])
def test_key_in_other_cells(cells: tuple[int, ...], found: bool) -> None:
    """A notebook may show two things with one key in two cells; in one cell it is a mistake."""
    source = Source("main.ipynb", CELLS.encode(), "main", notebook=True, cells=cells)
    codes = [f.code for f in analyse([source], Options(origin="0.12", targets=("0.12",), lint=True)).findings]
    assert ("NNX830" in codes) is found


SHOWN = "import jax\njax.random.split(jax.random.key(0))\nx = jax.numpy.ones(2)\nx.at[0].set(2)\n"


@pytest.mark.parametrize(("cells", "found"), [((1, 3), set()), ((1,), {"NNX834"}), ((1, 4), {"NNX834"})])
def test_shown_by_cell(cells: tuple[int, ...], found: set[str]) -> None:
    """A notebook shows what a cell ends with, and nothing before."""
    source = Source("main.ipynb", SHOWN.encode(), "main", notebook=True, cells=cells)
    codes = {f.code for f in analyse([source], Options(origin="0.12", targets=("0.12",), lint=True)).findings}
    assert codes == found


OPENED = "import orbax.checkpoint as ocp\nmanager = ocp.StandardCheckpointer()\nstate = manager.restore('/tmp/x')\n"


@pytest.mark.parametrize(("more", "found"), [("", False), ("from flax import nnx\n", True)])
def test_checkpoint_opened_by_hand(more: str, found: bool) -> None:
    """Who opens a checkpoint in a notebook without a model looks at what it holds."""
    text = "import jax\n" + more + OPENED
    source = Source("main.ipynb", text.encode(), "main", notebook=True, cells=(1, 2))
    codes = {f.code for f in analyse([source], Options(origin="0.12", targets=("0.12",), lint=True)).findings}
    assert ("NNX862" in codes) is found


STALE = """\
import jax
import jax.numpy as jnp

scale = 1.0

@jax.jit
def scaled(x):
    return x * scale

scaled(jnp.ones(2))
scale = 2.0
{}
scaled(jnp.ones(2))
"""


@pytest.mark.parametrize(("between", "found"), [("", True), ("@jax.jit\ndef scaled(x):\n    return x * scale", False)])
def test_defined_again(between: str, found: bool) -> None:
    """A function that is defined again after a variable changed reads the new value."""
    codes = [f.code for f in look(STALE.format(between), Options(origin="0.12", targets=("0.12",), lint=True)).findings]
    assert ("NNX807" in codes) is found


SCRIPT = """\
# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py
# ---
import jax

# +
key = jax.random.key(0)
tree = {"a": jax.random.normal(key, (2,))}
jax.tree.map(lambda x: 2 * x, tree)

# MARK two
noise = jax.random.uniform(key, (2,))
"""


@pytest.mark.parametrize(("mark", "found"), [("+", set()), ("%%", set()), ("-", {"NNX830"})])
def test_exported_notebook(mark: str, found: set[str]) -> None:
    """A script with marked cells is read as the notebook that it was exported from."""
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    assert {f.code for f in look(SCRIPT.replace("MARK", mark), given).findings} == found
    plain = SCRIPT.replace("MARK", mark).replace("# +", "#").replace("# %%", "#")
    assert {f.code for f in look(plain, given).findings} == {"NNX830", "NNX842"}


COUNTED = """\
import jax
from flax import nnx

calls = 0


class Counting(nnx.Module):
    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x


@jax.jit
def test_step(x):
    global calls
    calls += 1
    return x
"""


GRADIENT = """\
import jax
from flax import nnx


def finite(model: nnx.Module, x):
    grads = jax.grad(lambda m: m(x).sum())(model)
    assert all(leaf.any() for leaf in jax.tree.leaves(grads))
"""


def test_gradients_in_tests() -> None:
    """A test that takes gradients of a whole module shows by running that it may."""
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    assert not look({"tests/test_gradients.py": GRADIENT}, given).findings
    assert [f.code for f in look({"gradients.py": GRADIENT}, given).findings] == ["NNX817"]


def test_counted_in_tests() -> None:
    """A test may count calls, and does so on purpose."""
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    assert not look({"tests/test_counts.py": COUNTED}, given).findings
    assert {f.code for f in look({"counts.py": COUNTED}, given).findings} >= {"NNX808"}


FACTORY = """\
class VanillaCell(nnx.Module):
    def __init__(self, width, rngs):
        self.out = nnx.Linear(width, width, rngs=rngs)

    def __call__(self, x):
        return self.out(x)

class Cell(nnx.Module):
    def __new__(cls, width, rngs):
        return VanillaCell(width, rngs)

cell = Cell(2, nnx.Rngs(0))
print(cell(jnp.ones((1, 2))).shape)
"""


def test_class_of_another_object() -> None:
    """What ``__new__`` gives may be called though its class may not."""
    assert "NNX719" not in {f.code for f in look(HEAD + FACTORY, Options(lint=True)).findings}
    told = {f.code for f in look(HEAD + FACTORY.replace("__new__", "made"), Options(lint=True)).findings}
    assert "NNX719" in told


WIDE = "import jax.numpy as jnp\n\ndef made():\n    return jnp.zeros(3, dtype=jnp.float64)\n"
TESTED = """\
import jax.numpy as jnp
import made

NOTHING = jnp.zeros(3)

def test_made():
    assert (made.made() == NOTHING).all()
"""


def test_precision_of_a_library() -> None:
    """What runs a library that has nothing but tests may set the mode; a script ``test.py`` is a program."""
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    log = "import logging\n\nlog = logging.getLogger()\n"
    assert not look({"made.py": WIDE, "test.py": TESTED, "logs.py": log}, given).findings
    script = TESTED.replace("def test_made", "def main") + "\nmain()\n"
    assert [f.code for f in look({"made.py": WIDE, "test.py": script}, given).findings] == ["NNX917"]
    assert [f.code for f in look({"made.py": WIDE, "main.py": "import made\nprint(made.made())\n"}, given).findings]


ENDED = """\
import jax

key = jax.random.key(0)
weights = jax.random.normal(key, (2,))
exit()
noise = jax.random.uniform(key, (2,))
print(weights + noise)
"""


def test_behind_the_end() -> None:
    """What stands behind the end of a script is run by nobody, and cells are run one by one."""
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    assert not look(ENDED, given).findings
    assert [f.code for f in look(ENDED.replace("exit()", "print()"), given).findings] == ["NNX830"]
    cells = "# %%\nimport jax.numpy as jnp\nexit()\n# %%\nprint(jnp.norm(jnp.ones(3)))\n"
    assert [f.code for f in look(cells, given).findings] == ["NNX762"]
    assert not look(cells.replace("# %%", "#"), given).findings


FAR = """\
def shaped(v, shape):
    return v.reshape(shape)


mapped = jax.jit(jax.vmap(shaped, in_axes=(0, None)), static_argnums=1)
"""
NEAR = """\
import jax.numpy as jnp
from far import mapped  # in_axes=(0, None)

print(mapped(jnp.ones((3, 4)), [2, 2]))
"""


def test_static_argument_of_another_file() -> None:
    """What made a function may stand further down in its file than the file that calls it is long."""
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    found = look({"far.py": "import jax\n" + "\n" * 90 + FAR, "main.py": NEAR}, given)
    assert not found.failures
    assert [f.code for f in found.findings] == ["NNX826"]


ADDED_UP = """\
import jax
import jax.numpy as jnp


class Variables:
    def __init__(self, force):
        self.force = force

    def {name}(self, other):
        self.force += other.force
        return self
"""
SOLVED = """\
import jax
import jax.numpy as jnp
from variables import Variables


def solve(variables, v):
    return jax.jit(lambda w: w * variables.force)(v)


one = Variables(2.0)
print(solve(one, jnp.ones(3)))
"""


def test_changed_in_another_file() -> None:
    """A sum of objects is another object than what compiled code holds; where a change stands elsewhere, it is said."""
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    found = look({"variables.py": ADDED_UP.format(name="grow"), "main.py": SOLVED}, given).findings
    assert [f.code for f in found] == ["NNX807"]
    assert "line 10 of variables.py" in found[0].message
    assert not look({"variables.py": ADDED_UP.format(name="__iadd__"), "main.py": SOLVED}, given).findings


HELPED = """\
import jax


def fresh(key):
    _, part = jax.random.split(key)
    return part


def noisy(key):
    return jax.random.normal(key) + jax.random.uniform(fresh(key))


print(noisy(jax.random.key(0)))
"""
TWICE = """\
import jax


def drawn(key):
    return jax.random.normal(key)


print(jax.random.normal(one := jax.random.key(0)), drawn(one))
"""


def test_a_split_in_a_function_is_told_of_as_a_split() -> None:
    """Of a draw and a split beside it no dependence is claimed, wherever the split stands."""
    given = Options(origin="0.12", targets=("0.12",), lint=True)
    for text, said in ((HELPED, "refuses"), (TWICE, "depend on each other")):
        (found,) = look(text, given).findings
        assert found.code == "NNX830"
        assert said in found.message
