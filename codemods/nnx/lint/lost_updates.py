"""NNX871: what an optax transformation gives, and nobody keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const

_STATELESS = frozenset({"optax.sgd", "optax.scale", "optax.identity", "optax.set_to_zero"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _unread(context)
    for event in context.bodies.unpacked:
        callee, statement = event.value.callee, event.statement
        if not isinstance(callee, Attr) or callee.name != "update" or not 2 <= len(event.value.args) <= 3:
            continue
        assert isinstance(statement, ast.Assign)
        target = statement.targets[0]
        if event.scope.module not in context.asked or in_test(event.scope):
            continue
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not _transforms(context, event, callee):
            continue
        updates, state = target.elts
        if _dropped(context, event, state) and _keeps(context, event, callee):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the new state of the optimizer is thrown away: every step starts from the first moments again",
                "keep it, and give it to the next update",
            )
            continue
        if event.scope.function is None:
            continue
        if isinstance(updates, ast.Name) and not _read(event, updates.id):
            yield finding(
                RULE.code,
                event.scope,
                updates,
                f"`{updates.id}` is never applied: the parameters stay as they are",
                "params = optax.apply_updates(params, updates)",
            )
        elif isinstance(state, ast.Name) and not _read(event, state.id) and _keeps(context, event, callee):
            yield finding(
                RULE.code,
                event.scope,
                state,
                "the new state of the optimizer is lost: every step starts from the first moments again",
                "keep it, and give it to the next update",
            )


def _unread(context: Context) -> Iterator[Finding]:
    """Yield the gradients that are computed with a loss, and never read."""
    for event in context.bodies.unpacked:
        statement = event.statement
        assert isinstance(statement, ast.Assign)
        target = statement.targets[0]
        if event.scope.module not in context.asked or event.scope.function is None or in_test(event.scope):
            continue
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(target.elts[1], ast.Name):
            continue
        grads = target.elts[1]
        if "grad" not in grads.id or grads.id.startswith("_") or _read(event, grads.id):
            continue
        calls = context.bodies.calls.get(event.scope, ())
        if not any(last_word(call.node.func) in {"update", "apply_updates"} for call in calls):
            continue  # where nothing is updated, the loss alone is wanted
        made = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee)
        name = context.flow.calls.callee_name(made) if isinstance(made.value, Call) else ""
        if name in {"jax.value_and_grad", "flax.nnx.value_and_grad"}:
            yield finding(
                RULE.code,
                event.scope,
                grads,
                f"`{grads.id}` is never used: nothing is learned from this loss",
                "give the gradients to the update; where only the loss is wanted, call the loss",
            )


def _dropped(context: Context, event: CallEvent, state: ast.expr) -> bool:
    """Say whether the new state gets a name like ``_``, and the old one is given again in the next round of a loop."""
    if not isinstance(state, ast.Name) or state.id.strip("_") or len(event.node.args) < 2:
        return False
    loop = next((one for one in event.loops if isinstance(one, ast.For | ast.While)), None)
    given = event.node.args[1]
    if loop is None or not isinstance(given, ast.Name):
        return False
    steps = any(
        isinstance(n, ast.Assign)
        and isinstance(n.value, ast.Call)
        and last_word(n.value.func) == "apply_updates"
        and n.value.args
        and ast.unparse(n.value.args[0]) in {ast.unparse(t) for t in n.targets}
        for n in ast.walk(loop)
    )
    return steps and not any(
        isinstance(n, ast.Name) and n.id in {given.id, state.id} and (n.id == state.id) is isinstance(n.ctx, ast.Load)
        for n in ast.walk(loop)
    )


def _transforms(context: Context, event: CallEvent, callee: Attr) -> bool:
    """Say whether a call updates with an optax transformation, by its kind or by what it is given."""
    kinds = kinds_of(context, callee.base, event.scope)
    if kinds:
        return kinds == {Kind.TRANSFORM}
    second = event.node.args[1]
    word = last_word(second)
    return "opt_state" in word or "optimizer_state" in word


def _read(event: CallEvent, name: str) -> bool:
    """Say whether a variable is read in the function that a call stands in, in a loop also before the call."""
    assert event.scope.function is not None
    end = event.statement.end_lineno or event.statement.lineno
    first = min((loop.lineno for loop in event.loops if isinstance(loop, ast.For | ast.While)), default=end + 1)
    arguments = set(ast.walk(event.node)) if not event.loops else set()
    return name in event.scope.globals or any(
        isinstance(n, ast.Name)
        and n.id == name
        and isinstance(n.ctx, ast.Load)
        and n not in arguments
        and n.lineno >= min(first, end + 1)
        for n in ast.walk(event.scope.function.node)
    )


def _keeps(context: Context, event: CallEvent, callee: Attr) -> bool:
    """Say whether the transformation has moments, and steps again: in a loop, compiled, or called from loops."""
    function = event.scope.function
    made = context.flow.resolve(context.flow.here(callee.base, event.scope))
    if not isinstance(made.value, Call):
        return False
    name = context.flow.calls.callee_name(made)
    momentum = made.value.keyword("momentum")
    if name in _STATELESS and (momentum is None or (isinstance(momentum, Const) and not momentum.value)):
        return False
    if any(isinstance(loop, ast.For | ast.While) for loop in event.loops):
        return True
    return function is not None and any(caller.loops for caller in context.flow.sites.callers(function))


RULE = lint_rule(
    "NNX871",
    "lost-updates",
    "the updates or the new state of an optax transformation are never used",
    why="""\
`tx.update` changes nothing: it gives the updates, which `optax.apply_updates` adds to the parameters, and a new state.
Without the first the model never learns; without the second Adam starts from its first moments in every step.
""",
    source="jax issue 2097; measured on Flax 0.10.7 and 0.12.8: weights that stay, moments that stay",
    check=_check,
    bad=(
        """\
import jax
import optax

tx = optax.adam(1e-3)


@jax.jit
def step(params, opt_state, grads):
    updates, opt_state = tx.update(grads, opt_state, params)
    return params, opt_state
""",
    ),
    clean=(
        """\
import jax
import optax

tx = optax.adam(1e-3)


@jax.jit
def step(params, opt_state, grads):
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state
""",
    ),
)
