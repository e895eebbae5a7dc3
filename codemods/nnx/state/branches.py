"""Branches of ``nnx.cond`` and ``nnx.switch`` that return the states of different operands."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind
from codemods.nnx.v012.update_result import returned_by
from codemods.nnx.values import Attr, Call, Item, Param, Value

# where branches stand among the arguments: the first and the one behind the last, which is the first operand
_PLACES = {"flax.nnx.cond": (1, 3), "flax.nnx.switch": (1, 2)}
_STATES = frozenset({"flax.nnx.state", "flax.nnx.variables"})

Result = tuple[FunctionFacts, ast.expr, tuple[object, ...] | None]


def branches(context: Context) -> Iterator[tuple[CallEvent, list[tuple[FunctionFacts, ast.expr]]]]:
    """Yield calls whose branches return Variables of different operands, with the states that are to be copies.

    Since 0.11 a state holds the Variables of its object. NNX notes which Variable of which operand a result is, so that
    these branches differ in structure; states of what the branches know from outside are new to it on every way.
    """
    modules = {m for m in context.asked.modules if m.source.mentions(b"cond") or m.source.mentions(b"switch")}
    for event in context.asked.calls() if modules else ():
        if event.scope.module not in modules:
            continue
        name = context.flow.calls.name(event)
        if name not in _PLACES or event.value.starred:
            continue
        ways = list(_ways(context, event, *_PLACES[name]))
        live: list[tuple[FunctionFacts, ast.expr]] = []
        for index in range(max(map(len, ways), default=0)):
            column = [way[index] for way in ways if index < len(way)]
            known = [one for one in column if one[2] is not None]
            if known and (len(known) < len(column) or len({one[2] for one in known}) > 1):
                live += [(function, node) for function, node, _ in known]
        if live:
            yield event, live


def _ways(context: Context, event: CallEvent, first: int, behind: int) -> Iterator[list[Result]]:
    """Yield what each branch returns, by position if it is a tuple, each with the operand whose state it is."""
    flow = context.flow
    for value in event.value.args[first:behind]:
        bound = flow.here(value, event.scope)
        listed = list(flow.containers.elements(bound)) if behind - first == 1 else []
        for branch in listed or [bound]:
            for callee in flow.calls.callables(branch):
                function = callee.function
                for node in [] if callee.on_instance else returned_by(function):
                    parts = node.elts if isinstance(node, ast.Tuple) else [node] if node is not None else []
                    given = event.value.args[behind:]
                    yield [(function, part, _whose(context, event, function, part, given)) for part in parts]


def _whose(
    context: Context, event: CallEvent, function: FunctionFacts, node: ast.expr, operands: tuple[Value, ...]
) -> tuple[object, ...] | None:
    """Return the operand, or the part of one, whose state is returned; None for anything else."""
    value = function.scope.module.values.get(node)
    if isinstance(value, Indexed | Item):
        value = value.base if isinstance(value.base, Call) else value
        if not isinstance(value, Call) or _name(context, value, function) != "flax.nnx.split":
            return None
    elif isinstance(value, Call) and _name(context, value, function) not in _STATES:
        return None
    path: list[object] = []
    inner: Value | None = value.args[0] if isinstance(value, Call) and value.args else value
    while isinstance(inner, Attr):
        path.append(inner.name)
        inner = inner.base
    if not isinstance(inner, Param) or inner.function is not function or inner.name not in function.params:
        return None
    position = list(function.params).index(inner.name)
    if not isinstance(value, Call):
        given = operands[position] if position < len(operands) and not path else None
        if given is None or context.kinds.only(context.flow.here(given, event.scope)) is not Kind.STATE:
            return None
    return position, *path


def _name(context: Context, call: Call, function: FunctionFacts) -> str:
    return context.flow.calls.callee_name(Bound(call, context.flow.here(call, function.scope).frame))
