"""NNX766: a schedule that has fewer steps than its warmup, or counts epochs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import the_number
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word

_WORD = "warmup_cosine_decay_schedule"


# where schedules take the number of their steps
_STEPS = {"linear_schedule": (2, "transition_steps"), "exponential_decay": (1, "transition_steps"),
          "polynomial_schedule": (3, "transition_steps"), "cosine_decay_schedule": (1, "decay_steps"),
          _WORD: (3, "decay_steps")}  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    yield from _epochs(context)
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


def _epochs(context: Context) -> Iterator[Finding]:
    """Yield the schedules whose steps are the epochs of a loop that updates several times in each."""
    for event, name in foreign(context, *_STEPS):
        place, word = _STEPS[last(name)]
        given = argument(event.node, place, word)
        if not name.startswith("optax.") or not isinstance(given, ast.Name | ast.Attribute):
            continue
        if "epoch" not in last_word(given).lower() or "step" in last_word(given).lower():
            continue
        if any(_updates_within(loop, given) for loop in event.scope.module.source.of_type(ast.For)):
            yield finding(
                RULE.code,
                event.scope,
                given,
                f"`{word}` counts updates, of which there are several in each epoch: the schedule ends too early",
                f"multiply it: {ast.unparse(given)} * steps_per_epoch",
            )


def _updates_within(loop: ast.For, epochs: ast.expr) -> bool:
    """Say whether a loop over epochs has another one in it that takes steps."""
    name = last_word(epochs)
    if not any(isinstance(n, ast.Name | ast.Attribute) and last_word(n) == name for n in ast.walk(loop.iter)):
        return False
    inner = [n for s in loop.body for n in ast.walk(s) if isinstance(n, ast.For | ast.While)]
    return any(
        isinstance(n, ast.Call) and any(word in last_word(n.func) for word in ("step", "update"))
        for one in inner
        for n in ast.walk(one)
    )


RULE = lint_rule(
    "NNX766",
    "schedule-steps",
    "a schedule of too few steps",
    why="""\
`decay_steps` of `optax.warmup_cosine_decay_schedule` is the length of the whole schedule, warmup included. With fewer
steps than the warmup it raises a ValueError; with as many as were meant for the decay alone it ends too early. Steps
are updates: a schedule of as many steps as there are epochs is over in the first one.
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
