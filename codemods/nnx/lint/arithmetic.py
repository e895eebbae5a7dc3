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
    """Return x of ``1 - x`` and ``jnp.asarray(1.0) - x``; None for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _is_one(node.left):
        return node.right
    return None


def _is_one(node: ast.expr) -> bool:
    """Say whether an expression is the number one, also as an array of one number."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        if node.func.attr in _SCALARS:
            return constant(node.args[0]) == 1
        return node.func.attr == "ones_like" and not node.keywords
    return constant(node) == 1


_SCALARS = frozenset({"asarray", "array", "float32", "float64", "bfloat16", "float16"})
