"""NNX581: classes that begin at one, where one_hot counts from zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.count_by_largest import counted_by_largest
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import originals_that
from codemods.nnx.lint.places import foreign, in_test, literal
from codemods.nnx.lint.syntax import argument
from codemods.nnx.values import Call, Const, Sequence, Value

_ONE_HOT = frozenset({"jax.nn.one_hot", "flax.nnx.one_hot"})
_LISTED = frozenset({"jax.numpy.array", "jax.numpy.asarray", "numpy.array", "numpy.asarray"})


def _check(context: Context) -> Iterator[Finding]:
    for event, labels_of in counted_by_largest(context):
        text = ast.unparse(labels_of)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"labels begin at 0, so that there is one more than the greatest of `{text}` says: that one is left out",
            f"add one: {text}.max() + 1",
        )
    for event, name in foreign(context, "one_hot"):
        node = argument(event.node, 1, "num_classes")
        labels = event.value.argument(0, "x")
        if name not in _ONE_HOT or node is None or labels is None or event.value.starred or in_test(event.scope):
            continue
        classes = _integer(context, node, event.scope)
        sources = originals_that(context, context.flow.here(labels, event.scope), lambda value: isinstance(value, Call))
        ends = [_ends(context, one) for one in sources] if classes is not None else []
        known = [one for one in ends if one is not None]
        if classes is None or not known or len(known) != len(ends):
            continue
        if all(smallest > 0 and largest >= classes for smallest, largest in known):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the labels go up to {max(largest for _, largest in known)}, and {classes} classes are 0 to "
                f"{classes - 1}: of the last one no entry is set",
                "count them from zero: one_hot(labels - 1, ...)",
            )


def _ends(context: Context, bound: Bound) -> tuple[int, int] | None:
    """Return the smallest and the largest label that a call gives, as far as that is written; None if it is not."""
    made = bound.value
    scope = context.bodies.home(made.node) if isinstance(made, Call) else None
    if not isinstance(made, Call) or scope is None or made.starred:
        return None
    name = context.flow.calls.callee_name(bound)
    if name == "jax.random.randint":
        ends = [argument(made.node, 2, "minval"), argument(made.node, 3, "maxval")]
        lower, upper = (_integer(context, one, scope) if one is not None else None for one in ends)
        return None if lower is None or upper is None else (lower, upper - 1)
    if name in _LISTED and len(made.args) == 1:
        numbers = _numbers(context.flow.follow(bound, made.args[0]).value)
        return (min(numbers), max(numbers)) if numbers else None
    return None


def _numbers(value: Value) -> list[int] | None:
    """Return the integers of a list, or of lists in it; None if it holds anything else."""
    if isinstance(value, Const):
        return [value.value] if type(value.value) is int else None
    if not isinstance(value, Sequence) or not isinstance(value.node, ast.List | ast.Tuple):
        return None
    parts = [_numbers(one) for one in value.items]
    return None if any(part is None for part in parts) else [one for part in parts if part for one in part]


def _integer(context: Context, node: ast.expr, scope: Scope) -> int | None:
    """Return the integer that an expression is: a constant, also under a name, or a sum or difference of such."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left, right = _integer(context, node.left, scope), _integer(context, node.right, scope)
        if left is None or right is None:
            return None
        return left + right if isinstance(node.op, ast.Add) else left - right
    known = literal(context, node, scope)
    return known if type(known) is int else None


RULE = lint_rule(
    "NNX581",
    "class-past-end",
    "labels from 1 to n, or up to n, for one_hot of n classes",
    why="""\
`jax.nn.one_hot(labels, n)` has an entry for each of 0 to n - 1. Of a label n it gives a row of zeros and says nothing:
a cross-entropy of it is zero, so that the last class is never learned, and the first entry stands for no class. The
greatest label, `labels.max()`, is one less than the number of classes, segments or bins.
""",
    source="jax documentation of one_hot; measured on JAX 0.6.2 and 0.10.2: a row of zeros",
    check=_check,
    bad=(
        """\
import jax

STARS = 5


def targets(key, n):
    ratings = jax.random.randint(key, (n,), 1, STARS + 1)
    return jax.nn.one_hot(ratings, STARS)
""",
    ),
    clean=(
        """\
import jax

STARS = 5


def targets(key, n):
    ratings = jax.random.randint(key, (n,), 1, STARS + 1)
    return jax.nn.one_hot(ratings - 1, STARS)
""",
    ),
)
