"""Shapes that are written where an array is made."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.values import Attr, Call, Item, Value

_SHAPED = frozenset(f"jax.numpy.{name}" for name in ("zeros", "ones", "full", "empty", "arange", "array"))

_SAMPLED = frozenset(f"jax.random.{name}" for name in ("normal", "uniform", "gumbel", "exponential", "laplace"))


def literal_shape(context: Context, value: Value | None, scope: Scope) -> tuple[int | None, ...]:
    """Return the shape of an array that is made with a literal one, as far as it is known."""
    return shape_of(context, context.flow.here(value, scope)) if isinstance(value, Attr | Call | Item) else ()


def shape_of(context: Context, bound: Bound) -> tuple[int | None, ...]:
    """Return the shape of an array as :func:`literal_shape` does, of a value in its activation."""
    seen: set[Bound] = set()  # an attribute may be a copy of itself wherever it is assigned
    while bound not in seen:
        seen.add(bound)
        if isinstance(bound.value, Attr | Item):  # that is bound once, as what a constructor or a setup made
            bound = context.flow.resolve(bound)
        value = bound.value
        if not isinstance(value, Call) or not value.node.args:
            return ()
        written = _written(value)
        if written is None:
            return _made_with(context, bound, value)
        bound = context.flow.with_value(bound, written)
    return ()


def _made_with(context: Context, bound: Bound, value: Call) -> tuple[int | None, ...]:
    """Return the shape that a call makes an array of."""
    name = context.flow.calls.callee_name(bound)
    if name == "jax.numpy.linspace":
        ends = [constant(end) for end in value.node.args[:2]]
        number = constant(argument(value.node, 2, "num"))
        return (number,) if type(number) is int and all(isinstance(end, int | float) for end in ends) else ()
    if name not in _SHAPED | _SAMPLED:
        return ()
    given: ast.expr | None = value.node.args[0]
    if name in _SAMPLED:
        given = argument(value.node, 1, "shape")
    shape = constant(given)
    if shape is None:
        return ()
    if name == "jax.numpy.array":
        return _nested(shape)
    if name == "jax.numpy.arange":
        if len(value.node.args) != 1 or not isinstance(shape, int | float) or shape != int(shape):
            return ()
        shape = int(shape)
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(size if type(size) is int else None for size in sizes)


def _nested(rows: object) -> tuple[int | None, ...]:
    """Return the shape of an array of nested lists."""
    sizes: list[int | None] = []
    while isinstance(rows, list | tuple):
        sizes.append(len(rows))
        rows = rows[0] if rows else None
    return tuple(sizes)


def _written(value: Call) -> Value | None:
    """Return the array that ``array.at[i].set(v)`` is a copy of."""
    callee = value.callee
    if not isinstance(callee, Attr) or not isinstance(callee.base, Item) or not isinstance(callee.base.base, Attr):
        return None
    return callee.base.base.base if callee.base.base.name == "at" else None
