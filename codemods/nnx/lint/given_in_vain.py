"""Arguments that the function which gets them never reads."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.around import around
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call


def given_in_vain(context: Context, node: ast.Name, scope: Scope) -> bool:
    """Say whether a variable is only given to functions of the project that never read it, also by ``partial``.

    Args:
        context: the analysis.
        node: the name of the variable, where it is read.
        scope: the body that it stands in.
    """
    above = around(context, scope)
    call = above.get(node)
    if isinstance(call, ast.keyword):
        call = above.get(call)
    if not isinstance(call, ast.Call) or call.func is node:
        return False
    value = scope.module.values.get(call)
    return isinstance(value, Call) and _unread(context, node, call, value, scope)


def _unread(context: Context, node: ast.Name, call: ast.Call, value: Call, scope: Scope) -> bool:
    """Say whether a call gives a name to a parameter that nothing in its function reads."""
    if value.starred or any(word.arg is None for word in call.keywords):
        return False
    flow, bound = context.flow, last_word(call.func) == "partial"
    made = value.args[0] if bound and value.args else value.callee
    if bound and (call.args[0] is node or flow.calls.callee_name(flow.here(value, scope)) != "functools.partial"):
        return False
    callees = flow.calls.callables(flow.here(made, scope))
    if not callees or any(one.args or one.keywords or one.receiver is not None or one.gradient for one in callees):
        return False
    given = call.args[1:] if bound else call.args
    names = [word.arg for word in call.keywords if word.value is node and word.arg is not None]
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
