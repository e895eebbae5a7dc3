"""Which variables of a function its inner functions bind."""

from __future__ import annotations

import ast

from codemods.nnx.source import Source


def handed(source: Source) -> dict[ast.AST, frozenset[str]]:
    """Return the names of each function that an inner function declares ``nonlocal``.

    Args:
        source: the text of a module.
    """
    declared = [*source.of_type(ast.Nonlocal)]
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = (
        [*source.of_type(ast.FunctionDef), *source.of_type(ast.AsyncFunctionDef)] if declared else []
    )
    found: dict[ast.AST, set[str]] = {}
    for node in declared:
        around = [one for one in functions if one.lineno <= node.lineno <= (one.end_lineno or one.lineno)]
        around.sort(key=lambda one: (one.lineno, one.col_offset), reverse=True)
        for name in node.names:
            owner = next((one for one in around[1:] if _binds(one, name)), None)
            if owner is not None:
                found.setdefault(owner, set()).add(name)
    return {one: frozenset(names) for one, names in found.items()}


def _binds(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Say whether a variable is a function's own."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    if any(one is not None and one.arg == name for one in every):
        return True
    bound = False
    pending: list[ast.AST] = [*function.body]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound = bound or node.name == name
        elif isinstance(node, ast.Global | ast.Nonlocal):
            if name in node.names:
                return False
        elif isinstance(node, ast.Name):
            bound = bound or (node.id == name and not isinstance(node.ctx, ast.Load))
        elif isinstance(node, ast.alias):
            bound = bound or (node.asname or node.name.split(".")[0]) == name
        elif isinstance(node, ast.ExceptHandler) and node.name == name:
            bound = True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            pending += ast.iter_child_nodes(node)
    return bound
