"""Writes into a NumPy array as it is: by index, by an operator, or by a function that fills it."""

from __future__ import annotations

import ast

from codemods.nnx.facts import Scope
from codemods.nnx.lint.syntax import inside, own_nodes
from codemods.nnx.nodes import last_word

_FILLING = frozenset({"copyto", "put", "place", "putmask"})


def filled(scope: Scope, array: ast.expr, within: ast.AST | None = None) -> bool:
    """Say whether a function writes into an array.

    Args:
        scope: the function's scope.
        array: the array as a variable or an attribute.
        within: the part of the function that counts; None for all of it.
    """
    text = _text(array)
    nodes = own_nodes(scope.node)  # type: ignore[arg-type]
    return any(_writes(node, text) and (within is None or inside(node, within)) for node in nodes)


def _text(node: ast.expr) -> str:
    """Return a variable or attribute as it is written, whether it is read or written to."""
    return ast.unparse(node)


def _writes(node: ast.AST, text: str) -> bool:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return _text(node.value) == text
    if isinstance(node, ast.AugAssign):
        return _text(node.target) == text
    if not isinstance(node, ast.Call):
        return False
    if any(word.arg == "out" and _text(word.value) == text for word in node.keywords):
        return True
    if last_word(node.func) in _FILLING:
        part = node.args[0] if node.args else None
        whole = part.value if isinstance(part, ast.Subscript) else part
        return part is not None and whole is not None and text in {_text(part), _text(whole)}
    return isinstance(node.func, ast.Attribute) and node.func.attr == "fill" and _text(node.func.value) == text
