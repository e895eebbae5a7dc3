"""What is learned by which formula: divergences, averages, decay, and what is measured on the way."""

from __future__ import annotations

from tests.lint.tables import Cases

_DISTILLED = """\
def distill(student, teacher, v):
    log_p = nnx.log_softmax(student(v) / 2.0)
    q = jax.lax.stop_gradient(jax.nn.softmax(teacher(v) / 2.0))
    return optax.kl_divergence(log_p, q).mean()
print(distill(model, model, x))
"""
_SOFT = """\
def soft_update(net, target, tau):
    new, old = nnx.state(net, nnx.Param), nnx.state(target, nnx.Param)
    mixed = jax.tree.map(lambda n, o: tau * n + (1 - tau) * o, new, old)
    nnx.update(target, mixed)
slow = nnx.clone(model)
for _ in range(3):
    soft_update(model, slow, 0.01)
"""
_MOVING = """\
def ema_update(ema, params, ema_decay):
    return jax.tree.map(lambda e, p: e * ema_decay + p * (1 - ema_decay), ema, params)
weights = {"w": x}
weights = ema_update(weights, {"w": x * 2}, float(x[0]))
"""
_STEP_OF = """\
online, target = {"w": x}, {"w": x * 2}
target = optax.incremental_update(online, target, 0.005)
"""
_DECAYED = """\
weights = nnx.state(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.Param)
def decays(params):
    return jax.tree.map(lambda p: p.ndim > 1, params)
tx = optax.adamw(0.1, weight_decay=0.1, mask=decays)
tx.init(weights)
"""
_BY_NAME = _DECAYED.replace(
    "jax.tree.map(lambda p: p.ndim > 1, params)",
    "jax.tree_util.tree_map_with_path(lambda path, p: not any(n in str(path) for n in ('bias', 'b')), params)",
)
_OF_DICT = """\
from flax.traverse_util import flatten_dict, unflatten_dict
def decays(params):
    flat = flatten_dict(params)
    return unflatten_dict({path: path[-1] not in ("bias", "scale") for path in flat})
tx = optax.masked(optax.add_decayed_weights(0.1), decays)
tx.init({"fc": {"kernel": x, "bias": x}})
"""
_SPARED = _DECAYED.replace(
    "def decays(",
    """\
def spared(path):
    name = jax.tree_util.keystr(path)
    return "bias" in name or "scale" in name
def decays(""",
).replace(
    "jax.tree.map(lambda p: p.ndim > 1, params)",
    "jax.tree_util.tree_map_with_path(lambda path, p: not spared(path), params)",
)
_EARLY = _DECAYED.replace(
    "def decays(",
    """\
def chosen(path, p):
    name = jax.tree_util.keystr(path)
    if "bias" in name or "scale" in name:
        return False
    return p.ndim > 1
def decays(""",
).replace("jax.tree.map(lambda p: p.ndim > 1, params)", "jax.tree_util.tree_map_with_path(chosen, params)")
_NCE = """\
def nce(a, b, temperature=0.07):
    logits = a @ b.T / temperature
    return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(len(a))).mean()
rows = jnp.eye(3)
print(nce(rows, rows))
"""
_MARK = "mask=decays)  # NNX924"
_CODED = """\
def loss_fn(recon, v, mu, logvar, beta):
    error = optax.l2_loss(recon, v).sum(-1)
    kl = -0.5 * jnp.sum(1 + logvar - jnp.square(mu) - jnp.exp(logvar), axis=-1)
    return jnp.mean(error + beta * kl)
loss_fn(x, x, x, x, 0.5)
"""
_RETURN = "    return jnp.mean(error + beta * kl)\n"
_WRONG_CODE = "    return jnp.mean(error + beta * kl)  # NNX925\n"
_TRIED = """\
def loss_fn(logits, logp, old, adv):
    ratio = jnp.exp(logp - old)
    surrogate = jnp.minimum(ratio * adv, jnp.clip(ratio, 0.8, 1.2) * adv)
    log_probs = jax.nn.log_softmax(logits)
    entropy = -(jnp.exp(log_probs) * log_probs).sum(-1)
    return -surrogate.mean() - 0.01 * entropy.mean()
loss_fn(x, x, x, x)
"""
_MEASURED = """\
@nnx.jit
def eval_step(net, metrics, v):
    metrics.update(values=net(v))
def evaluate(net):
    metrics = nnx.metrics.Average()
    for v in batches:
        eval_step(net, metrics, v)  # NNX901
    return metrics.compute()
evaluate(model)
"""
_FIRST = "    metrics = nnx.metrics.Average()\n"
_TOTAL = """\
total = 0.0
for v in batches:
    total += v.sum()
print(total / len(batches))
"""
_BLOCKS = """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.LayerNorm(8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(2, 8, decode=False, rngs=rngs)
    def __call__(self, h, mask=None):
        return h + self.attn(self.norm(h))
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(9, 8, rngs=rngs)
        self.first, self.second = Block(rngs), Block(rngs)
    def __call__(self, tokens):
        h = self.embed(tokens)
        for block in (self.first, self.second):
            h = block(h)
        return self.embed.attend(h)
def loss_fn(net, tokens):
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    ce = optax.softmax_cross_entropy_with_integer_labels(net(inputs), targets)
    return ce.mean()
decoder, tokens = Decoder(nnx.Rngs(0)), jnp.ones((2, 5), int)
loss, grads = nnx.value_and_grad(loss_fn)(decoder, tokens)
"""
_SEEN = _BLOCKS.replace("self.norm(h))\n", "self.norm(h))  # NNX927\n")
_OWN = """\
class Head(nnx.Module):
    def __init__(self, rngs):
        self.qkv = nnx.Linear(8, 24, rngs=rngs)
    def __call__(self, h):
        q, k, v = (part[:, :, None] for part in jnp.split(self.qkv(h), 3, -1))
        return h + jax.nn.dot_product_attention(q, k, v)[:, :, 0]
"""
_HEADS = _OWN + _BLOCKS[_BLOCKS.index("class Decoder") :].replace("Block(rngs)", "Head(rngs)")
_BEST = """\
def train(net, losses):
    best, best_params = float("inf"), None
    for loss in losses:
        if loss < best:
            best = loss
            best_params = jax.tree.map(jnp.copy, nnx.state(net))
    nnx.update(net, best_params)
    return net, best
train(model, [3.0, 1.0, 2.0])
"""
_LEFT = _BEST.replace("nnx.state(net))\n", "nnx.state(net))  # NNX928\n").replace(
    "    nnx.update(net, best_params)\n", ""
)
_PAIRED = """\
def nt_xent(net, a, b, temperature):
    z = jnp.concatenate([net(a), net(b)])
    n = len(a)
    sim = jnp.where(jnp.eye(2 * n, dtype=bool), -1e9, z @ z.T / temperature)
    labels = jnp.concatenate([jnp.arange(n) + n, jnp.arange(n)])
    return optax.softmax_cross_entropy_with_integer_labels(sim, labels).mean()
nt_xent(model, jnp.ones((2, 3)), jnp.ones((2, 3)), 0.1)
"""
_SIM = "jnp.where(jnp.eye(2 * n, dtype=bool), -1e9, z @ z.T / temperature)"
_UNMASKED = _PAIRED.replace("labels).mean()", "labels).mean()  # NNX929")
_FED = """\
def parts(rows, size):
    for i in range(0, len(rows), size):
        yield rows[i : i + size]
class Loader:
    def __init__(self, rows):
        self.rows = rows
    def __iter__(self):
        for row in self.rows:
            yield row
@nnx.jit
def fit(net, opt, rows):
    loader = Loader(rows)
    data = parts(rows, 2)
    for _ in range(2):
        v = next(data)
        loss, grads = nnx.value_and_grad(lambda m, v: (m(v) ** 2).mean())(net, v)
        opt.update(net, grads)
fit(model, optimizer, jnp.ones((4, 3)))
"""
_GAE = """\
def gae(rewards, values, dones, gamma, lam):
    deltas = rewards + gamma * values[1:] * (1 - dones) - values[:-1]
    def body(carry, step):
        delta, mask = step
        carry = delta + gamma * lam * mask * carry
        return carry, carry
    _, found = jax.lax.scan(body, 0.0, (deltas, 1 - dones), reverse=True)
    return found
gae(x, jnp.ones(4), x, 0.9, 0.8)
"""
_GAE_LOOP = """\
def gae(rewards, values, gamma, gae_lambda):
    running, found = 0.0, []
    for t in reversed(range(3)):
        td_error = rewards[t] + gamma * values[t + 1] - values[t]
        running = td_error + gamma * gae_lambda * running
        found.append(running)
    return found
gae(x, jnp.ones(4), 0.9, 0.8)
"""
_ENDING = """\
def td_loss(q, old, batch, gamma):
    s, a, r, s_next, done = batch
    best = old(s_next).max(-1)
    goal = r + gamma * (1 - done) * best
    return jnp.mean((q(s)[jnp.arange(2), a] - jax.lax.stop_gradient(goal)) ** 2)
step = jnp.ones((2, 3)), jnp.array([0, 1]), jnp.ones(2), jnp.ones((2, 3)), jnp.zeros(2)
td_loss(model, model, step, 0.9)
"""
_GOAL = "r + gamma * (1 - done) * best"
_WHOLE = """\
class Head(nnx.Module):
    def __init__(self, rngs):
        self.q, self.k, self.v = (nnx.Linear(8, 8, rngs=rngs) for _ in range(3))
    def __call__(self, h):
        scores = self.q(h) @ self.k(h).swapaxes(-1, -2) / 8**0.5
        return h + nnx.softmax(scores) @ self.v(h)
"""
_SCORED = _WHOLE + _BLOCKS[_BLOCKS.index("class Decoder") :].replace("Block(rngs)", "Head(rngs)")
_HIDDEN = """\
        seen = jnp.arange(h.shape[1])[:, None] >= jnp.arange(h.shape[1])
        scores = jnp.where(seen, scores, -1e9)
        return h + nnx"""

_ENDED = """\
def advantages(steps, last, gamma=0.99, lam=0.95):
    def body(carry, step):
        adv, later = carry
        reward, value, done = step
        error = reward + gamma * (1 - done) * later - value
        adv = error + gamma * lam * (1 - done) * adv
        return (adv, value), adv
    return jax.lax.scan(body, (0.0, last), steps, reverse=True)[1]
print(advantages((x, x, jnp.zeros(3)), 1.0))
"""
_LATER = "r[t] + gamma * (1 - dones[t]) * v[t + 1] - v[t]"
_ENDED_LOOP = f"""\
def advantages(r, v, dones, gamma=0.99, lam=0.95):
    out = jnp.zeros(len(r))
    last = 0.0
    for t in reversed(range(len(r))):
        delta = {_LATER}
        last = delta + gamma * lam * (1 - dones[t]) * last
        out = out.at[t].set(last)
    return out
print(advantages(x, jnp.ones(4), jnp.zeros(3)))
"""

_VOLUME = """\
def inverse_and_log_det(params, v):
    mean, log_s = params
    z = (v - mean) * jnp.exp(-log_s)
    return z, -jnp.sum(log_s, axis=-1)
def log_prob(params, v):
    z, log_det = inverse_and_log_det(params, v)
    base = jnp.sum(jax.scipy.stats.norm.logpdf(z), axis=-1)
    return base + log_det
print(log_prob((x, x), x))
"""

_METRICS = """\
@jax.jit
def metrics(v):
    loss = jnp.mean(v)
    return {"loss": loss, "perplexity": jnp.exp(loss)}  # NNX963
"""

CASES = {
    "NNX961": Cases(
        bad=(
            """\
def targets(q_net, params, batch, gamma=0.99):
    best = jnp.max(q_net(params, batch["next_obs"]))  # NNX961
    return batch["reward"] + gamma * (1.0 - batch["done"]) * best
""",
            """\
def targets(q_net, transitions, discount):
    later = q_net(transitions.next_obs).max()  # NNX961
    return transitions.reward + discount * later
""",
            """\
def targets(target, rewards, next_states, dones, gamma=0.99):
    return rewards + (1 - dones) * gamma * jnp.max(target(next_states))  # NNX961
print(targets(model, jnp.ones(2), jnp.ones((2, 3)), jnp.zeros(2)))
""",
            """\
def targets(target, batch, gamma=0.99):
    one = batch["rewards"][:, 0] + gamma * jnp.max(target(batch["next_states"]))  # NNX961
    return one, batch["rewards"] + gamma * jnp.max(target(batch["next_states"]))  # NNX961
print(targets(model, dict(rewards=jnp.ones((2, 1)), next_states=jnp.ones((2, 3)))))
""",
            """\
def loss(q, later, s, a, r, gamma):
    y = r + gamma * later.max()  # NNX961
    chosen = jnp.sum(q(s) * jax.nn.one_hot(a, 3), axis=-1)
    return jnp.mean((chosen - y) ** 2)
""",
            """\
def loss(net, old, batch, gamma=0.9):
    later = old(batch["next_obs"])
    goal = batch["reward"] + gamma * (1 - batch["done"]) * jnp.max(later)  # NNX961
    chosen = net(batch["obs"])[jnp.arange(2), batch["action"]]
    return jnp.mean((chosen - goal) ** 2)
rows = jnp.ones((2, 3))
batch = dict(obs=rows, next_obs=rows, action=jnp.array([0, 1]), reward=jnp.ones(2), done=jnp.zeros(2))
print(loss(model, model, batch))
""",
            """\
class Agent:
    def __init__(self, net, target, gamma):
        self.net, self.target, self.gamma = net, target, gamma
    def learn(self, obs, actions, rewards, next_obs, dones):
        best = self.target(next_obs).max()  # NNX961
        targets = rewards + self.gamma * best * (1.0 - dones)
        def loss_fn(net):
            q = jnp.take_along_axis(net(obs), actions[:, None], axis=-1).squeeze(-1)
            return optax.l2_loss(q, targets).mean()
        return nnx.value_and_grad(loss_fn)(self.net)
rows = jnp.ones((2, 3))
print(Agent(model, nnx.clone(model), 0.9).learn(rows, jnp.array([0, 1]), jnp.ones(2), rows, jnp.zeros(2))[0])
""",
            """\
def targets(q1, q2, b, discount):
    values = jnp.minimum(q1(b.obs2), q2(b.obs2))
    picked = jnp.take_along_axis(q1(b.obs), b.act[:, None], 1)[:, 0]
    wanted = jax.lax.stop_gradient(b.rew + discount * b.mask * values.max())  # NNX961
    return picked, wanted
""",
            """\
def td_error(online, target, s, a, r, s2, d):
    q_next = jax.lax.stop_gradient(jnp.amax(target(s2)))  # NNX961
    q = online(s)[jnp.arange(s.shape[0]), a]
    return q - (r + 0.99 * q_next * (1 - d))
rows = jnp.ones((2, 3))
print(td_error(model, model, rows, jnp.array([0, 1]), jnp.ones(2), rows, jnp.zeros(2)))
""",
        ),
        clean=(
            """\
def targets(q_net, params, batch, gamma=0.99):
    best = jnp.max(q_net(params, batch["next_obs"]), axis=-1)
    return batch["reward"] + gamma * (1.0 - batch["done"]) * best
data = {"next_obs": jnp.ones((2, 3)), "reward": jnp.ones(2), "done": jnp.zeros(2)}
assert targets(lambda p, o: o, None, data).shape == (2,)
""",
            """\
def target(q_net, transition, discount):
    return transition["reward"] + discount * q_net(transition["next_obs"]).max()
assert target(lambda o: o, {"reward": 1.0, "next_obs": x}, 0.9).shape == ()
""",
            """\
def targets(target, rewards, next_states, dones, gamma=0.99):
    return rewards + (1 - dones) * gamma * jnp.max(target(next_states), axis=1)
print(targets(model, jnp.ones(2), jnp.ones((2, 3)), jnp.zeros(2)))
""",
            """\
def best(rewards, gamma=0.9):
    values = jnp.zeros(4)
    for _ in range(3):
        values = rewards + gamma * values.max()
    return values
print(best(jnp.arange(4.0)))
""",
            """\
def loss(net, old, batch, gamma=0.9):
    later = old(batch["next_obs"])
    goal = batch["reward"] + gamma * (1 - batch["done"]) * jnp.max(later, axis=-1)
    chosen = net(batch["obs"])[jnp.arange(2), batch["action"]]
    return jnp.mean((chosen - goal) ** 2)
rows = jnp.ones((2, 3))
batch = dict(obs=rows, next_obs=rows, action=jnp.array([0, 1]), reward=jnp.ones(2), done=jnp.zeros(2))
print(loss(model, model, batch))
""",
            """\
def loss(net, old, batch, gamma=0.9):
    later = old(batch["next_obs"])
    goal = batch["reward"] + gamma * (1 - batch["done"]) * jnp.max(later, 1)
    chosen = net(batch["obs"])[jnp.arange(2), batch["action"]]
    return jnp.mean((chosen - goal) ** 2)
rows = jnp.ones((2, 3))
batch = dict(obs=rows, next_obs=rows, action=jnp.array([0, 1]), reward=jnp.ones(2), done=jnp.zeros(2))
print(loss(model, model, batch))
""",
            """\
def loss(net, old, batch, gamma=0.9):
    later = old(batch["next_obs"])
    goal = batch["reward"] + gamma * (1 - batch["done"]) * later.max(-1)
    chosen = net(batch["obs"])[jnp.arange(2), batch["action"]]
    return jnp.mean((chosen - goal) ** 2)
rows = jnp.ones((2, 3))
batch = dict(obs=rows, next_obs=rows, action=jnp.array([0, 1]), reward=jnp.ones(2), done=jnp.zeros(2))
print(jnp.max(model(rows)), loss(model, model, batch))
""",
            """\
def one(net, obs, action, reward, next_obs, gamma):
    goal = reward + gamma * jnp.max(net(next_obs))
    return (net(obs)[action] - goal) ** 2
print(one(model, x, 0, 1.0, x, 0.9))
""",
            """\
def one(net, obs, action, reward, next_obs, gamma):
    goal = reward + gamma * jnp.max(net(next_obs))
    return (net(obs)[action] - goal) ** 2
rows = jnp.ones((2, 3))
each = jax.vmap(lambda o, a, r, n: one(model, o, a, r, n, 0.9))
print(each(rows, jnp.array([0, 1]), jnp.ones(2), rows))
""",
            """\
def learn(table, state, action, reward, following, rate=0.1, gamma=0.9):
    goal = reward + gamma * table[following].max()
    return table.at[state, action].add(rate * (goal - table[state, action]))
print(learn(jnp.zeros((4, 2)), 0, 1, 1.0, 2))
""",
            """\
def learn(table, state, action, rewards, following, rate=0.1, gamma=0.9):
    goal = gamma * jnp.max(table[following]) + rewards
    return table.at[state, action].add(rate * (goal - table[state, action]))
print(learn(jnp.zeros((4, 2)), 0, 1, 1.0, 2))
""",
            """\
def errors(net, target, trajectory, gamma=0.9):
    found, rewards, masks = [], trajectory["rewards"], trajectory["masks"]
    for t in range(2):
        later = target(trajectory["next_observations"][t][None])
        goal = rewards[t] + later.min() * gamma * masks[t]
        found.append(((net(trajectory["observations"][t][None]) - goal) ** 2).mean())
    return found
rows = jnp.ones((2, 3))
path = dict(observations=rows, next_observations=rows, rewards=jnp.ones(2), masks=jnp.ones(2))
print(errors(model, model, path))
""",
        ),
    ),
    "NNX962": Cases(
        bad=(
            _NCE.replace("b.T / temperature", "b.T * temperature  # NNX962"),
            # the number is what the calls give
            _NCE.replace("b.T / temperature", "b.T * temperature  # NNX962")
            .replace("=0.07", "")
            .replace("nce(rows, rows)", "nce(rows, rows, 0.1)"),
            """\
def one(logits, key, temperature):
    logits *= temperature  # NNX962
    return jax.random.categorical(key, logits)
class Sampler:
    def __init__(self, temperature):
        self.temperature = temperature
    def __call__(self, key, logits):
        scaled = jnp.multiply(logits[:, -1, :], self.temperature)  # NNX962
        top, places = jax.lax.top_k(scaled, 2)
        return jnp.take_along_axis(places, jax.random.categorical(key, top)[:, None], axis=-1)
print(one(x, key, 0.5), Sampler(0.5)(key, jnp.ones((2, 3, 4))))
""",
            """\
def pick(key, logits):
    return jax.random.categorical(key, logits, axis=-1)
def decode(key, logits, temperature):
    return pick(key, temperature * logits)  # NNX962
print(decode(key, x, 0.5))
""",
            """\
def draw(logits, key, cfg):
    if cfg.top_k:
        least = jax.lax.top_k(logits, cfg.top_k)[0][..., -1:]
        logits = jnp.where(logits < least, -jnp.inf, logits)
    logits = logits * cfg.temperature  # NNX962
    return jax.random.categorical(key, logits, axis=-1)
class Config:
    top_k, temperature = 2, 0.5
print(draw(x, key, Config))
""",
            """\
def generate(token, key, n, temperature=1.0):
    out = []
    for k in jax.random.split(key, n):
        logits = jax.nn.one_hot(token, 5)
        token = jax.random.categorical(k, temperature * logits)  # NNX962
        out.append(token)
    return out
print(generate(jnp.zeros(2, int), key, 2))
""",
            """\
class Policy(nnx.Module):
    def __init__(self, temp, rngs):
        self.temp, self.head = temp, nnx.Linear(3, 2, rngs=rngs)
    def act(self, obs, key):
        scaled = self.head(obs) * self.temp  # NNX962
        return jax.random.categorical(key, jnp.where(obs[:2] > 5, -1e9, scaled))
print(Policy(0.5, nnx.Rngs(0)).act(x, key))
""",
        ),
        clean=(
            _NCE,
            # a factor that grows, and one of which nothing is known
            _NCE.replace("b.T / temperature", "b.T * temperature").replace("=0.07", "=20.0"),
            _NCE.replace("b.T / temperature", "b.T * temperature").replace(
                "nce(rows, rows)", "nce(rows, rows, float(np.exp(2.0)))"
            ),
            """\
def one(logits, key, temperature):
    logits /= temperature
    return jax.random.categorical(key, logits)
def two(key, logits, temperature):
    top, places = jax.lax.top_k(logits / temperature, 2)
    return places[jax.random.categorical(key, top)]
print(one(x, key, 0.5), two(jax.random.key(1), x, 0.5))
""",
            """\
def pick(key, logits):
    return jax.random.categorical(key, logits, axis=-1)
def decode(key, logits, temperature):
    scale = 1.0 / temperature
    return pick(key, scale * logits)
print(decode(key, x, 0.5))
""",
            """\
def draw(logits, key, cfg):
    if cfg.top_k:
        least = jax.lax.top_k(logits, cfg.top_k)[0][..., -1:]
        logits = jnp.where(logits < least, -jnp.inf, logits)
    logits = logits / cfg.temperature
    return jax.random.categorical(key, logits, axis=-1)
class Config:
    top_k, temperature = 2, 0.5
print(draw(x, key, Config))
""",
            """\
def draw(logits, key, inverse_temperature, temperature):
    first = jax.random.categorical(key, logits * inverse_temperature)
    temperature = 1.0 / temperature
    other = jax.random.fold_in(key, 1)
    return first, jax.random.categorical(other, logits * temperature)
print(draw(x, jax.random.key(1), 2.0, 0.5))
""",
            """\
def contrast(a, b, temperature):
    logits = (a @ b.T) * temperature
    return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(len(a))).mean()
print(contrast(jnp.eye(3), jnp.eye(3), 10.0))
""",
            """\
def draw(logits, key, temperature):
    return jax.random.categorical(key, logits * (1.0 / temperature))
print(draw(x, key, 0.5))
""",
        ),
    ),
    "NNX963": Cases(
        bad=(
            # among the metrics of each batch
            _METRICS
            + """\
def evaluate(data):
    history = {"loss": [], "perplexity": []}
    for v in data:
        found = metrics(v)
        for name, value in found.items():
            history[name].append(float(value))
    return {name: np.mean(values) for name, values in history.items()}
""",
            _METRICS
            + """\
def evaluate(data):
    found = []
    for v in data:
        found.append(metrics(v))
    return np.mean([one["perplexity"] for one in found])
""",
            _METRICS
            + """\
def evaluate_step(v):
    return metrics(v)
def evaluate(data):
    found = []
    for v in data:
        each = evaluate_step(v)
        found.append(jax.device_get(each))
    return jax.tree.map(lambda *parts: np.mean(parts), *found)
""",
            """\
def evaluate(loss_of, data):
    all_ppl = [float(jnp.exp(loss_of(v))) for v in data]  # NNX963
    return sum(all_ppl) / len(all_ppl)
print(evaluate(jnp.mean, batches))
""",
            """\
def evaluate(net, data):
    perplexities = []
    for v in data:
        loss = net(v).mean()
        perplexities.append(math.exp(loss))  # NNX963
    return sum(perplexities) / len(perplexities)
print(evaluate(lambda v: v, batches))
""",
            """\
def evaluate(loss_of, data):
    total_ppl, n = 0.0, 0
    for v in data:
        ppl = jnp.exp(loss_of(v))
        total_ppl += ppl  # NNX963
        n += 1
    return total_ppl / n
print(evaluate(jnp.mean, batches))
""",
            """\
def validate(loss_of, data):
    losses, ppls = [], []
    for v in data:
        loss = loss_of(v)
        losses.append(float(loss))
        ppls.append(float(jnp.exp(loss)))  # NNX963
    return {"loss": np.mean(losses), "ppl": np.mean(ppls)}
print(validate(jnp.mean, batches))
""",
        ),
        clean=(
            """\
def evaluate(loss_of, data):
    losses = [float(loss_of(v)) for v in data]
    ppl = math.exp(sum(losses) / len(losses))
    return ppl
print(evaluate(jnp.mean, batches))
""",
            """\
def evaluate(loss_of, data):
    losses = []
    for v in data:
        losses.append(float(loss_of(v)))
    return math.exp(sum(losses) / len(losses))
print(evaluate(jnp.mean, batches))
""",
            _METRICS.replace("  # NNX963", "")
            + """\
def evaluate(data):
    found = []
    for v in data:
        found.append(metrics(v))
    loss = np.mean([one["loss"] for one in found])
    return {"loss": loss, "perplexity": np.exp(loss), "all": [one["perplexity"] for one in found]}
print(evaluate(batches))
""",
            _METRICS.replace("  # NNX963", "")
            + """\
def last(data):
    found = []
    for v in data:
        found.append(metrics(v))
    return found[-1], np.mean([one["loss"] for one in found])
print(last(batches))
""",
            _METRICS.replace("  # NNX963", "")
            + """\
def evaluate(data):
    for step, v in enumerate(data):
        found = metrics(v)
        print(step, {name: float(value) for name, value in found.items()})
evaluate(batches)
""",
            _METRICS.replace("  # NNX963", "")
            + """\
def evaluate(data):
    return np.mean([metrics(v)["loss"] for v in data])
print(evaluate(batches))
""",
            """\
def each(loss_of, texts):
    perplexities = []
    for v in texts:
        perplexities.append(math.exp(loss_of(v)))
    return {"perplexities": perplexities, "mean": np.mean(perplexities)}
print(each(jnp.mean, batches))
""",
            """\
def history(loss_of, data):
    ppls = []
    for v in data:
        ppls.append(math.exp(loss_of(v)))
    return ppls
print(history(jnp.mean, batches))
""",
            """\
def gains(data):
    weights = []
    for v in data:
        weights.append(jnp.exp(v.mean()))
    return sum(weights) / len(weights)
print(gains(batches))
""",
        ),
    ),
    "NNX932": Cases(
        bad=(
            """\
def target(batch, q, gamma=0.99):
    following = q(batch["next_obs"]).max(axis=-1)
    return batch["reward"] + gamma * following * batch["done"]  # NNX932
print(target({"next_obs": jnp.ones((2, 3)), "reward": jnp.ones(2), "done": jnp.array([0.0, 1.0])}, lambda o: o))
""",
            """\
def targets(rewards, q_next, dones, gamma):
    return rewards + gamma * dones.astype(jnp.float32) * q_next  # NNX932
print(targets(x, x, x > 0, 0.9))
""",
            """\
def returns(rewards, ends, gamma=0.9):
    def body(later, row):
        r, d = row
        later = r + gamma * later  # NNX932
        return later, later
    return jax.lax.scan(body, 0.0, (rewards, ends), reverse=True)[1]
print(returns(x, jnp.zeros(3)))
""",
            """\
import collections
Transition = collections.namedtuple("Transition", "obs action reward next_obs done")
def loss(net, target, t, gamma=0.9):
    goal = t.reward + gamma * target(t.next_obs).max(axis=1)  # NNX932
    return jnp.mean((net(t.obs)[jnp.arange(2), t.action] - goal) ** 2)
rows = jnp.ones((2, 3))
print(loss(model, model, Transition(rows, jnp.array([0, 1]), jnp.ones(2), rows, jnp.zeros(2))))
""",
            """\
from collections import namedtuple
Batch = namedtuple("Batch", ["s", "a", "r", "s_next", "terminal"])
class Agent:
    def targets(self, b):
        return b.r + 0.99 * jnp.max(model(b.s_next), axis=-1)  # NNX932
""",
            _ENDING.replace(_GOAL, "r + gamma * best  # NNX932"),
            _ENDING.replace(_GOAL, "0.99 * old(s_next).max(-1) + r  # NNX932"),
            # in a loss within a step
            """\
def update(q, batch, gamma):
    obs, actions, rewards, next_obs, terminals = batch
    later = q(next_obs).max(-1)
    def loss_fn(net):
        target = rewards + gamma * later  # NNX932
        return jnp.mean((net(obs)[jnp.arange(2), actions] - target) ** 2)
    return nnx.grad(loss_fn)(q)
step = jnp.ones((2, 3)), jnp.array([0, 1]), jnp.ones(2), jnp.ones((2, 3)), jnp.zeros(2)
update(model, step, 0.9)
""",
            "from typing import NamedTuple\n"
            "class Step(NamedTuple):\n"
            "    obs: jax.Array\n"
            "    action: jax.Array\n"
            "    reward: jax.Array\n"
            "    next_obs: jax.Array\n"
            "    done: jax.Array\n"
            "def loss(net, target, batch: Step, gamma):\n"
            "    chosen = net(batch.obs)[jnp.arange(len(batch.action)), batch.action]\n"
            "    goal = batch.reward + gamma * target(batch.next_obs).max(axis=-1)  # NNX932\n"
            "    return optax.huber_loss(chosen, jax.lax.stop_gradient(goal)).mean()\n"
            "rows = jnp.ones((2, 3))\n"
            "print(loss(model, model, Step(rows, jnp.array([0, 1]), jnp.ones(2), rows, jnp.zeros(2)), 0.9))\n",
            "def loss(net, target, batch, gamma=0.99):\n"
            "    obs, act, rew, nobs, term = batch\n"
            "    goal = rew + gamma * target(nobs).max(axis=1)  # NNX932\n"
            "    return jnp.mean((net(obs)[jnp.arange(2), act] - jax.lax.stop_gradient(goal)) ** 2)\n"
            "rows = jnp.ones((2, 3))\n"
            "print(loss(model, model, (rows, jnp.array([0, 1]), jnp.ones(2), rows, jnp.zeros(2))))\n",
            # in a sum of advantages that alone ends with the episode
            _ENDED.replace("* (1 - done) * later - value", "* later - value  # NNX932"),
            _ENDED_LOOP.replace(_LATER, "r[t] + gamma * v[t + 1] - v[t]  # NNX932"),
            """\
def advantages(rewards, values, dones, gamma, lam):
    errors = rewards + gamma * values[1:] - values[:-1]  # NNX932
    def body(total, now):
        error, done = now
        total = error + gamma * lam * (1.0 - done) * total
        return total, total
    return jax.lax.scan(body, 0.0, (errors, dones), reverse=True)[1]
print(advantages(x, jnp.ones(4), jnp.zeros(3), 0.9, 0.8))
""",
        ),
        clean=(
            """\
def returns(rewards, ends, gamma=0.9):
    def body(later, row):
        r, d = row
        later = r + gamma * later * (1 - d)
        return later, later
    return jax.lax.scan(body, 0.0, (rewards, ends), reverse=True)[1]
print(returns(x, jnp.zeros(3)))
""",
            """\
def target(rewards, q_next, done, gamma):
    return rewards + gamma * done * q_next
ended = jnp.zeros(3)
print(target(x, x, 1 - ended, 0.9), target(x, x, done=~(ended > 0), gamma=0.9))
""",
            """\
class Buffer:
    def add(self, reward, done):
        self.done = 1.0 - done
        self.reward = reward
    def target(self, q, gamma):
        return self.reward + gamma * self.done * q
buffer = Buffer()
buffer.add(1.0, 0.0)
print(buffer.target(1.0, 0.9))
""",
            """\
def target(rewards, q_next, dones, gamma):
    keep = 1.0 - dones
    return rewards + gamma * keep * q_next
print(target(x, x, jnp.zeros(3), 0.9))
""",
            """\
import collections
Transition = collections.namedtuple("Transition", "obs action reward next_obs done")
def loss(net, target, t, gamma=0.9):
    goal = t.reward + gamma * (1 - t.done) * target(t.next_obs).max(axis=1)
    return jnp.mean((net(t.obs)[jnp.arange(2), t.action] - goal) ** 2)
rows = jnp.ones((2, 3))
print(loss(model, model, Transition(rows, jnp.array([0, 1]), jnp.ones(2), rows, jnp.zeros(2))))
""",
            """\
from collections import namedtuple
Step = namedtuple("Step", "obs, action, reward, next_obs")
def goal(t):
    return t.reward + 0.99 * model(t.next_obs).max(-1)
rows = jnp.ones((2, 3))
print(goal(Step(rows, jnp.array([0, 1]), jnp.ones(2), rows)))
""",
            """\
from collections import namedtuple
Step = namedtuple("Step", "obs action reward next_obs done")
def goal(t):
    later = jnp.where(t.done, 0.0, model(t.next_obs).max(-1))
    return t.reward + 0.99 * later
rows = jnp.ones((2, 3))
print(goal(Step(rows, jnp.array([0, 1]), jnp.ones(2), rows, jnp.array([True, False]))))
""",
            _ENDED,
            _ENDED_LOOP,
            _ENDED_LOOP.replace(_LATER, "r[t] + gamma * v[t + 1] - v[t]").replace(
                "    out =", "    v = v * (1 - jnp.append(0.0, dones))\n    out ="
            ),
            _ENDED.replace("* (1 - done) * later", "* later").replace(
                "(adv, value), adv", "(adv, value * (1 - done)), adv"
            ),
            """\
def advantages(rewards, values, later, dones, gamma, lam):
    def body(total, now):
        reward, value, after, done = now
        error = reward + gamma * after - value
        total = error + gamma * lam * (1.0 - done) * total
        return total, total
    return jax.lax.scan(body, 0.0, (rewards, values, later, dones), reverse=True)[1]
print(advantages(x, x, x, jnp.zeros(3), 0.9, 0.8))
""",
            _ENDING,
            _ENDING.replace(_GOAL, "jnp.where(done, r, r + gamma * best)"),
            _ENDING.replace(_GOAL, "r + gamma * best").replace("best = old", "best = (1 - done) * old"),
            # without ends, and without a next value
            _ENDING.replace(_GOAL, "r + gamma * best").replace("s_next, done", "s_next, _"),
            _ENDING.replace(_GOAL, "r + best"),
            "from typing import NamedTuple\n"
            "class Step(NamedTuple):\n"
            "    obs: jax.Array\n"
            "    action: jax.Array\n"
            "    reward: jax.Array\n"
            "    next_obs: jax.Array\n"
            "    done: jax.Array\n"
            "def loss(net, target, batch: Step, gamma):\n"
            "    chosen = net(batch.obs)[jnp.arange(len(batch.action)), batch.action]\n"
            "    gamma = gamma * (1 - batch.done)\n"
            "    goal = batch.reward + gamma * target(batch.next_obs).max(axis=-1)\n"
            "    return optax.huber_loss(chosen, jax.lax.stop_gradient(goal)).mean()\n"
            "rows = jnp.ones((2, 3))\n"
            "print(loss(model, model, Step(rows, jnp.array([0, 1]), jnp.ones(2), rows, jnp.zeros(2)), 0.9))\n",
            "def loss(net, target, batch, gamma=0.99):\n"
            "    obs, act, rew, nobs, term = batch\n"
            "    goal = rew + gamma * (1 - term) * target(nobs).max(axis=1)\n"
            "    return jnp.mean((net(obs)[jnp.arange(2), act] - jax.lax.stop_gradient(goal)) ** 2)\n"
            "rows = jnp.ones((2, 3))\n"
            "print(loss(model, model, (rows, jnp.array([0, 1]), jnp.ones(2), rows, jnp.zeros(2))))\n",
        ),
    ),
    "NNX931": Cases(
        bad=(
            """\
def rewards_to_go(rewards, gamma):
    def body(total, reward):
        total = reward + gamma * total
        return total, total
    _, sums = jax.lax.scan(body, 0.0, rewards[::-1])  # NNX931
    return sums
""",
            """\
def gae(rewards, values, gamma, lam):
    def body(advantage, step):
        reward, value, following = step
        advantage = reward + gamma * following - value + gamma * lam * advantage
        return advantage, advantage
    steps = (jnp.flip(rewards), jnp.flip(values[:-1]), jnp.flip(values[1:]))
    _, advantages = jax.lax.scan(body, 0.0, steps)  # NNX931
    return advantages, advantages + values[:-1]
""",
            """\
def step(running, r):
    running = r + 0.9 * running
    return running, running
def returns_to_go(rewards):
    _, out = jax.lax.scan(step, 0.0, rewards, reverse=True)
    out = jnp.flip(out, axis=0)  # NNX931
    return out - out.mean()
print(returns_to_go(x))
""",
            """\
def step(running, r):
    running = r + 0.9 * running
    return running, running
def returns_to_go(rewards):
    return jax.lax.scan(step, 0.0, rewards, reverse=True)[1][::-1]  # NNX931
print(returns_to_go(x))
""",
            """\
def returns_to_go(rewards):
    def step(running, r):
        running = r + 0.9 * running
        return running, (running, r)
    _, (sums, seen) = jax.lax.scan(step, 0.0, rewards, reverse=True)
    return sums[::-1], seen  # NNX931
print(returns_to_go(x))
""",
            """\
def returns_to_go(rewards, gamma=0.99):
    def step(running, r):
        running = r + gamma * running
        return running, running
    _, out = jax.lax.scan(step, 0.0, rewards, reverse=True)
    return out[::-1]  # NNX931
print(returns_to_go(x))
""",
            """\
def returns_to_go(rewards, gamma=0.99):
    def step(running, r):
        running = r + gamma * running
        return running, running
    _, sums = jax.lax.scan(step, 0.0, rewards, reverse=True)
    out = jnp.flip(sums, axis=0)  # NNX931
    return out
print(returns_to_go(x))
""",
            """\
def gae(rewards, values, last_value):
    def step(carry, now):
        running, after = carry
        r, v = now
        running = r + 0.99 * after - v + 0.95 * running
        return (running, v), running
    _, advs = jax.lax.scan(step, (0.0, last_value), (rewards[::-1], values[::-1]))
    return advs, advs + values  # NNX931
print(gae(x, x, 0.5))
""",
            """\
def discounted_returns(rewards, gamma):
    def body(total, reward):
        total = reward + gamma * total
        return total, total
    return jax.lax.scan(body, 0.0, rewards)[1]  # NNX931
""",
            """\
def gae(rewards, values, dones, last_value, gamma=0.99, lam=0.95):
    def body(carry, step):
        adv, after = carry
        r, v, d = step
        delta = r + gamma * after * (1 - d) - v
        adv = delta + gamma * lam * (1 - d) * adv
        return (adv, v), adv
    init = (jnp.zeros_like(last_value), last_value)
    return jax.lax.scan(body, init, (rewards, values, dones))[1]  # NNX931
""",
            """\
class Agent:
    gamma = 0.9
    def compute_advantages(self, deltas, gae_lambda):
        step = lambda carry, delta: (delta + self.gamma * gae_lambda * carry,) * 2
        _, found = jax.lax.scan(step, jnp.zeros(()), deltas, reverse=False)  # NNX931
        return found
""",
            _GAE.replace(", reverse=True)", ")  # NNX931"),
            # a carry of several parts, said to go forwards
            _GAE.replace(
                "        carry = delta + gamma * lam * mask * carry\n",
                """\
        sum_, count = carry
        sum_ = sum_ * lam * gamma * mask + delta
        carry = sum_, count + 1
""",
            )
            .replace("0.0, (", "(0.0, 0), (")
            .replace("reverse=True)", "reverse=False)  # NNX931"),
            _GAE_LOOP.replace("reversed(range(3))", "range(3)").replace("* running\n", "* running  # NNX931\n"),
            "def discounted_returns(rewards, gamma):\n"
            "    kept, total = [], 0.0\n"
            "    for r in rewards:  # NNX931\n"
            "        total = r + gamma * total\n"
            "        kept.append(total)\n"
            "    return np.array(kept)\n"
            "print(discounted_returns([1.0, 0.0], 0.9))\n",
            "def rewards_to_go(rews, discount=0.99):\n"
            "    kept = np.zeros_like(rews)\n"
            "    total = 0\n"
            "    for t in range(len(rews)):  # NNX931\n"
            "        total = total * discount + rews[t]\n"
            "        kept[t] = total\n"
            "    return kept\n"
            "print(rewards_to_go(np.ones(3)))\n",
            """\
def discounted_returns(rewards, gamma=0.9):
    def backup(carry, r):
        carry = r + gamma * carry
        return carry, carry
    _, out = jax.lax.scan(backup, 0.0, rewards, reverse=True)
    return out
def policy_loss(logp, rewards):
    returns = jnp.flip(discounted_returns(rewards))  # NNX931
    return -(logp * (returns - returns.mean())).sum()
policy_loss(x, x)
""",
            """\
class Agent:
    def __init__(self, gamma):
        self.gamma = gamma
    def to_go(self, rewards):
        def backup(carry, r):
            carry = r + self.gamma * carry
            return carry, carry
        last, out = jax.lax.scan(backup, 0.0, rewards, reverse=True)
        return last, out
    def loss(self, logp, rewards):
        last, found = self.to_go(rewards)
        return -(logp * found[::-1]).sum()  # NNX931
Agent(0.9).loss(x, x)
""",
        ),
        clean=(
            """\
def compute_gae(rewards, values, gamma=0.99):
    def step(last, inputs):
        reward, value = inputs
        advantage = reward - value + gamma * last
        return advantage, advantage
    rewards_back = rewards[::-1]
    values_back = values[::-1]
    inputs = (rewards_back, values_back)
    _, advantages = jax.lax.scan(step, 0.0, inputs)
    return advantages[::-1]
print(compute_gae(jnp.ones(3), jnp.zeros(3)))
""",
            """\
def rewards_to_go(rewards, gamma):
    def body(total, reward):
        total = reward + gamma * total
        return total, total
    _, sums = jax.lax.scan(body, 0.0, rewards[::-1])
    return sums[::-1]
print(rewards_to_go(x, 0.9))
""",
            """\
def rewards_to_go(rewards, gamma):
    def body(total, reward):
        total = reward + gamma * total
        return total, total
    return jax.lax.scan(body, 0.0, rewards[::-1])[1]
def told(rewards):
    return rewards_to_go(rewards, 0.9)[::-1]
print(told(x))
""",
            """\
def discounted_return(rewards, gamma):
    def body(total, reward):
        total = reward + gamma * total
        return total, total
    whole, _ = jax.lax.scan(body, 0.0, rewards[::-1])
    return whole
print(discounted_return(x, 0.9))
""",
            """\
def step(running, r):
    running = r + 0.9 * running
    return running, running
def returns_to_go(rewards):
    _, out = jax.lax.scan(step, 0.0, rewards, reverse=True)
    total = out
    out = rewards * 2
    out = out[::-1]
    return out, total
print(returns_to_go(x))
""",
            """\
def step(running, r):
    running = r + 0.9 * running
    return running, running
def sums_so_far(rewards):
    return jax.lax.scan(step, 0.0, rewards, reverse=True)[1], jax.lax.scan(step, 0.0, rewards[::-1])[1][::-1]
print(sums_so_far(x))
""",
            """\
def returns_to_go(rewards):
    def step(running, r):
        running = r + 0.9 * running
        return running, (running, r)
    _, (sums, seen) = jax.lax.scan(step, 0.0, rewards, reverse=True)
    every = jnp.stack([sums, seen], axis=1)
    return jnp.flip(every, axis=1), sums[0]
print(returns_to_go(x))
""",
            """\
def mc_returns(distances, gamma):
    steps = jnp.arange(2, -1, -1)
    def one(_, t):
        def body(total, step):
            return distances[step] * (step >= t) + gamma * total, None
        return None, jax.lax.scan(body, jnp.zeros(()), steps)[0]
    return jax.lax.scan(one, None, jnp.arange(3))[1]
print(mc_returns(x, 0.9))
""",
            """\
def returns_to_go(rewards, gamma=0.99):
    def step(running, r):
        running = r + gamma * running
        return running, running
    _, out = jax.lax.scan(step, 0.0, rewards, reverse=True)
    return out
print(returns_to_go(x))
""",
            """\
def returns_to_go(rewards, gamma=0.99):
    def step(running, r):
        running = r + gamma * running
        return running, running
    _, out = jax.lax.scan(step, 0.0, rewards[::-1])
    return out[::-1]
print(returns_to_go(x))
""",
            """\
def gae(rewards, values, last_value):
    def step(carry, now):
        running, after = carry
        r, v = now
        running = r + 0.99 * after - v + 0.95 * running
        return (running, v), running
    _, advs = jax.lax.scan(step, (0.0, last_value), (rewards[::-1], values[::-1]))
    return advs[::-1], advs[::-1] + values
print(gae(x, x, 0.5))
""",
            """\
def gae(rewards, values, last_value):
    def step(carry, now):
        running, after = carry
        r, v = now
        running = r + 0.99 * after - v + 0.95 * running
        return (running, v), running
    _, advs = jax.lax.scan(step, (0.0, last_value), (rewards, values), reverse=True)
    return advs, advs + values
print(gae(x, x, 0.5))
""",
            """\
def backward(steps):
    _, out = jax.lax.scan(lambda c, i: (c + i, c), 0, jnp.arange(3), reverse=True)
    return out[::-1]
print(backward(3))
""",
            """\
def smoothed(v):
    _, out = jax.lax.scan(lambda c, i: (0.5 * c + i, c), 0.0, v[::-1], reverse=True)
    return out[::-1]
print(smoothed(x))
""",
            """\
def discounted_returns(rewards, gamma):
    def body(total, reward):
        total = reward + gamma * total
        return total, total
    return jax.lax.scan(body, 0.0, rewards, reverse=True)[1]
""",
            """\
def discounted_returns(rewards, gamma):
    def body(total, reward):
        total = reward + gamma * total
        return total, total
    return jax.lax.scan(body, 0.0, rewards[::-1])[1][::-1]
""",
            """\
def running_returns(rewards, gamma):
    def body(total, reward):
        total = reward + gamma * total
        return total, total
    return jax.lax.scan(body, 0.0, rewards)[1]
""",
            """\
def returns(model, xs):
    def body(state, x):
        state = jnp.tanh(x + state)
        return state, state
    return jax.lax.scan(body, 0.0, xs)[1]
""",
            """\
def smooth(xs, decay):
    def body(mean, x):
        mean = x + decay * mean
        return mean, mean
    return jax.lax.scan(body, 0.0, xs)[1]
""",
            _GAE,
            _GAE.replace(", reverse=True)", ")").replace("(deltas, 1 - dones)", "(deltas[::-1], 1 - dones[::-1])"),
            _GAE_LOOP,
            _GAE_LOOP.replace("in reversed(range(3))", "in range(2, -1, -1)"),
            # a trace, which looks back, and a sum of rewards so far
            _GAE.replace(", reverse=True)", ")").replace("delta", "gradient").replace("gae(", "traces("),
            _GAE.replace(", reverse=True)", ")").replace("gamma * lam * mask", "gamma * mask").replace("gae(", "sums("),
            "def discounted_returns(rewards, gamma):\n"
            "    kept, total = [], 0.0\n"
            "    for r in reversed(rewards):\n"
            "        total = r + gamma * total\n"
            "        kept.append(total)\n"
            "    return np.array(kept[::-1])\n"
            "print(discounted_returns([1.0, 0.0], 0.9))\n",
            "def discounted_returns(rewards, gamma):\n"
            "    kept, total = [], 0.0\n"
            "    for r in rewards:\n"
            "        total = r + gamma * total\n"
            "        kept.append(total)\n"
            "    return np.array(kept)\n"
            "print(discounted_returns([1.0, 0.0][::-1], 0.9)[::-1])\n",
            """\
def discounted_returns(rewards, gamma=0.9):
    def backup(carry, r):
        carry = r + gamma * carry
        return carry, carry
    _, out = jax.lax.scan(backup, 0.0, rewards, reverse=True)
    return out
def policy_loss(logp, rewards):
    returns = discounted_returns(rewards)
    return -(logp * (returns - returns.mean())).sum()
policy_loss(x, x)
""",
            """\
def discounted_returns(rewards, gamma=0.9):
    def backup(carry, r):
        carry = r + gamma * carry
        return carry, carry
    _, out = jax.lax.scan(backup, 0.0, rewards, reverse=True)
    return out
def so_far(rewards):
    return discounted_returns(rewards[::-1])[::-1]
so_far(x)
""",
            """\
def discounted_returns(rewards, gamma=0.9):
    def backup(carry, r):
        carry = r + gamma * carry
        return carry, carry
    _, out = jax.lax.scan(backup, 0.0, rewards, reverse=True)
    return out
def flipped(rewards):
    return jnp.flip(jax.vmap(discounted_returns)(rewards), axis=0)
flipped(jnp.ones((2, 3)))
""",
            """\
def discounted_returns(rewards, gamma=0.9):
    def backup(carry, r):
        carry = r + gamma * carry
        return carry, carry
    _, out = jax.lax.scan(backup, 0.0, rewards, reverse=True)
    return out
def first(rewards):
    turned = jnp.flip(rewards)
    return jnp.flip(discounted_returns(turned))
first(x)
""",
        ),
    ),
    "NNX930": Cases(
        bad=(
            """\
def train(state, step, data, size):
    for i in range(len(data) // size):
        state = step(state, data[:size])  # NNX930
    return state
""",
            """\
def train(state, step, images, labels, size):
    rounds = images.shape[0] // size
    for _ in range(rounds):
        batch = {"x": images[0:size], "y": labels[0:size]}  # NNX930
        state = step(state, batch)
    return state
""",
            """\
def train(state, step, data, n):
    for start in range(0, len(data), n):
        state = step(state, data[:n])  # NNX930
    return state
""",
            _FED.replace("next(data)", "next(parts(rows, 2))  # NNX930"),
            _FED.replace("next(data)", "next(iter(loader))  # NNX930"),
            _FED.replace("next(data)", "next(iter([rows, rows + 1]))  # NNX930").replace("v = next", "v = 1 * next"),
        ),
        clean=(
            """\
def train(state, step, data, size):
    for i in range(len(data) // size):
        state = step(state, data[i * size : (i + 1) * size])
    return state
""",
            """\
def overfit(state, step, data, size):
    for _ in range(100):
        state = step(state, data[:size])
    return state
""",
            """\
def train(state, step, data, size, rng):
    for _ in range(len(data) // size):
        data = rng.permutation(data)
        state = step(state, data[:size])
    return state
""",
            """\
def train(state, step, data, size):
    for start in range(0, len(data), size):
        state = step(state, data[start : start + size])
    return state, data[:size]
""",
            _FED,
            _FED.replace("data = parts(rows, 2)", "data = iter(loader)"),
            # another one in every round
            _FED.replace("for _ in range(2)", "for size in range(1, 3)").replace(
                "next(data)", "next(parts(rows, size))"
            ),
            # perhaps in another order each time
            _FED.replace("next(data)", "next(parts(rows, 2))").replace("rows, size):", "rows, size, shuffled=True):"),
            # to look at, and not to learn from
            _FED.replace(
                "        v = next(data)\n", "        v = next(data)\n        seen = next(iter(loader)).shape\n"
            ),
        ),
    ),
    "NNX929": Cases(
        bad=(
            _UNMASKED.replace(_SIM, "z @ z.T / temperature"),
            _UNMASKED.replace(_SIM, "(1 / temperature) * jnp.matmul(z, z.transpose())"),
            _UNMASKED.replace(_SIM, "jnp.einsum('id,jd->ij', z, z)"),
            "def cosine(a, b):\n"
            "    return a @ b.T\n"
            "def contrastive(za, zb, t=0.1):\n"
            "    z = jnp.concatenate((za, zb))\n"
            "    s = cosine(z, z) / t\n"
            "    positives = jnp.concatenate((jnp.diagonal(s, len(za)), jnp.diagonal(s, -len(za))))\n"
            "    return jnp.mean(jax.nn.logsumexp(s, axis=1) - positives)  # NNX929\n"
            "print(contrastive(jnp.eye(2), jnp.eye(2)))\n",
            "def nt_xent(first, second, tau=0.5):\n"
            "    z = jnp.vstack([first, second])\n"
            '    logits = jnp.einsum("id,jd->ij", z, z) / tau\n'
            "    logp = jax.nn.log_softmax(logits, axis=-1)  # NNX929\n"
            "    pos = jnp.roll(jnp.arange(len(z)), len(first))\n"
            "    return -logp[jnp.arange(len(z)), pos].mean()\n"
            "print(nt_xent(jnp.eye(2), jnp.eye(2)))\n",
            "def nt_xent(first, second):\n"
            "    z = jnp.concatenate([first, second], 0)\n"
            "    sims = jnp.dot(z, z.T) / 0.1\n"
            "    goal = jnp.roll(jnp.arange(len(z)), len(first))\n"
            "    return optax.softmax_cross_entropy(sims, jax.nn.one_hot(goal, len(z))).mean()  # NNX929\n"
            "print(nt_xent(jnp.eye(2), jnp.eye(2)))\n",
        ),
        clean=(
            _PAIRED,
            _PAIRED.replace(_SIM, "z @ z.T / temperature - 1e9 * jnp.eye(2 * n)"),
            # similarities that shall be as those of a teacher
            _PAIRED.replace(_SIM, "z @ z.T")
            .replace("_with_integer_labels", "")
            .replace("jnp.concatenate([jnp.arange(n) + n, jnp.arange(n)])", "nnx.softmax(sim + 1)"),
            # of two views, and the covariance of the parts
            _PAIRED.replace(_SIM, "z @ jnp.flip(z).T / temperature"),
            _PAIRED.replace(_SIM, "net(jnp.concatenate([a, b])) @ z.T"),
            _PAIRED.replace(_SIM, "jnp.einsum('di,dj->ij', z.T, z.T + 0)"),
            "def cosine(a, b):\n"
            "    return a @ b.T\n"
            "def contrastive(za, zb, t=0.1):\n"
            "    z = jnp.concatenate((za, zb))\n"
            "    s = cosine(z, z) / t - 1e9 * jnp.eye(len(z))\n"
            "    positives = jnp.concatenate((jnp.diagonal(s, len(za)), jnp.diagonal(s, -len(za))))\n"
            "    return jnp.mean(jax.nn.logsumexp(s, axis=1) - positives)\n"
            "print(contrastive(jnp.eye(2), jnp.eye(2)))\n",
            "def clip_loss(first, second, tau=0.5):\n"
            '    logits = jnp.einsum("id,jd->ij", first, second) / tau\n'
            "    logp = jax.nn.log_softmax(logits, axis=-1)\n"
            "    pos = jnp.arange(len(first))\n"
            "    return -logp[pos, pos].mean()\n"
            "def gram(z):\n"
            "    return jax.nn.log_softmax(z @ z.T)\n"
            "print(clip_loss(jnp.eye(2), jnp.eye(2)), gram(jnp.eye(2)))\n",
            "def soft_gram(z, goal):\n"
            "    return optax.softmax_cross_entropy(z @ z.T, goal).mean()\n"
            "def clip_loss(first, second):\n"
            "    logits = jnp.dot(first, second.T) / 0.1\n"
            "    goal = jax.nn.one_hot(jnp.arange(len(first)), len(first))\n"
            "    return optax.softmax_cross_entropy(logits, goal).mean()\n"
            "print(soft_gram(jnp.eye(2), jnp.eye(2)), clip_loss(jnp.eye(2), jnp.eye(2)))\n",
        ),
    ),
    "NNX928": Cases(
        bad=(
            _LEFT,
            # a split clone; asked for, in a script
            _LEFT.replace(
                "best_params = jax.tree.map(jnp.copy, nnx.state(net))",
                "graphdef, best_state = nnx.split(nnx.clone(net))",
            ),
            """\
best_loss, best_model = None, None
for i, v in enumerate(batches):
    loss = float(v.sum()) + i
    if best_model is None or loss < best_loss:
        best_loss = loss
        best_model = nnx.clone(model)  # NNX928
print(best_loss)
""",
            "def train(params, update, evaluate, loader):\n"
            "    best_acc, best = 0.0, params\n"
            "    for one in loader:\n"
            "        params = update(params, one)\n"
            "        acc = evaluate(params)\n"
            "        if acc > best_acc:\n"
            "            best_acc, best = acc, params  # NNX928\n"
            "    return params, best_acc\n",
        ),
        clean=(
            _BEST,
            _BEST.replace("nnx.update(net, best_params)", "net = nnx.merge(nnx.graphdef(net), best_params)"),
            _LEFT.replace("  # NNX928", "").replace("return net, best", "return best_params, best"),
            _LEFT.replace("  # NNX928", "").replace("best_params", "unused"),
            # without a condition
            """\
best = None
for v in batches:
    best = nnx.clone(model)
""",
            "def train(params, update, evaluate, loader):\n"
            "    best_acc, best = 0.0, params\n"
            "    for one in loader:\n"
            "        params = update(params, one)\n"
            "        acc = evaluate(params)\n"
            "        if acc > best_acc:\n"
            "            best_acc, best = acc, params\n"
            "    return best, best_acc\n"
            "print(train(x, lambda p, one: p + one, jnp.sum, batches))\n",
        ),
    ),
    "NNX927": Cases(
        bad=(
            _SEEN,
            # of all tokens, cut behind the model
            _SEEN.replace("(net(inputs), targets)", "(logits[:, :-1], targets)").replace(
                "    inputs, targets = tokens[:, :-1], tokens[:, 1:]\n",
                "    logits = net(tokens)\n    targets = tokens[:, 1:]\n",
            ),
            _HEADS.replace("[:, :, 0]\n", "[:, :, 0]  # NNX927\n"),
            # a mask of padding alone
            _SEEN.replace("h = block(h)", "h = block(h, nnx.make_attention_mask(tokens > 0, tokens > 0))").replace(
                "self.norm(h))", "self.norm(h), mask=mask)"
            ),
            # attention of one's own
            _SCORED.replace("@ self.v(h)", "@ self.v(h)  # NNX927"),
            "class Block(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.attend = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=rngs)\n"
            "    def __call__(self, h):\n"
            "        return h + self.attend(h)  # NNX927\n"
            "class GPT(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.embed = nnx.Embed(10, 8, rngs=rngs)\n"
            "        self.block = Block(rngs)\n"
            "        self.head = nnx.Linear(8, 10, rngs=rngs)\n"
            "    def __call__(self, ids):\n"
            "        return self.head(self.block(self.embed(ids)))\n"
            "def step(net, batch):\n"
            "    given, goal = batch[:, :-1], batch[:, 1:]\n"
            "    def loss(net):\n"
            "        return optax.softmax_cross_entropy_with_integer_labels(net(given), goal).mean()\n"
            "    return nnx.value_and_grad(loss)(net)[0]\n"
            "print(step(GPT(nnx.Rngs(0)), jnp.ones((2, 5), int)))\n",
            "def attention(q, k, v):\n"
            '    scores = jnp.einsum("bqd,bkd->bqk", q, k) / jnp.sqrt(q.shape[-1])\n'
            '    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores, axis=-1), v)  # NNX927\n'
            "def apply(params, tokens):\n"
            '    h = params["embed"][tokens]\n'
            '    return attention(h @ params["q"], h @ params["k"], h) @ params["embed"].T\n'
            "def loss(params, tokens):\n"
            "    logp = jax.nn.log_softmax(apply(params, tokens[:, :-1]))\n"
            "    return -jnp.take_along_axis(logp, tokens[:, 1:, None], axis=-1).mean()\n"
            'sizes = {"embed": jnp.ones((10, 4)), "q": jnp.eye(4), "k": jnp.eye(4)}\n'
            "print(jax.grad(loss)(sizes, jnp.ones((2, 5), int)))\n",
            "import flax.linen as nn\n"
            "class LM(nn.Module):\n"
            "    @nn.compact\n"
            "    def __call__(self, tokens):\n"
            "        h = nn.Embed(10, 8)(tokens)\n"
            "        h = h + nn.SelfAttention(num_heads=2)(h)  # NNX927\n"
            "        return nn.Dense(10)(h)\n"
            "def loss(params, net, tokens):\n"
            '    logits = net.apply({"params": params}, tokens[:, :-1])\n'
            "    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()\n"
            "tokens = jnp.ones((2, 5), int)\n"
            'print(loss(LM().init(key, tokens)["params"], LM(), tokens))\n',
        ),
        clean=(
            _BLOCKS.replace("self.norm(h))", "self.norm(h), mask=nnx.make_causal_mask(h[..., 0]))"),
            _BLOCKS.replace("h = block(h)", "h = block(h, nnx.make_causal_mask(tokens))").replace(
                "self.norm(h))", "self.norm(h), mask=mask)"
            ),
            _HEADS.replace("q, k, v)", "q, k, v, is_causal=True)"),
            # tokens that are hidden, and classes of tokens
            _BLOCKS.replace("(net(inputs), targets)", "(net(jnp.where(tokens > 1, tokens, 0)), tokens)"),
            _BLOCKS.replace("(net(inputs), targets)", "(net(inputs), inputs)"),
            # a network without attention
            _BLOCKS.replace("nnx.MultiHeadAttention(2, 8, decode=False, rngs=rngs)", "nnx.Linear(8, 8, rngs=rngs)"),
            _SCORED.replace("        return h + nnx", _HIDDEN),
            # over the parts of a token
            _SCORED.replace(".swapaxes(-1, -2)", "[:, 0, :, None]").replace(
                "scores) @ self.v(h)", "self.k(h)) * self.v(h)"
            ),
            "class Block(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.attend = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=rngs)\n"
            "    def __call__(self, h, mask):\n"
            "        return h + self.attend(h, mask=mask)\n"
            "class GPT(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.embed = nnx.Embed(10, 8, rngs=rngs)\n"
            "        self.block = Block(rngs)\n"
            "        self.head = nnx.Linear(8, 10, rngs=rngs)\n"
            "    def __call__(self, ids):\n"
            "        return self.head(self.block(self.embed(ids), nnx.make_causal_mask(ids)))\n"
            "def step(net, batch):\n"
            "    given, goal = batch[:, :-1], batch[:, 1:]\n"
            "    def loss(net):\n"
            "        return optax.softmax_cross_entropy_with_integer_labels(net(given), goal).mean()\n"
            "    return nnx.value_and_grad(loss)(net)[0]\n"
            "print(step(GPT(nnx.Rngs(0)), jnp.ones((2, 5), int)))\n",
            "def attention(q, k, v, seen):\n"
            '    scores = jnp.einsum("bqd,bkd->bqk", q, k) / jnp.sqrt(q.shape[-1])\n'
            '    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores + seen, axis=-1), v)\n'
            "def apply(params, tokens, seen):\n"
            '    h = params["embed"][tokens]\n'
            '    return attention(h @ params["q"], h @ params["k"], h, seen) @ params["embed"].T\n'
            "def loss(params, tokens):\n"
            "    n = tokens.shape[1] - 1\n"
            "    seen = jnp.where(jnp.arange(n)[:, None] >= jnp.arange(n), 0.0, -1e9)\n"
            "    logp = jax.nn.log_softmax(apply(params, tokens[:, :-1], seen))\n"
            "    return -jnp.take_along_axis(logp, tokens[:, 1:, None], axis=-1).mean()\n"
            'sizes = {"embed": jnp.ones((10, 4)), "q": jnp.eye(4), "k": jnp.eye(4)}\n'
            "print(jax.grad(loss)(sizes, jnp.ones((2, 5), int)))\n",
            "import flax.linen as nn\n"
            "class Tagger(nn.Module):\n"
            "    @nn.compact\n"
            "    def __call__(self, tokens):\n"
            "        h = nn.Embed(10, 8)(tokens)\n"
            "        h = h + nn.SelfAttention(num_heads=2)(h)\n"
            "        return nn.Dense(4)(h)\n"
            "def loss(params, net, tokens, tags):\n"
            '    logits = net.apply({"params": params}, tokens[:, :-1])\n'
            "    return optax.softmax_cross_entropy_with_integer_labels(logits, tags[:, 1:]).mean()\n"
            "tokens = jnp.ones((2, 5), int)\n"
            'print(loss(Tagger().init(key, tokens)["params"], Tagger(), tokens, tokens))\n',
        ),
    ),
    "NNX926": Cases(
        bad=(
            _MEASURED.replace(_FIRST, "").replace(
                "for v in batches:\n", "for v in batches:\n    " + _FIRST.replace("\n", "  # NNX926\n")
            ),
            _MEASURED.replace("for v in batches:\n", "for v in batches:\n        metrics.reset()  # NNX926\n"),
            _TOTAL.replace("total = 0.0\nfor v in batches:\n", "for v in batches:\n    total = 0.0  # NNX926\n"),
            # what a round has made of its batch
            """\
meter = nnx.metrics.Average()
for batch in batches:
    meter.reset()  # NNX926
    loss = jnp.mean(batch ** 2)
    meter.update(values=loss)
print(meter.compute())
""",
            # two at once, and lists by name
            """\
for v in batches:
    total, count = 0.0, 0  # NNX926
    total += v.sum()
    count += 1
print(total / count)
""",
            """\
for v in batches:
    history = {"loss": [], "norm": []}  # NNX926
    history["loss"].append(v.sum())
    history["norm"].append(jnp.abs(v).max())
print(history)
""",
            "def validate(step, loader):\n"
            "    for batch in loader:\n"
            "        total = 0.0  # NNX926\n"
            "        total = total + step(batch) * len(batch)\n"
            "    return total / 100\n",
        ),
        clean=(
            _MEASURED.replace("        eval_step(net, metrics, v)  # NNX901\n", "        metrics.update(values=v)\n"),
            _TOTAL,
            # each round reads it, or an inner loop fills it
            _TOTAL.replace("total = 0.0\nfor v in batches:\n", "for v in batches:\n    total = 0.0\n").replace(
                "sum()\n", "sum()\n    print(total)\n"
            ),
            """\
for epoch in range(3):
    losses = []
    for v in batches:
        losses.append(v.sum())
print(losses)
""",
            """\
def run(v, meter):
    for row in v:
        meter.update(values=row)
for epoch in range(3):
    meter = nnx.metrics.Average()
    run(x, meter)
print(meter.compute())
""",
            # the first that serves
            """\
for v in batches:
    found = []
    found.append(v)
    if v.sum() > 2:
        break
print(found)
""",
            # begun once more behind the loop
            """\
for v in batches:
    total = 0
    total += v.sum()
total = 1
print(total)
""",
            """\
history = []
for v in batches:
    record = {"loss": [], "norm": []}
    record["loss"].append(v.sum())
    history.append(record)
print(history)
""",
            """\
for v in batches:
    total, count = 0.0, 0
    for row in v:
        total += row
        count += 1
print(total / count)
""",
            "def validate(step, loader):\n"
            "    total = 0.0\n"
            "    for batch in loader:\n"
            "        total = total + step(batch) * len(batch)\n"
            "    return total / 100\n"
            "def last(step, loader):\n"
            "    for batch in loader:\n"
            "        total = 0.0\n"
            "        total = 2 * total + step(batch)\n"
            "    return total\n"
            "print(validate(jnp.sum, batches), last(jnp.sum, batches))\n",
        ),
    ),
    "NNX925": Cases(
        bad=(
            """\
def coupling(w, v):
    a, b = v[:, :2], v[:, 2:]
    s = jnp.tanh(a @ w)
    return jnp.concatenate([a, b * jnp.exp(s)], axis=1), s.sum()  # NNX925
def log_density(ws, v):
    total = 0.0
    for w in ws:
        v, log_det = coupling(w, v)
        total += log_det
    return -0.5 * jnp.sum(v**2, axis=-1) + total
def loss(ws, v):
    return -log_density(ws, v).mean()
""",
            """\
def affine(params, v):
    scale, shift = params
    return v * jnp.exp(scale) + shift, jnp.broadcast_to(scale, v.shape)
def squash(v):
    return jnp.arcsinh(v), -0.5 * jnp.log1p(v**2)
def to_noise(params, v):
    z, first = affine(params["a"], v)
    z, second = squash(z)
    z, third = affine(params["b"], z)
    return z, first + second + third
def log_prob(params, v):
    z, logdet = to_noise(params, v)
    base = -0.5 * (z**2 + jnp.log(2 * jnp.pi))
    return base - logdet  # NNX925
""",
            _VOLUME.replace("return z, -jnp.sum(log_s, axis=-1)", "return z, jnp.sum(log_s, axis=-1)  # NNX925"),
            """\
class Coupling:
    def inverse(self, w, y):
        one, two = jnp.split(y, 2, axis=-1)
        s = one @ w
        return jnp.concatenate([one, (two - s) / jnp.exp(s)], -1), s.sum(-1)  # NNX925
    def log_prob(self, w, y):
        z, log_det = self.inverse(w, y)
        return jax.scipy.stats.norm.logpdf(z).sum(-1) + log_det
print(Coupling().log_prob(jnp.eye(2), jnp.ones((3, 4))))
""",
            """\
def to_base(s, v):
    return v * jnp.exp(s), -jnp.sum(s)  # NNX925
def nll(s, v):
    z, logdet = to_base(s, v)
    log_pz = jax.scipy.stats.norm.logpdf(z).sum(-1)
    return -jnp.mean(log_pz + logdet)
print(nll(x, jnp.ones((2, 3))))
""",
            _CODED.replace("-0.5", "0.5").replace(_RETURN, _WRONG_CODE),
            # the divergence itself, taken off; of a helper
            """\
def divergence(mu, log_std):
    return 0.5 * (mu * mu + jnp.exp(2 * log_std) - 2 * log_std - 1).sum(-1)
def loss_fn(v, mu, log_std):
    return jnp.mean((v - mu) ** 2) - divergence(mu, log_std).mean()  # NNX925
loss_fn(x, x, x)
""",
            _TRIED.replace("- 0.01 * entropy.mean()", "+ 0.01 * entropy.mean()  # NNX925"),
            # minus the entropy, taken off; of a log-probability
            """\
def loss_fn(logits, advantages, weight):
    log_prob = nnx.log_softmax(logits)
    policy_loss = -jnp.mean(log_prob * advantages)
    certainty = jnp.sum(nnx.softmax(logits) * nnx.log_softmax(logits))
    return policy_loss - weight * certainty  # NNX925
loss_fn(x, x, 0.01)
""",
            _CODED.replace("-0.5", "0.5").replace(
                "    return jnp.mean(error + beta * kl)\n",
                "    error += beta * kl  # NNX925\n    return error.mean()\n",
            ),
        ),
        clean=(
            """\
def coupling(w, v):
    a, b = v[:, :2], v[:, 2:]
    s = jnp.tanh(a @ w)
    return jnp.concatenate([a, b * jnp.exp(s)], axis=1), s.sum(axis=1)
def log_density(ws, v):
    total = 0.0
    for w in ws:
        v, log_det = coupling(w, v)
        total += log_det
    return -0.5 * jnp.sum(v**2, axis=-1) + total
def loss(ws, v):
    return -log_density(ws, v).mean()
print(loss([jnp.eye(2)], jnp.ones((3, 4))))
""",
            """\
def coupling(w, v):
    a, b = v[..., :2], v[..., 2:]
    s = jnp.tanh(a @ w)
    return jnp.concatenate([a, b * jnp.exp(s)], axis=-1), s.sum()
def log_density(w, v):
    v, log_det = coupling(w, v)
    return -0.5 * jnp.sum(v**2, axis=-1) + log_det
def loss(w, vs):
    return -jax.vmap(log_density, (None, 0))(w, vs).mean()
print(loss(jnp.eye(2), jnp.ones((3, 4))))
""",
            """\
def affine(params, v):
    scale, shift = params
    return v * jnp.exp(scale) + shift, jnp.broadcast_to(scale, v.shape)
def squash(v):
    return jnp.arcsinh(v), -0.5 * jnp.log1p(v**2)
def to_noise(params, v):
    z, first = affine(params["a"], v)
    z, second = squash(z)
    z, third = affine(params["b"], z)
    return z, first + second + third
def log_prob(params, v):
    z, logdet = to_noise(params, v)
    base = -0.5 * (z**2 + jnp.log(2 * jnp.pi))
    return base + logdet
assert log_prob({"a": (0.1, 0.2), "b": (0.3, 0.4)}, x).shape == (3,)
""",
            """\
def affine(params, v):
    scale, shift = params
    return (v - shift) * jnp.exp(-scale), jnp.broadcast_to(scale, v.shape)
def to_noise(params, v):
    z, first = affine(params[0], v)
    z, second = affine(params[1], z)
    return z, first + second
def log_prob(params, v):
    z, logdet = to_noise(params, v)
    return -0.5 * z**2 - logdet
assert log_prob([(0.1, 0.2), (0.3, 0.4)], x).shape == (3,)
""",
            _VOLUME,
            # the volume of the other direction, taken off
            _VOLUME.replace("return z, -jnp", "return z, jnp").replace("+ log_det", "- log_det"),
            """\
def push(s, z):
    return z * jnp.exp(s), jnp.sum(s)
def draw(s, key):
    z = jax.random.normal(key, s.shape)
    v, log_det = push(s, z)
    return v, jax.scipy.stats.norm.logpdf(z).sum() - log_det
print(draw(x, key))
""",
            """\
def push(s, z):
    return z * jnp.exp(s), jnp.sum(s)
def bound(s, key, log_prob):
    z = jax.random.normal(key, s.shape)
    v, log_det = push(s, z)
    return log_prob(v) + log_det - jax.scipy.stats.norm.logpdf(z).sum()
print(bound(x, key, jnp.sum))
""",
            _CODED,
            # the loss is minus the bound
            _CODED.replace("-0.5", "0.5").replace("error + beta", "error - beta"),
            _CODED.replace("-0.5", "0.5").replace("jnp.mean(error + beta * kl)", "-jnp.mean(beta * kl - error)"),
            _CODED.replace("-0.5", "0.5").replace("error = optax", "bound = -optax").replace("error", "bound"),
            _TRIED,
            # the objective, which climbs
            _TRIED.replace("-surrogate.mean() - 0.01", "surrogate.mean() + 0.01"),
            # an entropy that shall be small, without a policy
            """\
def adapt(logits, labels):
    probs = nnx.softmax(logits)
    entropy = -jnp.sum(probs * jnp.log(probs + 1e-8))
    return optax.softmax_cross_entropy(logits, labels) + 0.1 * entropy
adapt(x, x)
""",
            # another sum of four
            """\
def penalty(v, a, b):
    return jnp.mean((v - a) ** 2) + (1 + a - b**2 - jnp.exp(b)).sum()
penalty(x, x, x)
""",
            _CODED.replace(
                "    return jnp.mean(error + beta * kl)\n", "    error += beta * kl\n    return error.mean()\n"
            ),
        ),
    ),
    "NNX924": Cases(
        bad=(
            _DECAYED.replace("p.ndim > 1", "p.ndim < 2").replace("mask=decays)", _MARK),
            _BY_NAME.replace("not any(", "any(").replace("mask=decays)", _MARK),
            _OF_DICT.replace("not in", "in").replace("decays)\n", "decays)  # NNX924\n"),
            # the mask as a tree, by its shape
            """\
weights = {"kernel": jnp.ones((2, 2)), "bias": x}
mask = jax.tree.map(lambda p: len(p.shape) == 1, weights)
tx = optax.chain(optax.scale_by_adam(), optax.add_decayed_weights(0.1, mask), optax.scale(-0.1))  # NNX924
""",
            # names in a tuple of the module
            """\
from flax import traverse_util
SPARED = ("bias", "scale")
def decaying(params):
    flat = traverse_util.flatten_dict(params)
    chosen = {path: path[-1] in SPARED for path in flat}
    return traverse_util.unflatten_dict(chosen)
tx = optax.adamw(0.1, weight_decay=0.1, mask=decaying)  # NNX924
""",
            # one of two optimizers
            _DECAYED.replace("p.ndim > 1", "p.ndim < 2").replace("mask=decays)", _MARK)
            + "other = optax.lion(0.1, mask=lambda params: jax.tree.map(lambda p: p.ndim > 1, params))\n",
            "def wants_decay(path, _):\n"
            '    name = "/".join(str(one) for one in path)\n'
            '    return "bias" in name or "norm" in name\n'
            "mask = partial(jax.tree_util.tree_map_with_path, wants_decay)\n"
            "tx = optax.lamb(1e-3, weight_decay=0.05, mask=mask)  # NNX924\n",
            # a function says what is spared, and its answer is not turned around
            _SPARED.replace("not spared(path)", "spared(path)").replace("mask=decays)", _MARK),
            # answers that are given early
            _EARLY.replace("return False", "return True").replace("p.ndim > 1", "False").replace("mask=decays)", _MARK),
        ),
        clean=(
            _DECAYED,
            _SPARED,
            _EARLY,
            # what another function says of the sizes is not known
            _SPARED.replace('"bias" in name or "scale" in name', "len(name) > 40"),
            _DECAYED.replace("p.ndim > 1", "not p.ndim <= 1"),
            _BY_NAME,
            _OF_DICT,
            # what is masked is no decay, or the other masks are
            _OF_DICT.replace("not in", "in").replace("optax.add_decayed_weights(0.1)", "optax.set_to_zero()"),
            _DECAYED.replace("p.ndim > 1", "p.size > 1").replace("mask=decays", "mask=lambda p: decays(p)"),
            # a decay for each kind
            _DECAYED.replace(
                "optax.adamw(0.1, weight_decay=0.1, mask=decays)",
                """\
optax.chain(
    optax.add_decayed_weights(0.1, mask=decays),
    optax.add_decayed_weights(0.01, mask=lambda params: jax.tree.map(lambda p: p.ndim == 1, params)),
)""",
            ),
            # the exceptions, turned around where they are used
            """\
weights = {"kernel": jnp.ones((2, 2)), "bias": x}
spared = jax.tree.map(lambda p: p.ndim == 1, weights)
tx = optax.adamw(0.1, mask=jax.tree.map(lambda m: not m, spared))
tx.init(weights)
""",
            "def wants_decay(path, _):\n"
            '    name = "/".join(str(one) for one in path)\n'
            '    return not ("bias" in name or "norm" in name)\n'
            "mask = partial(jax.tree_util.tree_map_with_path, wants_decay)\n"
            "tx = optax.lamb(1e-3, weight_decay=0.05, mask=mask)\n"
            'print(tx.init({"kernel": x}))\n',
        ),
    ),
    "NNX923": Cases(
        bad=(
            """\
def follow(ema, params, rate):
    return jax.tree.map(lambda e, p: e + (1 - rate) * (e - p), ema, params)  # NNX923
""",
            _SOFT.replace(
                "lambda n, o: tau * n + (1 - tau) * o, new, old)",
                "lambda n, o: (1 - tau) * n + tau * o, new, old)  # NNX923",
            ),
            # nothing but the names tells, of trees and of the number
            _MOVING.replace(
                "e * ema_decay + p * (1 - ema_decay), ema, params)",
                "e * (1 - ema_decay) + p * ema_decay, ema, params)  # NNX923",
            ),
            # a step towards the new, of a function; by a field
            """\
class Agent:
    def __init__(self):
        self.critic, self.target, self.rate = {"w": x}, {"w": x * 2}, 0.995
    def sync(self):
        def move(old, new):
            return old + self.rate * (new - old)
        self.target = jax.tree.map(move, self.target, self.critic)  # NNX923
Agent().sync()
""",
            _STEP_OF.replace("0.005)", "0.995)  # NNX923"),
            "class Target:\n"
            "    def __init__(self, params):\n"
            "        self.params = params\n"
            "    def sync(self, online):\n"
            "        self.params = optax.incremental_update(self.params, online, 0.005)  # NNX923\n",
        ),
        clean=(
            """\
def follow(ema, params, rate):
    return jax.tree.map(lambda e, p: e + (1 - rate) * (p - e), ema, params)
print(follow(x, 2 * x, 0.9))
""",
            """\
def beyond(params, before, rate):
    return jax.tree.map(lambda p, b: p + rate * (p - b), params, before)
print(beyond(x, 2 * x, 0.9))
""",
            # a momentum that is small
            _MOVING.replace("e * ema_decay + p * (1 - ema_decay)", "0.05 * e + 0.95 * p").replace("ema,", "momentum,"),
            _SOFT,
            # a tau that is the weight of the old one
            _SOFT.replace("tau * n + (1 - tau) * o", "(1 - tau) * n + tau * o").replace("0.01", "0.995"),
            _MOVING,
            _STEP_OF,
            _STEP_OF.replace("online, target, 0.005", "target, online, 0.995"),
            # a copy, an average of two, and one that goes back into the net
            _STEP_OF.replace("0.005", "1.0"),
            """\
a, b = {"w": x}, {"w": x * 2}
middle = jax.tree.map(lambda one, two: 0.1 * one + 0.9 * two, a, b)
""",
            _SOFT.replace("tau * n + (1 - tau) * o", "(1 - tau) * n + tau * o").replace(
                "nnx.update(target,", "nnx.update(net,"
            ),
            "class Target:\n"
            "    def __init__(self, params):\n"
            "        self.params = params\n"
            "    def sync(self, online):\n"
            "        self.params = optax.incremental_update(online, self.params, 0.005)\n"
            "target = Target(x)\n"
            "target.sync(2 * x)\n"
            "print(target.params, optax.incremental_update(x, 2 * x, 0.005))\n",
        ),
    ),
    "NNX922": Cases(
        bad=(
            # where the formula is
            """\
def distill(student, teacher, v):
    return optax.kl_divergence(nnx.softmax(student(v)), nnx.softmax(teacher(v))).mean()  # NNX922
distill(model, model, x)
""",
            # by name, with logarithms for targets
            """\
log_p, log_q = jax.nn.log_softmax(x), jax.nn.log_softmax(x * 2)
loss = optax.losses.kl_divergence(
    log_predictions=log_p,
    targets=log_q,  # NNX922
)
""",
            # what a model gives, and a helper
            """\
class Policy(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, v):
        return nnx.softmax(self.fc(v))
def soften(logits, t):
    return jax.nn.softmax(logits / t, axis=-1)
policy = Policy(nnx.Rngs(0))
def loss_fn(m):
    probs = m(x)
    return optax.kl_divergence(
        probs,  # NNX922
        soften(x[:2], 2.0),
    ).sum()
loss_fn(policy)
""",
            """\
def penalty(logits, old_logits):
    p, q = jax.nn.log_softmax(logits), nnx.softmax(old_logits)
    return jax.scipy.special.rel_entr(p, q).sum()  # NNX922
penalty(x, x)
""",
            """\
teacher = jax.nn.log_softmax(x)
loss = optax.softmax_cross_entropy(x, teacher)  # NNX922
""",
            "def kl(log_p, log_q):\n"
            "    return jnp.sum(jnp.exp(log_p) * (log_p - log_q), axis=-1)\n"
            "def policy_kl(old_logits, new_logits):\n"
            "    old = jax.nn.log_softmax(old_logits)\n"
            "    new = jax.nn.softmax(new_logits)\n"
            "    return kl(old, new).mean()  # NNX922\n"
            "print(policy_kl(jnp.ones((2, 3)), jnp.zeros((2, 3))))\n",
        ),
        clean=(
            _DISTILLED,
            _DISTILLED.replace("nnx.log_softmax(student(v) / 2.0)", "jnp.log(nnx.softmax(student(v) / 2.0) + 1e-8)"),
            _DISTILLED.replace("jax.nn.softmax(teacher", "nnx.log_softmax(teacher").replace(
                "optax.kl_divergence", "optax.losses.kl_divergence_with_log_targets"
            ),
            _DISTILLED.replace("jax.nn.softmax(teacher(v) / 2.0)", "jnp.exp(nnx.log_softmax(teacher(v) / 2.0))"),
            "print(jax.scipy.special.rel_entr(jax.nn.softmax(x), nnx.softmax(x)).sum())\n",
            "print(optax.softmax_cross_entropy(x, jax.nn.softmax(x)))\n",
            # one of its own, which takes probabilities
            """\
def kl_divergence(predictions, targets):
    return jnp.sum(targets * (jnp.log(targets) - jnp.log(predictions)))
print(kl_divergence(jax.nn.softmax(x), jax.nn.softmax(x * 2)))
""",
            "def kl(log_p, log_q):\n"
            "    return jnp.sum(jnp.exp(log_p) * (log_p - log_q), axis=-1)\n"
            "def kl_of(p, q):\n"
            "    return (p * (jnp.log(p) - jnp.log(q))).sum(-1)\n"
            "def policy_kl(old_logits, new_logits):\n"
            "    plain = kl_of(jax.nn.softmax(old_logits), jax.nn.softmax(new_logits))\n"
            "    return kl(jax.nn.log_softmax(old_logits), jax.nn.log_softmax(new_logits)).mean() + plain.mean()\n"
            "print(policy_kl(jnp.ones((2, 3)), jnp.zeros((2, 3))))\n",
        ),
    ),
}
