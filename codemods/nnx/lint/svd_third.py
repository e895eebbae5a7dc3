"""NNX517: what svd gives third, taken for V, where it is V transposed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import at, binary, one_source, operand
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import each, foreign, in_test
from codemods.nnx.values import Attr, Call, Const, Item, Sequence, Unknown, Value

_SVD = frozenset(
    {"jax.numpy.linalg.svd", "jax.scipy.linalg.svd", "jax.lax.linalg.svd", "numpy.linalg.svd", "scipy.linalg.svd"}
)
_PLACES: dict[object, int] = {0: 0, 1: 1, 2: 2, -3: 0, -2: 1, -1: 2, "U": 0, "S": 1, "Vh": 2}
_PRODUCTS = frozenset(f"{home}.{word}" for home in ("jax.numpy", "numpy") for word in ("dot", "matmul"))
_TURNING = frozenset({"transpose", "matrix_transpose", "swapaxes"})
_DEPTH = 8


class _Part(NamedTuple):
    """A part of what a decomposition gives.

    Attributes:
        call: the decomposition.
        place: 0 for U, 1 for the singular values, 2 for V transposed.
        turned: whether it is transposed.
        columns: whether only some of its columns are left, when it was not transposed yet.
        rows: whether only some of its rows are left.
    """

    call: Bound
    place: int
    turned: bool = False
    columns: bool = False
    rows: bool = False


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"svd") for module in context.project.modules):
        return
    made = [name for event, name in foreign(context, "svd", everywhere=True) if name in _SVD]
    if not made:
        return
    for scope, node, left, right in _products(context):
        if in_test(scope):
            continue
        found = _wrong(context, at(context, left, scope), at(context, right, scope))
        if found is not None:
            yield finding(
                RULE.code,
                scope,
                node,
                "the third result of svd is V transposed, with a vector in each row: here its columns are taken for "
                "them",
                found,
            )


def _products(context: Context) -> Iterator[tuple[Scope, ast.expr, ast.expr, ast.expr]]:
    """Yield the products of matrices, each with both operands."""
    for scope, node in each(context, ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            yield scope, node, node.left, node.right
    for event, name in foreign(context, "dot", "matmul"):
        if name in _PRODUCTS and len(event.node.args) == 2 and not event.value.starred:
            yield event.scope, event.node, event.node.args[0], event.node.args[1]


def _wrong(context: Context, left: Bound, right: Bound) -> str | None:
    """Return what to write instead of a product that takes V transposed for V; None if it is right or not known."""
    first, second = _leading(context, left, 0), _of_product(context, right)
    if second is not None and second.place == 2 and not second.turned and not second.rows:
        if _is_data(context, left, second):
            return "take its rows and transpose them: x @ vh[:k].T"
    if first is None:
        return None
    along = _coordinates(context, right, 0) if first.place == 2 and not first.turned and not first.rows else None
    if along is not None and along.call.value is first.call.value:
        return "transpose it: vh.T @ ((u.T @ y) / s)"
    if second is None or first.call.value is not second.call.value:
        return None
    if first.place == 0 and not first.turned and not first.rows and second.place == 2 and second.turned:
        return "leave it as it is: (u * s) @ vh"
    if first.place == 2 and not first.turned and second.place == 0 and second.turned:
        return "transpose it: vh.T @ u.T"
    return None


def _is_data(context: Context, left: Bound, part: _Part) -> bool:
    """Say whether a matrix is the one that was decomposed, or others less their mean, which the first columns get."""
    assert isinstance(part.call.value, Call)
    given = context.flow.with_value(part.call, part.call.value.args[0])
    one, other = one_source(context, left), one_source(context, given)
    if one is None or other is None:
        return False
    if one.value == other.value and (isinstance(one.value, Call | Unknown) or one.frame == other.frame):
        return True
    centred = binary(one, ast.Sub) is not None and binary(other, ast.Sub) is not None
    return centred and part.columns


def _leading(context: Context, bound: Bound, depth: int) -> _Part | None:
    """Return the matrix that a product begins with, or whose rows or columns are multiplied by numbers."""
    part = _part(context, bound, depth)
    found = one_source(context, bound)
    if part is not None or found is None or depth > _DEPTH:
        return part
    node = binary(found, ast.Mult, ast.Div, ast.MatMult)
    if node is None:
        return None
    behind = operand(context, found, node.right)
    if isinstance(node.op, ast.MatMult) and not _of_numbers(context, behind):
        return None
    first = _leading(context, operand(context, found, node.left), depth + 1)
    if isinstance(node.op, ast.Mult) and (first is None or first.place == 1):  # s * u
        return _leading(context, behind, depth + 1)
    return first


def _coordinates(context: Context, bound: Bound, depth: int) -> _Part | None:
    """Return the U that a vector is turned by, ``u.T @ y``, which may be multiplied or divided by numbers."""
    found = one_source(context, bound) if depth <= _DEPTH else None
    node = binary(found, ast.Mult, ast.Div, ast.MatMult) if found is not None else None
    if found is None:
        return None
    if node is None:
        return _turned_by(context, found)
    left, right = operand(context, found, node.left), operand(context, found, node.right)
    if isinstance(node.op, ast.MatMult):
        first = _part(context, left, 0)
        if first is not None and first.place == 0 and first.turned:
            return first
        return _coordinates(context, right, depth + 1) if _of_numbers(context, left) else None
    along = _coordinates(context, left, depth + 1)
    return along or (_coordinates(context, right, depth + 1) if isinstance(node.op, ast.Mult) else None)


def _turned_by(context: Context, found: Bound) -> _Part | None:
    """Return the U of ``jnp.dot(u.T, y)``."""
    call = found.value
    if not isinstance(call, Call) or len(call.args) != 2 or context.flow.calls.callee_name(found) not in _PRODUCTS:
        return None
    first = _part(context, context.flow.with_value(found, call.args[0]), 0)
    return first if first is not None and first.place == 0 and first.turned else None


def _of_product(context: Context, bound: Bound) -> _Part | None:
    """Return the matrix that a product ends with, whose rows or columns may be multiplied by numbers."""
    part = _part(context, bound, 0)
    found = one_source(context, bound)
    node = binary(found, ast.Mult) if part is None and found is not None else None
    if node is None or found is None:
        return part
    sides = [_part(context, operand(context, found, side), 0) for side in (node.left, node.right)]
    known = [side for side in sides if side is not None and side.place != 1]
    return known[0] if len(known) == 1 and None not in sides else None


def _of_numbers(context: Context, bound: Bound) -> bool:
    """Say whether a matrix is a diagonal one, such as that of the singular values."""
    found = one_source(context, bound)
    return (
        found is not None
        and isinstance(found.value, Call)
        and last(context.flow.calls.callee_name(found)) in {"diag", "eye", "identity", "diagflat"}
    )


def _part(context: Context, bound: Bound, depth: int) -> _Part | None:
    """Return which part of a decomposition a value is; None if it is none, or not one alone."""
    part = _form(context, bound, depth) if depth <= _DEPTH else None
    found = one_source(context, bound) if part is None and depth <= _DEPTH else None
    return _form(context, found, depth) if found is not None and found.value is not bound.value else part


def _form(context: Context, found: Bound, depth: int) -> _Part | None:
    """Return which part of a decomposition a value is, if it is a result, part or transpose by what is written."""
    value, flow = found.value, context.flow
    if isinstance(value, Attr) and value.name in {"T", "mT"}:
        return _turned(_part(context, flow.with_value(found, value.base), depth + 1))
    if isinstance(value, Call):
        name = flow.calls.callee_name(found)
        if last(name) in _TURNING and name.startswith(("jax.numpy.", "numpy.")) and value.args:
            return _turned(_part(context, flow.with_value(found, value.args[0]), depth + 1))
        if not name and isinstance(value.callee, Attr) and value.callee.name == "transpose" and not value.args:
            return _turned(_part(context, flow.with_value(found, value.callee.base), depth + 1))
        return None
    if isinstance(value, Attr) and value.name in _PLACES:
        return _result(context, flow.with_value(found, value.base), _PLACES[value.name])
    if not isinstance(value, Item | Indexed):
        return None
    index = value.index.value if isinstance(value, Indexed) else value.index
    base = flow.with_value(found, value.base)
    if isinstance(index, Const):
        place = _PLACES.get(index.value) if type(index.value) is int else None
        return _result(context, base, place) if place is not None else None
    inner = _part(context, base, depth + 1)
    return _cut(inner, index) if inner is not None else None


def _result(context: Context, bound: Bound, place: int) -> _Part | None:
    """Return a part of what a call of svd gives."""
    found = one_source(context, bound)
    if found is None or not isinstance(found.value, Call) or context.flow.calls.callee_name(found) not in _SVD:
        return None
    call = found.value
    # without its vectors it gives one array; the fourth argument of NumPy says so, or speaks of Hermitian matrices
    if call.starred or not call.args or len(call.args) > 2 or call.keyword("compute_uv") is not None:
        return None
    return _Part(found, place)


def _turned(part: _Part | None) -> _Part | None:
    return part._replace(turned=not part.turned) if part is not None else None


def _cut(part: _Part, index: Value) -> _Part | None:
    """Return what is left of a matrix by ``[:k]``, ``[:, :k]`` and the like; None if its axes change."""
    parts = list(index.items) if isinstance(index, Sequence) and isinstance(index.node, ast.Tuple) else [index]
    slices = [one.node for one in parts if isinstance(one, Unknown) and isinstance(one.node, ast.Slice)]
    if part.place == 1:  # numbers, in whatever shape
        return part
    if len(slices) != len(parts) or len(parts) > 2:
        return None
    whole = [one.lower is None and one.upper is None for one in slices]
    first, second = whole[0], whole[1] if len(whole) > 1 else True
    columns, rows = (not first, not second) if part.turned else (not second, not first)
    return part._replace(columns=part.columns or columns, rows=part.rows or rows)


_BAD = """\
import jax.numpy as jnp


def leading(x, k):
    centred = x - x.mean(axis=0)
    u, s, v = jnp.linalg.svd(centred, full_matrices=False)
    return centred @ v[:, :k]


print(leading(jnp.eye(4), 2))
"""

RULE = lint_rule(
    "NNX517",
    "svd-third",
    "the third result of svd taken for V, where it is V transposed",
    why="""\
`u, s, vh = jnp.linalg.svd(x)` means `x = (u * s) @ vh`, as in NumPy; other libraries give V itself. The leading
vectors are the rows `vh[:k]`. Where the matrix is square all shapes are right either way, and the result is not.
""",
    source="JAX and NumPy documentation of linalg.svd; torch.svd gives V; measured on JAX 0.6.2 and 0.10.2",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("v[:, :k]", "v[:k].T"),),
)
