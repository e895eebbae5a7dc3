"""Derivatives at many points, of which there is one number for each point; part of NNX800."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.values import Call, Const, Item, Sequence, Unknown, Value

_FIRST = frozenset({"jax.grad", "flax.nnx.grad"})
_SECOND = frozenset({"jax.hessian"})
_JACOBIANS = frozenset({"jax.jacfwd", "jax.jacrev", "jax.jacobian"})


def is_derivative_vector(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is one derivative at each of many points.

    Such as ``jax.vmap(jax.grad(u))(points)[:, 0]`` and ``jax.vmap(jax.hessian(u))(points)[:, 0, 0]``, also one that a
    function gives among others.

    Args:
        context: the analysis.
        node: an expression.
        scope: the body that it stands in.
    """
    value = scope.module.values.get(node)
    if not isinstance(node, ast.Name | ast.Subscript) or value is None:
        return False
    found = context.flow.resolve(context.flow.here(value, scope))
    one = found.value
    if not isinstance(one, Item | Indexed):
        return False
    places = _places(one.index.value if isinstance(one, Indexed) else one.index)
    return places > 0 and _derivatives(context, context.flow.with_value(found, one.base)) == places


def _places(index: Value) -> int:
    """Return how many numbers stand behind the whole first axis of ``[:, 0, 0]``; 0 for any other index."""
    if not isinstance(index, Sequence) or len(index.items) < 2:
        return 0
    first, *rest = index.items
    node = first.node if isinstance(first, Unknown) else None
    whole = isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None
    return len(rest) if whole and all(isinstance(one, Const) and type(one.value) is int for one in rest) else 0


def _derivatives(context: Context, bound: Bound) -> int:
    """Return how often ``vmap(grad(f))(points)`` differentiates a function; 0 if that is unknown."""
    flow = context.flow
    found = flow.resolve(bound)
    if not isinstance(found.value, Call) or found.value.starred:
        return 0
    mapped = flow.follow(found, found.value.callee)
    if not isinstance(mapped.value, Call) or flow.calls.callee_name(mapped) != "jax.vmap" or not mapped.value.args:
        return 0
    inner, order = flow.follow(mapped, mapped.value.args[0]), 0
    while isinstance(inner.value, Call) and inner.value.args:
        name = flow.calls.callee_name(inner)
        if name in _SECOND | _FIRST:
            return order + (2 if name in _SECOND else 1)
        if name not in _JACOBIANS:
            return 0
        order += 1
        inner = flow.follow(inner, inner.value.args[0])
    return 0
