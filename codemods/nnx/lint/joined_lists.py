"""Sums of gradients that are lists, which ``+`` puts one behind the other; part of NNX839."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import other_term
from codemods.nnx.optimizer.gradients import gradient
from codemods.nnx.values import Changed, Comprehension, Loop, Sequence, Value


def joined_lists(context: Context) -> Iterator[tuple[Scope, ast.stmt, str]]:
    """Yield the statements that add gradients to a sum of them, where both are lists, with the name of the sum.

    Args:
        context: the analysis.
    """
    for scope, node in each(context, ast.Assign, ast.AugAssign):
        if not scope.module.source.mentions(b"grad") or in_test(scope):
            continue
        parts = _added(node) if isinstance(node, ast.Assign | ast.AugAssign) else None
        if parts is None:
            continue
        total, grads = parts
        if _list_gradient(context, scope, grads) and not _collected(context, scope, total.id):
            yield scope, node, total.id


def _added(node: ast.Assign | ast.AugAssign) -> tuple[ast.Name, ast.expr] | None:
    """Return the variable that something is added to, and what that is."""
    if isinstance(node, ast.AugAssign):
        return (node.target, node.value) if isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name) else None
    target, value = node.targets[0], node.value
    if isinstance(value, ast.IfExp):
        value = value.orelse if isinstance(value.orelse, ast.BinOp) else value.body
    other = other_term(value, target.id) if isinstance(target, ast.Name) else None
    return (target, other) if isinstance(target, ast.Name) and other is not None else None


def _list_gradient(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether an expression is the gradient with respect to a list."""
    value, flow = scope.module.values.get(node), context.flow
    found = gradient(flow, flow.here(value, scope)) if value is not None else None
    if found is None or not isinstance(found.node, ast.expr):
        return False
    whole = scope.module.values.get(found.node)
    sources = context.sources.originals(flow.here(whole, scope)) if whole is not None else ()
    return bool(sources) and all(_is_list(source) for source in sources)


def _is_list(source: Bound) -> bool:
    value: Value = source.value
    while isinstance(value, Loop | Changed):
        value = value.before
    if isinstance(value, Comprehension):
        return value.key is None
    return isinstance(value, Sequence) and isinstance(value.node, ast.List)


def _collected(context: Context, scope: Scope, name: str) -> bool:
    """Say whether a variable begins as a list that is written, to which the gradients of several are appended."""
    if scope.function is not None and name in scope.function.params:
        return True
    bound = (context.flow.resolve(context.flow.here(one, scope)).value for one in scope.bindings.get(name, ()))
    return any(isinstance(value, Sequence | Comprehension) for value in bound)
