"""NNX626: the outer product of two vectors written with a transpose, which makes nothing of a vector."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Loop

_PRODUCTS = frozenset({"dot", "matmul"})
_DEPTH = 6  # how many factors and terms a product is looked for in


def _check(context: Context) -> Iterator[Finding]:
    modules = {m for m in context.asked.modules if m.source.mentions(b".T") or m.source.mentions(b"transpose")}
    if not modules:
        return
    told: set[ast.expr] = set()
    for scope, node in each(context, ast.BinOp, ast.AugAssign):
        if scope.module not in modules or not isinstance(node, ast.BinOp | ast.AugAssign) or in_test(scope):
            continue
        if not isinstance(node.op, ast.Add | ast.Sub):
            continue
        sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        for matrix, term in (sides, sides[::-1]):
            product = _product(context, term, scope, 0)
            pair = _vectors(product) if product is not None and product not in told else None
            if product is None or pair is None or not _is_matrix(context, matrix, scope):
                continue
            if all(_is_vector(context, one, scope) for one in pair):
                told.add(product)
                yield finding(
                    RULE.code,
                    scope,
                    product,
                    f"`{ast.unparse(pair[1])}` has one axis, and its transpose is itself: this product is one number, "
                    "which is added to each entry of the matrix",
                    f"take jnp.outer({ast.unparse(pair[0])}, {ast.unparse(pair[1])})",
                )


def _is_matrix(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression has two axes: known from where it was made, or as ``v @ a @ v.T`` of such a v."""
    arrays, value = Arrays(context, {}), scope.module.values.get(node)
    if isinstance(value, Loop) and arrays.of(value.before, scope).axes == 2:  # a sum over rounds keeps its axes
        return True
    if arrays.written(node, scope).axes == 2:
        return True
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.MatMult):
        return False
    if not isinstance(node.left, ast.BinOp) or not isinstance(node.left.op, ast.MatMult):
        return False
    right, first = node.right, node.left.left
    while isinstance(first, ast.BinOp) and isinstance(first.op, ast.MatMult):
        first = first.left
    turned = isinstance(right, ast.Attribute) and ast.dump(right.value) == ast.dump(first)
    return turned and arrays.written(first, scope).axes == 2


def _is_vector(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression has one axis, also as a vector times and by numbers."""
    if Arrays(context, {}).written(node, scope).axes == 1:
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        sides = [node.left, node.right] if isinstance(node.op, ast.Mult) else [node.left]
        names = _vector_names(context, scope)
        return any(
            isinstance(one, ast.Name) and one.id in names and _is_number(context, other, scope)
            for one, other in zip(sides, (node.right, node.left), strict=False)
        )
    return isinstance(node, ast.Name) and node.id in _vector_names(context, scope)


def _is_number(context: Context, node: ast.expr, scope: Scope) -> bool:
    made = written(context, node, scope)
    return Arrays(context, {}).written(node, scope).axes == 0 or _inverted(made) is not None


def _inverted(node: ast.AST) -> ast.expr | None:
    """Return the product by which a number is divided, or with which one is compared."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.left, ast.Constant):
        return node.right
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.comparators[0], ast.Constant):
        return node.left
    return None


def _vector_names(context: Context, scope: Scope) -> set[str]:
    """Return the names of vectors by what a body does with them: ``1.0 / (y @ s)`` beside ``s @ y.T``.

    Both products are possible for vectors and for square matrices alone, of which no number is divided by the first.
    """
    products, turned = set(), set()
    for node in context.bodies.nodes(scope):
        inner = _inverted(node)
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.MatMult):
            products.add(frozenset(one.id for one in (inner.left, inner.right) if isinstance(one, ast.Name)))
        pair = _vectors(node) if isinstance(node, ast.expr) else None
        if pair is not None:
            turned.add(frozenset({n.id for one in pair for n in ast.walk(one) if isinstance(n, ast.Name)}))
    return {name for both in products if len(both) == 2 and any(both <= one for one in turned) for name in both}


def _product(context: Context, node: ast.expr, scope: Scope, depth: int) -> ast.expr | None:
    """Return the product with a transpose that a term is, times and by numbers."""
    if depth > _DEPTH:
        return None
    if _vectors(node) is not None:
        return node
    if isinstance(node, ast.UnaryOp):
        return _product(context, node.operand, scope, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        found = _product(context, node.left, scope, depth + 1)
        if found is None and isinstance(node.op, ast.Mult):
            found = _product(context, node.right, scope, depth + 1)
        return found
    made = written(context, node, scope) if isinstance(node, ast.Name) else node
    return _product(context, made, scope, depth + 1) if made is not node else None


def _vectors(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return both factors of ``a @ b.T``, the second without its transpose."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        left, right = node.left, node.right
    elif isinstance(node, ast.Call) and last_word(node.func) in _PRODUCTS and not node.keywords:
        given = [*node.args]
        if len(given) == 1 and isinstance(node.func, ast.Attribute):
            given.insert(0, node.func.value)
        if len(given) != 2:
            return None
        left, right = given
    else:
        return None
    inner: ast.expr | None = None
    if isinstance(right, ast.Attribute) and right.attr in {"T", "mT"}:
        inner = right.value
    elif isinstance(right, ast.Call) and last_word(right.func) == "transpose" and len(right.args) < 2:
        inner = right.args[0] if right.args else right.func.value if isinstance(right.func, ast.Attribute) else None
    return (left, inner) if inner is not None else None


_BAD = """\
import jax.numpy as jnp


def updated(hessian, step, change):
    rho = 1.0 / (change @ step)
    v = jnp.eye(len(step)) - rho * (step @ change.T)
    return v @ hessian @ v.T + rho * jnp.outer(step, step)


print(updated(jnp.eye(2), jnp.array([0.1, 0.2]), jnp.array([1.0, 0.5])))
"""

RULE = lint_rule(
    "NNX626",
    "transposed-vector",
    "an outer product of vectors with one axis, written with a transpose",
    why="""\
In formulas `s s^T` is a matrix, of a column `s`. An array with one axis is no column: `s.T` is `s`, and `s @ s.T` one
number, which broadcasting adds to each entry of a matrix without an error. The product of each with each is
`jnp.outer(s, y)`, or `s[:, None] * y[None, :]`.
""",
    source="NumPy documentation of ndarray.T; measured on JAX 0.6.2, 0.7.2 and 0.10.2: one number in place of a matrix",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(step @ change.T)", "jnp.outer(step, change)"),),
)
