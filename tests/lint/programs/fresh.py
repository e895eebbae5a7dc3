"""Mistakes in other spellings than the rules were written for: through tables, fields, helpers and other files."""

from __future__ import annotations

from tests.lint.programs import Pair

PAIRS = {
    "a branch in a table of functions": Pair(
        "NNX820",
        """
ACTIVATIONS = {"shrink": lambda v: v - 1 if v > 1 else v, "double": lambda v: 2 * v}

print(jax.vmap(ACTIVATIONS["shrink"])(jnp.arange(4.0)))
""",
        """
ACTIVATIONS = {"shrink": lambda v: jnp.where(v > 1, v - 1, v), "double": lambda v: 2 * v}

print(jax.vmap(ACTIVATIONS["shrink"])(jnp.arange(4.0)))
""",
    ),
    "a method that iterates until it converges": Pair(
        "NNX820",
        """
class Root:
    def __init__(self, tolerance):
        self.tolerance = tolerance

    @functools.partial(jax.jit, static_argnums=0)
    def solve(self, guess):
        error = guess * guess - 2.0
        while jnp.abs(error) > self.tolerance:
            guess = guess - error / (2.0 * guess)
            error = guess * guess - 2.0
        return guess

print(f"{float(Root(1e-3).solve(1.0)):.3f}")
""",
        """
class Root:
    def __init__(self, tolerance):
        self.tolerance = tolerance

    @functools.partial(jax.jit, static_argnums=0)
    def solve(self, guess):
        def wrong(guess):
            return jnp.abs(guess * guess - 2.0) > self.tolerance

        return jax.lax.while_loop(wrong, lambda guess: guess - (guess * guess - 2.0) / (2.0 * guess), guess)

print(f"{float(Root(1e-3).solve(1.0)):.3f}")
""",
    ),
    "a check of another file in a scan": Pair(
        "NNX820",
        """
from checks import ensure_positive

def body(total, part):
    ensure_positive(part, "part")
    return total + part, total

print(jax.lax.scan(body, 0.0, jnp.arange(1.0, 4.0))[0])
# file: checks.py
import jax.numpy as jnp

def ensure_positive(array, name):
    assert jnp.all(array > 0), name
""",
        """
from checks import ensure_positive

def body(total, part):
    ensure_positive(part, "part")
    return total + part, total

print(jax.lax.scan(body, 0.0, jnp.arange(1.0, 4.0))[0])
# file: checks.py
import jax.numpy as jnp

def ensure_positive(array, name):
    assert array.ndim == 0, name
""",
    ),
    "a conditional expression in a loss with two losses": Pair(
        "NNX820",
        """
def loss_fn(model, x, y):
    error = model(x) - y
    squared, absolute = (error ** 2).mean(), jnp.abs(error).mean()
    return squared if squared < absolute else absolute

@nnx.jit
def step(model, x, y):
    return nnx.value_and_grad(loss_fn)(model, x, y)[0]

print(float(step(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, y)) > 0)
""",
        """
def loss_fn(model, x, y):
    error = model(x) - y
    squared, absolute = (error ** 2).mean(), jnp.abs(error).mean()
    return jnp.minimum(squared, absolute)

@nnx.jit
def step(model, x, y):
    return nnx.value_and_grad(loss_fn)(model, x, y)[0]

print(float(step(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, y)) > 0)
""",
    ),
    "early stopping inside of a compiled epoch": Pair(
        "NNX820",
        """
@jax.jit
def epoch(weights, data):
    history = []
    for batch in data:
        loss, grad = jax.value_and_grad(lambda w: ((batch @ w) ** 2).sum())(weights)
        history.append(loss)
        if len(history) > 1 and history[-1] > history[-2]:
            break
        weights = weights - 0.01 * grad
    return weights

print(epoch(jnp.ones(4), jnp.stack([x, x])).shape)
""",
        """
@jax.jit
def epoch(weights, data):
    history = []
    for batch in data:
        loss, grad = jax.value_and_grad(lambda w: ((batch @ w) ** 2).sum())(weights)
        history.append(loss)
        if len(history) > 5:
            break
        weights = weights - 0.01 * grad
    return weights

print(epoch(jnp.ones(4), jnp.stack([x, x])).shape)
""",
    ),
    "numbers of metrics in a dict comprehension": Pair(
        "NNX821",
        """
def loss_fn(model, x, y):
    error = model(x) - y
    metrics = {"mse": (error ** 2).mean(), "mae": jnp.abs(error).mean()}
    return metrics["mse"], {name: float(value) for name, value in metrics.items()}

(loss, metrics), grads = nnx.value_and_grad(loss_fn, has_aux=True)(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, y)
print(sorted(metrics))
""",
        """
def loss_fn(model, x, y):
    error = model(x) - y
    metrics = {"mse": (error ** 2).mean(), "mae": jnp.abs(error).mean()}
    return metrics["mse"], metrics

(loss, metrics), grads = nnx.value_and_grad(loss_fn, has_aux=True)(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, y)
print(sorted({name: float(value) for name, value in metrics.items()}))
""",
    ),
    "a step counter of a state dict made an int": Pair(
        "NNX821",
        """
@jax.jit
def advance(state):
    index = int(state["step"]) % 4
    return {"step": state["step"] + 1, "value": state["value"] + index}

print(advance({"step": jnp.array(3), "value": jnp.array(1.0)})["value"])
""",
        """
@jax.jit
def advance(state):
    index = state["step"] % 4
    return {"step": state["step"] + 1, "value": state["value"] + index}

print(advance({"step": jnp.array(3), "value": jnp.array(1.0)})["value"])
""",
    ),
    "as many rounds as an argument says": Pair(
        "NNX821",
        """
@jax.jit
def power(matrix, n):
    result = jnp.eye(matrix.shape[0])
    for _ in range(n):
        result = result @ matrix
    return result

print(power(2 * jnp.eye(2), 3).sum())
""",
        """
@functools.partial(jax.jit, static_argnames="n")
def power(matrix, n):
    result = jnp.eye(matrix.shape[0])
    for _ in range(n):
        result = result @ matrix
    return result

print(power(2 * jnp.eye(2), 3).sum())
""",
    ),
    "a list of layers chosen by an array": Pair(
        "NNX821",
        """
tables = [jnp.zeros(3), jnp.ones(3)]

@jax.jit
def choose(index):
    return tables[index].sum()

print(choose(jnp.array(1)))
""",
        """
tables = jnp.stack([jnp.zeros(3), jnp.ones(3)])

@jax.jit
def choose(index):
    return tables[index].sum()

print(choose(jnp.array(1)))
""",
    ),
    "a numpy table read at a traced place": Pair(
        "NNX810",
        """
angles = np.linspace(0.0, 1.0, 8)

@jax.jit
def lookup(index):
    return jnp.cos(angles[index])

print(f"{float(lookup(jnp.array(3))):.3f}")
""",
        """
angles = jnp.linspace(0.0, 1.0, 8)

@jax.jit
def lookup(index):
    return jnp.cos(angles[index])

print(f"{float(lookup(jnp.array(3))):.3f}")
""",
    ),
    "numpy in the body of a while loop": Pair(
        "NNX810",
        """
import math

def smaller(state):
    return state[1] > 0.1

def halve(state):
    count, value = state
    return count + 1, math.exp(-value) * value / 2

print(jax.lax.while_loop(smaller, halve, (0, 1.0))[0])
""",
        """
def smaller(state):
    return state[1] > 0.1

def halve(state):
    count, value = state
    return count + 1, jnp.exp(-value) * value / 2

print(jax.lax.while_loop(smaller, halve, (0, 1.0))[0])
""",
    ),
    "a progress line in a helper of a scan": Pair(
        "NNX803",
        """
def report(name, value):
    print(f"{name}: {value}")

def body(total, part):
    total = total + part
    report("total", total)
    return total, None

print(jax.lax.scan(body, 0.0, jnp.arange(3.0))[0])
""",
        """
def report(name, value):
    jax.debug.print(name + ": {}", value)

def body(total, part):
    total = total + part
    report("total", total)
    return total, None

print(jax.lax.scan(body, 0.0, jnp.arange(3.0))[0])
""",
    ),
    "a logger in a compiled method": Pair(
        "NNX803",
        """
import logging
import sys

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s", force=True)
logger = logging.getLogger(__name__)

class Trainer:
    def __init__(self, model):
        self.model = model

    def run(self, x):
        return step(self.model, x)

@nnx.jit
def step(model, x):
    out = model(x).sum()
    logger.info("out %s", out)
    return out

print(float(Trainer(nnx.Linear(4, 2, rngs=nnx.Rngs(0))).run(jnp.zeros((1, 4)))))
""",
        """
import logging
import sys

logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s", force=True)
logger = logging.getLogger(__name__)

class Trainer:
    def __init__(self, model):
        self.model = model

    def run(self, x):
        out = step(self.model, x)
        logger.info("out %s", out)
        return out

@nnx.jit
def step(model, x):
    return model(x).sum()

print(float(Trainer(nnx.Linear(4, 2, rngs=nnx.Rngs(0))).run(jnp.zeros((1, 4)))))
""",
    ),
    "augmentation with numpy's random numbers": Pair(
        "NNX806",
        """
def augment(images):
    return images + np.random.normal(size=images.shape)

@nnx.jit
def step(model, images):
    return model(augment(images)).sum()

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
print(bool(step(model, x) == step(model, x)))
""",
        """
def augment(images, key):
    return images + jax.random.normal(key, images.shape)

@nnx.jit
def step(model, images, key):
    return model(augment(images, key)).sum()

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
first, second = jax.random.split(jax.random.key(0))
print(bool(step(model, x, first) == step(model, x, second)))
""",
    ),
    "a seed of the clock in a compiled method": Pair(
        "NNX806",
        """
class Sampler:
    @functools.partial(jax.jit, static_argnums=(0,))
    def sample(self, mean):
        key = jax.random.key(time.time_ns() % 1000)
        return mean + jax.random.normal(key)

sampler = Sampler()
print(bool(sampler.sample(0.0) == sampler.sample(0.0)))
""",
        """
class Sampler:
    @functools.partial(jax.jit, static_argnums=(0,))
    def sample(self, mean, key):
        return mean + jax.random.normal(key)

sampler = Sampler()
keys = jax.random.split(jax.random.key(time.time_ns() % 1000))
print(bool(sampler.sample(0.0, keys[0]) == sampler.sample(0.0, keys[1])))
""",
    ),
    "a window as long as an argument": Pair(
        "NNX823",
        """
def window(signal, width):
    return jnp.convolve(signal, jnp.ones(width) / width, mode="same")

smooth = jax.jit(window)
print(smooth(jnp.arange(8.0), 3).shape)
""",
        """
def window(signal, width):
    return jnp.convolve(signal, jnp.ones(width) / width, mode="same")

smooth = jax.jit(window, static_argnames=["width"])
print(smooth(jnp.arange(8.0), width=3).shape)
""",
    ),
    "one row for each count": Pair(
        "NNX823",
        """
@nnx.jit
def spread(model, counts):
    total = counts.sum()
    return model(jnp.ones((total, 4)))

print(spread(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), jnp.array([1, 2])).shape)
""",
        """
@nnx.jit
def spread(model, counts):
    total = counts.size
    return model(jnp.ones((total, 4)))

print(spread(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), jnp.array([1, 2])).shape)
""",
    ),
    "the mean over valid tokens": Pair(
        "NNX824",
        """
def masked_mean(losses, labels, padding=0):
    valid = labels != padding
    return losses[valid].mean()

@jax.jit
def loss_fn(losses, labels):
    return masked_mean(losses, labels)

print(loss_fn(jnp.arange(8.0), labels))
""",
        """
def masked_mean(losses, labels, padding=0):
    valid = labels != padding
    return jnp.mean(losses, where=valid)

@jax.jit
def loss_fn(losses, labels):
    return masked_mean(losses, labels)

print(loss_fn(jnp.arange(8.0), labels))
""",
    ),
    "the classes of a batch": Pair(
        "NNX825",
        """
def classes(labels):
    found, counts = jnp.unique(labels, return_counts=True)
    return counts / counts.sum()

print(jax.jit(classes)(labels))
""",
        """
def classes(labels):
    counts = jnp.bincount(labels, length=2)
    return counts / counts.sum()

print(jax.jit(classes)(labels))
""",
    ),
    "places where a condition holds": Pair(
        "NNX825",
        """
class Peaks(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        out = self.linear(x)
        rows, columns = jnp.where(out > 0)
        return rows

@nnx.jit
def infer(model, x):
    return model(x)

print(infer(Peaks(nnx.Rngs(0)), x).ndim)
""",
        """
class Peaks(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        out = self.linear(x)
        return jnp.where(out > 0, out, 0.0)

@nnx.jit
def infer(model, x):
    return model(x)

print(infer(Peaks(nnx.Rngs(0)), x).ndim)
""",
    ),
    "sizes in a list as a static argument by name": Pair(
        "NNX826",
        """
@functools.partial(jax.jit, static_argnames=("sizes",))
def layout(x, *, sizes):
    return jnp.zeros(sizes) + x

shape = [2, 3]
print(layout(1.0, sizes=shape).sum())
""",
        """
@functools.partial(jax.jit, static_argnames=("sizes",))
def layout(x, *, sizes):
    return jnp.zeros(sizes) + x

shape = (2, 3)
print(layout(1.0, sizes=shape).sum())
""",
    ),
    "an array as a static argument": Pair(
        "NNX826",
        """
weigh = jax.jit(lambda values, weights: (values * weights).sum(), static_argnums=1)
weights = np.array([0.5, 0.5])
print(weigh(jnp.ones(2), weights))
""",
        """
weigh = jax.jit(lambda values, weights: (values * weights).sum())
weights = np.array([0.5, 0.5])
print(weigh(jnp.ones(2), weights))
""",
    ),
    "a static name that the function has not": Pair(
        "NNX828",
        """
def scale(x, training):
    return x * 2 if training else x

run = functools.partial(jax.jit, static_argnames=["train"])(scale)
print(run(jnp.ones(2), True))
""",
        """
def scale(x, training):
    return x * 2 if training else x

run = functools.partial(jax.jit, static_argnames=["training"])(scale)
print(run(jnp.ones(2), True))
""",
    ),
    "noise in a comprehension": Pair(
        "NNX830",
        """
key = jax.random.key(0)
samples = [jax.random.normal(key, (2,)) for _ in range(3)]
print(bool((samples[0] == samples[1]).all()))
""",
        """
key = jax.random.key(0)
samples = [jax.random.normal(sub, (2,)) for sub in jax.random.split(key, 3)]
print(bool((samples[0] == samples[1]).all()))
""",
    ),
    "weights of all layers from one key": Pair(
        "NNX830",
        """
def init(key, sizes):
    return {f"w{i}": jax.random.normal(key, (n, n)) for i, n in enumerate(sizes)}

params = init(jax.random.PRNGKey(1), [3, 3])
print(bool((params["w0"] == params["w1"]).all()))
""",
        """
def init(key, sizes):
    keys = jax.random.split(key, len(sizes))
    return {f"w{i}": jax.random.normal(keys[i], (n, n)) for i, n in enumerate(sizes)}

params = init(jax.random.PRNGKey(1), [3, 3])
print(bool((params["w0"] == params["w1"]).all()))
""",
    ),
    "the key of a dataclass drawn from twice": Pair(
        "NNX830",
        """
import dataclasses

@dataclasses.dataclass
class Run:
    key: jax.Array
    scale: float = 1.0

def draw(run):
    noise = run.scale * jax.random.normal(run.key, (2,))
    jitter = run.scale * jax.random.normal(run.key, (2,))
    return noise - jitter

print(bool((draw(Run(jax.random.key(0))) == 0).all()))
""",
        """
import dataclasses

@dataclasses.dataclass
class Run:
    key: jax.Array
    scale: float = 1.0

def draw(run):
    first, second = jax.random.split(run.key)
    noise = run.scale * jax.random.normal(first, (2,))
    jitter = run.scale * jax.random.normal(second, (2,))
    return noise - jitter

print(bool((draw(Run(jax.random.key(0))) == 0).all()))
""",
    ),
    "the parent key used after its split": Pair(
        "NNX830",
        """
def rollout(key, steps):
    positions = jnp.zeros(2)
    action_key, noise_key = jax.random.split(key)
    action = jax.random.uniform(action_key, (2,))
    positions = positions + action + jax.random.normal(key, (2,))
    return positions + jax.random.normal(noise_key, (2,))

print(rollout(jax.random.key(3), 2))
""",
        """
def rollout(key, steps):
    positions = jnp.zeros(2)
    action_key, noise_key, extra_key = jax.random.split(key, 3)
    action = jax.random.uniform(action_key, (2,))
    positions = positions + action + jax.random.normal(extra_key, (2,))
    return positions + jax.random.normal(noise_key, (2,))

print(rollout(jax.random.key(3), 2))
""",
    ),
    "a key from outside in the body of a scan": Pair(
        "NNX830",
        """
def walk(key, start):
    def step(position, _):
        position = position + jax.random.normal(key)
        return position, position

    return jax.lax.scan(step, start, None, length=3)[1]

path = walk(jax.random.key(0), 0.0)
print(bool(jnp.isclose(path[1] - path[0], path[0])))
""",
        """
def walk(key, start):
    def step(position, key):
        position = position + jax.random.normal(key)
        return position, position

    return jax.lax.scan(step, start, jax.random.split(key, 3))[1]

path = walk(jax.random.key(0), 0.0)
print(bool(jnp.isclose(path[1] - path[0], path[0])))
""",
    ),
    "a fold of the same number in every round": Pair(
        "NNX830",
        """
key = jax.random.key(0)
draws = []
for epoch in range(3):
    sub = jax.random.fold_in(key, 7)
    draws.append(jax.random.normal(sub))
print(float(draws[0]) == float(draws[1]))
""",
        """
key = jax.random.key(0)
draws = []
for epoch in range(3):
    sub = jax.random.fold_in(key, epoch)
    draws.append(jax.random.normal(sub))
print(float(draws[0]) == float(draws[1]))
""",
    ),
    "streams made anew by a default": Pair(
        "NNX832",
        """
class Noisy(nnx.Module):
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        rngs = nnx.Rngs(noise=0)
        return x + self.scale * jax.random.normal(rngs.noise(), x.shape)

noisy = Noisy(0.1)
print(bool((noisy(x) == noisy(x)).all()))
""",
        """
class Noisy(nnx.Module):
    def __init__(self, scale, rngs):
        self.scale = scale
        self.rngs = rngs

    def __call__(self, x):
        return x + self.scale * jax.random.normal(self.rngs.noise(), x.shape)

noisy = Noisy(0.1, nnx.Rngs(noise=0))
print(bool((noisy(x) == noisy(x)).all()))
""",
    ),
    "a replay buffer that is written to in place": Pair(
        "NNX840",
        """
class Buffer:
    def __init__(self, size):
        self.items = jnp.zeros((size, 2))
        self.place = 0

    def add(self, item):
        self.items[self.place] = item
        self.place += 1

buffer = Buffer(4)
buffer.add(jnp.ones(2))
print(buffer.items.sum())
""",
        """
class Buffer:
    def __init__(self, size):
        self.items = jnp.zeros((size, 2))
        self.place = 0

    def add(self, item):
        self.items = self.items.at[self.place].set(item)
        self.place += 1

buffer = Buffer(4)
buffer.add(jnp.ones(2))
print(buffer.items.sum())
""",
    ),
    "counts raised in a loop of a scanned step": Pair(
        "NNX840",
        """
def step(counts, index):
    counts[index] += 1
    return counts, index

print(jax.lax.scan(step, jnp.zeros(3), jnp.array([0, 0, 2]))[0])
""",
        """
def step(counts, index):
    return counts.at[index].add(1), index

print(jax.lax.scan(step, jnp.zeros(3), jnp.array([0, 0, 2]))[0])
""",
    ),
    "a cache that is filled by a helper": Pair(
        "NNX841",
        """
def write(cache, value, place):
    cache["keys"].at[place].set(value)
    return cache

print(write({"keys": jnp.zeros(4)}, 1.0, 2)["keys"].sum())
""",
        """
def write(cache, value, place):
    return {**cache, "keys": cache["keys"].at[place].set(value)}

print(write({"keys": jnp.zeros(4)}, 1.0, 2)["keys"].sum())
""",
    ),
    "clipped gradients that nobody takes": Pair(
        "NNX842",
        """
def train(model, x, y):
    grads = nnx.grad(lambda m: 100 * ((m(x) - y) ** 2).mean())(model)
    jax.tree.map(lambda g: jnp.clip(g, -0.01, 0.01), grads)
    return total(grads)

print(train(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, y))
""",
        """
def train(model, x, y):
    grads = nnx.grad(lambda m: 100 * ((m(x) - y) ** 2).mean())(model)
    grads = jax.tree.map(lambda g: jnp.clip(g, -0.01, 0.01), grads)
    return total(grads)

print(train(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, y))
""",
    ),
    "parameters that optax leaves as they are": Pair(
        "NNX842",
        """
params = {"w": jnp.ones(2)}
tx = optax.sgd(0.1)
state = tx.init(params)
for _ in range(2):
    grads = jax.grad(lambda p: (p["w"] ** 2).sum())(params)
    updates, state = tx.update(grads, state, params)
    optax.apply_updates(params, updates)
print(params["w"])
""",
        """
params = {"w": jnp.ones(2)}
tx = optax.sgd(0.1)
state = tx.init(params)
for _ in range(2):
    grads = jax.grad(lambda p: (p["w"] ** 2).sum())(params)
    updates, state = tx.update(grads, state, params)
    params = optax.apply_updates(params, updates)
print(params["w"])
""",
    ),
    "a step of one's own whose result is thrown away": Pair(
        "NNX842",
        """
@jax.jit
def sgd(params, grads):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

params = {"w": jnp.ones(2)}
for _ in range(2):
    grads = jax.grad(lambda p: (p["w"] ** 2).sum())(params)
    sgd(params, grads)
print(params["w"])
""",
        """
@jax.jit
def sgd(params, grads):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

params = {"w": jnp.ones(2)}
for _ in range(2):
    grads = jax.grad(lambda p: (p["w"] ** 2).sum())(params)
    params = sgd(params, grads)
print(params["w"])
""",
    ),
    "a list of losses under jnp": Pair(
        "NNX844",
        """
parts = [jnp.ones(2), jnp.zeros(2)]
print(jnp.mean(parts))
""",
        """
parts = [jnp.ones(2), jnp.zeros(2)]
print(jnp.mean(jnp.stack(parts)))
""",
    ),
    "one class too many": Pair(
        "NNX847",
        """
table = jnp.arange(10)

def last(values):
    return values[10]

print(last(table), table[10])
""",
        """
table = jnp.arange(10)

def last(values):
    return values[-2]

print(last(table), table[8])
""",
    ),
    "aux without has_aux, by a decorator": Pair(
        "NNX850",
        """
@nnx.value_and_grad
def loss_fn(model, x, y):
    logits = model(x)
    return ((logits - y) ** 2).mean(), logits

(loss, logits), grads = loss_fn(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, y)
print(logits.shape)
""",
        """
@functools.partial(nnx.value_and_grad, has_aux=True)
def loss_fn(model, x, y):
    logits = model(x)
    return ((logits - y) ** 2).mean(), logits

(loss, logits), grads = loss_fn(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x, y)
print(logits.shape)
""",
    ),
    "a loss for each example": Pair(
        "NNX853",
        """
def loss_fn(model, x, labels):
    logits = model(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
loss, grads = nnx.value_and_grad(loss_fn)(model, x, labels)
print(loss.shape)
""",
        """
def loss_fn(model, x, labels):
    logits = model(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
loss, grads = nnx.value_and_grad(loss_fn)(model, x, labels)
print(loss.shape)
""",
    ),
    "the gradient with respect to the batch": Pair(
        "NNX852",
        """
def loss_fn(batch, model):
    return (model(batch) ** 2).mean()

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
grads = nnx.grad(loss_fn)(x, model)
optimizer.update(model, grads)
print(total(model))
""",
        """
def loss_fn(batch, model):
    return (model(batch) ** 2).mean()

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
grads = nnx.grad(loss_fn, argnums=1)(x, model)
optimizer.update(model, grads)
print(total(model))
""",
    ),
    "parameters donated by name and compared": Pair(
        "NNX856",
        """
@functools.partial(jax.jit, donate_argnames=("params",))
def step(params, grads):
    return jax.tree.map(lambda p, g: p - g, params, grads)

params = {"w": jnp.ones(3)}
moved = step(params, {"w": jnp.ones(3)})
change = jax.tree.map(lambda a, b: jnp.abs(a - b).max(), moved, params)
print(change["w"])
""",
        """
@functools.partial(jax.jit, donate_argnames=("params",))
def step(params, grads):
    return jax.tree.map(lambda p, g: p - g, params, grads)

params = {"w": jnp.ones(3)}
before = jax.tree.map(jnp.copy, params)
moved = step(params, {"w": jnp.ones(3)})
change = jax.tree.map(lambda a, b: jnp.abs(a - b).max(), moved, before)
print(change["w"])
""",
    ),
    "a mean over an axis of another name": Pair(
        "NNX863",
        """
def normalise(row):
    return row - jax.lax.pmean(row, "batch")

print(jax.vmap(normalise, axis_name="data")(jnp.arange(4.0)))
""",
        """
def normalise(row):
    return row - jax.lax.pmean(row, "batch")

print(jax.vmap(normalise, axis_name="batch")(jnp.arange(4.0)))
""",
    ),
    "a scan that gives three things": Pair(
        "NNX864",
        """
def cell(hidden, step):
    hidden = jnp.tanh(hidden + step)
    return hidden, hidden.sum(), step

print(jax.lax.scan(cell, jnp.zeros(2), x[:, :2])[0].shape)
""",
        """
def cell(hidden, step):
    hidden = jnp.tanh(hidden + step)
    return hidden, (hidden.sum(), step)

print(jax.lax.scan(cell, jnp.zeros(2), x[:, :2])[0].shape)
""",
    ),
    "a hidden state that becomes wider": Pair(
        "NNX865",
        """
def cell(hidden, step):
    hidden = jnp.concatenate([hidden, step])
    return hidden, hidden.sum()

print(jax.lax.scan(cell, jnp.zeros(2), x[:, :2])[1].shape)
""",
        """
def cell(hidden, step):
    hidden = jnp.concatenate([hidden[:0], step])
    return hidden, hidden.sum()

print(jax.lax.scan(cell, jnp.zeros(2), x[:, :2])[1].shape)
""",
    ),
    "a loop condition with two parameters": Pair(
        "NNX866",
        """
def go_on(i, value):
    return value < 10

def double(i, value):
    return i + 1, value * 2

print(jax.lax.while_loop(go_on, double, (0, 1))[1])
""",
        """
def go_on(state):
    return state[1] < 10

def double(state):
    i, value = state
    return i + 1, value * 2

print(jax.lax.while_loop(go_on, double, (0, 1))[1])
""",
    ),
    "branches of different types": Pair(
        "NNX865",
        """
@jax.jit
def reward(done, value):
    return jax.lax.cond(done, lambda v: 0, lambda v: v * 0.5, value)

print(reward(jnp.array(True), 1.0))
""",
        """
@jax.jit
def reward(done, value):
    return jax.lax.cond(done, lambda v: 0.0, lambda v: v * 0.5, value)

print(reward(jnp.array(True), 1.0))
""",
    ),
    "a number among batched arguments": Pair(
        "NNX867",
        """
def scaled(row, factor):
    return row.sum() * factor

print(jax.vmap(scaled)(x, 2.0))
""",
        """
def scaled(row, factor):
    return row.sum() * factor

print(jax.vmap(scaled, in_axes=(0, None))(x, 2.0))
""",
    ),
    "a classifier that ends in softmax": Pair(
        "NNX869",
        """
class Classifier(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(4, 8, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        hidden = jax.nn.relu(self.body(x))
        scores = self.head(hidden)
        return nnx.softmax(scores, axis=-1)

def loss_fn(model, batch):
    predictions = model(batch["x"])
    losses = optax.softmax_cross_entropy_with_integer_labels(logits=predictions, labels=batch["y"])
    return losses.mean()

print(f"{float(loss_fn(Classifier(nnx.Rngs(0)), {'x': x, 'y': labels})):.4f}")
""",
        """
class Classifier(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(4, 8, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        hidden = jax.nn.relu(self.body(x))
        return self.head(hidden)

def loss_fn(model, batch):
    predictions = model(batch["x"])
    losses = optax.softmax_cross_entropy_with_integer_labels(logits=predictions, labels=batch["y"])
    return losses.mean()

print(f"{float(loss_fn(Classifier(nnx.Rngs(0)), {'x': x, 'y': labels})):.4f}")
""",
    ),
    "a power behind where": Pair(
        "NNX870",
        """
def length(v):
    squared = (v ** 2).sum()
    return jnp.where(squared > 0, squared ** 0.5, 0.0)

print(jax.grad(length)(jnp.zeros(3)))
""",
        """
def length(v):
    squared = (v ** 2).sum()
    safe = jnp.where(squared > 0, squared, 1.0)
    return jnp.where(squared > 0, safe ** 0.5, 0.0)

print(jax.grad(length)(jnp.zeros(3)))
""",
    ),
    "a temperature of self that a compiled method keeps": Pair(
        "NNX807",
        """
class Policy:
    def __init__(self):
        self.temperature = 1.0

    @functools.partial(jax.jit, static_argnums=0)
    def act(self, logits):
        return logits / self.temperature

    def anneal(self):
        self.temperature *= 0.5

policy = Policy()
policy.act(jnp.ones(2))
policy.anneal()
print(policy.act(jnp.ones(2)))
""",
        """
class Policy:
    def __init__(self):
        self.temperature = 1.0

    @functools.partial(jax.jit, static_argnums=0)
    def act(self, logits, temperature):
        return logits / temperature

    def anneal(self):
        self.temperature *= 0.5

policy = Policy()
policy.act(jnp.ones(2), policy.temperature)
policy.anneal()
print(policy.act(jnp.ones(2), policy.temperature))
""",
    ),
    "a default list that compiled code fills": Pair(
        "NNX805",
        """
@jax.jit
def forward(x, trace=[]):
    hidden = jnp.tanh(x)
    trace.append(hidden)
    return sum(trace)

print(forward(jnp.ones(2)))
print(forward(jnp.ones(3)[:1]))
""",
        """
@jax.jit
def forward(x):
    trace = []
    hidden = jnp.tanh(x)
    trace.append(hidden)
    return sum(trace)

print(forward(jnp.ones(2)))
print(forward(jnp.ones(3)[:1]))
""",
    ),
    "activations kept in a dict of the module": Pair(
        "NNX808",
        """
class Probe(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(4, 2, rngs=rngs)
        self.seen = 0

    def __call__(self, x):
        self.seen = jnp.abs(x).max()
        return self.linear(x)

@jax.jit
def forward(graphdef, state, x):
    return nnx.merge(graphdef, state)(x)

probe = Probe(nnx.Rngs(0))
graphdef, state = nnx.split(probe)
forward(graphdef, state, x)
print(float(probe.seen))
""",
        """
class Probe(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.linear(x), jnp.abs(x).max()

@jax.jit
def forward(graphdef, state, x):
    return nnx.merge(graphdef, state)(x)

probe = Probe(nnx.Rngs(0))
graphdef, state = nnx.split(probe)
print(float(forward(graphdef, state, x)[1]))
""",
    ),
    "a model of self in a nested step": Pair(
        "NNX801",
        """
class Trainer:
    def __init__(self):
        self.model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))

    def fit(self, x, y):
        optimizer = nnx.Optimizer(self.model, optax.sgd(0.1), wrt=nnx.Param)

        @nnx.jit
        def step(x, y):
            loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(self.model)
            optimizer.update(self.model, grads)
            return loss

        for _ in range(2):
            loss = step(x, y)
        return loss

print(f"{float(Trainer().fit(x, y)):.4f}")
""",
        """
class Trainer:
    def __init__(self):
        self.model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))

    def fit(self, x, y):
        optimizer = nnx.Optimizer(self.model, optax.sgd(0.1), wrt=nnx.Param)

        @nnx.jit
        def step(model, optimizer, x, y):
            loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
            optimizer.update(model, grads)
            return loss

        for _ in range(2):
            loss = step(self.model, optimizer, x, y)
        return loss

print(f"{float(Trainer().fit(x, y)):.4f}")
""",
    ),
    "a history of states that all are the last": Pair(
        "NNX818",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
best, best_loss = None, float("inf")
for _ in range(3):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    if loss < best_loss:
        best, best_loss = nnx.state(model, nnx.Param), loss
    optimizer.update(model, grads)
print(total(best) == total(model))
""",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
best, best_loss = None, float("inf")
for _ in range(3):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    if loss < best_loss:
        best, best_loss = jax.tree.map(jnp.copy, nnx.state(model, nnx.Param)), loss
    optimizer.update(model, grads)
print(total(best) == total(model))
""",
        since="0.12",
    ),
    "a state that a function gives under a name of its callers": Pair(
        "NNX818",
        """
def weights_of(module):
    return nnx.state(module, nnx.Param)

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
saved = weights_of(model)
for _ in range(3):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
print(total(saved) == total(model))
""",
        """
def weights_of(module):
    return nnx.state(module, nnx.Param)

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
saved = jax.tree.map(jnp.copy, weights_of(model))
for _ in range(3):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
print(total(saved) == total(model))
""",
        since="0.12",
    ),
    "the best weights by a method": Pair(
        "NNX818",
        """
class Fit:
    def __init__(self):
        self.model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
        self.optimizer = nnx.Optimizer(self.model, optax.sgd(0.1), wrt=nnx.Param)

    def weights(self):
        state = nnx.state(self.model)
        return state

    def run(self):
        best_state, best_loss = None, float("inf")
        for _ in range(3):
            loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(self.model)
            if loss < best_loss:
                best_loss, best_state = loss, self.weights()
            self.optimizer.update(self.model, grads)
        print(total(best_state) == total(self.model))

Fit().run()
""",
        """
class Fit:
    def __init__(self):
        self.model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
        self.optimizer = nnx.Optimizer(self.model, optax.sgd(0.1), wrt=nnx.Param)

    def weights(self):
        state = nnx.state(self.model)
        return jax.tree.map(jnp.copy, state)

    def run(self):
        best_state, best_loss = None, float("inf")
        for _ in range(3):
            loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(self.model)
            if loss < best_loss:
                best_loss, best_state = loss, self.weights()
            self.optimizer.update(self.model, grads)
        print(total(best_state) == total(self.model))

Fit().run()
""",
        since="0.12",
    ),
    "the best weights in a dict": Pair(
        "NNX818",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
best = {"loss": float("inf"), "weights": None}
for _ in range(3):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    if loss < best["loss"]:
        best = {"loss": loss, "weights": nnx.state(model)}
    optimizer.update(model, grads)
print(total(best["weights"]) == total(model))
""",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
best = {"loss": float("inf"), "weights": None}
for _ in range(3):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    if loss < best["loss"]:
        best = {"loss": loss, "weights": nnx.clone(nnx.state(model))}
    optimizer.update(model, grads)
print(total(best["weights"]) == total(model))
""",
        since="0.12",
    ),
    "weights by a lambda that are put back": Pair(
        "NNX818",
        """
take = lambda module: nnx.state(module, nnx.Param)
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
weights = take(model)
for _ in range(3):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
trained = total(model)
nnx.update(model, weights)
print(trained == total(model))
""",
        """
take = lambda module: nnx.clone(nnx.state(module, nnx.Param))
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
weights = take(model)
for _ in range(3):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
trained = total(model)
nnx.update(model, weights)
print(trained == total(model))
""",
        since="0.12",
    ),
    "blocks in a plain dict": Pair(
        "NNX601",
        """
class Towers(nnx.Module):
    def __init__(self, names, rngs):
        self.towers = {name: nnx.Linear(4, 2, rngs=rngs) for name in names}

    def __call__(self, x):
        return sum(tower(x) for tower in self.towers.values())

print(Towers(["a", "b"], nnx.Rngs(0))(x).shape)
""",
        """
class Towers(nnx.Module):
    def __init__(self, names, rngs):
        self.towers = nnx.Dict({name: nnx.Linear(4, 2, rngs=rngs) for name in names})

    def __call__(self, x):
        return sum(tower(x) for tower in self.towers.values())

print(Towers(["a", "b"], nnx.Rngs(0))(x).shape)
""",
        since="0.12",
    ),
    "an update without the model": Pair(
        "NNX102",
        """
def step(state, x, y):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(state["model"])
    state["optimizer"].update(grads)
    return loss

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
step({"model": model, "optimizer": nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)}, x, y)
print(total(model))
""",
        """
def step(state, x, y):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(state["model"])
    state["optimizer"].update(state["model"], grads)
    return loss

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
step({"model": model, "optimizer": nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)}, x, y)
print(total(model))
""",
        since="0.12",
    ),
    "the gradient of a while loop": Pair(
        "NNX872",
        """
def grow(x):
    return jax.lax.while_loop(lambda v: v < 10, lambda v: v * x, x)

print(jax.grad(grow)(2.0))
""",
        """
def grow(x):
    return jax.lax.fori_loop(0, 3, lambda i, v: v * x, x)

print(jax.grad(grow)(2.0))
""",
    ),
    "a backward rule that gives one value": Pair(
        "NNX873",
        """
@jax.custom_vjp
def clip_gradient(x):
    return x

def forward(x):
    return x, None

def backward(_, gradient):
    return jnp.clip(gradient, -1.0, 1.0)

clip_gradient.defvjp(forward, backward)
print(jax.grad(lambda v: (clip_gradient(v) * 5).sum())(jnp.ones(3)))
""",
        """
@jax.custom_vjp
def clip_gradient(x):
    return x

def forward(x):
    return x, None

def backward(_, gradient):
    return (jnp.clip(gradient, -1.0, 1.0),)

clip_gradient.defvjp(forward, backward)
print(jax.grad(lambda v: (clip_gradient(v) * 5).sum())(jnp.ones(3)))
""",
    ),
    "evaluation without its switch": Pair(
        "NNX860",
        """
class Loop:
    def __init__(self, model):
        self.model = model
        self.optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)

    def evaluate(self, x):
        self.model.eval()
        return self.model(x)

    def fit(self, x, y, epochs):
        for _ in range(epochs):
            grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(self.model)
            self.optimizer.update(self.model, grads)
            self.evaluate(x)

loop = Loop(Net(nnx.Rngs(0)))
loop.fit(x, y, 3)
print(f"{float(jnp.abs(loop.model.norm.mean.value).sum()):.4f}")
""",
        """
class Loop:
    def __init__(self, model):
        self.model = model
        self.optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)

    def evaluate(self, x):
        self.model.eval()
        return self.model(x)

    def fit(self, x, y, epochs):
        for _ in range(epochs):
            self.model.train()
            grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(self.model)
            self.optimizer.update(self.model, grads)
            self.evaluate(x)

loop = Loop(Net(nnx.Rngs(0)))
loop.fit(x, y, 3)
print(f"{float(jnp.abs(loop.model.norm.mean.value).sum()):.4f}")
""",
    ),
    "a step compiled for every learning rate": Pair(
        "NNX903",
        """
def sweep(x, rates):
    results = []
    for rate in rates:
        step = jax.jit(functools.partial(lambda w, rate: w - rate * w, rate=rate))
        for _ in range(3):
            x = step(x)
        results.append(x.sum())
    return results

print(len(sweep(jnp.ones(2), [0.1, 0.2])))
""",
        """
step = jax.jit(lambda w, rate: w - rate * w)

def sweep(x, rates):
    results = []
    for rate in rates:
        for _ in range(3):
            x = step(x, rate)
        results.append(x.sum())
    return results

print(len(sweep(jnp.ones(2), [0.1, 0.2])))
""",
        slow=True,
        missed=True,
    ),
    "the time of a dispatch": Pair(
        "NNX907",
        """
def measure(f, *args):
    f(*args)
    begin = time.perf_counter()
    for _ in range(3):
        out = f(*args)
    return out, (time.perf_counter() - begin) / 3

product = jax.jit(lambda a: a @ a.T)
out, seconds = measure(product, x)
print(out.shape, seconds > 0)
""",
        """
def measure(f, *args):
    f(*args)
    begin = time.perf_counter()
    for _ in range(3):
        out = jax.block_until_ready(f(*args))
    return out, (time.perf_counter() - begin) / 3

product = jax.jit(lambda a: a @ a.T)
out, seconds = measure(product, x)
print(out.shape, seconds > 0)
""",
        slow=True,
    ),
    "an epoch as a static argument": Pair(
        "NNX908",
        """
@functools.partial(jax.jit, static_argnames="epoch")
def decay(rate, epoch):
    return rate * 0.9 ** epoch

rate = jnp.array(1.0)
for epoch in range(12):
    rate = decay(rate, epoch=epoch)
print(f"{float(rate):.4f}")
""",
        """
@jax.jit
def decay(rate, epoch):
    return rate * 0.9 ** epoch

rate = jnp.array(1.0)
for epoch in range(12):
    rate = decay(rate, epoch=epoch)
print(f"{float(rate):.4f}")
""",
        slow=True,
    ),
}
