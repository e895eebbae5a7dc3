"""Carries that are dicts or lists, which the body of a loop changes in place and returns."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.values import Attr, Param

_CHANGING = frozenset({"append", "clear", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"})


def changed_in_place(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function calls a method of a parameter that changes it, as ``carry.update(key=key)`` does.

    Args:
        context: the analysis.
        function: the body of a loop.
    """
    return any(
        isinstance(event.statement, ast.Expr)
        and event.statement.value is event.node
        and isinstance(event.value.callee, Attr)
        and event.value.callee.name in _CHANGING
        and isinstance(event.value.callee.base, Param)
        and event.value.callee.base.function is function
        for event in context.bodies.calls.get(function.scope, ())
    )
