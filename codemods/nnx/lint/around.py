"""What a node of a body stands in."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.nodes import children


def around(context: Context, scope: Scope) -> dict[ast.AST, ast.AST]:
    """Return the node right above each node of a function's or module's body, without those of inner functions."""
    return context.shared(_parents).of(scope)


class _Parents:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._found: dict[Scope, dict[ast.AST, ast.AST]] = {}

    def of(self, scope: Scope) -> dict[ast.AST, ast.AST]:
        if scope not in self._found:
            nodes = self._context.bodies.nodes(scope)
            self._found[scope] = {child: node for node in nodes for child in children(node)}
        return self._found[scope]


def _parents(context: Context) -> _Parents:
    return _Parents(context)
