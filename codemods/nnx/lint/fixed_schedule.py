"""NNX887: a schedule that is asked once."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Call, Const, Value

_OPTIMIZERS = (
    "adam", "adamw", "sgd", "rmsprop", "lion", "adagrad", "lamb", "lars", "nadam", "nadamw", "adabelief", "radam",
    "adafactor", "adamax", "adamaxw", "noisy_sgd", "yogi", "novograd", "scale_by_learning_rate",
)  # fmt: skip
_ENDINGS = ("_schedule", "_decay")  # of what optax calls its schedules


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *_OPTIMIZERS):
        if not name.startswith("optax."):
            continue
        given = event.value.argument(0, "learning_rate")
        made = _asked(context, event, given) if given is not None else ""
        if made:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` gets one number of `{made}`: the learning rate never changes",
                "give it the schedule itself, without calling it",
            )


def _asked(context: Context, event: CallEvent, given: Value) -> str:
    """Return the schedule of optax that a value is the answer of, at a step that is a literal."""
    found = context.flow.resolve(context.flow.here(given, event.scope))
    call = found.value
    if not isinstance(call, Call) or len(call.args) != 1 or call.keywords or context.flow.calls.callee_name(found):
        return ""
    if not isinstance(context.flow.follow(found, call.args[0]).value, Const):
        return ""
    schedule = context.flow.follow(found, call.callee)
    if not isinstance(schedule.value, Call):
        return ""
    name = context.flow.calls.callee_name(schedule)
    return last(name) if name.startswith("optax.") and name.endswith((*_ENDINGS, "join_schedules")) else ""


RULE = lint_rule(
    "NNX887",
    "fixed-schedule",
    "an optimizer gets the value of a schedule at one step instead of the schedule",
    why="""\
A schedule is a function of the step, which the optimizer asks at every update. Called once, as `schedule(0)`, it is a
number, and the learning rate stays what it is: with a warm-up from zero nothing is learned at all.
""",
    source="optax documentation on schedules; measured: the learning rate stays at its first value",
    check=_check,
    bad=(
        """\
import optax

schedule = optax.cosine_decay_schedule(1e-3, 1000)
tx = optax.adam(schedule(0))
""",
    ),
    clean=(
        """\
import optax

schedule = optax.cosine_decay_schedule(1e-3, 1000)
tx = optax.adam(schedule)
print(schedule(0))
""",
    ),
)
