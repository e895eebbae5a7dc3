"""Where a body runs a compiled method of an object, by another method too, or by a function that gets the object."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope

_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})
_DEPTH = 3  # methods that call methods


def running_calls(
    context: Context, scope: Scope, owner: str, name: str, cls: ClassFacts | None
) -> list[ast.stmt | ast.expr]:
    """Return the calls of a body that run a method of an object, one that calls it, or a function that does so.

    Args:
        context: the analysis.
        scope: the body.
        owner: the object, as it is written there.
        name: the method.
        cls: the class that has it; None if it is not known.
    """
    names = _methods(context, name, cls)
    return [
        event.node
        for event in context.bodies.calls.get(scope, ())
        if _calls(event, owner, names) or _hands_on(context, event, owner, names)
    ]


def _calls(event: CallEvent, owner: str, names: frozenset[str]) -> bool:
    func = event.node.func
    if "__call__" in names and ast.unparse(func) == owner:
        return True
    return isinstance(func, ast.Attribute) and func.attr in names and ast.unparse(func.value) == owner


def _methods(context: Context, name: str, cls: ClassFacts | None) -> frozenset[str]:
    """Return the methods of a class that call one of its methods on their own object, with that method."""
    found = {name}
    for _ in range(_DEPTH if cls is not None else 0):
        more = {
            method.name
            for one in context.flow.classes.mro(cls)[0]  # type: ignore[arg-type]
            for method in one.methods.values()
            if method.binding == "instance" and method.self_param is not None and method not in context.traced
            and method.name not in found and method.name not in _CONSTRUCTORS
            and _runs(context, method, method.self_param.name, frozenset(found))
        }  # fmt: skip
        if not more:
            break
        found |= more
    return frozenset(found)


def _runs(context: Context, function: FunctionFacts, owner: str, names: frozenset[str]) -> bool:
    return any(_calls(event, owner, names) for event in context.bodies.calls.get(function.scope, ()))


def _hands_on(context: Context, event: CallEvent, owner: str, names: frozenset[str]) -> bool:
    """Say whether a call gives the object to a function that runs one of the methods."""
    if event.value.starred:
        return False
    given = [(i, node) for i, node in enumerate(event.node.args) if ast.unparse(node) == owner]
    words = [k.arg for k in event.node.keywords if k.arg and ast.unparse(k.value) == owner]
    if not given and not words:
        return False
    callees = context.flow.calls.callables(context.flow.here(event.value.callee, event.scope))
    if len(callees) != 1 or callees[0].args or callees[0].receiver is not None:
        return False
    function = callees[0].function
    params = list(function.params)
    taken = [params[i] for i, _ in given if i < function.positional] + [word for word in words if word in params]
    return function not in context.traced and any(_runs(context, function, param, names) for param in taken)
