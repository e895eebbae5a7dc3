"""Streams that every step of a training begins anew with the same key; part of NNX970."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.captured_key import SEEDING
from codemods.nnx.lint.keys import SAME
from codemods.nnx.lint.places import in_test, passed
from codemods.nnx.lint.syntax import inside
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Param, Value

#: Names of nnx.reseed's own, which are no streams.
OPTIONS = frozenset({"policy", "graph"})
_STEPPING = frozenset({"update", "apply_updates", "apply_gradients"})


def reseeded_alike(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls of ``nnx.reseed`` that give each step the keys of the one before.

    Args:
        context: the analysis.

    Yields:
        The call, and what is wrong.
    """
    for event in context.bodies.named("reseed"):
        scope, streams = event.scope, [one for one in event.value.keywords if one[0] not in OPTIONS]
        if scope.module not in context.asked or in_test(scope) or not streams or event.value.starred:
            continue
        if context.flow.calls.name(event) != "flax.nnx.reseed" or SAME.search(ast.unparse(event.statement)):
            continue
        values = [value for name, value in streams if name is not None]
        if len(values) != len(streams) or not _in_every_step(context, event, values):
            continue
        names = " and ".join(f"`{name}`" for name, _ in streams)
        yield event, f"{names} begins anew with the same key in every step: all steps draw the same numbers"


def _in_every_step(context: Context, event: CallEvent, values: list[Value]) -> bool:
    """Say whether each round of a training loop makes a call, itself or by the step that it calls, with equal keys."""
    loop = _training(context, event)
    if loop is not None:
        nodes = [word.value for word in event.node.keywords if word.arg not in OPTIONS]
        return all(_fixed(context, n, v, event.scope, loop) for n, v in zip(nodes, values, strict=True))
    function = event.scope.function
    if function is None or event.loops or event.statement not in getattr(function.node, "body", ()):
        return False
    if not _steps(function.node):
        return False
    callers = context.flow.sites.callers(function)
    loops = [_training(context, caller, itself=True) for caller in callers]
    if not callers or not all(loops):
        return False
    return all(
        _number(context, value, event.scope)
        or (
            isinstance(value, Param)
            and value.function is function
            and all(_given_alike(context, one, value) for one in callers)
        )
        for value in values
    )


def _given_alike(context: Context, caller: CallEvent, param: Param) -> bool:
    """Say whether a caller in a loop gives a parameter what it gave in the round before."""
    value, loop = passed(caller, param), _training(context, caller, itself=True)
    given = [*caller.node.args, *(word.value for word in caller.node.keywords)]
    node = next((n for n in given if caller.scope.module.values.get(n) is value), None)
    if value is None or node is None or loop is None or SAME.search(ast.unparse(node)):
        return False
    return _fixed(context, node, value, caller.scope, loop)


def _training(context: Context, event: CallEvent, *, itself: bool = False) -> ast.For | ast.While | None:
    """Return the loop in whose every round a call stands, and that takes its steps in the round itself.

    Args:
        context: the analysis.
        event: the call.
        itself: whether the call takes the step.
    """
    loop = event.loops[-1] if event.loops else None
    if not isinstance(loop, ast.For | ast.While) or not any(inside(event.node, one) for one in loop.body):
        return None
    if itself:
        return loop
    if event.statement not in loop.body:
        return None
    if _steps(*(one for one in loop.body if not isinstance(one, ast.For | ast.While))):
        return loop
    for other in context.bodies.calls.get(event.scope, ()):
        if other is not event and other.loops == event.loops:
            called = context.flow.calls.invoked(context.flow.here(other.value, other.scope))
            if any(_steps(callee.function.node) for callee, _ in called):
                return loop
    return None


def _steps(*nodes: ast.AST) -> bool:
    """Say whether code takes gradients and makes a step with them."""
    words = {last_word(n.func) for node in nodes for n in ast.walk(node) if isinstance(n, ast.Call)}
    return bool(words & _STEPPING) and bool(words & {"grad", "value_and_grad"})


def _number(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value is a number, or a key that is made of one."""
    if isinstance(value, Call) and len(value.given) == 1 and not value.starred:
        made = context.flow.calls.callee_name(context.flow.here(value, scope))
        return made in SEEDING and isinstance(value.given[0], Const)
    return isinstance(value, Const)


def _fixed(context: Context, node: ast.expr, value: Value, scope: Scope, loop: ast.For | ast.While) -> bool:
    """Say whether an expression is the same in every round of a loop: a number, or a variable bound before it."""
    if _number(context, value, scope):
        return True
    if not isinstance(node, ast.Name):
        return False
    return not any(
        isinstance(n, ast.Name) and n.id == node.id and not isinstance(n.ctx, ast.Load) for n in ast.walk(loop)
    )
