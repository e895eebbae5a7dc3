"""Buffers of NumPy that functions make, fill or hand out, and queues of what was made of them; part of NNX776."""

from __future__ import annotations

import ast
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.around import around
from codemods.nnx.lint.filled_in_place import filled
from codemods.nnx.lint.places import position
from codemods.nnx.lint.syntax import innermost_loop, inside, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Item, Param, Sequence, Unknown, Value

# what makes an array of its own memory, or of memory that it is given, with the position of the type
_ALLOCATING = {"numpy.zeros": 1, "numpy.empty": 1, "numpy.ones": 1, "numpy.full": 2, "numpy.ndarray": 1}
_TAKING = frozenset({"popleft", "pop"})
_DEPTH = 5


class Storage(NamedTuple):
    """An array of NumPy by how it is made.

    Attributes:
        kind: its type; None if it is the usual one.
        at: where the type is given.
        axes: how many axes it has, at least.
        made: the call that takes the memory.
    """

    kind: Value | None
    at: Bound
    axes: int
    made: Call


def storage(context: Context, source: Bound, depth: int = 0) -> Storage | None:
    """Return how an array of NumPy is made, also as another view of one; None for other values.

    Args:
        context: the analysis.
        source: where the array comes from.
        depth: how many views were gone through.
    """
    call, flow = source.value, context.flow
    if isinstance(call, Item | Indexed):
        index = call.index.value if isinstance(call, Indexed) else call.index
        sliced = isinstance(index, Unknown) and isinstance(index.node, ast.Slice)
        return _of(context, source, call.base, depth) if sliced else None
    if not isinstance(call, Call) or call.starred or depth > _DEPTH:
        return None
    name = flow.calls.callee_name(source)
    if name in _ALLOCATING:
        return Storage(call.argument(_ALLOCATING[name], "dtype"), source, _axes(context, source, call, 0), call)
    if name or not isinstance(call.callee, Attr) or call.callee.name not in {"view", "reshape"} or not call.args:
        return None
    inner = _of(context, source, call.callee.base, depth)
    if inner is None:
        return None
    if call.callee.name == "view":
        return inner._replace(kind=call.args[0], at=source)
    return inner._replace(axes=max(1, _axes(context, source, call, 0), len(call.args) - 1))


def _of(context: Context, source: Bound, value: Value, depth: int) -> Storage | None:
    found = context.flow.follow(source, value)
    made = storage(context, found, depth + 1)
    if made is not None:
        return made
    sources = [*context.sources.originals(found)]
    return storage(context, sources[0], depth + 1) if len(sources) == 1 and depth < _DEPTH else None


def _axes(context: Context, source: Bound, call: Call, place: int) -> int:
    """Return how many axes a shape has, as far as it is written; one of a number."""
    shape = call.argument(place, "shape")
    made = context.flow.follow(source, shape).value if shape is not None else None
    return len(made.items) if isinstance(made, Sequence) else 1 if isinstance(made, Const | Call) else 0


def filled_by_call(context: Context, scope: Scope, array: ast.expr, within: ast.AST) -> bool:
    """Say whether a part of a body gives an array to a function that writes into it.

    Args:
        context: the analysis.
        scope: the body.
        array: the array as a variable or an attribute.
        within: the part of the body that counts.
    """
    text = ast.dump(array)
    for event in context.bodies.calls.get(scope, ()):
        places = [i for i, one in enumerate(event.node.args) if ast.dump(one) == text]
        if not places or event.value.starred or not inside(event.node, within) or context.flow.calls.name(event):
            continue
        for callee in context.flow.calls.reached(context.flow.here(event.value, scope)):
            params = {position(one): one.name for one in callee.function.params.values()}
            if any(filled(callee.function.scope, ast.Name(params[i])) for i in places if i in params):
                return True
    return False


def handed_out(context: Context, value: Value, scope: Scope, within: ast.AST) -> bool:
    """Say whether a buffer is what a method fills and gives out in every round, of an object made before the loop.

    Args:
        context: the analysis.
        value: the buffer.
        scope: the body with the loop.
        within: the loop.
    """
    if not isinstance(value, Call) or not isinstance(value.callee, Attr) or not inside(value.node, within):
        return False
    receiver = [*context.sources.originals(context.flow.here(value.callee.base, scope))]
    if not receiver or not all(isinstance(one.value, Call) and not inside(one.value.node, within) for one in receiver):
        return False
    reached = [*context.flow.calls.reached(context.flow.here(value, scope))]
    for callee in reached:
        given = callee.function.returns
        one = given[0] if len(given) == 1 else None
        own = callee.function.self_param
        if not isinstance(one, Attr) or own is None or one.base is not own or callee.function.generator:
            return False
        if not filled(callee.function.scope, ast.Attribute(ast.Name(own.name), one.name)):
            return False
    return bool(reached)


def queued_in(context: Context, event: CallEvent) -> ast.AST | None:
    """Return the loop that puts what a call gives into a queue, of which it takes things only when it is long enough.

    Args:
        context: the analysis.
        event: the call.
    """
    loop, above = innermost_loop(event), around(context, event.scope)
    outer = above.get(event.node)
    if loop is None or not isinstance(outer, ast.Call) or not isinstance(outer.func, ast.Attribute):
        return None
    if outer.func.attr != "append" or not isinstance(outer.func.value, ast.Name):
        return None
    queue = outer.func.value.id
    taking = [
        node
        for node in ast.walk(loop)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _TAKING
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == queue
    ]
    paths = context.bodies.paths(event.scope)
    long = [
        any(isinstance(block, ast.If) and _long(context, block.test, queue, event.scope) for block, _ in paths[node])
        for node in taking
        if node in paths
    ]
    stored = [one for one in context.bodies.names(event.scope).get(queue, ()) if not isinstance(one.ctx, ast.Load)]
    kept = len(stored) == 1 and not inside(stored[0], loop)
    return loop if taking and len(long) == len(taking) and all(long) and kept else None


def _long(context: Context, test: ast.expr, queue: str, scope: Scope) -> bool:
    """Say whether a condition asks whether a queue has two elements or more."""
    if (
        not isinstance(test, ast.Compare)
        or len(test.ops) != 1
        or not isinstance(test.ops[0], ast.Eq | ast.GtE | ast.Gt)
    ):
        return False
    length, least = test.left, test.comparators[0]
    if not isinstance(length, ast.Call) or last_word(length.func) != "len" or names_in(length) != {"len", queue}:
        return False
    value = scope.module.values.get(least)
    if isinstance(value, Param):
        value = value.function.defaults.get(value.name)
    number = value.value if isinstance(value, Const) else None
    return isinstance(number, int) and number + isinstance(test.ops[0], ast.Gt) > 1
