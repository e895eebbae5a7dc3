"""NNX695: sums of rows that are divided by the count of all rows together."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.array_calls import array_of, axis_of, whole_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant, is_none, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_MASK = pattern(r"(\w+_)?mask(_\w+)?|valid|is_token|not_pad|nonpad")


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if module.source.mentions(b"mask")}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if not isinstance(node.op, ast.Div) or scope.module not in modules or in_test(scope):
            continue
        mask = _of_rows(context, scope, node.left)
        count = _at_least(written(context, node.right, scope))
        if mask and _whole(count) == mask:
            yield finding(
                RULE.code,
                scope,
                node,
                f"the sums are those of each row, and `{ast.unparse(count)}` counts all rows together",
                f"count each row: {mask}.sum(axis=1, keepdims=True)",
            )


def _of_rows(context: Context, scope: Scope, node: ast.expr) -> str:
    """Return the mask in ``jnp.sum(h * mask[..., None], axis=1)``."""
    made = written(context, node, scope)
    if not isinstance(made, ast.Call) or last_word(made.func) != "sum":
        return ""
    given = array_of(made)
    if constant(axis_of(made)) not in (1, -2) or given is None:
        return ""
    for factor in operands(written(context, given, scope), ast.Mult):
        if isinstance(factor, ast.Subscript) and isinstance(factor.slice, ast.Tuple):
            last = factor.slice.elts[-1]
            if is_none(last) and _MASK.fullmatch(last_word(factor.value).lower()):
                return ast.unparse(factor.value)
    return ""


def _at_least(node: ast.expr) -> ast.expr:
    """Return a count without what keeps it above zero."""
    if isinstance(node, ast.Call) and last_word(node.func) in {"maximum", "clip", "max"} and len(node.args) == 2:
        return node.args[1] if isinstance(node.args[0], ast.Constant) else node.args[0]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant):
        return node.left
    return node


def _whole(node: ast.expr) -> str:
    """Return the mask of which all is summed: ``jnp.sum(mask)`` or ``mask.sum()``."""
    summed = whole_of(node) if isinstance(node, ast.Call) and last_word(node.func) == "sum" else None
    return ast.unparse(summed) if summed is not None else ""


_BAD = """\
import jax.numpy as jnp


def pooled(hidden, mask):
    return jnp.sum(hidden * mask[..., None], axis=1) / jnp.sum(mask)
"""

RULE = lint_rule(
    "NNX695",
    "whole-count",
    "means of rows that are divided by the count of the whole batch",
    why="""\
The mean of what a mask leaves of each row is the sum of the row divided by the count of the row. Divided by the sum of
the whole mask, each mean is too small by the number of rows, and depends on what else is in the batch.
""",
    source="measured: means that change with the other rows of a batch",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.sum(mask)", "jnp.sum(mask, axis=1, keepdims=True)"),),
)
