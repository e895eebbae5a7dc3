"""Examples that are held out in a drawn order, beside the others in their old one; part of NNX971."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.around import around
from codemods.nnx.lint.half_shuffled import changed, indexed_by, read_orders
from codemods.nnx.lint.places import written


def half_split(context: Context, event: CallEvent) -> Iterator[tuple[ast.Subscript, ast.Subscript]]:
    """Yield one part of an array in a drawn order with the other part of it in none.

    So are ``x[order[:n]]`` and ``x[n:]``, of which the second also holds most rows of the first.

    Args:
        context: the analysis.
        event: the call that draws the order.
    """
    scope, reads = event.scope, read_orders(context, event)
    if not reads:
        return
    above = around(context, scope)
    parts = [part for one in reads for part in indexed_by(context, scope, above, one)]
    parts += [part for one in reads for part in _cut_later(above, one)]
    for part, cut in parts:
        whole = part.value.value if isinstance(part.value, ast.Subscript) else part.value
        text = ast.unparse(whole)
        if not isinstance(whole, ast.Name | ast.Attribute) or changed(context, scope, text):
            continue
        for other in context.bodies.nodes(scope):
            if (
                isinstance(other, ast.Subscript)
                and isinstance(other.ctx, ast.Load)
                and isinstance(other.slice, ast.Slice)
                and _rest(cut, other.slice)
                and not _of_one_part(context, event, cut)
                and ast.unparse(other.value) == text
            ):
                yield part, other


def _cut_later(above: dict[ast.AST, ast.AST], order: ast.Name) -> Iterator[tuple[ast.Subscript, ast.Slice]]:
    """Yield ``x[order][:n]`` with its slice."""
    whole = above.get(order)
    part = above.get(whole) if isinstance(whole, ast.Subscript) and whole.slice is order else None
    if isinstance(part, ast.Subscript) and part.value is whole and isinstance(part.slice, ast.Slice):
        yield part, part.slice


def _of_one_part(context: Context, event: CallEvent, cut: ast.Slice) -> bool:
    """Say whether the order is one of the rows up to the cut, or from it on, alone: ``permutation(key, n)``."""
    end = cut.upper or cut.lower
    numbers = [ast.unparse(end), ast.unparse(written(context, end, event.scope))] if end is not None else []
    drawn = [written(context, one, event.scope) for one in event.node.args]
    parts = {
        ast.unparse(part) for one in (*event.node.args, *drawn) for part in ast.walk(one) if isinstance(part, ast.expr)
    }
    return not parts.isdisjoint(numbers)


def _rest(one: ast.Slice, other: ast.Slice) -> bool:
    """Say whether one slice begins where another one ends, and both go to the ends: ``:n`` and ``n:``."""
    if one.step is not None or other.step is not None:
        return False
    for first, second in ((one, other), (other, one)):
        if first.lower is None and first.upper is not None and second.upper is None and second.lower is not None:
            return ast.unparse(first.upper) == ast.unparse(second.lower)
    return False
