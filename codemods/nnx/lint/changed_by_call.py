"""Merged objects that a function of the project updates; part of NNX811."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.dropped_update import changed, returned_names
from codemods.nnx.lint.places import kinds_of, position
from codemods.nnx.lint.syntax import argument

_UPDATED = frozenset({Kind.OPTIMIZER, Kind.METRIC})


def changed_by_call(context: Context, event: CallEvent, names: set[str]) -> bool:
    """Say whether a call gives an optimizer or a metric of some names to a function that updates it, and keeps it.

    Args:
        context: the analysis.
        event: the call.
        names: the variables that hold the objects.
    """
    nodes = (*event.node.args, *(k.value for k in event.node.keywords))
    if event.value.starred or not any(isinstance(node, ast.Name) and node.id in names for node in nodes):
        return False
    for callee in context.flow.calls.callables(context.flow.here(event.value.callee, event.scope)):
        if callee.gradient or callee.args or callee.receiver is not None:
            continue
        returned = returned_names(context, callee.function)
        for param in changed(context, callee.function):
            if param.name in returned:
                continue
            node = argument(event.node, position(param), param.name)
            if isinstance(node, ast.Name) and node.id in names:
                if kinds_of(context, param, callee.function.scope) & _UPDATED:
                    return True
    return False
