"""NNX997: the logarithm of a Gaussian density without that of its scale."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import squared
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word

_LOGS = frozenset({"log", "log2", "log10", "log1p", "slogdet", "logdet", "logsumexp", "logaddexp"})
_SUMS = ast.Add | ast.Sub


def _check(context: Context) -> Iterator[Finding]:
    modules = [m for m in context.asked.modules if m.source.mentions(b"pi") and m.source.mentions(b"log")]
    seen: set[FunctionFacts] = set()
    for scope, node in each(context, ast.Call) if modules else ():
        function = scope.function
        if function is None or function in seen or scope.module not in modules or not _of_pi(node) or in_test(scope):
            continue
        seen.add(function)
        scale = _scale(context, function, node)
        if scale is not None:
            yield finding(
                RULE.code,
                scope,
                node,
                f"the logarithm of the scale `{ast.unparse(scale)}` is missing beside that of 2 pi",
                f"subtract it: - jnp.log({ast.unparse(scale)})",
            )


def _of_pi(node: ast.Call) -> bool:
    """Say whether a call is the logarithm of 2 pi, or of its root."""
    if last_word(node.func) != "log" or len(node.args) != 1:
        return False
    inner = node.args[0]
    if isinstance(inner, ast.Call) and last_word(inner.func) == "sqrt" and len(inner.args) == 1:
        inner = inner.args[0]
    if not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Mult):
        return False
    sides = [inner.left, inner.right]
    return any(last_word(one) == "pi" for one in sides) and any(constant(one) == 2 for one in sides)


def _scale(context: Context, function: FunctionFacts, log: ast.Call) -> ast.expr | None:
    """Return the scale that the difference of a density is divided by, if nothing takes its logarithm."""
    inner = [n for n in ast.walk(function.node) if n is not function.node]
    several = {part for n in inner if isinstance(n, ast.Tuple) for part in n.elts}  # made elsewhere, as by a model
    stored = {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n not in several}
    for one in inner:
        if isinstance(one, ast.Call) and one is not log and last_word(one.func).lower() in _LOGS and not _of_pi(one):
            return None
        if isinstance(one, ast.Name | ast.Attribute | ast.arg) and _speaks_of_log(one, stored):
            return None
        if _is_of_log(_entry(one)):
            return None
    summed = any(isinstance(n, ast.BinOp) and isinstance(n.op, _SUMS) and log in ast.walk(n) for n in inner)
    divisors = (_divisor(context, n, function.scope) for n in (inner if summed else ()))
    return next((one for one in divisors if one is not None), None)


def _speaks_of_log(node: ast.Name | ast.Attribute | ast.arg, stored: set[str]) -> bool:
    """Say whether something that comes from outside has the name of a logarithm, or of a determinant."""
    word = (node.arg if isinstance(node, ast.arg) else last_word(node)).lower()
    return word not in _LOGS and _is_of_log(word) and not (isinstance(node, ast.Name) and node.id in stored)


def _is_of_log(word: str) -> bool:
    return "log" in word or "det" in word or "norm" in word


def _entry(node: ast.AST) -> str:
    """Return the name of an entry that is read, as in ``params["log_scale"]`` or ``params.get("log_scale")``."""
    key: ast.expr | None = None
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        key = node.slice
    elif isinstance(node, ast.Call) and last_word(node.func) == "get" and node.args:
        key = node.args[0]
    text = constant(key) if key is not None else None
    return text.lower() if isinstance(text, str) else ""


def _divisor(context: Context, node: ast.AST, scope: Scope) -> ast.expr | None:
    """Return what a squared difference is divided by, in ``((x - m) / s) ** 2`` or ``(x - m) ** 2 / s**2``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        top = squared(node.left)
        if top is not None and _difference(context, top, scope):
            under = [n for n in ast.walk(node.right) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow)]
            roots = [n.left for n in under if constant(n.right) == 2 and isinstance(n.left, ast.Name | ast.Attribute)]
            return roots[0] if len(roots) == 1 else None
        return None
    under_square = squared(node) if isinstance(node, ast.expr) else None
    ratio = written(context, under_square, scope) if under_square is not None else None
    if isinstance(ratio, ast.BinOp) and isinstance(ratio.op, ast.Div) and _difference(context, ratio.left, scope):
        return ratio.right if isinstance(ratio.right, ast.Name | ast.Attribute) else None
    return None


def _difference(context: Context, node: ast.expr, scope: Scope) -> bool:
    made = written(context, node, scope)
    return isinstance(made, ast.BinOp) and isinstance(made.op, ast.Sub)


RULE = lint_rule(
    "NNX997",
    "gaussian-without-scale",
    "the logarithm of a Gaussian density with its constant, and without the logarithm of its scale",
    why="""\
The logarithm of a normal density is -((x - m) / s)**2 / 2 - log(s) - log(2 pi) / 2. Without log(s) the densities of
different scales cannot be compared, and a scale that is learned grows without end, as that alone makes the error small.
""",
    source="definition of the normal distribution; measured against jax.scipy.stats.norm.logpdf",
    severity="warning",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp


def log_density(x, mean, scale):
    return -0.5 * ((x - mean) / scale) ** 2 - 0.5 * jnp.log(2 * jnp.pi)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


def log_density(x, mean, scale):
    return -0.5 * ((x - mean) / scale) ** 2 - jnp.log(scale) - 0.5 * jnp.log(2 * jnp.pi)
""",
    ),
)
