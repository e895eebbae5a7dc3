"""Gradients that a function computes without their loss, and never reads; part of NNX871."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import may_read
from codemods.nnx.patterns import pattern

_MEASURED = pattern("bench|profil|time|warm|compile|trace|memory")


def gradients_unread(context: Context) -> Iterator[tuple[CallEvent, ast.Name]]:
    """Yield the calls of ``grad(loss)(model)`` whose result gets a name of its own, with the name.

    Args:
        context: the analysis.
    """
    for maker, name in foreign(context, "grad"):
        function, statement = maker.scope.function, maker.statement
        if name not in {"jax.grad", "flax.nnx.grad"} or function is None or not isinstance(statement, ast.Assign):
            continue
        call, target = statement.value, statement.targets[0]
        if not isinstance(call, ast.Call) or call.func is not maker.node or len(statement.targets) != 1:
            continue
        if not isinstance(target, ast.Name) or "grad" not in target.id or target.id.startswith("_"):
            continue
        if in_test(maker.scope) or _MEASURED.search(function.name) or context.bodies.guarded(maker.node, maker.scope):
            continue
        if not may_read(function.node, target.id):
            yield maker, target
