"""Cases of what research scripts get wrong: gradients, optax, keys, and names and arguments of JAX."""

from __future__ import annotations

from tests.lint.tables import Cases

_LOSS = "def loss(p, v):\n    return ((p['w'] * v) ** 2).sum()\n"
_PARAMS = "params = {'w': jnp.ones(3)}\n"
_Q = """\
def q(p, s):
    return s @ p
weights = jnp.ones((3, 2))
batch = {"s": jnp.ones((5, 3)), "t": jnp.ones((5, 3)), "a": jnp.arange(5) % 2, "r": jnp.arange(5.0)}
"""
_COLUMN = (
    "class One(nnx.Module):\n    def __init__(self, rngs):\n        self.out = nnx.Linear(3, 1, rngs=rngs)\n"
    "    def __call__(self, v):\n        return self.out(v)\n"
    "one = One(nnx.Rngs(1))\ndata = jnp.ones((4, 3))\ngoal = data.sum(1).ravel()\n"
)
_NETS = (
    "class Net(nnx.Module):\n    def __init__(self, rngs, width=1):\n"
    "        self.inner = nnx.Linear(3, 4, rngs=rngs)\n        self.out = nnx.Linear(4, width, rngs=rngs)\n"
    "    def __call__(self, v):\n        v = jnp.tanh(self.inner(v))\n        return 2.0 * self.out(v) + 0.5\n"
    "net = Net(nnx.Rngs(2))\nrows = jax.random.normal(key, (6, 3))\nscale = jnp.array([[1.0, 2.0, 3.0]])\n"
)
_HEADS = _NETS + (
    "class Heads(nnx.Module):\n    def __init__(self, rngs):\n        self.actor = nnx.Linear(3, 2, rngs=rngs)\n"
    "        self.critic = nnx.Linear(3, 1, rngs=rngs)\n"
    "    def __call__(self, v):\n        return self.actor(v), self.critic(v)\nheads = Heads(nnx.Rngs(5))\n"
)

_WATCHED = """\
class Watched(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.seen = nnx.List([])
    def __call__(self, v):
        h = self.fc(v)
        self.seen.append(h)  # NNX919
        return h
"""
_UNMARKED = _WATCHED.replace("  # NNX919", "")
_STEPS = """\
@nnx.jit
def step(net):
    def loss(net):
        return net(x).sum()
    return nnx.grad(loss)(net)
def run():  # nnx.List is new in 0.12
    net = Watched(nnx.Rngs(0))
    for _ in range(2):
        step(net)
"""

_GIVEN_LESS = tuple(
    f"tx = optax.{tx}\ndef step(p, s, g):\n    u, s = tx.update({given})  # NNX885\n"
    "    return optax.apply_updates(p, u), s\n"
    for given in ("g, s", "updates=g, state=s")
    for tx in ("adamw(1e-3)", "lion(1e-3)", "chain(optax.clip(1.0), optax.add_decayed_weights(1e-4))")
)
_GIVEN_ALL = tuple(
    f"tx = optax.{tx}\ndef step(p, s, g):\n    u, s = tx.update({given})\n    return optax.apply_updates(p, u), s\n"
    for tx, given in (
        ("adamw(1e-3)", "g, s, p"),
        ("adam(1e-3)", "g, s"),
        ("sgd(1e-3)", "g, s"),
        ("lion(1e-3)", "g, s, p"),
        ("lamb(1e-3)", "updates=g, state=s, params=p"),
        ("lamb(1e-3)", "g, state=s, params=p"),
        ("adam(1e-3)", "updates=g, state=s"),
        ("adam(1e-3)", "g, state=s"),
    )
)
_CHOSEN = """\
def chosen(name):
    if name == "lbfgs":
        return optax.lbfgs()
    return optax.adam(1e-3)
"""

CASES: dict[str, Cases] = {
    "NNX800": Cases(
        bad=(
            """\
class Config:
    hidden = 4
def init_critic(key, cfg):
    k1, k2 = jax.random.split(key)
    return {"w1": jax.random.normal(k1, (3, cfg.hidden)) / jnp.sqrt(3.0),
            "w2": jax.random.normal(k2, (cfg.hidden, 1)) / jnp.sqrt(cfg.hidden)}
def critic(params, obs):
    return jnp.tanh(obs @ params["w1"]) @ params["w2"]
def value_loss(params, obs, returns):
    return jnp.mean((critic(params, obs) - returns) ** 2)  # NNX800
params = init_critic(key, Config())
print(jax.grad(value_loss)(params, jnp.ones((5, 3)), jnp.ones((5, 3))[:, 0]))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(2, 8, rngs=rngs)
        self.out = nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, points):
        return self.out(jnp.tanh(self.hidden(points)))
def derivatives(net, points):
    def u(point):
        return net(point)[0]
    slopes = jax.vmap(jax.grad(u))(points)
    curves = jax.vmap(jax.hessian(u))(points)
    return slopes[:, 0], slopes[:, 1], curves[:, 0, 0]
def residual(net, points):
    u = net(points)
    u_x, u_t, u_xx = derivatives(net, points)
    return u_t + u * u_x - 0.01 * u_xx  # NNX800
residual(Net(nnx.Rngs(0)), jnp.ones((4, 2)))
""",
            """\
def accuracy(w, x, y):
    return jnp.mean(jnp.argmax(x @ w, axis=-1) == jnp.argmax(y))  # NNX800
print(accuracy(jnp.ones((3, 2)), jnp.ones((4, 3)), jax.nn.one_hot(jnp.zeros(4), 2)))
""",
            """\
@jax.jit
def accuracy(logits, label):
    return jnp.mean(jnp.argmax(logits) == label)  # NNX800
print(accuracy(jnp.ones((4, 3)), jnp.zeros(4, int)))
""",
            """\
def begun(key, features):
    return {"kernel": 0.1 * jax.random.normal(key, (features, 1)), "bias": jnp.zeros((1,))}
def logits(params, v):
    return v @ params["kernel"] + params["bias"]
def loss(params, v, labels):
    return optax.sigmoid_binary_cross_entropy(logits(params, v), labels).mean()  # NNX800
data = jax.random.normal(jax.random.key(0), (8, 3))
labels = (data[:, 0] > 0).astype(jnp.float32)
params, tx = begun(jax.random.key(1), 3), optax.adam(0.05)
state = tx.init(params)
for _ in range(2):
    grads = jax.grad(loss)(params, data, labels)
    updates, state = tx.update(grads, state)
    params = optax.apply_updates(params, updates)
""",
            """\
def begun(key, features):
    return {"kernel": jax.random.normal(key, (features, 1)), "bias": jnp.zeros((1,))}
def loss(params, v, goal):
    made = v @ params["kernel"] + params["bias"]
    return jnp.mean((made - goal) ** 2)  # NNX800
data = jax.random.normal(jax.random.key(0), (8, 3))
goal = data[:, 0] * 2
params = begun(jax.random.key(1), 3)
for _ in range(2):
    grads = jax.grad(loss)(params, data, goal)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
""",
            """\
def evaluate(logits, labels):
    predictions = logits.argmax()
    return {"accuracy": (predictions == labels).mean()}  # NNX800
""",
            _COLUMN + "print(((one(data) - goal) ** 2).mean())  # NNX800\n",
            _COLUMN + "print(optax.squared_error(one(data), goal).mean())  # NNX800\n",
            "def accuracy(logits, labels):\n    return jnp.mean(jnp.argmax(logits) == labels)  # NNX800\n",
            _NETS + "def data(v):\n    return v, jnp.sum(v * scale, axis=1) + 0.5 * v[:, 0]\n"
            "def loss(m, v, t):\n    made = m(v)\n    return jnp.mean((made - t) ** 2)  # NNX800\n"
            "v, t = data(rows)\nprint(nnx.grad(loss)(net, v, t))\n",
            _NETS + "t = jnp.stack([row.sum() for row in rows])\nt2 = jnp.stack([rows[0, 0]] * 6)\n"
            "t3 = jnp.concatenate([rows[:3, 0], rows[3:, 1]])\nprint(jnp.square(t3 - net(rows)).mean())  # NNX800\n",
            _NETS + "chain = nnx.Sequential(nnx.Linear(3, 1, rngs=nnx.Rngs(4)), nnx.sigmoid)\n"
            "print(((chain(rows) - jnp.linalg.norm(rows, axis=1)) ** 2).mean())  # NNX800\n"
            "far = jnp.linalg.norm(rows, axis=1)\nprint(((chain(rows) - far) ** 2).mean())  # NNX800\n"
            "dots = jnp.einsum('ij,kj->i', rows, scale)\nprint(jnp.abs(net(rows) - dots).mean())  # NNX800\n",
            _COLUMN + "order = np.random.default_rng(0).permutation(4)\nmixed = goal[order]\n"
            "print(((one(data[order]) - mixed) ** 2).mean())  # NNX800\n",
            _COLUMN + "def part(goal, picked):\n    return goal[picked[:2]]\n"
            "some = part(goal, jnp.argsort(data[:, 0]))\nprint(((one(data[:2]) - some) ** 2).mean())  # NNX800\n",
            _COLUMN + "def loss(m, v, goal):\n    made = m(v)\n    return ((made - goal) ** 2).mean()  # NNX800\n"
            "batch = (data, goal)\nprint(nnx.grad(loss)(one, *batch))\n",
            _COLUMN + "a, b = (jnp.asarray(v) for v in (data, goal))\nprint(((one(a) - b) ** 2).mean())  # NNX800\n",
            _COLUMN + "rewards, dones = np.random.rand(4), np.random.RandomState(0).rand(4) > 0.5\n"
            "@nnx.jit\ndef target(m, v, r, done):\n    return r + 0.9 * (1 - done) * m(v)  # NNX800\n"
            "print(target(one, data, rewards, dones))\n",
            _COLUMN + "def loss(m, v, labels):\n    p = nnx.sigmoid(m(v))\n"
            "    return -jnp.mean(labels * jnp.log(p + 1e-7) + (1 - labels) * jnp.log(1 - p + 1e-7))  # NNX800\n"
            "print(loss(one, data, (data[:, 0] > 0).astype(jnp.float32)))\n",
            _COLUMN + "print(((one(data) > 0.5) == (goal > 0)).mean())  # NNX800\n",
            # parts of batches that a generator gives
            _COLUMN + "def parts(v, t):\n    for i in range(0, len(v), 2):\n        yield v[i : i + 2], t[i : i + 2]\n"
            "for v, t in parts(data, goal):\n    print(((one(v) - t) ** 2).mean())  # NNX800 NNX912\n",
            _COLUMN + "def parts(v, t):\n    for i in range(0, len(v), 2):\n"
            "        yield {'v': v[i : i + 2], 't': t[i : i + 2]}\n"
            "def loss(m, b):\n    return ((m(b['v']) - b['t']) ** 2).mean()  # NNX800\n"
            "for part in parts(data, goal):\n    print(nnx.grad(loss)(one, part))\n",
            _COLUMN
            + "fake = jnp.zeros(data.shape[0])\nprint(optax.sigmoid_binary_cross_entropy(one(data), fake))  # NNX800\n",
            _COLUMN + "rng = np.random.default_rng(0)\nlabels = (goal > np.median(goal)).astype(np.float32)\n"
            "def bce(m, v, y):\n    return optax.sigmoid_binary_cross_entropy(m(v), y).mean()  # NNX800\n"
            "for _ in range(2):\n    order = rng.permutation(4)\n    for picked in order.reshape(-1, 2):\n"
            "        nnx.grad(bce)(one, data[picked], labels[picked])\n",
            _HEADS + "def loss(m, v, returns):\n    logits, values = m(v)\n"
            "    gain = jax.lax.stop_gradient(returns - values)  # NNX800\n"
            "    return (jax.nn.log_softmax(logits)[:, 0] * gain).mean() + ((returns - values) ** 2).mean()\n"
            "print(nnx.grad(loss)(heads, rows, jnp.arange(6.0)))\n",
            _COLUMN + "def outer(m, v, t):\n    y = m(v)\n    def error(scale):\n"
            "        return ((scale * y - t) ** 2).mean()  # NNX800\n    return jax.grad(error)(2.0)\n"
            "print(outer(one, data, goal))\n",
            """\
class ActorCritic(nnx.Module):
    def __init__(self, rngs):
        self.torso = nnx.Linear(3, 8, rngs=rngs)
        self.policy = nnx.Linear(8, 4, rngs=rngs)
        self.value = nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, obs):
        h = nnx.tanh(self.torso(obs))
        return self.policy(h), self.value(h)
def a2c_loss(net, obs, actions, returns):
    logits, values = net(obs)
    log_probs = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_probs, actions[:, None], axis=1)[:, 0]
    advantages = returns - values
    return -jnp.mean(chosen * jax.lax.stop_gradient(advantages))  # NNX800
def run(batch):
    return a2c_loss(ActorCritic(nnx.Rngs(0)), *batch)
""",
            """\
class ActorCritic(nnx.Module):
    def __init__(self, rngs):
        self.torso = nnx.Linear(3, 8, rngs=rngs)
        self.policy = nnx.Linear(8, 4, rngs=rngs)
        self.value = nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, obs):
        h = nnx.tanh(self.torso(obs))
        return self.policy(h), self.value(h)
def a2c_loss(net, obs, actions, returns):
    logits, values = net(obs)
    log_probs = jax.nn.log_softmax(logits)
    chosen = jnp.sum(log_probs * jax.nn.one_hot(actions, 4), axis=-1)
    advantages = returns - values
    return -jnp.mean(chosen * jax.lax.stop_gradient(advantages))  # NNX800
def run(batch):
    return a2c_loss(ActorCritic(nnx.Rngs(0)), *batch)
""",
            """\
class ActorCritic(nnx.Module):
    def __init__(self, rngs):
        self.torso = nnx.Linear(3, 8, rngs=rngs)
        self.policy = nnx.Linear(8, 4, rngs=rngs)
        self.value = nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, obs):
        h = nnx.tanh(self.torso(obs))
        return self.policy(h), self.value(h)
def a2c_loss(net, obs, actions, returns):
    logits, values = net(obs)
    log_probs = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_probs, actions[:, None], axis=-1).squeeze(-1)
    advantages = returns - values
    return -jnp.mean(chosen * jax.lax.stop_gradient(advantages))  # NNX800
def run(batch):
    return a2c_loss(ActorCritic(nnx.Rngs(0)), *batch)
""",
            # one element of each row is still a column
            _Q + "def goals(p, b):\n    return b['r'] + 0.9 * jnp.max(q(p, b['t']), axis=1)\n"
            "def loss(p, frozen, b):\n    taken = jnp.take_along_axis(q(p, b['s']), b['a'][:, None], axis=1)\n"
            "    return jnp.mean((taken - goals(frozen, b)) ** 2)  # NNX800\n"
            "print(jax.grad(loss)(weights, weights, batch))\n",
            "def ce(logits, labels, weights):\n    logp = jax.nn.log_softmax(logits)\n"
            "    nll = -jnp.take_along_axis(logp, labels[:, None], axis=-1)\n"
            "    return jnp.sum(nll * weights) / jnp.sum(weights)  # NNX800\n"
            "labels = jnp.array([0, 1, 2, 0])\n"
            "print(ce(jnp.ones((4, 3)), labels, (labels != 0).astype(jnp.float32)))\n",
            _Q + "def loss(p, frozen, b):\n    taken = jnp.take_along_axis(q(p, b['s']), b['a'][:, None], axis=1)\n"
            "    best = q(frozen, b['t']).max(axis=-1)\n"
            "    return jnp.mean((taken - (b['r'] + 0.9 * best)) ** 2)  # NNX800\n"
            "print(jax.grad(loss)(weights, weights, batch))\n",
            _Q + "def errors(p, frozen, b):\n    index = b['a'].reshape(-1, 1)\n"
            "    taken = jnp.take_along_axis(q(p, b['s']), index, axis=-1)\n"
            "    after = q(frozen, b['t'])\n    best = jnp.argmax(q(p, b['t']), axis=1)\n"
            "    goal = b['r'] + 0.9 * jax.vmap(lambda row, i: row[i])(after, best)\n"
            "    return taken - jax.lax.stop_gradient(goal)  # NNX800\n"
            "print(errors(weights, weights, batch).shape)\n",
            _Q + "def loss(p, q_values, next_q_values, b):\n"
            "    taken = jnp.take_along_axis(q_values, jnp.expand_dims(b['a'], 1), 1)\n"
            "    goal = b['r'] + 0.9 * next_q_values[jnp.arange(5), next_q_values.argmax(-1)]\n"
            "    return optax.huber_loss(taken, goal).mean()  # NNX800\n"
            "print(loss(weights, q(weights, batch['s']), q(weights, batch['t']), batch))\n",
            _Q + "net, target_net = nnx.Linear(3, 2, rngs=nnx.Rngs(0)), nnx.Linear(3, 2, rngs=nnx.Rngs(1))\n"
            "def step(net, target_net, b):\n    goal = b['r'] + 0.9 * jnp.max(target_net(b['t']), axis=1)\n"
            "    def loss(m):\n        taken = jnp.take_along_axis(m(b['s']), b['a'][:, jnp.newaxis], axis=1)\n"
            "        return ((taken - goal) ** 2).mean()  # NNX800\n    return nnx.grad(loss)(net)\n"
            "print(step(net, target_net, batch))\n",
            # what a scan gives, stacked
            _COLUMN + "def discounted(rewards, gamma):\n    def body(carry, r):\n        carry = r + gamma * carry\n"
            "        return carry, carry\n    _, out = jax.lax.scan(body, 0.0, rewards, reverse=True)\n    return out\n"
            "def loss(m, v, returns):\n    return jnp.mean((m(v) - returns) ** 2)  # NNX800\n"
            "print(nnx.grad(loss)(one, data, discounted(data[:, 0], 0.9)))\n",
            _COLUMN + "def gae(rewards, values, dones, gamma=0.99, lam=0.95):\n    deltas = rewards - values\n"
            "    def body(later, xs):\n        delta, done = xs\n"
            "        later = delta + gamma * lam * (1.0 - done) * later\n        return later, (later, delta)\n"
            "    _, (adv, _) = jax.lax.scan(body, jnp.zeros(()), (deltas, dones), reverse=True)\n"
            "    return adv, adv + values\n"
            "adv, targets = gae(goal, jnp.zeros(4), jnp.zeros(4))\n"
            "print(((one(data) - targets) ** 2).mean())  # NNX800\n"
            "print(((one(data) - adv) ** 2).mean())  # NNX800\n",
            _COLUMN + "class Returns:\n    def __init__(self, gamma):\n        self.gamma = gamma\n"
            "    def body(self, carry, r):\n        new = r + self.gamma * carry\n        return new, new\n"
            "    def of(self, rewards):\n        return jax.lax.scan(self.body, 0.0, xs=rewards, reverse=True)[1]\n"
            "print(((one(data) - Returns(0.9).of(goal)) ** 2).mean())  # NNX800\n",
            """\
def value(params, obs):
    return jnp.einsum("nh,h->n", jnp.tanh(obs @ params["w"]), params["v"])
def critic_loss(params, obs, targets):
    td = targets - value(params, obs)  # NNX800
    return 0.5 * jnp.square(td).mean()
def collect(k):
    obs = jax.random.normal(k, (8, 4))
    return obs, obs.sum(axis=1, keepdims=True)
obs, targets = collect(key)
jax.grad(critic_loss)({"w": jnp.ones((4, 3)), "v": jnp.ones(3)}, obs, targets)
""",
            """\
class Fit:
    def loss(self, w, features, y):
        return jnp.mean((features @ w - y) ** 2)  # NNX800
    def run(self, features):
        y = jnp.reshape(features.sum(axis=1), (-1, 1))
        return jax.grad(self.loss)(jnp.zeros(4), features, y)
Fit().run(jax.random.normal(key, (8, 4)))
""",
            """\
def loss(w, features, labels):
    return optax.huber_loss(features @ w, labels).mean()  # NNX800
features = jax.random.normal(key, (8, 4))
loss(jnp.zeros(4), features, features.sum(1)[:, None])
""",
        ),
        clean=(
            """\
class Config:
    hidden = 4
def init_critic(key, cfg):
    k1, k2 = jax.random.split(key)
    return {"w1": jax.random.normal(k1, (3, cfg.hidden)) / jnp.sqrt(3.0),
            "w2": jax.random.normal(k2, (cfg.hidden, 1)) / jnp.sqrt(cfg.hidden)}
def critic(params, obs):
    return (jnp.tanh(obs @ params["w1"]) @ params["w2"])[:, 0]
def value_loss(params, obs, returns):
    return jnp.mean((critic(params, obs) - returns) ** 2)
params = init_critic(key, Config())
print(jax.grad(value_loss)(params, jnp.ones((5, 3)), jnp.ones((5, 3))[:, 0]))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(2, 1, rngs=rngs)
    def __call__(self, points):
        return self.out(points)
def residual(net, points):
    u = net(points)[:, 0]
    slopes = jax.vmap(jax.grad(lambda point: jnp.tanh(net(point)[0])))(points)
    column = net(points) * slopes + slopes[:, 0:1] * net(points)
    return slopes[:, 1] + u * slopes[:, 0] + column[:, 0]
residual(Net(nnx.Rngs(0)), jnp.ones((4, 2)))
""",
            """\
def accuracy(w, x, y):
    return jnp.mean(jnp.argmax(x @ w, axis=-1) == jnp.argmax(y, axis=-1))
print(accuracy(jnp.ones((3, 2)), jnp.ones((4, 3)), jax.nn.one_hot(jnp.zeros(4), 2)))
""",
            """\
@partial(jnp.vectorize, signature="(c),()->()")
def accuracy(logits, label):
    return jnp.mean(jnp.argmax(logits) == label)
print(accuracy(jnp.ones((4, 3)), jnp.zeros(4, int)))
""",
            """\
def right(logits, label):
    return jnp.mean(jnp.argmax(logits) == label)
def accuracy(logits, labels):
    return jax.vmap(right)(logits, labels).mean()
print(accuracy(jnp.ones((4, 3)), jnp.zeros(4, int)))
""",
            """\
def right(logits, label):
    return jnp.mean(jnp.argmax(logits) == label)
every = jnp.vectorize(right, signature="(c),()->()")
print(every(jnp.ones((4, 3)), jnp.zeros(4, int)))
""",
            """\
def begun(key, features):
    return {"kernel": 0.1 * jax.random.normal(key, (features, 1)), "bias": jnp.zeros((1,))}
def logits(params, v):
    return (v @ params["kernel"] + params["bias"]).squeeze(-1)
def loss(params, v, labels):
    return optax.sigmoid_binary_cross_entropy(logits(params, v), labels).mean()
data = jax.random.normal(jax.random.key(0), (8, 3))
labels = (data[:, 0] > 0).astype(jnp.float32)
params, tx = begun(jax.random.key(1), 3), optax.adam(0.05)
state = tx.init(params)
for _ in range(2):
    grads = jax.grad(loss)(params, data, labels)
    updates, state = tx.update(grads, state)
    params = optax.apply_updates(params, updates)
print(params)
""",
            """\
def begun(key, features):
    return {"kernel": jax.random.normal(key, (features,)), "wide": jnp.zeros((features, 1))}
def loss(params, v, goal):
    return jnp.mean((v @ params["kernel"] - goal) ** 2)
data = jax.random.normal(jax.random.key(0), (8, 3))
goal = data[:, 0] * 2
params = begun(jax.random.key(1), 3)
for _ in range(2):
    grads = jax.grad(loss)(params, data, goal)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
print(params)
""",
            # the last carry of a scan, columns that it stacks, and what many scans give
            _COLUMN + "total, running = jax.lax.scan(lambda c, r: (c + r, c + r), 0.0, goal)\n"
            "print(((one(data) - total) ** 2).mean(), ((one(data)[:, 0] - running) ** 2).mean())\n"
            "_, columns = jax.lax.scan(lambda c, r: (c + r, c + r), jnp.zeros(1), goal[:, None])\n"
            "print(((one(data) - columns) ** 2).mean())\n",
            _COLUMN + "def sums(row):\n    return jax.lax.scan(lambda c, r: (c + r, c + r), 0.0, row)[1]\n"
            "print(((one(data) - jax.vmap(sums)(goal[:, None])) ** 2).mean())\n",
            _COLUMN + "def body(carry, row):\n    return carry, one(row)\n"
            "_, made = jax.lax.scan(body, 0, data)\nprint(((made - goal[:, None]) ** 2).mean())\n",
            _COLUMN + "def body(carry, rows):\n    return carry, (rows.sum(axis=-1), rows)\n"
            "_, (sums, rows) = jax.lax.scan(body, 0, jnp.ones((4, 1, 3)))\n"
            "print(((one(data) - sums) ** 2).mean(), (one(data) - rows[:, 0]).mean())\n",
            # one element of each row, without the second axis, beside other columns, and of one example
            "def table(scores, ranks, levels):\n    lowest = jnp.take_along_axis(scores, ranks[:, None], axis=1)\n"
            "    return lowest - levels\n"
            "print(table(jnp.ones((4, 3)), jnp.arange(4) % 3, jnp.linspace(0.0, 1.0, 7)).shape)\n",
            _Q
            + "def loss(p, frozen, b):\n    taken = jnp.take_along_axis(q(p, b['s']), b['a'][:, None], axis=1)[:, 0]\n"
            "    best = q(frozen, b['t']).max(axis=-1)\n"
            "    return jnp.mean((taken - (b['r'] + 0.9 * best)) ** 2)\n"
            "print(jax.grad(loss)(weights, weights, batch))\n",
            _Q + "def loss(p, frozen, b):\n    taken = jnp.take_along_axis(q(p, b['s']), b['a'][:, None], axis=1)\n"
            "    best = q(frozen, b['t']).max(axis=-1, keepdims=True)\n"
            "    return jnp.mean((taken - (b['r'][:, None] + 0.9 * best)) ** 2)\n"
            "print(jax.grad(loss)(weights, weights, batch))\n",
            _Q + "def loss(p, frozen, b):\n    taken = jnp.take_along_axis(q(p, b['s']), b['a'][:, None], axis=1)\n"
            "    goal = b['r'] + 0.9 * q(frozen, b['t']).max(axis=-1)\n    goal = goal[:, None]\n"
            "    return optax.huber_loss(taken, goal).mean()\n"
            "print(jax.grad(loss)(weights, weights, batch))\n",
            _Q + "def gap(p, b):\n    values = q(p, b['s'])\n"
            "    taken = jnp.take_along_axis(values, b['a'][:, None], axis=1)\n    return taken - values\n"
            "print(gap(weights, batch).shape)\n",
            _Q + "def gap(p, b):\n    values = q(p, b['s'])\n"
            "    taken = jnp.take_along_axis(values, b['a'][:, None], axis=1)\n    return taken - values.mean(axis=0)\n"
            "print(gap(weights, batch).shape)\n",
            _Q + "def one(p, s, a, r, t):\n    taken = jnp.take_along_axis(q(p, s), a[..., None], axis=-1)\n"
            "    return (taken - (r + 0.9 * q(p, t).max(axis=-1))).sum()\n"
            "print(jax.vmap(one, (None, 0, 0, 0, 0))(weights, *(batch[k] for k in 'sart')).shape)\n",
            _Q + "def loss(p, frozen, b):\n    taken = jnp.take_along_axis(q(p, b['s']), b['a'][:, None], axis=1)\n"
            "    taken = taken.squeeze(-1)\n    best = q(frozen, b['t']).max(axis=-1)\n"
            "    return jnp.mean((taken - (b['r'] + 0.9 * best)) ** 2)\n"
            "print(jax.grad(loss)(weights, weights, batch))\n",
            # parts of columns that a generator gives, and single examples
            _COLUMN + "def parts(v, t):\n    for i in range(0, len(v), 2):\n"
            "        yield {'v': v[i : i + 2], 't': t[i : i + 2, None]}\n"
            "def loss(m, b):\n    return ((m(b['v']) - b['t']) ** 2).mean()\n"
            "for part in parts(data, goal):\n    print(nnx.grad(loss)(one, part))\n",
            _COLUMN + "def singles(v, t):\n    for i in range(len(v)):\n        yield v[i], t[i]\n"
            "def loss(m, v, t):\n    return ((m(v) - t) ** 2).mean()\n"
            "for v, t in singles(data, goal):\n    print(nnx.grad(loss)(one, v, t))\n",
            """\
def evaluate(logits, labels):
    predictions = logits.argmax(-1)
    return {"accuracy": (predictions == labels).mean()}
print(evaluate(jnp.ones((4, 3)), jnp.zeros(4, int)))
""",
            """\
class ActorCritic(nnx.Module):
    def __init__(self, rngs):
        self.torso = nnx.Linear(3, 8, rngs=rngs)
        self.policy = nnx.Linear(8, 4, rngs=rngs)
        self.value = nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, obs):
        h = nnx.tanh(self.torso(obs))
        return self.policy(h), self.value(h)[:, 0]
def a2c_loss(net, obs, actions, returns):
    logits, values = net(obs)
    log_probs = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_probs, actions[:, None], axis=1)[:, 0]
    advantages = returns - values
    return -jnp.mean(chosen * jax.lax.stop_gradient(advantages))
print(a2c_loss(ActorCritic(nnx.Rngs(0)), jnp.ones((5, 3)), jnp.arange(5) % 4, jnp.ones(5)).shape)
""",
            """\
class ActorCritic(nnx.Module):
    def __init__(self, rngs):
        self.torso = nnx.Linear(3, 8, rngs=rngs)
        self.policy = nnx.Linear(8, 4, rngs=rngs)
        self.value = nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, obs):
        h = nnx.tanh(self.torso(obs))
        return self.policy(h), self.value(h)[:, 0]
def a2c_loss(net, obs, actions, returns):
    logits, values = net(obs)
    log_probs = jax.nn.log_softmax(logits)
    chosen = jnp.sum(log_probs * jax.nn.one_hot(actions, 4), axis=-1)
    advantages = returns - values
    return -jnp.mean(chosen * jax.lax.stop_gradient(advantages))
print(a2c_loss(ActorCritic(nnx.Rngs(0)), jnp.ones((5, 3)), jnp.arange(5) % 4, jnp.ones(5)).shape)
""",
            """\
class ActorCritic(nnx.Module):
    def __init__(self, rngs):
        self.torso = nnx.Linear(3, 8, rngs=rngs)
        self.policy = nnx.Linear(8, 4, rngs=rngs)
        self.value = nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, obs):
        h = nnx.tanh(self.torso(obs))
        return self.policy(h), self.value(h)[:, 0]
def a2c_loss(net, obs, actions, returns):
    logits, values = net(obs)
    log_probs = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_probs, actions[:, None], axis=-1).squeeze(-1)
    advantages = returns - values
    return -jnp.mean(chosen * jax.lax.stop_gradient(advantages))
print(a2c_loss(ActorCritic(nnx.Rngs(0)), jnp.ones((5, 3)), jnp.arange(5) % 4, jnp.ones(5)).shape)
""",
            """\
class ActorCritic(nnx.Module):
    def __init__(self, rngs):
        self.torso = nnx.Linear(3, 8, rngs=rngs)
        self.policy = nnx.Linear(8, 4, rngs=rngs)
        self.value = nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, obs):
        h = nnx.tanh(self.torso(obs))
        return self.policy(h), self.value(h)
def a2c_loss(net, obs, actions, returns):
    logits, values = net(obs)
    log_probs = jax.nn.log_softmax(logits)
    chosen = jnp.sum(log_probs * jax.nn.one_hot(actions, 4), axis=-1, keepdims=True)
    advantages = returns - values
    return -jnp.mean(chosen * jax.lax.stop_gradient(advantages))
print(a2c_loss(ActorCritic(nnx.Rngs(0)), jnp.ones((5, 3)), jnp.arange(5) % 4, jnp.ones((5, 1))).shape)
""",
            _COLUMN + "rewards, dones = np.random.rand(4), np.random.RandomState(0).rand(4) > 0.5\n"
            "@nnx.jit\ndef target(m, v, r, done):\n    return r + 0.9 * (1 - done) * m(v).squeeze(-1)\n"
            "print(target(one, data, rewards, dones))\n",
            _COLUMN + "rewards, dones = np.random.rand(4, 1), np.random.RandomState(0).rand(4, 1) > 0.5\n"
            "@nnx.jit\ndef target(m, v, r, done):\n    return r + 0.9 * (1 - done) * m(v)\n"
            "print(target(one, data, rewards, dones))\n",
            _COLUMN + "times = jnp.linspace(0.0, 1.0, 7)\nprint(jnp.exp(-one(data) * times).shape)\n",
            _COLUMN + "offset = jnp.zeros(1)\nprint(one(data) * 2.0 + offset)\n",
            _COLUMN + "print(((one(data) > 0.5) == (goal[:, None] > 0)).mean())\n",
            _HEADS + "def loss(m, v, returns):\n    logits, values = m(v)\n"
            "    gain = jax.lax.stop_gradient(returns - values[:, 0])\n"
            "    far = returns - values.squeeze(-1)\n"
            "    return (jax.nn.log_softmax(logits)[:, 0] * gain).mean() + (far ** 2).mean()\n"
            "print(nnx.grad(loss)(heads, rows, jnp.arange(6.0)))\n",
            _HEADS
            + "def spread(m, v, tau):\n    logits, values = m(v)\n    return logits - tau, values - values.mean()\n"
            "print(spread(heads, rows, jnp.arange(2.0)))\n",
            _COLUMN + "print(jax.vmap(lambda row, t: (one(row) - t) ** 2)(data, goal).mean())\n",
            _NETS + "def data(v):\n    return v, jnp.sum(v * scale, axis=1, keepdims=True)\n"
            "def loss(m, v, t):\n    made = m(v)\n    return jnp.mean((made - t) ** 2)\n"
            "v, t = data(rows)\nprint(nnx.grad(loss)(net, v, t))\n",
            _NETS + "goals = jnp.concatenate([rows[:3], rows[3:]])[:, :1]\nprint(((net(rows) - goals) ** 2).mean())\n"
            "both = jnp.stack([rows[:, 0], rows[:, 1]], axis=-1)\nprint(((net(rows) - both) ** 2).mean())\n",
            _NETS + "wide = Net(nnx.Rngs(3), 6)\nbias = jnp.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])\n"
            "print(((wide(rows) - bias) ** 2).mean())\n"
            "print(((net(rows)[:, 0] - jnp.einsum('ij,kj->i', rows, scale)) ** 2).mean())\n",
            _COLUMN + "print(((one(data)[:, 0] - goal) ** 2).mean())\n",
            _COLUMN + "print(((one(data) - goal[:, None]) ** 2).mean())\n",
            "def accuracy(logits, labels):\n    return jnp.mean(jnp.argmax(logits, axis=-1) == labels)\n",
            "def right(logits, label):\n    return jnp.argmax(logits) == label\n",
            _COLUMN + "order = np.random.default_rng(0).permutation(4)\nmixed = goal[order, None]\n"
            "print(((one(data[order]) - mixed) ** 2).mean())\n",
            _COLUMN + "goals = goal[:, None][jnp.argsort(data[:, 0])]\nprint(((one(data) - goals) ** 2).mean())\n",
            _COLUMN + "def loss(m, v, goal):\n    made = m(v)\n    return ((made - goal) ** 2).mean()\n"
            "batch = (data, goal[:, None])\nprint(nnx.grad(loss)(one, *batch))\n",
            _COLUMN + "a, b = (jnp.atleast_2d(v) for v in (data, goal))\nprint(((one(a) - b.T) ** 2).mean())\n",
            _COLUMN + "chosen = goal[goal > 0]\nprint(((one(data) - chosen.reshape(-1, 1)) ** 2).mean())\n",
            """\
def loss(w, features, targets):
    return jnp.mean((features @ w - targets[:, 0]) ** 2)
features = jax.random.normal(key, (8, 4))
jax.grad(loss)(jnp.zeros(4), features, features.sum(axis=1, keepdims=True))
""",
            """\
def loss(w, features, targets):
    return jnp.mean((features @ w - targets) ** 2)
features = jax.random.normal(key, (8, 4))
jax.grad(loss)(jnp.zeros((4, 1)), features, features.sum(axis=1, keepdims=True))
""",
            """\
def loss(w, features, targets):
    return jnp.mean((features @ w - targets) ** 2)
features = jax.random.normal(key, (8, 5, 4))
losses = jax.vmap(loss, in_axes=(None, 0, 0))(jnp.zeros(4), features, features[:, 0].sum(axis=1, keepdims=True))
""",
            """\
def energies(w, points, centres):
    return jnp.mean((points @ w - centres) ** 2)  # of every pair
points = jax.random.normal(key, (8, 4))
energies(jnp.zeros(4), points, jnp.arange(3.0)[:, None])
""",
            """\
def loss(w, features, targets):
    return jnp.mean((features @ w - targets) ** 2)
features = jax.random.normal(key, (8, 4))
jax.grad(loss)(jnp.zeros(4), features, features.sum(axis=1))
""",
        ),
    ),
    "NNX837": Cases(
        bad=(
            """\
rates = optax.cosine_decay_schedule(1e-2, 100)
tx = optax.chain(optax.clip(1.0), optax.scale_by_schedule(rates), optax.scale_by_adam(), optax.scale(-1.0))  # NNX837
""",
            """\
tx = optax.chain(optax.scale_by_learning_rate(optax.linear_schedule(1e-2, 0.0, 9)), optax.scale_by_rms())  # NNX837
""",
            """\
RATE = 1e-3
def make():
    return optax.chain(optax.scale(-RATE), optax.scale_by_lion())  # NNX837
""",
            """\
def kind(path, _):
    return "kept" if "bias" in jax.tree_util.keystr(path) else "trained"
kinds = jax.tree.map_with_path(kind, nnx.state(model, nnx.Param))
tx = optax.partition({"trained": optax.sgd(0.1), "kept": optax.set_to_zero()}, kinds)  # NNX837
trained = nnx.Optimizer(model, tx, wrt=nnx.Param)
""",
            """\
_, params = nnx.split(model, nnx.Param)
mask = jax.tree.map(lambda leaf: leaf.ndim > 1, params)
tx = optax.chain(optax.clip(1.0), optax.adamw(1e-3, mask=mask))  # NNX837
trained = nnx.Optimizer(model, tx, wrt=nnx.Param)
""",
            """\
def make(net):
    decayed = jax.tree_util.tree_map(lambda leaf: leaf.ndim > 1, nnx.state(net, nnx.Param))
    return optax.lamb(0.1, mask=decayed)  # NNX837
trained = nnx.Optimizer(model, make(model), wrt=nnx.Param)
""",
            """\
def labels(params):
    found = {name: "fixed" if "embed" in name else "trained" for name in params}
    return found
tx = optax.multi_transform({"trained": optax.adam(1e-3), "frozen": optax.set_to_zero()}, labels)  # NNX837
""",
            """\
def loss(params, v):
    return ((params * v) ** 2).mean()
rates = optax.linear_schedule(1e-3, 0.0, 100)
tx = optax.chain(  # NNX837
    optax.clip_by_global_norm(1.0),
    optax.scale_by_adam(),
    optax.add_decayed_weights(1e-4),
    optax.scale_by_schedule(rates),
)
def step(params, state, v):
    updates, state = tx.update(jax.grad(loss)(params, v), state, params)
    return optax.apply_updates(params, updates), state
""",
            "tx = optax.multi_transform({'a': optax.adam(1e-3)}, {'w': 'a', 'b': 'c'})  # NNX837\n",
            "tx = optax.multi_transform({'a': optax.adam(1e-3)}, lambda p: {k: 'b' for k in p})  # NNX837\n",
            "tx = optax.chain(optax.adam(1e-3), optax.clip_by_global_norm(1.0))  # NNX837\n",
            "rates = optax.cosine_decay_schedule(1e-2, 100)\n"
            "tx = optax.chain(optax.sgd(rates), optax.clip_by_global_norm(1.0))  # NNX837\n",
            """\
import argparse
def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--clip", type=float, default=1.0)
    return parser.parse_args([])
def make(args):
    return optax.chain(optax.sgd(args.rate), optax.clip_by_global_norm(args.clip))  # NNX837
tx = make(options())
""",
            "def make(rate, norm=5.0):\n    parts = (optax.sgd(rate), optax.clip_by_global_norm(norm))\n"
            "    return optax.chain(*parts)  # NNX837\ntx = make(0.01)\n",
            "def make(hp):\n    tx = optax.sgd(hp['rate'])\n"
            "    return optax.chain(tx, optax.clip(hp.max_grad))  # NNX837\n",
            "tx = optax.chain(optax.scale_by_adam(), optax.scale(-1e-3), optax.clip_by_global_norm(1.0))  # NNX837\n",
        ),
        clean=(
            """\
rates = optax.cosine_decay_schedule(1e-2, 100)
tx = optax.chain(optax.clip(1.0), optax.scale_by_adam(), optax.scale_by_schedule(rates), optax.scale(-1.0))
assert tx.init(x) is not None
""",
            """\
tx = optax.chain(optax.scale(1 / 128), optax.adam(1e-3))
assert tx.init(x) is not None
""",
            """\
tx = optax.chain(optax.scale(-1.0), optax.scale_by_adam(), optax.scale(1e-3))
assert tx.init(x) is not None
""",
            """\
def kind(path, _):
    return "kept" if "bias" in jax.tree_util.keystr(path) else "trained"
tx = optax.partition(
    {"trained": optax.sgd(0.1), "kept": optax.set_to_zero()}, lambda params: jax.tree.map_with_path(kind, params)
)
trained = nnx.Optimizer(model, tx, wrt=nnx.Param)
trained.update(model, nnx.grad(lambda m: m(x).sum())(model))
""",
            """\
graphdef, params = nnx.split(model, nnx.Param)
mask = jax.tree.map(lambda leaf: leaf.ndim > 1, params)
tx = optax.adamw(1e-3, mask=mask)
state = tx.init(params)
slope = jax.grad(lambda params: nnx.merge(graphdef, params)(x).sum())(params)
updates, state = tx.update(slope, state, params)
print(jax.tree.leaves(optax.apply_updates(params, updates))[0])
""",
            """\
mask = nnx.map_state(lambda path, leaf: path[-1] == "kernel", nnx.state(model, nnx.Param))
trained = nnx.Optimizer(model, optax.adamw(1e-3, mask=mask), wrt=nnx.Param)
trained.update(model, nnx.grad(lambda m: m(x).sum())(model))
""",
            """\
state = nnx.state(model, nnx.Param)
mask = jax.tree.map(lambda leaf: True, state, is_leaf=lambda leaf: isinstance(leaf, nnx.Variable))
trained = nnx.Optimizer(model, optax.adamw(1e-3, mask=mask), wrt=nnx.Param)
trained.update(model, nnx.grad(lambda m: m(x).sum())(model))
""",
            """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=1.0)
parser.add_argument("--clip", type=float, default=1.0)
args = parser.parse_args([])
tx = optax.chain(optax.sgd(args.rate), optax.clip_by_global_norm(args.clip))
ty = optax.chain(optax.clip_by_global_norm(args.clip), optax.sgd(args.rate))
print(tx.init(x), ty.init(x))
""",
            "rates = optax.cosine_decay_schedule(1.0, 100)\n"
            "tx = optax.chain(optax.sgd(rates), optax.clip_by_global_norm(1.0))\nprint(tx.init(x))\n",
            """\
def labels(params):
    found = {name: "frozen" if "embed" in name else "trained" for name in params}
    return found
tx = optax.multi_transform({"trained": optax.adam(1e-3), "frozen": optax.set_to_zero()}, labels)
tx.init({"embed": x, "out": x})
""",
            """\
def loss(params, v):
    return ((params * v) ** 2).mean()
rates = optax.linear_schedule(1e-3, 0.0, 100)
tx = optax.chain(optax.scale_by_adam(), optax.scale_by_schedule(lambda step: -rates(step)))
falling = optax.linear_schedule(-1e-3, 0.0, 100)
ty = optax.chain(optax.scale_by_adam(), optax.scale_by_schedule(falling))
def step(params, state, v):
    updates, state = tx.update(jax.grad(loss)(params, v), state, params)
    return optax.apply_updates(params, updates), state
step(x, tx.init(x), x)
ty.init(x)
""",
            "tx = optax.multi_transform({'a': optax.adam(1e-3), 'c': optax.set_to_zero()}, {'w': 'a', 'b': 'c'})\n",
            "tx = optax.multi_transform({'b': optax.adam(1e-3)}, lambda p: {k: 'b' for k in p})\n",
            "tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))\n",
            "tx = optax.chain(optax.sgd(0.1), optax.clip_by_global_norm(0.5))  # no step is longer\n",
            "tx = optax.chain(optax.sgd(0.01), optax.clip(1.0))  # a largest change, as its argument is called\n",
            "tx = optax.chain(\n    optax.scale_by_adam(), optax.scale(-1.0),\n"
            "    optax.clip_by_global_norm(1.0), optax.scale(0.1))\n",
            "def make(rate, norm):\n    return optax.chain(optax.sgd(rate), optax.clip_by_global_norm(norm))\n",
            "tx = optax.chain(optax.clip_by_global_norm(1.0), optax.scale(-0.01))\n",
            "loss_tx = optax.chain(optax.scale_by_adam(), optax.scale(-1e-3))\n",
            """\
tx = optax.chain(
    optax.scale_by_adam(),
    optax.scale_by_learning_rate(1e-3, flip_sign=False),
    optax.add_decayed_weights(1e-4),
    optax.scale_by_learning_rate(1.0, flip_sign=True),
)
""",
            """\
tx = optax.chain(optax.adam(1e-3), optax.scale(-1.0), optax.add_decayed_weights(1e-4), optax.scale(-1.0))
""",
        ),
    ),
    "NNX838": Cases(
        bad=(
            """\
tx = optax.adam(1e-2)
@jax.jit
def step(state, params, row):
    grads = jax.grad(lambda p: jnp.mean((row * p) ** 2))(params)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(params, updates), state
def train(first, rows):
    params = jnp.copy(first)
    for epoch in range(3):
        state = tx.init(first)  # NNX838
        for row in rows:
            params, state = step(state, params, row)
    return params
""",
            """\
def train(params, rows):
    tx = optax.adam(0.1)
    @jax.jit
    def step(params, state, row):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((row * p) ** 2))(params)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss
    for row in rows:
        state = tx.init(params)  # NNX838
        params, state, loss = step(params, state, row)
    return params
""",
            """\
tx = optax.adam(1e-2)
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
@jax.jit
def step(w, state, v):
    value, grads = jax.value_and_grad(loss_fn)(w, v)
    updates, state = tx.update(grads, state, w)
    return optax.apply_updates(w, updates), state, value
def fit(w, rows, num_epochs):
    for _ in range(num_epochs):
        opt_state = tx.init(w)  # NNX838
        for row in rows:
            w, opt_state, value = step(w, opt_state, row)
        print(value)
    return w
fit(jnp.ones(3), [x, x], 2)
""",
            """\
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
def fit(w, rows):
    for epoch in range(2):
        tx = optax.chain(optax.clip(1.0), optax.adam(0.1))
        state = tx.init(w)  # NNX838
        for row in rows:
            updates, state = tx.update(jax.grad(loss_fn)(w, row), state, w)
            w = optax.apply_updates(w, updates)
    return w
fit(jnp.ones(3), [x])
""",
            """\
tx = optax.adam(1e-2)
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
@jax.jit
def step(w, state, v):
    value, grads = jax.value_and_grad(loss_fn)(w, v)
    updates, state = tx.update(grads, state, w)
    return optax.apply_updates(w, updates), state, value
def fit(w, rows):
    def body(carry, row):
        w, state, value = step(*carry, row)
        return (w, state), value
    for epoch in range(3):
        opt_state = tx.init(w)  # NNX838
        (w, opt_state), values = jax.lax.scan(body, (w, opt_state), rows)
        print(epoch, values.mean())
    return w
fit(jnp.ones(3), jnp.ones((4, 2, 3)))
""",
            """\
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
class Trainer:
    def __init__(self, rate):
        self.tx = optax.adam(rate)
        self.step = jax.jit(self._step)
    def _step(self, w, state, v):
        updates, state = self.tx.update(jax.grad(loss_fn)(w, v), state, w)
        return optax.apply_updates(w, updates), state
    def fit(self, w, rows, epochs):
        for epoch in range(epochs):
            state = self.tx.init(w)  # NNX838
            for row in rows:
                w, state = self.step(w, state, row)
        return w
Trainer(0.1).fit(jnp.ones(3), [x, x], 2)
""",
            """\
tx = optax.adam(1e-2)
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
@jax.jit
def step(w, state, v):
    updates, state = tx.update(jax.grad(loss_fn)(w, v), state, w)
    return optax.apply_updates(w, updates), state
def train_epoch(w, rows):
    state = tx.init(w)  # NNX838
    for row in rows:
        w, state = step(w, state, row)
    return w
w = jnp.ones(3)
for epoch in range(20):
    w = train_epoch(w, [x, x])
""",
            """\
tx = optax.adam(1e-2)
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
@jax.jit
def step(w, state, v):
    updates, state = tx.update(jax.grad(loss_fn)(w, v), state, w)
    return optax.apply_updates(w, updates), state
def train_epoch(w, rows):
    def body(carry, row):
        return step(*carry, row), None
    state = tx.init(w)  # NNX838
    (w, state), _ = jax.lax.scan(body, (w, state), rows)
    return w
def fit(w, rows, num_epochs):
    for _ in range(num_epochs):
        w = train_epoch(w, rows)
    return w
""",
            """\
def adapted(params, loss, support):
    inner = optax.adam(1e-2)
    def body(i, p):
        state = inner.init(p)  # NNX838
        updates, state = inner.update(jax.grad(loss)(p, support), state, p)
        return optax.apply_updates(p, updates)
    return jax.lax.fori_loop(0, 5, body, params)
""",
            *(
                _LOSS + _PARAMS + f"tx = optax.{tx}\nfor _ in range(2):\n    state = tx.init(params)  # NNX838\n"
                "    updates, state = tx.update(jax.grad(loss)(params, x), state, params)\n"
                "    params = optax.apply_updates(params, updates)\n"
                for tx in ("adam(1e-2)", "rmsprop(1e-2)", "sgd(1e-2, momentum=0.9)")
            ),
            _LOSS + _PARAMS + "tx = optax.adam(1e-2)\nfor epoch in range(2):\n    state = tx.init(params)  # NNX838\n"
            "    for x in batches:\n        updates, state = tx.update(jax.grad(loss)(params, x), state, params)\n"
            "        params = optax.apply_updates(params, updates)\n",
            """\
def loss(p):
    return jnp.sum((p - 3.0) ** 2)
class Solver:
    def __init__(self, loss, optimizer):
        self.loss, self.optimizer = loss, optimizer
    def solve(self, params, n):
        state = self.optimizer.init(params)  # NNX838
        def body(carry, _):
            params, state = carry
            value, grads = jax.value_and_grad(self.loss)(params)
            updates, state = self.optimizer.update(grads, state, params)
            return (optax.apply_updates(params, updates), state), value
        (params, state), values = jax.lax.scan(body, (params, state), None, length=n)
        return params, values
schedule = optax.join_schedules([optax.constant_schedule(0.0), optax.constant_schedule(0.1)], boundaries=[30])
solver = Solver(loss, optax.sgd(schedule))
params = jnp.zeros(2)
for chunk in range(5):
    params, values = solver.solve(params, 20)
    print(chunk, values[-1])
""",
            """\
def loss(p):
    return jnp.sum((p - 3.0) ** 2)
class Fit:
    def __init__(self, params, optimizer):
        self.params, self.optimizer = params, optimizer
    def steps(self, n):
        state = self.optimizer.init(self.params)  # NNX838
        for _ in range(n):
            updates, state = self.optimizer.update(jax.grad(loss)(self.params), state, self.params)
            self.params = optax.apply_updates(self.params, updates)
        return loss(self.params)
fit = Fit(jnp.zeros(2), optax.sgd(optax.cosine_decay_schedule(0.1, 100)))
for _ in range(5):
    print(fit.steps(20))
def solve(params, key, n):
    tx = optax.chain(optax.clip(1.0), optax.adamw(0.1))
    state = tx.init(params)  # NNX838
    for k in jax.random.split(key, n):
        updates, state = tx.update(jax.grad(loss)(params + jax.random.normal(k)), state, params)
        params = optax.apply_updates(params, updates)
    return params
w, done = jnp.zeros(2), 0
while done < 40:
    key, sub = jax.random.split(key)
    w = solve(w, sub, 20)
    done += 20
""",
            """\
tx = optax.adam(0.1)
def loss(p):
    return jnp.sum((p - 3.0) ** 2)
def solve(params, n=10):
    state = tx.init(params)  # NNX838
    def body(i, carry):
        p, s = carry
        updates, s = tx.update(jax.grad(loss)(p), s, p)
        return optax.apply_updates(p, updates), s
    params, state = jax.lax.fori_loop(0, n, body, (params, state))
    return params
def chunks(params):
    def chunk(i, p):
        return solve(p)
    return jax.lax.fori_loop(0, 5, chunk, params)
chunks(jnp.zeros(2))
""",
        ),
        clean=(
            """\
tx = optax.adam(1e-2)
@jax.jit
def step(state, params, row):
    grads = jax.grad(lambda p: jnp.mean((row * p) ** 2))(params)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(params, updates), state
def train(first, rows):
    found = []
    for epoch in range(3):
        params = jnp.copy(first)
        state = tx.init(first)
        for row in rows:
            params, state = step(state, params, row)
        found.append(params)
    return found
def restarted(first, rows):
    params = jnp.copy(first)
    for restart in range(2):
        state = tx.init(first)
        for row in rows:
            params, state = step(state, params, row)
    return params
print(train(jnp.ones(3), jnp.ones((2, 3))), restarted(jnp.ones(3), jnp.ones((2, 3))))
""",
            """\
def train(params, rows):
    tx = optax.adam(0.1)
    @jax.jit
    def step(params, state, row):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((row * p) ** 2))(params)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss
    state = tx.init(params)
    for row in rows:
        params, state, loss = step(params, state, row)
    ends = []
    for start in rows:
        state = tx.init(start)
        for row in rows:
            start, state, loss = step(start, state, row)
        ends.append(start)
    return params, ends
print(train(jnp.ones(4), x))
""",
            """\
tx = optax.adam(1e-2)
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
@jax.jit
def step(w, state, v):
    value, grads = jax.value_and_grad(loss_fn)(w, v)
    updates, state = tx.update(grads, state, w)
    return optax.apply_updates(w, updates), state, value
def fit(w, rows):
    for stage in range(2):
        state = tx.init(w)
        for row in rows:
            w, state, value = step(w, state, row)
    return w
fit(jnp.ones(3), [x])
""",
            """\
tx = optax.adam(1e-2)
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
@jax.jit
def step(w, state, v):
    value, grads = jax.value_and_grad(loss_fn)(w, v)
    updates, state = tx.update(grads, state, w)
    return optax.apply_updates(w, updates), state, value
def fit(w, rows):
    for fold in range(2):
        state = tx.init(w)
        for row in rows:
            w, state, value = step(w, state, row)
    return w
fit(jnp.ones(3), [x])
""",
            """\
tx = optax.adam(1e-2)
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
@jax.jit
def step(w, state, v):
    value, grads = jax.value_and_grad(loss_fn)(w, v)
    updates, state = tx.update(grads, state, w)
    return optax.apply_updates(w, updates), state, value
def fit(rows):
    for epoch in range(2):
        w = jnp.ones(3)
        state = tx.init(w)
        for row in rows:
            w, state, value = step(w, state, row)
    return w
fit([x])
""",
            """\
tx = optax.adam(1e-2)
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
@jax.jit
def step(w, state, v):
    value, grads = jax.value_and_grad(loss_fn)(w, v)
    updates, state = tx.update(grads, state, w)
    return optax.apply_updates(w, updates), state, value
def fit(w, rows):
    for epoch in range(2):
        if epoch % 5 == 0:
            state = tx.init(w)
        for row in rows:
            w, state, value = step(w, state, row)
    for epoch in range(2):  # a warm restart in each
        # restart: the moments begin again
        state = tx.init(w)
        for row in rows:
            w, state, value = step(w, state, row)
    return w
fit(jnp.ones(3), [x])
""",
            """\
tx = optax.adam(1e-2)
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
@jax.jit
def step(w, state, v):
    value, grads = jax.value_and_grad(loss_fn)(w, v)
    updates, state = tx.update(grads, state, w)
    return optax.apply_updates(w, updates), state, value
def fit(w, rows):
    for epoch in range(2):
        state = tx.init(w)
        fast = w
        for row in rows:
            fast, state, value = step(fast, state, row)
        w = w + 0.1 * (fast - w)
    for epoch in range(2):
        state = tx.init(w)
        for row in rows:
            w, state, value = step(w, state, row)
        w = jax.random.normal(jax.random.key(epoch), (3,))
    return w
fit(jnp.ones(3), [x])
""",
            """\
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
def fit(w, rows):
    for epoch in range(2):
        tx = optax.adam(0.1 / (epoch + 1))
        state = tx.init(w)
        for row in rows:
            updates, state = tx.update(jax.grad(loss_fn)(w, row), state, w)
            w = optax.apply_updates(w, updates)
    return w
fit(jnp.ones(3), [x])
""",
            """\
tx = optax.adam(1e-2)
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
@jax.jit
def step(w, state, v):
    updates, state = tx.update(jax.grad(loss_fn)(w, v), state, w)
    return optax.apply_updates(w, updates), state
def train_epoch(w, state, rows):
    for row in rows:
        w, state = step(w, state, row)
    return w, state
w = jnp.ones(3)
state = tx.init(w)
for epoch in range(20):
    w, state = train_epoch(w, state, [x, x])
""",
            """\
tx = optax.adam(1e-2)
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
@jax.jit
def step(w, state, v):
    updates, state = tx.update(jax.grad(loss_fn)(w, v), state, w)
    return optax.apply_updates(w, updates), state
def adapted(w, rows):
    state = tx.init(w)
    for row in rows:
        w, state = step(w, state, row)
    return w
w = jnp.ones(3)
for task in range(2):
    w = adapted(w, [x, x])
found = [adapted(jnp.ones(3), [x]) for epoch in range(2)]
""",
            """\
tx = optax.adam(1e-2)
def loss_fn(w, v):
    return jnp.mean((v * w) ** 2)
@jax.jit
def step(w, state, v):
    updates, state = tx.update(jax.grad(loss_fn)(w, v), state, w)
    return optax.apply_updates(w, updates), state
def train(w, rows, state=None):
    if state is None:
        state = tx.init(w)
    for row in rows:
        w, state = step(w, state, row)
    return w, state
w, state = jnp.ones(3), None
for epoch in range(2):
    w, state = train(w, [x, x], state)
""",
            """\
def adapted(params, loss, support):
    inner = optax.adam(1e-2)
    def body(i, carry):
        p, state = carry
        updates, state = inner.update(jax.grad(loss)(p, support), state, p)
        return optax.apply_updates(p, updates), state
    return jax.lax.fori_loop(0, 5, body, (params, inner.init(params)))[0]
adapted(x, lambda p, v: (p * v).sum(), x)
""",
            """\
def each(params, loss, tasks):
    inner = optax.adam(1e-2)
    def body(count, start):
        state = inner.init(start)
        updates, state = inner.update(jax.grad(loss)(start, x), state, start)
        return count + 1, optax.apply_updates(start, updates)
    return jax.lax.scan(body, 0, tasks)
each(x, lambda p, v: (p * v).sum(), jnp.ones((2, 3)))
""",
            *(
                _LOSS + _PARAMS + f"tx = optax.{tx}\nstate = tx.init(params)\n"
                "updates, state = tx.update(jax.grad(loss)(params, x), state, params)\n"
                "params = optax.apply_updates(params, updates)\n"
                for tx in ("adam(1e-2)", "rmsprop(1e-2)", "sgd(1e-2, momentum=0.9)", "adamw(1e-2)")
            ),
            _LOSS
            + _PARAMS
            + "tx = optax.adam(1e-2)\nfor epoch in range(2):\n    now = params\n    state = tx.init(now)\n"
            "    for x in batches:\n        updates, state = tx.update(jax.grad(loss)(now, x), state, now)\n"
            "        now = optax.apply_updates(now, updates)\n",
            _LOSS + _PARAMS + "tx = optax.adam(1e-2)\nfor part in (batches, batches):\n    state = tx.init(params)\n"
            "    for x in part:\n        updates, state = tx.update(jax.grad(loss)(params, x), state, params)\n"
            "        params = optax.apply_updates(params, updates)\n",
            """\
def loss(p, t):
    return jnp.sum((p - t) ** 2)
tx = optax.adam(1e-1)
def run(params, t, n):
    state = tx.init(params)
    for _ in range(n):
        updates, state = tx.update(jax.grad(loss)(params, t), state, params)
        params = optax.apply_updates(params, updates)
    return params
p = jnp.zeros(2)
for t in (1.0, 2.0):  # another problem each time, begun where the last one ended
    p = run(p, t, 5)
for restart in range(3):
    p = run(p, 1.0, 5)
found = [run(jnp.zeros(2), 1.0, 5) for _ in range(3)]
def scanned(p, ts):
    def body(p, t):
        return run(p, t, 3), None
    return jax.lax.scan(body, p, ts)[0]
print(scanned(p, jnp.arange(3.0)))
""",
            """\
def loss(p, t):
    return jnp.sum((p - t) ** 2)
plain, tx = optax.sgd(0.1), optax.adam(0.1)
def descend(params, n):
    state = plain.init(params)
    for _ in range(n):
        updates, state = plain.update(jax.grad(loss)(params, 1.0), state, params)
        params = optax.apply_updates(params, updates)
    return params
p = jnp.zeros(2)
for _ in range(3):
    p = descend(p, 4)
def train(params, data):
    state = tx.init(params)
    for t in data:
        updates, state = tx.update(jax.grad(loss)(params, t), state, params)
        params = optax.apply_updates(params, updates)
    return params
data = []
for i in range(3):
    data.append(float(i))
    p = train(p, data)
""",
            """\
def loss(p, t):
    return jnp.sum((p - t) ** 2)
tx = optax.adam(0.1)
class Penalty:
    def __init__(self):
        self.mu, self.params = 1.0, jnp.zeros(2)
    def minimize(self, n):
        state = tx.init(self.params)
        for _ in range(n):
            updates, state = tx.update(jax.grad(loss)(self.params, self.mu), state, self.params)
            self.params = optax.apply_updates(self.params, updates)
    def harder(self):
        self.mu = self.mu * 2
pen = Penalty()
for _ in range(3):
    pen.minimize(3)
    pen.harder()
for _ in range(3):
    pen.minimize(3)
    pen.mu *= 2
""",
            """\
def loss(p):
    return jnp.sum((p - 3.0) ** 2)
tx = optax.adam(0.1)
def run(params, state, n):
    for _ in range(n):
        updates, state = tx.update(jax.grad(loss)(params), state, params)
        params = optax.apply_updates(params, updates)
    return params, state
p = jnp.zeros(2)
state = tx.init(p)
for chunk in range(4):
    p, state = run(p, state, 10)
""",
        ),
    ),
    "NNX839": Cases(
        bad=(
            """\
def u(net, t):
    return net(t).sum()
def residual(net, t):
    du_dt = nnx.grad(u)(net, t)
    return jnp.mean((du_dt + net(t)) ** 2)  # NNX839
print(residual(model, x))
""",
            """\
def u(net, t):
    return net(t).sum()
def slopes(net, t):
    u_t = jax.vmap(nnx.grad(u), in_axes=(None, 0))(net, t)
    return jnp.square(u_t)  # NNX839
""",
            """\
from flax import linen as nn
dense = nn.Dense(1)
def u(params, t):
    return dense.apply({"params": params}, t).sum()
def residual(params, t):
    value, rate = jax.value_and_grad(u)(params, t)
    return value - rate  # NNX839
""",
            """\
class Projection:
    def __matmul__(self, tree):
        return tree
params = {"p": jnp.ones(3)}
grads = jax.grad(lambda p: jnp.sum(p["p"] ** 2))(params)
params = params - 0.1 * grads  # NNX839
""",
            "layers = [(jnp.ones((3, 2)), jnp.zeros(2))]\n"
            "def loss(layers, v):\n    for w, b in layers:\n        v = jnp.tanh(v @ w + b)\n    return v.mean()\n"
            "total = None\nfor v in jnp.ones((2, 4, 3)):\n    grads = jax.grad(loss)(layers, v)\n"
            "    total = grads if total is None else total + grads  # NNX839\n",
            """\
def gathered(loss, params, rounds):
    total = {"w": jnp.zeros(3)}
    for v in rounds:
        total += jax.grad(loss)(params, v)  # NNX839
    return total
""",
            _LOSS + _PARAMS + "grads = jax.grad(loss)(params, x)\nparams = params - grads  # NNX839\n",
            _LOSS + _PARAMS + "value, grads = jax.value_and_grad(loss)(params, x)\nstep = 0.1 * grads  # NNX839\n",
            _LOSS + "def made():\n    return {'w': jnp.ones(3)}\n"
            "grads = jax.grad(loss)(made(), x)\nhalf = grads / 2  # NNX839\n",
        ),
        clean=(
            """\
def u(net, t):
    return net(t).sum()
def residual(net, t):
    du_dt = nnx.grad(u, argnums=1)(net, t)
    return jnp.mean((du_dt + net(t)) ** 2)
print(residual(model, x))
""",
            """\
def u(t):
    return model(t).sum()
def residual(t):
    du_dt = jax.grad(u)(t)
    return jnp.mean((du_dt + model(t)) ** 2)
print(residual(x))
""",
            """\
class Projection:
    def __init__(self, matrix):
        self.matrix = matrix
    def __matmul__(self, reduced):
        return {"p": self.matrix @ reduced}
    def __rmatmul__(self, tree):
        return tree["p"] @ self.matrix
def projection(params):
    return Projection(jnp.eye(3))
params = {"p": jnp.ones(3)}
for _ in range(2):
    space = projection(params)
    grads = jax.grad(lambda p: jnp.sum(p["p"] ** 2))(params)
    print(space @ (grads @ space))
""",
            "layers = [(jnp.ones((3, 2)), jnp.zeros(2))]\n"
            "def loss(layers, v):\n    for w, b in layers:\n        v = jnp.tanh(v @ w + b)\n    return v.mean()\n"
            "total, everything, mean = None, [], 0\nfor v in jnp.ones((2, 4, 3)):\n"
            "    grads = jax.grad(loss)(layers, v)\n"
            "    total = grads if total is None else jax.tree.map(jnp.add, total, grads)\n"
            "    everything = everything + grads\n    mean = mean + jax.grad(jnp.sum)(v)\n"
            "print(total, everything, mean)\n",
            "layers, more = [x], [2 * x]\n"
            "grads = jax.grad(lambda one: one[0].sum())(layers) + jax.grad(lambda one: one[0].sum())(more)\n"
            "print(grads)\n",
            """\
def gathered(loss, params, rounds):
    total = {"w": jnp.zeros(3)}
    for v in rounds:
        total = jax.tree.map(jnp.add, total, jax.grad(loss)(params, v))
        total |= {"b": x}
        total["b"] += x
        del total["b"]
    return total
gathered(lambda params, v: (params["w"] * v).sum(), {"w": x}, batches)
""",
            _LOSS + _PARAMS + "grads = jax.grad(loss)(params, x)\n"
            "params = jax.tree.map(lambda p, g: p - g, params, grads)\n",
            _LOSS + _PARAMS + "grads = jax.grad(loss)(params, x)\nw = params['w'] - grads['w']\n",
            "def square(p):\n    return (p ** 2).sum()\ngrads = jax.grad(square)(x)\nparams = x - grads\n",
            _LOSS + _PARAMS + "params = params | {'b': jnp.ones(3)}\nprint(jax.grad(loss)(params, x)['w'])\n",
        ),
    ),
    "NNX848": Cases(
        bad=(
            """\
bar = jnp.array([0] * 4)
bar = bar.at[0].set(0.5)  # NNX848
""",
            """\
cells = jnp.array(3 * [0, 1]).at[1].add(x.sum() / 3).at[2].set(0.25)  # NNX848
""",
            """\
v = jnp.arange(0, 6, step=2)
v = v.at[1].set(0.5)  # NNX848
w = jnp.linspace(0, 10, 11, dtype=int)
w = w.at[1].set(0.5)  # NNX848
""",
            "counts = jnp.bincount(jnp.array([0, 1, 1]), length=3)\nshares = jnp.zeros_like(counts)\n"
            "shares = shares.at[0].set(counts[0] / counts.sum())  # NNX848\n",
            """\
def ranks(v):
    order = jnp.argsort(v)
    return order.at[0].set(jnp.mean(v))  # NNX848
""",
            "v = jnp.array([0, 0])\nv = v.at[0].set(0.5)  # NNX848\n",
            "v = jnp.zeros(3, dtype=int)\nv = v.at[0].add(0.25)  # NNX848\n",
            "v = jnp.arange(3)\nv = v.at[1].set(jnp.mean(x))  # NNX848\n",
        ),
        clean=(
            """\
bar = jnp.array([0.0] * 4).at[0].set(0.5)
whole = jnp.array([0] * 4).at[0].set(2), jnp.array([0] * 4, dtype=float).at[0].set(0.5)
""",
            """\
step = 0.25
times = jnp.arange(0, 2, step=step)
print(jnp.zeros_like(times).at[1].set(0.5), jnp.zeros_like(jnp.arange(0, 3, 1, float)).at[1].set(0.5))
print(jnp.zeros_like(jnp.arange(start=0.0, stop=3)).at[1].set(0.5))
""",
            """\
def add(buffer, experience, i):
    state, reward, done = experience
    buffer["rewards"] = buffer["rewards"].at[i].set(reward)
    return buffer
buffer = {"rewards": jnp.zeros(4, dtype=jnp.int32)}
buffer = add(buffer, (x, jnp.float32(True), False), 0)
print(buffer["rewards"])
""",
            "counts = jnp.bincount(jnp.array([0, 1, 1]), weights=x, length=3)\nshares = jnp.zeros_like(counts)\n"
            "print(shares.at[0].set(counts[0] / counts.sum()))\n",
            "counts = jnp.bincount(jnp.array([0, 1, 1]), length=3)\n"
            "shares = jnp.zeros_like(counts, dtype=jnp.float32)\n"
            "print(shares.at[0].set(counts[0] / counts.sum()), counts.at[0].add(2))\n",
            """\
def ranks(v):
    order = jnp.argsort(v)
    return order.at[0].set(jnp.argmax(v)), jnp.sort(v).at[0].set(jnp.mean(v))
ranks(x)
""",
            "v = jnp.zeros(2)\nv = v.at[0].set(0.5)\n",
            "v = jnp.zeros(3, dtype=int)\nv = v.at[0].add(2)\n",
            "v = jnp.zeros(3, dtype=int)\nv = v.at[0].set(1.0)\n",
            "v = jnp.arange(3.0)\nv = v.at[1].set(jnp.mean(x))\n",
        ),
    ),
    "NNX849": Cases(
        bad=(
            """\
def advance(shared, own, objective, tx, moments):
    value, grads = jax.value_and_grad(objective, argnums=0)(shared, own)  # NNX849
    updates, moments = tx.update(grads, moments, own)
    return jax.tree.map(lambda p, u: p + u, own, updates), moments
""",
            """\
def energy(v, theta):
    return (v**2 * theta).sum()
def fit(theta, rounds, rate):
    slope = jax.jit(jax.grad(energy))
    for v in rounds:
        theta -= rate * slope(v, theta)  # NNX849
    return theta
""",
            """\
def loss(v, w, y):
    return ((v * w - y) ** 2).sum()
class Trainer:
    def __init__(self, w):
        self.w = w
        self.grad = jax.grad(loss)

    def step(self, v, y):
        slope = self.grad(v, self.w, y)  # NNX849
        self.w = self.w - 0.1 * slope
""",
            """\
def loss(x, y, w):
    return ((x @ w - y) ** 2).mean()
slope = jax.jit(jax.value_and_grad(loss))
def fit(x, y, w):
    for _ in range(3):
        value, g = slope(x, y, w)  # NNX849
        w = w - 0.1 * g
    return w
""",
            "def loss(v, p):\n    return ((p['w'] * v) ** 2).sum()\n"
            + _PARAMS
            + "grads = jax.grad(loss)(x, params)  # NNX849\n"
            "params = jax.tree.map(lambda p, g: p - g, params, grads)\n",
            "def loss(v, p):\n    return ((p['w'] * v) ** 2).sum()\n"
            + _PARAMS
            + "value, grads = jax.value_and_grad(loss)(x, params)  # NNX849\n"
            "params = jax.tree.map(lambda p, g: p - g, params, grads)\n",
            "def loss(v, p):\n    return ((p * v) ** 2).sum()\ntx = optax.sgd(0.1)\nweights = jnp.ones(3)\n"
            "state = tx.init(weights)\ngrads = jax.grad(loss)(x, weights)  # NNX849\n"
            "updates, state = tx.update(grads, state, weights)\n",
        ),
        clean=(
            """\
def advance(shared, own, objective, tx, moments):
    value, grads = jax.value_and_grad(objective, argnums=1)(shared, own)
    updates, moments = tx.update(grads, moments, own)
    return optax.apply_updates(own, updates), moments
tx = optax.sgd(0.1)
print(advance(x, x, lambda s, o: jnp.sum(s * o), tx, tx.init(x))[0])
""",
            """\
def moved(one, two, objective):
    grads = jax.grad(objective, argnums=1)(one, two)
    return jax.tree.map(lambda a, b: a + b, one, two), grads
print(moved(x, x, lambda a, b: jnp.sum(a * b))[1])
""",
            """\
def energy(v, theta):
    return (v**2 * theta).sum()
def fit(theta, rounds, rate):
    slope = jax.jit(jax.grad(energy, argnums=1))
    for v in rounds:
        theta -= rate * slope(v, theta)
        v -= rate * jax.grad(energy)(v, theta)
    return theta
fit(1.0, batches, 0.1)
""",
            """\
def loss(v, w, y):
    return ((v * w - y) ** 2).sum()
class Trainer:
    def __init__(self, w):
        self.w = w
        self.grad = jax.grad(loss, argnums=1)
        self.towards = jax.grad(loss)

    def step(self, v, y):
        self.w = self.w - 0.1 * self.grad(v, self.w, y)
        return v - 0.1 * self.towards(v, self.w, y)
Trainer(x).step(x, x)
""",
            """\
def loss(x, y, w):
    return ((x @ w - y) ** 2).mean()
slope = jax.jit(jax.value_and_grad(loss, argnums=2))
def fit(x, y, w):
    value, g = slope(x, y, w)
    return w - 0.1 * g
""",
            """\
def loss(w, x, y):
    return ((x @ w - y) ** 2).mean()
slope = jax.jit(jax.value_and_grad(loss))
def fit(x, y, w):
    value, g = slope(w, x, y)
    return w - 0.1 * g
""",
            _LOSS + _PARAMS + "grads = jax.grad(loss)(params, x)\n"
            "params = jax.tree.map(lambda p, g: p - g, params, grads)\n",
            "def loss(v, p):\n    return ((p['w'] * v) ** 2).sum()\n"
            + _PARAMS
            + "grads = jax.grad(loss, argnums=1)(x, params)\n"
            "params = jax.tree.map(lambda p, g: p - g, params, grads)\n",
            "def loss(v, p):\n    return ((p['w'] * v) ** 2).sum()\n"
            + _PARAMS
            + "attack = x + jax.grad(loss)(x, params)\n",
            "def loss(v, p):\n    return ((p * v) ** 2).sum()\ngrads = jax.grad(loss)(x, x + 1.0)\nprint(grads)\n",
        ),
    ),
    "NNX881": Cases(
        bad=(
            "area = jnp.trapz(x)  # NNX881\n",
            "found = jnp.in1d(x, x)  # NNX881\n",
            "w = jax.ops.index_update(x, 0, 1.0)  # NNX881\n",
            "from jax.ops import index, index_update  # NNX881\nw = index_update(x, index[0], 1.0)\n",
            "from jax.ops import index  # NNX881\nw = x.at[index[0]].set(1.0)\n",
            """\
from jax.nn import normalize  # NNX881
def masked(scores, mask):
    return jnp.where(mask, scores, jnp.NINF)  # NNX881
tx = optax.chain(optax.additive_weight_decay(0.1), optax.sgd(0.1))  # NNX881
def spread(v):
    return jax.device_put_replicated(v, jax.devices())  # NNX881
""",
        ),
        clean=(
            "area = jax.scipy.integrate.trapezoid(x)\n",
            "found = jnp.isin(x, x)\n",
            "w = x.at[0].set(1.0)\n",
            "from jax.ops import segment_sum\nprint(segment_sum(x, jnp.zeros(3, int)))\n",
            "import types\nops = types.SimpleNamespace(index={0: 1})\nprint(x.at[ops.index[0]].set(1.0))\n",
            "try:\n    area = jnp.trapz(x)\nexcept AttributeError:\n    area = jax.scipy.integrate.trapezoid(x)\n",
            """\
def trapezoids():
    try:
        from jax.numpy import trapz
    except ImportError:
        from jax.scipy.integrate import trapezoid as trapz
    return trapz
def smallest(kind):
    return jnp.NINF if hasattr(jnp, "NINF") else -jnp.inf
class Constants:
    NINF = -1.0
print(trapezoids()(x), smallest(x.dtype), Constants.NINF, optax.add_decayed_weights(0.1), jax.tree.map(abs, [x]))
""",
        ),
    ),
    "NNX882": Cases(
        bad=(
            """\
def chosen(index, v):
    return jax.lax.switch([lambda u: u, lambda u: -u], index, v)  # NNX882
""",
            """\
def doubled(v):
    return jax.lax.map(v, lambda u: u * 2)  # NNX882
""",
            """\
class Router:
    def left(self, v):
        return v

    def right(self, v):
        return -v

    def __call__(self, index, v):
        return jax.lax.switch(index, self.left, self.right, v)  # NNX882
""",
            """\
def signed(v):
    def negative(u):
        return -u
    def positive(u):
        return u
    return jax.lax.cond(negative, positive, v.sum() > 0, v)  # NNX882
""",
            "jax.lax.cond(True, (x, x), lambda a: a, lambda a: a)  # NNX882\n",
            "jax.lax.switch(0, lambda a: a, lambda a: -a, x)  # NNX882\n",
            "jax.lax.map(x, lambda a: a)  # NNX882\n".replace("map(x,", "map(jnp.ones(3),"),
        ),
        clean=(
            """\
def chosen(index, v):
    return jax.lax.switch(index, [lambda u: u, lambda u: -u], v)
chosen(1, x)
""",
            """\
def shrunk(v):
    return jax.lax.while_loop(lambda u: u.sum() > 1, lambda u: u / 2, v)
shrunk(x)
""",
            """\
class Router:
    def __init__(self, branches):
        self.branches = branches

    def __call__(self, index, v):
        return jax.lax.switch(index, self.branches, v)
Router([lambda v: v, lambda v: -v])(1, x)
""",
            """\
def signed(v, positive):
    def negative(u):
        return -u
    return jax.lax.cond(v.sum() > 0, positive, negative, v)
signed(x, jnp.exp)
""",
            "jax.lax.cond(True, lambda a: a, lambda a: a, (x, x))\n",
            "jax.lax.switch(0, [lambda a: a, lambda a: -a], x)\n",
            "jax.lax.map(lambda a: a, jnp.ones(3))\n",
            "jax.lax.cond(True, 1.0, lambda a: a, 2.0, lambda a: a)\n",
        ),
    ),
    "NNX883": Cases(
        bad=(
            """\
def eigen(v):
    n = v.shape[-1]
    spec = jax.ShapeDtypeStruct(shape=((n,), (n, n)), dtype=jnp.complex64)
    return jax.pure_callback(np.linalg.eig, spec, v)  # NNX883
""",
            """\
def both(v):
    one, two = jnp.zeros(3), jnp.zeros((3, 3))
    return jax.pure_callback(np.linalg.eigh, jax.ShapeDtypeStruct((one.shape, two.shape), v.dtype), v)  # NNX883
""",
            """\
def picked(table, v):
    spec = v.shape + (table.shape[1],)
    return jax.pure_callback(lambda i: table[i], spec, v)  # NNX883
""",
            """\
def ordered(v):
    return jax.pure_callback(np.sort, (v.shape, v.dtype), v)  # NNX883
""",
            "y = jax.pure_callback(np.sin, x.shape, x)  # NNX883\n",
            "y = jax.pure_callback(np.sin, (3,), x)  # NNX883\n",
            "shape = x.shape\ny = jax.pure_callback(np.sin, shape, x)  # NNX883\n",
        ),
        clean=(
            """\
def eigen(v):
    n = v.shape[-1]
    spec = (jax.ShapeDtypeStruct((n,), jnp.float32), jax.ShapeDtypeStruct((n, n), jnp.float32))
    return jax.pure_callback(lambda a: tuple(map(np.asarray, np.linalg.eigh(a))), spec, v)
eigen(jnp.eye(3))
""",
            """\
def stacked(v):
    spec = jax.ShapeDtypeStruct((2, *v.shape), v.dtype)
    return jax.pure_callback(lambda a: np.stack([a, a]), spec, v)
stacked(x)
""",
            """\
def named(v):
    shapes = {"a": (3,), "b": (3, 3)}
    spec = jax.tree.map(lambda s: jax.ShapeDtypeStruct(s, v.dtype), shapes, is_leaf=lambda s: isinstance(s, tuple))
    return jax.pure_callback(lambda a: {"a": a, "b": np.outer(a, a)}, spec, v)
named(x)
""",
            """\
def ordered(v):
    spec = jax.ShapeDtypeStruct(v.shape[:1] + (), v.dtype)
    return jax.pure_callback(np.sort, (spec,), v) if False else jax.pure_callback(np.sort, spec, v)
ordered(x)
""",
            """\
def both(v):
    return jax.pure_callback(lambda u: (np.sort(u), np.argsort(u).astype("int32")), (v, v.astype(jnp.int32)), v)
both(x)
""",
            "y = jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)\n",
            "y = jax.pure_callback(np.sin, x, x)\n",
            "y = jax.pure_callback(np.sin, jax.eval_shape(jnp.sin, x), x)\n",
            "like = jax.ShapeDtypeStruct((3,), jnp.float32)\ny = jax.pure_callback(np.sin, like, x)\n",
        ),
    ),
    "NNX884": Cases(
        bad=(
            """\
def quantise(codebook, z):
    nearest = jnp.argmin(jnp.sum((z[:, None] - codebook) ** 2, -1), -1)
    return codebook[nearest], nearest
def layer(codebook, z):
    q, nearest = quantise(codebook, z)
    loss = jnp.mean((jax.lax.stop_gradient(q) - z) ** 2)
    return q + jax.lax.stop_gradient(z - q), loss  # NNX884
""",
            """\
def layer(codebook, z):
    nearest = jnp.argmin(jnp.sum((z[:, None] - codebook) ** 2, -1), -1)
    codes = codebook[nearest]
    loss = jnp.mean((codes - jax.lax.stop_gradient(z)) ** 2)
    return jax.lax.stop_gradient(z - codes) + codes, loss  # NNX884
""",
            """\
def quantise(v, scale):
    scaled = v / scale
    whole = jnp.clip(jnp.round(scaled), -8, 7)
    return scale * (scaled + jax.lax.stop_gradient(scaled - whole))  # NNX884
""",
            """\
def codes(z, book):
    nearest = book[jnp.argmin(jnp.sum((z[:, None] - book) ** 2, -1), -1)]
    return z + jax.lax.stop_gradient(z - nearest)  # NNX884
""",
            """\
from jax.lax import stop_gradient
def binary(v):
    return v - stop_gradient(jnp.sign(v) - v)  # NNX884
""",
            "def quantize(book, z):\n    index = jnp.argmin(jnp.sum((z[:, None] - book) ** 2, -1), -1)\n"
            "    quant = book[index]\n"
            "    loss = jnp.mean((z - jax.lax.stop_gradient(quant)) ** 2)\n"
            "    quant = z + jax.lax.stop_gradient(quant) - z  # NNX884\n    return quant, loss\n",
            "def loss(w, v):\n    limit = v.mean()\n    over = w * v > limit\n    return over.mean()  # NNX884\n"
            "step = jax.grad(loss)\n",
            """\
limit = jnp.ones(3)
def hits(c, s):
    return jnp.mean(limit * s > c)
def loss(c, s):
    return 1.0 - hits(c, s)  # NNX884
step = jax.grad(loss)
""",
            "def loss(w, v):\n    return jnp.mean(jnp.argmax(w * v) == 1)  # NNX884\nstep = jax.grad(loss)\n",
            "def loss(w, v):\n    return jnp.sum(jnp.round(w * v))  # NNX884\nstep = jax.grad(loss)\n",
            "def loss(w, v):\n    hit = w * v > 0\n    return jnp.mean(hit)  # NNX884\n"
            "step = jax.value_and_grad(loss)\n",
            "def loss(p, v):\n    return jnp.mean(jax.lax.stop_gradient(p * v - 1) ** 2)  # NNX884\n"
            "g = jax.grad(loss)\n",
            "def quantize(w):\n    q = jnp.round(4 * w) / 4\n    return jax.lax.stop_gradient(w + q - w)  # NNX884\n",
            "def quantize(w):\n    q = jnp.sign(w)\n    return w + jax.lax.stop_gradient(q) - w  # NNX884\n",
            "from jax.lax import stop_gradient as sg\ndef quantize(w, step):\n"
            "    return sg(w) + sg(step * jnp.floor(w / step) - w)  # NNX884\n",
            "def quantize(w):\n    q = jnp.round(w)\n    return q + jax.lax.stop_gradient(w - q)  # NNX884\n",
            "def quantize(w):\n    q = jnp.round(w)\n    return w + (q - w)  # NNX884\n",
            "class Codes(nnx.Module):\n    def __call__(self, z):\n        soft = jax.nn.softmax(z)\n"
            "        hard = jax.nn.one_hot(jnp.argmax(soft, -1), z.shape[-1])\n        out = soft + hard - soft\n"
            "        return jax.lax.stop_gradient(out)  # NNX884\n",
            """\
def loss(w, v):
    encoded = w * v
    nearest = jnp.round(encoded)
    code = encoded + jax.lax.stop_gradient(nearest - encoded)
    commitment_loss = jnp.mean(jnp.square(encoded - code))  # NNX884
    return jnp.mean(code) + 0.25 * commitment_loss
print(jax.grad(loss)(x, x))
""",
            """\
class Quantizer:
    def __call__(self, z):
        q = jnp.floor(z)
        q = z + jax.lax.stop_gradient(q - z)
        distance = q - z
        loss = (distance**2).mean()  # NNX884
        return q, loss
""",
            "def vq_loss(z, q):\n    through = jax.lax.stop_gradient(q - z) + z\n"
            "    return jnp.sum(optax.l2_loss(z, through))  # NNX884\n",
            "def wrong(z):\n    q = jnp.round(z)\n    through = z + jax.lax.stop_gradient(q - z)\n"
            "    return jax.lax.stop_gradient(through)  # NNX884\n",
            """\
class Quantizer(nnx.Module):
    def __init__(self, rngs):
        self.codes = nnx.Param(jax.random.normal(rngs.params(), (4, 3)))
    def __call__(self, z):
        codes = self.codes[...]
        quantized = codes[jnp.argmin(jnp.sum((z[:, None] - codes[None]) ** 2, -1), -1)]
        quantized = z + jax.lax.stop_gradient(quantized - z)
        commitment = jnp.mean((jax.lax.stop_gradient(quantized) - z) ** 2)
        codebook_loss = jnp.mean((quantized - jax.lax.stop_gradient(z)) ** 2)  # NNX884
        return quantized, codebook_loss + 0.25 * commitment
""",
            """\
class Quantizer(nnx.Module):
    def __init__(self, rngs):
        self.codes = nnx.Param(jax.random.normal(rngs.params(), (4, 3)))
    def __call__(self, z):
        codes = self.codes[...]
        quantized = codes[jnp.argmin(jnp.sum((z[:, None] - codes[None]) ** 2, -1), -1)]
        out = z + jax.lax.stop_gradient(quantized - z)
        commitment = jnp.mean((jax.lax.stop_gradient(quantized) - z) ** 2)
        codebook_loss = jnp.mean((out - jax.lax.stop_gradient(z)) ** 2)  # NNX884
        return quantized, codebook_loss + 0.25 * commitment
""",
        ),
        clean=(
            """\
def quantise(codebook, z):
    nearest = jnp.argmin(jnp.sum((z[:, None] - codebook) ** 2, -1), -1)
    return codebook[nearest], nearest
def layer(codebook, z):
    q, nearest = quantise(codebook, z)
    return z + jax.lax.stop_gradient(q - z)
assert layer(jnp.eye(3), jnp.ones((2, 3))).shape == (2, 3)
""",
            """\
def centred(model, z):
    q = model(z)
    return q + jax.lax.stop_gradient(z - q)
assert jnp.allclose(centred(model, x), x)
""",
            """\
def hardmax(v):
    return jax.nn.one_hot(v.argmax(-1), v.shape[-1])
def decode(v, hard=False):
    f = hardmax if hard else jax.nn.softmax
    return f(v)
def loss(v, hard=False):
    return jnp.sum(decode(v, hard=hard) ** 2)
print(jax.grad(loss)(x))
""",
            """\
def quantise(v, scale):
    scaled = v / scale
    whole = jnp.clip(jnp.round(scaled), -8, 7)
    return scale * (scaled + jax.lax.stop_gradient(whole - scaled))
print(quantise(x, 0.3))
""",
            """\
def binary(v):
    return v - jax.lax.stop_gradient(v - jnp.sign(v))
print(binary(x))
""",
            """\
def outwards(v, centre):
    return v + jax.lax.stop_gradient(v - centre)
print(outwards(x, x.mean()))
""",
            """\
def away(v):
    return v + jax.lax.stop_gradient(v - v.mean())
print(away(x))
""",
            "def quantize(book, z):\n    index = jnp.argmin(jnp.sum((z[:, None] - book) ** 2, -1), -1)\n"
            "    quant = book[index]\n"
            "    loss = jnp.mean((z - jax.lax.stop_gradient(quant)) ** 2)\n"
            "    quant = z + jax.lax.stop_gradient(quant - z)\n    return quant, loss\n"
            "print(quantize(jnp.eye(3), jnp.eye(3)))\n",
            "def near(y):\n    y = jnp.tanh(x) * y\n    z = 2 * y\n"
            "    z = z + jax.lax.stop_gradient(x) - jax.lax.stop_gradient(z)\n"
            "    return z\nprint(near(x))\n",
            """\
class Quantizer(nnx.Module):
    def __init__(self, rngs):
        self.codes = nnx.Param(jax.random.normal(rngs.params(), (4, 3)))
    def __call__(self, z):
        codes = self.codes[...]
        quantized = codes[jnp.argmin(jnp.sum((z[:, None] - codes[None]) ** 2, -1), -1)]
        commitment = jnp.mean((jax.lax.stop_gradient(quantized) - z) ** 2)
        codebook_loss = jnp.mean((quantized - jax.lax.stop_gradient(z)) ** 2)
        quantized = z + jax.lax.stop_gradient(quantized - z)
        return quantized, codebook_loss + 0.25 * commitment
print(Quantizer(nnx.Rngs(0))(jnp.ones((2, 3)))[1].shape)
""",
            """\
class Quantizer(nnx.Module):
    def __init__(self, rngs):
        self.codes = nnx.Param(jax.random.normal(rngs.params(), (4, 3)))
    def __call__(self, z):
        codes = self.codes[...]
        quantized = codes[jnp.argmin(jnp.sum((z[:, None] - codes[None]) ** 2, -1), -1)]
        out = z + jax.lax.stop_gradient(quantized - z)
        commitment = jnp.mean((jax.lax.stop_gradient(quantized) - z) ** 2)
        codebook_loss = jnp.mean((quantized - jax.lax.stop_gradient(z)) ** 2)
        return out, codebook_loss + 0.25 * commitment
print(Quantizer(nnx.Rngs(0))(jnp.ones((2, 3)))[1].shape)
""",
            """\
def loss(w, v):
    encoded = w * v
    nearest = jnp.round(encoded)
    code = encoded + jax.lax.stop_gradient(nearest - encoded)
    commitment_loss = jnp.mean(jnp.square(encoded - jax.lax.stop_gradient(code)))
    seen_error = jnp.mean(jnp.square(encoded - code))
    return jnp.mean(code) + 0.25 * commitment_loss, seen_error
print(jax.grad(loss, has_aux=True)(x, x))
""",
            """\
def loss(w, v):
    encoded = w * v
    code = encoded + jax.lax.stop_gradient(jnp.round(encoded) - encoded)
    quantization_loss = jnp.mean((encoded - code) ** 2)
    return jnp.mean(code), {"quantization": quantization_loss}
print(jax.grad(loss, has_aux=True)(x, x))
""",
            """\
def loss(w, v):
    z = w * v
    hard = z + jax.lax.stop_gradient(jnp.round(z) - z)
    return optax.softmax_cross_entropy(logits=z, labels=jax.lax.stop_gradient(hard)).mean()
print(jax.grad(loss)(x, x))
""",
            """\
def vq_loss(z, codes):
    q = codes[jnp.argmin((codes - z) ** 2)]
    through = z + jax.lax.stop_gradient(q - z)
    codebook_loss = jnp.mean((q - jax.lax.stop_gradient(z)) ** 2)
    return jnp.mean(through**2) + codebook_loss + 0.25 * jnp.mean((z - jax.lax.stop_gradient(q)) ** 2)
print(jax.grad(vq_loss, 1)(x, x))
""",
            """\
class Above:
    def __init__(self, of, bound):
        self.of, self.bound = of, bound
    def robustness(self, s):
        return (self.of.read(s) - self.bound).min()
class Signal:
    def __init__(self, read):
        self.read = read
    def __gt__(self, bound):
        return Above(self, bound)
height = Signal(lambda s: s)
def robust(c, s, signal):
    return (signal > c).robustness(s) ** 2 + (height > c).robustness(s) ** 2
print(jax.grad(lambda c: robust(c, x, height))(2.0))
""",
            "def loss(w, v):\n    return jnp.mean((w * v) ** 2)\nstep = jax.grad(loss)\n",
            "def loss(w, v):\n    z = w * v\n    return jnp.sum(z + jax.lax.stop_gradient(jnp.round(z) - z))\n"
            "step = jax.grad(loss)\n",
            "def loss(w, v):\n    z = w * v\n    return jnp.mean(jnp.where(z > 0, z, 0.0))\nstep = jax.grad(loss)\n",
            "def error(w, v):\n    return jnp.mean(jnp.argmax(w * v) - 1)\nprint(error(x, x))\n",
            "def loss(p, v):\n    z = p * v\n    q = z + jax.lax.stop_gradient(jnp.round(z) - z)\n"
            "    return jnp.mean((q - 1) ** 2)\ng = jax.grad(loss)\n",
            "def loss(p, v):\n    lp = p * v\n    return jnp.sum(jnp.exp(lp - jax.lax.stop_gradient(lp)))\n"
            "g = jax.grad(loss)\n",
            "def quantize(w):\n    q = jnp.round(4 * w) / 4\n    return w + jax.lax.stop_gradient(q - w)\n"
            "print(jax.grad(lambda w: quantize(w).sum())(x))\n",
            "from jax.lax import stop_gradient as sg\ndef quantize(w):\n    q = jnp.sign(w)\n"
            "    return sg(q) + w - sg(w)\nprint(quantize(x))\n",
            "def pick(z):\n    soft = jax.nn.softmax(z)\n"
            "    hard = jax.nn.one_hot(jnp.argmax(soft, -1), z.shape[-1])\n"
            "    return jax.lax.stop_gradient(hard - soft) + soft\nprint(pick(x))\n",
            "def nearest(z, codes):\n    q = codes[jnp.argmin((codes - z) ** 2)]\n"
            "    return q + jax.lax.stop_gradient(z - q)\nprint(nearest(x[0], x))\n",
            "def advantage(r, v):\n    return jax.lax.stop_gradient(r + 0.9 * v - v)\nprint(advantage(x, 2 * x))\n",
            "def smooth(w, v):\n    q = 0.5 * w + v\n    return w + (q - w)\nprint(smooth(x, x))\n",
            "def target(w):\n    return jax.lax.stop_gradient(jnp.round(w))\nprint(target(x))\n",
            "def surrogate(w):\n    s = jax.nn.sigmoid(w)\n"
            "    return jax.lax.stop_gradient((w > 0) * 1.0) + s - jax.lax.stop_gradient(s)\nprint(surrogate(x))\n",
        ),
    ),
    "NNX885": Cases(
        bad=(
            *_GIVEN_LESS,
            _CHOSEN
            + """\
opt = nnx.Optimizer(model, chosen("lbfgs"), wrt=nnx.Param)
def step(m, o, v):
    loss, grads = nnx.value_and_grad(lambda m: m(v).mean())(m)
    o.update(m, grads)  # NNX885
step(model, opt, x)
""",
            _CHOSEN
            + """\
def train(name, v):
    opt = nnx.Optimizer(model, chosen(name), wrt=nnx.Param)
    loss, grads = nnx.value_and_grad(lambda m: m(v).mean())(model)
    opt.update(model, grads)  # NNX885
""",
        ),
        clean=(
            *_GIVEN_ALL,
            _CHOSEN
            + """\
def train(name, v):
    opt = nnx.Optimizer(model, chosen(name), wrt=nnx.Param)
    loss, grads = nnx.value_and_grad(lambda m: m(v).mean())(model)
    if name == "lbfgs":
        opt.update(model, grads, value=loss, grad=grads, value_fn=lambda p: loss)
    else:
        opt.update(model, grads)
train("adam", x)
""",
            _CHOSEN.replace("optax.lbfgs()", "optax.lion(1e-3)")
            + """\
opt = nnx.Optimizer(model, chosen("lbfgs"), wrt=nnx.Param)
opt.update(model, nnx.grad(lambda m: m(x).mean())(model))
""",
            _CHOSEN
            + """\
def train(name, v, **given):
    opt = nnx.Optimizer(model, chosen(name), wrt=nnx.Param)
    opt.update(model, nnx.grad(lambda m: m(v).mean())(model), **given)
train("adam", x)
""",
        ),
    ),
    "NNX886": Cases(
        bad=(
            """\
def loss_fn(net, batch):
    return optax.sigmoid_binary_cross_entropy(batch["label"], net(batch["x"])).mean()  # NNX886
""",
            """\
def other(net, x, y):
    return optax.softmax_cross_entropy(jax.nn.one_hot(y, 3), net(x)).mean()  # NNX886
""",
            """\
def loss(logits, classes):
    smooth = optax.smooth_labels(jax.nn.one_hot(classes, 10), 0.1)
    return optax.softmax_cross_entropy_with_integer_labels(logits, smooth).mean()  # NNX886
""",
            """\
def loss(logits, classes):
    return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.eye(10)[classes]).mean()  # NNX886
""",
            "def f(logits, v):\n    return optax.softmax_cross_entropy(logits, jnp.argmax(v, -1)).mean()  # NNX886\n",
            "def f(logits, v):\n    hot = jax.nn.one_hot(v, 3)\n"
            "    return optax.softmax_cross_entropy_with_integer_labels(logits, hot).mean()  # NNX886\n",
            "labels = jnp.array([0, 1])\ndef f(logits):\n"
            "    return optax.softmax_cross_entropy(logits, labels).mean()  # NNX886\n",
            "def loss(logits, labels):\n"
            "    return optax.softmax_cross_entropy_with_integer_labels(labels, logits).mean()  # NNX886\n",
            "def loss(pred_logits, targets):\n"
            "    return optax.sigmoid_binary_cross_entropy(targets, pred_logits).mean()  # NNX886\n",
        ),
        clean=(
            """\
def loss_fn(net, images, labels):
    logits = net(images)
    hard = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
    return hard + optax.softmax_cross_entropy(logits, jax.nn.one_hot(labels, 2)).mean()
print(loss_fn(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), jnp.ones((3, 4)), jnp.zeros(3, jnp.int32)))
""",
            """\
def consistency(net, y, targets):
    soft = optax.softmax_cross_entropy(y, nnx.softmax(net(y))).mean()
    return optax.sigmoid_binary_cross_entropy(y, targets).mean() + soft
print(consistency(lambda v: v, x, jnp.ones_like(x)))
""",
            """\
def loss(logits, classes):
    smooth = optax.smooth_labels(jax.nn.one_hot(classes, 3), 0.1)
    return optax.softmax_cross_entropy(logits, smooth).mean() + optax.softmax_cross_entropy(logits, jnp.eye(3)[classes])
loss(x, jnp.array(1))
""",
            """\
def loss(logits, order):
    classes = jnp.arange(3)[order]
    return optax.softmax_cross_entropy_with_integer_labels(logits, classes).mean()
loss(jnp.ones((2, 3)), jnp.array([0, 2]))
""",
            "def f(logits, v):\n    return optax.softmax_cross_entropy(logits, jax.nn.one_hot(v, 3)).mean()\n",
            "def f(logits, v):\n"
            "    return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.argmax(v, -1)).mean()\n",
            "labels = jnp.array([[0, 1], [1, 0]])\ndef f(logits):\n"
            "    return optax.softmax_cross_entropy(logits, labels).mean()\n",
            "def f(logits, labels):\n    return optax.softmax_cross_entropy(logits, labels).mean()\n",
            "def loss(logits, labels):\n    return optax.sigmoid_binary_cross_entropy(logits, labels).mean()\n",
            "def loss(target_logits, logits):\n    return optax.softmax_cross_entropy(target_logits, logits).mean()\n",
        ),
    ),
    "NNX887": Cases(
        bad=(
            """\
opt_state = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1).init(x)
def drop(opt_state, factor):
    lr = opt_state.hyperparams["learning_rate"]
    lr = lr * factor  # NNX887
    print("rate", lr)
drop(opt_state, 0.5)
""",
            """\
opt = nnx.Optimizer(model, optax.inject_hyperparams(optax.sgd)(learning_rate=0.1), wrt=nnx.Param)
def decay(opt, losses):
    for loss in losses:
        if loss > 1:
            lr = float(opt.opt_state.hyperparams["learning_rate"][...])
            lr *= 0.5  # NNX887
            print(f"rate {lr}")
decay(opt, [2.0])
""",
            "s = optax.linear_schedule(0.1, 0.0, 10)\ntx = optax.sgd(s * 0.5)  # NNX887\n",
            "def train(step, batches):\n    rate = 0.1\n    tx = optax.sgd(rate)\n"
            "    for batch in batches:\n        loss = step(tx, batch)\n        if loss > 1:\n"
            "            rate *= 0.5  # NNX887\n            print(rate)\n",
            "class T:\n    def __init__(self, lr):\n        self.lr = lr\n"
            "        self.tx = optax.adam(self.lr)\n    def slower(self):\n"
            "        self.lr = self.lr / 2  # NNX887\n        print(f'{self.lr}')\n",
            *(
                f"schedule = optax.{made}\ntx = optax.{tx}  # NNX887\n"
                for made, tx in (
                    ("cosine_decay_schedule(1e-3, 10)", "adam(schedule(0))"),
                    ("linear_schedule(0.0, 1.0, 10)", "sgd(learning_rate=schedule(0))"),
                    ("exponential_decay(1e-3, 10, 0.9)", "adamw(schedule(1))"),
                )
            ),
        ),
        clean=(
            """\
opt_state = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1).init(x)
def drop(opt_state, factor):
    lr = opt_state.hyperparams["learning_rate"]
    lr = lr * factor
    opt_state.hyperparams["learning_rate"] = lr
drop(opt_state, 0.5)
""",
            """\
opt_state = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1).init(x)
def drop(opt_state, factor):
    lr = opt_state.hyperparams["learning_rate"]
    lr = lr * factor
    return opt_state._replace(hyperparams={"learning_rate": lr})
drop(opt_state, 0.5)
""",
            """\
opt_state = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1).init(x)
def drop(opt_state, factor):
    lr = opt_state.hyperparams["learning_rate"]
    lr = lr * factor
    return lr
drop(opt_state, 0.5)
""",
            """\
opt_state = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1).init(x)
def drop(opt_state, factor):
    lr = opt_state.hyperparams["learning_rate"]
    percent = lr * 100
    print("rate", lr, percent)
drop(opt_state, 0.5)
""",
            "s = optax.linear_schedule(0.1, 0.0, 10)\ntx = optax.sgd(lambda count: s(count) * 0.5)\nnow = s(3) * 2\n",
            "def train(step, batches):\n    rate = 0.1\n    tx = optax.sgd(1.0)\n"
            "    for batch in batches:\n        step(tx, batch, rate)\n        rate *= 0.5\n",
            "def train(step, batches):\n    rate = 0.1\n    tx = optax.sgd(rate)\n"
            "    for batch in batches:\n        step(tx, batch, rate)\n        rate *= 0.5\n",
            "class T:\n    def __init__(self, lr):\n        self.lr = lr\n        self.make()\n"
            "    def make(self):\n        self.tx = optax.adam(self.lr)\n    def slower(self):\n"
            "        self.lr = self.lr / 2\n        self.make()\n",
            "def sweep(run):\n    rate = 1.0\n    for _ in range(3):\n        run(optax.sgd(rate))\n"
            "        rate = rate / 10\n",
            *(
                f"schedule = optax.{made}\ntx = optax.{tx}\n"
                for made, tx in (
                    ("cosine_decay_schedule(1e-3, 10)", "adam(schedule)"),
                    ("linear_schedule(0.0, 1.0, 10)", "sgd(learning_rate=schedule)"),
                    ("exponential_decay(1e-3, 10, 0.9)", "adamw(lambda step: schedule(step))"),
                    ("constant_schedule(1e-3)", "adam(1e-3)"),
                )
            ),
        ),
    ),
    "NNX888": Cases(
        bad=(
            """\
def nearest(dr, box):
    return dr - box * jnp.round(dr / box)
def distances(pos, box):
    dr = nearest(pos[:, None, :] - pos[None, :, :], box)
    return jnp.sqrt(jnp.sum(dr**2, axis=-1))  # NNX888
def energy(pos, box):
    r = distances(pos, box)
    return jnp.sum(jnp.where(jnp.eye(len(pos), dtype=bool), 0.0, jnp.exp(-r)))
force = jax.jit(jax.grad(lambda p: -energy(p, 3.0)))
""",
            """\
class Pair:
    def __init__(self, scale):
        self.scale = scale
    def energy(self, points):
        gap = points[:, None] - points[None]
        return jnp.sum(jnp.exp(-self.scale * jnp.sqrt(jnp.sum(gap**2, axis=-1))))  # NNX888
def pull(field, points):
    return jax.jit(jax.grad(field.energy))(points)
pull(Pair(2.0), jnp.ones((4, 3)))
""",
            """\
def moves(p):
    return p[:, None, :] - p[None, :, :]
def energy(p):
    r = jnp.linalg.norm(moves(p), axis=-1)  # NNX888
    return jnp.sum(jnp.where(jnp.eye(len(p), dtype=bool), 0.0, jnp.exp(-r)))
force = jax.grad(energy)
""",
            """\
def moves(xyz):
    delta = xyz[None] - xyz[:, None]
    return delta
def energy(charges, places):
    d = moves(xyz=places)
    r = jnp.sqrt(jnp.sum(d**2, axis=-1))  # NNX888
    return jnp.sum(jnp.triu(charges[:, None] * charges * r, k=1))
force = jax.grad(energy, argnums=1)
""",
            """\
def distance(a, b):
    return jnp.linalg.norm(a - b)
distances = jax.vmap(jax.vmap(distance, (None, 0)), (0, None))
def energy(points):
    r = distances(points, points)  # NNX888
    return jnp.sum(jnp.where(jnp.eye(len(points)) > 0, 0.0, 1 / (r + 1)))
force = jax.grad(energy)
""",
            """\
def energy(points):
    delta = jax.vmap(lambda a: jax.vmap(lambda b: a - b)(points))(points)
    r = jnp.sqrt(jnp.sum(delta**2, axis=-1))  # NNX888
    return jnp.sum(jnp.triu(r, 1))
force = jax.grad(energy)
""",
            """\
def pair(a, b):
    return jnp.sqrt(jnp.sum((a - b) ** 2))
def energy(points):
    r = jax.vmap(lambda a: jax.vmap(lambda b: pair(a, b))(points))(points)  # NNX888
    return jnp.sum(jnp.exp(-r) * (1 - jnp.eye(len(points))))
force = jax.jit(jax.grad(energy))
""",
            """\
def distances(points):
    rows = jnp.expand_dims(points, 0)
    columns = jnp.expand_dims(points, axis=1)
    return jnp.linalg.norm(rows - columns, axis=-1)  # NNX888
def energy(points):
    far = distances(points)
    return jnp.where(jnp.eye(len(points)) > 0, 0.0, 1.0 / far).sum()
force = jax.grad(energy)
""",
            """\
def spread(points):
    one, other = points[:, None], points[None]
    return jnp.sqrt(((one - other) ** 2).sum(-1)).mean()  # NNX888
force = jax.grad(lambda points: spread(2.0 * points))
""",
            """\
def spread(points):
    return jnp.linalg.norm(points[:, None] - points[None, :], axis=-1).sum()  # NNX888
class Orbit:
    def run(self, points):
        moved = points * 1.1
        drift = spread(moved)
        return moved, drift
orbit = Orbit()
def loss(points):
    moved, drift = orbit.run(points)
    return (moved ** 2).sum() + drift
slope = jax.grad(loss)
""",
            """\
def energy(points):
    square = ((points[:, None] - points) ** 2).sum(-1)
    return jnp.exp(-(square**0.5)).sum()  # NNX888
force = jax.grad(energy)
""",
            *(
                "def energy(p):\n    d = p[:, None] - p[None]\n"
                f"    return jnp.{root}.sum()  # NNX888\nforce = jax.grad(energy)\n"
                for root in ("linalg.norm(d, axis=-1)", "sqrt(jnp.sum(d ** 2, axis=-1))", "sqrt((d ** 2).sum(-1))")
            ),
            """\
def pairwise_distances(a, b):
    return jnp.linalg.norm(a[:, None, :] - b[None, :, :], axis=-1)
def margin_loss(emb, labels):
    d = pairwise_distances(emb, emb)  # NNX888
    return (d * (labels[:, None] == labels[None, :]) * (1.0 - jnp.eye(len(labels)))).sum()
jax.value_and_grad(margin_loss)(jnp.ones((3, 2)), jnp.arange(3))
""",
            """\
class Kernel:
    def dist(self, a, b):
        diff = a[:, None] - b[None]
        sq = (diff**2).sum(-1)
        return jnp.sqrt(sq)
    def gram(self, v):
        return jnp.exp(-self.dist(v, v))  # NNX888
kernel = Kernel()
jax.grad(lambda v: kernel.gram(v).sum())(jnp.ones((3, 2)))
""",
        ),
        clean=(
            """\
def distances(pos, box):
    dr = pos[:, None, :] - pos[None, :, :]
    dr = jnp.mod(dr + box / 2, box) - box / 2
    square = jnp.sum(dr**2, axis=-1)
    return jnp.sqrt(jnp.where(square > 0, square, 1.0))
print(jax.grad(lambda p: jnp.sum(distances(p, 3.0)))(jnp.ones((3, 2))))
""",
            """\
class Pair:
    def __init__(self, scale):
        self.scale = scale
    def energy(self, points):
        gap = points[:, None] - points[None]
        return jnp.sum(jnp.exp(-self.scale * jnp.sqrt(jnp.sum(gap**2, axis=-1))))
    def square(self, points):
        return jnp.sum(points**2)
def pull(field, points):
    return jax.jit(jax.grad(field.square))(points), field.energy(points)
pull(Pair(2.0), jnp.ones((4, 3)))
""",
            """\
# the steps from one point to the next
def moves(p):
    return p[1:] - p[:-1]
def length(p):
    return jnp.sum(jnp.linalg.norm(moves(p), axis=-1))
print(jax.grad(length)(jnp.arange(6.0).reshape(3, 2)))
""",
            """\
# two sets of points
def moves(p, q):
    return p[:, None, :] - q[None, :, :]
def energy(p, q):
    return jnp.sum(jnp.linalg.norm(moves(p, q), axis=-1))
print(jax.grad(energy)(jnp.arange(6.0).reshape(3, 2), jnp.ones((2, 2)) * 9))
""",
            """\
# nothing is differentiated
def moves(p):
    return p[:, None, :] - p[None, :, :]
def spread(p):
    return jnp.linalg.norm(moves(p), axis=-1).max()
print(spread(jnp.arange(6.0).reshape(3, 2)))
""",
            """\
def moves(p):
    return p[:, None, :] - p[None, :, :]
def energy(p):
    off = ~jnp.eye(len(p), dtype=bool)
    square = jnp.where(off, jnp.sum(moves(p) ** 2, axis=-1), 1.0)
    return jnp.sum(jnp.where(off, jnp.exp(-jnp.sqrt(square)), 0.0))
print(jax.grad(energy)(jnp.arange(6.0).reshape(3, 2)))
""",
            """\
def distance(a, b):
    return jnp.sqrt(jnp.sum((a - b) ** 2) + 1e-9)
distances = jax.vmap(jax.vmap(distance, (None, 0)), (0, None))
print(jax.grad(lambda p: distances(p, p).sum())(jnp.ones((3, 2))))
""",
            """\
def distance(a, b):
    return jnp.linalg.norm(a - b)
distances = jax.vmap(jax.vmap(distance, (None, 0)), (0, None))
def to_centres(points, centres):
    return distances(points, centres).sum()
print(jax.grad(to_centres)(jnp.ones((3, 2)), jnp.zeros((2, 2))))
""",
            """\
def squared(a, b):
    return jnp.sum((a - b) ** 2)
def energy(points):
    return jax.vmap(lambda a: jax.vmap(lambda b: squared(a, b))(points))(points).sum()
print(jax.grad(energy)(jnp.ones((3, 2))))
""",
            """\
def distance(a, b):
    return jnp.linalg.norm(a - b)
distances = jax.vmap(jax.vmap(distance, (None, 0)), (0, None))
points = jnp.ones((3, 2))
print(distances(points, points))
""",
            """\
def distances(points, others):
    rows = jnp.expand_dims(points, 0)
    columns = jnp.expand_dims(others, axis=1)
    return jnp.linalg.norm(rows - columns, axis=-1)
def energy(points):
    return distances(points, points[::-1] + 3.0).sum()
print(jax.grad(energy)(jnp.ones((4, 2))))
""",
            """\
def distances(points):
    rows = jnp.expand_dims(points, 0)
    points = points + 5.0
    columns = jnp.expand_dims(points, 1)
    return jnp.linalg.norm(rows - columns, axis=-1)
print(jax.grad(lambda points: distances(points).sum())(jnp.ones((4, 2))))
""",
            """\
def distances(points):
    rows, columns = jnp.expand_dims(points, 0), jnp.expand_dims(points, 1)
    square = jnp.sum((rows - columns) ** 2, axis=-1)
    return jnp.sqrt(jnp.where(square > 0, square, 1.0))
print(jax.grad(lambda points: distances(points).sum())(jnp.ones((4, 2))))
""",
            """\
def distances(points):
    rows, columns = jnp.expand_dims(points, 0), jnp.expand_dims(points, 1)
    return jnp.linalg.norm(rows - columns, axis=-1)
print(distances(jnp.ones((4, 2))).sum(), jax.grad(lambda points: (points**2).sum())(jnp.ones((4, 2))))
""",
            """\
def spread(points):
    return jnp.linalg.norm(points[:, None] - points[None, :], axis=-1).sum()
class Orbit:
    def run(self, points):
        moved = points * 1.1
        drift = spread(moved)
        return moved, drift
orbit = Orbit()
def loss(points):
    moved, _ = orbit.run(points)
    return (moved ** 2).sum()
def other(points):
    return (orbit.run(points)[0] ** 2).sum()
print(jax.grad(loss)(jnp.ones((4, 2))), jax.grad(other)(jnp.ones((4, 2))))
""",
            """\
def energy(points):
    square = ((points[:, None] - points) ** 2).sum(-1)
    return jnp.exp(-square).sum() + ((square + 1e-6) ** 0.5).sum()
jax.grad(energy)(jnp.ones((2, 3)))
""",
            """\
def energy(points):
    square = ((points[:1] - points[1:]) ** 2).sum(-1)
    return (square**0.5).sum()
jax.grad(energy)(jnp.arange(6.0).reshape(2, 3))
""",
            "def energy(p):\n    d = p[:, None] - p[None]\n    return jnp.sqrt((d ** 2).sum(-1) + 1e-6).sum()\n"
            "force = jax.grad(energy)\n",
            "def energy(p):\n    d = p[:, None] - p[None]\n    return (d ** 2).sum()\nforce = jax.grad(energy)\n",
            "def spread(p):\n    d = p[:, None] - p[None]\n    return jnp.linalg.norm(d, axis=-1).max()\n"
            "print(spread(jnp.ones((2, 3))))\n",
            "def energy(p, q):\n    d = p[:, None] - q[None]\n    return jnp.linalg.norm(d, axis=-1).sum()\n"
            "force = jax.grad(energy)\n",
            """\
def pairwise_distances(a, b):
    return jnp.linalg.norm(a[:, None, :] - b[None, :, :], axis=-1)
def loss(emb, anchors):
    return pairwise_distances(emb, anchors).sum()
jax.grad(loss)(jnp.ones((3, 2)), jnp.zeros((4, 2)))
""",
            """\
def pairwise_distances(a, b):
    return jnp.sqrt(jnp.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=-1) + 1e-9)
def loss(emb):
    return pairwise_distances(emb, emb).sum()
jax.grad(loss)(jnp.ones((3, 2)))
""",
            """\
def pairwise_distances(a, b):
    return jnp.linalg.norm(a[:, None, :] - b[None, :, :], axis=-1)
def nearest(points):
    return jnp.argmin(pairwise_distances(points, points) + 1e9 * jnp.eye(len(points)), axis=1)
def loss(points):
    return jnp.mean((points - points[nearest(jax.lax.stop_gradient(points))]) ** 2)
jax.grad(loss)(jnp.ones((3, 2)))
""",
            """\
def square_distances(a, b):
    return jnp.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=-1)
def loss(emb):
    d2 = square_distances(emb, emb)
    return jnp.sum(jnp.sqrt(jnp.where(d2 > 0, d2, 1.0)) * (d2 > 0))
jax.grad(loss)(jnp.ones((3, 2)))
""",
        ),
    ),
    "NNX889": Cases(
        bad=(
            "def noisy(v):\n    k = jax.random.key(3)  # NNX889\n    return v + jax.random.normal(k, v.shape)\n"
            "for part in batches:\n    print(noisy(part))\n",
            "def noisy(v, k=jax.random.key(3)):\n    return v + jax.random.normal(k, v.shape)  # NNX889\n"
            "for part in batches:\n    print(noisy(part))\n",
            "def mixed(v):\n    k = jax.random.PRNGKey(0)  # NNX889\n    return jax.random.permutation(k, v * 2)\n"
            "for part in batches:\n    print(mixed(part * 1.0))\n".replace(
                "permutation(k, v * 2)", "normal(k, v.shape) * v"
            ),
        ),
        clean=(
            "def noisy(v, k):\n    return v + jax.random.normal(k, v.shape)\n"
            "for i, part in enumerate(batches):\n    print(noisy(part, jax.random.fold_in(key, i)))\n",
            "def noisy(v):\n    k = jax.random.key(3)\n    return v + jax.random.normal(k, v.shape)\nprint(noisy(x))\n",
            "def evaluate(v):\n    k = jax.random.key(3)\n    return v + jax.random.normal(k, v.shape)\n"
            "for part in batches:\n    print(evaluate(part))\n",
            "def init_weights(v):\n    k = jax.random.key(3)\n    return jax.random.normal(k, v.shape)\n"
            "for part in batches:\n    print(init_weights(part))\n",
        ),
    ),
    "NNX919": Cases(
        bad=(
            """\
@jax.jit
def loss(w, v):
    return jnp.mean((v @ w) ** 2)
rng = np.random.default_rng(0)
for step in range(20):
    n = rng.integers(5, 60)
    v = rng.normal(size=(n, 3))
    print(loss(x, v))  # NNX919
""",
            """\
@jax.jit
def score(v):
    return jnp.tanh(v).sum()
def lines(n):
    rng, found = np.random.default_rng(0), []
    for i in range(n):
        length = int(rng.integers(5, 60))
        found.append((rng.integers(0, 9, size=length), i % 2))
    return found
def run():
    total = 0.0
    for tokens, label in lines(20):
        total += score(jnp.asarray(tokens)) * label  # NNX919
    return total
run()
""",
            """\
@jax.jit
def update(v, errors):
    return v + 0.1 * errors.mean()
def refine(v, errors):
    for step in range(50):
        wide = jnp.abs(errors) > 0.1
        v = update(v, errors[wide])  # NNX919
        errors = errors * 0.9
    return v
refine(x, x)
""",
            """\
from flax import struct
@struct.dataclass
class State:
    w: jax.Array
    step: int = struct.field(pytree_node=False, default=0)
    def later(self):
        return self.replace(step=self.step + 1)  # NNX919
@jax.jit
def advance(state, v):
    loss = (state.w * v).sum()
    state = state.replace(w=state.w - v)
    return state.later(), loss
def train(state, vs):
    for v in vs:
        state, loss = advance(state, v)
    return state
train(State(x), batches)
""",
            """\
import dataclasses
from typing import Any
@partial(jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["step"])
@dataclasses.dataclass
class State:
    w: Any
    step: int
@jax.jit
def advance(state, v):
    return State(state.w - v, state.step + 1)  # NNX919
state = State(x, 0)
for _ in range(20):
    state = advance(state, x)
""",
            """\
import dataclasses
from typing import Any
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    w: Any
    step: int = dataclasses.field(default=0, metadata=dict(static=True))
@jax.jit
def advance(state, v):
    new = dataclasses.replace(state, w=state.w - v, step=1 + state.step)  # NNX919
    return new, v.sum()
def train(state, vs):
    for v in vs:
        state, loss = advance(state, v)
    return state
train(State(x, 0), batches)
""",
            """\
import dataclasses
@jax.tree_util.register_pytree_node_class
class State:
    def __init__(self, w, count):
        self.w = w
        self.count = count
    def tree_flatten(self):
        return (self.w,), self.count
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children, aux)
@jax.jit
def advance(state, v):
    return State(w=state.w - v, count=state.count + 1)  # NNX919
state = State(x, 0)
for _ in range(20):
    state = advance(state, x)
""",
            """\
class Deep(nnx.Module):
    def __init__(self, rngs):
        self.parts = nnx.List([nnx.Linear(3, 3, rngs=rngs) for _ in range(2)])
    def __call__(self, v):
        for part in self.parts:
            v = part(v)
            self.sow(nnx.Intermediate, "mean", v.mean())  # NNX919
        return v
@nnx.jit
def step(net, v):
    return nnx.grad(lambda m: m(v).sum())(net)
def run(net, v):
    for _ in range(3):
        step(net, v)
""",
            """\
class Gumbel(nnx.Module):
    def __init__(self, rngs, scale=1.0):
        self.temperature = scale
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.fc(v) / self.temperature
@nnx.jit
def step(net, v):
    return net(v).sum()
def anneal(step, steps, start=1.0):
    return start * 0.3 ** (step / steps)
def run(steps=5):
    net = Gumbel(nnx.Rngs(0))
    for i in range(steps):
        net.temperature = anneal(i, steps)  # NNX919
        step(net, x)  # NNX901
""",
            """\
class Counted(nnx.Module):
    def __init__(self, rngs):
        self.calls = 0
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.fc(v)
@nnx.jit
def step(net, v):
    return net(v).sum()
def run():
    net = Counted(nnx.Rngs(0))
    for v in batches:
        net.calls += 1  # NNX919
        step(net, v)  # NNX901
""",
            """\
@jax.jit
def step(w, cache, v):
    k = jnp.concatenate([cache, (v @ w)[None]], axis=0)
    return k.mean(0), k
def run(w, v, n):
    cache = jnp.zeros((0, 3))
    for _ in range(n):
        v, cache = step(w, cache, v)  # NNX919
    return v
run(jnp.ones((3, 3)), x, 2)
""",
            """\
def grown(cache, k, v):
    return {"k": jnp.concatenate([cache["k"], k[None]]), "v": jnp.concatenate([cache["v"], v[None]])}
@partial(jax.jit, donate_argnums=(0,))
def step(cache, v):
    cache = grown(cache, v, 2 * v)
    return cache, cache["k"].sum(0)
def run(v, n):
    cache = {"k": jnp.zeros((0, 3)), "v": jnp.zeros((0, 3))}
    for _ in range(n):
        cache, v = step(cache, v)  # NNX919
    return v
""",
            """\
class Decoder:
    def __init__(self):
        self.cache = jnp.zeros((0, 3))
        self.step = jax.jit(self._step)
    def _step(self, v, cache):
        return v + cache.sum(0), jnp.vstack([cache, v])
    def run(self, v, n):
        for _ in range(n):
            v, self.cache = self.step(v, self.cache)  # NNX919
        return v
""",
            """\
import dataclasses
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Cache:
    k: jax.Array
    v: jax.Array
@jax.jit
def step(cache, v):
    return v + 1, Cache(jnp.append(cache.k, v[None], axis=0), v=jnp.append(cache.v, v[None], axis=0))
def run(v, cache, n):
    while n:
        v, cache = step(cache=cache, v=v)  # NNX919
        n -= 1
    return v
""",
            """\
from typing import NamedTuple
class Cache(NamedTuple):
    k: jax.Array
    n: int = 0
step = jax.jit(lambda cache, v: cache._replace(k=jnp.concatenate((cache.k, v[None])), n=cache.n + 1))
def run(v, cache):
    for _ in range(5):
        cache = step(cache, v)  # NNX919
    return cache
""",
            """\
@jax.jit
def step(layers, caches, v):
    new = []
    for w, (k, val) in zip(layers, caches):
        k = jnp.concatenate([k, v[None]])
        val = jnp.concatenate([val, (v @ w)[None]])
        v = v + val.sum(0)
        new.append((k, val))
    return v, new
def run(layers, caches, v):
    for _ in range(5):
        v, caches = step(layers, caches, v)  # NNX919
    return v
""",
            """\
@jax.jit
def step(caches, v):
    caches = jax.tree.map(lambda old, new: jnp.concatenate([old, new[None]]), caches, {"k": v, "v": v})
    return caches
def run(caches, v):
    for _ in range(5):
        caches = step(caches, v)  # NNX919
    return caches
""",
            """\
@jax.jit
def step(cache, v):
    cache["k"] = jnp.concatenate([cache["k"], v[None]])
    return cache
def run(cache, v):
    for _ in range(5):
        cache = step(cache, v)  # NNX919
    return cache
""",
            """\
@jax.jit
def step(caches, v):
    return [jnp.concatenate([c, v[None]]) for c in caches]
def run(caches, v):
    for _ in range(5):
        caches = step(caches, v)  # NNX919
    return caches
""",
            "@jax.jit\ndef g(v):\n    return v.sum()\ndef grown(v):\n    for _ in range(30):\n"
            "        s = g(v)  # NNX919\n        v = jnp.append(v, s)\n    return v\n",
            "@jax.jit\ndef g(v):\n    return v.sum()\nv = jnp.ones(1)\n"
            "for _ in range(30):\n    s = g(v)  # NNX919\n    v = jnp.concatenate([v, s[None]])\n",
            """\
@jax.jit
def scores(tokens):
    return jnp.cumsum(tokens) % 5
def chosen(logits):
    return jnp.argmax(logits)
def write(tokens, n):
    for _ in range(n):
        logits = scores(tokens)  # NNX919
        following = chosen(logits[-1:])
        tokens = jnp.concatenate([tokens, following[None].astype(tokens.dtype)])
    return tokens
""",
            _WATCHED + _STEPS,
            _WATCHED.replace("nnx.List([])", "nnx.data([])") + _STEPS,
            _WATCHED.replace("self.seen.append(h)  # NNX919", "self.note(h)")
            + "    def note(self, h):\n        self.seen.append(h)  # NNX919\n"
            + _STEPS,
        ),
        clean=(
            """\
@jax.jit
def loss(w, v):
    return jnp.mean((v @ w) ** 2)
rng = np.random.default_rng(0)
n = rng.integers(5, 60)
for step in range(5):
    v = rng.normal(size=(n, 3))
    print(loss(x, v))
""",
            """\
@jax.jit
def score(v, mask):
    return (jnp.tanh(v) * mask).sum()
rng = np.random.default_rng(0)
for step in range(5):
    n = rng.integers(5, 60)
    v = np.zeros(64)
    v[:n] = rng.normal(size=n)
    print(score(v, np.arange(64) < n))
""",
            """\
@jax.jit
def update(v, errors, wide):
    return v + 0.1 * jnp.where(wide, errors, 0.0).mean()
def refine(v, errors):
    for step in range(3):
        wide = jnp.abs(errors) > 0.1
        v = update(v, errors, wide)
        errors = errors * 0.9
    return v
print(refine(x, x))
""",
            """\
@jax.jit
def score(v):
    return jnp.tanh(v).sum()
rng = np.random.default_rng(0)
for step in range(5):
    chosen = rng.integers(0, 3, size=8)
    print(score(jnp.asarray(chosen)), score(x[chosen]))
""",
            """\
import dataclasses
from typing import Any
@partial(jax.tree_util.register_dataclass, data_fields=["w", "step"], meta_fields=[])
@dataclasses.dataclass
class State:
    w: Any
    step: int
@jax.jit
def advance(state, v):
    return State(state.w - v, state.step + 1)
state = State(x, 0)
for _ in range(20):
    state = advance(state, x)
""",
            """\
import dataclasses
from typing import Any
@partial(jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["step"])
@dataclasses.dataclass
class State:
    w: Any
    step: int
@jax.jit
def advance(state, v):
    return State(state.w - v, state.step)
def later(state):
    return dataclasses.replace(state, step=state.step + 1)
state = State(x, 0)
for _ in range(20):
    state = advance(state, x)
print(later(state))
""",
            """\
import dataclasses
from typing import Any
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    w: Any
    step: int = dataclasses.field(default=0, metadata=dict(static=True))
@jax.jit
def advance(state, v):
    return dataclasses.replace(state, w=state.w - v, step=state.step + 1)
state = State(x, 0)
for _ in range(20):
    after = advance(state, x)
for _ in range(3):
    state = advance(state, x)
""",
            """\
import dataclasses
from typing import Any
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    w: Any
    step: int = dataclasses.field(default=0, metadata=dict(static=True))
def advance(state, v):
    return dataclasses.replace(state, w=state.w - v, step=state.step + 1)
state = State(x, 0)
for _ in range(20):
    state = advance(state, x)
""",
            """\
@jax.jit
def spread(xs):
    return xs.std()
class Search:
    def following(self, xs):
        return xs[-1:] + 0.1
search, xs, told = Search(), jnp.ones(2), []
for i in range(20):
    width = spread(xs)
    told.append(width)
    xs = jnp.concatenate([xs, search.following(xs)])
""",
            # data that grow between long steps: as many sizes as rounds by nature
            "@jax.jit\ndef g(v):\n    return v.sum()\nv = jnp.ones((1, 3))\n"
            "for part in batches:\n    s = g(v)\n    v = jnp.vstack([v, part])\n",
            """\
@jax.jit
def normalized(xs, ys):
    return {"X": xs - xs.mean(0), "y": ys - ys.mean()}
class Search:
    def following(self, batch, rounds):
        return batch["X"][-1:] + 0.1
search = Search()
xs, ys = jnp.ones((2, 3)), jnp.ones(2)
for i in range(20):
    batch = normalized(xs, ys)
    new = search.following(batch, 10)
    xs = jnp.concatenate([xs, new], axis=0)
    ys = jnp.concatenate([ys, new.sum(1)], axis=0)
""",
            "@jax.jit\ndef g(v):\n    return v.sum()\nv = jnp.ones(1)\n"
            "for _ in range(3):\n    s = g(v)\n    v = jnp.concatenate([v, s[None]])\n",
            "@jax.jit\ndef g(v):\n    return v.sum()\nfor n in range(1, 4):\n    print(g(x[:n]))\n",
            """\
@jax.jit
def decayed(v, step):
    return v / (step + 1)
def train(v, steps):
    step = 0
    while step < steps:
        number = jnp.asarray(step, dtype=jnp.int32)
        v = decayed(v, number)
        step += 1
    return v
print(train(x, 3))
""",
            """\
class Gumbel(nnx.Module):
    def __init__(self, rngs):
        self.temperature = nnx.Variable(jnp.asarray(1.0))
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.fc(v) / self.temperature
@nnx.jit
def step(net, v):
    return net(v).sum()
net = Gumbel(nnx.Rngs(0))
for i in range(3):
    net.temperature.value = jnp.asarray(0.9**i)
    print(step(net, x))
""",
            """\
class Scaled(nnx.Module):
    def __init__(self, rngs):
        self.scale = 1.0
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.fc(v) * self.scale
@nnx.jit
def step(net, v):
    return net(v).sum()
net = Scaled(nnx.Rngs(0))
net.scale = 0.5
print(step(net, x))
""",
            """\
@jax.jit
def step(cache, v, i):
    cache = {"k": jax.lax.dynamic_update_slice(cache["k"], v[None], (i, 0))}
    return cache, cache["k"].sum(0)
def run(v):
    cache = {"k": jnp.zeros((5, 3))}
    for i in range(5):
        cache, v = step(cache, v, i)
    return v
run(x)
""",
            """\
@jax.jit
def step(window, v):
    return jnp.concatenate([window, v[None]], axis=0)[1:], v
def run(window, v):
    for _ in range(5):
        window, v = step(window, v)
    return window
run(jnp.ones((4, 3)), x)
""",
            """\
@jax.jit
def step(cache, v):
    return jnp.concatenate([cache, v[None]])
cache = step(jnp.ones((1, 3)), x)
cache = step(cache, x)
""",
            """\
@jax.jit
def step(window, v):
    return jnp.concatenate([window[1:], v[None]])
def run(window, v):
    for _ in range(5):
        window = step(window, v)
    return window
run(jnp.ones((4, 3)), x)
""",
            """\
@jax.jit
def step(cache, v, i):
    return cache.at[i].set(v), jnp.concatenate([cache, v[None]]).mean()
def run(v):
    cache = jnp.zeros((5, 3))
    for i in range(5):
        cache, mean = step(cache, v, i)
    return cache
run(x)
""",
            """\
@jax.jit
def step(cache, v):
    return jnp.concatenate([cache, v[None]])[-4:]
def run(v):
    cache = jnp.zeros((4, 3))
    for i in range(5):
        cache = step(cache, v)
    return cache
run(x)
""",
            """\
@jax.jit
def step(state, v):
    return {"prefix": state["prefix"], "all": jnp.concatenate([state["prefix"], v[None]])}
def run(v):
    state = {"prefix": jnp.zeros((4, 3)), "all": jnp.zeros((5, 3))}
    for i in range(5):
        state = step(state, v)
    return state
run(x)
""",
            """\
@jax.jit
def step(cache, v):
    return jnp.concatenate([cache, v[None]])
def run(v):
    cache = jnp.zeros((4, 3))
    for i in range(5):
        new = step(cache, v)
    return new
run(x)
""",
            """\
@jax.jit
def step(w, v):
    return jnp.concatenate([v, v])[: v.shape[0]] @ w, w
def run(w, v):
    for i in range(5):
        v, w = step(w, v)
    return v
run(jnp.eye(3), x)
""",
            """\
@jax.jit
def step(state, v):
    features = jnp.concatenate([state["h"], v])
    return {"h": jnp.tanh(features @ state["w"]), "w": state["w"]}
def run(v):
    state = {"h": jnp.zeros(3), "w": jnp.ones((6, 3))}
    for i in range(5):
        state = step(state, v)
    return state
run(x)
""",
            # it begins anew, or is emptied, in every round
            _UNMARKED + _STEPS.replace("        step(net)", "        net.seen = nnx.List([])\n        step(net)"),
            _UNMARKED + _STEPS.replace("        step(net)", "        net.seen.clear()\n        step(net)"),
            _UNMARKED + _STEPS.replace("        step(net)", "        step(net)\n        del net.seen[:]"),
            # one call
            _UNMARKED + _STEPS.replace("    for _ in range(2):\n        step(net)", "    step(net)"),
            # layers, which the constructor appends
            """\
class Stack(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.List([])
        for _ in range(2):
            self.add(rngs)
    def add(self, rngs):
        self.layers.append(nnx.Linear(3, 3, rngs=rngs))
@nnx.jit
def made(rngs):
    return Stack(rngs)
def run():
    return made(nnx.Rngs(0))
""",
            "@jax.jit\ndef g(v):\n    return v.sum()\nv = jnp.ones(3)\nfor i in range(3):\n    v = v.at[i].set(g(v))\n",
            "@jax.jit\ndef g(v):\n    return v.sum()\nfound = []\nfor part in batches:\n    found.append(g(part))\n",
            "@jax.jit\ndef g(v):\n    return jnp.append(v, v)\nprint(g(x))\n",
            "@jax.jit\ndef g(v):\n    return v.sum()\nv = jnp.ones(1)\nfor _ in range(3):\n    v = jnp.append(v, 1.0)\n"
            "print(g(v))\n",
        ),
    ),
}
