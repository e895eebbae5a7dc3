"""NNX653: an order of each row whose rows are reversed, instead of the order in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant

_SORTING = frozenset({"argsort", "sort"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *_SORTING):
        if not name.startswith(("jax.numpy.", "numpy.")) or not event.node.args or in_test(event.scope):
            continue
        axis = argument(event.node, 1, "axis")
        if axis is not None and constant(axis) not in (-1, 1):
            continue
        above = around(context, event.scope)
        turned = above.get(event.node)
        if not isinstance(turned, ast.Subscript) or not _reverses(turned.slice):
            continue
        if _of_rows(context, event.scope, event.node.args[0]) or _cut_in_rows(context, event.scope, turned):
            yield finding(
                RULE.code,
                event.scope,
                turned,
                f"`[::-1]` reverses the rows, and `{last(name)}` has put each row into its own order",
                "reverse the last axis: [..., ::-1]",
            )


def _reverses(node: ast.expr) -> bool:
    """Say whether an index is ``::-1`` alone."""
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and constant(node.step) == -1


def _of_rows(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether an array is known to have several axes."""
    value = scope.module.values.get(node)
    return value is not None and Arrays(context, {}).axes(value, scope) > 1


def _cut_in_rows(context: Context, scope: Scope, turned: ast.Subscript) -> bool:
    """Say whether the first ones of each row are taken then: ``order[:, :5]``."""
    above = around(context, scope)
    whole = above.get(turned)
    if isinstance(whole, ast.Subscript) and whole.value is turned:
        return _first_ones(whole.slice)
    if not isinstance(whole, ast.Assign) or len(whole.targets) != 1 or not isinstance(whole.targets[0], ast.Name):
        return False
    reads = context.bodies.reads(scope, whole.targets[0].id)
    parts = [above.get(one) for one in reads]
    return any(isinstance(one, ast.Subscript) and one.value in reads and _first_ones(one.slice) for one in parts)


def _first_ones(node: ast.expr) -> bool:
    """Say whether an index is ``:, :k`` or ``..., :k``."""
    if not isinstance(node, ast.Tuple) or len(node.elts) != 2:
        return False
    rows, columns = node.elts
    whole = isinstance(rows, ast.Slice) and rows.lower is rows.upper is rows.step is None
    every = isinstance(rows, ast.Constant) and rows.value is Ellipsis
    return (whole or every) and isinstance(columns, ast.Slice) and columns.lower is None and columns.upper is not None


_BAD = """\
import jax.numpy as jnp


def best(scores, k):
    order = jnp.argsort(scores, axis=-1)[::-1]
    return order[:, :k]
"""

RULE = lint_rule(
    "NNX653",
    "reversed-rows",
    "a descending order of each row that reverses the rows",
    why="""\
`jnp.argsort(scores, axis=-1)[::-1]` reverses the first axis: of a matrix the rows come in reverse, each still in
ascending order, and the first columns are the places of the least scores. `[..., ::-1]` reverses each row;
`jnp.argsort(..., descending=True)` and `jax.lax.top_k` need no turning.
""",
    source="Stack Overflow, sorting the rows of an array in descending order; measured: the worst come first",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("[::-1]", "[..., ::-1]"),),
)
