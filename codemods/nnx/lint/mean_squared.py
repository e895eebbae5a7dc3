"""NNX668: the square of a mean or a sum, where that of the squares is meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import squared
from codemods.nnx.lint.around import around
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import names_in, operands, written_number
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_ROOTS = frozenset({"sqrt", "rsqrt"})
_WORDS = pattern(rb"r?sqrt\(", needs=(b"sqrt(",))
_SMALL = pattern(r"(\w+\.)*_?(\w+_)?eps(ilon)?")


def _check(context: Context) -> Iterator[Finding]:
    modules = {m for m in context.asked.modules if m.source.matches(_WORDS) and m.source.mentions(b"mean")}
    for scope, node in each(context, ast.Call) if modules else ():
        if last_word(node.func) not in _ROOTS or len(node.args) != 1 or scope.module not in modules or in_test(scope):
            continue
        terms = operands(written(context, node.args[0], scope), ast.Add)
        squares = [(one, mean) for one in terms if (mean := _mean(context, one, scope)) is not None]
        if len(squares) != 1 or not all(_small(one) for one in terms if one is not squares[0][0]):
            continue
        square, whole = squares[0]
        given = written(context, whole, scope)
        error = isinstance(given, ast.BinOp) and isinstance(given.op, ast.Sub)
        if not ((error and len(terms) == 1) or _scales(context, scope, node, ast.unparse(whole))):
            continue
        yield finding(
            RULE.code,
            scope,
            square,
            "this is the square of the mean, in which values of both signs cancel, not the mean of the squares",
            f"square first: jnp.mean(({ast.unparse(whole)}) ** 2)",
        )
    yield from _of_leaves(context)


def _of_leaves(context: Context) -> Iterator[Finding]:
    """Yield the squares of the sums of leaves, added up: ``sum(jnp.sum(p) ** 2 for p in jax.tree.leaves(params))``."""
    modules = {module for module in context.asked.modules if module.source.mentions(b"leaves")}
    for scope, node in each(context, ast.GeneratorExp, ast.ListComp) if modules else ():
        if (
            not isinstance(node, ast.GeneratorExp | ast.ListComp)
            or scope.module not in modules
            or in_test(scope)
            or len(node.generators) != 1
        ):
            continue
        loop = node.generators[0]
        leaves = isinstance(loop.iter, ast.Call) and last_word(loop.iter.func) in {"leaves", "tree_leaves"}
        if not leaves or not isinstance(loop.target, ast.Name):
            continue
        if _is_norm(node.elt, loop.target.id) and _of_whole(context, scope, node):
            yield finding(
                RULE.code,
                scope,
                node.elt,
                "the norms of the leaves are added up, which is more than the norm of them all",
                "take optax.global_norm(tree), or the root of the sum of the squares",
            )
        summed = squared(node.elt)
        if isinstance(summed, ast.Call) and last_word(summed.func) == "sum":
            given = array_of(summed)
            if isinstance(given, ast.Name) and given.id == loop.target.id:
                yield finding(
                    RULE.code,
                    scope,
                    node.elt,
                    "this is the square of the sum of a leaf, in which both signs cancel, not the sum of squares",
                    f"square first: jnp.sum({loop.target.id} ** 2)",
                )


_WHOLE = pattern(r"(^|_)(global|total|tree)_?norm|(^|_)grads?(ient)?s?_?norm$|^g_?norm$")


def _is_norm(node: ast.expr, leaf: str) -> bool:
    """Say whether an expression is the norm of a leaf: ``jnp.linalg.norm(g)``."""
    if not isinstance(node, ast.Call) or last_word(node.func) != "norm" or len(node.args) != 1 or node.keywords:
        return False
    return leaf in names_in(node.args[0])


def _of_whole(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether the sum of something is called the norm of a whole tree."""
    above = around(context, scope)
    whole = above.get(node)
    if isinstance(whole, ast.List):
        whole = above.get(whole)
    if not isinstance(whole, ast.Call) or last_word(whole.func) != "sum" or len(whole.args) != 1:
        return False
    holder = above.get(whole)
    if isinstance(holder, ast.Return):
        return scope.function is not None and _WHOLE.search(scope.function.name) is not None
    return isinstance(holder, ast.Assign) and any(_WHOLE.search(last_word(one)) for one in holder.targets)


def _mean(context: Context, node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the array whose mean an expression squares."""
    inner = squared(node)
    made = written(context, inner, scope) if inner is not None else None
    return array_of(made) if isinstance(made, ast.Call) and last_word(made.func) == "mean" else None


def _small(node: ast.expr) -> bool:
    """Say whether a number is there only against a division by zero."""
    number = written_number(node)
    if number is not None:
        return 0 < number <= 1e-2
    return bool(_SMALL.fullmatch(ast.unparse(node)))


def _scales(context: Context, scope: Scope, root: ast.Call, array: str) -> bool:
    """Say whether an array is divided by the root of its own mean, or multiplied by the inverse."""
    operator = ast.Div if last_word(root.func) == "sqrt" else ast.Mult
    above = around(context, scope)
    statement: ast.AST = root
    while statement in above and not isinstance(statement, ast.stmt):
        product = above[statement]
        if isinstance(product, ast.BinOp) and isinstance(product.op, operator) and _divides(product, statement, array):
            return True
        statement = product
    if not isinstance(statement, ast.Assign) or statement.value is not root or len(statement.targets) != 1:
        return False
    name = statement.targets[0]
    return isinstance(name, ast.Name) and any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, operator)
        and any(
            isinstance(side, ast.Name) and side.id == name.id and _divides(node, side, array) for side in _sides(node)
        )
        for node in context.bodies.nodes(scope)
    )


def _sides(node: ast.BinOp) -> tuple[ast.expr, ast.expr]:
    return node.left, node.right


def _divides(node: ast.BinOp, root: ast.AST, array: str) -> bool:
    """Say whether a quotient or product scales an array by a root: ``x / root``, or ``x * root`` in either order."""
    if isinstance(node.op, ast.Div):
        return node.right is root and array in map(ast.unparse, operands(node.left, ast.Mult))
    other = node.left if node.right is root else node.right
    return array in map(ast.unparse, operands(other, ast.Mult))


_BAD = """\
import jax.numpy as jnp


def rms_norm(x, scale, eps=1e-6):
    rms = jnp.sqrt(jnp.mean(x, axis=-1, keepdims=True) ** 2 + eps)
    return x / rms * scale


print(rms_norm(jnp.array([1.0, -1.0, 2.0, -2.0]), jnp.ones(4)))
"""

RULE = lint_rule(
    "NNX668",
    "mean-squared",
    "the square of a mean or a sum, instead of that of the squares",
    why="""\
`jnp.mean(x) ** 2` is the square of one number, in which positive and negative values have cancelled: its root is the
absolute value of the mean. A root mean square, as RMSNorm and the RMSE take it, squares first: `jnp.mean(x**2)`. The
rule speaks where an array is scaled by the root of its own mean, where the mean is that of a difference, and where the
squares of the sums of leaves, or their norms, are added up for the norm of a tree.
""",
    source="Zhang and Sennrich, Root Mean Square Layer Normalization, equation 4; measured: outputs far too large",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.mean(x, axis=-1, keepdims=True) ** 2", "jnp.mean(x**2, axis=-1, keepdims=True)"),),
)
