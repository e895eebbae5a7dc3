"""NNX707: the shares of the signal one step before, which are shifted the wrong way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.beta_products import SHARE, kept_as
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import argument, constant, entry_word, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_BEFORE = pattern(r"prev|before|(^|_)tm1(_|$)|minus_?(1|one)", re.I)
_LIBRARIES = ("jax.numpy.", "numpy.")
_JOINING = frozenset({"concatenate", "hstack", "append", "pad", "roll"})
_HELP = "begin with one and leave the last out: jnp.append(1.0, {0}[:-1])"


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if module.source.mentions(b"cumprod")}
    for scope, node in each(context, ast.Call) if modules else ():
        word = last_word(node.func)
        if word not in _JOINING or scope.module not in modules or in_test(scope):
            continue
        value = scope.module.values.get(node)
        name = context.flow.calls.callee_name(context.flow.here(value, scope)) if isinstance(value, Call) else ""
        if not name.startswith(_LIBRARIES):
            continue
        before = _BEFORE.search(kept_as(context, node, scope)) is not None
        shifted = _shifted(node, word, before)
        if shifted is None or not _of_products(context, shifted, scope):
            continue
        yield finding(
            RULE.code,
            scope,
            node,
            "the step before the first has a share of one: this puts it elsewhere, and shifts nothing to later steps",
            _HELP.format(scope.module.source.text(shifted)),
        )


def _shifted(node: ast.Call, word: str, before: bool) -> ast.expr | None:
    """Return the array of which a call joins a part and a one so that no share comes to the step after its own.

    Args:
        node: the call.
        word: the last part of its name.
        before: whether the result is called that of the step before.
    """
    if word == "roll":
        given, by = argument(node, 0, "a"), argument(node, 1, "shift")
        return given if before and by is not None and constant(by) == -1 else None
    if word == "pad":
        given = argument(node, 0, "array")
        filled = keyword(node, "constant_values")
        width = _width(argument(node, 1, "pad_width"))
        parts: list[ast.expr | None] = [given, filled] if width == (0, 1) else [filled, given]
        if width not in ((0, 1), (1, 0)) or filled is None:
            return None
    elif word == "append":
        parts = [argument(node, 0, "arr"), argument(node, 1, "values")]
    else:
        joined = node.args[0] if node.args else None
        parts = list(joined.elts) if isinstance(joined, ast.List | ast.Tuple) else []
    if len(parts) != 2:
        return None
    first, last = parts
    for array, other, at_end in ((first, last, True), (last, first, False)):
        cut = _cut(array) if other is not None and _one(other) else None
        if cut is None or not isinstance(array, ast.Subscript):
            continue
        # [:-1] and a one behind, or a one and [1:], leave every share where it was
        if (cut == "last") == at_end or (before and cut == "first" and at_end):
            return array.value
    return None


def _width(node: ast.expr | None) -> object:
    """Return the literal widths of the padding of one axis."""
    width = constant(node)
    while isinstance(width, tuple | list) and len(width) == 1:
        width = width[0]
    return tuple(width) if isinstance(width, tuple | list) and all(type(w) is int for w in width) else None


def _cut(node: ast.expr | None) -> str:
    """Return which end a part of an array leaves out: ``last`` for ``x[:-1]``, ``first`` for ``x[1:]``."""
    part = node.slice if isinstance(node, ast.Subscript) else None
    if not isinstance(part, ast.Slice) or part.step is not None:
        return ""
    ends = (constant(part.lower), constant(part.upper))
    if ends[0] in (None, 0) and ends[1] == -1:
        return "last"
    return "first" if ends == (1, None) else ""


def _one(node: ast.expr) -> bool:
    """Say whether an expression is one, or an array of that alone."""
    if isinstance(node, ast.Call) and last_word(node.func) in {"array", "asarray"} and node.args:
        node = node.args[0]
    if isinstance(node, ast.Call) and last_word(node.func) == "ones":
        return constant(argument(node, 0, "shape")) in (1, (1,))
    if isinstance(node, ast.List | ast.Tuple) and len(node.elts) == 1:
        node = node.elts[0]
    return constant(node) == 1


def _of_products(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an array is the shares that are left of the signal, by its name or by how it is made."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else None
    if isinstance(made, ast.Call):
        words = (ast.unparse(made) + entry_word(node)).lower()
        return last_word(made.func) == "cumprod" and ("alpha" in words or "beta" in words)
    return SHARE.search(entry_word(node)) is not None


_BAD = """\
import jax.numpy as jnp

betas = jnp.linspace(1e-4, 0.02, 1000)
alphas_cumprod = jnp.cumprod(1.0 - betas)
alphas_cumprod_prev = jnp.pad(alphas_cumprod[:-1], (0, 1), constant_values=1.0)
posterior_variance = betas * (1.0 - alphas_cumprod_prev) / (1.0 - alphas_cumprod)
print(posterior_variance[0], posterior_variance[-1])
"""

RULE = lint_rule(
    "NNX707",
    "shares-before",
    "the shares of the signal at the step before, with the one at the wrong end",
    why="""\
Before its first step a diffusion has all of the signal: the shares of the step before are one, and then all shares but
the last. `x[:-1]` with a one behind it, and a one before `x[1:]`, leave each share at its own step. The variance of the
posterior is then that of the noise of one step everywhere, and zero or wrong where the one stands.
""",
    source="issue 18 of a public implementation of diffusion models; measured: noise is added in the last step",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(0, 1)", "(1, 0)"),),
)
