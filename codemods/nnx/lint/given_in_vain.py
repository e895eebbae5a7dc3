"""Arguments that the function which gets them never reads."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.nodes import last_word


def given_in_vain(context: Context, node: ast.Name, scope: Scope) -> bool:
    """Say whether a variable is only given to functions of the project that never read it, also by ``partial``.

    Args:
        context: the analysis.
        node: the name of the variable, where it is read.
        scope: the body that it stands in.
    """
    for event in context.bodies.calls.get(scope, ()):
        if node in event.node.args or any(word.value is node for word in event.node.keywords):
            return _unread(context, node, event)
    return False


def _unread(context: Context, node: ast.Name, event: CallEvent) -> bool:
    """Say whether a call gives a name to a parameter that nothing in its function reads."""
    if event.value.starred or any(word.arg is None for word in event.node.keywords):
        return False
    bound = last_word(event.node.func) == "partial"
    made = event.value.args[0] if bound and event.value.args else event.value.callee
    if bound and (event.node.args[0] is node or context.flow.calls.name(event) != "functools.partial"):
        return False
    callees = context.flow.calls.callables(context.flow.here(made, event.scope))
    if not callees or any(one.args or one.keywords or one.receiver is not None or one.gradient for one in callees):
        return False
    given = event.node.args[1:] if bound else event.node.args
    names = [word.arg for word in event.node.keywords if word.value is node and word.arg is not None]
    return all(_ignores(one.function, given.index(node) if node in given else None, names) for one in callees)


def _ignores(function: FunctionFacts, place: int | None, names: list[str]) -> bool:
    """Say whether a function reads neither the parameter at a place nor those of some names."""
    if function.vararg is not None or function.kwarg is not None or function.decorators or function.owner is not None:
        return False
    params = list(function.params)
    if place is not None:
        if place >= function.positional:
            return False
        names = [*names, params[place]]
    if not names or any(name not in function.params for name in names):
        return False
    return not any(isinstance(n, ast.Name) and n.id in {*names, "locals"} for n in ast.walk(function.node))
