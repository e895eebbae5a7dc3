"""NNX630: a lower bound that lies above the upper one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import error_wanted, foreign, in_test, written
from codemods.nnx.lint.syntax import argument, written_number
from codemods.nnx.patterns import pattern

#: Functions with the places and names of their two bounds, and what they give if these are exchanged.
_BOUNDED = {
    "clip": ((1, "min"), (2, "max"), "every element becomes the upper bound"),
    "uniform": ((3, "minval"), (4, "maxval"), "every number is the lower bound"),
    "randint": ((2, "minval"), (3, "maxval"), "every number is the lower bound"),
    "truncated_normal": ((1, "lower"), (2, "upper"), "no number lies between them"),
}
_OLD = {"min": "a_min", "max": "a_max"}
# a margin, which is positive
_MARGIN = pattern(r"(^|_)(eps|epsilon|delta|tol|margin|clip\w*|\w*eps|\w*range|radius|width|half\w*)$")
_LIMIT = pattern(r"(^|_)(max|limit|bound|clip|radius|threshold)(_|$)")


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "minimum", "maximum"):
        given = event.node.args
        if name.startswith("jax.numpy.") and len(given) == 2 and isinstance(given[0], ast.Name):
            if ast.dump(given[0]) == ast.dump(given[1]) and not in_test(event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{given[0].id}` is compared with itself: `{last(name)}` gives it as it is",
                    "give it the other value as well",
                )
    for event, name in foreign(context, *_BOUNDED):
        if not name.startswith(("jax.", "numpy.")) or event.value.starred or in_test(event.scope):
            continue
        lower, upper, words = _BOUNDED[last(name)]
        low, high = (_given(event.node, place, word, name) for place, word in (lower, upper))
        if low is None or high is None or error_wanted(context, event):
            continue
        if _above(context, low, high, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                low,
                f"`{ast.unparse(low)}` is the lower bound and lies above the upper one, `{ast.unparse(high)}`: {words}",
                f"exchange them: {ast.unparse(high)}, {ast.unparse(low)}",
            )


def _given(call: ast.Call, place: int, word: str, name: str) -> ast.expr | None:
    if name.startswith("numpy.") and last(name) != "clip":
        return None  # other places: numpy.random.uniform(low, high)
    return argument(call, place, word) or argument(call, place, _OLD.get(word, word))


def _above(context: Context, low: ast.expr, high: ast.expr, scope: Scope) -> bool:
    """Say whether one bound is certainly above the other."""
    if _called_above(low, high):
        return True
    low, high = written(context, low, scope), written(context, high, scope)
    one, other = written_number(low), written_number(high)
    if one is not None and other is not None:
        return one > other
    if isinstance(low, ast.BinOp) and isinstance(low.op, ast.Add) and isinstance(high, ast.BinOp):
        same = ast.unparse(low.left) == ast.unparse(high.left) and ast.unparse(low.right) == ast.unparse(high.right)
        return isinstance(high.op, ast.Sub) and same and _positive(low.right, _MARGIN)
    if isinstance(high, ast.UnaryOp) and isinstance(high.op, ast.USub):
        return ast.unparse(high.operand) == ast.unparse(low) and _positive(low, _LIMIT)
    return False


def _called_above(low: ast.expr, high: ast.expr) -> bool:
    """Say whether a lower bound is infinite, or two have each other's names: ``std_max`` below ``std_min``."""
    if isinstance(low, ast.Attribute) and low.attr == "inf":
        return not (isinstance(high, ast.Attribute) and high.attr == "inf")
    one, other = (ast.unparse(node).lower() for node in (low, high))
    return one != other and any(
        one.replace(upper, lower) == other and lower not in one
        for upper, lower in (("max", "min"), ("upper", "lower"), ("high", "low"))
        if upper in one and lower in other
    )


def _positive(node: ast.expr, names: re.Pattern[str]) -> bool:
    number = written_number(node)
    if number is not None:
        return number > 0
    word = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return names.search(word.lower()) is not None


_BAD = """\
import jax.numpy as jnp


def policy_loss(ratio, advantage, eps=0.2):
    clipped = jnp.clip(ratio, 1 + eps, 1 - eps)
    return -jnp.mean(jnp.minimum(ratio * advantage, clipped * advantage))
"""

RULE = lint_rule(
    "NNX630",
    "bounds-exchanged",
    "a lower bound that lies above the upper one",
    why="""\
`jnp.clip` cuts at the lower bound first and at the upper one then: with the bounds exchanged every element becomes the
upper one, and its gradient is zero. `jax.random.uniform` and `randint` give the lower bound alone.
""",
    source="jax.numpy.clip, jax.random.uniform, jax.random.randint; measured: constants",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("1 + eps, 1 - eps", "1 - eps, 1 + eps"),),
)
