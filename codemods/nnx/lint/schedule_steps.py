"""NNX766: a schedule that has fewer steps than its warmup."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.numbers import the_number
from codemods.nnx.lint.places import foreign

_WORD = "warmup_cosine_decay_schedule"


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, _WORD):
        if not name.startswith("optax.") or event.value.starred or context.bodies.guarded(event.node, event.scope):
            continue
        warmup = the_number(context, event.value.argument(2, "warmup_steps"), event.scope)
        steps = the_number(context, event.value.argument(3, "decay_steps"), event.scope)
        if warmup is not None and steps is not None and steps <= warmup:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"decay_steps counts the warmup: of {steps:g} steps {warmup:g} are warmup, and none is left",
                "give all steps together: decay_steps=warmup_steps + ...",
            )


RULE = lint_rule(
    "NNX766",
    "schedule-steps",
    "a schedule whose warmup is longer than all of it",
    why="""\
`decay_steps` of `optax.warmup_cosine_decay_schedule` is the length of the whole schedule, warmup included. With fewer
steps than the warmup it raises a ValueError; with as many as were meant for the decay alone it ends too early.
""",
    source="optax documentation of warmup_cosine_decay_schedule; measured on Flax 0.10.7 and 0.12.8: ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
import optax

schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, warmup_steps=1000, decay_steps=500)
""",
    ),
    clean=(
        """\
import optax

schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, warmup_steps=1000, decay_steps=1500)
""",
    ),
)
