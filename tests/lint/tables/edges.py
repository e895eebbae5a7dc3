"""Ends of episodes, labels of padding, derivatives of equations, bounds of probabilities, first rows and heads."""

from __future__ import annotations

from tests.lint.tables import Cases

_STEPS = """\
def advantages(rewards, values, dones, gamma=0.99, lam=0.95):
    def step(carry, now):
        gae, later = carry
        reward, value, done = now
        delta = reward + gamma * later * (1.0 - done) - value
        gae = delta + gamma * lam * gae
        return (gae, value), gae
    return jax.lax.scan(step, (0.0, 0.0), (rewards, values, dones), reverse=True)[1]
print(advantages(x, x, jnp.array([0.0, 1.0, 0.0])))
"""
_SUM = "        gae = delta + gamma * lam * gae\n"
_LOOP = """\
class Buffer:
    def __init__(self, n, gamma=0.99, gae_lambda=0.95):
        self.rewards, self.values, self.dones = np.ones(n), np.ones(n + 1), np.zeros(n)
        self.advantages, self.gamma, self.gae_lambda = np.zeros(n), gamma, gae_lambda
    def finish(self):
        last_gae = 0.0
        for t in reversed(range(len(self.rewards))):
            non_terminal = 1.0 - self.dones[t]
            delta = self.rewards[t] + self.gamma * self.values[t + 1] * non_terminal - self.values[t]
            last_gae = delta + self.gamma * self.gae_lambda * last_gae
            self.advantages[t] = last_gae
        return self.advantages
print(Buffer(3).finish())
"""
_LAST = "            last_gae = delta + self.gamma * self.gae_lambda * last_gae\n"
_ERRORS = """\
def td_errors(rewards, values, not_done, gamma):
    return rewards + gamma * not_done * values[1:] - values[:-1]
def advantages(rewards, values, dones, gamma, lam):
    decay = gamma * lam
    deltas = td_errors(rewards, values, 1.0 - dones, gamma)
    def body(total, delta):
        new = delta + decay * total
        return new, new
    return jax.lax.scan(body, 0.0, deltas, reverse=True)[1]
print(advantages(x, jnp.ones(4), jnp.zeros(3), 0.9, 0.8))
"""

_COLLATE = """\
def collate(sentences, length):
    labels = np.full((len(sentences), length), -100)
    for row, sentence in enumerate(sentences):
        labels[row, : len(sentence)] = sentence
    return {"ids": np.zeros((len(sentences), length), int), "labels": labels}
"""
_BATCH_LOSS = """\
def loss_fn(table, batch):
    logits = table[batch["ids"]]
    return optax.softmax_cross_entropy_with_integer_labels(logits, batch["labels"]).mean()
print(jax.grad(loss_fn)(jnp.eye(3), collate([[1, 2], [0]], 3)))
"""
_TARGETS = """\
IGNORE = -100
def token_losses(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)
def loss_fn(table, ids, lengths):
    labels = jnp.where(jnp.arange(ids.shape[1]) < lengths[:, None], ids, IGNORE)
    losses = token_losses(table[ids], labels)
    return jnp.mean(losses)
print(loss_fn(jnp.eye(3), jnp.zeros((2, 3), int), jnp.array([2, 3])))
"""
_OF_OPTAX = "    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)\n"

_RESIDUAL = """\
def u(params, t):
    return jnp.sum(jnp.tanh(params * t))
def residual(params, t):
    du_dt = jax.grad(u)(params, t)
    return du_dt + u(params, t)
print(residual(x, 0.5))
"""
_GRAD = "    du_dt = jax.grad(u)(params, t)\n"

_CLIPPED = """\
EPS = 1e-8
def cross_entropy(p, y):
    p = jnp.clip(p, EPS, 1 - EPS)
    return -jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(1 - p))
print(cross_entropy(x / 2, x))
"""
_CLIP = "    p = jnp.clip(p, EPS, 1 - EPS)\n"

_EPOCH = """\
def epoch(w, data, batch_size):
    def update(w, i):
        rows = jax.lax.dynamic_slice_in_dim(data, i, batch_size)
        return w - 0.1 * rows.mean(), None
    return jax.lax.scan(update, w, jnp.arange(data.shape[0] // batch_size))[0]
print(epoch(1.0, jnp.arange(8.0), 4))
"""
_SLICE = "        rows = jax.lax.dynamic_slice_in_dim(data, i, batch_size)\n"
_FIT = """\
def fit(images, labels, bs=2):
    total, steps_per_epoch = 0.0, len(images) // bs
    order = np.random.default_rng(0).permutation(len(images))
    for b in range(steps_per_epoch):
        chosen = order[b : b + bs]
        total += float(jnp.sum(images[chosen] - labels[chosen]))
    return total
print(fit(jnp.ones(4), jnp.zeros(4)))
"""


def _marked(text: str, line: str, code: str) -> str:
    """Return a program in which a line is marked with a code."""
    assert line in text
    return text.replace(line, line.rstrip("\n") + f"  # {code}\n")


_TWICE = """\
def advantages(rewards, values, dones, gamma=0.99, lam=0.95):
    def step(carry, now):
        last, next_value = carry
        reward, value, done = now
        nonterminal = 1.0 - done
        delta = reward + gamma * nonterminal * next_value - value
        gae = delta + gamma * lam * nonterminal * last
        return (gae, value), gae
    begun = jnp.zeros(()), values[-1]
    return jax.lax.scan(step, begun, (rewards, values, dones), reverse=True)[1]
print(advantages(jnp.arange(4.0), jnp.ones(4), jnp.array([0.0, 1.0, 0.0, 1.0])))
"""
_IN_LOOP = """\
def advantages(rewards, values, dones, gamma=0.99, lam=0.95):
    found, last = [], 0.0
    for t in reversed(range(3)):
        delta = rewards[t] + gamma * values[t + 1] * (1 - dones[t]) - values[t]
        gae = delta + gamma * lam * (1 - dones[t]) * last
        found.insert(0, gae)
        last = gae
    return jnp.stack(found)
print(advantages(jnp.arange(3.0), jnp.ones(4), jnp.array([0.0, 1.0, 0.0])))
"""
_SAMPLER = """\
STEPS, T = 5, 100
alpha_bar = jnp.cumprod(1.0 - jnp.linspace(1e-4, 0.02, T))
timesteps = jnp.arange(0, T, T // STEPS)
def eps_model(x, t):
    return jnp.sqrt(1.0 - alpha_bar[t]) * x
@jax.jit
def sample(x):
    def body(i, x):
        idx = STEPS - 1 - i
        t = timesteps[idx]
        a = alpha_bar[t]
        eps = eps_model(x, t)
        return (x - jnp.sqrt(1.0 - a) * eps) / jnp.sqrt(a)
    return jax.lax.fori_loop(0, STEPS, body, x)
print(sample(x))
"""
_DENOISER = """\
class Denoiser(nnx.Module):
    def __init__(self, rngs):
        self.layer = nnx.Linear(4, 3, rngs=rngs)
    def __call__(self, x, time):
        return self.layer(jnp.concatenate([x, time[:, None] / 1000], axis=-1))
alphas_cumprod = jnp.cumprod(1.0 - jnp.linspace(1e-4, 0.02, 1000))
def loss(net, x, key):
    now, later = jax.random.split(key)
    t = jax.random.randint(now, (len(x),), 0, 1000)
    a = alphas_cumprod[t][:, None]
    noise = jax.random.normal(later, x.shape)
    return jnp.mean((net(jnp.sqrt(a) * x + jnp.sqrt(1 - a) * noise, t) - noise) ** 2)
@nnx.jit
def sample(net, x):
    times = jnp.arange(0, 1000, 250)[::-1]
    for i, t in enumerate(times):
        a = alphas_cumprod[t]
        eps = net(x, jnp.full((len(x),), t))
        x = (x - jnp.sqrt(1 - a) * eps) / jnp.sqrt(a)
    return x
net = Denoiser(nnx.Rngs(0))
print(loss(net, jnp.ones((2, 3)), key), sample(net, jnp.ones((2, 3))))
"""
_PLACE = "eps = eps_model(x, t)\n", "eps = eps_model(x, idx)\n"
_FOUND = "eps = eps_model(x, t)\n", "eps = eps_model(x, idx)  # NNX529\n"
_FULL = "net(x, jnp.full((len(x),), t))"

_ACTOR = """\
def log_prob(mean, std, action):
    return jnp.sum(-0.5 * ((action - mean) / std) ** 2 - jnp.log(std), axis=-1)
def act(params, obs, key):
    mean, std = obs @ params["w"], jnp.exp(params["s"])
    drawn = mean + std * jax.random.normal(key, mean.shape)
    logp = log_prob(mean, std, drawn)
    return drawn, logp
def loss(params, batch):
    logp = log_prob(batch["obs"] @ params["w"], jnp.exp(params["s"]), batch["action"])
    ratio = jnp.exp(logp - batch["logp"])
    return -jnp.minimum(ratio * batch["adv"], jnp.clip(ratio, 0.8, 1.2) * batch["adv"]).mean()
params = {"w": jnp.ones((3, 2)), "s": jnp.zeros(2)}
obs = jnp.ones((4, 3))
drawn, logp, *_ = act(params, obs, key)
print(loss(params, {"obs": obs, "action": drawn, "logp": logp, "adv": jnp.ones(4)}))
"""
_ACTS = "    return drawn, logp\n"
_POLICY = """\
class Normal:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std
    def sample(self, seed):
        return self.mean + self.std * jax.random.normal(seed, self.mean.shape)
    def log_prob(self, action):
        return jnp.sum(-0.5 * ((action - self.mean) / self.std) ** 2, axis=-1)
def collect(policy, step, obs, keys):
    found = []
    for k in keys:
        dist = policy(obs)
        raw = dist.sample(seed=k)
        old = dist.log_prob(raw)
        action = jnp.clip(raw, -1.0, 1.0)
        obs, reward = step(obs, action)
        found.append({"obs": obs, "action": raw, "log_prob": old, "reward": reward})
    return found
def ratios(policy, kept):
    log_ratio = policy(kept["obs"]).log_prob(kept["action"]) - kept["log_prob"]
    ratio = jnp.exp(log_ratio)
    return ratio
policy = lambda obs: Normal(obs[..., :2], 0.5)
kept = collect(policy, lambda obs, action: (obs, action.sum()), obs=x, keys=jax.random.split(key, 3))
print([ratios(policy, one) for one in kept])
"""

CASES = {
    "NNX662": Cases(
        bad=(
            """\
from flax import linen as nn
class Tagger(nn.Module):
    def setup(self):
        self.there = nn.RNN(nn.GRUCell(4))
        self.back = nn.RNN(nn.GRUCell(4), reverse=True)
        self.out = nn.Dense(2)
    def __call__(self, v):
        both = jnp.concatenate([self.there(v), self.back(v)], axis=-1)  # NNX662
        return self.out(both)
variables = Tagger().init(jax.random.key(0), jnp.ones((1, 5, 3)))
""",
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.there = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), rngs=rngs)
        self.back = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), reverse=True, rngs=rngs)
        self.out = nnx.Linear(8, 2, rngs=rngs)
    def __call__(self, v):
        both = jnp.concatenate([self.there(v), self.back(v)], axis=-1)  # NNX662
        return self.out(both)
print(Tagger(nnx.Rngs(0))(jnp.ones((1, 5, 3))).shape)
""",
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.there = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), rngs=rngs)
        self.back = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), rngs=rngs)
        self.out = nnx.Linear(8, 2, rngs=rngs)
    def __call__(self, v):
        both = jnp.concatenate([self.there(v), self.back(v, reverse=True)], axis=-1)  # NNX662
        return self.out(both)
print(Tagger(nnx.Rngs(0))(jnp.ones((1, 5, 3))).shape)
""",
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.there = nnx.RNN(nnx.LSTMCell(3, 4, rngs=rngs), return_carry=True)
        self.back = nnx.RNN(nnx.LSTMCell(3, 4, rngs=rngs), return_carry=True, reverse=True, keep_order=False)
    def __call__(self, v):
        _, one = self.there(v)
        _, two = self.back(v)
        return jnp.concatenate((one, two), axis=2)  # NNX662
print(Reader(nnx.Rngs(0))(jnp.ones((1, 5, 3))).shape)
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Tagger(nn.Module):
    def setup(self):
        self.there = nn.RNN(nn.GRUCell(4))
        self.back = nn.RNN(nn.GRUCell(4), reverse=True, keep_order=True)
        self.out = nn.Dense(2)
    def __call__(self, v):
        both = jnp.concatenate([self.there(v), self.back(v)], axis=-1)
        return self.out(both)
variables = Tagger().init(jax.random.key(0), jnp.ones((1, 5, 3)))
""",
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.there = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), rngs=rngs)
        self.back = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), reverse=True, keep_order=True, rngs=rngs)
        self.out = nnx.Linear(8, 2, rngs=rngs)
    def __call__(self, v):
        both = jnp.concatenate([self.there(v), self.back(v)], axis=-1)
        return self.out(both)
print(Tagger(nnx.Rngs(0))(jnp.ones((1, 5, 3))).shape)
""",
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.there = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), rngs=rngs)
        self.back = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), reverse=True, rngs=rngs)
        self.out = nnx.Linear(8, 2, rngs=rngs)
    def __call__(self, v):
        both = jnp.concatenate([self.there(v), jnp.flip(self.back(v), axis=1)], axis=-1)
        return self.out(both)
print(Tagger(nnx.Rngs(0))(jnp.ones((1, 5, 3))).shape)
""",
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.there = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), rngs=rngs)
        self.back = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), reverse=True, rngs=rngs)
        self.out = nnx.Linear(8, 2, rngs=rngs)
    def __call__(self, v):
        both = jnp.concatenate([self.there(v), self.back(v)], axis=-1)
        return self.out(both[:, -1])
print(Tagger(nnx.Rngs(0))(jnp.ones((1, 5, 3))).shape)
""",
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.there = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), rngs=rngs)
        self.back = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), reverse=True, rngs=rngs)
        self.out = nnx.Linear(8, 2, rngs=rngs)
    def __call__(self, v):
        both = jnp.concatenate([self.there(v), self.back(v)], axis=-1)
        return self.out(both.mean(axis=1))
print(Tagger(nnx.Rngs(0))(jnp.ones((1, 5, 3))).shape)
""",
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.there = nnx.RNN(nnx.LSTMCell(3, 4, rngs=rngs), return_carry=True)
        self.back = nnx.RNN(nnx.LSTMCell(3, 4, rngs=rngs), return_carry=True, reverse=True, keep_order=False)
    def __call__(self, v):
        _, one = self.there(v)
        _, two = self.back(v)
        return jnp.concatenate((one, two), axis=2)
print(Reader(nnx.Rngs(0))(jnp.ones((1, 5, 3))).shape)
print(Reader(nnx.Rngs(0))(jnp.ones((1, 5, 3)))[:, -1])
""",
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.there = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), rngs=rngs)
        self.back = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), reverse=True, rngs=rngs)
        self.out = nnx.Linear(11, 2, rngs=rngs)
    def __call__(self, v):
        both = jnp.concatenate([v, self.there(v), self.back(v)], axis=-1)
        return self.out(both)
print(Tagger(nnx.Rngs(0))(jnp.ones((1, 5, 3))).shape)
""",
        ),
    ),
    "NNX661": Cases(
        bad=(
            """\
def measure(net, v, labels):
    logits = net(v)
    loss = optax.sigmoid_binary_cross_entropy(logits, labels).mean()
    hits = (logits > 0.5) == (labels > 0.5)  # NNX661
    return loss, hits.mean()
print(measure(model, x, jnp.ones(3)))
""",
            """\
def loss_fn(net, v, labels):
    logits = net(v)
    return optax.sigmoid_binary_cross_entropy(logits, labels).mean(), logits
@nnx.jit
def train_step(net, v, labels):
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(net, v, labels)
    guesses = (logits >= 0.5).astype(jnp.int32)  # NNX661
    return loss, guesses, grads
train_step(model, x, jnp.ones(3))
""",
            """\
class Binary(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 1, rngs=rngs)

    def __call__(self, v):
        return self.fc(v).squeeze(-1)
@nnx.jit
def train_step(net, v, labels):
    def loss_fn(net):
        return optax.sigmoid_binary_cross_entropy(logits=net(v).reshape(-1), labels=labels).mean()
    return nnx.grad(loss_fn)(net)
def accuracy(net, v, labels):
    out = net(v).ravel()
    return (jnp.round(out) == labels).mean()  # NNX661
net = Binary(nnx.Rngs(0))
train_step(net, x[None], jnp.ones(1))
print(accuracy(net, x[None], jnp.ones(1)))
""",
        ),
        clean=(
            """\
def measure(net, v, labels):
    logits = net(v)
    loss = optax.sigmoid_binary_cross_entropy(logits, labels).mean()
    hits = (logits > 0) == (labels > 0.5)
    return loss, hits.mean()
print(measure(model, x, jnp.ones(3)))
""",
            """\
def measure(net, v, labels):
    logits = net(v)
    loss = optax.sigmoid_binary_cross_entropy(logits, labels).mean()
    hits = (nnx.sigmoid(logits) > 0.5) == (labels > 0.5)
    return loss, hits.mean()
print(measure(model, x, jnp.ones(3)))
""",
            """\
def loss_fn(net, v, labels):
    logits = net(v)
    return optax.sigmoid_binary_cross_entropy(logits, labels).mean(), logits
@nnx.jit
def train_step(net, v, labels):
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(net, v, labels)
    guesses = (jax.nn.sigmoid(logits) >= 0.5).astype(jnp.int32)
    return loss, guesses, grads
train_step(model, x, jnp.ones(3))
""",
            """\
class Binary(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 1, rngs=rngs)

    def __call__(self, v):
        return self.fc(v).squeeze(-1)
@nnx.jit
def train_step(net, v, labels):
    def loss_fn(net):
        return optax.sigmoid_binary_cross_entropy(logits=net(v).reshape(-1), labels=labels).mean()
    return nnx.grad(loss_fn)(net)
def accuracy(net, v, labels):
    out = net(v).ravel()
    return ((out > 0) == labels).mean()
net = Binary(nnx.Rngs(0))
train_step(net, x[None], jnp.ones(1))
print(accuracy(net, x[None], jnp.ones(1)))
""",
            """\
class Binary(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 1, rngs=rngs)

    def __call__(self, v, train=False):
        out = self.fc(v).squeeze(-1)
        return out if train else nnx.sigmoid(out)
@nnx.jit
def train_step(net, v, labels):
    def loss_fn(net):
        return optax.sigmoid_binary_cross_entropy(logits=net(v, train=True).reshape(-1), labels=labels).mean()
    return nnx.grad(loss_fn)(net)
def accuracy(net, v, labels):
    out = net(v).ravel()
    return (jnp.round(out) == labels).mean()
net = Binary(nnx.Rngs(0))
train_step(net, x[None], jnp.ones(1))
print(accuracy(net, x[None], jnp.ones(1)))
""",
            """\
def measure(net, v, labels):
    logits = net(v)
    loss = optax.sigmoid_binary_cross_entropy(logits, labels).mean()
    return loss, (labels > 0.5).mean(), (jnp.abs(v) > 0.5).sum()
print(measure(model, x, jnp.ones(3)))
""",
        ),
    ),
    "NNX660": Cases(
        bad=(
            """\
class Attention(nnx.Module):
    def __init__(self, dim, heads, rngs):
        self.heads = heads
        self.qkv = nnx.Linear(dim, 3 * dim, rngs=rngs)
        self.out = nnx.Linear(dim, dim, rngs=rngs)
    def __call__(self, v):
        b, t, c = v.shape
        q, k, u = jnp.split(self.qkv(v), 3, axis=-1)
        q = q.reshape(b, t, self.heads, c // self.heads).transpose(0, 2, 1, 3)
        k = k.reshape(b, t, self.heads, c // self.heads).transpose(0, 2, 1, 3)
        u = u.reshape(b, t, self.heads, c // self.heads).transpose(0, 2, 1, 3)
        y = nnx.dot_product_attention(q, k, u)  # NNX660
        return self.out(y.transpose(0, 2, 1, 3).reshape(b, t, c))
print(Attention(8, 2, nnx.Rngs(0))(jnp.ones((1, 4, 8))).shape)
""",
            """\
class Attention(nnx.Module):
    def __init__(self, dim, heads, rngs):
        self.heads = heads
        self.qkv = nnx.Linear(dim, 3 * dim, rngs=rngs)
        self.out = nnx.Linear(dim, dim, rngs=rngs)
    def __call__(self, v):
        b, t, c = v.shape
        qkv = self.qkv(v).reshape(b, t, 3, self.heads, c // self.heads)
        q, k, u = jnp.transpose(qkv, (2, 0, 3, 1, 4))
        y = jax.nn.dot_product_attention(q, k, u, is_causal=True)  # NNX660
        return self.out(jnp.swapaxes(y, 1, 2).reshape(b, t, c))
print(Attention(8, 2, nnx.Rngs(0))(jnp.ones((1, 4, 8))).shape)
""",
            """\
class Attention(nnx.Module):
    def __init__(self, dim, heads, rngs):
        self.heads = heads
        self.qkv = nnx.Linear(dim, 3 * dim, rngs=rngs)
        self.out = nnx.Linear(dim, dim, rngs=rngs)
    def turned(self, v):
        return v * jnp.cos(jnp.arange(v.shape[-2]))[:, None]
    def __call__(self, v, q, k, u):
        q, k = self.turned(q), self.turned(k)
        y = jax.nn.dot_product_attention(query=q, key=k, value=u)  # NNX660
        b, h, t, d = q.shape
        return self.out(y.swapaxes(1, 2).reshape(b, t, h * d))
""",
            """\
from einops import rearrange
class Attention(nnx.Module):
    def __init__(self, dim, heads, rngs):
        self.heads = heads
        self.qkv = nnx.Linear(dim, 3 * dim, rngs=rngs)
    def __call__(self, v):
        v = rearrange(self.qkv(v), "b t (c h k) -> k b h t c", k=3, h=self.heads)
        q, k, u = v[0], v[1], v[2]
        y = nnx.dot_product_attention(q, k, u)  # NNX660
        return rearrange(y, "b h t c -> b t (h c)")
""",
        ),
        clean=(
            """\
class Attention(nnx.Module):
    def __init__(self, dim, heads, rngs):
        self.heads = heads
        self.qkv = nnx.Linear(dim, 3 * dim, rngs=rngs)
        self.out = nnx.Linear(dim, dim, rngs=rngs)
    def __call__(self, v):
        b, t, c = v.shape
        q, k, u = jnp.split(self.qkv(v), 3, axis=-1)
        q = q.reshape(b, t, self.heads, c // self.heads)
        k = k.reshape(b, t, self.heads, c // self.heads)
        u = u.reshape(b, t, self.heads, c // self.heads)
        y = nnx.dot_product_attention(q, k, u)
        return self.out(y.reshape(b, t, c))
print(Attention(8, 2, nnx.Rngs(0))(jnp.ones((1, 4, 8))).shape)
""",
            """\
class Attention(nnx.Module):
    def __init__(self, dim, heads, rngs):
        self.heads = heads
        self.qkv = nnx.Linear(dim, 3 * dim, rngs=rngs)
        self.out = nnx.Linear(dim, dim, rngs=rngs)
    def __call__(self, v):
        b, t, c = v.shape
        qkv = self.qkv(v).reshape(b, t, 3, self.heads, c // self.heads)
        q, k, u = jnp.transpose(qkv, (2, 0, 1, 3, 4))
        y = jax.nn.dot_product_attention(q, k, u, is_causal=True)
        return self.out(y.reshape(b, t, c))
print(Attention(8, 2, nnx.Rngs(0))(jnp.ones((1, 4, 8))).shape)
""",
            """\
class Attention(nnx.Module):
    def __init__(self, dim, heads, rngs):
        self.heads = heads
        self.qkv = nnx.Linear(dim, 3 * dim, rngs=rngs)
        self.out = nnx.Linear(dim, dim, rngs=rngs)
    def __call__(self, v):
        b, t, c = v.shape
        q, k, u = jnp.split(self.qkv(v), 3, axis=-1)
        q = q.reshape(b, t, self.heads, c // self.heads).transpose(0, 2, 1, 3)
        k = k.reshape(b, t, self.heads, c // self.heads).transpose(0, 2, 1, 3)
        u = u.reshape(b, t, self.heads, c // self.heads).transpose(0, 2, 1, 3)
        y = nnx.dot_product_attention(*(z.swapaxes(1, 2) for z in (q, k, u))).swapaxes(1, 2)
        return self.out(y.transpose(0, 2, 1, 3).reshape(b, t, c))
print(Attention(8, 2, nnx.Rngs(0))(jnp.ones((1, 4, 8))).shape)
""",
            """\
class Attention(nnx.Module):
    def __init__(self, dim, heads, rngs):
        self.heads = heads
        self.qkv = nnx.Linear(dim, 3 * dim, rngs=rngs)
        self.out = nnx.Linear(dim, dim, rngs=rngs)
    def __call__(self, v):
        b, t, c = v.shape
        q, k, u = jnp.split(self.qkv(v), 3, axis=-1)
        q = q.reshape(b, t, self.heads, c // self.heads).transpose(0, 2, 1, 3)
        k = k.reshape(b, t, self.heads, c // self.heads).transpose(0, 2, 1, 3)
        u = u.reshape(b, t, self.heads, c // self.heads).transpose(0, 2, 1, 3)
        y = jax.nn.dot_product_attention(q.swapaxes(1, 2), k.swapaxes(1, 2), u.swapaxes(1, 2)).swapaxes(1, 2)
        return self.out(y.transpose(0, 2, 1, 3).reshape(b, t, c))
print(Attention(8, 2, nnx.Rngs(0))(jnp.ones((1, 4, 8))).shape)
""",
            """\
class Attention(nnx.Module):
    def __init__(self, dim, heads, rngs):
        self.heads = heads
        self.qkv = nnx.Linear(dim, 3 * dim, rngs=rngs)
        self.out = nnx.Linear(dim, dim, rngs=rngs)
    def turned(self, v):
        return v * jnp.cos(jnp.arange(v.shape[-2]))[:, None]
    def __call__(self, v, q, k, u):
        q, k = self.turned(q), self.turned(k)
        y = jax.nn.dot_product_attention(query=q, key=k, value=u)
        b, h, t, d = q.shape
        return self.out(y.reshape(b, t, h * d))
""",
            """\
class Attention(nnx.Module):
    def __init__(self, dim, heads, rngs):
        self.heads = heads
        self.qkv = nnx.Linear(dim, 3 * dim, rngs=rngs)
        self.out = nnx.Linear(dim, dim, rngs=rngs)
    def heads_of(self, v):
        return v.reshape(*v.shape[:2], self.heads, -1)
    def __call__(self, v):
        q, k, u = (self.heads_of(z) for z in jnp.split(self.qkv(v), 3, axis=-1))
        y = nnx.dot_product_attention(q, k, u)
        per_head = y.transpose(0, 2, 1, 3)
        return self.out(y.reshape(v.shape)), per_head
print(Attention(8, 2, nnx.Rngs(0))(jnp.ones((1, 4, 8)))[1].shape)
""",
        ),
    ),
    "NNX527": Cases(
        bad=(
            _TWICE.replace("return (gae, value), gae", "return (gae * nonterminal, value), gae  # NNX527"),
            _TWICE.replace("        return (gae,", "        last = gae * nonterminal  # NNX527\n        return (last,"),
            _TWICE.replace(
                "        return (gae,",
                "        onward = jnp.where(done, 0.0, gae)  # NNX527\n        return (onward,",
            ),
            _TWICE.replace("gamma * lam * nonterminal * last", "gamma * lam * jnp.where(done, 0.0, last)").replace(
                "return (gae, value), gae", "return ((1.0 - done) * gae, value), gae  # NNX527"
            ),
            _IN_LOOP.replace("last = gae\n", "last = gae * (1 - dones[t])  # NNX527\n"),
            _IN_LOOP.replace("        gae = delta", "        last = delta")
            .replace("(0, gae)", "(0, last)")
            .replace("last = gae\n", "last *= 1 - dones[t]  # NNX527\n"),
        ),
        clean=(
            _TWICE,
            _IN_LOOP,
            # once, in the other place
            _TWICE.replace("lam * nonterminal * last", "lam * last").replace(
                "return (gae, value)", "return (gae * nonterminal, value)"
            ),
            _TWICE.replace("lam * nonterminal * last", "lam * last").replace(
                "return (gae, value)", "return (jnp.where(done, gae, gae), value)"
            ),
            # two flags
            _TWICE.replace("reward, value, done = now", "reward, value, done, truncated = now")
            .replace("return (gae, value)", "return (gae * (1.0 - truncated), value)")
            .replace("(rewards, values, dones)", "(rewards, values, dones, dones)"),
            # the flag of the step before
            _IN_LOOP.replace("last = gae\n", "last = gae * (1 - dones[t - 1])\n"),
            # a mask of padding, which the flag of the end stands beside
            _TWICE.replace("reward, value, done = now", "reward, value, done, mask = now")
            .replace("return (gae, value)", "return (gae * mask, value)")
            .replace("(rewards, values, dones)", "(rewards, values, dones, dones)"),
            # what is put out is masked, not what is carried
            _TWICE.replace("return (gae, value), gae", "return (gae, value), gae * nonterminal"),
            # flags of steps behind the end, which nothing bootstraps from
            _TWICE.replace("gamma * nonterminal * next_value", "gamma * next_value").replace(
                "return (gae, value)", "return (gae * nonterminal, value)"
            ),
        ),
    ),
    "NNX529": Cases(
        bad=(
            _SAMPLER.replace(*_FOUND),
            _SAMPLER.replace("jnp.arange(0, T, T // STEPS)", "np.linspace(0, T - 1, STEPS).round().astype(int)")
            .replace("timesteps[idx]", "jnp.asarray(timesteps)[idx]")
            .replace("eps_model(x, t)\n        ret", "eps_model(x, t=idx)  # NNX529\n        ret"),
            _DENOISER.replace(_FULL, "net(x, jnp.full((len(x),), i))  # NNX529"),
            _DENOISER.replace("for i, t in enumerate(times):", "for i in range(4):\n        t = times[i]").replace(
                _FULL, "net(x, jnp.ones(len(x)) * i)  # NNX529"
            ),
        ),
        clean=(
            _SAMPLER,
            _DENOISER,
            # every time, so that the place is the time
            _SAMPLER.replace("jnp.arange(0, T, T // STEPS)", "jnp.arange(T)").replace(*_PLACE),
            # a model that looks the time up itself
            _SAMPLER.replace("sqrt(1.0 - alpha_bar[t])", "sqrt(1.0 - alpha_bar[timesteps[t]])").replace(*_PLACE),
            # one that is trained with places
            _DENOISER.replace("0, 1000)\n", "0, 4)\n")
            .replace("alphas_cumprod[t][:", "alphas_cumprod[jnp.arange(0, 1000, 250)[::-1][t]][:")
            .replace(_FULL, "net(x, jnp.full((len(x),), i))"),
            # the place beside the time, and one that is no time
            _SAMPLER.replace("def eps_model(x, t):", "def eps_model(x, t, number):").replace(
                "eps_model(x, t)\n        ret", "eps_model(x, t, idx)\n        ret"
            ),
            _DENOISER.replace("x = (x - jnp", "log(x, i)\n        x = (x - jnp").replace(
                "net = Den", 'def log(x, t):\n    jax.debug.print("{} {}", t, x.mean())\nnet = Den'
            ),
        ),
    ),
    "NNX530": Cases(
        bad=(
            _ACTOR.replace(_ACTS, "    action = jnp.clip(drawn, -1.0, 1.0)\n    return action, logp  # NNX530\n"),
            _ACTOR.replace(
                _ACTS, "    bounded = jnp.clip(drawn, min=-1.0, max=1.0)\n    return bounded, logp, mean  # NNX530\n"
            ),
            _POLICY.replace('"action": raw,', '"action": action,').replace("reward})", "reward})  # NNX530"),
            _POLICY.replace(
                'found.append({"obs": obs, "action": raw, "log_prob": old, "reward": reward})',
                "found.append(dict(obs=obs, action=action, log_prob=old, reward=reward))  # NNX530",
            ),
        ),
        clean=(
            _ACTOR,
            _POLICY,
            # both are handed out, and what is kept is chosen elsewhere
            _ACTOR.replace(_ACTS, "    action = jnp.clip(drawn, -1.0, 1.0)\n    return drawn, logp, action\n"),
            # the probability is of the clipped one
            _ACTOR.replace("    logp = log_prob(mean, std, drawn)\n", "").replace(
                _ACTS,
                "    action = jnp.clip(drawn, -1.0, 1.0)\n    logp = log_prob(mean, std, action)\n"
                "    return action, logp\n",
            ),
            _ACTOR.replace("drawn = mean + std", "drawn = jnp.clip(mean, -2.0, 2.0) + std"),
            # bounds that keep a logarithm finite
            _ACTOR.replace(_ACTS, "    action = jnp.clip(drawn, -1.0 + 1e-6, 1.0 - 1e-6)\n    return action, logp\n"),
            # no ratio of probabilities is taken
            _ACTOR.replace(_ACTS, "    action = jnp.clip(drawn, -1.0, 1.0)\n    return action, logp\n").replace(
                'jnp.exp(logp - batch["logp"])', 'logp - batch["logp"]'
            ),
        ),
    ),
    "NNX941": Cases(
        bad=(
            _marked(_STEPS, _SUM, "NNX941"),
            _marked(_LOOP, _LAST, "NNX941"),
            _marked(_ERRORS, "        new = delta + decay * total\n", "NNX941"),
            """\
def advantages(rewards, values, dones, gamma, lam):
    n = rewards.shape[0]
    found = jnp.zeros(n + 1)
    for t in range(n - 1, -1, -1):
        delta = rewards[t] + gamma * jnp.where(dones[t], 0.0, values[t + 1]) - values[t]
        found = found.at[t].set(delta + gamma * lam * found[t + 1])
    return found[:-1]
print(advantages(x, jnp.ones(4), jnp.zeros(3), 0.9, 0.8))
""".replace("found", "adv").replace("adv[t + 1])\n", "adv[t + 1])  # NNX941\n"),
            """\
def advantages(traj, last_value, config):
    def step(carry, ts):
        adv, later = carry
        delta = ts.reward + config["GAMMA"] * ts.discount * later - ts.value
        adv = delta + config["GAMMA"] * config["GAE_LAMBDA"] * adv  # NNX941
        return (adv, ts.value), adv
    return jax.lax.scan(step, (0.0, last_value), traj, reverse=True)[1]
""",
            """\
class Agent:
    def advantages(self, batch, last):
        r, v, d = batch["rewards"], batch["values"], batch["dones"]
        def step(carry, now):
            a, later = carry
            reward, value, over = now
            td = reward + self.gamma * later * jnp.logical_not(over) - value
            a = td + self.gamma * self.lam * a  # NNX941
            return (a, value), a
        return jax.lax.scan(step, (jnp.zeros_like(last), last), (r, v, d), reverse=True)[1]
""",
        ),
        clean=(
            _STEPS.replace("lam * gae\n", "lam * (1.0 - done) * gae\n"),
            _STEPS.replace(_SUM, _SUM + "        gae = jnp.where(done, delta, gae)\n"),
            _LOOP.replace("gae_lambda * last_gae\n", "gae_lambda * non_terminal * last_gae\n"),
            _LOOP.replace(_LAST, "            if self.dones[t]:\n                last_gae = 0.0\n" + _LAST),
            _LOOP.replace("* non_terminal - self", "- self"),
            _ERRORS.replace("decay * total\n", "decay * total * (delta < 9)\n"),
            """\
def advantages(rewards, values, dones, gamma, lam):
    discounts = gamma * (1.0 - dones)
    deltas = rewards + discounts * values[1:] - values[:-1]
    def body(total, now):
        delta, discount = now
        total = delta + discount * lam * total
        return total, total
    return jax.lax.scan(body, 0.0, (deltas, discounts), reverse=True)[1]
print(advantages(x, jnp.ones(4), jnp.zeros(3), 0.9, 0.8))
""",
            """\
def advantages(rewards, values, dones, gamma, lam):
    def body(gae, now):
        reward, value, later, done = now
        delta = reward + gamma * (1.0 - done) * later - value
        gae = delta + gamma * lam * gae
        return gae * (1.0 - done), gae
    return jax.lax.scan(body, 0.0, (rewards, values[:-1], values[1:], dones), reverse=True)[1]
print(advantages(x, jnp.ones(4), jnp.zeros(3), 0.9, 0.8))
""",
            _LOOP
            + """\
def episode(buffer, done=False):
    while not done:
        done = len(buffer) > 1
        buffer.append((1.0, done))
    return buffer
print(episode([]))
""",
        ),
    ),
    "NNX942": Cases(
        bad=(
            _COLLATE + _BATCH_LOSS.replace('batch["labels"]).mean()\n', 'batch["labels"]).mean()  # NNX942\n'),
            _marked(_TARGETS, _OF_OPTAX, "NNX942"),
            """\
def pad_labels(rows, n):
    return np.stack([np.pad(row, (0, n - len(row)), constant_values=-100) for row in rows])
def nll(logits, labels):
    log_p = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(log_p, labels[..., None], axis=-1).mean()  # NNX942
print(nll(jnp.zeros((2, 4, 5)), jnp.asarray(pad_labels([np.arange(2), np.arange(3)], 4))))
""",
            """\
def prepare(example, ids, length):
    example["labels"] = ids + [-100] * (length - len(ids))
    return example
def train_step(params, batch):
    labels = batch.pop("labels")
    def loss_fn(params):
        ce = optax.softmax_cross_entropy_with_integer_labels(logits=params, labels=labels)  # NNX942
        return ce.mean()
    return jax.value_and_grad(loss_fn)(params)
""",
            """\
def shifted(ids):
    return jnp.roll(ids, -1, axis=1).at[:, -1].set(-100)
def loss_fn(table, ids):
    ce = optax.softmax_cross_entropy_with_integer_labels(table[ids], shifted(ids))  # NNX942
    return ce.mean()
""",
        ),
        clean=(
            _COLLATE.replace("-100", "0") + _BATCH_LOSS,
            _COLLATE + _BATCH_LOSS.replace('batch["labels"]).mean()', 'jnp.maximum(batch["labels"], 0)).mean()'),
            _COLLATE
            + _BATCH_LOSS.replace('batch["labels"]).mean()', 'batch["labels"]).mean(where=batch["labels"] >= 0)'),
            _TARGETS.replace(
                "    return jnp.mean(losses)\n", "    return jnp.where(labels == IGNORE, 0, losses).sum()\n"
            ),
            _TARGETS.replace("(losses)\n", "(losses, where=jnp.arange(3) < lengths[:, None])\n"),
            _TARGETS.replace("(losses)\n", "(jnp.nan_to_num(losses))\n"),
            _TARGETS.replace("IGNORE = -100", "IGNORE = 0"),
            """\
def loss_fn(logits, allowed, labels):
    logits = jnp.where(allowed, logits, -100)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
print(loss_fn(jnp.zeros((2, 3)), jnp.array([True, True, False]), jnp.array([0, 1])))
""",
            _COLLATE
            + """\
def known(batch):
    labels = batch["labels"]
    return np.where(labels == -100, 0, labels)
def loss_fn(table, batch):
    labels = known(batch)
    return optax.softmax_cross_entropy_with_integer_labels(table[batch["ids"]], labels).mean()
print(loss_fn(jnp.eye(3), collate([[1, 2], [0]], 3)))
""",
        ),
    ),
    "NNX943": Cases(
        bad=(
            """\
def u(params, x, t):
    return jnp.tanh(params["w"] * x + t).sum()
def residual(params, x, t):
    u_t = jax.grad(u, argnums=1)(params, x, t)  # NNX943
    u_x = jax.grad(u, argnums=1)(params, x, t)
    return u_t + u_x
""",
            """\
def net(params, x, y):
    return jnp.tanh(params * x + y)
def laplace(params, x, y):
    u_xx = jax.grad(jax.grad(net, 1), 1)(params, x, y)
    u_yy = jax.grad(jax.grad(net, 2), 1)(params, x, y)  # NNX943
    return u_xx + u_yy
""",
            """\
def f(x, t):
    return x * t
df_dx = jax.grad(f, argnums=1)  # NNX943
""",
            _marked(_RESIDUAL, _GRAD, "NNX943"),
            """\
u = lambda theta, x: jnp.sum(theta * x)
def loss_fn(theta, xs):
    u_x = jax.vmap(jax.grad(u), in_axes=(None, 0))(theta, xs)  # NNX943
    return jnp.mean(u_x ** 2)
""",
            """\
class Pinn:
    def net(self, params, t):
        return jnp.sum(jnp.tanh(params * t))
    def residual(self, params, t):
        u, u_t = jax.value_and_grad(self.net)(params, t)  # NNX943
        return u_t + u
""",
            """\
def energy(params, positions):
    return jnp.sum(params * positions ** 2)
def forces(params, positions):
    gradient = jax.grad(energy)  # NNX943
    dE_dpositions = gradient(params, positions)
    return -dE_dpositions
""",
            """\
def u(params, x):
    return jnp.sum(jnp.sin(params * x))
@jax.jit
def du_dx(params, x):
    return jax.grad(u)(params, x)  # NNX943
""",
            """\
def make(u):
    def residual(params, t):
        dudt = jax.grad(u)(params, t)  # NNX943
        return dudt + u(params, t)
    return residual
""",
        ),
        clean=(
            """\
def u(params, x, t):
    return jnp.tanh(params["w"] * x + t).sum()
def residual(params, x, t):
    u_t = jax.grad(u, argnums=2)(params, x, t)
    u_xx = jax.grad(jax.grad(u, argnums=1), argnums=1)(params, x, t)
    return u_t - u_xx
assert residual({"w": 1.0}, 0.5, 0.5).shape == ()
""",
            """\
def f(x, t):
    return x * t
df_dt = jax.grad(f, argnums=1)
assert df_dt(2.0, 3.0) == 2.0
""",
            """\
def force(m, x, v):
    return m * x * v
x_v = jax.grad(force, argnums=1)(1.0, 2.0, 3.0)
assert x_v == 3.0
""",
            _RESIDUAL.replace("jax.grad(u)", "jax.grad(u, argnums=1)"),
            _RESIDUAL.replace("jax.grad(u)", "jax.grad(u, 1)"),
            _RESIDUAL.replace("du_dt", "du_dparams"),
            _RESIDUAL.replace("jax.grad(u)(params, t)", "jax.grad(partial(u, params))(t)"),
            """\
def energy(q, p, t):
    return jnp.sum(q ** 2 + p ** 2) * t
def motion(q, p, t):
    dq_dt = jax.grad(energy, argnums=1)(q, p, t)
    dp_dt = jax.grad(energy)(q, p, t)
    return dq_dt, -dp_dt
print(motion(x, x, 1.0))
""",
            """\
def loss(params, t):
    return jnp.sum(params ** 2) * t
def flow(params, t):
    dparams_dt = jax.grad(loss)(params, t)
    return -dparams_dt
print(flow(x, 1.0))
""",
            """\
def u(x, params):
    return jnp.sum(jnp.sin(params * x))
def du_dx(x, params):
    return jax.grad(u)(x, params)
print(du_dx(0.5, x))
""",
        ),
    ),
    "NNX944": Cases(
        bad=(
            _marked(_CLIPPED, _CLIP, "NNX944"),
            """\
def log_odds(u, eps=1e-12):
    u = jnp.minimum(jnp.maximum(u, eps), 1.0 - eps)  # NNX944
    return jnp.log(u) - jnp.log1p(-u)
""",
            """\
class Loss:
    def __init__(self, eps=1e-10):
        self.eps = eps
    def __call__(self, logits, y):
        p = jax.lax.clamp(self.eps, jax.nn.sigmoid(logits), 1 - self.eps)  # NNX944
        rest = 1.0 - p
        return -jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(rest))
print(Loss()(jnp.zeros(3), jnp.ones(3)))
""",
            """\
def clipped(p, eps):
    return jnp.clip(p, min=eps, max=1 - eps)  # NNX944
def focal(p, y):
    p = clipped(p, 1e-9)
    return -jnp.mean(y * jnp.log(p) + (1 - y) * p ** 2 * jnp.log(1.0 - p))
""",
            """\
@jax.jit
def log_prob(action):
    action = jnp.tanh(action).clip(-1 + 1e-8, 1 - 1e-8)  # NNX944
    return jnp.arctanh(action)
""",
            """\
def correction(before, config):
    action = jnp.tanh(before)
    action = jnp.clip(action, -1.0 + config["eps"], 1.0 - config["eps"])  # NNX944
    return jnp.log(1 - action ** 2).sum()
print(correction(x, {"eps": 1e-9}))
""",
        ),
        clean=(
            _CLIPPED.replace("1e-8", "1e-6"),
            _CLIPPED.replace("jnp.log(1 - p)", "jnp.log(1 - p + EPS)"),
            _CLIPPED.replace("(1 - y) * jnp.log(1 - p)", "(1 - y) * (1 - p)"),
            _CLIPPED.replace("jnp.clip", "np.clip").replace("jnp.log", "np.log"),
            "def noise(key):\n"
            "    u = jnp.clip(jax.random.uniform(key, (3,)), 1e-8, 1 - 1e-8)\n"
            "    return jnp.log(u) - jnp.log(1 - u)\n"
            "print(noise(key))\n",
            "def entropy(p):\n    p = jnp.clip(p, 1e-8, 1.0)\n    return -jnp.sum(p * jnp.log(p))\n"
            "print(entropy(x / 3))\n",
            """\
def cross_entropy(p, y, eps=1e-8):
    p = jnp.clip(p, eps, 1 - eps)
    return -jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(1 - p))
print(cross_entropy(x / 2, x, eps=1e-5))
""",
        ),
    ),
    "NNX945": Cases(
        bad=(
            _marked(_EPOCH, _SLICE, "NNX945"),
            _marked(_FIT, "        chosen = order[b : b + bs]\n", "NNX945"),
            """\
class Trainer:
    def __init__(self, minibatch_size):
        self.minibatch_size = minibatch_size
    def run(self, state, data, order, num_minibatches):
        def update(i, state):
            rows = jax.lax.dynamic_slice(order, (i,), (self.minibatch_size,))  # NNX945
            return state + data[rows].mean()
        return jax.lax.fori_loop(0, num_minibatches, update, state)
""",
            """\
def batch_of(data, i, batch_size):
    return {name: jax.lax.dynamic_slice_in_dim(v, i, batch_size) for name, v in data.items()}  # NNX945
def run(step, params, data, batch_size):
    for i in range(math.ceil(data["x"].shape[0] / batch_size)):
        params = step(params, batch_of(data, i, batch_size))
    return params
""",
            """\
def accuracy(predict, images, labels, size=64):
    correct = 0
    for i in range(0, images.shape[0] // size):
        some, right = images[i : i + size], labels[i * size : (i + 1) * size]  # NNX945
        correct += jnp.sum(predict(some) == right)
    return correct
""",
        ),
        clean=(
            _EPOCH.replace("data, i, batch_size", "data, i * batch_size, batch_size"),
            _EPOCH.replace("jnp.arange(data.shape[0] // batch_size)", "jnp.arange(0, data.shape[0], batch_size)"),
            _EPOCH.replace(_SLICE, "        i = i * batch_size\n" + _SLICE),
            _FIT.replace("b : b + bs", "b * bs : (b + 1) * bs"),
            _FIT.replace("range(steps_per_epoch)", "range(0, len(images), bs)"),
            """\
def windows(series, window):
    total = 0.0
    for i in range(len(series) - window):
        total += float(series[i : i + window].mean() - series[i + window])
    return total
print(windows(jnp.arange(6.0), 2))
""",
            """\
def train(n_updates, w, window_size=2):
    def update(i, w):
        return w - 0.1 * jax.lax.dynamic_slice_in_dim(jnp.arange(8.0), i, window_size).mean()
    return jax.lax.fori_loop(0, n_updates, update, w)
print(train(3, 1.0))
""",
        ),
    ),
}
