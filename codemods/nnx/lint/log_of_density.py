"""NNX547: logarithms of densities, of their products, and of determinants, which float32 has no numbers for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.inlined import looked_through
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_DENSITIES = frozenset({"pdf", "pmf"})
_HOME = "jax.scipy.stats."
_PROBABLE = pattern(r"(^|_)(p|probs?|probabilit(y|ies)|likelihoods?|lik|liks|pdfs?|densit(y|ies))(_|\d|$)")
_LINEAR = (ast.Mult, ast.Div, ast.MatMult)
_DEPTH, _FEW = 8, 10


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "log", "log2", "log10"):
        if not name.startswith("jax.numpy.") or not event.node.args or in_test(event.scope):
            continue
        told = _told(context, event.node.args[0], event.scope)
        if told is not None and not context.bodies.guarded(event.node, event.scope):
            yield finding(RULE.code, event.scope, event.node, *told)


def _told(context: Context, node: ast.expr, scope: Scope) -> tuple[str, str] | None:
    """Return what is wrong with the logarithm of an expression, and what helps."""
    made = _made(context, node, scope)
    word = last_word(made.func) if isinstance(made, ast.Call) else ""
    inner = array_of(made) if isinstance(made, ast.Call) else None
    if word == "det" and inner is not None and _grows(context, inner, scope, 0):
        return (
            "the determinant of a matrix with a row for every point leaves the range of float32",
            "jnp.linalg.slogdet(matrix)[1], or twice the sum of the logarithms of a Cholesky factor's diagonal",
        )
    if word == "prod" and inner is not None:
        factor = _made(context, inner, scope)
        named = _PROBABLE.search(_name(inner).lower())
        if named or _density(context, factor, scope, 0):
            return (
                "the product of many probabilities is 0 in float32, and its logarithm -inf",
                "add up their logarithms: jnp.sum(jnp.log(p)), or jnp.sum(norm.logpdf(x))",
            )
    if word != "prod" and _density(context, made, scope, 0):
        product = isinstance(made, ast.BinOp) and not isinstance(made.op, ast.MatMult)
        summed = word in {"sum", "mean", "dot", "matmul", "einsum"} or isinstance(made, ast.BinOp)
        return (
            "far from its center a density is 0 in float32, and its logarithm -inf with a gradient that is NaN",
            "take logpdf, and add or subtract the logarithms of the other factors"
            if product
            else "jax.scipy.special.logsumexp(logpdf(x) + jnp.log(weights), axis=...)"
            if summed
            else "take logpdf",
        )
    return None


def _made(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return what an expression is made of, through variables and functions that are formulas."""
    for _ in range(_DEPTH):
        found = looked_through(context, node, scope)
        if found is node:
            return node
        node = found
    return node


def _density(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether an expression is a density, times weights, or a sum of such."""
    node = _made(context, node, scope)
    if depth > _DEPTH:
        return False
    if isinstance(node, ast.BinOp) and isinstance(node.op, _LINEAR):
        return _density(context, node.left, scope, depth + 1) or (
            not isinstance(node.op, ast.Div) and _density(context, node.right, scope, depth + 1)
        )
    if isinstance(node, ast.Subscript):
        return _density(context, node.value, scope, depth + 1)
    if not isinstance(node, ast.Call):
        return False
    word = last_word(node.func)
    if word in _DENSITIES:
        value = scope.module.values.get(node)
        name = context.flow.calls.callee_name(context.flow.here(value, scope)) if isinstance(value, Call) else ""
        return name.startswith(_HOME) and last(name) in _DENSITIES
    inner = array_of(node) if word in {"sum", "mean", "squeeze", "reshape", "ravel"} else None
    return inner is not None and _density(context, inner, scope, depth + 1)


def _grows(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether a matrix has as many rows as there are points: noise is added to it by an ``eye`` of their number."""
    node = _made(context, node, scope)
    if isinstance(node, ast.BinOp) and depth < _DEPTH:
        return any(_grows(context, one, scope, depth + 1) for one in (node.left, node.right))
    if not isinstance(node, ast.Call) or last_word(node.func) not in {"eye", "identity"} or not node.args:
        return False
    size = constant(node.args[0])
    return size > _FEW if isinstance(size, int) else _counts(node.args[0])


def _counts(node: ast.expr) -> bool:
    """Say whether an expression is the number of points: ``len(x)``, ``x.shape[0]``, ``n``."""
    if isinstance(node, ast.Call):
        return last_word(node.func) == "len"
    if isinstance(node, ast.Subscript):
        return last_word(node.value) == "shape" and constant(node.slice) == 0
    return _name(node) in {"n", "N", "num_points", "n_points", "n_data", "num_data", "n_obs", "n_train"}


def _name(node: ast.expr) -> str:
    return last_word(node.value if isinstance(node, ast.Subscript) else node)


_BAD = """\
import jax
import jax.numpy as jnp
from jax.scipy.stats import norm


def loss(theta, x):
    weights = jax.nn.softmax(theta["logits"])
    density = jnp.sum(weights * norm.pdf(x[:, None], theta["mean"], 1.0), axis=1)
    return -jnp.mean(jnp.log(density))


theta = {"logits": jnp.zeros(2), "mean": jnp.array([-1.0, 1.0])}
print(jax.grad(loss)(theta, jnp.array([0.0, 40.0])))
"""
_GOOD = _BAD.replace(
    """\
    density = jnp.sum(weights * norm.pdf(x[:, None], theta["mean"], 1.0), axis=1)
    return -jnp.mean(jnp.log(density))
""",
    """\
    parts = jnp.log(weights) + norm.logpdf(x[:, None], theta["mean"], 1.0)
    return -jnp.mean(jax.scipy.special.logsumexp(parts, axis=1))
""",
)

RULE = lint_rule(
    "NNX547",
    "log-of-density",
    "the logarithm of a density, of a product of probabilities, or of a large determinant",
    why="""\
float32 has no number below 1e-45: the density of a normal distribution is 0 fourteen standard deviations from its
mean, the product of a hundred probabilities mostly is, and the determinant of a kernel matrix of a hundred points as
well. Their logarithms are -inf, and the gradients NaN, where the logarithm that is meant is an ordinary number.
Where a small number is added first, the gradient points nowhere instead.
""",
    source="the docs of jax.scipy.special.logsumexp and jax.numpy.linalg.slogdet; measured on JAX 0.10.2",
    severity="warning",
    check=_check,
    bad=(_BAD,),
    clean=(_GOOD,),
)
