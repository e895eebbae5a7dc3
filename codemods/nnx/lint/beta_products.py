"""NNX999: the share of the signal that is left of a diffusion, which is not the product of the alphas."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import complement
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.steps_alpha import steps_alpha
from codemods.nnx.lint.syntax import argument, constant, entry_word
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

#: What the share of the signal that is left after some steps is called.
SHARE = pattern(r"alphas?_?(bar|hat|cum|prod)|(^|_)a_?bars?(_|$|\d)|(bar|hat|cumprod|cumulative)_alphas?", re.I)
_BETA = pattern(r"(^|_)betas?(_|$)", re.I)
_ALPHA = pattern(r"(^|_)alphas?(_t)?$", re.I)
_LIBRARIES = ("jax.numpy.", "numpy.", "jax.lax.")
_SMALL = 0.5  # steps of a diffusion take away less than that
_KEPT = frozenset(
    {"sqrt", "asarray", "array", "concatenate", "append", "insert", "clip", "maximum", "minimum", "astype"}
)


def _check(context: Context) -> Iterator[Finding]:
    for home, total, text in steps_alpha(context):
        words = f"`{text}` is what one step leaves: noise of t steps on the clean data goes by their product"
        yield finding(RULE.code, home, total, words, "take jnp.cumprod(alphas)[t] for both roots")
    for scope, node in each(context, ast.Call):
        word = last_word(node.func)
        if word not in {"cumprod", "cumsum"} or not scope.module.source.mentions(b"beta") or in_test(scope):
            continue
        value = scope.module.values.get(node)
        name = context.flow.calls.callee_name(context.flow.here(value, scope)) if isinstance(value, Call) else ""
        given = argument(node, 0, "a")
        if not name.startswith(_LIBRARIES) or given is None or not SHARE.search(kept_as(context, node, scope)):
            continue
        text = scope.module.source.text(given)
        if word == "cumprod" and _of_betas(context, given, scope):
            words = f"`{text}` is what each step takes away: the share that is left is the product of one minus that"
            yield finding(RULE.code, scope, node, words, "write jnp.cumprod(1.0 - betas)")
        elif word == "cumsum" and _of_alphas(context, given, scope):
            words = "the share that is left after some steps is the product of the shares of each, and not their sum"
            yield finding(RULE.code, scope, node, words, f"write jnp.cumprod({text})")


def kept_as(context: Context, node: ast.expr, scope: Scope) -> str:
    """Return the name of what an expression is assigned to, or given as; empty if it is anything else.

    Args:
        context: the analysis.
        node: the expression.
        scope: the body that it stands in.
    """
    outer: ast.AST | None = around(context, scope).get(node)
    while (isinstance(outer, ast.Call) and last_word(outer.func) in _KEPT) or isinstance(outer, ast.List | ast.Tuple):
        outer = around(context, scope).get(outer)
    if isinstance(outer, ast.Assign) and len(outer.targets) == 1:
        return last_word(outer.targets[0])
    if isinstance(outer, ast.AnnAssign):
        return last_word(outer.target)
    return outer.arg or "" if isinstance(outer, ast.keyword) else ""


def _of_betas(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the variances of the steps, by its name or its numbers."""
    if isinstance(node, ast.Name | ast.Attribute):
        made = made_by(context, node, scope) if isinstance(node, ast.Name) else None
        if _BETA.search(entry_word(node)):
            return complement(made) is None
        return made is not None and _rest_of_alphas(context, made, scope)
    if isinstance(node, ast.BinOp):
        return _rest_of_alphas(context, node, scope)
    if not isinstance(node, ast.Call) or last_word(node.func) != "linspace" or len(node.args) < 2:
        return False
    ends = [constant(one) for one in node.args[:2]]
    return all(isinstance(one, float) and 0 <= one < _SMALL for one in ends)


def _rest_of_alphas(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is ``1 - alphas``, where alphas is one minus the betas."""
    alphas = complement(node)
    if not isinstance(alphas, ast.Name):
        return False
    betas = complement(made_by(context, alphas, scope))
    return _ALPHA.search(alphas.id) is not None and betas is not None and bool(_BETA.search(entry_word(betas)))


def _of_alphas(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the shares that the steps leave."""
    if isinstance(node, ast.BinOp):
        betas = complement(node)
        return betas is not None and bool(_BETA.search(entry_word(betas)))
    if not isinstance(node, ast.Name | ast.Attribute) or not _ALPHA.search(entry_word(node)):
        return False
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else None
    return made is None or complement(made) is not None


_BAD = """\
import jax.numpy as jnp

betas = jnp.linspace(1e-4, 0.02, 1000)
alphas = 1.0 - betas
alpha_bars = jnp.cumprod(betas)


def noised(x, t, noise):
    share = alpha_bars[t]
    return jnp.sqrt(share) * x + jnp.sqrt(1.0 - share) * noise


print(noised(jnp.ones(2), 10, jnp.zeros(2)))
"""

RULE = lint_rule(
    "NNX999",
    "product-of-betas",
    "the share of the signal in a diffusion as the product of the betas, or as the sum of the alphas",
    why="""\
Each step of a diffusion leaves `1 - beta` of the signal, and the first t steps their product: `jnp.cumprod(1 - betas)`.
The product of the betas is zero after a few steps. The model is then trained on pure noise whatever t is, and the loss
falls all the same.
""",
    source="Ho et al. 2020, equation 4; measured: nothing of the signal is left after the first step",
    severity="error",
    check=_check,
    bad=(_BAD, _BAD.replace("jnp.cumprod(betas)", "jnp.cumsum(alphas)")),
    clean=(_BAD.replace("jnp.cumprod(betas)", "jnp.cumprod(alphas)"),),
)
