"""Formulas of papers and libraries with one mistake in each: ratios, noise, derivatives, paddings, blocks, caches."""

from __future__ import annotations

from tests.lint.programs.lined import lined

_CLIPPED = """
class Policy(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(4, 3, rngs=rngs)

    def log_prob(self, obs, actions):
        return jnp.take_along_axis(nnx.log_softmax(self.head(obs)), actions[:, None], axis=1)[:, 0]

def loss_fn(policy, batch):
    new = policy.log_prob(batch["obs"], batch["actions"])
-|    old = jax.lax.stop_gradient(policy.log_prob(batch["obs"], batch["actions"]))
+|    old = batch["old"]
    ratio = jnp.exp(new - old)
    share = jnp.mean(jnp.abs(ratio - 1.0) > 0.1)
    return -jnp.minimum(ratio * batch["adv"], jnp.clip(ratio, 0.9, 1.1) * batch["adv"]).mean(), share

policy = Policy(nnx.Rngs(0))
optimizer = nnx.Optimizer(policy, optax.sgd(1.0), wrt=nnx.Param)
batch = {"obs": x, "actions": labels, "adv": jnp.linspace(-1.0, 1.0, 8)}
batch["old"] = policy.log_prob(x, labels)
for _ in range(10):
    (_, share), grads = nnx.value_and_grad(loss_fn, has_aux=True)(policy, batch)
    optimizer.update(policy, grads)
print(round(float(share), 3))
"""

_LAPLACIAN = """
def u(point):
    return point[0] ** 2 * point[1] + point[1] ** 3

class Poisson:
    def __init__(self, field):
        self.field = field

    def laplacian(self, point):
        second = jax.jacfwd(jax.grad(self.field))(point)
-|        return second.sum()
+|        return jnp.trace(second)

print(jax.vmap(Poisson(u).laplacian)(x[:, :2]))
"""

_NOISED = """
class Diffusion:
    def __init__(self, steps):
        bars = jnp.cumprod(1.0 - jnp.linspace(1e-3, 0.1, steps))
        self.tables = {"signal": jnp.sqrt(bars), "bars": bars}

    def noised(self, v, t, noise):
        signal = self.tables["signal"][t][:, None]
-|        share = 1.0 - self.tables["bars"][t][:, None]
+|        share = jnp.sqrt(1.0 - self.tables["bars"][t][:, None])
        return signal * v + share * noise

noise = jax.random.normal(jax.random.key(0), (8, 4))
print(Diffusion(10).noised(x, jnp.arange(8), noise).std())
"""

_PADDED = """
def beyond(lengths, longest):
    places = jnp.arange(longest)
-|    return jnp.where(places[None] < lengths[:, None], 1.0, 0.0)
+|    return jnp.where(places[None] < lengths[:, None], 0.0, 1.0)

def loss_fn(logits, frames, labels, chars):
    paddings = {"logit_paddings": beyond(frames, 12), "label_paddings": beyond(chars, 4)}
    return optax.ctc_loss(
        logits, paddings["logit_paddings"], labels, label_paddings=paddings["label_paddings"]
    ).mean()

logits = jax.random.normal(jax.random.key(0), (2, 12, 5))
print(loss_fn(logits, jnp.array([12, 9]), jnp.array([[1, 2, 3, 0], [2, 1, 0, 0]]), jnp.array([3, 2])))
"""

_NOISY_SHARDS = """
from jax.sharding import PartitionSpec as P

mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))

def noise_like(key, h):
    return 0.1 * jax.random.normal(key, h.shape)

def features(w, batch, state):
    h = nnx.relu(batch["x"] @ w)
-|    key = jax.random.fold_in(state["key"], state["step"])
+|    key = jax.random.fold_in(jax.random.fold_in(state["key"], state["step"]), jax.lax.axis_index("data"))
    return h + noise_like(key, h)

sharded = jax.jit(jax.shard_map(features, mesh=mesh, in_specs=(P(), P("data"), P()), out_specs=P("data")))
print(sharded(jnp.ones((4, 2)), {"x": x}, {"key": jax.random.key(0), "step": 3}).sum())
"""

_CACHE = """
from typing import NamedTuple

class Cache(NamedTuple):
    keys: jax.Array
    values: jax.Array

traces = []

def written(cache, k, v, place):
-|    return Cache(jnp.concatenate([cache.keys, k[None]]), jnp.concatenate([cache.values, v[None]]))
+|    return Cache(cache.keys.at[place].set(k), cache.values.at[place].set(v))

@jax.jit
def decode(cache, token, place):
    traces.append(0)
    cache = written(cache, token, 2.0 * token, place)
    scores = jnp.where(jnp.arange(cache.keys.shape[0]) <= place, cache.keys @ token, -jnp.inf)
    return cache, nnx.softmax(scores) @ cache.values

def generate(token, length):
-|    cache = Cache(jnp.zeros((0, 4)), jnp.zeros((0, 4)))
+|    cache = Cache(jnp.zeros((length, 4)), jnp.zeros((length, 4)))
    for place in range(length):
        cache, token = decode(cache, token, place)
    return token

generate(x[0], 6)
print(len(traces))
"""

_LAYERED_CACHE = """
traces = []

@jax.jit
def decode(weights, caches, token):
    traces.append(0)
    grown = []
    for w, cache in zip(weights, caches):
-|        k = jnp.concatenate([cache["k"], (token @ w)[None]])
+|        k = jnp.concatenate([cache["k"][1:], (token @ w)[None]])
        token = nnx.softmax(k @ token) @ k
        grown.append({"k": k})
    return token, grown

token, caches = x[0], [{"k": jnp.zeros((4, 4))} for _ in range(2)]
for _ in range(5):
    token, caches = decode([jnp.eye(4), jnp.eye(4)], caches, token)
print(len(traces))
"""

_BLOCKS = """
def cdiv(a, b):
    return -(-a // b)

class Blocks:
    def __init__(self, size):
        self.size = size

    def energy(self, signal, i):
        block = jax.lax.dynamic_slice(signal, (i * self.size,), (self.size,))
        return jnp.sum(block**2)

    def energies(self, signal):
        count = cdiv(signal.shape[0], self.size)
+|        signal = jnp.pad(signal, (0, count * self.size - signal.shape[0]))
        return jax.lax.map(lambda i: self.energy(signal, i), jnp.arange(count))

print(Blocks(3).energies(jnp.arange(8.0)).sum())
"""

_MICRO = """
EPOCHS, MICRO, EVERY = 4, 2, 2

def make_optimizer(steps_per_epoch):
-|    total = EPOCHS * steps_per_epoch
+|    total = EPOCHS * steps_per_epoch // EVERY
    schedule = optax.cosine_decay_schedule(0.1, decay_steps=total)
    return optax.MultiSteps(optax.sgd(schedule), every_k_schedule=EVERY), schedule

def parts(data, size):
    order = np.arange(len(data))
    for i in range(0, len(data), size):
        yield data[order[i : i + size]]

steps_per_epoch = len(x) // MICRO
tx, schedule = make_optimizer(steps_per_epoch)
params = jnp.ones(4)
state = tx.init(params)
for _ in range(EPOCHS):
    for part in parts(x, MICRO):
        updates, state = tx.update(part.mean(0), state, params)
        params = optax.apply_updates(params, updates)
print(float(schedule(state.gradient_step)))
"""

_TIMED = """
@jax.jit
def work(v):
    return jnp.tanh(v @ v.T)

def speed(v):
    jax.block_until_ready(work(v))
    start = time.perf_counter()
    out = work(v)
-|    end = time.perf_counter()
    out.block_until_ready()
+|    end = time.perf_counter()
    return v.size / (end - start)

print(speed(x) > 0)
"""

PAIRS = {
    "old probabilities of the policy that is trained": lined("NNX779", _CLIPPED),
    "Laplacian as the sum of the Hessian": lined("NNX791", _LAPLACIAN),
    "noise by its share of the variance": lined("NNX790", _NOISED),
    "mask for the paddings of a CTC loss": lined("NNX782", _PADDED),
    "noise of one key on all shards": lined("NNX783", _NOISY_SHARDS),
    "cache that the compiled step makes longer": lined("NNX919", _CACHE, slow=True),
    "caches of layers that the compiled step makes longer": lined("NNX919", _LAYERED_CACHE, slow=True),
    "last block of a signal that is not padded": lined("NNX847", _BLOCKS),
    "schedule in small batches, given by a generator": lined("NNX766", _MICRO),
    "clock that is read before the wait": lined("NNX792", _TIMED, slow=True),
}
