"""NNX982: an array is centred or scaled by its mean, sum or norm along an axis that was not kept."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import Arrays, batched
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import argument, constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Value

_REDUCING = frozenset({"mean", "sum", "std", "var", "max", "min", "median", "norm", "amax", "amin", "logsumexp"})
_HOMES = ("jax.numpy.", "numpy.", "jax.nn.logsumexp", "jax.scipy.special.logsumexp", "scipy.special.logsumexp")
_ROOTS = frozenset({"sqrt", "rsqrt"})
_LIMITING = frozenset({"maximum", "clip"})
_SQUARES = frozenset({"square", "abs", "absolute"})
_SMALL = pattern(r"_*eps(ilon)?|tol|tiny", re.I)
_DEPTH = 6


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Sub | ast.Div | ast.Mult) or in_test(scope):
            continue
        found = _reduced(context, scope, node.left, node.right)
        if found is None and isinstance(node.op, ast.Mult):  # rsqrt(variance) * x
            found = _reduced(context, scope, node.right, node.left)
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
    array, (bare, root) = values.get(whole), _bare(context, scope, part)
    made = values.get(bare)
    if isinstance(whole, ast.BinOp):  # (x - mean) / x.std(axis=1)
        array = values.get(whole.left)
    if array is None or not isinstance(made, Call) or made.starred:
        return None
    call = made.node
    name = context.flow.calls.callee_name(context.flow.here(made, scope))
    word = last_word(call.func)
    if word not in _REDUCING or any(keyword(call, one) is not None for one in ("keepdims", "keepdim")):
        return None  # keepdim is the word of PyTorch, whose tensors are divided so
    if name.startswith(_HOMES):
        given: Value | None = made.args[0] if made.args else None
        axis = argument(call, 2 if word == "norm" else 1, "axis")
        most = 3 if word == "norm" else 2
    elif not name and isinstance(made.callee, Attr):
        given, axis, most = made.callee.base, argument(call, 0, "axis"), 1
    else:
        return None
    number = constant(axis)
    if not isinstance(number, int) or isinstance(number, bool) or len(call.args) > most:
        return None
    if given != array and (word not in {"mean", "sum"} or array is not _squared(scope, call)):
        return None
    if root and given == array and word != "var":
        return None  # perhaps a matrix of edges by the roots of their numbers
    if number < 0:
        axes = None if scope.function in context.shared(batched) else Arrays(context, {}).of(array, scope).axes
        if axes is None or number + axes < 1:
            return None
    elif number == 0:
        return None
    return ast.unparse(call), number


def _bare(context: Context, scope: Scope, node: ast.expr) -> tuple[ast.expr, bool]:
    """Return an expression without small numbers that are added and roots, and whether a root was taken."""
    root = False
    for _ in range(_DEPTH):
        node = written(context, node, scope)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = [one for one in (node.left, node.right) if not _small(one)]
            if len(sides) != 1:
                break
            node = sides[0]
        elif isinstance(node, ast.Call) and node.args and last_word(node.func) in _ROOTS:
            node, root = node.args[0], True
        elif isinstance(node, ast.Call) and last_word(node.func) in _LIMITING and len(node.args) == 2:
            if not _small(node.args[1]):
                break
            node = node.args[0]
        else:
            break
    return node, root


def _small(node: ast.expr) -> bool:
    if isinstance(node, ast.Name | ast.Attribute):
        return _SMALL.fullmatch(last_word(node)) is not None
    return isinstance(constant(node), int | float)


def _squared(scope: Scope, call: ast.Call) -> Value | None:
    """Return the array whose squares or absolute values a call adds up."""
    if not call.args:
        return None
    given = call.args[0]
    if isinstance(given, ast.BinOp) and (
        (isinstance(given.op, ast.Pow) and constant(given.right) == 2)
        or (isinstance(given.op, ast.Mult) and ast.unparse(given.left) == ast.unparse(given.right))
    ):
        return scope.module.values.get(given.left)
    if isinstance(given, ast.Call) and last_word(given.func) in _SQUARES and len(given.args) == 1:
        return scope.module.values.get(given.args[0])
    return None


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
