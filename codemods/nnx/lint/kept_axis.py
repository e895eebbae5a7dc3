"""NNX982: an array is centred or scaled by its mean, sum or norm along an axis that was not kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import argument, constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Value

_REDUCING = frozenset({"mean", "sum", "std", "var", "max", "min", "median", "norm", "amax", "amin"})
_HOMES = ("jax.numpy.", "numpy.")


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Sub | ast.Div | ast.Mult) or in_test(scope):
            continue
        found = _reduced(context, scope, node.left, node.right)
        if found is not None:
            text, axis = found
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{text}` takes axis {axis} away, and meets the last axis of `{_short(node.left)}`",
                "keep the axis: keepdims=True",
            )


def _short(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) < 30 else text[:27] + "..."


def _reduced(context: Context, scope: Scope, whole: ast.expr, part: ast.expr) -> tuple[str, int] | None:
    """Return an expression that reduces an array along an axis behind the first, and that axis, if it meets the array.

    An array has such an axis only where it has two, and the first number of the reduced one belongs to a row.
    """
    values = scope.module.values
    array, made = values.get(whole), values.get(part)
    if isinstance(whole, ast.BinOp):  # (x - mean) / x.std(axis=1)
        array = values.get(whole.left)
    if array is None or not isinstance(made, Call) or made.starred:
        return None
    call = made.node
    name = context.flow.calls.callee_name(context.flow.here(made, scope))
    word = last_word(call.func)
    if word not in _REDUCING or keyword(call, "keepdims") is not None:
        return None
    if name.startswith(_HOMES):
        given: Value | None = made.args[0] if made.args else None
        axis = argument(call, 2 if word == "norm" else 1, "axis")
        most = 3 if word == "norm" else 2
    elif not name and isinstance(made.callee, Attr):
        given, axis, most = made.callee.base, argument(call, 0, "axis"), 1
    else:
        return None
    number = constant(axis)
    if given != array or not isinstance(number, int) or isinstance(number, bool) or number < 1 or len(call.args) > most:
        return None
    return ast.unparse(call), number


_BAD = """\
import jax
import jax.numpy as jnp


def normalize(x):
    return (x - x.mean(axis=1)) / x.std(axis=1)
"""

RULE = lint_rule(
    "NNX982",
    "axis-not-kept",
    "an array meets its mean, sum or norm along an axis that was taken away",
    why="""\
`x.mean(axis=1)` of an array of shape (examples, features) has shape (examples,). Beside `x` its numbers are matched
with the features: the example in row 0 is not centred by its own mean, but each column by the mean of another row. It
raises where the sizes differ, and goes unnoticed where they are equal.
""",
    source="NumPy's rules of broadcasting; measured: rows that are not centred",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("axis=1", "axis=1, keepdims=True"),),
)
