"""NNX635: smoothed labels that add up to more than 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import complement
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_ONE_HOT = pattern(rb"one_hot|jnp\.eye", needs=(b"one_hot", b"jnp.eye"))


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if module.source.matches(_ONE_HOT)}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if not isinstance(node.op, ast.Add) or scope.module not in modules or in_test(scope):
            continue
        for whole, added in ((node.left, node.right), (node.right, node.left)):
            parts = operands(whole, ast.Mult)
            rest = [one for one in parts if _rest(one, ast.unparse(added))]
            if len(parts) == 2 and len(rest) == 1 and not isinstance(added, ast.BinOp):
                labels = written(context, next(one for one in parts if one not in rest), scope)
                if _one_hot(labels):
                    yield finding(
                        RULE.code,
                        scope,
                        node,
                        f"each class gets {ast.unparse(added)}: the smoothed labels add up to more than 1",
                        f"divide it by the number of classes: {ast.unparse(added)} / num_classes",
                    )


def _rest(node: ast.expr, share: str) -> bool:
    """Say whether an expression is ``1 - share``, also of numbers that are written out."""
    number = constant(node)
    if isinstance(number, float):
        try:
            return abs(number + float(share) - 1) < _EXACT
        except ValueError:
            return False
    rest = complement(node)
    return rest is not None and ast.unparse(rest) == share


def _one_hot(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):
        node = node.value  # jnp.eye(n)[labels]
        return isinstance(node, ast.Call) and last_word(node.func) == "eye"
    return isinstance(node, ast.Call) and last_word(node.func) == "one_hot"


_EXACT = 1e-9
_BAD = """\
import jax


def smoothed(labels, classes, share=0.1):
    return jax.nn.one_hot(labels, classes) * (1 - share) + share
"""

RULE = lint_rule(
    "NNX635",
    "smoothed-labels",
    "smoothed labels that add up to more than 1",
    why="""\
Label smoothing gives the share to all classes together, so that each gets `share / num_classes` and the labels still
add up to 1. With the whole share for each, a thousand classes weigh 100 times as much as the right one at a share of
0.1, and the cross-entropy has no use of its minimum.
""",
    source="Szegedy and others, 2016, section 7; optax.smooth_labels; measured: sums above 1",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("+ share", "+ share / classes"),),
)
