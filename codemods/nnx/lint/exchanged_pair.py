"""Bodies of a scan that return their outputs where the carry belongs, by what the scan's result is unpacked into; part
of NNX865."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.lint.loop_bodies import bodies
from codemods.nnx.lint.places import in_test
from codemods.nnx.nodes import elements
from codemods.nnx.values import Param


def exchanged_pairs(context: Context) -> Iterator[tuple[FunctionFacts, ast.expr, str]]:
    """Yield the bodies that return several things and then one, though their scan gives one carry and several outputs,
    with the carry's parameter.

    Args:
        context: the analysis.
    """
    for body in bodies(context):
        function, statement, free = body.function, body.event.statement, body.free
        if body.loop != "jax.lax.scan" or not free or len(free) != 2 or in_test(function.scope):
            continue
        if not isinstance(statement, ast.Assign) or statement.value is not body.event.node:
            continue
        target = statement.targets[0]
        returned = [n.value for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
        value = returned[0] if len(returned) == 1 else None
        if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
            continue
        if len(target.elts) != 2 or len(value.elts) != 2 or function.scope.module not in context.asked:
            continue
        outputs, several = elements(target.elts[1]), elements(value.elts[0])
        if len(several) < 2 or len(outputs) != len(several) or not isinstance(target.elts[0], ast.Name):
            continue
        if isinstance(value.elts[1], ast.Name) and not _taken_apart(context, function, function.params[free[0]]):
            yield function, value, free[0]


def _taken_apart(context: Context, function: FunctionFacts, carry: Param) -> bool:
    """Say whether a body looks into its carry, as into something with parts."""
    values = function.scope.module.values
    return any(
        (isinstance(n, ast.Subscript | ast.Starred) and values.get(n.value) is carry)
        or (
            isinstance(n, ast.Assign)
            and isinstance(n.targets[0], ast.Tuple | ast.List)
            and values.get(n.value) is carry
        )
        or (isinstance(n, ast.For | ast.comprehension) and values.get(n.iter) is carry)
        for n in context.bodies.nodes(function.scope)
    )
