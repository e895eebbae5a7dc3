"""Formulas of which two parts have changed places: bounds, quotients, signs, actions, and networks."""

from __future__ import annotations

import re

from tests.lint.tables import Cases

_CLIP = """\
def policy_loss(ratio, advantage, eps=0.2):
    clipped = jnp.clip(ratio, 1 + eps, 1 - eps)  # NNX630
    return -jnp.mean(jnp.minimum(ratio * advantage, clipped * advantage))
print(policy_loss(x, x))
"""
_UNIFORM = """\
weights = jax.random.uniform(key, (3, 2), minval=0.1, maxval=-0.1)  # NNX630
print(weights)
"""
_ATTENTION = """\
def attention(q, k, v):
    d = q.shape[-1]
    scores = jnp.einsum('qd,kd->qk', q, k) * jnp.sqrt(d)  # NNX697
    return jax.nn.softmax(scores, axis=-1) @ v
print(attention(jnp.ones((2, 3)), jnp.ones((2, 3)), jnp.ones((2, 3))))
"""
_MASKED = """\
def attention(q, k, v, mask, head_dim):
    scores = head_dim ** 0.5 * (q @ k.T)  # NNX697
    scores = jnp.where(mask, scores, -1e9)
    weights = jax.nn.softmax(scores)
    return weights @ v
print(attention(jnp.ones((2, 3)), jnp.ones((2, 3)), jnp.ones((2, 3)), jnp.ones((2, 2), bool), 3))
"""
_R2 = """\
def r2(y, predicted):
    return 1 - jnp.sum((y - y.mean()) ** 2) / (jnp.sum((y - predicted) ** 2) + 1e-8)  # NNX632
print(r2(x, x + 1))
"""
_SHARES = """\
def scores(tp, fp, fn):
    precision = tp / (tp + fn)  # NNX632
    recall = tp / (tp + fp)  # NNX632
    f1 = 2 * precision * recall / (precision + recall)
    return precision, recall, f1
print(scores(3, 1, 2))
"""
_F1 = """\
def score(hits, found, wanted):
    precision, recall = hits / found, hits / wanted
    f1 = precision * recall / (precision + recall + 1e-8)  # NNX632
    return f1
print(score(1, 2, 3))
"""
_ACT = """\
def act(key, q_values, epsilon):
    explore_key, action_key = jax.random.split(key)
    any_action = jax.random.randint(action_key, (), 0, q_values.shape[-1])
    greedy = jnp.argmax(q_values, axis=-1)
    return jnp.where(jax.random.uniform(explore_key) < epsilon, greedy, any_action)  # NNX633
print(act(key, x, 0.1))
"""
_PYTHON = """\
def act(q_values, eps):
    if random.random() < eps:  # NNX633
        return int(jnp.argmax(q_values))
    return random.randrange(q_values.shape[-1])
print(act(x, 0.1))
"""
_COND = """\
def act(key, q_values, eps):
    key, choose = jax.random.split(key)
    def explore(_):
        return jax.random.randint(key, (), 0, 3)
    def greedy(_):
        return jnp.argmax(q_values).astype(jnp.int32)
    return jax.lax.cond(jax.random.uniform(choose) > eps, explore, greedy, None)  # NNX633
print(act(key, x, 0.1))
"""
_BUFFER = """\
class Buffer:
    def __init__(self, capacity):
        self.capacity, self.size, self.place = capacity, 0, 0
        self.seen = np.zeros((capacity, 2))
    def add(self, row):
        self.seen[self.place] = row
        self.place = (self.place + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)
    def sample(self, count):
        places = np.random.randint(0, self.capacity, size=count)  # NNX634
        return jnp.asarray(self.seen[places])
buffer = Buffer(8)
buffer.add(np.ones(2))
print(buffer.sample(2))
"""
_LABELS = """\
def smoothed(labels, share=0.1):
    return jax.nn.one_hot(labels, 4) * (1 - share) + share  # NNX635
print(smoothed(jnp.arange(3)))
"""
_NORM = """\
def clipped(grads, max_norm):
    norm = optax.global_norm(grads)
    scale = jnp.maximum(1.0, max_norm / norm)  # NNX636
    return jax.tree.map(lambda g: g * scale, grads)
print(clipped({'w': x}, 1.0))
"""
_FACTOR = """\
def clipped(g, limit):
    size = jnp.linalg.norm(g)
    return g * jnp.minimum(1.0, size / limit)  # NNX636
print(clipped(x, 1.0))
"""
_MEAN = """\
def evaluate(batches):
    total = 0.0
    for i, batch in enumerate(batches):
        total += jnp.sum(batch)
    return total / i  # NNX637
print(evaluate(batches))
"""
_WAVES = """\
def encoding(length, width):
    positions = jnp.arange(length)[:, None]
    rates = jnp.exp(jnp.arange(0, width, 2) * (jnp.log(10000.0) / width))  # NNX638
    angles = positions * rates
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)
print(encoding(4, 6))
"""
_POWERS = """\
def rotary(length, width):
    steps = jnp.arange(0, width, 2) / width
    freqs = 10000.0 ** steps  # NNX638
    angles = jnp.outer(jnp.arange(length), freqs)
    return jnp.sin(angles), jnp.cos(angles)
print(rotary(4, 6))
"""
_TD = """\
def td_loss(q_net, target_net, batch, gamma=0.99):
    chosen = q_net(batch['obs']).max(axis=-1)
    best = jax.lax.stop_gradient(q_net(batch['next_obs']).max(axis=-1))
    wanted = batch['reward'] + gamma * (1 - batch['done']) * best  # NNX639
    return jnp.mean((chosen - wanted) ** 2)
batch = {'obs': jnp.ones((2, 3)), 'next_obs': jnp.ones((2, 3)), 'reward': 1.0, 'done': 0.0}
print(td_loss(model, model, batch))
"""


def _right(text: str, *replaced: tuple[str, str]) -> str:
    """Return a program without its marks, and with other parts."""
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return re.sub(r"  # NNX\d+", "", text)


CASES = {
    "NNX630": Cases(
        bad=(
            """\
def least(q1, q2):
    return jnp.minimum(q1, q1) + 0 * q2  # NNX630
print(least(x, x))
""",
            """\
class Policy:
    log_std_min = -5.0
    log_std_max = 2.0
    def scale(self, v):
        return jnp.exp(jnp.clip(v, self.log_std_max, self.log_std_min))  # NNX630
""",
            """\
def distance(sq):
    return jnp.sqrt(jnp.clip(sq, jnp.inf, 0))  # NNX630
""",
            _CLIP,
            _UNIFORM,
            _CLIP.replace("1 + eps, 1 - eps", "min=1.2, max=0.8"),
            "def bounded(v, limit):\n    return jnp.clip(v, limit, -limit)  # NNX630\nprint(bounded(x, 1.0))\n",
            "print(jax.random.randint(key, (2,), 9, 1))  # NNX630\n",
        ),
        clean=(
            """\
def least(q1, q2):
    return jnp.minimum(q1, q2)
print(least(x, x))
""",
            """\
def scale(v, std_min, std_max):
    return jnp.clip(v, std_min, std_max)
print(scale(x, 0.0, 1.0))
""",
            """\
def halves(v):
    return jnp.clip(v, 0, jnp.inf), jnp.clip(v, -jnp.inf, 0)
print(halves(x))
""",
            _right(_CLIP, ("1 + eps, 1 - eps", "1 - eps, 1 + eps")),
            _right(_UNIFORM, ("minval=0.1, maxval=-0.1", "minval=-0.1, maxval=0.1")),
            _right(_CLIP, ("1 + eps, 1 - eps", "min=0.8, max=1.2")),
            "def bounded(v, shift):\n    return jnp.clip(v, shift, -shift)\nprint(bounded(x, -1.0))\n",
            "def near(v, a, b):\n    return jnp.clip(v, a + b, a - b)\nprint(near(x, 1.0, -0.5))\n",
            "low, high = -1.0, 1.0\nprint(jnp.clip(x, low, high), jnp.clip(x, 0.5, None), jnp.clip(x, 1.0, 1.0))\n",
        ),
    ),
    "NNX632": Cases(
        bad=(
            _R2,
            _SHARES,
            _F1,
            "def r2(ss_res, ss_tot):\n    return 1 - ss_tot / ss_res  # NNX632\nprint(r2(1.0, 2.0))\n",
        ),
        clean=(
            _right(_R2, ("y - y.mean()", "y - predicted"), ("(y - predicted) ** 2) + 1", "(y - y.mean()) ** 2) + 1")),
            _right(_SHARES, ("(tp + fn)", "(tp + f_)"), ("(tp + fp)", "(tp + fn)"), ("(tp + f_)", "(tp + fp)")),
            _right(_F1, ("f1 = precision", "f1 = 2 * precision")),
            _right(_F1, ("return f1", "return 2 * f1")),
            "def r2(ss_res, ss_tot):\n    return 1 - ss_res / ss_tot\nprint(r2(1.0, 2.0))\n",
            "def gain(y, one, other):\n    return 1 - jnp.sum((y - one) ** 2) / jnp.sum((y - other) ** 2)\n"
            "print(gain(x, x + 1, x + 2))\n",
        ),
    ),
    "NNX633": Cases(
        bad=(_ACT, _PYTHON, _COND),
        clean=(
            _right(_ACT, ("greedy, any_action)", "any_action, greedy)")),
            _right(_ACT, ("< epsilon", "> epsilon")),
            _right(_PYTHON, ("< eps", "> eps")),
            _right(_COND, ("> eps", "< eps")),
            _right(_ACT, ("    greedy =", "    keep_eps = 1 - epsilon\n    greedy ="), ("< epsilon", "< keep_eps")),
        ),
    ),
    "NNX634": Cases(
        bad=(
            _BUFFER,
            _BUFFER.replace("randint(0, self.capacity, size=count)", "choice(self.capacity, count)"),
            _BUFFER.replace(
                "np.random.randint(0, self.capacity, size=count)", "jax.random.randint(key, (count,), 0, self.capacity)"
            ),
        ),
        clean=(
            _right(_BUFFER, ("randint(0, self.capacity", "randint(0, self.size")),
            _right(
                _BUFFER, ("        places =", "        assert self.size == self.capacity or count\n        places =")
            ),
            _right(
                _BUFFER, ("    def sample", "    def is_full(self):\n        return self.size == 8\n    def sample")
            ),
            _right(_BUFFER, ("min(self.size + 1, self.capacity)", "self.size + 1")),
        ),
    ),
    "NNX635": Cases(
        bad=(
            _LABELS,
            _LABELS.replace("* (1 - share) + share", "* 0.9 + 0.1"),
            _LABELS.replace(
                "jax.nn.one_hot(labels, 4) * (1 - share) + share", "share + (1 - share) * jnp.eye(4)[labels]"
            ),
        ),
        clean=(
            _right(_LABELS, ("+ share", "+ share / 4")),
            _right(_LABELS, ("* (1 - share) + share", "* 0.9 + 0.025")),
            _right(_LABELS, ("jax.nn.one_hot(labels, 4)", "labels")),
            _right(_LABELS, ("+ share", "+ share * jnp.ones(4) / 4")),
        ),
    ),
    "NNX636": Cases(
        bad=(
            _NORM,
            _FACTOR,
            _FACTOR.replace("g * jnp.minimum(1.0, size / limit)", "g / jnp.minimum(1.0, size / limit)"),
        ),
        clean=(
            _right(_NORM, ("jnp.maximum", "jnp.minimum")),
            _right(_FACTOR, ("size / limit", "limit / size")),
            _right(_FACTOR, ("g * jnp.minimum", "g / jnp.maximum")),
            _right(_NORM, ("max_norm / norm", "norm / max_norm"), ("g * scale", "g / scale")),
        ),
    ),
    "NNX637": Cases(
        bad=(
            _MEAN,
            _MEAN.replace(
                "for i, batch in enumerate(batches):", "for i in range(len(batches)):\n        batch = batches[i]"
            ),
            _MEAN.replace("    return total / i  # NNX637", "    total /= i  # NNX637\n    return total"),
        ),
        clean=(
            _right(_MEAN, ("total / i", "total / (i + 1)")),
            _right(_MEAN, ("total / i", "total / len(batches)")),
            _right(_MEAN, ("enumerate(batches)", "enumerate(batches, 1)")),
            _right(_MEAN, ("        total +=", "        i += 1\n        total +=")),
            _right(_MEAN, ("        total +=", "        if i == 0:\n            continue\n        total +=")),
        ),
    ),
    "NNX638": Cases(
        bad=(
            _WAVES,
            _POWERS,
            _WAVES.replace("jnp.arange(0, width, 2) * (jnp.log", "2 * jnp.arange(width // 2) * (np.log"),
        ),
        clean=(
            _right(_WAVES, ("exp(jnp.arange", "exp(-jnp.arange")),
            _right(_WAVES, ("positions * rates", "positions / rates")),
            _right(_WAVES, ("(jnp.log(10000.0) / width)", "(-jnp.log(10000.0) / width)")),
            _right(_POWERS, ("10000.0 ** steps", "1 / 10000.0 ** steps")),
            _right(_POWERS, ("return jnp.sin(angles), jnp.cos(angles)", "return angles, jnp.cos(freqs)")),
        ),
    ),
    "NNX639": Cases(
        bad=(
            _TD,
            _TD.replace("gamma=0.99", "discount=0.99").replace("gamma *", "discount *"),
            _TD.replace("    chosen", "    next_q = q_net(batch['next_obs'])\n    chosen").replace(
                "q_net(batch['next_obs']).max(axis=-1))", "jnp.max(next_q, axis=-1))"
            ),
        ),
        clean=(
            _right(_TD, ("stop_gradient(q_net", "stop_gradient(target_net")),
            _right(_TD, ("q_net, target_net, batch", "q_net, batch"), ("td_loss(model, ", "td_loss(")),
            _right(_TD, ("    chosen", "    del target_net\n    chosen")),
            _right(_TD, ("target_net, ", "target_value, "), ("next_obs']).max", "obs']).max")),
        ),
    ),
    "NNX697": Cases(
        bad=(_ATTENTION, _MASKED, _ATTENTION.replace("jnp.sqrt(d)", "math.sqrt(q.shape[-1])")),
        clean=(
            _right(_ATTENTION, ("* jnp.sqrt(d)", "/ jnp.sqrt(d)")),
            _right(_ATTENTION, ("* jnp.sqrt(d)", "* d**-0.5")),
            _right(_MASKED, ("head_dim ** 0.5 *", "head_dim ** -0.5 *")),
            _right(
                _ATTENTION,
                ("    d =", "    q, k = (t / jnp.linalg.norm(t, axis=-1, keepdims=True) for t in (q, k))\n    d ="),
            ),
        ),
    ),
}
