"""How code asks whether two objects are the same: by operators, by ``id``, and by methods of tests."""

from __future__ import annotations

import ast

from codemods.nnx.nodes import last_word

#: Functions and methods of tests that ask so of their first two arguments.
ASKING = frozenset({"assertIs", "assertIsNot", "assertEqual", "assertNotEqual", "is_", "is_not"})


def identified(node: ast.expr) -> ast.expr | None:
    """Return ``x`` of ``id(x)``, which is compared as `is` compares."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "id":
        return node.args[0] if len(node.args) == 1 and not node.keywords else None
    return None


def told_alike(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the two objects, without ``id`` around them, that a comparison or a call asks to be the same or equal.

    Of a chain of comparisons these are the first two; None for anything else.
    """
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        one, two = node.left, node.comparators[0]
    elif isinstance(node, ast.Call) and last_word(node.func) in ASKING and len(node.args) > 1:
        one, two = node.args[:2]
    else:
        return None
    return identified(one) or one, identified(two) or two
