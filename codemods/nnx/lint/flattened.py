"""NNX654: functions that make one row of a matrix unless they are told an axis."""

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
from codemods.nnx.lint.syntax import argument, constant, keyword

# the place of the axis of each
_AXES = {"cumsum": 1, "cumprod": 1, "nancumsum": 1, "take": 2, "append": 2, "delete": 2, "insert": 3, "repeat": 2}
_FLAT = frozenset({"reshape", "ravel", "flatten"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *_AXES):
        if not name.startswith(("jax.numpy.", "numpy.")) or not event.node.args or in_test(event.scope):
            continue
        word = last(name)
        if event.value.starred or argument(event.node, _AXES[word], "axis") is not None:
            continue
        array = event.node.args[0]
        if word == "take" and (len(event.node.args) < 2 or _axes(context, event.scope, event.node.args[1]) != 1):
            continue  # the result has the axes of the places
        if _axes(context, event.scope, array) < 2 or not _has_rows_after(context, event.scope, event.node):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"without an axis `{word}` makes one row of `{ast.unparse(array)}`, and its result is read by rows",
            "say which axis is meant: axis=-1, or axis=0 for rows of a table",
        )


def _axes(context: Context, scope: Scope, node: ast.expr) -> int:
    value = scope.module.values.get(node)
    return Arrays(context, {}).axes(value, scope) if value is not None else 0


def _has_rows_after(context: Context, scope: Scope, call: ast.Call) -> bool:
    """Say whether the result is read as an array with rows: ``c[:, -1]``, ``c @ w``, ``c.argmax(-1)``, ``c[i][j]``."""
    above = around(context, scope)
    reads: list[ast.AST] = [call]
    whole = above.get(call)
    if isinstance(whole, ast.Assign) and len(whole.targets) == 1 and isinstance(whole.targets[0], ast.Name):
        name = whole.targets[0].id
        value = scope.module.values.get(call)
        reads = [one for one in context.bodies.reads(scope, name) if scope.module.values.get(one) is value]
    return any(_by_rows(above, one) for one in reads)


def _by_rows(above: dict[ast.AST, ast.AST], node: ast.AST) -> bool:
    user = above.get(node)
    if isinstance(user, ast.Subscript) and user.value is node and isinstance(user.slice, ast.Tuple):
        # at least two axes are indexed, none of them made anew
        parts = [one for one in user.slice.elts if not (isinstance(one, ast.Constant) and one.value in (None, ...))]
        return len(parts) > 1
    if isinstance(user, ast.Attribute) and isinstance(call := above.get(user), ast.Call) and call.func is user:
        axis = argument(call, 0, "axis") if user.attr not in _FLAT else None
        return axis is not None and constant(axis) in (1, 2, (0, 1))
    if isinstance(user, ast.Call) and user.args and user.args[0] is node:
        axis = keyword(user, "axis")
        return axis is not None and constant(axis) in (1, 2, (0, 1), -2)
    if isinstance(user, ast.Attribute) and user.attr == "shape":
        size = above.get(user)
        return isinstance(size, ast.Subscript) and constant(size.slice) in (1, 2)
    return False


_BAD = """\
import jax
import jax.numpy as jnp


def within(share):
    probabilities = jax.nn.softmax(jnp.zeros((4, 10)), axis=-1)
    sums = jnp.cumsum(probabilities)
    return sums[:, -1] > share
"""

RULE = lint_rule(
    "NNX654",
    "flattened",
    "a matrix that becomes one row because no axis is said",
    why="""\
`cumsum`, `cumprod`, `take`, `repeat`, `append`, `delete` and `insert` flatten their array unless they are told an axis:
sums go on from row to row, and `take` picks single numbers and not rows. The rule speaks where the array is known to
have several axes and the result is read as if it had them still.
""",
    source="numpy.cumsum, numpy.take; measured: IndexError, or sums over all rows",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("cumsum(probabilities)", "cumsum(probabilities, axis=-1)"),),
)
