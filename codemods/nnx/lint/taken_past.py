"""Rows that are looked up by written ids of which one is past the last row; part of NNX847."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.frames import Bound
from codemods.nnx.lint.formula import one_source
from codemods.nnx.lint.literal_shape import shape_of
from codemods.nnx.lint.numbers import the_number
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant, keyword
from codemods.nnx.values import Attr, Call, Const, Sequence

_ARRAYS = frozenset({"jax.numpy.array", "jax.numpy.asarray", "numpy.array", "numpy.asarray"})


def taken_past(context: Context) -> Iterator[tuple[CallEvent, int, int]]:
    """Yield the calls of ``jnp.take`` with an id that has no row, that id and the number of rows."""
    for event, name in foreign(context, "take"):
        if name != "jax.numpy.take" or len(event.value.args) < 2 or event.value.starred or in_test(event.scope):
            continue
        if keyword(event.node, "mode") is not None or keyword(event.node, "fill_value") is not None:
            continue
        along = argument(event.node, 2, "axis")
        axis = constant(along)
        call = context.flow.here(event.value, event.scope)
        table, ids = (one_source(context, context.flow.with_value(call, one)) for one in event.value.args[:2])
        if table is None or ids is None:
            continue
        if along is None and len(shape_of(context, table)) == 1:
            axis = 0  # of what is flat already
        if type(axis) is not int or axis < 0:
            continue
        rows = _length(context, table, axis)
        numbers = _numbers(context, ids)
        past = next((one for one in numbers if rows is not None and not -rows <= one < rows), None)
        if past is not None and rows is not None:
            yield event, past, rows


def _length(context: Context, table: Bound, axis: int) -> int | None:
    """Return the length of an array along an axis, if it is written."""
    value = table.value
    if isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name == "reshape":
        given = value.args
        if len(given) == 1:
            whole = context.flow.follow(table, given[0])
            given = whole.value.items if isinstance(whole.value, Sequence) else given
        home = context.bodies.home(value.node)
        size = the_number(context, given[axis], home) if home is not None and axis < len(given) else None
        return int(size) if size is not None and size > 0 else None
    shape = shape_of(context, table)
    return shape[axis] if axis < len(shape) else None


def _numbers(context: Context, ids: Bound) -> list[int]:
    """Return the whole numbers of an array that is written as a list, or the one number."""
    if isinstance(ids.value, Const):
        return [ids.value.value] if type(ids.value.value) is int else []
    node = ids.value.node if isinstance(ids.value, Call) else None
    if node is None or context.flow.calls.callee_name(ids) not in _ARRAYS or not node.args:
        return []
    found: list[int] = []
    parts = [constant(node.args[0])]
    while parts:
        one = parts.pop()
        if isinstance(one, list | tuple):
            parts += one
        elif type(one) is int:
            found.append(one)
    return found
