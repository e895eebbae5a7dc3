"""NNX659: a binary cross-entropy whose two terms have different signs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import constant, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_WORDS = pattern(rb"log\(", needs=(b"log(",))


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if module.source.matches(_WORDS)}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if not isinstance(node.op, ast.Sub) or scope.module not in modules or in_test(scope):
            continue
        label, chance = _term(node.left)
        other, rest = _term(node.right)
        if not label or not chance or _complement(other) != label or _complement(rest) != chance:
            continue
        yield finding(
            RULE.code,
            scope,
            node,
            "the terms of a cross-entropy have one sign: this one makes examples of the second kind less likely",
            "add them: -(y * log(p) + (1 - y) * log(1 - p))",
        )


def _term(node: ast.expr) -> tuple[str, str]:
    """Return the label and the probability of ``y * log(p)``, as they are written."""
    parts = operands(node, ast.Mult)
    if len(parts) != 2:
        return "", ""
    for label, log in (parts, parts[::-1]):
        if isinstance(log, ast.Call) and last_word(log.func) == "log" and len(log.args) == 1:
            return ast.unparse(label), ast.unparse(_bare(log.args[0]))
    return "", ""


def _bare(node: ast.expr) -> ast.expr:
    """Return a probability without what keeps it away from zero."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            number = constant(other)
            if (isinstance(number, float) and 0 < number < 0.01) or "eps" in ast.unparse(other).lower():
                return one
    return node


def _complement(text: str) -> str:
    """Return what a text takes from one: ``p`` of ``1 - p``."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and constant(node.left) == 1:
        return ast.unparse(node.right)
    return ""


_BAD = """\
import jax.numpy as jnp


def loss(p, y):
    return -jnp.mean(y * jnp.log(p) - (1 - y) * jnp.log(1 - p))
"""

RULE = lint_rule(
    "NNX659",
    "entropy-sign",
    "a binary cross-entropy whose terms have different signs",
    why="""\
`-(y * log(p) + (1 - y) * log(1 - p))` is small where the label is likely, whichever of both it is. With a minus between
the terms the loss of the second kind falls without bound as its examples become less likely.
""",
    source="Bishop, Pattern Recognition and Machine Learning, equation 4.90; measured: a loss of minus infinity",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.log(p) - (1", "jnp.log(p) + (1"),),
)
