"""NNX935: a Cholesky factor of a kernel matrix of points with themselves, in single precision."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.syntax import constant, names_in, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_FACTORS = frozenset({"jax.numpy.linalg.cholesky", "jax.scipy.linalg.cholesky", "jax.scipy.linalg.cho_factor"})
# what makes a matrix positive definite in spite of rounding, or is another kernel
_ADDED = frozenset({"eye", "identity", "diag", "diagonal", "fill_diagonal", "at", "where", "float64"})


def _check(context: Context) -> Iterator[Finding]:
    if any(module.source.mentions(b"x64") or module.source.mentions(b"float64") for module in context.project.modules):
        return
    for event, name in foreign(context, "cholesky", "cho_factor"):
        if name not in _FACTORS or not event.node.args or in_test(event.scope):
            continue
        if _kernel(context, event.node.args[0], event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "in single precision the kernel of points with themselves is not positive definite: the factor is NaN",
                f"add a little to its diagonal: {ast.unparse(event.node.args[0])} + 1e-5 * jnp.eye(n)",
            )


def _of_differences(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is a multiple of ``jnp.exp(-0.5 * (x[:, None] - x[None, :]) ** 2)``."""
    made = written(context, node, scope)
    factors = [written(context, one, scope) for one in operands(made, ast.Mult)]
    exponentials = [one for one in factors if isinstance(one, ast.Call) and last_word(one.func) == "exp"]
    others = [one for one in factors if one not in exponentials]
    if len(exponentials) != 1 or not exponentials[0].args or not all(map(_scalar, others)):
        return False
    squares = 0
    waiting: list[ast.expr] = [exponentials[0].args[0]]
    for one in waiting:  # a scale of squared differences
        one = written(context, one, scope)
        if isinstance(one, ast.UnaryOp):
            waiting.append(one.operand)
        elif isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult | ast.Div):
            waiting += [one.left, one.right]
        elif isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow) and constant(one.right) == 2:
            squares += _difference(context, one.left, scope)
        elif not _scalar(one):
            return False
    return squares == 1


def _difference(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the difference of each two points of one array, perhaps scaled."""
    node = written(context, node, scope)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        node = written(context, node.left, scope)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    left, right = (one.value if isinstance(one, ast.Subscript) else None for one in (node.left, node.right))
    if left is None or right is None or ast.unparse(left) != ast.unparse(right):
        return False
    places = {ast.unparse(one.slice) for one in (node.left, node.right) if isinstance(one, ast.Subscript)}
    return places in ({"(:, None)", "(None, :)"}, {":, None", "None, :"}, {":, None", "None"}, {"(:, None)", "None"})


def _scalar(node: ast.expr) -> bool:
    """Say whether an expression is a number or a variable, or a power of one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.Mult | ast.Div):
        return _scalar(node.left) and _scalar(node.right)
    if isinstance(node, ast.UnaryOp):
        return _scalar(node.operand)
    return isinstance(constant(node), int | float) or isinstance(node, ast.Name | ast.Attribute)


def _kernel(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is what a function with an exponential gives for the same points twice."""
    if _of_differences(context, node, scope):
        return True
    value = scope.module.values.get(node)
    if not isinstance(value, Call) or len(value.node.args) < 2 or value.starred:
        return False
    one, two = value.node.args[:2]
    if not isinstance(one, ast.Name | ast.Attribute) or ast.unparse(one) != ast.unparse(two):
        return False
    invoked = context.flow.calls.invoked(context.flow.here(value, scope))
    if len(invoked) != 1 or len(invoked[0][0].function.returns) != 1:
        return False
    function = invoked[0][0].function
    nodes = list(ast.walk(function.node))
    words = [last_word(n) for n in nodes if isinstance(n, ast.Name | ast.Attribute)]
    if _ADDED & set(words) or {"sqrt", "abs", "norm"} & set(words):
        return False
    words += [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    if any("jitter" in word or "noise" in word or "nugget" in word for word in words):
        return False
    squared = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow) and constant(n.right) == 2 for n in nodes)
    compared = any(isinstance(n, ast.Compare) for n in nodes)
    return words.count("exp") == 1 or (squared and not compared and _one_of_points(function))


def _one_of_points(function: FunctionFacts) -> bool:
    """Say whether a function takes one exponential of its first two arguments, and others of numbers alone."""
    if isinstance(function.node, ast.Lambda | ast.Module):
        statements: list[ast.stmt] = []
    else:
        statements = function.node.body
    of_points = {*list(function.params)[:2]}
    for statement in statements:
        if isinstance(statement, ast.Assign) and of_points & names_in(statement.value):
            of_points |= {n.id for target in statement.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    exponentials = [n for n in ast.walk(function.node) if isinstance(n, ast.Call) and last_word(n.func) == "exp"]
    return sum(bool(of_points & names_in(one)) for one in exponentials) == 1


_BAD = """\
import jax
import jax.numpy as jnp


def rbf(x1, x2, scale):
    return jnp.exp(-0.5 * (x1[:, None] - x2[None, :]) ** 2 / scale**2)


def sample(key, x, scale=0.3):
    factor = jnp.linalg.cholesky(rbf(x, x, scale))
    return factor @ jax.random.normal(key, x.shape)


print(sample(jax.random.key(0), jnp.linspace(0.0, 1.0, 100)))
"""

RULE = lint_rule(
    "NNX935",
    "bare-kernel",
    "a Cholesky factor of a smooth kernel of points with themselves, without anything on its diagonal",
    why="""\
The smallest eigenvalues of a squared exponential kernel are far below the rounding of float32: the matrix is not
positive definite any more, and `jnp.linalg.cholesky` gives NaN without an error. A small number on the diagonal, or
float64, helps.
""",
    source="jax issue 775; measured: NaN for 100 points on a line",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("rbf(x, x, scale))", "rbf(x, x, scale) + 1e-5 * jnp.eye(x.shape[0]))"),),
)
