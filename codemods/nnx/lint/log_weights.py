"""NNX969: logarithms of weights where the weights belong."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, foreign, in_test, written
from codemods.nnx.lint.syntax import argument, keyword, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_NAMED = pattern(r"^_?(log_?(iw|w|ws|weights?|probs?|likelihoods?|liks?|ratios?)|lw|lws|logws?)(_|$)", re.I)
_WEIGHTS = pattern(r"^_?(log_?(iw|w|ws|weights?)|lw)$", re.I)
_DENSITIES = frozenset({"logpdf", "log_prob", "log_pdf", "logpmf", "log_softmax"})
_DENSITY = pattern(r"(^|_)log_?(pdf|prob|density|pmf|likelihood|lik|joint|prior|posterior|target|p|q)s?(_|$)|logpdf$")


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"log") for module in context.asked.modules):
        return
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Div) or in_test(scope):
            continue
        over = _total_of(context, node.right, scope)
        if over is not None and ast.unparse(over) == ast.unparse(node.left) and _logarithm(context, over, scope):
            yield _found(scope, node, over)
    for event, name in foreign(context, "choice", "average"):
        word = {"jax.random.choice": "p", "jax.numpy.average": "weights"}.get(name)
        if word is None or in_test(event.scope):
            continue
        given = argument(event.node, 4, "p") if word == "p" else keyword(event.node, "weights")
        if given is not None and _logarithm(context, given, event.scope):
            yield _found(event.scope, event.node, given)


def _found(scope: Scope, node: ast.expr, logs: ast.expr) -> Finding:
    text = ast.unparse(logs)
    return finding(
        RULE.code,
        scope,
        node,
        f"`{text}` is the logarithm of the weights, and stands where the weights belong",
        f"take jax.nn.softmax({text}), which are the weights that add up to one",
    )


def _total_of(context: Context, node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return x in ``jnp.sum(x)`` and ``x.sum()``."""
    made = written(context, node, scope)
    if not isinstance(made, ast.Call) or last_word(made.func) != "sum":
        return None
    return array_of(made)


def _logarithm(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is a logarithm of probabilities, or a difference of two, by what makes it."""
    if not isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.BinOp):
        return False
    made = written(context, node, scope)
    if isinstance(made, ast.Name | ast.Attribute):
        return isinstance(node, ast.Name) and _parameter(scope, node) and _NAMED.search(node.id) is not None
    if isinstance(node, ast.Name) and _WEIGHTS.search(node.id) and isinstance(made, ast.BinOp):
        return isinstance(made.op, ast.Sub | ast.Add)
    terms = [part for one in operands(made, ast.Add) for part in _differences(one)]
    densities = [one for one in (written(context, term, scope) for term in terms) if _density(one)]
    return len(densities) == len(terms)


def _parameter(scope: Scope, node: ast.Name) -> bool:
    return scope.function is not None and node.id in scope.function.params


def _differences(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Add):
        return [*_differences(node.left), *_differences(node.right)]
    return [node]


def _density(node: ast.expr) -> bool:
    """Say whether an expression is the logarithm of a density."""
    if isinstance(node, ast.Call):
        word = last_word(node.func)
        if word == "vmap" or (isinstance(node.func, ast.Call) and last_word(node.func.func) == "vmap"):
            given = node.func.args[0] if isinstance(node.func, ast.Call) and node.func.args else None
            return given is not None and _DENSITY.search(last_word(given)) is not None
        if word == "sum" and isinstance(node.func, ast.Attribute):
            inner = node.args[0] if node.args else node.func.value
            return _density(inner)
        return word in _DENSITIES or _DENSITY.search(word) is not None
    return isinstance(node, ast.Name | ast.Attribute) and (
        _DENSITY.search(last_word(node)) is not None or _NAMED.search(last_word(node)) is not None
    )


_BAD = """\
import jax
import jax.numpy as jnp


def expectation(x, log_p, log_q, f):
    log_w = log_p(x) - log_q(x)
    w = log_w / jnp.sum(log_w)
    return jnp.sum(w * f(x))


norm = jax.scipy.stats.norm
print(expectation(jnp.arange(3.0), norm.logpdf, lambda x: norm.logpdf(x, 0.0, 2.0), jnp.square))
"""

RULE = lint_rule(
    "NNX969",
    "logarithms-for-weights",
    "log-weights that are normalized, averaged or drawn with as if they were the weights",
    why="""\
The weight of a sample is the ratio of two densities, and what is computed is its logarithm: numbers of both signs,
whose quotient by their sum means nothing. `jax.nn.softmax(log_w)` exponentiates them, in a way that does not overflow,
and makes them add up to one; `jax.random.categorical` takes them as they are.
""",
    source="issue 71 of a public project of simulation-based inference; measured: other expectations",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("log_w / jnp.sum(log_w)", "jax.nn.softmax(log_w)"),),
)
