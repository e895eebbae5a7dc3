"""Examples in a drawn order beside labels in their old one; part of NNX971."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.places import target_of


def half_shuffled(
    context: Context, event: CallEvent, belong: Callable[[str, str], bool]
) -> Iterator[tuple[ast.Subscript, ast.Subscript]]:
    """Yield parts of an array in a drawn order beside the same parts of the labels, which are in none.

    So are ``x[order[i : i + n]]`` and ``y[i : i + n]``.

    Args:
        context: the analysis.
        event: the call that draws the order.
        belong: says of two names whether one is that of examples and the other that of their labels.
    """
    scope, reads = event.scope, read_orders(context, event)
    if not reads:
        return
    above = around(context, scope)
    shuffled = [part for one in reads for part in indexed_by(context, scope, above, one)]
    arrays = {ast.unparse(part.value) for part, _ in shuffled}
    for part, cut in shuffled:
        text = ast.unparse(cut)
        for other in context.bodies.nodes(scope):
            plain = isinstance(other, ast.Subscript) and isinstance(other.slice, ast.Slice)
            if not plain or not isinstance(other, ast.Subscript) or ast.unparse(other.slice) != text:
                continue
            labels = ast.unparse(other.value)
            kept = isinstance(other.value, ast.Name | ast.Attribute) and isinstance(other.ctx, ast.Load)
            if kept and labels not in arrays and belong(ast.unparse(part.value), labels):
                if not changed(context, scope, labels) and _near(above, part, other):
                    yield part, other


def read_orders(context: Context, event: CallEvent) -> list[ast.Name]:
    """Return where the order is read that a call draws; nothing if it has no name.

    Args:
        context: the analysis.
        event: the call.
    """
    name = target_of(event)
    return context.bodies.reads(event.scope, name.id) if isinstance(name, ast.Name) else []


def indexed_by(
    context: Context, scope: Scope, above: dict[ast.AST, ast.AST], order: ast.Name
) -> Iterator[tuple[ast.Subscript, ast.Slice]]:
    """Yield the arrays that are indexed with a slice of an order, and the slice; also where that has a name.

    Args:
        context: the analysis.
        scope: the body.
        above: what is around each node of it.
        order: where the order is read.
    """
    cut = above.get(order)
    if not isinstance(cut, ast.Subscript) or cut.value is not order or not isinstance(cut.slice, ast.Slice):
        return
    whole = above.get(cut)
    if isinstance(whole, ast.Subscript) and whole.slice is cut:
        yield whole, cut.slice
    if isinstance(whole, ast.Assign) and len(whole.targets) == 1 and isinstance(whole.targets[0], ast.Name):
        for one in context.bodies.reads(scope, whole.targets[0].id):
            part = above.get(one)
            if isinstance(part, ast.Subscript) and part.slice is one:
                yield part, cut.slice


def changed(context: Context, scope: Scope, array: str) -> bool:
    """Say whether a body gives an array another value, such as the labels in the drawn order.

    Args:
        context: the analysis.
        scope: the body.
        array: the array, as it is written.
    """
    root = array.partition(".")[0]
    if root == array:
        return bool(context.bodies.stores(scope, array))
    stores = (n for n in context.bodies.nodes(scope) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return any(ast.unparse(one) == array for one in stores)


def _near(above: dict[ast.AST, ast.AST], one: ast.AST, other: ast.AST) -> bool:
    """Say whether two expressions stand in the same block."""
    return _block(above, one) is _block(above, other)


def _block(above: dict[ast.AST, ast.AST], node: ast.AST) -> ast.AST | None:
    while node in above and not isinstance(node, ast.stmt):
        node = above[node]
    return above.get(node)
