"""Where a program lets an average begin as the weights themselves; part of NNX947."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import position
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Param, Value

_COPYING = frozenset({"copy", "array", "asarray"})
_DEPTH = 4


def average_begun(context: Context, average: Value, event: CallEvent) -> tuple[Scope, ast.expr] | None:
    """Return the expression ``params`` of ``ema = params``, or its copy, by which an average begins; None if unknown.

    Args:
        context: the analysis.
        average: the average that is moved.
        event: the call that moves it.
    """
    scope, place = event.scope, _node(event, average)
    for _ in range(_DEPTH):
        if place is None:
            return None
        value = scope.module.values.get(place)
        if not isinstance(value, Param) or value.function is not scope.function:
            break
        callers = [one for one in context.flow.sites.callers(value.function) if one.scope is not scope]
        if len(callers) != 1 or callers[0].value.starred:
            return None
        scope, place = callers[0].scope, argument(callers[0].node, position(value), value.name)
    if not isinstance(place, ast.Name):
        return None
    begun = [
        one.value
        for one in context.bodies.nodes(scope)
        if isinstance(one, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == place.id for target in one.targets)
        and _of_others(context, one.value, scope)
    ]
    return (scope, begun[0]) if len(begun) == 1 else None


def _node(event: CallEvent, average: Value) -> ast.expr | None:
    """Return the argument of a call that is the average."""
    given = [*event.node.args, *(word.value for word in event.node.keywords)]
    return next((one for one in given if event.scope.module.values.get(one) is average), None)


def _of_others(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is other weights as they are, or a copy of them."""
    if isinstance(node, ast.Name | ast.Attribute):
        return True
    value = scope.module.values.get(node)
    if not isinstance(node, ast.Call) or not isinstance(value, Call) or len(node.args) != 2 or value.starred:
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    return name in TREE_MAPS and last_word(node.args[0]) in _COPYING
