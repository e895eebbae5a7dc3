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

CASES = {
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
