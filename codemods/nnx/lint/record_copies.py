"""What a function returns of a record that it was given: copies with other values for some fields."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Choice, Param, Value

_DEPTH = 3  # functions that a record is handed through


def copied(context: Context, function: FunctionFacts, record: Param) -> list[list[Call]]:
    """Return the copies of a record among what a function returns, each as the calls that made it.

    Args:
        context: the analysis.
        function: the function.
        record: one of its parameters.

    Returns:
        A list for each copy, outermost call first; an empty list if one way to return gives no copy.
    """
    return _copied(context, function, record, 0)


def _copied(context: Context, function: FunctionFacts, record: Param, depth: int) -> list[list[Call]]:
    found: list[list[Call]] = []
    if function.generator or depth > _DEPTH:
        return []
    for value in function.returns:
        mine = [one for part in _parts(value) for one in _copies(context, part, function, record, depth)]
        if not mine:
            return []
        found += mine
    return found


def fields(copy: list[Call]) -> frozenset[str] | None:
    """Return the names of the fields that a copy gets new values for; None if they are not all written.

    Args:
        copy: the calls that made it.
    """
    given = [keyword.arg for call in copy for keyword in call.node.keywords]
    return None if None in given else frozenset(name for name in given if name is not None)


def _parts(value: Value) -> Iterator[Value]:
    """Yield what a result may be, or what its items may be."""
    for one in getattr(value, "items", None) or (value,):
        if isinstance(one, Choice):
            yield from one.options
        elif isinstance(one, Value):
            yield one


def _copies(context: Context, value: Value, function: FunctionFacts, record: Param, depth: int) -> list[list[Call]]:
    """Return the copies of a record that a value may be; none if it is something else."""
    calls: list[Call] = []
    while isinstance(value, Call):
        word = last_word(value.node.func)
        if word in {"replace", "_replace"} and isinstance(value.callee, Attr) and not value.args:
            base = value.callee.base
        elif word == "replace" and len(value.args) == 1:
            base = value.args[0]
        else:
            inner = _by_helper(context, value, function, record, depth)
            return [[*calls, *one] for one in inner]
        calls.append(value)
        value = next((one for one in base.options if one is not value), base) if isinstance(base, Choice) else base
    return [calls] if value is record and calls else []


def _by_helper(context: Context, value: Call, function: FunctionFacts, record: Param, depth: int) -> list[list[Call]]:
    """Return the copies that a function of the project makes of the record that it is given."""
    invoked = context.flow.calls.invoked(context.flow.here(value, function.scope))
    if len(invoked) != 1 or invoked[0][0].gradient or value.starred:
        return []
    callee, frame = invoked[0]
    found: list[list[Call]] = []
    for name, param in callee.function.params.items():
        given = context.flow.argument(frame, name)
        if given is None or (given.value is not record and not _is_copy(context, given.value, function, record, depth)):
            continue
        before = [] if given.value is record else _copies(context, given.value, function, record, depth + 1)
        for one in _copied(context, callee.function, param, depth + 1):
            found += [[*one, *other] for other in before or [[]]]
    return found


def _is_copy(context: Context, value: Value, function: FunctionFacts, record: Param, depth: int) -> bool:
    return depth < _DEPTH and bool(_copies(context, value, function, record, depth + 1))
