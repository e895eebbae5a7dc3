"""What people ask about in public issues and on question sites, each with where it is asked."""

from __future__ import annotations

from tests.lint.programs import Pair

PAIRS = {
    # jax issue 9635
    "one buffer twice, once donated": Pair(
        "NNX856",
        """
@functools.partial(jax.jit, donate_argnums=(0,))
def add(a, b):
    return a + b

v = jnp.zeros(10)
print(add(v, v).sum())
""",
        """
@functools.partial(jax.jit, donate_argnums=(0,))
def add(a, b):
    return a + b

v = jnp.zeros(10)
print(add(jnp.copy(v), v).sum())
""",
    ),
    # jax issue 7708
    "one key for a whole batch": Pair(
        "NNX836",
        """
def loss(key, params, x):
    noise = jax.random.normal(key, x.shape)
    return ((x + noise) @ params).sum()

losses = jax.vmap(loss, in_axes=(None, None, 0))(jax.random.key(0), jnp.ones(4), jnp.zeros((3, 4)))
print(bool((losses[0] == losses[1]).all()))
""",
        """
def loss(key, params, x):
    noise = jax.random.normal(key, x.shape)
    return ((x + noise) @ params).sum()

keys = jax.random.split(jax.random.key(0), 3)
losses = jax.vmap(loss, in_axes=(0, None, 0))(keys, jnp.ones(4), jnp.zeros((3, 4)))
print(bool((losses[0] == losses[1]).all()))
""",
    ),
    # flax issue 4195
    "one dropout mask for a whole batch": Pair(
        "NNX836",
        """
class Masked(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.drop(x)

def inference(model, x):
    return model(x)

out = nnx.vmap(inference, in_axes=(None, 0))(Masked(nnx.Rngs(0)), jnp.ones((3, 16)))
print(bool((out[0] == out[1]).all()))
""",
        """
class Masked(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.drop(x)

axes = nnx.StateAxes({nnx.RngState: 0, ...: None})

@nnx.split_rngs(splits=3)
@nnx.vmap(in_axes=(axes, 0))
def inference(model, x):
    return model(x)

out = inference(Masked(nnx.Rngs(0)), jnp.ones((3, 16)))
print(bool((out[0] == out[1]).all()))
""",
    ),
    # jax pull request 181, and an issue of a collection of tutorials
    "numbers drawn from the key that is split next": Pair(
        "NNX830",
        """
key = jax.random.key(0)
seen = []
for _ in range(2):
    key, subkey = jax.random.split(key)
    seen.append(jax.random.bits(key, (4,)))
print(seen[0])
""",
        """
key = jax.random.key(0)
seen = []
for _ in range(2):
    key, subkey = jax.random.split(key)
    seen.append(jax.random.bits(subkey, (4,)))
print(seen[0])
""",
    ),
    # jax issue 2097
    "updates that nobody applies": Pair(
        "NNX871",
        """
tx = optax.adam(0.1)

@jax.jit
def step(params, opt_state, x):
    grads = jax.grad(lambda p: ((x @ p) ** 2).mean())(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return params, opt_state

params = jnp.ones((4, 2))
opt_state = tx.init(params)
for _ in range(3):
    params, opt_state = step(params, opt_state, x)
print(total(params))
""",
        """
tx = optax.adam(0.1)

@jax.jit
def step(params, opt_state, x):
    grads = jax.grad(lambda p: ((x @ p) ** 2).mean())(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state

params = jnp.ones((4, 2))
opt_state = tx.init(params)
for _ in range(3):
    params, opt_state = step(params, opt_state, x)
print(total(params))
""",
    ),
    # the same, with the state
    "moments that start anew in every step": Pair(
        "NNX871",
        """
class Trainer:
    def __init__(self):
        self.tx = optax.adam(0.1)

    def fit(self, params, batches):
        opt_state = self.tx.init(params)
        for x in batches:
            grads = jax.grad(lambda p: ((x @ p) ** 2).mean())(params)
            updates, _ = self.tx.update(grads, opt_state, params)
            params = optax.apply_updates(params, updates)
        return params

print(total(Trainer().fit(jnp.linspace(0.0, 1.0, 8).reshape(4, 2), [x, x, x])))
""",
        """
class Trainer:
    def __init__(self):
        self.tx = optax.adam(0.1)

    def fit(self, params, batches):
        opt_state = self.tx.init(params)
        for x in batches:
            grads = jax.grad(lambda p: ((x @ p) ** 2).mean())(params)
            updates, opt_state = self.tx.update(grads, opt_state, params)
            params = optax.apply_updates(params, updates)
        return params

print(total(Trainer().fit(jnp.linspace(0.0, 1.0, 8).reshape(4, 2), [x, x, x])))
""",
    ),
    # jax issues 347, 1052 and 5798
    "a logarithm that shall not see zero": Pair(
        "NNX870",
        """
def entropy(p):
    return -jnp.sum(jnp.where(p > 0, p * jnp.log(p), 0.0))

print(jax.grad(entropy)(jnp.array([0.0, 0.5, 0.5])))
""",
        """
def entropy(p):
    safe = jnp.where(p > 0, p, 1.0)
    return -jnp.sum(jnp.where(p > 0, p * jnp.log(safe), 0.0))

print(jax.grad(entropy)(jnp.array([0.0, 0.5, 0.5])))
""",
    ),
    # jax issues 17747 and 7465
    "an argument by name under vmap": Pair(
        "NNX867",
        """
def score(w, v, scale):
    return (w * v).sum() * scale

print(jax.vmap(score, in_axes=(None, 0, None))(jnp.ones(4), x, scale=2.0))
""",
        """
def score(w, v, scale):
    return (w * v).sum() * scale

print(jax.vmap(score, in_axes=(None, 0, None))(jnp.ones(4), x, 2.0))
""",
    ),
    # jax issues 3701, 2813 and 883
    "a configuration that has no hash": Pair(
        "NNX826",
        """
import dataclasses

@dataclasses.dataclass
class Config:
    scale: float = 2.0

@functools.partial(jax.jit, static_argnames="config")
def apply(x, config):
    return x * config.scale

print(apply(x, config=Config()).sum())
""",
        """
import dataclasses

@dataclasses.dataclass(frozen=True)
class Config:
    scale: float = 2.0

@functools.partial(jax.jit, static_argnames="config")
def apply(x, config):
    return x * config.scale

print(apply(x, config=Config()).sum())
""",
    ),
    # jax issue 4312
    "a global key split in compiled code": Pair(
        "NNX804",
        """
key = jax.random.PRNGKey(0)

@jax.jit
def init():
    global key
    key, subkey = jax.random.split(key)
    return jax.random.normal(subkey, ())

print(bool(init() == init()))
""",
        """
@jax.jit
def init(key):
    key, subkey = jax.random.split(key)
    return jax.random.normal(subkey, ()), key

key = jax.random.PRNGKey(0)
a, key = init(key)
b, key = init(key)
print(bool(a == b))
""",
    ),
    # jax issues 2663 and 424
    "the derivative at an integer": Pair(
        "NNX851",
        """
def square(v):
    return v**2

print(jax.grad(square)(3))
""",
        """
def square(v):
    return v**2

print(jax.grad(square)(3.0))
""",
    ),
    # jax pull request 5492 on leaked tracers
    "a loss collected inside of jit": Pair(
        "NNX805",
        """
losses = []

@jax.jit
def step(p, x):
    loss = ((x @ p) ** 2).mean()
    losses.append(loss)
    return p - 0.1 * loss

p = jnp.ones((4, 2))
for _ in range(3):
    p = step(p, x)
print(len(losses))
""",
        """
losses = []

@jax.jit
def step(p, x):
    loss = ((x @ p) ** 2).mean()
    return p - 0.1 * loss, loss

p = jnp.ones((4, 2))
for _ in range(3):
    p, loss = step(p, x)
    losses.append(loss)
print(len(losses))
""",
    ),
    # jax pull request 15178, and Mava issue 1184
    "a carry that gains a part": Pair(
        "NNX865",
        """
def step(carry, v):
    return {"sum": carry["sum"] + v, "last": v}, None

print(jax.lax.scan(step, {"sum": jnp.zeros(4)}, x)[0]["sum"])
""",
        """
def step(carry, v):
    return {"sum": carry["sum"] + v, "last": v}, None

print(jax.lax.scan(step, {"sum": jnp.zeros(4), "last": jnp.zeros(4)}, x)[0]["sum"])
""",
    ),
    # jax issue 648
    "a number of samples that is traced": Pair(
        "NNX823",
        """
@jax.jit
def sample(key, n):
    return jax.random.normal(key, (n,))

print(sample(jax.random.key(0), 3))
""",
        """
@functools.partial(jax.jit, static_argnums=1)
def sample(key, n):
    return jax.random.normal(key, (n,))

print(sample(jax.random.key(0), 3))
""",
    ),
}
