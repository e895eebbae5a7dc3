"""NNX935: a Cholesky factor of a kernel matrix of points with themselves, in single precision."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_FACTORS = frozenset({"jax.numpy.linalg.cholesky", "jax.scipy.linalg.cholesky", "jax.scipy.linalg.cho_factor"})
# what makes a matrix positive definite in spite of rounding, or is another kernel
_ADDED = frozenset({"eye", "identity", "diag", "diagonal", "fill_diagonal", "at", "where", "float64"})


def _check(context: Context) -> Iterator[Finding]:
    if any(b"x64" in module.source.data or b"float64" in module.source.data for module in context.project.modules):
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


def _kernel(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is what a function with an exponential gives for the same points twice."""
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
    words = [last_word(n) for n in ast.walk(function.node) if isinstance(n, ast.Name | ast.Attribute)]
    smooth = words.count("exp") == 1 and not _ADDED & set(words) and not {"sqrt", "abs", "norm"} & set(words)
    return smooth and not any("jitter" in word or "noise" in word or "nugget" in word for word in words)


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
