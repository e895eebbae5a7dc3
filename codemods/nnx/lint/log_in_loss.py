"""NNX988: the logarithm of probabilities in what is differentiated."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.log_of_softmax import better, differentiated, logarithms, normalizers, vanishing


def _check(context: Context) -> Iterator[Finding]:
    for event, word in context.shared(logarithms):
        if event.node in context.shared(differentiated):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{vanishing(word)}: the loss is infinite then, and its gradient NaN",
                f"{better(word)} of the logits stays finite",
            )
    for event in context.shared(normalizers):
        if event.node in context.shared(differentiated):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the exponential of a logit above 88 is infinite: the loss is infinite then, and its gradient NaN",
                "jax.nn.log_softmax of the logits stays finite, and so does jax.nn.logsumexp",
            )


RULE = lint_rule(
    "NNX988",
    "log-in-loss",
    "the logarithm of a softmax or sigmoid in a loss that is differentiated",
    why="""\
In float32 the softmax of a logit some 100 below the largest is zero, and so is the sigmoid of such a logit. The
logarithm is -inf and the gradient NaN, which the optimizer writes into all parameters: from then on nothing but NaN is
computed. `jax.nn.log_softmax`, `jax.nn.log_sigmoid` and the losses of optax that take logits stay finite.
""",
    source="jax issue 1052 and discussions on losses that become NaN; measured on JAX 0.6.2 and 0.10.2: NaN",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def loss_fn(w, x, label):
    return -jnp.log(jax.nn.softmax(x @ w))[label]


grad_fn = jax.grad(loss_fn)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def loss_fn(w, x, label):
    return -jax.nn.log_softmax(x @ w)[label]


grad_fn = jax.grad(loss_fn)
""",
    ),
)
