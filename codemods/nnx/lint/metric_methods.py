"""Methods of metrics that are named and not called; part of NNX893."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent
from codemods.nnx.lint.places import in_test, is_metric

_METHODS = frozenset({"compute", "reset", "update"})
_READING = frozenset({"items", "keys", "values", "get", "item"})


def uncalled_methods(context: Context) -> Iterator[tuple[AttrEvent, str]]:
    """Yield where a method of a metric is taken for its result, or stands alone as a statement, with its name.

    Args:
        context: the analysis.
    """
    for module in context.asked.modules:
        if not module.source.mentions(b"etric") or not module.source.mentions(b"nnx"):
            continue
        called = {event.node.func for event in module.calls}
        for event in module.attributes:
            word = event.node.attr
            if word not in _METHODS or event.context != "load" or event.node in called or in_test(event.scope):
                continue
            if not is_metric(context, event.base, event.scope) or context.bodies.guarded(event.node, event.scope):
                continue
            if _alone(event) or (word == "compute" and _read(context, event)):
                yield event, word


def _alone(event: AttrEvent) -> bool:
    """Say whether a method stands alone as a statement."""
    return isinstance(event.statement, ast.Expr) and event.statement.value is event.node


def _read(context: Context, event: AttrEvent) -> bool:
    """Say whether a method, or the variable that gets it alone, is read like a result."""
    statement = event.statement
    if any(_taken(node, event.node) for node in ast.walk(statement)):
        return True
    if not isinstance(statement, ast.Assign) or statement.value is not event.node:
        return False
    method = event.scope.module.values.get(event.node)
    names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return any(
        _taken(node, name)
        for node in context.bodies.nodes(event.scope)
        for name in ast.iter_child_nodes(node)
        if isinstance(name, ast.Name) and name.id in names and event.scope.module.values.get(name) == method
    )


def _taken(node: ast.AST, method: ast.expr) -> bool:
    """Say whether a node asks an expression for an entry, goes through it, computes with it or shows it."""
    if isinstance(node, ast.Subscript | ast.FormattedValue):
        return node.value is method
    if isinstance(node, ast.Attribute):
        return node.value is method and node.attr in _READING
    if isinstance(node, ast.For):
        return node.iter is method
    return isinstance(node, ast.BinOp) and method in (node.left, node.right)
