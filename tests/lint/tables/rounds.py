"""What is the same in every round, counted over all of them, or taken of a whole batch or of the weights."""

from __future__ import annotations

import re

from tests.lint.tables import Cases

_JAX = """\
def train(w, images, epochs):
    for epoch in range(epochs):
        order = jax.random.permutation(jax.random.key(0), len(images))  # NNX561
        for start in range(0, len(images), 2):
            w = w - 0.1 * images[order[start:start + 2]].mean()
    return w
print(train(x, jnp.ones(4), 2))
"""
_NUMPY = """\
def train(w, images, num_epochs):
    for _ in range(num_epochs):
        rng = np.random.default_rng(seed=0)  # NNX561
        order = np.arange(len(images))
        rng.shuffle(order)
        for start in order:
            w = w - 0.1 * images[start]
    return w
print(train(x, np.ones(4), 2))
"""
_GLOBAL = """\
def train(w, images):
    for ep in range(2):
        np.random.seed(42)  # NNX561
        for start in np.random.permutation(len(images)):
            w = w - 0.1 * images[start]
    return w
print(train(x, np.ones(4)))
"""
_BATCHES = """\
def batches(images, size):
    order = np.random.default_rng(0).permutation(len(images))  # NNX561
    for start in range(0, len(images), size):
        yield images[order[start:start + size]]
def train(w, images, epochs):
    for epoch in range(epochs):
        for batch in batches(images, 2):
            w = w - 0.1 * batch.mean()
    return w
print(train(x, np.ones(4), 2))
"""
_FIT = """\
def fit(w, evaluate, patience=3):
    best_loss, waited = float('inf'), 0
    for epoch in range(10):
        w = w * 0.9
        loss = float(evaluate(w))
        if loss < best_loss:  # NNX562
            best_loss = loss
        else:
            waited += 1
            if waited >= patience:
                break
    return w
print(fit(x, jnp.sum))
"""
_CLASS = """\
class Stopper:
    def __init__(self, patience):
        self.patience, self.best, self.waited = patience, float('inf'), 0
    def fit(self, w):
        for epoch in range(10):
            w = w * 0.9
            loss = float(w.sum())
            if loss < self.best:  # NNX562
                self.best = loss
            else:
                self.waited = self.waited + 1
            if self.waited > self.patience:
                return w
        return w
print(Stopper(3).fit(x))
"""
_PENALTY = """\
def penalty(critic, mixed):
    grads = nnx.grad(lambda model: model(mixed).sum())(critic)  # NNX563
    return (optax.global_norm(grads) - 1) ** 2
print(penalty(model, jnp.ones((2, 3))))
"""
_SLOPES = """\
def penalty(critic, mixed):
    grads = jax.grad(lambda v: critic(v).sum())(mixed)
    norms = jnp.linalg.norm(grads)  # NNX563
    return jnp.mean((norms - 1.0) ** 2)
print(penalty(model, jnp.ones((2, 3))))
"""
_MEAN_SLOPES = """\
def penalty(critic, mixed):
    grads = jax.grad(lambda v: critic(v).mean())(mixed)  # NNX563
    norms = jnp.linalg.norm(grads, axis=-1)
    return jnp.mean((norms - 1.0) ** 2)
print(penalty(model, jnp.ones((2, 3))))
"""
_APPLIED = """\
def apply(w, v):
    return v @ w
def penalty(w, mixed):
    grads = jax.grad(lambda p: apply(p, mixed).sum())(w)  # NNX563
    norm = jnp.sqrt(jnp.sum(grads ** 2) + 1e-8)
    return jnp.square(norm - 1.0)
print(penalty(x, jnp.ones((2, 3))))
"""
_RMS = """\
def rmsprop(p, g, v):
    v = 0.9 * v + 0.1 * g  # NNX565
    return p - 1e-3 * g / (jnp.sqrt(v) + 1e-8), v
print(rmsprop(x, x, x))
"""
_ADAM = """\
def adam(p, grad, m, nu, t):
    m, nu = 0.9 * m + 0.1 * grad, 0.99 * nu + (1 - 0.99) * grad  # NNX565
    m_hat, nu_hat = m / (1 - 0.9**t), nu / (1 - 0.99**t)
    return p - 1e-3 * m_hat / (jnp.sqrt(nu_hat) + 1e-8)
print(adam(x, x, x, x, 1))
"""
_MOMENTUM = """\
def step(w, g, v, beta=0.9):
    v = beta * v + (1 - beta) * g
    return w + 0.1 * v, v  # NNX565
print(step(x, x, x))
"""
_NEXT = """\
def td_errors(rewards, values, next_values, gamma=0.9):
    return rewards + gamma * next_values - values
def loss(values, rewards):
    return jnp.mean(td_errors(rewards, values[:-1], values[:-1]) ** 2)  # NNX566
print(loss(jnp.arange(4.0), x))
"""
_CLASS_NEXT = """\
class Learner:
    def targets(self, rewards, v_tp1):
        return rewards + 0.9 * v_tp1
    def loss(self, values, rewards):
        return jnp.mean((values[:-1] - self.targets(rewards, v_tp1=values[:-1])) ** 2)  # NNX566
print(Learner().loss(jnp.arange(4.0), x))
"""
_MAPPED = """\
def corrected(m, v, beta1, beta2, t):
    first = jax.tree.map(lambda value: value / (1.0 - beta1**t), m)
    return first, jax.tree.map(lambda value: value / (1.0 - beta2**t), v)
print(corrected({"w": x}, {"w": x}, 0.9, 0.99, 2))
"""
_CORRECTED = """\
def corrected(m, v, beta1, beta2, t):
    return m / (1 - beta1**t), v / (1 - beta1**t)  # NNX565
print(corrected(x, x, 0.9, 0.99, 2))
"""
_LOGITS = """\
def contrastive(a, b):
    a = a / jnp.linalg.norm(a)  # NNX564
    b = b / jnp.linalg.norm(b)  # NNX564
    logits = a @ b.T / 0.1
    return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(len(a))).mean()
print(contrastive(jnp.ones((2, 3)), jnp.ones((2, 3))))
"""
_LIKENESS = """\
def similarity(a):
    unit = a / (jnp.linalg.norm(a) + 1e-8)  # NNX564
    return unit @ unit.T
print(similarity(jnp.ones((2, 3))))
"""


def _right(text: str, *replaced: tuple[str, str]) -> str:
    """Return a program without its marks, and with other parts."""
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return re.sub(r"  # NNX\d+", "", text)


CASES = {
    "NNX561": Cases(
        bad=(_JAX, _NUMPY, _GLOBAL, _BATCHES),
        clean=(
            _right(_JAX, ("jax.random.key(0)", "jax.random.fold_in(jax.random.key(0), epoch)")),
            _right(_JAX, ("jax.random.key(0)", "jax.random.key(epoch)")),
            _right(_NUMPY, ("seed=0", "seed=len(images)")),
            _right(_GLOBAL, ("seed(42)", "seed(ep)")),
            _right(_BATCHES, ("def batches", "def test_batches"), ("in batches", "in test_batches")),
            _right(_BATCHES, ("for epoch in range(epochs)", "for trial in range(3)")),
        ),
    ),
    "NNX562": Cases(
        bad=(_FIT, _CLASS, _FIT.replace("waited >= patience", "waited == patience")),
        clean=(
            _right(_FIT, ("            best_loss = loss\n", "            best_loss, waited = loss, 0\n")),
            _right(
                _CLASS, ("                self.best = loss\n", "                self.best, self.waited = loss, 0\n")
            ),
            _right(_FIT, ("        w = w * 0.9\n", "        w, waited = w * 0.9, 0 if epoch < 2 else waited\n")),
            _right(_FIT, ("            if waited >= patience:\n                break\n", "")),
        ),
    ),
    "NNX563": Cases(
        bad=(
            """\
def score(params, points):
    return jnp.tanh(points @ params).sum()
def penalty(params, mixed):
    slopes = jax.grad(score)(params, mixed)  # NNX563
    return (jnp.linalg.norm(slopes) - 1) ** 2
""",
            """\
def score(d_params, point):
    return jnp.tanh(point @ d_params)
def penalty(d_params, mixed):
    slopes = jax.vmap(jax.grad(score), in_axes=(None, 0))(d_params, mixed)  # NNX563
    return jnp.mean((jnp.linalg.norm(slopes, axis=-1) - 1) ** 2)
""",
            _PENALTY,
            _APPLIED,
            _PENALTY.replace("lambda model: model(mixed)", "lambda net: jnp.tanh(net(mixed))"),
            # of the whole batch
            _SLOPES,
            _SLOPES.replace("jnp.linalg.norm(grads)", "jnp.sqrt(jnp.sum(grads**2) + 1e-12)"),
            _SLOPES.replace("jnp.linalg.norm(grads)", "optax.global_norm(grads)").replace(
                "jnp.mean((norms - 1.0) ** 2)", "jnp.square(norms - 1).mean()"
            ),
            # of a mean
            _MEAN_SLOPES,
            _MEAN_SLOPES.replace("jnp.linalg.norm(grads, axis=-1)", "jnp.sqrt(jnp.sum(jnp.square(grads), axis=1))"),
            _MEAN_SLOPES.replace("jax.grad(lambda v: critic(v).mean())", "jax.grad(mean_score)").replace(
                "    grads =", "    def mean_score(v):\n        return jnp.mean(critic(v)[..., 0])\n    grads ="
            ),
        ),
        clean=(
            """\
def score(params, point):
    return jnp.tanh(point @ params)
def penalty(params, mixed):
    slopes = jax.vmap(jax.grad(score, argnums=1), in_axes=(None, 0))(params, mixed)
    return jnp.mean((jnp.linalg.norm(slopes, axis=-1) - 1) ** 2)
print(penalty(x, jnp.ones((2, 3)) / 3))
def turned(point, params):
    return jnp.tanh(point @ params)
def other(mixed, params):
    slopes = jax.vmap(jax.grad(turned), in_axes=(0, None))(mixed, params)
    return jnp.mean((jnp.linalg.norm(slopes, axis=-1) - 1) ** 2)
print(other(jnp.ones((2, 3)) / 3, x))
""",
            _right(_SLOPES, ("norm(grads)", "norm(grads, axis=-1)")),
            _right(_SLOPES, ("jnp.mean((norms - 1.0) ** 2)", "(norms - 1.0) ** 2")),  # of one sample, as far as is seen
            _right(_MEAN_SLOPES, ("(norms - 1.0) ** 2", "norms")),
            _right(_SLOPES, ("norm(grads)", "norm(grads.reshape(len(grads), -1), axis=1)")),
            _right(_MEAN_SLOPES, ("critic(v).mean()", "critic(v).sum()")),
            _right(
                _MEAN_SLOPES, ("jax.grad(lambda v: critic(v).mean())", "jax.vmap(jax.grad(lambda v: critic(v).mean()))")
            ),
            _right(_MEAN_SLOPES, ("norm(grads, axis", "norm(grads * len(mixed), axis")),
            # of one sample
            """\
def penalty(critic, one):
    slope = jax.grad(lambda v: critic(v).sum())(one)
    return jnp.mean((jnp.linalg.norm(slope) - 1.0) ** 2)
print(jax.vmap(lambda one: penalty(model, one))(jnp.ones((2, 3))).mean())
""",
            _right(
                _PENALTY,
                ("nnx.grad(lambda model: model(mixed).sum())(critic)", "jax.grad(lambda v: critic(v).sum())(mixed)"),
            ),
            _right(_APPLIED, ("lambda p: apply(p, mixed).sum())(w)", "lambda v: apply(w, v).sum())(mixed)")),
            _right(_PENALTY, ("(optax.global_norm(grads) - 1) ** 2", "optax.global_norm(grads)")),
            _right(_APPLIED, ("lambda p: apply(p, mixed).sum())(w)", "lambda v, p: apply(p, v).sum())(mixed, w)")),
        ),
    ),
    "NNX565": Cases(
        bad=(
            _RMS,
            _ADAM,
            _MOMENTUM,
            _CORRECTED,
            """\
def adam(params, grads, state):
    step = state["step"] + 1
    mu = 0.9 * state["mu"] + 0.1 * grads
    nu = 0.999 * state["nu"] + 0.001 * grads**2
    params = params - 0.1 * mu / (jnp.sqrt(nu) + 1e-8)
    return params, {"step": step, "mu": state["mu"], "nu": nu}  # NNX565
""",
        ),
        clean=(
            """\
def adam(params, grads, state):
    step = state["step"] + 1
    mu = 0.9 * state["mu"] + 0.1 * grads
    nu = 0.999 * state["nu"] + 0.001 * grads**2
    params = params - 0.1 * mu / (jnp.sqrt(nu) + 1e-8)
    return params, {"step": step, "mu": mu, "nu": nu}
print(adam(x, x, {"step": 0, "mu": 0 * x, "nu": 0 * x})[0])
""",
            """\
def tried(params, grads, state):
    mu = 0.9 * state["mu"] + 0.1 * grads
    return params - 0.1 * mu, {"mu": state["mu"]}
print(tried(x, x, {"mu": 0 * x})[0])
""",
            _right(_CORRECTED, ("v / (1 - beta1**t)", "v / (1 - beta2**t)")),
            _MAPPED,
            _MAPPED.replace("value", "v"),
            _right(_RMS, ("0.1 * g  #", "0.1 * g**2  #")),
            _right(_ADAM, ("(1 - 0.99) * grad", "(1 - 0.99) * grad * grad")),
            _right(_MOMENTUM, ("w + 0.1 * v", "w - 0.1 * v")),
            _right(_MOMENTUM, ("beta * v + (1 - beta) * g", "beta * v - (1 - beta) * g")),
            _right(_RMS, ("v = 0.9 * v + 0.1 * g", "v = 0.9 * v + 0.1 * jnp.abs(g)")),
        ),
    ),
    "NNX566": Cases(
        bad=(
            """\
def td(rewards, values, gamma=0.99):
    later = jnp.concatenate([values[1:], values[:1]])  # NNX566
    return rewards + gamma * later - values
""",
            """\
def td(rewards, values, gamma=0.99):
    later = jnp.append(values[1:], values[0])  # NNX566
    return rewards + gamma * later - values
""",
            """\
def td(rewards, values, gamma=0.99):
    return rewards + gamma * jnp.roll(values, -1) - values  # NNX566
""",
            """\
def gae(rewards, values, dones, last_value, gamma=0.99):
    next_values = jnp.roll(values, shift=-1, axis=0)  # NNX566
    return rewards + gamma * (1.0 - dones) * next_values - values, last_value
""",
            """\
class Agent:
    gamma = 0.9
    def errors(self, batch):
        later = jnp.roll(batch["values"], -1, axis=0)  # NNX566
        return batch["rewards"] + self.gamma * later - batch["values"]
""",
            _NEXT,
            _CLASS_NEXT,
            _NEXT.replace("next_values", "values_next"),
        ),
        clean=(
            """\
def td(rewards, values, last, gamma=0.99):
    later = jnp.append(values[1:], last)
    return rewards + gamma * later - values
print(td(jnp.ones(3), jnp.arange(3.0), 2.0))
""",
            """\
def td(rewards, values, last_value, gamma=0.99):
    later = jnp.concatenate([values[1:], last_value[None]])
    return rewards + gamma * later - values
print(td(jnp.ones(3), jnp.arange(3.0), jnp.array(2.0)))
""",
            """\
def td(rewards, values, last_value, gamma=0.99):
    later = jnp.roll(values, -1).at[-1].set(last_value)
    return rewards + gamma * later - values
print(td(jnp.ones(3), jnp.arange(3.0), 2.0))
""",
            """\
# the last one is left out
def td(rewards, values, gamma=0.99):
    later = jnp.roll(values, -1)
    return (rewards + gamma * later - values)[:-1]
print(td(jnp.ones(3), jnp.arange(3.0)))
""",
            """\
# episodes that end
def td(rewards, values, dones, gamma=0.99):
    later = jnp.roll(values, -1)
    return rewards + gamma * (1.0 - dones) * later - values
print(td(jnp.ones(3), jnp.arange(3.0), jnp.array([0.0, 0.0, 1.0])))
""",
            """\
# neighbours on a ring
def smooth(values, weight=0.1):
    return values + weight * (jnp.roll(values, -1) + jnp.roll(values, 1) - 2 * values)
print(smooth(jnp.arange(3.0)))
""",
            """\
# the one before
def change(values, gamma=0.99):
    return values - gamma * jnp.roll(values, 1)
print(change(jnp.arange(3.0)))
""",
            _right(_NEXT, ("values[:-1], values[:-1]", "values[:-1], values[1:]")),
            _right(_CLASS_NEXT, ("v_tp1=values[:-1]", "v_tp1=values[1:]")),
            _right(_NEXT, ("next_values", "other_values")),
            _right(_NEXT, ("values[:-1], values[:-1]", "values[:-1], jnp.flip(values)[:-1]")),
        ),
    ),
    "NNX564": Cases(
        bad=(
            """\
def unit(v):
    return v / jnp.linalg.norm(v)  # NNX564
def similarity(a, b):
    a, b = unit(a), unit(b)
    logits = 10 * a @ b.T
    return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(len(a))).mean()
""",
            _LOGITS,
            _LIKENESS,
            _LIKENESS.replace("def similarity", "def cosine_matrix"),
        ),
        clean=(
            """\
def unit(v):
    return v / jnp.linalg.norm(v)
def similarity(a, b):
    a, b = jax.vmap(unit)(a), jax.vmap(unit)(b)
    logits = 10 * a @ b.T
    return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(len(a))).mean()
print(similarity(jnp.ones((2, 3)), jnp.ones((2, 3))))
""",
            """\
def unit(v):
    return v / jnp.linalg.norm(v, axis=-1, keepdims=True)
def similarity(a, b):
    a, b = unit(a), unit(b)
    logits = 10 * a @ b.T
    return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(len(a))).mean()
print(similarity(jnp.ones((2, 3)), jnp.ones((2, 3))))
""",
            _right(
                _LOGITS,
                ("norm(a)", "norm(a, axis=-1, keepdims=True)"),
                ("norm(b)", "norm(b, axis=-1, keepdims=True)"),
            ),
            _right(_LIKENESS, ("norm(a)", "norm(a, axis=1, keepdims=True)")),
            _right(_LIKENESS, ("def similarity", "def gram"), ("print(similarity", "print(gram")),
            _right(_LIKENESS, ("unit @ unit.T", "unit.sum()")),
        ),
    ),
}
