"""Checkpoints that one function writes in the background, and that its caller has read at once; part of NNX716."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.orbax_calls import ASYNC, checkpointer_calls, path_of
from codemods.nnx.lint.places import callers_of, in_test, written
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Function

_WAITING = frozenset({"wait_until_finished", "close", "sleep", "join", "sync_global_devices", "run", "system"})


def read_by_callers(context: Context) -> Iterator[tuple[CallEvent, CallEvent]]:
    """Yield the calls that read what a function before them has begun to write, with the call of that one.

    Args:
        context: the analysis.
    """
    calls = list(checkpointer_calls(context, "save", "restore"))
    readers = [event for event, _, _ in calls if last_word(event.node.func) == "restore"]
    for event, word, source in calls if readers else ():
        function, path = event.scope.function, path_of(event)
        if last_word(event.node.func) != "save" or word not in ASYNC or function is None or path is None:
            continue
        made = source.value
        if not isinstance(made, Call) or context.bodies.home(made.node) is not event.scope or in_test(event.scope):
            continue
        if not _left_alone(context, event, function):
            continue
        place = written(context, path[0], event.scope)
        returned = _returns(context, function, place, event)
        for caller in callers_of(context, function):
            if context.bodies.paths(caller.scope).get(caller.node) or in_test(caller.scope):
                continue
            texts = {_filled(place, function, caller)} - {""}
            statement = caller.statement
            if returned and isinstance(statement, ast.Assign) and statement.value is caller.node:
                texts |= {ast.unparse(one) for one in statement.targets if isinstance(one, ast.Name)}
            read = _reads(context, caller, texts, readers) if texts else None
            if read is not None:
                yield read, caller


def _left_alone(context: Context, save: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a function waits for nothing, and gives away nothing that others might wait for."""
    if any(last_word(event.node.func) in _WAITING for event in context.bodies.calls.get(save.scope, ())):
        return False
    nodes = list(context.bodies.nodes(save.scope))
    if any(isinstance(node, ast.With | ast.AsyncWith | ast.Yield | ast.YieldFrom | ast.Global) for node in nodes):
        return False
    func = save.node.func
    name = func.value.id if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) else None
    given = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    return len(given) <= sum(isinstance(n, ast.Attribute) and n.value in given for n in nodes)


def _returns(context: Context, function: FunctionFacts, place: ast.expr, save: CallEvent) -> bool:
    """Say whether a function gives back the path that it writes to."""
    found = [node for node in context.bodies.nodes(save.scope) if isinstance(node, ast.Return)]
    if len(found) != 1 or found[0].value is None:
        return False
    return ast.dump(written(context, found[0].value, function.scope)) == ast.dump(place)


def _filled(place: ast.expr, function: FunctionFacts, call: CallEvent) -> str:
    """Return the text of a path in a function with what a call gives for its parameters; empty if not all is known."""
    names = [name for name, param in function.params.items() if param is not function.self_param]
    given = dict(zip(names, call.node.args, strict=False))
    given |= {one.arg: one.value for one in call.node.keywords if one.arg is not None}
    wanted = names_in(place) & {*names}
    if not wanted or not wanted <= given.keys() or call.value.starred:
        return ""
    if (names_in(place) - wanted) & {*function.scope.bindings}:
        return ""
    return ast.unparse(_Filling(given).visit(copy.deepcopy(place)))


class _Filling(ast.NodeTransformer):
    def __init__(self, given: dict[str, ast.expr]) -> None:
        self._given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._given.get(node.id, node)


def _reads(context: Context, caller: CallEvent, texts: set[str], readers: list[CallEvent]) -> CallEvent | None:
    """Return the first call behind another one that reads a checkpoint of one of some paths, with nothing between."""
    for other in context.bodies.calls.get(caller.scope, ()):
        if other.node.lineno <= caller.node.lineno or context.bodies.paths(caller.scope).get(other.node):
            continue
        if last_word(other.node.func) in _WAITING:
            return None
        path = path_of(other)
        if other in readers:
            if path is not None and ast.unparse(path[0]) in texts:
                return other
            continue
        called = context.flow.resolve(context.flow.here(other.value.callee, other.scope)).value
        if not isinstance(called, Function):
            continue
        for reader in readers:
            place = path_of(reader) if reader.scope is called.facts.scope else None
            if place is not None and not context.bodies.paths(reader.scope).get(reader.node):
                if _filled(written(context, place[0], reader.scope), called.facts, other) in texts:
                    return other
    return None
