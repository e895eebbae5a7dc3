"""Optimizers and metrics that nnx.scan gives to every round as they were, so that updates are lost; part of NNX816."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.lint.applied import option, skipped
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import is_none
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Param


def broadcast_updates(context: Context, changed: set[Param], root: Root) -> Iterator[tuple[ast.expr, str]]:
    """Yield the parameters of the body of a scan that it updates, and that have None for an axis, with their axes.

    Args:
        context: the analysis.
        changed: the parameters that the body changes.
        root: the scan.
    """
    axes = option(root, "in_axes") if root.options else None
    if root.partial or not isinstance(axes, ast.Tuple | ast.List) or in_test(root.scope):
        return
    scope = root.function.scope
    updated = {
        scope.module.values.get(event.node.func.value)
        for event in context.bodies.calls.get(scope, ())
        if isinstance(event.node.func, ast.Attribute) and event.node.func.attr == "update" and not event.used
    }
    params = list(root.function.params.values())[skipped(root) :]
    whole = [(axis, param) for axis, param in zip(axes.elts, params, strict=False) if is_none(axis)]
    if any(param in updated and param in changed for _, param in whole):
        yield from ((axis, param.name) for axis, param in whole if param in changed)
