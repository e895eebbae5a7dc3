"""NNX973: a loop of JAX whose bounds leave no round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.values import Const


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "fori_loop"):
        if name != "jax.lax.fori_loop" or event.value.starred or in_test(event.scope):
            continue
        first, behind = (
            _number(context, argument(event.node, place, word), event.scope)
            for place, word in ((0, "lower"), (1, "upper"))
        )
        if first is not None and behind is not None and first > behind:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"a loop from {first} up to {behind} has no round: fori_loop only counts up",
                f"loop over range({first - behind}) and count down in the body: {first} - i",
            )


def _number(context: Context, node: ast.expr | None, scope: Scope) -> int | None:
    """Return the whole number that an expression is, also as a sum or difference; None if that is not known."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left, right = (_number(context, side, scope) for side in (node.left, node.right))
        if left is None or right is None:
            return None
        return left + right if isinstance(node.op, ast.Add) else left - right
    number = constant(node)
    value = scope.module.values.get(node) if node is not None and number is None else None
    if value is not None:
        found = context.flow.resolve(context.flow.here(value, scope)).value
        number = found.value if isinstance(found, Const) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


_BAD = """\
import jax


def back(x):
    return jax.lax.fori_loop(10, 0, lambda i, total: 0.9 * total + x[i], 0.0)
"""

RULE = lint_rule(
    "NNX973",
    "empty-loop",
    "a fori_loop whose lower bound is above the upper one",
    why="""\
`jax.lax.fori_loop(lower, upper, body, init)` counts up from `lower` to `upper`, which it leaves out. With the bounds
the other way round it has no round and returns `init`, without a word.
""",
    source="documentation of jax.lax.fori_loop; measured: init comes back",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(10, 0, lambda i,", "(0, 10, lambda i,").replace("x[i]", "x[10 - i]"),),
)
