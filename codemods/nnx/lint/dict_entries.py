"""What an array comes from that may be a leaf of a tree of parameters, which the steps of an optimizer mix."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.places import each
from codemods.nnx.lint.syntax import constant


def sources_of(context: Context, node: ast.expr, scope: Scope) -> list[Bound]:
    """Return what an expression may come from; of ``params["w"]`` the only entry of that name in a dict.

    Args:
        context: the analysis.
        node: the expression.
        scope: the body that it stands in.

    Returns:
        The sources; nothing if the entry is not the only one of its name.
    """
    value = scope.module.values.get(node)
    found = [*context.sources.originals(context.flow.here(value, scope))] if value is not None else []
    key = constant(node.slice) if isinstance(node, ast.Subscript) else None
    if len(found) < 2 or not isinstance(key, str):
        return found
    entries = [
        (home, home.module.values.get(entry))
        for home, display in each(context, ast.Dict)
        for name, entry in zip(display.keys, display.values, strict=True)
        if constant(name) == key
    ]
    if len(entries) != 1 or entries[0][1] is None:
        return []
    return [*context.sources.originals(context.flow.here(entries[0][1], entries[0][0]))]
