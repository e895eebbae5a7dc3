"""NNX887: a schedule that is asked once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ModuleFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.late_rate import late_change, unwritten_rates
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, scopes
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Value

_OPTIMIZERS = (
    "adam", "adamw", "sgd", "rmsprop", "lion", "adagrad", "lamb", "lars", "nadam", "nadamw", "adabelief", "radam",
    "adafactor", "adamax", "adamaxw", "noisy_sgd", "yogi", "novograd", "scale_by_learning_rate",
)  # fmt: skip
_SCHEDULES = (
    "cosine_decay_schedule", "exponential_decay", "linear_schedule", "constant_schedule", "polynomial_schedule",
    "piecewise_constant_schedule", "warmup_cosine_decay_schedule", "warmup_exponential_decay_schedule",
    "join_schedules", "cosine_onecycle_schedule", "linear_onecycle_schedule", "sgdr_schedule",
    "piecewise_interpolate_schedule", "warmup_constant_schedule",
)  # fmt: skip
_ENDINGS = ("_schedule", "_decay")  # of what optax calls its schedules


def _check(context: Context) -> Iterator[Finding]:
    yield from _computed_with(context)
    for scope, statement in unwritten_rates(context):
        yield finding(
            RULE.code,
            scope,
            statement,
            "this new rate is a variable of its own: the optimizer goes on with the one in `hyperparams`",
            'write it back: opt_state.hyperparams["learning_rate"] = rate, and [...] = rate for a Variable of NNX',
        )
    for event, name in foreign(context, *_OPTIMIZERS):
        if not name.startswith("optax."):
            continue
        if (change := late_change(context, event)) is not None:
            yield finding(
                RULE.code,
                event.scope,
                change,
                f"`{last(name)}` has had its number since line {event.node.lineno}: it does not learn of this one",
                "give it a schedule, or wrap it in optax.inject_hyperparams and change opt_state.hyperparams",
            )
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


def _computed_with(context: Context) -> Iterator[Finding]:
    """Yield the arithmetic with a schedule as if it were a number."""
    names: dict[ModuleFacts, set[str]] = {}
    for event in context.bodies.named(*_SCHEDULES):
        statement = event.statement
        if isinstance(statement, ast.Assign) and statement.value is event.node:
            found = {last_word(target) for target in statement.targets}
            names.setdefault(event.scope.module, set()).update(found - {""})
    for scope in scopes(context) if names else ():
        wanted = names.get(scope.module)
        for node in context.bodies.nodes(scope) if wanted else ():
            assert wanted is not None
            if not isinstance(node, ast.BinOp):
                continue
            part = next((one for one in (node.left, node.right) if last_word(one) in wanted), None)
            value = scope.module.values.get(part) if isinstance(part, ast.Name | ast.Attribute) else None
            if part is None or value is None or context.bodies.guarded(node, scope):
                continue
            made = context.flow.resolve(context.flow.here(value, scope))
            name = context.flow.calls.callee_name(made) if isinstance(made.value, Call) else ""
            if name.startswith("optax.") and last(name) in _SCHEDULES:
                text = scope.module.source.text(part)
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"`{text}` is a schedule, a function of the step, and no number",
                    f"compute with what it gives: lambda step: {text}(step) * ...",
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
    "an optimizer gets one number of a schedule, or of a rate that the program changes later",
    why="""\
A schedule is a function of the step, which the optimizer asks at every update. Called once, as `schedule(0)`, it is a
number, and the learning rate stays what it is: with a warm-up from zero nothing is learned at all. Nor does an
optimizer learn of a variable that gets another number after it was made. Arithmetic with the schedule itself raises a
TypeError.
""",
    source="optax documentation on schedules; measured: the learning rate stays at its first value",
    check=_check,
    bad=(
        """\
import optax

schedule = optax.cosine_decay_schedule(1e-3, 1000)
tx = optax.adam(schedule(0))
""",
        """\
import optax


def train(step, params, batches, rate=0.1):
    tx = optax.sgd(rate)
    state = tx.init(params)
    for batch in batches:
        params, state, loss = step(tx, params, state, batch)
        if loss > 1.0:
            rate = rate * 0.5
    return params
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
