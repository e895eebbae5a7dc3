"""Names that code only tries: under ``try``, or where it has asked for them or for a version."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope


def attempted(context: Context, node: ast.AST, scope: Scope) -> bool:
    """Say whether a node is one of several ways: in a ``try``, or below a test of what there is or of a version."""
    return context.bodies.guarded(node, scope) or any(
        isinstance(block, ast.Try) or (isinstance(block, ast.If | ast.IfExp) and asks(block.test))
        for block, _ in context.bodies.paths(scope).get(node, ())
    )


def importing(context: Context, module: ModuleFacts, statement: ast.stmt) -> Scope:
    """Return the scope in which an import stands."""
    inner = (function.scope for function in module.functions)
    return next((scope for scope in inner if statement in context.bodies.paths(scope)), module.scope)


def asks(node: ast.AST) -> bool:
    """Say whether something asks whether a name is there, or which version runs."""
    words = [str(getattr(n, "id", getattr(n, "attr", ""))) for n in ast.walk(node)]
    return any(word == "hasattr" or "version" in word.lower() for word in words)


def unread(module: ModuleFacts) -> set[ast.AST]:
    """Return the nodes of annotations that nothing evaluates, under ``from __future__ import annotations``."""
    found: set[ast.AST] = set()
    for node in module.source.nodes if module.postpones else ():
        written = node.returns if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
        if isinstance(node, ast.arg | ast.AnnAssign):
            written = node.annotation
        if written is not None:
            found.update(ast.walk(written))
    return found
