"""NNX659: a binary cross-entropy whose two terms have different signs."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms

_WRONG = (
    Wrong(
        ("Y*log(P) - (1 - Y)*log(1 - P)",),
        "the terms of a cross-entropy have one sign: this one makes examples of the second kind less likely",
        "add them: -(y * log(p) + (1 - y) * log(1 - p))",
        (b"log(",),
    ),
)


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, _WRONG)


_BAD = """\
import jax.numpy as jnp


def loss(p, y):
    return -jnp.mean(y * jnp.log(p) - (1 - y) * jnp.log(1 - p))
"""

RULE = lint_rule(
    "NNX659",
    "entropy-sign",
    "a binary cross-entropy whose terms have different signs",
    why="""\
`-(y * log(p) + (1 - y) * log(1 - p))` is small where the label is likely, whichever of both it is. With a minus between
the terms the loss of the second kind falls without bound as its examples become less likely.
""",
    source="Bishop, Pattern Recognition and Machine Learning, equation 4.90; measured: a loss of minus infinity",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.log(p) - (1", "jnp.log(p) + (1"),),
)
