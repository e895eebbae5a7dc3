"""Neighbours on both sides of every element: one wraps round at the beginning, one stays at the end; part of NNX847."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.around import around
from codemods.nnx.lint.clamped_block import length_of, measured, origins
from codemods.nnx.lint.clamped_window import bounds_of_loop, mapped
from codemods.nnx.lint.formula import at, binary, is_number, one_source, operand
from codemods.nnx.lint.numbers import the_number
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Item, Param, Sequence, Unknown

# what keeps the indices within the array, or sets the ends afterwards
_CARED_FOR = pattern(
    r"where|mask|minimum|maximum|\bmin\(|\bmax\(|clip|%|\bmod\(|remainder|roll|wrap|pad|mode=|concat|append|select|cond\("
)
_ENDS = pattern(
    r"\.at\[\s*[\[(]*(0|-1)\b|\.at\[[^\]]*,\s*(0|-1)\b|\[1:-1\]|boundar|dirichlet|neumann|interior|ghost|halo|\bbcs?\b"
)
# what leaves the last one out afterwards, or says that it is meant to stay
_LEFT_OUT = pattern(r"\[[^\]]*:\s*-\s*\w|clamp|edge|replicat|zero.?flux|n - 1|last_")
_ARANGES = frozenset({"jax.numpy.arange"})
_DEPTH = 3


class _Neighbour(NamedTuple):
    """An element beside another one.

    Attributes:
        node: the whole expression.
        scope: its body.
        rest: the array, with the other indices.
        axis: the axis of the index.
        counter: what is counted from 0, and its end.
        by: how far the neighbour is away, below zero on the left.
    """

    node: ast.Subscript
    scope: Scope
    rest: str
    axis: int
    counter: tuple[Bound, Bound]
    by: int


def clamped_neighbours(context: Context) -> Iterator[tuple[Scope, ast.Subscript, ast.Subscript | None]]:
    """Yield where the next element of each is read that stays at the last one, with where the one before is read.

    Without one before, the whole array is known to be counted, and nothing may look as if its end were cared for.

    Args:
        context: the analysis.
    """
    if not any(m.source.mentions(b"arange") or m.source.mentions(b"fori_loop") for m in context.asked.modules):
        return
    found: dict[Scope, list[_Neighbour]] = {}
    for scope, node in each(context, ast.Subscript):
        data = scope.module.source
        if not (data.mentions(b"arange") or data.mentions(b"fori_loop")) or scope.function is None:
            continue
        if isinstance(node.ctx, ast.Load) and not in_test(scope):
            found.setdefault(scope, []).extend(_neighbours(context, node, scope))
    for scope, several in found.items():
        right = [one for one in several if one.by > 0]
        pairs = ((one, other) for one in right for other in several if _opposite(one, other))
        pair = next((two for two in pairs if _whole(context, *two)), None)
        if pair is not None and not _cared_for(scope):
            yield scope, pair[0].node, pair[1].node
        elif pair is None and right and not _cared_for(scope):
            alone = next((one for one in right if _whole(context, one, one)), None)
            if alone is not None and scope.function is not None:
                if not _LEFT_OUT.search(scope.module.source.text(scope.function.node)):
                    yield scope, alone.node, None


def _neighbours(context: Context, node: ast.Subscript, scope: Scope) -> Iterator[_Neighbour]:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for axis, part in enumerate(parts):
        if not _may_be_moved(part, scope):
            continue
        found = one_source(context, at(context, part, scope))
        moved = binary(found, ast.Add, ast.Sub) if found is not None else None
        if found is None or moved is None:
            continue
        by = the_number(context, operand(context, found, moved.right).value, scope)
        counter = _counter(context, operand(context, found, moved.left), 0)
        if not isinstance(by, int) or not by or counter is None:
            continue
        by = -by if isinstance(moved.op, ast.Sub) else by
        others = [ast.dump(one) for place, one in enumerate(parts) if place != axis]
        yield _Neighbour(node, scope, f"{ast.dump(node.value)} {others}", axis, counter, by)


def _may_be_moved(part: ast.expr, scope: Scope) -> bool:
    """Say at a glance whether an index is another one plus or minus a number, also under a name."""
    if isinstance(part, ast.Name):
        value = scope.module.values.get(part)
        if isinstance(value, Item) and isinstance(value.base, Sequence):  # right, left = i + 1, i - 1
            return True
        made = value.node if isinstance(value, Unknown) else None
        return made is not part and isinstance(made, ast.BinOp) and _may_be_moved(made, scope)
    return (
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add | ast.Sub) and isinstance(part.right, ast.Constant)
    )


def _counter(context: Context, bound: Bound, depth: int) -> tuple[Bound, Bound] | None:
    """Return what is counted from zero on, one by one, and to where."""
    if isinstance(bound.value, Param):
        looped = bounds_of_loop(context, bound.value)
        if looped is not None:
            return (bound, looped[1]) if is_number(context, looped[0], 0) else None
        given = mapped(context, bound.value)
        found = _counter(context, given, depth + 1) if given is not None and depth < _DEPTH else None
        return (bound, found[1]) if found is not None else None
    if isinstance(bound.value, Item):
        return _of_mesh(context, bound, bound.value, depth)
    found_ = one_source(context, bound)
    value = found_.value if found_ is not None else None
    if found_ is None or not isinstance(value, Call) or value.starred:
        return None
    if context.flow.calls.callee_name(found_) not in _ARANGES or not 0 < len(value.args) <= 2:
        return None
    ends = [context.flow.with_value(found_, one) for one in value.args]
    if len(ends) == 2 and not is_number(context, ends[0], 0):
        return None
    return found_, ends[-1]


def _of_mesh(context: Context, bound: Bound, value: Item, depth: int) -> tuple[Bound, Bound] | None:
    """Return what one of ``i, j = jnp.meshgrid(jnp.arange(n), jnp.arange(m))`` counts, and to where."""
    place = value.index.value if isinstance(value.index, Const) else None
    made = context.flow.resolve(context.flow.with_value(bound, value.base))
    if not isinstance(made.value, Call) or not isinstance(place, int) or depth == _DEPTH:
        return None
    if context.flow.calls.callee_name(made) != "jax.numpy.meshgrid" or not 0 <= place < len(made.value.args):
        return None
    found = _counter(context, context.flow.with_value(made, made.value.args[place]), depth + 1)
    return (bound, found[1]) if found is not None else None


def _opposite(one: _Neighbour, other: _Neighbour) -> bool:
    alike = one.rest == other.rest and one.axis == other.axis and one.counter[0] == other.counter[0]
    return alike and one.by == -other.by


def _whole(context: Context, one: _Neighbour, other: _Neighbour) -> bool:
    """Say whether an array is as long as what is counted: by its length, or since both are added up."""
    scope, array = one.scope, one.node.value
    held = at(context, array, scope)
    end = one.counter[1]
    whole = measured(context, end, one.axis)
    if whole is not None and origins(context, whole) == origins(context, held):
        return True
    number = the_number(context, end.value, scope)
    sources = origins(context, held)
    lengths = {length_of(context, source, one.axis) for source in sources if not _updated(context, source, sources)}
    if number is not None and lengths == {number}:
        return True
    above = around(context, scope)
    wanted, parts = ast.dump(array), {ast.dump(one.node), ast.dump(other.node)}
    for read in (one.node, other.node):
        holder = above.get(read)
        if isinstance(holder, ast.Assign) and len(holder.targets) == 1 and isinstance(holder.targets[0], ast.Name):
            parts.add(ast.dump(ast.Name(holder.targets[0].id, ast.Load())))
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.BinOp) and not isinstance(above.get(node), ast.BinOp | ast.UnaryOp):
            terms = {ast.dump(term) for term in _terms(node)}
            if wanted in terms and terms & parts:
                return True
    return False


def _updated(context: Context, source: Bound, sources: frozenset[Bound]) -> bool:
    """Say whether a source is the array itself with something added, as a loop does: ``u + dt * f(u)``."""
    node = source.value.node if isinstance(source.value, Unknown) else None
    if not isinstance(node, ast.BinOp):
        return False
    names = [term for term in _terms(node) if isinstance(term, ast.Name)]
    return any(origins(context, operand(context, source, name)) == sources for name in names)


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what arithmetic of numbers and arrays brings together."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        yield from _terms(node.left)
        yield from _terms(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield from _terms(node.operand)
    else:
        yield node


def _cared_for(scope: Scope) -> bool:
    """Say whether the function takes care of the ends itself, or another one of the module sets them."""
    source, function = scope.module.source, scope.function
    if function is None or _CARED_FOR.search(source.text(function.node)):
        return True
    return any(_ENDS.search(source.text(one.node)) for one in scope.module.functions)
