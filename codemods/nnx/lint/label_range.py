"""Between which whole numbers labels lie, where an array of them is drawn, counted or written."""

from __future__ import annotations

import ast
from collections.abc import Sequence as Several
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.numbers import the_number
from codemods.nnx.lint.origins import originals_that
from codemods.nnx.lint.syntax import argument, constant, keyword
from codemods.nnx.values import Attr, Call, Const, Item, Sequence, Unknown, Value

_LISTED = frozenset({"jax.numpy.array", "jax.numpy.asarray", "numpy.array", "numpy.asarray"})
_COUNTED = frozenset({"jax.numpy.arange", "numpy.arange"})
_GENERATORS = frozenset({"numpy.random.default_rng", "numpy.random.RandomState"})
# what gives the same numbers again, in another shape, type or order
_SAME = frozenset(
    [f"{home}.{word}" for home in ("jax.numpy", "numpy")
     for word in ("asarray", "array", "repeat", "tile", "ravel", "reshape", "expand_dims", "sort", "copy", "int32")]
    + ["jax.device_put"]
)  # fmt: skip
_SAME_METHODS = frozenset({"astype", "ravel", "reshape", "flatten", "copy", "squeeze", "repeat"})
_ORDERS = frozenset({"permutation", "choice", "randint", "integers"})  # what draws the places of a batch
_DEPTH = 8


class LabelRange(NamedTuple):
    """What labels may be.

    Attributes:
        smallest: the smallest one, on the way where it is the smallest.
        largest: the largest one, on the way where that is the smallest.
        drawn: whether they are drawn, so that any part of them may hold each.
        counted: whether they may be counted up, as the places of rows are.
        made: the arrays that they are, before and after each step.
    """

    smallest: int
    largest: int
    drawn: bool
    counted: bool = False
    made: tuple[Value, ...] = ()


def label_range(context: Context, bound: Bound, depth: int = 0) -> LabelRange | None:
    """Return between which numbers labels lie; None if one way to make them is not known.

    Args:
        context: the analysis.
        bound: the labels.
        depth: how many values these were followed from.
    """
    if depth > _DEPTH:
        return None
    found = []
    for source in originals_that(context, bound, lambda value: isinstance(value, Call | Unknown | Item | Indexed)):
        one = _made(context, source, depth)
        if one is None:
            return None
        found.append(one._replace(made=(*one.made, source.value)))
    if not found:
        return None
    return LabelRange(
        min(one.smallest for one in found),
        min(one.largest for one in found),
        all(one.drawn for one in found),
        any(one.counted for one in found),
        tuple(value for one in found for value in one.made),
    )


def written_into(context: Context) -> frozenset[Value]:
    """Return the arrays of which single entries are set somewhere.

    Args:
        context: the analysis.
    """
    return frozenset(
        source.value
        for module in context.project.modules
        for store in module.item_stores
        for source in context.sources.originals(context.flow.here(store.base, store.scope))
    )


def _made(context: Context, source: Bound, depth: int) -> LabelRange | None:
    value = source.value
    if isinstance(value, Unknown):
        return _shifted(context, source, value.node, depth) if isinstance(value.node, ast.BinOp) else None
    if isinstance(value, Item | Indexed):
        return _taken(context, source, value, depth)
    scope = context.bodies.home(value.node) if isinstance(value, Call) else None
    if not isinstance(value, Call) or value.starred:
        return None
    scope = scope or context.bodies.module_scope(value.node)
    if scope is None:
        return None
    name = context.flow.calls.callee_name(source)
    if not name and isinstance(value.callee, Attr):
        if value.callee.name in _SAME_METHODS:
            return label_range(context, context.flow.with_value(source, value.callee.base), depth + 1)
        name = _generated(context, source, value.callee)
    return _called(context, source, value, name, scope, depth)


def _called(
    context: Context, source: Bound, value: Call, name: str, scope: Scope, depth: int
) -> LabelRange | None:  # fmt: skip
    """Return what a function makes."""
    node = value.node
    if name == "jax.random.randint":
        return _between(context, scope, argument(node, 2, "minval"), argument(node, 3, "maxval"), drawn=True)
    if name in {"numpy.random.randint", "numpy.random.integers"}:
        lower, upper = argument(node, 0, "low"), argument(node, 1, "high")
        closed = keyword(node, "endpoint")
        if closed is not None and constant(closed) is not True:
            return None
        if upper is None:
            lower, upper = None, lower
        return _between(context, scope, lower, upper, closed=closed is not None, drawn=True)
    if name in _COUNTED and 0 < len(node.args) < 3 and not {k.arg for k in node.keywords} - {"dtype"}:
        counted = _between(context, scope, node.args[0] if len(node.args) == 2 else None, node.args[-1])
        return counted._replace(counted=True) if counted is not None else None
    if name in {"jax.random.choice", "numpy.random.choice"}:
        given = value.argument(int(name.startswith("jax.")), "a")
        if given is None or keyword(node, "p") is not None:
            return None
        followed = context.flow.follow(source, given).value
        if isinstance(followed, Sequence):
            listed = _numbers(followed)
            return LabelRange(min(listed), max(listed), True) if listed else None
        if isinstance(followed, Const):  # as many, from zero
            return LabelRange(0, followed.value - 1, True) if type(followed.value) is int else None
        inner = label_range(context, context.flow.with_value(source, given), depth + 1)
        return inner._replace(drawn=True, counted=False) if inner is not None else None
    if name == "jax.random.permutation" and len(value.args) == 2:
        return label_range(context, context.flow.with_value(source, value.args[1]), depth + 1)
    if name in _LISTED and value.args:
        numbers = _numbers(context.flow.follow(source, value.args[0]).value)
        if numbers:
            return LabelRange(min(numbers), max(numbers), False)
    if name in _SAME and value.args:
        return label_range(context, context.flow.with_value(source, value.args[0]), depth + 1)
    return None


def _between(
    context: Context,
    scope: Scope,
    lower: ast.expr | None,
    upper: ast.expr | None,
    closed: bool = False,
    drawn: bool = False,
) -> LabelRange | None:
    """Return the range from one number to another, which is not in it unless it is closed."""
    ends = [_whole(context, one, scope) if one is not None else None for one in (lower, upper)]
    first = 0 if lower is None else ends[0]
    last = ends[1]
    if first is None or last is None:
        return None
    last -= not closed
    return LabelRange(first, last, drawn) if first <= last else None


def _shifted(context: Context, source: Bound, node: ast.BinOp, depth: int) -> LabelRange | None:
    """Return the range of ``labels + 1``, ``labels - 1`` or ``number % 5``."""
    home = context.bodies.home_of(source, node)
    if home is None:
        return None
    by = _whole(context, node.right, home)
    if by is None:
        return None
    if isinstance(node.op, ast.Mod):
        inner = _part(context, source, node.left, home, depth)
        wide = inner is not None and inner.smallest >= 0 and inner.largest - inner.smallest >= by - 1
        return inner._replace(smallest=0, largest=by - 1) if wide and inner is not None and by > 0 else None
    if not isinstance(node.op, ast.Add | ast.Sub):
        return None
    inner = _part(context, source, node.left, home, depth)
    by = by if isinstance(node.op, ast.Add) else -by
    if inner is None:
        return None
    return inner._replace(smallest=inner.smallest + by, largest=inner.largest + by)


def _part(context: Context, source: Bound, node: ast.expr, home: Scope, depth: int) -> LabelRange | None:
    """Return the range of a side of an operation."""
    value = home.module.values.get(node)
    if value is None or (isinstance(value, Unknown) and value.node is node):
        return _shifted(context, source, node, depth + 1) if isinstance(node, ast.BinOp) and depth < _DEPTH else None
    return label_range(context, context.flow.with_value(source, value), depth + 1)


def _taken(context: Context, source: Bound, value: Item | Indexed, depth: int) -> LabelRange | None:
    """Return the range of what is taken of labels: all of them, or a part of drawn ones that no mask chooses."""
    index = value.index if isinstance(value, Item) else value.index.value
    whole = label_range(context, context.flow.with_value(source, value.base), depth + 1)
    if whole is None or not isinstance(index, Value):
        return None
    parts: Several[Value] = index.items if isinstance(index, Sequence) else (index,)
    for part in parts:
        if part == Const(None) or part == Const(Ellipsis):
            continue
        if isinstance(part, Unknown) and isinstance(part.node, ast.Slice):
            full = part.node.lower is None and part.node.upper is None and part.node.step is None
            if full or whole.drawn:
                continue
        elif whole.drawn and _places(context, context.flow.with_value(source, part)):
            continue
        return None
    return whole


def _places(context: Context, index: Bound, depth: int = 0) -> bool:
    """Say whether an index is an array of places, as a permutation or a part of one, and no mask."""
    sources = originals_that(context, index, lambda value: isinstance(value, Call | Item | Indexed))
    return bool(sources) and all(
        (isinstance(one.value, Call) and _word(context, one) in _ORDERS | {"arange"})
        or (
            depth < _DEPTH
            and isinstance(one.value, Item | Indexed)
            and _places(context, context.flow.with_value(one, one.value.base), depth + 1)
        )
        for one in sources
    )


def _word(context: Context, bound: Bound) -> str:
    """Return the last word of what a call calls, if it draws or counts."""
    value = bound.value
    assert isinstance(value, Call)
    name = context.flow.calls.callee_name(bound)
    if not name and isinstance(value.callee, Attr):
        name = _generated(context, bound, value.callee)
    return name.rpartition(".")[2] if name.startswith(("jax.", "numpy.")) else ""


def _generated(context: Context, source: Bound, callee: Attr) -> str:
    """Return the function of ``numpy.random`` that a method of a generator is; empty for others."""
    made = originals_that(
        context, context.flow.with_value(source, callee.base), lambda value: isinstance(value, Call)
    )  # fmt: skip
    known = bool(made) and all(context.flow.calls.callee_name(one) in _GENERATORS for one in made)
    return f"numpy.random.{callee.name}" if known else ""


def _numbers(value: Value) -> list[int] | None:
    """Return the integers of a list, or of lists in it; None if it holds anything else."""
    if isinstance(value, Const):
        return [value.value] if type(value.value) is int else None
    if not isinstance(value, Sequence) or not isinstance(value.node, ast.List | ast.Tuple):
        return None
    parts = [_numbers(one) for one in value.items]
    return None if any(part is None for part in parts) else [one for part in parts if part for one in part]


def _whole(context: Context, node: ast.expr, scope: Scope) -> int | None:
    """Return the whole number that an expression is on every way."""
    written = constant(node)
    if written is not None:
        return written if type(written) is int else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        sides = [_whole(context, one, scope) for one in (node.left, node.right)]
        if sides[0] is None or sides[1] is None:
            return None
        return sides[0] + sides[1] if isinstance(node.op, ast.Add) else sides[0] - sides[1]
    number = the_number(context, scope.module.values.get(node), scope)
    return number if type(number) is int else None
