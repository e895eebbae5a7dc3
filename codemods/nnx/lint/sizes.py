"""The sizes of arrays along their axes, as far as the text tells: numbers, or what they are called."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import islice, zip_longest

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.arrays import batched, gathered
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Item, Param, Sequence, Unknown, Value


class Called(int):
    """A number with the name under which a shape has it: ``batch`` of ``(batch, dim, dim)``, also where both are 3."""

    label = ""


#: One size: a number, or the value that it is in an activation.
Size = int | tuple[Value, object]
Sizes = tuple[Size | None, ...]

_SAMPLERS = frozenset(f"jax.random.{name}" for name in ("normal", "uniform", "gumbel", "exponential", "laplace"))
_FILLED = frozenset(f"{home}.{name}" for home in ("jax.numpy", "numpy") for name in ("zeros", "ones", "full", "empty"))
_SQUARE = frozenset({"jax.numpy.eye", "jax.numpy.identity", "numpy.eye", "numpy.identity"})
# functions whose result has the sizes of their first argument
_ALIKE = frozenset(
    [f"jax.numpy.{name}" for name in ("exp", "log", "sqrt", "tanh", "sin", "cos", "abs", "square", "asarray", "array",
                                      "zeros_like", "ones_like", "negative", "copy", "tril", "triu", "sort", "argsort")]
    + ["jax.numpy.linalg.cholesky", "jax.numpy.linalg.inv", "jax.scipy.linalg.cholesky", "jax.scipy.linalg.inv"]
)  # fmt: skip
_GENERATORS = frozenset({"numpy.random.default_rng", "numpy.random.RandomState"})
_DRAWN = frozenset({"normal", "standard_normal", "uniform", "random", "integers", "randint", "poisson", "binomial"})
_ELEMENTWISE = ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow | ast.Mod
_DEPTH = 16


def sizes_of(context: Context, bound: Bound, depth: int = 0) -> Sizes | None:
    """Return the sizes of an array; None if it is not known how many axes it has.

    Args:
        context: the analysis.
        bound: the value in its activation.
        depth: how many values it was followed from.
    """
    if depth > _DEPTH:
        return None
    found: Sizes | None = None
    for source in context.sources.originals(bound):
        if isinstance(source.value, Param) or (source.frame is not None and gathered(context, source.frame)):
            return None
        one = _made(context, source, depth + 1)
        if one is None or (found is not None and found != one):
            return None
        found = one
    return found


def size_of(context: Context, bound: Bound) -> int | None:
    """Return the number that an entry of a shape is, ``x.shape[-1]``; None for other values, or if it is not known.

    Args:
        context: the analysis.
        bound: the value in its activation.
    """
    value = bound.value
    if not isinstance(value, Item) or not isinstance(value.base, Attr) or value.base.name != "shape":
        return None
    size = _size(context, bound, value, 0)
    return int(size) if isinstance(size, int) else None  # a plain number, without its name


def followed(context: Context, value: Value) -> bool:
    """Say whether no function that maps over its arguments gets a value, which then is a part of what it is given."""
    while isinstance(value, Attr | Item | Indexed):
        value = value.base
    return not isinstance(value, Param) or value.function not in context.shared(batched)


def _made(context: Context, source: Bound, depth: int) -> Sizes | None:
    value = source.value
    if isinstance(value, Const):
        return () if isinstance(value.value, int | float) else None
    if isinstance(value, Unknown):
        return _operation(context, source, value.node, depth)
    if isinstance(value, Attr) and value.name in {"T", "mT"} and followed(context, value):
        inner = sizes_of(context, context.flow.with_value(source, value.base), depth)
        return inner[:-2] + inner[-2:][::-1] if inner is not None and (value.name == "mT" or len(inner) == 2) else None
    if isinstance(value, Item) and followed(context, value):
        return _picked(sizes_of(context, context.flow.with_value(source, value.base), depth), value.index)
    if isinstance(value, Indexed):
        return _picked(_inner(context, source, value.base, depth), value.index.value)
    return _made_by(context, source, value, depth) if isinstance(value, Call) else None


def _made_by(context: Context, source: Bound, value: Call, depth: int) -> Sizes | None:
    name = context.flow.calls.callee_name(source)
    if value.starred:
        return None
    if name in _SAMPLERS:
        return _shape(context, source, value.argument(1, "shape"), depth)
    if name in _FILLED and (value.args or value.keywords):
        return _shape(context, source, value.argument(0, "shape"), depth)
    if _drawn(context, source, value, name):
        return _shape(context, source, value.keyword("size"), depth)
    if name == "jax.numpy.broadcast_to":
        return _shape(context, source, value.argument(1, "shape"), depth)
    if name in _SQUARE and len(value.args) == 1:
        (size,) = _each(context, source, value.args[:1], depth, value.node.args)
        return (size, size)
    if name == "jax.numpy.arange" and len(value.args) == 1:
        return _each(context, source, value.args, depth, value.node.args)
    if name == "jax.nn.one_hot" and len(value.args) == 2 and value.keyword("axis") is None:
        inner = _inner(context, source, value.args[0], depth)
        return (*inner, *_each(context, source, value.args[1:], depth)) if inner is not None else None
    if name in _ALIKE and value.args and not isinstance(value.args[0], Sequence):
        return _inner(context, source, value.args[0], depth)
    if name in {"jax.numpy.array", "jax.numpy.asarray"} and value.args and isinstance(value.args[0], Sequence):
        return _written(constant(value.node.args[0]))
    if name == "jax.numpy.stack" and value.args and len(value.args) + len(value.keywords) < 3:
        return _moved(_stacked(context, source, value.args[0], depth), 0, argument(value.node, 1, "axis"))
    if name == "jax.numpy.moveaxis" and len(value.args) == 3:
        return _moved(_inner(context, source, value.args[0], depth), constant(value.node.args[1]), value.node.args[2])
    if name == "jax.numpy.einsum" and len(value.args) > 1:
        return _summed(context, source, value, depth)
    if name in {"jax.numpy.swapaxes", "jax.numpy.matrix_transpose"} and value.args:
        return _swapped(_inner(context, source, value.args[0], depth), value.node.args[1:], name)
    if not name and isinstance(value.callee, Attr) and value.callee.name == "swapaxes":
        return _swapped(_inner(context, source, value.callee.base, depth), value.node.args, "swapaxes")
    if not name and isinstance(value.callee, Attr) and value.callee.name == "reshape" and value.args:
        shape = value.args[0] if len(value.args) == 1 else None
        return _shape(context, source, shape, depth) if shape is not None else _each(context, source, value.args, depth)
    return None


def _drawn(context: Context, source: Bound, value: Call, name: str) -> bool:
    """Say whether a call draws an array of a given size with NumPy."""
    if value.keyword("size") is None or last_word(value.node.func) not in _DRAWN:
        return False
    if name or not isinstance(value.callee, Attr):
        return name.startswith("numpy.random.")
    generators = [*context.sources.originals(context.flow.with_value(source, value.callee.base))]
    return bool(generators) and all(
        isinstance(one.value, Call) and context.flow.calls.callee_name(one) in _GENERATORS for one in generators
    )


def _swapped(inner: Sizes | None, axes: list[ast.expr], name: str) -> Sizes | None:
    """Return the sizes of an array of which two axes change places, or the last two."""
    if inner is None or len(inner) < 2:
        return None
    places = [constant(axis) for axis in axes] if not name.endswith("matrix_transpose") else [-1, -2]
    if len(places) != 2 or not all(isinstance(one, int) and -len(inner) <= one < len(inner) for one in places):
        return None
    first, second = (one % len(inner) for one in places if isinstance(one, int))
    found = list(inner)
    found[first], found[second] = found[second], found[first]
    return tuple(found)


def _moved(inner: Sizes | None, place: object, target: ast.expr | None) -> Sizes | None:
    """Return the sizes of an array of which an axis is moved to another place; to the first one if none is said."""
    to = constant(target) if target is not None else 0
    if inner is None or type(place) is not int or type(to) is not int:
        return None
    if not (-len(inner) <= place < len(inner) and -len(inner) <= to < len(inner)):
        return None
    found = list(inner)
    found.insert(to % len(inner), found.pop(place % len(inner)))
    return tuple(found)


def _written(numbers: object) -> Sizes | None:
    """Return the sizes of a list of numbers, or of lists of them."""
    if isinstance(numbers, int | float):
        return ()
    parts = {_written(one) for one in numbers} if isinstance(numbers, list | tuple) else set()
    inner = parts.pop() if len(parts) == 1 else None
    return (len(numbers), *inner) if inner is not None and isinstance(numbers, list | tuple) else None


def _stacked(context: Context, source: Bound, value: Value, depth: int) -> Sizes | None:
    """Return the sizes of a list of arrays that get an axis for them."""
    if not isinstance(value, Sequence) or any(isinstance(n, ast.Starred) for n in getattr(value.node, "elts", ())):
        return None
    every = [_inner(context, source, one, depth) for one in value.items]
    known = [one for one in every if one is not None and None not in one]
    return (len(every), *known[0]) if known and len({len(one) for one in known}) == 1 else None


def _inner(context: Context, source: Bound, value: Value, depth: int) -> Sizes | None:
    return sizes_of(context, context.flow.with_value(source, value), depth) if followed(context, value) else None


def _summed(context: Context, source: Bound, value: Call, depth: int) -> Sizes | None:
    """Return the sizes of what ``einsum`` gives, by the letters of its first argument."""
    words = value.args[0]
    if not isinstance(words, Const) or not isinstance(words.value, str) or "->" not in words.value:
        return None
    given, _, result = words.value.replace(" ", "").partition("->")
    if "." in given or len(given.split(",")) != len(value.args) - 1:
        return None
    known: dict[str, Size | None] = {}
    for letters, part in zip(given.split(","), value.args[1:], strict=True):
        inner = _inner(context, source, part, depth)
        if inner is not None and len(inner) == len(letters):
            known.update({k: v for k, v in zip(letters, inner, strict=True) if v is not None})
    return tuple(known.get(letter) for letter in result)


def _shape(context: Context, source: Bound, value: Value | None, depth: int) -> Sizes | None:
    if value is None:
        return ()
    found = context.flow.resolve(context.flow.with_value(source, value))
    if isinstance(found.value, Sequence):
        if any(isinstance(n, ast.Starred) for n in getattr(found.value.node, "elts", ())):
            return None
        return _each(context, found, tuple(found.value.items), depth, getattr(found.value.node, "elts", ()))
    if isinstance(found.value, Attr) and found.value.name == "shape":
        return _inner(context, found, found.value.base, depth)
    if isinstance(found.value, Const) and isinstance(found.value.value, int):
        return (found.value.value,)
    return None


def _each(
    context: Context, source: Bound, values: tuple[Value, ...], depth: int, written: Iterable[ast.expr] = ()
) -> Sizes:
    sizes = (_size(context, source, value, depth) for value in values)
    return tuple(_called(size, node) for size, node in zip_longest(sizes, islice(written, len(values))))


def _called(size: Size | None, node: ast.expr | None) -> Size | None:
    """Return a size with its name, if it has one."""
    if not isinstance(size, int) or not isinstance(node, ast.Name | ast.Attribute):
        return size
    found = Called(size)
    found.label = last_word(node)
    return found


def _size(context: Context, source: Bound, value: Value, depth: int) -> Size | None:
    """Return a size: a number if it is one on every way, else what it comes from."""
    sources = [*context.sources.originals(context.flow.with_value(source, value))]
    numbers = {one.value.value for one in sources if isinstance(one.value, Const)}
    if len(numbers) == 1 and all(isinstance(one.value, Const) for one in sources):
        number = numbers.pop()
        return number if isinstance(number, int) and number > 0 else None
    if isinstance(value, Item) and isinstance(value.base, Attr) and value.base.name == "shape":
        index = value.index
        written = index.node if isinstance(index, Unknown) and isinstance(index.node, ast.expr) else None  # -1
        place = index.value if isinstance(index, Const) else constant(written)
        whole = _inner(context, source, value.base.base, depth + 1)
        known = isinstance(place, int) and whole is not None and -len(whole) <= place < len(whole)
        return whole[place] if known and whole is not None and isinstance(place, int) else None
    found = context.flow.resolve(context.flow.with_value(source, value))
    return (found.value, found.frame) if isinstance(found.value, Param | Call | Attr) else None


def _operation(context: Context, source: Bound, node: ast.AST, depth: int) -> Sizes | None:
    if isinstance(node, ast.Constant):
        return () if isinstance(node.value, int | float) else None
    home = source.frame.function.scope if source.frame is not None else None
    modules = context.project.modules
    values = home.module.values if home is not None else next((m.values for m in modules if node in m.values), None)
    if values is None or depth > _DEPTH:
        return None
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return _part(context, source, node.operand, values.get(node.operand), depth)
    if not isinstance(node, ast.BinOp):
        return None
    left, right = (_part(context, source, one, values.get(one), depth) for one in (node.left, node.right))
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.MatMult):
        return _product(left, right)
    return _joined(left, right) if isinstance(node.op, _ELEMENTWISE) else None


def _part(context: Context, source: Bound, node: ast.expr, value: Value | None, depth: int) -> Sizes | None:
    if value is None or (isinstance(value, Unknown) and value.node is node):
        return _operation(context, source, node, depth + 1)
    return _inner(context, source, value, depth + 1)


def _joined(left: Sizes, right: Sizes) -> Sizes:
    """Return the sizes of two arrays that are broadcast against each other."""
    longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
    free = len(longer) - len(shorter)
    tail = [_larger(a, b) for a, b in zip(longer[free:], shorter, strict=True)]
    return (*longer[:free], *tail)


def _larger(one: Size | None, other: Size | None) -> Size | None:
    """Return the size of an axis that two arrays have, one of which may be repeated along it."""
    if one == 1 or other == 1 or one == other:
        return other if one == 1 or isinstance(other, Called) else one
    if one is None or other is None:  # which is one, or as many as the other has
        known = other if one is None else one
        return known if isinstance(known, int) else None
    return None


def _product(left: Sizes, right: Sizes) -> Sizes | None:
    if len(left) < 2 or len(right) < 2:
        return None
    return (*_joined(left[:-2], right[:-2]), left[-2], right[-1])


def _picked(whole: Sizes | None, index: Value) -> Sizes | None:
    """Return the sizes of ``x[:, None]``, ``x[..., 0]`` and the like."""
    if whole is None:
        return None
    parts = list(index.items) if isinstance(index, Sequence) and isinstance(index.node, ast.Tuple) else [index]
    dots = [i for i, one in enumerate(parts) if isinstance(one, Const) and one.value is Ellipsis]
    taken = sum(not (isinstance(one, Const) and one.value in (None, Ellipsis)) for one in parts)
    if len(dots) > 1 or taken > len(whole):
        return None
    rest = [Const(Ellipsis)] if not dots else []
    found: list[Size | None] = []
    place = 0
    for one in (*parts, *rest):
        if isinstance(one, Const) and one.value is Ellipsis:
            found += whole[place : place + len(whole) - taken]
            place += len(whole) - taken
        elif one == Const(None):
            found.append(1)
        elif isinstance(one, Const) and type(one.value) is int:
            place += 1
        elif isinstance(one, Unknown) and isinstance(one.node, ast.Slice):
            full = one.node.lower is None and one.node.upper is None and constant(one.node.step) in (None, -1)
            found.append(whole[place] if full else None)
            place += 1
        else:
            return None
    return tuple(found)
