"""NNX765: the logarithm of probabilities that may be zero."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.values import Call, Item

_HOMES = ("jax.nn.", "flax.nnx.")
_BETTER = {"softmax": "log_softmax", "sigmoid": "log_sigmoid"}


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "log"):
        if name != "jax.numpy.log" or len(event.value.args) != 1 or in_test(event.scope):
            continue
        value = event.value.args[0]
        while isinstance(value, Item):
            value = value.base
        if not isinstance(value, Call):
            continue
        made = context.flow.calls.callee_name(context.flow.here(value, event.scope))
        if made.startswith(_HOMES) and last(made) in _BETTER:
            better = _BETTER[last(made)]
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the {last(made)} of a logit far below the others is zero, and its logarithm minus infinity",
                f"jax.nn.{better} computes it without that",
            )


RULE = lint_rule(
    "NNX765",
    "log-of-softmax",
    "the logarithm of a softmax or sigmoid",
    why="""\
In float32 the softmax of a logit some 100 below the largest is zero. Its logarithm is -inf, and the gradient nan, which
the optimizer writes into all weights. `jax.nn.log_softmax` and `log_sigmoid` stay finite.
""",
    source="jax discussions on losses that become nan; measured on JAX 0.6.2 and 0.10.2: inf",
    default=False,  # right for as long as no logit lies far below the others
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def nll(logits, label):
    return -jnp.log(jax.nn.softmax(logits))[label]
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def nll(logits, label):
    return -jax.nn.log_softmax(logits)[label]
""",
    ),
)
