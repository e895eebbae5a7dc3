"""Cases of rules about decoders with a cache, graphs, particles, samplers of diffusions, and files with numbers."""

from __future__ import annotations

from tests.lint.tables import Cases

_CACHED = """\
def attend(q, k, v):
    n, m = q.shape[0], k.shape[0]
    seen = jnp.tril(jnp.ones((n, m)))
    return jax.nn.softmax(jnp.where(seen, q @ k.T, -1e9), -1) @ v
"""
_SCHEDULE = """\
betas = jnp.linspace(1e-3, 0.1, 6)
alphas = 1.0 - betas
shares = jnp.cumprod(alphas)
"""
_BATCH = """\
def loss_fn(w, part):
    return jnp.mean((part @ w) ** 2)
parts = jnp.arange(12.0).reshape(2, 2, 3)
"""

CASES = {
    "NNX683": Cases(
        bad=(
            """\
def attend(q, k, v, cache):
    if cache is not None:
        k = jnp.concatenate([cache[0], k], axis=1)
        v = jnp.concatenate([cache[1], v], axis=1)
    batch, n, _ = q.shape
    m = k.shape[1]
    mask = jnp.tril(jnp.ones((n, m), dtype=bool))  # NNX683
    return jax.nn.softmax(jnp.where(mask, jnp.einsum("bqd,bkd->bqk", q, k), -1e9)) @ v
""",
            """\
def scores(q, k):
    n, m = q.shape[0], k.shape[0]
    later = jnp.arange(n)[:, None] >= jnp.arange(m)[None, :]  # NNX683
    return jnp.where(later, q @ k.T, -1e9)
def step(q, k, past):
    keys = jnp.append(past, k, axis=0)
    return scores(q, keys), keys
""",
            """\
def scores(q, k):
    later = jnp.arange(k.shape[0])[None] <= jnp.arange(q.shape[0])[:, None]  # NNX683
    return jnp.where(later, q @ k.T, -1e9)
class Decoder:
    def step(self, q, k):
        keys = jnp.concatenate([self.cache, k])
        return scores(q, keys)
""",
            """\
def generate(decode, prompt, cache, rounds):
    tokens, start = prompt, 0
    for _ in range(rounds):
        logits, cache = decode(tokens, cache, start)
        start += prompt.shape[1]  # NNX683
        tokens = logits[:, -1:].argmax(-1)
    return tokens
""",
            """\
def continue_(model, ids, cache):
    current = ids
    position = 0
    while_left = 4
    for _ in range(while_left):
        out = model(current, position, cache=cache)
        position += len(ids)  # NNX683
        current = out[-1:]
    return current
""",
        ),
        clean=(
            """\
def attend(q, k, v, cache):
    if cache is not None:
        k, v = jnp.concatenate([cache[0], k]), jnp.concatenate([cache[1], v])
    mask = jnp.tril(jnp.ones((q.shape[0], k.shape[0]), dtype=bool), k=k.shape[0] - q.shape[0])
    return jax.nn.softmax(jnp.where(mask, q @ k.T, -1e9)) @ v
one = jnp.ones((2, 3))
assert attend(one, one, one, (jnp.ones((4, 3)), jnp.ones((4, 3)))).shape == (2, 3)
""",
            """\
def attend(q, k, v, cache=None):
    n = q.shape[0]
    mask = jnp.tril(jnp.ones((n, n)))
    out = jax.nn.softmax(jnp.where(mask, q @ k.T, -1e9)) @ v
    keys = jnp.concatenate([cache, k]) if cache is not None else k
    return out, keys
assert attend(jnp.ones((2, 3)), jnp.ones((2, 3)), jnp.ones((2, 3)))[1].shape == (2, 3)
""",
            _CACHED
            + """\
def forward(q, k, v, cache):
    return attend(q, k, v), (k, v)
assert forward(jnp.ones((2, 3)), jnp.ones((2, 3)), jnp.ones((2, 3)), None)[0].shape == (2, 3)
""",
            """\
def scores(q, k):
    n, m = q.shape[0], k.shape[0]
    return jnp.where(m - n + jnp.arange(n)[:, None] >= jnp.arange(m)[None, :], q @ k.T, -1e9)
def step(q, k, past):
    return scores(q, jnp.append(past, k, axis=0))
assert step(jnp.ones((1, 3)), jnp.ones((1, 3)), jnp.ones((2, 3))).min() > 0
""",
            """\
def generate(decode, prompt, cache, rounds):
    tokens, start = prompt, 0
    for _ in range(rounds):
        logits, cache = decode(tokens, cache, start)
        start += tokens.shape[0]
        tokens = logits[-1:].astype(int)
    return start
assert generate(lambda t, c, s: (t * 1.0, c), jnp.arange(3), None, 3) == 5
""",
            """\
def passes(read, prompt, cache, rounds):
    total, start = 0, 0
    for _ in range(rounds):
        total += read(prompt, cache, start)
        start += prompt.size
    return total
assert passes(lambda p, c, s: s, jnp.arange(3), None, 3) == 9
""",
        ),
    ),
    "NNX684": Cases(
        bad=(
            """\
import os
def save_checkpoint(folder, w, step):
    np.save(os.path.join(folder, str(step)), w)
def latest(folder):
    return max(os.listdir(folder))  # NNX684
""",
            """\
import glob
import os
def save(folder, params, step):
    np.save(os.path.join(folder, f"params_{step}.npy"), params)
def newest(folder):
    files = sorted(glob.glob(os.path.join(folder, "params_*.npy")))  # NNX684
    return np.load(files[-1])
""",
            """\
import os
import pickle
class Saver:
    def save(self, state, epoch):
        with open(f"{self.folder}/ckpt-{epoch + 1}.pkl", "wb") as file:
            pickle.dump(state, file)
    def latest(self):
        return max(name for name in os.listdir(self.folder) if name.startswith("ckpt-"))  # NNX684
""",
            """\
def save(folder, params, step):
    np.savez(folder / f"step_{step}.npz", w=params)
def latest(folder):
    return sorted(folder.glob("step_*"))[-1]  # NNX684
""",
            """\
import os
def write(folder, params, iteration):
    np.save(f"{folder}/weights{iteration}", params)
def read(folder):
    names = [name for name in os.listdir(folder) if name.endswith(".npy")]
    names.sort()  # NNX684
    return np.load(f"{folder}/{names[-1]}")
""",
            """\
def save(path, params):
    np.savez(path, *[np.asarray(leaf) for leaf in jax.tree.leaves(params)])
def load(path, like):
    with np.load(path) as data:
        leaves = [data[name] for name in sorted(data.files)]  # NNX684
    return jax.tree.unflatten(jax.tree.structure(like), leaves)
""",
            """\
def save(path, params):
    np.savez(path, **{f"leaf{i}": leaf for i, leaf in enumerate(jax.tree.leaves(params))})
def load(path, like):
    data = np.load(path)
    return jax.tree.unflatten(jax.tree.structure(like), [data[k] for k in sorted(data.keys())])  # NNX684
""",
        ),
        clean=(
            """\
import os
def save_checkpoint(folder, w, step):
    np.save(os.path.join(folder, str(step)), w)
def latest(folder):
    return max(int(name) for name in os.listdir(folder))
""",
            """\
import os
def picture(folder, index):
    return os.path.join(folder, str(index))
def last(folder):
    return max(os.listdir(folder))
""",
            """\
import glob
import os
def save(folder, params, step):
    np.save(os.path.join(folder, f"params_{step:06d}.npy"), params)
def newest(folder):
    files = sorted(glob.glob(os.path.join(folder, "params_*.npy")))
    return files[-1] if files else None
assert newest("/nowhere") is None
""",
            """\
import os
def save(folder, params, step):
    np.save(f"{folder}/ckpt_{step}", params)
def newest(folder):
    return max(os.listdir(folder), key=lambda name: int(name.partition("_")[2]))
""",
            """\
def save(path, params):
    np.savez(path, **params)
def load(path):
    with np.load(path) as data:
        return {name: data[name] for name in sorted(data.files)}
""",
            """\
def save(path, params):
    np.savez(path, *jax.tree.leaves(params))
def load(path, like):
    data = np.load(path)
    return jax.tree.unflatten(jax.tree.structure(like), [data[name] for name in data.files])
""",
            """\
import glob
def save(folder, params):
    for step in range(5):
        np.save(f"{folder}/ckpt_{step}", params)
def newest(folder):
    return sorted(glob.glob(f"{folder}/ckpt_*"))[-1:]
assert newest("/nowhere") == []
""",
            """\
import glob
def log(step, loss):
    return f"step {step}: {loss}"
def names(folder):
    return sorted(glob.glob(f"{folder}/run*.txt"))
assert names("/nowhere") == [] and log(1, 2.0)
""",
            """\
import os
def save(folder, params, step, base="ckpt_"):
    print(f"\\nsaved at step {step}")
    np.save(os.path.join(folder, f"{base}{step:07d}"), params)
def newest(folder):
    return sorted(os.listdir(folder))[-1]
""",
            """\
def figure(folder, step):
    return f"{folder}/picture_{step}.png"
def data(folder):
    found = sorted(folder.glob("*.csv"))
    return found[-1] if found else figure("a", 1)
""",
        ),
    ),
    "NNX689": Cases(
        bad=(
            """\
def layer(w, x, senders, receivers, n):
    return jax.nn.relu(jax.ops.segment_sum(x[senders] @ w, senders, n))  # NNX689
""",
            """\
def layer(w, x, edges):
    src, dst = edges[:, 0], edges[:, 1]
    messages = jnp.take(x, src, axis=0) @ w
    return jax.ops.segment_sum(messages, src, num_segments=x.shape[0])  # NNX689
""",
            """\
def layer(w, graph):
    sent = graph["nodes"][graph["senders"]]
    gates = jax.nn.sigmoid(sent @ w)
    return jax.ops.segment_sum(gates * sent, graph["senders"], 5)  # NNX689
""",
            """\
def attend(a, x, senders, receivers, n):
    e = jax.nn.leaky_relu(jnp.concatenate([x[senders], x[receivers]], -1) @ a)
    alpha = jax.nn.softmax(e, axis=0)  # NNX689
    return jax.ops.segment_sum(alpha[:, None] * x[senders], receivers, n)
""",
            """\
def attend(a, x, senders, receivers, n):
    q, k = x[receivers], x[senders]
    weights = nnx.softmax(jnp.sum(q * k, axis=-1))  # NNX689
    messages = weights[:, None] * k
    return jax.ops.segment_sum(messages, receivers, num_segments=n)
""",
        ),
        clean=(
            """\
def layer(w, x, senders, receivers, n):
    return jax.nn.relu(jax.ops.segment_sum(x[senders] @ w, receivers, n))
assert layer(jnp.eye(2), jnp.ones((3, 2)), jnp.array([0, 1]), jnp.array([1, 2]), 3).shape == (3, 2)
""",
            """\
def degrees(senders, n):
    return jax.ops.segment_sum(jnp.ones_like(senders), senders, n)
assert degrees(jnp.array([0, 0, 1]), 2).tolist() == [2, 1]
""",
            """\
def forces(x, senders, receivers, n):
    d = x[receivers] - x[senders]
    return jax.ops.segment_sum(d, senders, n)
assert forces(jnp.ones((3, 2)), jnp.array([0, 1]), jnp.array([1, 2]), 3).shape == (3, 2)
""",
            """\
def share(e, receivers, n):
    e = jnp.exp(e)
    total = jax.ops.segment_sum(e, receivers, n)
    weights = e / total[receivers]
    return jax.ops.segment_sum(weights, receivers, n)
assert jnp.allclose(share(jnp.ones(2), jnp.array([0, 0]), 1), 1.0)
""",
            """\
def share(e, receivers, n):
    e = jnp.exp(e - jax.ops.segment_max(e, receivers, n)[receivers])
    return e / jax.ops.segment_sum(e, receivers, n)[receivers]
assert jnp.allclose(share(jnp.ones(2), jnp.array([0, 0]), 1), 0.5)
""",
            """\
def typed(x, kinds, senders, receivers, n):
    gate = jax.nn.softmax(kinds, axis=-1)
    return jax.ops.segment_sum(gate * x[senders], receivers, n)
assert typed(jnp.ones((3, 2)), jnp.ones((2, 2)), jnp.array([0, 1]), jnp.array([1, 2]), 3).shape == (3, 2)
""",
            """\
def pooled(x, graph_ids, n):
    weights = jax.nn.softmax(x.sum(-1))
    return jax.ops.segment_sum(weights[:, None] * x, graph_ids, n)
assert pooled(jnp.ones((3, 2)), jnp.array([0, 0, 1]), 2).shape == (2, 2)
""",
        ),
    ),
    "NNX690": Cases(
        bad=(
            """\
def energy(pos, eps=1.0):
    d = pos[:, None] - pos[None]
    r2 = (d**2).sum(-1) + jnp.eye(len(pos))
    pair = 4 * eps * (r2**-6 - r2**-3)
    return jnp.sum(pair * (1 - jnp.eye(len(pos))))  # NNX690
""",
            """\
def coulomb_energy(pos, charges):
    n = pos.shape[0]
    r = jnp.linalg.norm(pos[:, None, :] - pos[None, :, :] + jnp.eye(n)[..., None], axis=-1)
    products = charges[:, None] * charges[None, :]
    total = jnp.sum(jnp.where(~jnp.eye(n, dtype=bool), products / r, 0.0))  # NNX690
    return total
""",
            """\
def displacement(a, b):
    return a - b
def potential(pos):
    d = displacement(pos[:, None], pos[None, :])
    off = 1.0 - jnp.eye(pos.shape[0])
    return jnp.sum(off * jnp.exp(-jnp.sum(d**2, -1)))  # NNX690
forces = jax.grad(potential)
""",
        ),
        clean=(
            """\
def energy(pos):
    d = pos[:, None] - pos[None]
    r2 = (d**2).sum(-1) + jnp.eye(len(pos))
    return 0.5 * jnp.sum((r2**-6 - r2**-3) * (1 - jnp.eye(len(pos))))
assert energy(jnp.eye(3)).shape == ()
""",
            """\
def pair(r2):
    return jnp.exp(-r2) / 2
def energy(pos):
    d = pos[:, None] - pos[None]
    return jnp.sum(pair((d**2).sum(-1)) * (1 - jnp.eye(len(pos))))
assert energy(jnp.eye(3)) > 0
""",
            """\
def energy(pos):
    d = pos[:, None] - pos[None]
    return jnp.sum(jnp.exp(-(d**2).sum(-1)) * (1 - jnp.eye(len(pos))))
assert 0.5 * energy(jnp.eye(3)) > 0
""",
            """\
def energy(pos):
    d = pos[:, None] - pos[None]
    return jnp.sum(jnp.triu(jnp.exp(-(d**2).sum(-1)), k=1) * (1 - jnp.eye(len(pos))))
assert energy(jnp.eye(3)) > 0
""",
            """\
def energies(pos):
    d = pos[:, None] - pos[None]
    return jnp.sum(jnp.exp(-(d**2).sum(-1)) * (1 - jnp.eye(len(pos))), axis=1)
assert energies(jnp.eye(3)).shape == (3,)
""",
            """\
def repulsion_loss(pos):
    d = pos[:, None] - pos[None]
    return jnp.sum(jnp.exp(-(d**2).sum(-1)) * (1 - jnp.eye(len(pos))))
assert repulsion_loss(jnp.eye(3)) > 0
""",
        ),
    ),
    "NNX691": Cases(
        bad=(
            """\
betas = jnp.linspace(1e-3, 0.1, 6)
alphas = 1.0 - betas
bars = jnp.cumprod(alphas)
def sample(net, key, v):
    def body(t, given):
        v, key = given
        key, sub = jax.random.split(key)
        noise = jnp.where(t > 0, jax.random.normal(sub, v.shape), 0.0)
        mean = (v - betas[t] / jnp.sqrt(1 - bars[t]) * net(v)) / jnp.sqrt(alphas[t])  # NNX691
        return mean + jnp.sqrt(betas[t]) * noise, key
    return jax.lax.fori_loop(0, 6, body, (v, key))[0]
""",
            """\
betas = jnp.linspace(1e-3, 0.1, 6)
alphas = 1.0 - betas
bars = jnp.cumprod(alphas)
def before(net, v, t):
    return (v - betas[t] / jnp.sqrt(1 - bars[t]) * net(v)) / jnp.sqrt(alphas[t])  # NNX691
def sample(net, v):
    for t in range(len(betas)):
        v = before(net, v, t)
    return v
""",
            """\
betas = jnp.linspace(1e-3, 0.1, 6)
alphas = 1.0 - betas
shares = jnp.cumprod(alphas)
def sample(eps, key, v):
    def body(i, v):
        t = 6 - 1 - i
        z = jax.random.normal(jax.random.fold_in(key, i), v.shape)
        mean = (v - betas[t] / jnp.sqrt(1 - shares[t]) * eps(v, t)) / jnp.sqrt(alphas[t])
        return mean + jnp.sqrt(betas[t]) * z  # NNX691
    return jax.lax.fori_loop(0, 6, body, v)
""",
            _SCHEDULE
            + """\
def sample(eps, key, v):
    for t in reversed(range(6)):
        key, sub = jax.random.split(key)
        mean = (v - betas[t] / jnp.sqrt(1 - shares[t]) * eps(v, t)) / jnp.sqrt(alphas[t])
        v = mean + jnp.sqrt(betas[t]) * jax.random.normal(sub, v.shape)  # NNX691
    return v
""",
            _SCHEDULE
            + """\
def sample(eps, key, v):
    def step(v, given):
        t, key = given
        noise = jax.random.normal(key, v.shape)
        sigma = jnp.sqrt(betas[t])
        v = 1.0 / jnp.sqrt(alphas[t]) * (v - betas[t] / jnp.sqrt(1 - shares[t]) * eps(v, t)) + sigma * noise  # NNX691
        return v, None
    return jax.lax.scan(step, v, (jnp.arange(6)[::-1], jax.random.split(key, 6)))[0]
""",
            _SCHEDULE
            + """\
class Sampler:
    def __call__(self, eps, key, v):
        for t in range(5, -1, -1):
            key, sub = jax.random.split(key)
            z = jax.random.normal(sub, v.shape)
            mean = (v - betas[t] * eps(v, t) / jnp.sqrt(1 - shares[t])) / jnp.sqrt(alphas[t])
            v = mean + z * jnp.sqrt(betas[t])  # NNX691
        return v
""",
        ),
        clean=(
            """\
betas = jnp.linspace(1e-3, 0.1, 6)
alphas = 1.0 - betas
bars = jnp.cumprod(alphas)
def before(net, v, t):
    return (v - betas[t] / jnp.sqrt(1 - bars[t]) * net(v)) / jnp.sqrt(alphas[t])
def sample(net, v):
    for i in range(len(betas)):
        v = before(net, v, len(betas) - 1 - i)
    return v
print(sample(jnp.tanh, x))
def noised(v, key):
    for t in range(len(betas)):
        v = jnp.sqrt(alphas[t]) * v + jnp.sqrt(betas[t]) * jax.random.normal(jax.random.fold_in(key, t), v.shape)
    return v
print(noised(x, key))
""",
            """\
betas = jnp.linspace(0.1, 1e-3, 6)
alphas = 1.0 - betas
bars = jnp.cumprod(alphas[::-1])[::-1]
def sample(net, v):
    for t in range(len(betas)):
        v = (v - betas[t] / jnp.sqrt(1 - bars[t]) * net(v)) / jnp.sqrt(alphas[t])
    return v
print(sample(jnp.tanh, x))
""",
            """\
betas = jnp.linspace(1e-3, 0.1, 6)
alphas = 1.0 - betas
shares = jnp.cumprod(alphas)
def sample(eps, key, v):
    def body(i, v):
        t = 6 - i
        z = jax.random.normal(jax.random.fold_in(key, i), v.shape)
        mean = (v - betas[t] / jnp.sqrt(1 - shares[t]) * eps(v, t)) / jnp.sqrt(alphas[t])
        return mean + jnp.sqrt(betas[t]) * z
    return jax.lax.fori_loop(1, 6, body, v)
assert sample(lambda v, t: v, key, x).shape == (3,)
""",
            _SCHEDULE
            + """\
def sample(eps, key, v):
    for t in reversed(range(6)):
        key, sub = jax.random.split(key)
        mean = (v - betas[t] / jnp.sqrt(1 - shares[t]) * eps(v, t)) / jnp.sqrt(alphas[t])
        v = mean + (jnp.sqrt(betas[t]) * jax.random.normal(sub, v.shape) if t else 0.0)
    return v
assert sample(lambda v, t: v, key, x).shape == (3,)
""",
            _SCHEDULE
            + """\
def sample(eps, key, v):
    for t in range(5, 0, -1):
        key, sub = jax.random.split(key)
        mean = (v - betas[t] / jnp.sqrt(1 - shares[t]) * eps(v, t)) / jnp.sqrt(alphas[t])
        v = mean + jnp.sqrt(betas[t]) * jax.random.normal(sub, v.shape)
    return (v - betas[0] / jnp.sqrt(1 - shares[0]) * eps(v, 0)) / jnp.sqrt(alphas[0])
assert sample(lambda v, t: v, key, x).shape == (3,)
""",
            _SCHEDULE
            + """\
before = jnp.append(1.0, shares[:-1])
variances = betas * (1 - before) / (1 - shares)
def sample(eps, key, v):
    for t in reversed(range(6)):
        key, sub = jax.random.split(key)
        mean = (v - betas[t] / jnp.sqrt(1 - shares[t]) * eps(v, t)) / jnp.sqrt(alphas[t])
        v = mean + jnp.sqrt(variances[t]) * jax.random.normal(sub, v.shape)
    return v
assert sample(lambda v, t: v, key, x).shape == (3,)
""",
            _SCHEDULE
            + """\
def forward(key, v):
    for t in range(6):
        key, sub = jax.random.split(key)
        v = jnp.sqrt(1 - betas[t]) * v + jnp.sqrt(betas[t]) * jax.random.normal(sub, v.shape)
    return v
assert forward(key, x).shape == (3,)
""",
            _SCHEDULE
            + """\
def sample(eps, key, v):
    def step(v, given):
        t, key = given
        mean = (v - betas[t] / jnp.sqrt(1 - shares[t]) * eps(v, t)) / jnp.sqrt(alphas[t])
        z = jnp.where(t > 0, jax.random.normal(key, v.shape), 0.0)
        return mean + jnp.sqrt(betas[t]) * z, None
    return jax.lax.scan(step, v, (jnp.arange(5, -1, -1), jax.random.split(key, 6)))[0]
assert sample(lambda v, t: v, key, x).shape == (3,)
""",
        ),
    ),
    "NNX692": Cases(
        bad=(
            """\
def loss_fn(w, part):
    return jnp.mean((part @ w) ** 2)
def accumulate(w, parts):
    def body(carry, part):
        sums, total = carry
        loss, grads = jax.value_and_grad(loss_fn)(w, part)
        return (jax.tree.map(jnp.add, sums, grads), total + loss), None
    (grads, loss), _ = jax.lax.scan(body, (jnp.zeros_like(w), 0.0), parts)  # NNX692
    return loss / len(parts), grads
""",
            """\
def loss_fn(w, part):
    return jnp.mean((part @ w) ** 2)
def accumulate(w, parts):
    def body(i, carry):
        sums, total, most = carry
        loss, grads = jax.value_and_grad(loss_fn)(w, parts[i])
        sums = jax.tree.map(jnp.add, sums, grads)
        return sums, total + loss, jnp.maximum(most, loss)
    grads, loss, most = jax.lax.fori_loop(0, len(parts), body, (jnp.zeros_like(w), 0.0, 0.0))  # NNX692
    return loss / len(parts), grads, most
""",
            """\
def loss_fn(w, part):
    return jnp.mean((part @ w) ** 2)
def accumulate(w, parts):
    def body(i, carry):
        total, sums = carry
        loss, grads = jax.value_and_grad(loss_fn)(w, parts[i])
        return total + loss, jax.tree.map(jnp.add, sums, grads)
    loss, grads = jax.lax.fori_loop(0, len(parts), body, (0.0, jnp.zeros_like(w)))  # NNX692
    return loss / len(parts), grads
""",
            _BATCH
            + """\
def step(w):
    def body(carry, part):
        total, sums = carry
        value, grads = jax.value_and_grad(loss_fn)(w, part)
        return (total + value, jax.tree.map(lambda a, b: a + b, sums, grads)), None
    (loss, grads), _ = jax.lax.scan(body, (0.0, jnp.zeros(3)), parts)  # NNX692
    return loss / 2, w - 0.1 * jnp.clip(grads, -1, 1)
""",
            _BATCH
            + """\
tx = optax.adam(0.1)
def step(w, state):
    sums, total = jnp.zeros(3), 0.0
    for part in parts:  # NNX692
        value, grads = jax.value_and_grad(loss_fn)(w, part)
        sums = jax.tree.map(jnp.add, sums, grads)
        total += value
    updates, state = tx.update(sums, state, w)
    return optax.apply_updates(w, updates), state, total / len(parts)
""",
            _BATCH
            + """\
def accumulate(w, parts):
    def add(carry, part):
        found = jax.value_and_grad(loss_fn)(w, part)
        return (carry[0] + found[0], jax.tree.map(jnp.add, carry[1], found[1])), None
    (total, sums), _ = jax.lax.scan(add, (0.0, jnp.zeros(3)), parts)  # NNX692
    return total / parts.shape[0], sums
""",
        ),
        clean=(
            """\
def loss_fn(w, part):
    return jnp.mean((part @ w) ** 2)
def accumulate(w, parts):
    def body(carry, part):
        sums, total = carry
        loss, grads = jax.value_and_grad(loss_fn)(w, part)
        return (jax.tree.map(jnp.add, sums, grads), total + loss), None
    (grads, loss), _ = jax.lax.scan(body, (jnp.zeros_like(w), 0.0), parts)
    return loss / len(parts), grads / len(parts)
assert accumulate(x, jnp.ones((2, 2, 3)))[1].shape == (3,)
""",
            """\
def loss_fn(w, part):
    return jnp.sum((part @ w) ** 2)
def accumulate(w, parts):
    def body(carry, part):
        sums, total, count = carry
        loss, grads = jax.value_and_grad(loss_fn)(w, part)
        return (jax.tree.map(jnp.add, sums, grads), total + loss, count + len(part)), None
    (grads, loss, count), _ = jax.lax.scan(body, (jnp.zeros_like(w), 0.0, 0), parts)
    return loss / count, grads
assert accumulate(x, jnp.ones((2, 2, 3)))[1].shape == (3,)
""",
            """\
def loss_fn(w, part):
    return jnp.mean((part @ w) ** 2)
def accumulate(w, parts):
    def body(carry, part):
        sums, total = carry
        loss, grads = jax.value_and_grad(loss_fn)(w, part)
        return (jax.tree.map(lambda a, b: a + b / len(parts), sums, grads), total + loss), None
    (grads, loss), _ = jax.lax.scan(body, (jnp.zeros_like(w), 0.0), parts)
    return loss / len(parts), grads
assert accumulate(x, jnp.ones((2, 2, 3)))[1].shape == (3,)
""",
            """\
def loss_fn(w, part):
    return jnp.mean((part @ w) ** 2)
def accumulate(w, parts):
    def body(i, carry):
        total, sums = carry
        loss, grads = jax.value_and_grad(loss_fn)(w, parts[i])
        return total + loss, jax.tree.map(jnp.add, sums, grads)
    loss, grads = jax.lax.fori_loop(0, len(parts), body, (0.0, jnp.zeros_like(w)))
    return loss / len(parts), grads / len(parts)
assert accumulate(x, jnp.ones((2, 2, 3)))[1].shape == (3,)
""",
            _BATCH
            + """\
def step(w):
    def body(carry, part):
        total, sums = carry
        value, grads = jax.value_and_grad(loss_fn)(w, part)
        return (total + value, jax.tree.map(jnp.add, sums, grads)), None
    (loss, grads), _ = jax.lax.scan(body, (0.0, jnp.zeros(3)), parts)
    return loss / 2, jax.tree.map(lambda g: g / 2, grads)
assert step(x)[1].shape == (3,)
""",
            _BATCH
            + """\
def step(w):
    def body(carry, part):
        total, sums = carry
        value, grads = jax.value_and_grad(loss_fn)(w, part)
        return (total + value / 2, jax.tree.map(lambda a, b: a + b / 2, sums, grads)), None
    (loss, grads), _ = jax.lax.scan(body, (0.0, jnp.zeros(3)), parts)
    return loss, grads
assert step(x)[1].shape == (3,)
""",
            """\
def loss_fn(w, part):
    return jnp.sum((part @ w) ** 2)
parts = jnp.arange(12.0).reshape(2, 2, 3)
def step(w):
    def body(carry, part):
        total, sums = carry
        value, grads = jax.value_and_grad(loss_fn)(w, part)
        return (total + value, jax.tree.map(jnp.add, sums, grads)), None
    (loss, grads), _ = jax.lax.scan(body, (0.0, jnp.zeros(3)), parts)
    return loss / 4, grads
assert step(x)[1].shape == (3,)
""",
            _BATCH
            + """\
def step(w):
    def body(carry, part):
        total, sums = carry
        value, grads = jax.value_and_grad(loss_fn)(w, part)
        return (total + value, jax.tree.map(jnp.add, sums, grads)), None
    (loss, grads), _ = jax.lax.scan(body, (0.0, jnp.zeros(3)), parts)
    return loss, grads
assert step(x)[1].shape == (3,)
""",
            _BATCH
            + """\
def step(w):
    sums, total = jnp.zeros(3), 0.0
    for part in parts:
        value, grads = jax.value_and_grad(loss_fn)(w, part)
        sums = jax.tree.map(jnp.add, sums, grads)
        total += value
    sums = jax.tree.map(lambda g: g / len(parts), sums)
    return sums, total / len(parts)
assert step(x)[0].shape == (3,)
""",
        ),
    ),
    "NNX693": Cases(
        bad=(
            """\
def displacement(a, b, box):
    d = a - b
    return d - box * jnp.floor(d / box)  # NNX693
""",
            """\
BOX = 4.0
def neighbours(pos, i, j):
    dr = pos[i] - pos[j]
    dr = dr - jnp.floor(dr / BOX) * BOX  # NNX693
    return jnp.sqrt(jnp.sum(dr**2, -1))
""",
            """\
class Gas:
    def distance(self, a, b):
        delta = a - b
        delta = jnp.mod(delta, self.box)  # NNX693
        return jnp.linalg.norm(delta + 1e-9)
""",
        ),
        clean=(
            """\
def displacement(a, b, box):
    d = a - b
    return d - box * jnp.round(d / box)
assert displacement(jnp.array([0.1]), jnp.array([3.9]), 4.0)[0] > 0
""",
            """\
def wrap(pos, box):
    return pos - box * jnp.floor(pos / box)
assert wrap(jnp.array([4.5]), 4.0)[0] == 0.5
""",
            """\
def displacement(a, b, box):
    d = a - b
    return d - box * jnp.floor(d / box + 0.5)
assert displacement(jnp.array([0.1]), jnp.array([3.9]), 4.0)[0] > 0
""",
            """\
def displacement(a, b, box):
    d = a - b
    return jnp.mod(d + box / 2, box) - box / 2
assert displacement(jnp.array([0.1]), jnp.array([3.9]), 4.0)[0] > 0
""",
            """\
def displacement(a, b, box):
    d = a - b
    d = jnp.mod(d, box)
    return jnp.where(d > box / 2, d - box, d)
assert displacement(jnp.array([0.1]), jnp.array([3.9]), 4.0)[0] > 0
""",
        ),
    ),
    "NNX514": Cases(
        bad=(
            """\
from jax import lax
rows = jax.random.normal(key, (4, 4))
lengths = jnp.abs(rows)
tiny = jnp.finfo(jnp.float32).tiny
a = lax.reduce_window(rows, 0, lax.max, (2, 2), (2, 2), "VALID")  # NNX514
b = lax.reduce(rows, jnp.float32(0.0), lambda p, q: jnp.maximum(p, q), (0,))  # NNX514
c = lax.reduce(lengths, 0.0, lax.min, (0,))  # NNX514
d = lax.reduce(lengths, jnp.zeros(()), lax.mul, (0,))  # NNX514
e = lax.reduce_window(rows, tiny, lax.max, (2, 2), (1, 1), "SAME")  # NNX514
""",
            """\
from flax import linen as nn
rows = jax.random.normal(key, (4, 4))
lengths = rows**2
a = nn.pool(-lengths[None, ..., None], 0.0, jax.lax.max, (2, 2), (2, 2), "VALID")  # NNX514
b = jnp.min(lengths, initial=0.0, where=lengths > 0.1)  # NNX514
c = jnp.max(rows, initial=0.0, where=rows < -1.0)  # NNX514
d = jnp.prod(rows, initial=0)  # NNX514
def smaller(p, q):
    return jnp.minimum(p, q)
e = jax.lax.reduce(rows, -jnp.inf, smaller, (0, 1))  # NNX514
f = jax.lax.reduce(rows, jnp.inf, jax.lax.max, (0, 1))  # NNX514
g = functools.reduce(jnp.minimum, [lengths, lengths * 2], 0.0)  # NNX514
h = jax.lax.reduce(rows > 0, False, jax.lax.bitwise_and, (0, 1))  # NNX514
i = jax.lax.reduce(rows > 0, True, jnp.logical_or, (0, 1))  # NNX514
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(1, 4, (3, 3), rngs=rngs)
    def __call__(self, v):
        return nnx.pool(self.conv(v), 0.0, jax.lax.max, (2, 2), (2, 2), "SAME")  # NNX514
def max_pool(v):
    return jax.lax.reduce_window(
        v,
        init_value=0.0,  # NNX514
        computation=jax.lax.max,
        window_dimensions=(2, 2),
        window_strides=(2, 2),
        padding="VALID",
    )
print(max_pool(-jnp.arange(1.0, 17.0).reshape(4, 4)))
""",
            """\
v = jax.random.normal(key, (6,))
seg = jnp.array([0, 0, 1, 1, 2, 2])
a = jnp.zeros(3).at[seg].max(v)  # NNX514
b = jnp.zeros(3).at[seg].min(jnp.abs(v))  # NNX514
c = jnp.zeros_like(v[:3]).at[seg].mul(v)  # NNX514
d = jax.lax.fori_loop(0, 6, lambda i, m: jnp.maximum(m, v[i]), 0.0)  # NNX514
def body(m, one):
    m = jnp.minimum(m, one)
    return m, m
e = jax.lax.scan(body, jnp.float32(0), jnp.abs(v))  # NNX514
f = jax.lax.scan(lambda m, one: (jnp.maximum(m, one), m), 0.0, v)  # NNX514
""",
        ),
        clean=(
            """\
from jax import lax
rows = jax.random.normal(key, (4, 4))
a = lax.reduce_window(rows, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID")
b = lax.reduce_window(jax.nn.relu(rows), 0.0, lax.max, (2, 2), (2, 2), "VALID")
c = lax.reduce_window((rows > 0).astype(jnp.float32), 0.0, lax.max, (3, 3), (1, 1), "SAME")
d = lax.reduce_window(rows, 0.0, lax.add, (2, 2), (2, 2), "VALID") / 4
e = lax.reduce(rows, 1.0, lax.mul, (0,))
""",
            """\
rows = jax.random.normal(key, (4, 4))
a = jnp.max(rows, initial=0.0)
b = jnp.min(jnp.abs(rows), initial=jnp.inf, where=rows > 0)
c = jnp.max(jnp.abs(rows), initial=0.0, where=rows > 0)
d = functools.reduce(lambda p, q: p + q, [rows, rows], 0.0)
e = jax.lax.reduce(rows, jnp.finfo(jnp.float32).min, jax.lax.max, (0, 1))
f = jax.lax.reduce(rows > 0, False, jax.lax.bitwise_or, (0, 1))
g = jax.lax.reduce((rows > 0).astype(int), 1, jax.lax.bitwise_and, (0, 1))
""",
            """\
from jax import lax
shares = jax.nn.softmax(jnp.arange(16.0)).reshape(4, 4)
a = nnx.pool(shares[None, ..., None], 0.0, lax.max, (2, 2), (2, 2), "VALID")
b = lax.reduce_window(jax.random.uniform(key, (4, 4)), 0.0, lax.max, (2, 2), (1, 1), "SAME")
c = lax.reduce_window(jnp.abs(shares) * 2 + 1, 0.0, lambda p, q: lax.max(p, q), (2, 2), (2, 2), "VALID")
""",
            """\
def dilate(v):
    return jax.lax.reduce_window(v, 0.0, jax.lax.max, (3, 3), (1, 1), "SAME")
def max_pool(v):
    return jax.lax.reduce_window(v, 0.0, jax.lax.max, (2, 2), (2, 2), "VALID")
shares = jnp.abs(jax.random.normal(key, (4, 4)))
print(max_pool(shares), dilate(shares))
""",
            """\
v = jax.random.normal(key, (6,))
seg = jnp.array([0, 0, 1, 1, 2, 2])
a = jnp.zeros(3).at[seg].max(jnp.abs(v))
b = jnp.full(3, -jnp.inf).at[seg].max(v)
c = jnp.ones(3).at[seg].mul(v)
d = jax.lax.fori_loop(0, 6, lambda i, m: jnp.maximum(m, v[i] ** 2), 0.0)
e = jax.lax.scan(lambda m, one: (jnp.maximum(m, one), m), -jnp.inf, v)
f = jax.lax.scan(lambda m, one: (m + one, m), 0.0, v)
g = jax.lax.scan(lambda m, one: (jnp.maximum(0.0, m + one), m), 0.0, v)
h = jnp.zeros(3).at[seg].add(v)
""",
            """\
lengths = jnp.abs(jax.random.normal(key, (4, 4)))
a = jax.lax.reduce(lengths, jnp.inf, jax.lax.min, (0,))
b = nnx.max_pool(-lengths[None, ..., None], (2, 2), strides=(2, 2))
c = jax.ops.segment_max(-lengths, jnp.array([0, 0, 1, 1]), 2)
""",
        ),
    ),
    "NNX515": Cases(
        bad=(
            """\
def summary(value):
    if isinstance(value, np.ndarray):  # NNX515
        return {"mean": float(value.mean())}
    return {"value": value}
class Logger:
    def __init__(self):
        self.rows = []
    def log(self, step, **metrics):
        row = {"step": step}
        for name, value in metrics.items():
            row[name] = summary(value)
        self.rows.append(row)
logger = Logger()
logger.log(0, loss=jax.vmap(lambda v: v**2)(x), lr=0.1)
""",
            """\
def log(metrics):
    out = {}
    for k, v in metrics.items():
        if isinstance(v, np.ndarray):  # NNX515
            v = v.mean()
        out[k] = v
    return out
log({"a": jnp.ones(3), "b": x * 2, "c": "text"})
kind = "array" if isinstance(jnp.sum(x), (np.ndarray, np.generic)) else "scalar"  # NNX515
""",
            """\
def save(arrays):
    for a in arrays:
        if type(a) is np.ndarray:  # NNX515
            print("array", a.max())
        else:
            print("other", a)
save([x, jnp.ones(3)])
params = {"w": jnp.ones(3), "b": jnp.zeros(2)}
half = jax.tree.map(lambda p: p.astype(jnp.bfloat16) if isinstance(p, np.ndarray) else p, params)  # NNX515
""",
            """\
class Encoder:
    def default(self, o):
        if isinstance(o, np.ndarray):  # NNX515
            return o.tolist()
        raise TypeError(o)
Encoder().default(jnp.ones(2))
def is_array(v):
    return isinstance(v, np.ndarray)
rows = [v for v in (x, jnp.ones(2)) if is_array(v)]  # NNX515
def check(y):
    assert isinstance(y, np.ndarray)  # NNX515
    return y
check(jnp.sum(x))
""",
        ),
        clean=(
            """\
def both(v):
    if isinstance(v, (np.ndarray, jax.Array)):
        return v.mean()
    return v
def turned(v):
    if isinstance(v, np.ndarray):
        v = jnp.asarray(v)
    return v * 2
def guard(v):
    if not isinstance(v, np.ndarray):
        v = np.asarray(v)
    return v.mean()
print(both(x), turned(x), guard(x))
""",
            """\
def space(v):
    xp = np if isinstance(v, np.ndarray) else jnp
    return xp.exp(v)
def one_by_one(v):
    if isinstance(v, np.ndarray):
        return v.mean()
    elif isinstance(v, jax.Array):
        return jnp.mean(v)
    return v
def scalar(v):
    if isinstance(v, np.ndarray):
        return float(v.mean())
    return float(v)
print(space(x), one_by_one(x), scalar(jnp.mean(x)))
""",
            """\
def summary(v):
    if isinstance(v, np.ndarray):
        return {"mean": v.mean()}
    return {"value": v}
print(summary(np.ones(2)), summary(jax.device_get(x)), summary(x))
def unknown(v):
    if isinstance(v, np.ndarray):
        return v.mean()
    return v
for v in (x, np.ones(3)):
    print(unknown(v))
""",
            """\
def either(v):
    if isinstance(v, np.ndarray) or jnp.ndim(v) > 0:
        return v.mean()
    return v
def copied(v):
    return v.copy() if isinstance(v, np.ndarray) else v
def like(v):
    if isinstance(v, np.ndarray):
        return v.sum()
    if hasattr(v, "shape"):
        return jnp.sum(v)
    return v
print(either(x), copied(x), like(x))
""",
            """\
def is_host(v):
    return isinstance(v, np.ndarray)
print(is_host(x), is_host(np.ones(1)))
def nobody_calls(v):
    if isinstance(v, np.ndarray):
        return v.mean()
    return v
""",
        ),
    ),
    "NNX516": Cases(
        bad=(
            """\
from optax.contrib import schedule_free_adamw
def evaluate(net, v):
    return ((net(v) - 1.0) ** 2).mean()
@nnx.jit
def train_step(net, opt, v):
    loss, grads = nnx.value_and_grad(lambda m: evaluate(m, v))(net)
    opt.update(net, grads)
    return loss
net = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(net, schedule_free_adamw(1e-2), wrt=nnx.Param)
print(evaluate(net, x))
for _ in range(3):
    train_step(net, opt, x)
print(evaluate(net, x))  # NNX516
""",
            """\
from optax import contrib
def loss(p, v):
    return jnp.mean((p - v) ** 2)
class Trainer:
    def __init__(self, params):
        self.params = params
        self.tx = optax.chain(optax.clip_by_global_norm(1.0), contrib.schedule_free_adamw(0.1))
        self.state = self.tx.init(params)
    def step(self, v):
        grads = jax.grad(loss)(self.params, v)
        updates, self.state = self.tx.update(grads, self.state, self.params)
        self.params = optax.apply_updates(self.params, updates)
    def evaluate(self, v):
        return float(loss(self.params, v))  # NNX516
trainer = Trainer(jnp.zeros(3))
for v in batches:
    trainer.step(v)
print(trainer.evaluate(x))
""",
            """\
from flax import linen as nn
from flax.training import train_state
from optax.contrib import schedule_free_sgd
net = nn.Dense(1)
state = train_state.TrainState.create(
    apply_fn=net.apply, params=net.init(key, x), tx=schedule_free_sgd(0.1)
)
@jax.jit
def train_step(state, v):
    grads = jax.grad(lambda p: (state.apply_fn(p, v) ** 2).mean())(state.params)
    return state.apply_gradients(grads=grads)
@jax.jit
def eval_step(state, v):
    return (state.apply_fn(state.params, v) ** 2).mean()
for v in batches:
    state = train_step(state, v)
print(eval_step(state, x))  # NNX516
""",
            """\
from optax import contrib
def loss(p, v):
    return jnp.mean((p - v) ** 2)
def train(p, rows):
    tx = contrib.schedule_free(optax.sgd(0.1), 0.1)
    state = tx.init(p)
    for v in rows:
        updates, state = tx.update(jax.grad(loss)(p, v), state, p)
        p = optax.apply_updates(p, updates)
    return p
x_test = x * 2
p = train(jnp.zeros(3), batches)
print(loss(p, x_test))  # NNX516
""",
        ),
        clean=(
            """\
from optax import contrib
def loss(p, v):
    return jnp.mean((p - v) ** 2)
def evaluate(p, v):
    return float(loss(p, v))
tx = contrib.schedule_free_sgd(0.1)
p = jnp.zeros(3)
state = tx.init(p)
for v in batches:
    updates, state = tx.update(jax.grad(loss)(p, v), state, p)
    p = optax.apply_updates(p, updates)
print(evaluate(contrib.schedule_free_eval_params(state, p), x))
""",
            """\
from optax import contrib
def loss(p, v):
    return jnp.mean((p - v) ** 2)
def evaluate(p, v):
    return float(loss(p, v))
# the loss of the training itself, and another optimizer
tx, other = contrib.schedule_free_sgd(0.1), optax.adam(0.1)
p, q = jnp.zeros(3), jnp.zeros(3)
s, t = tx.init(p), other.init(q)
print(evaluate(p, x))
for v in batches:
    value, grads = jax.value_and_grad(loss)(p, v)
    updates, s = tx.update(grads, s, p)
    p = optax.apply_updates(p, updates)
    updates, t = other.update(jax.grad(loss)(q, v), t, q)
    q = optax.apply_updates(q, updates)
    print(value)
print(evaluate(q, x))
""",
            """\
def evaluate(net, v):
    return ((net(v) - 1.0) ** 2).mean()
net = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.adamw(1e-2), wrt=nnx.Param)
@nnx.jit
def step(net, opt, v):
    grads = nnx.grad(evaluate)(net, v)
    opt.update(net, grads)
for _ in range(3):
    step(net, opt, x)
print(evaluate(net, x))
""",
            """\
from optax import contrib
def loss(p, v):
    return jnp.mean((p - v) ** 2)
tx = contrib.schedule_free_sgd(0.1, b1=0.9)
p = jnp.zeros(3)
state = tx.init(p)
for v in batches:
    updates, state = tx.update(jax.grad(loss)(p, v), state, p)
    p = optax.apply_updates(p, updates)
average = jax.tree.map(lambda y, z: (y - 0.1 * z) / 0.9, p, state.z)
x_test = x * 2
print(loss(average, x_test))
""",
            """\
from optax import contrib
def loss(p, v):
    return jnp.mean((p - v) ** 2)
def evaluate(p, v):
    return float(loss(p, v))
print(evaluate(jnp.zeros(3), x))
tx = contrib.schedule_free_sgd(0.1)
p = jnp.zeros(3)
state = tx.init(p)
for v in batches:
    value, grads = jax.value_and_grad(loss)(p, v)
    updates, state = tx.update(grads, state, p)
    p = optax.apply_updates(p, updates)
""",
        ),
    ),
    "NNX533": Cases(
        bad=(
            """\
import os
import tempfile
path = os.path.join(tempfile.mkdtemp(), "params")
w = jnp.ones((3, 3), jnp.bfloat16)
np.save(path + ".npy", w)
v = jnp.asarray(np.load(path + ".npy"))  # NNX533
""",
            """\
def init(k):
    return {"w": jax.random.normal(k, (8, 4), jnp.bfloat16), "b": jnp.zeros(4)}
def save(path, params):
    np.savez(path, **{name: np.asarray(value) for name, value in params.items()})
def load(path):
    with np.load(path) as f:
        return {name: jnp.asarray(f[name]) for name in f.files}  # NNX533
save("params.npz", init(key))
""",
            """\
import numpy as onp
import jax.numpy as J
def keep(file, a):
    onp.savez_compressed(file, half=onp.asarray(a.astype(J.bfloat16)), whole=a)
    entries = onp.load(file)
    half = entries["half"]
    whole = J.array(entries["whole"])
    return J.array(half), whole  # NNX533
keep("file.npz", x)
""",
            """\
class Store:
    def write(self, a):
        np.save(self.path, np.asarray(a.astype("float8_e4m3fn")))
    def read(self):
        return jax.device_put(np.load(self.path))  # NNX533
Store().write(x)
""",
        ),
        clean=(
            """\
import os
import tempfile
path = os.path.join(tempfile.mkdtemp(), "params")
w = jnp.ones((3, 3), jnp.bfloat16)
np.save(path + ".npy", w)
u = jnp.asarray(np.load(path + ".npy").view(jnp.bfloat16))
t = jnp.load(path + ".npy")
""",
            """\
import os
import tempfile
path = os.path.join(tempfile.mkdtemp(), "params")
w = jnp.ones((3, 3), jnp.bfloat16)
np.save(path + ".npy", w.astype(jnp.float32))
v = jnp.asarray(np.load(path + ".npy"))
np.save(path + ".other.npy", w)
""",
            """\
import os
import tempfile
path = os.path.join(tempfile.mkdtemp(), "params")
w = jnp.ones((3, 3), jnp.bfloat16)
np.savez(path + ".npz", half=np.asarray(w).view(np.uint16), whole=np.asarray(w, np.float32))
with np.load(path + ".npz") as file:
    half = jnp.asarray(file["half"].view(jnp.bfloat16))
    whole = jnp.asarray(file["whole"])
""",
            """\
import os
import tempfile
path = os.path.join(tempfile.mkdtemp(), "params")
w = jnp.ones((3, 3), jnp.float16)
np.savez(path + ".npz", w=w, b=jnp.zeros(3, jnp.bfloat16))
with np.load(path + ".npz") as file:
    back = jnp.asarray(file["w"])
""",
            """\
import os
import tempfile
path = os.path.join(tempfile.mkdtemp(), "params")
w = jnp.ones((3, 3), jnp.bfloat16)
np.save(path + ".npy", {"w": np.asarray(w)}, allow_pickle=True)
back = jax.tree.map(jnp.asarray, np.load(path + ".npy", allow_pickle=True).item())
""",
        ),
    ),
    "NNX534": Cases(
        bad=(
            """\
from jax.experimental import pallas as pl
rows = jnp.arange(64 * 16.0).reshape(64, 16)
def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2
def call(one, other, count=4):
    shape = jax.ShapeDtypeStruct(rows.shape, rows.dtype)
    return pl.pallas_call(kernel, grid=(count,), in_specs=[one], out_specs=other, out_shape=shape, interpret=True)(rows)
block = pl.BlockSpec((16, 16), lambda i: (i * 16, 0))  # NNX534
call(block, block)
""",
            """\
from jax.experimental import pallas as pl
rows = jnp.arange(64 * 16.0).reshape(64, 16)
def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2
def call(one, other, count=4):
    shape = jax.ShapeDtypeStruct(rows.shape, rows.dtype)
    return pl.pallas_call(kernel, grid=(count,), in_specs=[one], out_specs=other, out_shape=shape, interpret=True)(rows)
B = 16
def where(i):
    return B * i, 0  # NNX534
call(pl.BlockSpec(block_shape=(B, 16), index_map=where), pl.BlockSpec((B, 16), lambda i: (i, 0)))
""",
            """\
import jax.experimental.pallas as plt
class Kernel:
    def __init__(self, rows):
        self.rows = rows
    def block(self):
        return plt.BlockSpec((8, self.rows), lambda i, j: (i, j * self.rows))  # NNX534
Kernel(16).block()
""",
        ),
        clean=(
            """\
from jax.experimental import pallas as pl
rows = jnp.arange(64 * 16.0).reshape(64, 16)
def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2
def call(one, other, count=4):
    shape = jax.ShapeDtypeStruct(rows.shape, rows.dtype)
    return pl.pallas_call(kernel, grid=(count,), in_specs=[one], out_specs=other, out_shape=shape, interpret=True)(rows)
block = pl.BlockSpec((16, 16), lambda i: (i, 0))
call(block, block)
""",
            """\
from jax.experimental import pallas as pl
rows = jnp.arange(64 * 16.0).reshape(64, 16)
def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2
def call(one, other, count=4):
    shape = jax.ShapeDtypeStruct(rows.shape, rows.dtype)
    return pl.pallas_call(kernel, grid=(count,), in_specs=[one], out_specs=other, out_shape=shape, interpret=True)(rows)
B = 16
def where(i):
    return i, 0 * B
call(pl.BlockSpec((B, 16), where), pl.BlockSpec((B, 16), where))
""",
            """\
from jax.experimental import pallas as pl
rows = jnp.arange(64 * 16.0).reshape(64, 16)
def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2
def call(one, other, count=4):
    shape = jax.ShapeDtypeStruct(rows.shape, rows.dtype)
    return pl.pallas_call(kernel, grid=(count,), in_specs=[one], out_specs=other, out_shape=shape, interpret=True)(rows)
block = pl.BlockSpec((2, 16), lambda i: (i * 2, 0))
call(block, block, 16)
""",
            """\
from jax.experimental import pallas as pl
rows = jnp.arange(64 * 16.0).reshape(64, 16)
def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2
def call(one, other, count=4):
    shape = jax.ShapeDtypeStruct(rows.shape, rows.dtype)
    return pl.pallas_call(kernel, grid=(count,), in_specs=[one], out_specs=other, out_shape=shape, interpret=True)(rows)
B, steps = 16, 8
every = pl.BlockSpec((B, 16), lambda i: (i * steps // steps, 0))
other = pl.BlockSpec((B, 16), lambda i: (i // B, i * 0))
call(every, every)
""",
            """\
from jax.experimental import pallas as pl
rows = jnp.arange(64 * 16.0).reshape(64, 16)
def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2
def call(one, other, count=4):
    shape = jax.ShapeDtypeStruct(rows.shape, rows.dtype)
    return pl.pallas_call(kernel, grid=(count,), in_specs=[one], out_specs=other, out_shape=shape, interpret=True)(rows)
B = 16
slices = [rows[i * B : (i + 1) * B] for i in range(4)]
print(jnp.concatenate(slices).shape, pl.BlockSpec(memory_space=None))
""",
        ),
    ),
    "NNX535": Cases(
        bad=(
            """\
def epoch_indices(epoch, process_index, process_count):
    rng = np.random.default_rng(17 + 1000 * epoch + process_index)
    order = rng.permutation(1000)
    return order[process_index::process_count]  # NNX535
print(epoch_indices(0, jax.process_index(), jax.process_count()))
""",
            """\
def order(k, host):
    return jax.random.permutation(jax.random.fold_in(k, host), 1000)
def shares(k):
    me = jax.process_index()
    mine = order(k, me)
    return jnp.split(mine, jax.process_count())[me]  # NNX535
shares(key)
""",
            """\
class Loader:
    def __init__(self, data):
        self.data = data
        self.rank, self.world_size = jax.process_index(), jax.process_count()
    def __iter__(self):
        order = np.arange(len(self.data))
        rng = np.random.default_rng(seed=self.rank)
        rng.shuffle(order)
        per = len(order) // self.world_size
        for i in order[self.rank * per : (self.rank + 1) * per]:  # NNX535
            yield self.data[i]
print(next(iter(Loader(x))))
""",
            """\
rng = np.random.default_rng()
perm = rng.permutation(1000)
mine = perm[jax.process_index()::jax.process_count()]  # NNX535
""",
        ),
        clean=(
            """\
def epoch_indices(epoch, process_index, process_count):
    rng = np.random.default_rng(17 + 1000 * epoch)
    order = rng.permutation(1000)
    return order[process_index::process_count]
print(epoch_indices(0, jax.process_index(), jax.process_count()))
""",
            """\
def mine(process_index, process_count):
    rng = np.random.default_rng(17 + process_index)
    share = np.arange(1000)[process_index::process_count]
    return rng.permutation(share)
print(mine(jax.process_index(), jax.process_count()))
""",
            """\
me, count = jax.process_index(), jax.process_count()
order = np.arange(1000)
np.random.default_rng(3).shuffle(order)
noise = np.random.default_rng(me).normal(size=3)
print(order[me::count], np.array_split(order, count)[me], noise)
""",
            """\
def shuffled(k, index):
    return jax.random.permutation(jax.random.fold_in(k, index), 1000)
epochs = [shuffled(key, epoch) for epoch in range(3)]
print(epochs[1][jax.process_index() :: jax.process_count()])
""",
            """\
np.random.seed(0)
order = np.random.permutation(1000)
print(order[jax.process_index() :: jax.process_count()], order[: 100], np.random.default_rng(5).permutation(9)[0::2])
""",
        ),
    ),
    "NNX536": Cases(
        bad=(
            """\
import threading
def work(v):
    print(jnp.asarray(v).devices())
with jax.default_device(jax.devices()[-1]):
    threads = [threading.Thread(target=work, args=(v,)) for v in range(3)]
    for t in threads:
        t.start()  # NNX536
    for t in threads:
        t.join()
""",
            """\
from concurrent.futures import ThreadPoolExecutor
def prepared(image):
    return jnp.asarray(image) / 255
last = jax.devices()[-1]
with jax.default_device(last):
    with ThreadPoolExecutor(max_workers=2) as pool:
        done = list(pool.map(prepared, [1.0, 2.0]))  # NNX536
""",
            """\
import threading
def work():
    report(jnp.ones(3))
def report(v):
    print((v / 0).sum())
with jax.debug_nans(True):
    t = threading.Thread(target=work)
    t.start()  # NNX536
    t.join()
""",
            """\
import concurrent.futures as cf
class Runner:
    def __init__(self):
        self.pool = cf.ThreadPoolExecutor(2)
    def one(self, v):
        return v @ v
    def all(self, vs):
        with jax.default_matmul_precision("highest"):
            return [self.pool.submit(self.one, v) for v in vs]  # NNX536
Runner().all(batches)
""",
        ),
        clean=(
            """\
from concurrent.futures import ThreadPoolExecutor
last = jax.devices()[-1]
def prepared(image):
    return jnp.asarray(image, device=last)
with jax.default_device(last), ThreadPoolExecutor(2) as pool:
    done = list(pool.map(prepared, [1.0, 2.0]))
""",
            """\
from concurrent.futures import ThreadPoolExecutor
def prepared(image):
    return jnp.asarray(image) / 255
with jax.default_device(jax.devices()[-1]):
    done = list(map(prepared, [1.0, 2.0]))
    with ThreadPoolExecutor(max_workers=2) as pool:
        names = list(pool.map(str, done))
with ThreadPoolExecutor(max_workers=2) as pool:
    done = list(pool.map(prepared, [1.0, 2.0]))
""",
            """\
from concurrent.futures import ThreadPoolExecutor
def prepared(image):
    with jax.default_device(jax.devices()[-1]):
        return jnp.asarray(image) / 255
with jax.default_device(jax.devices()[-1]), ThreadPoolExecutor(2) as pool:
    done = list(pool.map(prepared, [1.0, 2.0]))
""",
            """\
from concurrent.futures import ThreadPoolExecutor
def read(path):
    return np.ones(3) * path
with jax.default_device(jax.devices()[-1]):
    with ThreadPoolExecutor(2) as pool:
        arrays = [jnp.asarray(one) for one in pool.map(read, [1, 2])]
""",
            """\
from concurrent.futures import ThreadPoolExecutor
def prepared(image):
    return jnp.asarray(image) / 255
with jax.default_device(jax.devices()[0]):
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(prepared, [1.0, 2.0]))
with jax.default_matmul_precision("highest"), ThreadPoolExecutor(2) as pool:
    done = list(pool.map(prepared, [1.0, 2.0]))
""",
            """\
from concurrent.futures import ThreadPoolExecutor
def prepared(image):
    return jnp.asarray(image) / 255
def settle(precision):
    jax.config.update("jax_default_device", jax.devices()[-1])
with jax.default_device(jax.devices()[-1]):
    with ThreadPoolExecutor(2, initializer=settle, initargs=("highest",)) as pool:
        done = list(pool.map(prepared, [1.0, 2.0]))
""",
        ),
    ),
    "NNX537": Cases(
        bad=(
            """\
import multiprocessing as mp
np.random.seed(1234)
def augment_shard(shard):
    return np.random.normal(scale=0.1, size=3)
def load(workers=4):
    ctx = mp.get_context("fork")
    queue = ctx.Queue()
    procs = []
    for shard in range(workers):
        proc = ctx.Process(target=lambda q, s: q.put(augment_shard(s)), args=(queue, shard))  # NNX537
        procs.append(proc)
    return procs
""",
            """\
from concurrent.futures import ProcessPoolExecutor
rng = np.random.default_rng(0)
def crop(image):
    return image[corner():]
def corner():
    return rng.integers(3)
def crops(images):
    with ProcessPoolExecutor(max_workers=4) as pool:
        return list(pool.map(crop, images))  # NNX537
""",
            """\
from multiprocessing import Pool
class Data:
    def __init__(self):
        self.pool = Pool(4)
    def batch(self, images):
        return jnp.stack(self.pool.map(flipped, images))  # NNX537
def flipped(image):
    return image[::-1] if np.random.rand() < 0.5 else image
""",
        ),
        clean=(
            """\
from multiprocessing import Pool
def augmented(task):
    image, seed = task
    return image + np.random.default_rng(seed).normal(size=image.shape)
def batch(images):
    seeds = np.random.SeedSequence(0).spawn(len(images))
    with Pool(4) as pool:
        return pool.map(augmented, zip(images, seeds))
""",
            """\
import os
from multiprocessing import Pool
def start():
    np.random.seed(os.getpid())
def augmented(image):
    return image + np.random.normal(size=image.shape)
def batch(images):
    with Pool(4, initializer=start) as pool:
        return pool.map(augmented, images)
""",
            """\
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
import multiprocessing
def augmented(image):
    return image + np.random.normal(size=image.shape)
with ThreadPoolExecutor(2) as pool:
    print(len(list(pool.map(augmented, batches))))
with ThreadPool(2) as pool:
    print(len(pool.map(augmented, batches)))
""",
            """\
import multiprocessing as mp
def augmented(image):
    return image + np.random.normal(size=image.shape)
def batch(images):
    with mp.get_context("spawn").Pool(4) as pool:
        return pool.map(augmented, images)
""",
            """\
import multiprocessing as mp
def noisy(queue):
    queue.put(np.random.normal(size=3) + random.random())
def one(queue):
    return mp.Process(target=noisy, args=(queue,))
def several(images):
    with mp.Pool(2) as pool, mp.Pool(processes=1) as single:
        return pool.map(np.sum, images), single.map(noisy, images)
""",
        ),
    ),
    "NNX538": Cases(
        bad=(
            """\
@jax.checkpoint
def loss(ws, v):
    for w in ws:
        v = jnp.tanh(v * w)
    return (v**2).mean()
step = jax.jit(jax.value_and_grad(loss))  # NNX538
print(step([x, x], x))
""",
            """\
def loss(ws, v):
    for w in ws:
        v = jnp.tanh(v * w)
    return (v**2).mean()
def train(ws, v):
    whole = jax.remat(loss, prevent_cse=False)
    return jax.grad(whole)(ws, v)  # NNX538
print(train([x, x], x))
""",
            """\
@partial(jax.checkpoint, static_argnums=2)
def loss(w, v, power):
    return (jnp.tanh(w * v) ** power).mean()
for batch in batches:
    grads = jax.grad(loss)(x, batch, 2)  # NNX538
""",
        ),
        clean=(
            """\
def wave(v):
    return jnp.sin(v) * v
print(jax.grad(jax.grad(jax.checkpoint(wave)))(2.0), jax.grad(jax.jit(jax.grad(jax.remat(wave))))(2.0))
""",
            """\
def loss(ws, v):
    for w in ws:
        v = jnp.tanh(v * w)
    return (v**2).mean()
@jax.checkpoint
def layer(v, w):
    return jnp.tanh(v * w)
def deep(ws, v):
    for w in ws:
        v = layer(v, w)
    return (v**2).mean()
print(jax.grad(deep)([x, x], x), jax.grad(loss)([x, x], x))
""",
            """\
def loss(ws, v):
    for w in ws:
        v = jnp.tanh(v * w)
    return (v**2).mean()
some = jax.checkpoint(loss, policy=jax.checkpoint_policies.dots_saveable)
print(jax.grad(some)([x, x], x))
""",
            """\
def loss(ws, v):
    for w in ws:
        v = jnp.tanh(v * w)
    return (v**2).mean()
whole = jax.checkpoint(loss)
def both(ws, v):
    return whole(ws, v) + whole(ws, 2 * v)
print(jax.grad(both)([x, x], x))
""",
            """\
def loss(ws, v):
    for w in ws:
        v = jnp.tanh(v * w)
    return (v**2).mean()
def slope(ws, v):
    return sum(g.sum() for g in jax.grad(jax.checkpoint(loss))(ws, v))
print(jax.grad(slope)([x, x], x))
""",
            """\
@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def loss(w, v):
    return jnp.tanh(w * v).mean()
print(jax.grad(loss)(x, x))
""",
        ),
    ),
    "NNX539": Cases(
        bad=(
            """\
def train(state, load_step, resume, path):
    start = load_step(path) if resume else 0
    k = jax.random.key(0)
    for i in range(start, 10):
        k, sub = jax.random.split(k)  # NNX539
        state = state + jax.random.normal(sub, (3,))
    return state
train(x, int, False, "")
""",
            """\
import os
import pickle
def train(params, path, steps):
    k = jax.random.key(0)
    params, start = jnp.zeros(3), 0
    if os.path.exists(path):
        with open(path, "rb") as file:
            ckpt = pickle.load(file)
        params, start = jnp.asarray(ckpt["params"]), ckpt["step"]
    for step in range(start, steps):
        k, sub = jax.random.split(k)  # NNX539
        params = params + jax.random.normal(sub, (3,))
    return params
train(x, "/nowhere", 3)
""",
            """\
def train(mngr, params, n):
    rng = jax.random.PRNGKey(n)
    rng, first = jax.random.split(rng)
    start = 0
    if mngr.latest_step() is not None:
        start = mngr.latest_step()
        params = mngr.restore(start)
    for step in range(start, n):
        rng, sub, drop = jax.random.split(rng, 3)  # NNX539
        params = params + jax.random.normal(sub, (3,))
    return params
""",
            """\
class Trainer:
    def fit(self, state, epochs):
        rng = jax.random.key(self.seed)
        first_epoch = 0
        if self.resume:
            state, meta = self.load_checkpoint(state)
            first_epoch = meta["epoch"] + 1
        for epoch in range(first_epoch, epochs):
            rng, sub = jax.random.split(rng)  # NNX539
            state = self.epoch(state, sub)
        return state
""",
        ),
        clean=(
            """\
import os
import pickle
def train(params, path, steps):
    k = jax.random.key(0)
    params, start = jnp.zeros(3), 0
    if os.path.exists(path):
        with open(path, "rb") as file:
            ckpt = pickle.load(file)
        params, start = jnp.asarray(ckpt["params"]), ckpt["step"]
    for step in range(start, steps):
        sub = jax.random.fold_in(k, step)
        params = params + jax.random.normal(sub, (3,))
    return params
train(x, "/nowhere", 3)
""",
            """\
import os
import pickle
def train(params, path, steps):
    k = jax.random.key(0)
    params, start = jnp.zeros(3), 0
    if os.path.exists(path):
        with open(path, "rb") as file:
            ckpt = pickle.load(file)
        params, start = jnp.asarray(ckpt["params"]), ckpt["step"]
        k = jax.random.wrap_key_data(ckpt["key"])
    for step in range(start, steps):
        k, sub = jax.random.split(k)
        params = params + jax.random.normal(sub, (3,))
    return params
train(x, "/nowhere", 3)
""",
            """\
import os
import pickle
def train(params, path, steps):
    k = jax.random.key(0)
    params, start = jnp.zeros(3), 0
    if os.path.exists(path):
        with open(path, "rb") as file:
            ckpt = pickle.load(file)
        params, start = jnp.asarray(ckpt["params"]), ckpt["step"]
    for _ in range(start):
        k, _ = jax.random.split(k)
    for step in range(start, steps):
        k, sub = jax.random.split(k)
        params = params + jax.random.normal(sub, (3,))
    return params
train(x, "/nowhere", 3)
""",
            """\
import os
import pickle
def train(params, path, steps):
    k = jax.random.key(0)
    params, start = jnp.zeros(3), 0
    if os.path.exists(path):
        with open(path, "rb") as file:
            ckpt = pickle.load(file)
        params, start = jnp.asarray(ckpt["params"]), ckpt["step"]
    k = jax.random.fold_in(k, start)
    for step in range(start, steps):
        k, sub = jax.random.split(k)
        params = params + jax.random.normal(sub, (3,))
    return params
train(x, "/nowhere", 3)
""",
            """\
def train(params, steps, begin=0):
    k = jax.random.key(0)
    start = 0
    if begin:
        start = begin * 2
    for step in range(start, steps):
        k, sub = jax.random.split(k)
        params = params + jax.random.normal(sub, (3,))
    return params
train(x, 3)
""",
        ),
    ),
}
