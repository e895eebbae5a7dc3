"""Branches of jax.lax.switch that are chosen by a number past the last one; part of NNX847."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.frames import Bound, Round
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Item, Mapping, Sequence, Star, Unknown, Value

_DRAW = "jax.random.randint"
# what gives whole numbers up to an end, with the place of the first
_RANGES = {"builtins.range": 0, "jax.numpy.arange": 0, "numpy.arange": 0, "numpy.random.randint": 0, _DRAW: 2}
_ENDS = {False: ("start", "stop"), True: ("minval", "maxval")}
_ARRAYS = frozenset({"jax.numpy.array", "jax.numpy.asarray", "numpy.array", "numpy.asarray"})
_MANY = 1000


def past_branches(context: Context) -> Iterator[tuple[CallEvent, int, bool]]:
    """Yield the calls of ``switch`` whose index is too high, with the number of branches and whether it is drawn."""
    for event, name in foreign(context, "switch"):
        if name != "jax.lax.switch" or event.value.starred:
            continue
        index, given = event.value.argument(0, "index"), event.value.argument(1, "branches")
        if index is None or given is None:
            continue
        branches = context.flow.resolve(context.flow.here(given, event.scope)).value
        if not isinstance(branches, Sequence) or any(isinstance(one, Star) for one in branches.items):
            continue
        count, here = len(branches.items), context.flow.here(index, event.scope)
        if _end(context, here, branches, event) > count:
            yield event, count, True
        elif _from_one(context, here, branches):
            yield event, count, False


def _from_one(context: Context, index: Bound, branches: Sequence) -> bool:
    """Say whether an index is counted from one up to the number of branches, on all ways and by all callers."""
    numbers: set[int] = set()
    for source in context.sources.originals(index):
        found = _numbers(context, source, branches)
        if not found:
            return False
        numbers |= found
    count = len(branches.items)
    return (
        bool(numbers) and min(numbers) >= 1 and (max(numbers) == count or (len(numbers) == 1 and min(numbers) > count))
    )


def _numbers(context: Context, source: Bound, branches: Sequence) -> set[int]:
    """Return the numbers that a value may be: one, any of a dict or a range, or that of a member of an enumeration."""
    value = source.value
    if isinstance(value, Const):
        return {value.value} if type(value.value) is int else set()
    if isinstance(value, Round):
        return _ranged(context, context.flow.with_value(source, value.base), branches)
    if isinstance(value, Item):
        table = context.flow.follow(source, value.base).value
        entries = table.items if isinstance(table, Mapping) else ()
        items = [one.value if isinstance(one, Const) else None for _, one in entries]
        known = {one for one in items if type(one) is int}
        return known if len(known) == len(items) else set()
    if isinstance(value, Call) and last_word(value.node.func) == "auto":
        return _counted(context, value.node)
    return _ranged(context, source, branches)


def _ranged(context: Context, source: Bound, branches: Sequence) -> set[int]:
    """Return the numbers of a range, a draw, or an array that is written out."""
    value, name = source.value, context.flow.calls.callee_name(source) if isinstance(source.value, Call) else ""
    if not isinstance(value, Call) or value.starred:
        return set()
    if name in _ARRAYS and value.args and isinstance(written := constant(value.node.args[0]), list | tuple):
        return set(written) if all(type(one) is int for one in written) else set()
    first = _RANGES.get(name)
    start, stop = (
        value.argument(first + i, word) if first is not None else None for i, word in enumerate(_ENDS[name == _DRAW])
    )
    if start is None or stop is None or len(value.args) > (first or 0) + 2:
        return set()
    begin = context.flow.follow(source, start).value
    end = _limit(context, source, stop, branches)
    return (
        set(range(begin.value, end)) if isinstance(begin, Const) and type(begin.value) is int and end < _MANY else set()
    )


def _counted(context: Context, auto: ast.Call) -> set[int]:
    """Return the number of a member of an enumeration that ``auto()`` counts, which begins with one."""
    scope = context.bodies.home(auto)
    for owner in scope.module.source.of_type(ast.ClassDef) if scope is not None else ():
        number = 0
        for one in owner.body if any(last_word(base) == "IntEnum" for base in owner.bases) else ():
            value = one.value if isinstance(one, ast.Assign) else None
            if isinstance(value, ast.Constant) and type(value.value) is int:
                number = max(number, value.value)
            elif isinstance(value, ast.Call) and last_word(value.func) == "auto":
                number += 1
                if value is auto:
                    return {number}
    return set()


def _end(context: Context, index: Bound, branches: Sequence, event: CallEvent) -> int:
    """Return the number behind the highest that an index may be; 0 if that is not known."""
    found = context.flow.resolve(index)
    value = found.value
    added = 0
    if isinstance(value, Unknown):
        inner = _plus(value.node)
        part = event.scope.module.values.get(inner[0]) if inner is not None else None
        if inner is None or part is None:
            return 0
        added = inner[1]
        found = context.flow.follow(found, part)
        value = found.value
    if not isinstance(value, Call) or context.flow.calls.callee_name(found) != "jax.random.randint":
        return 0
    limit = value.argument(3, "maxval")
    return _limit(context, found, limit, branches) + added if limit is not None else 0


def _plus(node: ast.AST) -> tuple[ast.expr, int] | None:
    """Return what a positive number is added to, with the number."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant):
        if type(node.right.value) is int and node.right.value > 0:
            return node.left, node.right.value
    return None


def _limit(context: Context, drawn: Bound, limit: Value, branches: Sequence) -> int:
    """Return the limit of a draw: a number, or how many branches there are and some more; very low if not known."""
    found = context.flow.follow(drawn, limit)
    if isinstance(found.value, Const) and type(found.value.value) is int:
        return found.value.value
    added = 0
    value: Value | None = found.value
    if isinstance(value, Unknown):
        inner = _plus(value.node)
        # a call such as len(OPS) or a name
        home = context.bodies.module_scope(inner[0]) if inner is not None else None
        if inner is None or home is None:
            return -1_000_000
        added = inner[1]
        value = home.module.values.get(inner[0])
        number = context.flow.follow(found, value).value if value is not None else None
        if isinstance(number, Const) and type(number.value) is int:  # of a name: N_OPS + 1
            return number.value + added
    if isinstance(value, Call) and isinstance(value.node.func, ast.Name) and value.node.func.id == "len":
        if len(value.args) == 1 and context.flow.follow(found, value.args[0]).value is branches:
            return len(branches.items) + added
    return -1_000_000
