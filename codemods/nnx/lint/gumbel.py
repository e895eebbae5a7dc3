"""NNX669: noise of Gumbel with a minus that is missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import SOFTMAX, last
from codemods.nnx.lint.places import each, in_test, resolved, written
from codemods.nnx.lint.syntax import operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_LOG_LOG = pattern(rb"log\(", needs=(b"log(",))
_LARGEST = frozenset({"argmax", "top_k", "approx_max_k", *map(last, SOFTMAX)})


def _check(context: Context) -> Iterator[Finding]:
    modules = {m for m in context.asked.modules if m.source.matches(_LOG_LOG) and m.source.mentions(b"uniform")}
    for scope, node in each(context, ast.Call) if modules else ():
        if scope.module not in modules or in_test(scope):
            continue
        outer = _logarithm(node)
        inner = _logarithm(written(context, outer, scope)) if outer is not None else None
        if inner is not None and _uniform(context, inner, scope):
            yield finding(
                RULE.code,
                scope,
                node,
                "the logarithm of a number below 1 is negative, and that of a negative number is NaN",
                "take the logarithm of its negative: -jnp.log(-jnp.log(u))",
            )
        elif last_word(node.func) in _LARGEST and node.args:
            noise = next(_added(context, node.args[0], scope), None)
            if noise is not None:
                yield finding(
                    RULE.code,
                    scope,
                    noise,
                    "log(-log(u)) is the negative of Gumbel's noise: what is drawn does not have the probabilities"
                    " of the softmax",
                    "subtract it, or take its negative: -jnp.log(-jnp.log(u))",
                )


def _logarithm(node: ast.expr | None) -> ast.expr | None:
    """Return of what an expression is the logarithm."""
    if isinstance(node, ast.Call) and last_word(node.func) == "log" and len(node.args) == 1:
        return node.args[0]
    return None


def _uniform(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is a uniform draw between 0 and 1, perhaps kept away from 0."""
    parts = [written(context, one, scope) for one in operands(written(context, node, scope), ast.Add)]
    for part in parts:
        found = resolved(context, part, scope) if isinstance(part, ast.Call | ast.Name) else None
        if found is not None and isinstance(found.value, Call):
            if context.flow.calls.callee_name(found) == "jax.random.uniform":
                top = found.value.keyword("maxval")
                return top is None or getattr(top, "value", None) in (1, 1.0)
    return False


def _added(context: Context, node: ast.expr, scope: Scope) -> Iterator[ast.expr]:
    """Yield what is ``log(-log(u))`` in a sum that is given to a softmax or an argmax, perhaps divided by something."""
    whole = written(context, node, scope)
    while isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Div):
        whole = written(context, whole.left, scope)
    terms = operands(whole, ast.Add)
    for term in terms if len(terms) > 1 else ():
        outer = _logarithm(written(context, term, scope))
        inside = written(context, outer, scope) if outer is not None else None
        if isinstance(inside, ast.UnaryOp) and isinstance(inside.op, ast.USub):
            inner = _logarithm(written(context, inside.operand, scope))
            if inner is not None and _uniform(context, inner, scope):
                yield term


_BAD = """\
import jax
import jax.numpy as jnp


def sample(key, logits):
    u = jax.random.uniform(key, logits.shape, minval=1e-6, maxval=1.0)
    return jnp.argmax(logits + jnp.log(-jnp.log(u)), axis=-1)


print(sample(jax.random.key(0), jnp.log(jnp.array([0.7, 0.2, 0.1]))))
"""

RULE = lint_rule(
    "NNX669",
    "gumbel-sign",
    "noise of Gumbel without one of its two minus signs",
    why="""\
Noise of Gumbel is `-log(-log(u))` of a uniform `u`. Without the inner minus it is NaN everywhere; without the outer one
it is skewed the other way, and the largest of `logits + noise` is not drawn with the probabilities of the softmax.
`jax.random.gumbel` and `jax.random.categorical` do it right.
""",
    source="jax.random.gumbel; Jang, Gu and Poole, Categorical Reparameterization with Gumbel-Softmax; measured",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("+ jnp.log(-", "- jnp.log(-"),),
)
