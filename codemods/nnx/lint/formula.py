"""Going through the formula that a number or an array is computed by, also through names, helpers and fields."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import the_number
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Attr, Call, Const, Item, Param, Unknown

#: Functions and methods that give the numbers of an array as they are, in another type or form.
SAME_NUMBERS = frozenset(
    {"asarray", "array", "astype", "float32", "int32", "bfloat16", "float16", "reshape", "expand_dims", "broadcast_to",
     "squeeze", "copy", "device_put", "atleast_1d", "atleast_2d", "tile", "repeat", "ravel", "flatten"}
)  # fmt: skip
_HOMES = ("jax.", "numpy.", "flax.")


def operand(context: Context, bound: Bound, node: ast.expr) -> Bound:
    """Return what an operand of an operation is, in the activation of the operation.

    Args:
        context: the analysis.
        bound: the operation, whose value is an ``Unknown`` of its node.
        node: the operand.
    """
    scope = bound.frame.function.scope if bound.frame is not None else context.bodies.module_scope(node)
    value = scope.module.values.get(node) if scope is not None else None
    return context.flow.with_value(bound, value if value is not None else Unknown(node))


def at(context: Context, node: ast.expr, scope: Scope) -> Bound:
    """Return what an expression of a body is."""
    value = scope.module.values.get(node)
    return context.flow.here(value if value is not None else Unknown(node), scope)


def one_source(context: Context, bound: Bound) -> Bound | None:
    """Return the one place that a value comes from; None if there are several."""
    found = context.sources.originals(bound)
    return next(iter(found)) if len(found) == 1 else None


def bare(context: Context, bound: Bound, depth: int = 0) -> Bound | None:
    """Return where the numbers of an array come from, parts of it and other forms of it taken for it.

    Args:
        context: the analysis.
        bound: the array.
        depth: how many forms were gone through.

    Returns:
        The place; None if there are several.
    """
    found = one_source(context, bound)
    if found is None or depth > _DEPTH:
        return found
    inner = same_numbers(context, found)
    return bare(context, inner, depth + 1) if inner is not None else found


_DEPTH = 8


def same_numbers(context: Context, bound: Bound) -> Bound | None:
    """Return what an array is a part or another form of, as ``x.astype(int)``; None if it is none."""
    value = bound.value
    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value, Indexed) else value.index
        if isinstance(index, Const) and isinstance(index.value, str | int) and not isinstance(index.value, bool):
            return None  # perhaps an entry of a container
        return context.flow.with_value(bound, value.base)
    if not isinstance(value, Call):
        return None
    name = context.flow.calls.callee_name(bound)
    if name.startswith(_HOMES):
        if last(name) in SAME_NUMBERS and value.args:
            return context.flow.with_value(bound, value.args[0])
    elif not name and isinstance(value.callee, Attr) and value.callee.name in SAME_NUMBERS:
        return context.flow.with_value(bound, value.callee.base)
    return None


def binary(bound: Bound, *kinds: type[ast.operator]) -> ast.BinOp | None:
    """Return the operation that a value is, if it is one of some kinds."""
    node = bound.value.node if isinstance(bound.value, Unknown) else None
    return node if isinstance(node, ast.BinOp) and isinstance(node.op, kinds) else None


def is_number(context: Context, bound: Bound, *numbers: float) -> bool:
    """Say whether a value is one of some numbers, as it is written or as a name says it."""
    found = one_source(context, bound)
    if found is None:
        return False
    value = found.value
    if isinstance(value, Unknown) and isinstance(value.node, ast.expr):
        number = constant(value.node)
    else:
        number = value.value if isinstance(value, Const) else None
    return isinstance(number, int | float) and not isinstance(number, bool) and number in numbers


def same_number(context: Context, one: Bound, other: Bound) -> bool:
    """Say whether two numbers are the same, by what they are or by where they come from.

    Args:
        context: the analysis.
        one: a number.
        other: another one.
    """
    first, second = one_source(context, one), one_source(context, other)
    if first is None or second is None:
        return False
    known = [_number(context, bound) for bound in (first, second)]
    if None not in known:
        return known[0] == known[1]
    # an argument of a constructor is the same for all methods of its object
    return first == second or (isinstance(first.value, Attr | Param) and first.value == second.value)


def _number(context: Context, bound: Bound) -> float | None:
    """Return a number that is known."""
    if isinstance(bound.value, Const):
        value = bound.value.value
        return value if isinstance(value, int | float) else None
    scope = bound.frame.function.scope if bound.frame is not None else _module(context, bound)
    return the_number(context, bound.value, scope) if scope is not None else None


def _module(context: Context, bound: Bound) -> Scope | None:
    node = bound.value.node if isinstance(bound.value, Unknown | Call) else None
    return context.bodies.module_scope(node) if node is not None else None
