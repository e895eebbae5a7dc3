"""What products, squares and differences from one are made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word


def factors(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what is multiplied, without signs."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        yield from factors(node.operand)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from factors(node.left)
        yield from factors(node.right)
    else:
        yield node


def squared(node: ast.expr | None) -> ast.expr | None:
    """Return x of ``x**2``, ``x * x`` and ``jnp.square(x)``; None for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return node.left if constant(node.right) == 2 else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return node.left if ast.dump(node.left) == ast.dump(node.right) else None
    if isinstance(node, ast.Call) and last_word(node.func) == "square" and len(node.args) == 1:
        return node.args[0]
    return None


def complement(node: ast.expr | None) -> ast.expr | None:
    """Return x of ``1 - x``; None for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and constant(node.left) == 1:
        return node.right
    return None
