"""Attributes that are Variables by how the same function reads them; part of NNX846."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.syntax import root_of

_READS = frozenset({"value", "get_value", "raw_value"})


def read_as_variable(context: Context, event: AttrEvent) -> bool:
    """Say whether a function that stores an attribute of a model's part reads its ``.value`` before, for certain.

    Args:
        context: the analysis.
        event: the store.
    """
    root = root_of(event.node.value)
    value = event.scope.module.values.get(root)
    if value is None or not isinstance(event.node.value, ast.Attribute):
        return False
    if not context.kinds.of(context.flow.here(value, event.scope)) & {Kind.MODULE, Kind.OPTIMIZER}:
        return False
    text = ast.unparse(event.node)
    for node in context.bodies.nodes(event.scope):
        if not isinstance(node, ast.Attribute) or node.attr not in _READS or node.lineno >= event.statement.lineno:
            continue
        read = node.value
        if isinstance(read, ast.Name):
            read = bound_once(context, event.scope, read) or read
        if isinstance(read, ast.Attribute) and ast.unparse(read) == text:
            return True
    return False
