"""Trees of weights that vmap would map leaf by leaf, over first axes of different lengths; part of NNX867."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arrays import Arrays, batched
from codemods.nnx.lint.out_of_bounds import literal_shape
from codemods.nnx.lint.syntax import argument
from codemods.nnx.values import Call, Comprehension, Const, Mapping, Sequence

_FILLING = frozenset({"jax.numpy.zeros", "jax.numpy.ones", "jax.numpy.full", "jax.numpy.empty"})
_SAMPLING = frozenset({"jax.random.normal", "jax.random.uniform", "jax.random.truncated_normal"})
_DEPTH = 4


def uneven(context: Context, event: CallEvent, place: int) -> str:
    """Say how the leaves of a mapped argument differ in their first axes, whatever the numbers are.

    Args:
        context: the analysis.
        event: the call of what vmap made.
        place: the position of the argument.

    Returns:
        Two of the leaves in words; empty if they agree, or that is not known.
    """
    function = event.scope.function
    if function is not None and function in context.shared(batched):
        return ""  # it is one of many that have an axis more
    given = context.flow.resolve(context.flow.here(event.value.args[place], event.scope))
    found = context.sources.originals(given)
    if len(found) != 1 or any(one in context.shared(batched) for one in _made_in(next(iter(found)))):
        return ""
    for layer in _layers(context, next(iter(found)), 0):
        lengths: dict[str, str] = {}
        for name, length in layer:
            if length:
                lengths.setdefault(length, f"{name} has {length}")
        if len(lengths) > 1:
            return " and ".join(list(lengths.values())[:2])
    return ""


def _made_in(bound: Bound) -> Iterator[FunctionFacts]:
    """Yield the functions in whose activations a value was made."""
    frame = bound.frame
    while frame is not None:
        yield frame.function
        frame = frame.caller


def _layers(context: Context, bound: Bound, depth: int) -> Iterator[list[tuple[str, str]]]:
    """Yield the leaves of every dict that stands in a tree, each with the length of its first axis as it is written."""
    found = context.flow.resolve(bound)
    value = found.value
    if depth > _DEPTH:
        return
    if isinstance(value, Comprehension):
        yield from _layers(context, context.flow.with_value(found, value.element), depth + 1)
    elif isinstance(value, Sequence):
        for item in value.items:
            yield from _layers(context, context.flow.follow(found, item), depth + 1)
    elif isinstance(value, Mapping):
        leaves: list[tuple[str, str]] = []
        for key, item in value.items:
            part = context.flow.follow(found, item)
            if isinstance(part.value, Mapping | Sequence | Comprehension):
                yield from _layers(context, part, depth + 1)
            elif isinstance(key, Const):
                leaves.append((f"`{key.value}`", _length(context, part)))
        yield leaves


def _length(context: Context, bound: Bound) -> str:
    """Return the length of the first axis as it is written, or that there is none; empty if it is not known."""
    value = bound.value
    if isinstance(value, Const):
        return "no axis" if type(value.value) in {int, float} else ""
    if not isinstance(value, Call):
        return ""
    name = context.flow.calls.callee_name(bound)
    if name not in _FILLING | _SAMPLING:
        return "no axis" if Arrays(context, {}).of_bound(bound).axes == 0 else ""
    shape = argument(value.node, 1 if name in _SAMPLING else 0, "shape")
    if shape is None:
        return "no axis" if name in _SAMPLING else ""
    if isinstance(shape, ast.Tuple | ast.List):
        return _text(shape.elts[0]) if shape.elts else "no axis"
    scope = context.bodies.home(value.node)
    known = literal_shape(context, value, scope) if scope is not None else ()
    if known:
        return str(known[0]) if known[0] is not None else ""
    return _text(shape) if name in _FILLING and _size(shape) else ""


def _size(node: ast.expr) -> bool:
    """Say whether a shape is one number by its name: ``jnp.zeros(n_out)``."""
    return isinstance(node, ast.Name) and not any(word in node.id for word in ("shape", "size", "dims"))


def _text(node: ast.expr) -> str:
    return "" if isinstance(node, ast.Starred) else ast.unparse(node)
