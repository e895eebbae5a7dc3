"""What numbers an expression may be: constants, what is computed of them, and what all calls give for a parameter."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.values import Call, Const, Param, Unknown, Value

_Number = int | float
_OPERATORS: dict[type[ast.operator], Callable[[_Number, _Number], _Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
}
_CASTS = {"builtins.int": int, "builtins.float": float}
_DEPTH = 8
_MANY = 16  # so many numbers, and a value is taken for unknown


def numbers(context: Context, value: Value | None, scope: Scope) -> frozenset[_Number]:
    """Return the numbers that a value is, over all ways; empty if one of them is not known.

    Args:
        context: the analysis.
        value: the value; None for none.
        scope: the scope that it was written in.
    """
    found = _of(context, context.flow.here(value, scope), 0) if value is not None else None
    return frozenset(found or ())


def the_number(context: Context, value: Value | None, scope: Scope) -> _Number | None:
    """Return the one number that a value is, as :func:`numbers` finds it; None if it is none or several."""
    found = numbers(context, value, scope)
    return next(iter(found)) if len(found) == 1 else None


def _of(context: Context, bound: Bound, depth: int) -> set[_Number] | None:
    if depth > _DEPTH:
        return None
    found: set[_Number] = set()
    for source in context.sources.originals(bound):
        some = _made(context, source, depth)
        if not some or len(found) + len(some) > _MANY:
            return None
        found |= some
    return found


def _made(context: Context, source: Bound, depth: int) -> set[_Number] | None:
    value = source.value
    if isinstance(value, Const):
        number = value.value
        return {number} if isinstance(number, int | float) and not isinstance(number, bool) else None
    if isinstance(value, Param):  # that no call fills
        default = value.function.defaults.get(value.name)
        return _made(context, Bound(default), depth) if isinstance(default, Const) else None
    if isinstance(value, Call):
        cast = _CASTS.get(context.flow.calls.callee_name(source))
        inner = _of(context, context.flow.with_value(source, value.args[0]), depth + 1) if cast and value.args else None
        return {cast(one) for one in inner} if cast is not None and inner else None
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp | ast.UnaryOp):
        return _computed(context, source, value.node, depth)
    return None


def _computed(context: Context, source: Bound, node: ast.expr, depth: int) -> set[_Number] | None:
    """Return what an operation gives, whose parts belong to the activation of a value."""
    if isinstance(node, ast.Constant):
        return _made(context, Bound(Const(node.value)), depth)
    home = context.bodies.home_of(source, node)
    if home is None or depth > _DEPTH:
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _computed(context, source, node.operand, depth + 1)
        return {-one for one in inner} if inner else None
    if not isinstance(node, ast.BinOp):
        value = home.module.values.get(node)
        return _of(context, context.flow.with_value(source, value), depth + 1) if value is not None else None
    compute = _OPERATORS.get(type(node.op))
    left, right = (_computed(context, source, side, depth + 1) for side in (node.left, node.right))
    if compute is None or not left or not right or len(left) * len(right) > _MANY:
        return None
    if isinstance(node.op, ast.Div | ast.FloorDiv) and 0 in right:
        return None
    return {compute(one, two) for one in left for two in right}
