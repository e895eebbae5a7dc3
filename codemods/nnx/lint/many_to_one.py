"""Arrays of integers of which several may be the same: bins of numbers, drawn ones and ones written twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.arrays import FLOAT, Arrays, batched
from codemods.nnx.lint.names import last
from codemods.nnx.lint.stacked import stacked
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Changed, Choice, Const, Each, Item, Loop, Param, Sequence, Unknown, Value

_SPACES = ("jax.numpy.", "numpy.")
_BINNING = frozenset({"digitize", "searchsorted", "floor_divide"})
_DTYPES = frozenset({"int32", "int64", "uint32", "int16", "int8", "uint8"})
_ROUNDING = _DTYPES | frozenset({"floor", "ceil", "round", "rint", "trunc"})
_EQUAL = frozenset({"zeros", "ones", "full"})
# functions that keep equal elements equal
_THROUGH = frozenset({"clip", "mod", "remainder", "minimum", "maximum", "asarray", "ravel", "reshape", "array",
                      "squeeze", "abs"})  # fmt: skip
_ELEMENTWISE = _ROUNDING | frozenset({"clip", "mod", "remainder", "minimum", "maximum", "abs", "sin",
                                      "cos", "exp", "sqrt", "square", "multiply", "add", "where"})  # fmt: skip
_KEEPING = frozenset({"ravel", "reshape", "flatten", "clip", "squeeze", "astype", "copy"})
# what gives each number once, or in an order that was meant, and what counts or sums by number before
_ORDERED = frozenset(
    {"arange", "linspace", "logspace", "geomspace", "iota", "broadcasted_iota", "argsort", "sort", "permutation",
     "shuffle", "unique", "nonzero", "flatnonzero", "argwhere", "top_k", "approx_max_k", "meshgrid", "mgrid", "ogrid",
     "indices", "range", "enumerate", "setdiff1d", "union1d", "intersect1d", "tril_indices", "triu_indices",
     "unravel_index", "diag_indices", "eye", "cumsum", "argpartition", "partition", "lexsort", "segment_sum", "cumprod",
     "sobol", "halton"}
)  # fmt: skip
_DEPTH = 14


def may_repeat(context: Context, bound: Bound) -> bool:
    """Say whether several elements of an array of integers may be the same, as cells of many particles may.

    Args:
        context: the analysis.
        bound: the array in its activation; of a parameter it is asked whatever the callers give.

    Returns:
        True where each source is known to give such an array. False for one whose elements are all different, and for
        all that is not known.
    """
    return _repeats(context, bound, 0)


def in_order(context: Context, bound: Bound) -> bool:
    """Say whether a value may come from numbers that are all different, or in order.

    Args:
        context: the analysis.
        bound: the value in its activation.
    """
    return _ordered(context, bound)


def has_axes(context: Context, bound: Bound) -> bool:
    """Say whether a value is an array with one axis at least, whatever is computed from it in the rounds of a loop.

    Args:
        context: the analysis.
        bound: the value in its activation.
    """
    return _Throughout(context, floats=False).of(bound) is True


class _Throughout:
    """Asks whether values have axes, or are floats; what depends on itself is so where all that it begins with is."""

    def __init__(self, context: Context, *, floats: bool) -> None:
        self._context = context
        self._floats = floats
        self._asked: set[Bound] = set()
        self._left = _MANY

    def of(self, bound: Bound) -> bool | None:
        """Return whether a value is so for certain; None where that hangs on a value that is asked about."""
        root = bound.value
        while isinstance(root, Attr | Item | Indexed):
            root = root.base
        if isinstance(root, Param) and root.function in self._context.shared(batched):
            return False
        found: bool | None = None
        for source in self._context.sources.originals(bound):
            if source in self._asked:
                continue
            self._left -= 1
            if self._left < 0:
                return False
            self._asked.add(source)
            one = self._made(source)
            self._asked.discard(source)
            if one is False:
                return False
            found = found or one
        return found

    def _made(self, source: Bound) -> bool | None:
        value = source.value
        if isinstance(value, Param):
            return False
        given: list[Bound | None] = []
        if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
            if not isinstance(value.node.op, ast.MatMult):
                given = [_side(self._context, source, side) for side in (value.node.left, value.node.right)]
        elif isinstance(value, Unknown) and isinstance(value.node, ast.UnaryOp):
            given = [_side(self._context, source, value.node.operand)]
        elif isinstance(value, Call) and not value.starred:
            name = self._context.flow.calls.callee_name(source)
            if name.startswith(_SPACES) and last(name) in _ELEMENTWISE - (_DTYPES if self._floats else frozenset()):
                given = [self._context.flow.with_value(source, one) for one in value.args]
            elif name.startswith(_SPACES) and last(name) in _BINNING and not self._floats:
                given = [self._context.flow.with_value(source, one) for one in _binned(last(name), value)]
            elif name in _LISTED and not self._floats and _lists(self._context, source, value):
                return True
            elif (
                not name
                and isinstance(value.callee, Attr)
                and value.callee.name in ("clip", "copy", "" if self._floats else "astype")
            ):
                given = [self._context.flow.with_value(source, value.callee.base)]
        ways = [self.of(one) for one in given if one is not None]
        if True in ways:
            return True
        if None in ways:
            return None
        known = Arrays(self._context, {}).of_bound(source)
        return known.number == FLOAT if self._floats else bool(known.axes)


def _repeats(context: Context, bound: Bound, depth: int) -> bool:
    sources = context.sources.originals(bound) if depth <= _DEPTH else ()
    return bool(sources) and all(_made(context, one, depth + 1) for one in sources)


def _made(context: Context, source: Bound, depth: int) -> bool:
    value = source.value
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
        left, right = (_side(context, source, side) for side in (value.node.left, value.node.right))
        if left is None or right is None:
            return False
        if isinstance(value.node.op, ast.FloorDiv):
            if _repeats(context, left, depth) and is_number(context, right):
                return True
            return not _ordered(context, left) and _from_data(context, left)
        if not isinstance(value.node.op, ast.Mod | ast.Add | ast.Sub | ast.Mult):
            return False
        sides = [_repeats(context, one, depth) for one in (left, right)]
        return all(sides) or any(
            sure and is_number(context, other) for sure, other in zip(sides, (right, left), strict=True)
        )
    if isinstance(value, Item | Indexed):
        if _slices(_index(value)):
            whole = stacked(context, source)
            return _repeats(context, whole or context.flow.with_value(source, value.base), depth)
        # the same index twice picks the same item twice
        picked = value.index if isinstance(value, Indexed) else context.flow.with_value(source, value.index)
        alone = not isinstance(picked.value, Sequence) and has_axes(context, picked)
        return alone and _repeats(context, picked, depth)
    return _called(context, source, value, depth) if isinstance(value, Call) else False


def _index(value: Item | Indexed) -> Value:
    return value.index if isinstance(value, Item) else value.index.value


def _slices(index: Value) -> bool:
    """Say whether an index takes a part of an array as it is, as ``[:, 0]`` does."""
    parts = index.items if isinstance(index, Sequence) else (index,)
    return all(isinstance(p, Const) or (isinstance(p, Unknown) and isinstance(p.node, ast.Slice)) for p in parts)


def _called(context: Context, source: Bound, value: Call, depth: int) -> bool:
    if value.starred:
        return False
    name = context.flow.calls.callee_name(source)
    word = last(name)
    first = context.flow.with_value(source, value.args[0]) if value.args else None
    if name.startswith("jax.random."):
        replaced = value.argument(3, "replace")
        if word == "choice" and replaced is not None:
            return isinstance(replaced, Const) and replaced.value is True
        return word in {"randint", "categorical", "choice"}
    if name.startswith(_SPACES) and name.count(".") == name.startswith("jax.") + 1 and first is not None:
        if word in _BINNING:
            return not any(_ordered(context, context.flow.with_value(source, one)) for one in _binned(word, value))
        lists = _lists(context, source, value) if word in {"array", "asarray"} else []
        if lists:
            return all(all(type(n) is int for n in one) for one in lists) and any(map(_twice, lists))
        if word in {"array", "asarray"} and isinstance(value.args[0], Sequence):
            return False
        if word in _ROUNDING:
            return _rounded(context, first, depth)
        if word in {"argmax", "argmin"}:  # the same of several rows, unless each has one of its own
            return (len(value.args) > 1 or value.keyword("axis") is not None) and not _ordered(context, first)
        if word in _EQUAL and name.startswith("jax."):  # nothing can be written into it
            return _several_equal(value)
        if word == "where":
            ways = [context.flow.with_value(source, one) for one in value.args[1:]]
            return len(ways) == 2 and all(_repeats(context, one, depth) for one in ways)
        return word in _THROUGH and _repeats(context, first, depth)
    if not name and isinstance(value.callee, Attr) and value.callee.name in _KEEPING:
        base = context.flow.with_value(source, value.callee.base)
        if value.callee.name != "astype":
            return _repeats(context, base, depth)
        kind = value.args[0] if value.args else None
        kind_name = str(getattr(context.flow.follow(source, kind).value, "name", "")) if kind is not None else ""
        return last(kind_name).startswith(("int", "uint")) and _rounded(context, base, depth)
    return False


_LISTED = frozenset(space + word for space in _SPACES for word in ("array", "asarray"))


def _lists(context: Context, source: Bound, value: Call) -> list[list[object]]:
    """Return the lists that are written where a call makes an array of them, one for each way; none if one is not."""
    found: list[list[object]] = []
    for one in context.sources.originals(context.flow.with_value(source, value.args[0])) if value.args else ():
        node = one.value.node if isinstance(one.value, Sequence) else None
        written = constant(node) if isinstance(node, ast.expr) else None
        if not isinstance(written, list | tuple):
            return []
        found.append([*written])
    return found


def _several_equal(value: Call) -> bool:
    """Say whether an array that is filled with one number has a size that is written, and more than one element."""
    given = value.argument(0, "shape")
    node = value.node.args[0] if value.node.args else None
    sizes = constant(node) if given is not None else None
    written = sizes if isinstance(sizes, tuple | list) else (sizes,)
    return bool(written) and all(type(size) is int for size in written) and any(size != 1 for size in written)


def _binned(word: str, value: Call) -> list[Value]:
    """Return the values that are put into bins; the edges are in order."""
    place = 1 if word == "searchsorted" else 0
    return list(value.args if word == "floor_divide" else value.args[place : place + 1])


def _twice(numbers: list[object]) -> bool:
    return len(set(numbers)) < len(numbers)


def _rounded(context: Context, base: Bound, depth: int) -> bool:
    """Say whether a whole number of an array comes more than once: of floats in no order, or as it did before."""
    if _repeats(context, base, depth):
        return True
    return (
        _Throughout(context, floats=True).of(base) is True and not _ordered(context, base) and _from_data(context, base)
    )


def _side(context: Context, source: Bound, node: ast.expr) -> Bound | None:
    """Return the value of a part of an expression."""
    value = _values(context, source, node)
    return context.flow.with_value(source, value if value is not None else Unknown(node))


def _values(context: Context, source: Bound, node: ast.expr) -> Value | None:
    if source.frame is not None:
        return source.frame.function.scope.module.values.get(node)
    return next((m.values[node] for m in context.project.modules if node in m.values), None)


def is_number(context: Context, bound: Bound) -> bool:
    """Say whether a value is one number: written, a size, or known to have no axes.

    Args:
        context: the analysis.
        bound: the value in its activation.
    """
    value = context.flow.resolve(bound).value
    if isinstance(value, Const):
        return type(value.value) in (int, float)
    if isinstance(value, Item | Indexed) and isinstance(value.base, Attr) and value.base.name == "shape":
        return True
    sources = context.sources.originals(bound)
    return bool(sources) and all(_plain(context, one) for one in sources)


def _plain(context: Context, source: Bound) -> bool:
    value = source.value
    if isinstance(value, Item | Indexed) and isinstance(value.base, Attr) and value.base.name == "shape":
        return True
    return Arrays(context, {}).of_bound(source).axes == 0


def _parts(context: Context, source: Bound) -> Iterator[Bound]:
    """Yield what a value is computed from."""
    value = source.value
    if isinstance(value, Call) and _one_number(value):
        return
    if isinstance(value, Call):
        for one in value.given:
            yield context.flow.with_value(source, one)
        if isinstance(value.callee, Attr):
            yield context.flow.with_value(source, value.callee.base)
    elif isinstance(value, Item | Indexed) and not _slices(index := _index(value)):
        yield context.flow.with_value(source, index)  # the same index twice picks the same item twice
    elif isinstance(value, Attr) and value.name in {"shape", "size", "ndim", "dtype"}:
        return
    elif isinstance(value, Attr | Item | Each | Indexed | Round):
        yield context.flow.with_value(source, value.base)
    elif isinstance(value, Changed):
        yield context.flow.with_value(source, value.before)
    elif isinstance(value, Sequence):
        yield from (context.flow.with_value(source, one) for one in value.items)
    elif isinstance(value, Unknown):
        for node in ast.iter_child_nodes(value.node):
            if isinstance(node, ast.expr):
                inner = _side(context, source, node)
                if inner is not None:
                    yield inner


def _one_number(value: Call) -> bool:
    """Say whether a call reduces an array to one number, which moves all elements of another alike."""
    of_array = isinstance(value.callee, Attr) and not value.callee.of_global
    return last_word(value.node.func) in _REDUCING and len(value.args) + len(value.keywords) == int(not of_array)


_REDUCING = frozenset({"mean", "sum", "max", "min", "std", "var", "prod", "norm"})


def _all(context: Context, bound: Bound) -> Iterator[Bound]:
    """Yield all that a value is computed from; the value itself where that is too much."""
    seen: set[Bound] = set()
    pending = [bound]
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        if len(seen) > _MANY:
            yield Bound(Const("too much"))
            return
        yield one
        sources = [source for source in context.sources.originals(one) if source != one]
        pending += sources
        if not sources or isinstance(one.value, Call | Unknown):
            pending += _parts(context, one)


_MANY = 400


def _ordered(context: Context, bound: Bound) -> bool:
    """Say whether a value may come from numbers that are all different, or in order."""
    for one in _all(context, bound):
        value = one.value
        if isinstance(value, Const) and value.value == "too much":
            return True
        if isinstance(value, Call) and isinstance(value.callee, Value):
            callee = getattr(value.node.func, "attr", getattr(value.node.func, "id", ""))
            if callee in _ORDERED:
                return True
        if isinstance(value, Param | Loop | Choice):
            continue
    return False


def _from_data(context: Context, bound: Bound) -> bool:
    """Say whether a value is computed from numbers that are drawn, not from a list that was written."""
    names = {context.flow.calls.callee_name(one) for one in _all(context, bound) if isinstance(one.value, Call)}
    return any(name.startswith(("jax.random.", "numpy.random.")) for name in names)
