"""NNX936: the logarithm of a sum of exponentials of log-probabilities."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.nodes import last_word

_LOGARITHMS = re.compile(r"log_?(w|ws|weights?|p|ps|q|prob|probs|probabilities|lik|likelihoods?|joint|density|pdf)s?")
_REDUCING = frozenset({"sum", "mean"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "log"):
        if name != "jax.numpy.log" or len(event.node.args) != 1 or in_test(event.scope):
            continue
        given = _exponent(written(context, event.node.args[0], event.scope))
        if isinstance(given, ast.Name | ast.Attribute) and _LOGARITHMS.fullmatch(last_word(given).lower().strip("_")):
            made = written(context, given, event.scope)
            if any("max" in last_word(n) for n in ast.walk(made) if isinstance(n, ast.Name | ast.Attribute)):
                continue  # none of them is above zero
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`exp({ast.unparse(given)})` is zero where all are far below zero, and its logarithm infinite",
                "use jax.nn.logsumexp, which takes the greatest out first",
            )


def _exponent(node: ast.expr) -> ast.expr | None:
    """Return x in ``jnp.sum(jnp.exp(x))``, ``jnp.exp(x).mean()`` and the like."""
    if not isinstance(node, ast.Call) or last_word(node.func) not in _REDUCING:
        return None
    inner: ast.expr | None = node.args[0] if node.args else None
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        inner = node.func.value
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
