"""What is taken over the batch, such as a mean of the features, where vmap maps it with the batch; part of NNX867."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.array_calls import array_of, axis_of, is_method
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Mapping, Sequence, Unknown, Value

_REDUCING = frozenset({"mean", "std", "var", "max", "min", "amax", "amin", "sum", "median"})
_ALIKE = frozenset({"sqrt", "abs", "exp", "log", "maximum", "asarray", "array", "reciprocal", "square", "clip"})
_DEPTH = 6


def batch_statistic(context: Context, value: Value, scope: Scope, mapped: Iterable[Value]) -> Value | None:
    """Return the mapped argument along whose first axis another one was reduced, so that it has that axis no more.

    Args:
        context: the analysis.
        value: the other argument, which is mapped over its first axis, too.
        scope: the body of the call.
        mapped: the arguments that are mapped over their first axis.
    """
    found = [*context.sources.originals(context.flow.here(value, scope))]
    if len(found) != 1:
        return None
    whole = found[0].value
    parts = whole.items if isinstance(whole, Sequence) else ()
    parts = tuple(part for _, part in whole.items) if isinstance(whole, Mapping) else parts
    leaves = [context.flow.follow(found[0], part) for part in parts] or found
    reduced = [one for leaf in leaves if (one := _reduced(context, leaf, 0)) is not None]
    for other in mapped:
        if other is not value and any(
            [*context.sources.originals(context.flow.here(other, scope))] == [one] for one in reduced
        ):
            return other
    return None


def _reduced(context: Context, bound: Bound, depth: int) -> Bound | None:
    """Return the array that a value was made of by a mean or the like along the first axis, and arithmetic."""
    value = bound.value
    node = value.node if isinstance(value, Call | Unknown) else None
    if depth > _DEPTH or not isinstance(node, ast.expr):
        return None
    if isinstance(node, ast.BinOp):
        parts = [_of_node(context, side, bound, depth) for side in (node.left, node.right)]
        numbers = [constant(side) is not None for side in (node.left, node.right)]
        made = [one for one in parts if one is not None]
        return made[0] if len(made) + sum(numbers) == 2 and made and all(one == made[0] for one in made) else None
    if isinstance(node, ast.UnaryOp):
        return _of_node(context, node.operand, bound, depth)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    whole = array_of(node)
    if whole is None:
        return None
    if node.func.attr in _ALIKE and not is_method(node):
        return _of_node(context, whole, bound, depth)
    axis = constant(axis_of(node))
    if node.func.attr not in _REDUCING or axis != 0 or isinstance(axis, bool) or keyword(node, "keepdims") is not None:
        return None
    scope = context.bodies.module_scope(whole)
    array = scope.module.values.get(whole) if scope is not None else None
    if array is None or isinstance(array, Const):
        return None
    sources = [*context.sources.originals(context.flow.with_value(bound, array))]
    return sources[0] if len(sources) == 1 and last_word(node.func) else None


def _of_node(context: Context, node: ast.expr, bound: Bound, depth: int) -> Bound | None:
    """Return what an expression of the same activation was reduced from."""
    scope = context.bodies.module_scope(node)
    value = scope.module.values.get(node) if scope is not None else None
    return _reduced(context, context.flow.with_value(bound, value), depth + 1) if value is not None else None
