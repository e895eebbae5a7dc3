"""A ModelAndOptimizer whose model has another name by now; part of NNX854."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import foreign, in_test, kinds_of
from codemods.nnx.lint.syntax import Path, argument


def stale_pairs(context: Context, code: str) -> Iterator[Finding]:
    """Yield the models that are bound anew between the making of their ModelAndOptimizer and its use.

    Args:
        context: the analysis.
        code: the rule that reports them.
    """
    for event, name in foreign(context, "ModelAndOptimizer"):
        statement = event.statement
        if name != "flax.nnx.ModelAndOptimizer" or in_test(event.scope) or not isinstance(statement, ast.Assign):
            continue
        if statement.value is not event.node or len(statement.targets) != 1:
            continue
        model, target = argument(event.node, 0, "model"), statement.targets[0]
        if isinstance(model, ast.Name) and isinstance(target, ast.Name):
            yield from _rebound(context, event, statement, model.id, target.id, code)


def _rebound(
    context: Context, event: CallEvent, made: ast.Assign, model: str, optimizer: str, code: str
) -> Iterator[Finding]:
    scope, paths = event.scope, context.bodies.paths(event.scope)
    names = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.Name)]
    if sum(n.id == optimizer and isinstance(n.ctx, ast.Store) for n in names) != 1:
        return
    for node in context.bodies.nodes(scope):
        if not isinstance(node, ast.Assign) or node.lineno <= made.lineno or not isinstance(node.value, ast.Call):
            continue
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name) or node.targets[0].id != model:
            continue
        if not _around(paths.get(node, ()), paths.get(made, ())):
            continue
        value = scope.module.values.get(node.value)
        if value is None or kinds_of(context, value, scope) != {Kind.MODULE}:
            continue
        later = [n for n in names if n.lineno > (node.end_lineno or node.lineno) and isinstance(n.ctx, ast.Load)]
        if {model, optimizer} <= {n.id for n in later}:
            yield finding(
                code,
                scope,
                node,
                f"`{optimizer}` was made for what `{model}` was before: it goes on changing that, and not this object",
                f"change the object itself, with nnx.update({model}, state), or make the optimizer behind this line",
                related=[(made, "the optimizer is made here")],
            )
            return


def _around(rebinding: Path, making: Path) -> bool:
    """Say whether the blocks around a rebinding are all around the making, too, so that it is always reached."""
    return all(block in making for block in rebinding)
