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

CASES = {
    "NNX923": Cases(
        bad=(
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
        ),
        clean=(
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
        ),
        clean=(
            _DISTILLED,
            _DISTILLED.replace("nnx.log_softmax(student(v) / 2.0)", "jnp.log(nnx.softmax(student(v) / 2.0) + 1e-8)"),
            _DISTILLED.replace("jax.nn.softmax(teacher", "nnx.log_softmax(teacher").replace(
                "kl_divergence", "kl_divergence_with_log_targets"
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
        ),
    ),
}
