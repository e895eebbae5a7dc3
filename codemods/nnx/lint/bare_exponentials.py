"""NNX936: the logarithm of a sum of exponentials of log-probabilities."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.syntax import operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_LOGARITHMS = pattern(r"log_?(w|ws|weights?|p|ps|q|prob|probs|probabilities|lik|likelihoods?|joint|density|pdf)s?")
_REDUCING = frozenset({"sum", "mean"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "log"):
        if name != "jax.numpy.log" or len(event.node.args) != 1 or in_test(event.scope):
            continue
        given = _exponent(context, event.node.args[0], event.scope)
        made = written(context, given, event.scope) if given is not None else None
        if given is None or made is None or "cum" in ast.unparse(made):
            continue
        named = isinstance(given, ast.Name | ast.Attribute) and _LOGARITHMS.fullmatch(
            last_word(given).lower().strip("_")
        )
        if named or _density(made):
            if any("max" in last_word(n) for n in ast.walk(made) if isinstance(n, ast.Name | ast.Attribute)):
                continue  # none of them is above zero
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`exp({ast.unparse(given)})` is zero where all are far below zero, and its logarithm infinite",
                "use jax.nn.logsumexp, which takes the greatest out first",
            )


def _is_exp(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_word(node.func) == "exp"


def _density(node: ast.expr) -> bool:
    """Say whether an expression is the logarithm of a density, or an array of several."""
    if not isinstance(node, ast.Call):
        return False
    if last_word(node.func) in {"stack", "array", "concatenate"} and node.args:
        inner = node.args[0]
        if isinstance(inner, ast.ListComp | ast.GeneratorExp):
            return _density(inner.elt)
        return isinstance(inner, ast.List | ast.Tuple) and bool(inner.elts) and all(map(_density, inner.elts))
    return isinstance(node.func, ast.Attribute) and node.func.attr in {"logpdf", "log_prob", "log_pdf"}


def _exponent(context: Context, node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return x in ``jnp.sum(jnp.exp(x))``, ``(weights * jnp.exp(x)).mean()`` and the like."""
    node = written(context, node, scope)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):  # by how many there are
        node = written(context, node.left, scope)
    if not isinstance(node, ast.Call) or last_word(node.func) not in _REDUCING:
        return None
    inner: ast.expr | None = node.args[0] if node.args else None
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call | ast.BinOp):
        inner = node.func.value
    inner = written(context, inner, scope) if inner is not None else None
    factors = operands(inner, ast.Mult) if inner is not None else []
    if len(factors) == 2:
        exponentials = [f for f in (written(context, one, scope) for one in factors) if _is_exp(f)]
        inner = exponentials[0] if len(exponentials) == 1 else None
    if not isinstance(inner, ast.Call) or last_word(inner.func) != "exp" or len(inner.args) != 1:
        return None
    return inner.args[0]


_BAD = """\
import jax.numpy as jnp


def evidence(log_joint, log_proposal):
    log_w = log_joint - log_proposal
    return jnp.log(jnp.mean(jnp.exp(log_w)))


print(evidence(jnp.array([-200.0, -201.0]), jnp.zeros(2)))
"""

RULE = lint_rule(
    "NNX936",
    "bare-exponentials",
    "the logarithm of a sum or mean of exponentials of log-probabilities",
    why="""\
Below about -103 the exponential is zero in float32, and above 88 infinite. Log-probabilities of many dimensions are
far below that, and the logarithm of their sum is `-inf`. `jax.nn.logsumexp` takes the greatest out first; for a mean
subtract the logarithm of how many there are.
""",
    source="pull request 171 of a public project of population genetics; measured: -inf",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("jnp.log(jnp.mean(jnp.exp(log_w)))", "jax.nn.logsumexp(log_w) - jnp.log(log_w.shape[0])").replace(
            "import jax.numpy", "import jax\nimport jax.numpy"
        ),
    ),
)
