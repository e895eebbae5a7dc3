"""States that a step returns and its caller never takes; part of NNX811."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import compiled_roots, in_test, kinds_of, shown
from codemods.nnx.values import Sequence


def dropped_states(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls in loops that begin every round with the state of the first one."""
    for root in compiled_roots(context):
        if root.transform != "jax.jit" or in_test(root.scope):
            continue
        place = _trained_state(context, root.function)
        if place is None:
            continue
        for event in context.traced.calls_of(root):
            loop = next((one for one in reversed(event.loops) if isinstance(one, ast.For | ast.While)), None)
            if loop is None or event.scope.module not in context.asked or in_test(event.scope):
                continue
            target = _target(event, place)
            if target is None or _read(context, event, target):
                continue
            yield (
                event,
                f"the state that {shown(root.function)} returns is never taken: every round begins with the first one",
                "bind it to the name that the next round gives: state, ... = step(graphdef, state, ...)",
            )


def _trained_state(context: Context, function: FunctionFacts) -> int | None:
    """Return where the state of trained objects stands in what a function returns; -1 if it is all of it."""
    if len(function.returns) != 1:
        return None
    merges = trains = False
    for event in context.bodies.calls.get(function.scope, ()):
        merges |= context.flow.calls.name(event) == "flax.nnx.merge"
        trains |= isinstance(event.node.func, ast.Attribute) and event.node.func.attr == "update" and not event.used
    if not merges or not trains:
        return None
    returned = function.returns[0]
    parts = returned.items if isinstance(returned, Sequence) else (returned,)
    places = [i for i, part in enumerate(parts) if kinds_of(context, part, function.scope) == {Kind.STATE}]
    if len(places) != 1:
        return None
    return places[0] if isinstance(returned, Sequence) else -1


def _target(event: CallEvent, place: int) -> str | None:
    """Return the variable that gets the state; empty if nothing does, None if that cannot be seen."""
    statement = event.statement
    if isinstance(statement, ast.Expr) and statement.value is event.node:
        return ""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if isinstance(statement.value, ast.Subscript) and statement.value.value is event.node:
        index = statement.value.slice
        other = isinstance(index, ast.Constant) and type(index.value) is int and index.value >= 0
        return "" if other and isinstance(index, ast.Constant) and index.value != place and place >= 0 else None
    if statement.value is not event.node:
        return None
    if place >= 0:
        if not isinstance(target, ast.Tuple) or place >= len(target.elts):
            return None
        if any(isinstance(one, ast.Starred) for one in target.elts):
            return None
        target = target.elts[place]
    return target.id if isinstance(target, ast.Name) else None


def _read(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether a variable is read anywhere, or belongs to more than this body."""
    if not name:
        return False
    scope = event.scope
    if name in scope.globals or (scope.function is None and not name.startswith("_")):
        return True
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in ast.walk(scope.node)
    )
