"""NNX554: schedules by hand that have no half wave or no bound."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.patterns import pattern

_ANGLE = pattern(r"^(?!.*(pi\b|angle|theta|phi|radian)).*$")
_WARM = pattern(r"warm|ramp")
_COSINE = pattern(r"cos|anneal|sched|\blr|decay|learning_rate|cut_?off|envelope")
_RISES = "a warmup rises to 1 and stays there: the maximum is 1 to its end and grows for ever"
_WRONG = (
    Wrong(
        ("0.5*(1 + cos(S/T))", "0.5*L*(1 + cos(S/T))", "M + 0.5*(L - M)*(1 + cos(S/T))"),
        "half a wave goes from 0 to pi: without pi it ends at 0.77 of the beginning, and not at zero",
        "0.5 * (1 + cos(pi * step / total))",
        (b"cos(",),
        _COSINE,
        {"S": _ANGLE, "T": _ANGLE},
    ),
    Wrong(
        ("R**(T/S)", "L*R**(T/S)"),
        "the exponent falls with the steps: the rate rises from zero to its beginning",
        "rate ** (step / decay_steps)",
        (b"**",),
        named={
            "T": pattern(r"(decay|transition)_steps|(^|_)(every|period|interval)$"),
            "S": pattern(r"^(step|t|i|epoch|count|it|iteration)s?$"),
        },
    ),
    Wrong(
        ("maximum(1, S/W)", "maximum(S/W, 1)", "max(1, S/W)", "max(S/W, 1)"),
        _RISES,
        "minimum(1, step / warmup)",
        (b"warm", b"max"),
        named={"W": _WARM},
    ),
    Wrong(
        ("L*maximum(1, S/W)", "L*maximum(S/W, 1)", "L*max(1, S/W)", "L*max(S/W, 1)"),
        _RISES,
        "minimum(1, step / warmup)",
        (b"warm", b"max"),
        _WARM,
    ),
)


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, _WRONG)


_BAD = """\
import jax.numpy as jnp


def cosine_lr(step, total, peak):
    return 0.5 * peak * (1 + jnp.cos(step / total))
"""

RULE = lint_rule(
    "NNX554",
    "schedule-forms",
    "a schedule by hand without its half wave, or with the wrong bound",
    why="""\
The cosine schedule goes along half a wave, from 0 to pi. Without pi the rate hardly falls. A warmup is cut at 1 by a
minimum; by a maximum it begins at the whole rate and grows without end.
""",
    source="Loshchilov and Hutter, 2017; measured: rates at the last step",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("cos(step", "cos(jnp.pi * step"),),
)
