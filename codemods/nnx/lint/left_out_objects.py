"""Methods that traced code seems to call, of an object that only other callers give."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.places import callers_of, position
from codemods.nnx.lint.syntax import argument, is_none
from codemods.nnx.values import Const, Param


def of_left_out_object(context: Context, scope: Scope) -> bool:
    """Say whether a method is only called of objects for which traced code leaves a parameter at None.

    As the writer of ``run(model, writer=None)``: who simulates gives one that keeps the numbers, and the loss that is
    differentiated gives none.

    Args:
        context: the analysis.
        scope: the body of the method.
    """
    method = scope.function
    tracing = context.traced.known.get(method) if method is not None else None
    if method is None or method.owner is None or tracing is None or tracing.roots:
        return False  # what is differentiated without being compiled is no root
    calls = [call for call in context.flow.sites.calls_of(method.name) if call.scope.function in context.traced]
    makers = context.flow.sites.constructions(method.owner)
    return bool(calls) and all(_left_out(context, call, makers) for call in calls)


def _left_out(context: Context, call: CallEvent, makers: list[CallEvent]) -> bool:
    """Say whether the object of a method that is called is an optional parameter which no traced caller gives, and
    for which the function makes no such object itself."""
    function, func = call.scope.function, call.node.func
    if function is None or not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return False
    param = function.params.get(func.value.id)
    if param is None or function.defaults.get(param.name) != Const(None) or context.traced.known[function].roots:
        return False
    if any(made.scope.function is function for made in makers):
        return False
    tracing = [caller for caller in callers_of(context, function) if caller.scope.function in context.traced]
    return bool(tracing) and not any(gives(caller, param) for caller in tracing)


def gives(event: CallEvent, param: Param) -> bool:
    """Say whether a call gives something for a parameter, which is not known to be None."""
    node = argument(event.node, position(param), param.name)
    if node is None:
        return event.value.starred
    return not is_none(node)
