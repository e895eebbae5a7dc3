"""NNX767: a share of hits that is divided without its fraction."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, written
from codemods.nnx.lint.syntax import names_in, operands
from codemods.nnx.nodes import last_word


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.FloorDiv):
            continue
        if _totals(context, node, scope):
            yield _found(scope, node)
            continue
        hits = _hits(context, node.left, scope, 0)
        size = _size(node.right) if hits is not None else None
        if hits is not None and ((size is not None and size & names_in(hits)) or _among(node)):
            yield _found(scope, node)


def _found(scope: Scope, node: ast.AST) -> Finding:
    return finding(
        RULE.code, scope, node, "`//` cuts the fraction off: this is 0 unless all of them are hits", "divide by /"
    )


def _among(node: ast.BinOp) -> bool:
    """Say whether hits are divided by a sum that has them in it: ``tp // (tp + fp)``."""
    text = ast.unparse(node.left)
    parts = operands(node.right, ast.Add)
    return len(parts) > 1 and any(ast.unparse(part) == text for part in parts)


def _totals(context: Context, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether a quotient is that of what a loop counted: hits by examples."""
    left, right = node.left, node.right
    if not isinstance(left, ast.Name | ast.Attribute) or not isinstance(right, ast.Name | ast.Attribute):
        return False
    return any(_hits(context, _bare(part), scope, 0) is not None for part in _added(context, left, scope)) and any(
        _size(part) is not None for part in _added(context, right, scope)
    )


def _added(context: Context, total: ast.expr, scope: Scope) -> Iterator[ast.expr]:
    """Yield what is added to a variable or attribute: in its scope, of an attribute everywhere in the class."""
    text = ast.unparse(total)
    owner = scope.function.owner if scope.function is not None else None
    every = isinstance(total, ast.Attribute) and owner is not None
    for one in (method.scope for method in owner.methods.values()) if every and owner is not None else (scope,):
        for node in context.bodies.nodes(one):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and ast.unparse(node.target) == text:
                yield node.value
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and len(node.targets) == 1:
                if ast.unparse(node.targets[0]) == text == ast.unparse(node.value.left):
                    yield node.value.right


def _bare(node: ast.expr) -> ast.expr:
    """Return what is turned into a number of Python."""
    if isinstance(node, ast.Call) and last_word(node.func) in {"int", "float"} and len(node.args) == 1:
        return _bare(node.args[0])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item":
        return node.func.value
    return node


def _hits(context: Context, node: ast.expr, scope: Scope, depth: int) -> ast.expr | None:
    """Return the comparison whose hits an expression counts."""
    if isinstance(node, ast.Name) and depth == 0:
        value = getattr(scope.module.values.get(node), "node", None)
        return _hits(context, value, scope, 1) if isinstance(value, ast.Call) else None
    if not isinstance(node, ast.Call) or last_word(node.func) not in {"sum", "count_nonzero"}:
        return None
    inner: ast.expr | None = None
    if isinstance(node.func, ast.Attribute) and not node.args:
        inner = node.func.value
    elif len(node.args) == 1 and not node.keywords:
        inner = node.args[0]
    if inner is None:
        return None
    compared = written(context, inner, scope)
    if not _compares(compared):
        return None
    return ast.Tuple([inner, compared], ast.Load())  # both may be in the size


def _compares(node: ast.expr) -> bool:
    """Say whether an expression is a comparison for equality, or several of which all must hold."""
    if isinstance(node, ast.Compare):
        return isinstance(node.ops[0], ast.Eq)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        return _compares(node.left) and _compares(node.right)
    if isinstance(node, ast.Call) and last_word(node.func) == "logical_and":
        return len(node.args) == 2 and all(map(_compares, node.args))
    return isinstance(node, ast.Call) and last_word(node.func) == "equal" and len(node.args) == 2


def _size(node: ast.expr) -> frozenset[str] | None:
    """Return the names in the size of an array; None if an expression is none."""
    if isinstance(node, ast.Call) and last_word(node.func) == "len" and len(node.args) == 1:
        return names_in(node.args[0])
    inner = node.value if isinstance(node, ast.Subscript) else node
    if isinstance(inner, ast.Attribute) and inner.attr in {"shape", "size"}:
        return names_in(inner.value)
    return None


RULE = lint_rule(
    "NNX767",
    "whole-share",
    "hits divided by their number with //",
    why="""\
`(predictions == labels).sum()` is an integer, and `//` keeps it one: the accuracy is 0 until every single prediction is
right. `/` gives the share, as does the mean of the comparison.
""",
    source="questions on accuracies that stay 0; measured on JAX 0.6.2 and 0.10.2: 0 for 9 of 10",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp


def accuracy(logits, labels):
    return (jnp.argmax(logits, axis=-1) == labels).sum() // len(labels)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


def accuracy(logits, labels):
    return (jnp.argmax(logits, axis=-1) == labels).sum() / len(labels)
""",
    ),
)
