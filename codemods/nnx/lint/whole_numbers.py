"""Integers that reach a place from some caller or round: numbers, arrays of them, or trees with one; part of NNX851."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Attr, Call, Const, Each, Item, Loop, Mapping, Param, Sequence, Unknown, Value

_MADE = frozenset(f"{home}.{name}" for home in ("jax.numpy", "numpy") for name in ("array", "asarray"))
_COUNTED = frozenset({"jax.numpy.arange", "numpy.arange"})
_DEPTH = 8
_STEPS = 100  # how many values one question may visit


def whole_numbers(
    context: Context, bound: Bound, array: bool = False, depth: int = 0, seen: set[Value] | None = None
) -> ast.AST | None:
    """Return where integers are written that a value is, or has in it, for one of those who give it at least.

    Args:
        context: the analysis.
        bound: the value.
        array: whether one array is made of the value, which all its numbers then decide about.
        depth: through how many values it was followed.
        seen: the values that were looked at, if several may lead to one.
    """
    seen = set() if seen is None else seen
    if depth > _DEPTH or len(seen) > _STEPS:
        return None
    found = context.flow.resolve(bound)
    made = found.value
    if made in seen and not array:
        return None
    seen.add(made)
    while isinstance(made, Loop):  # in the first round
        made = made.before
    if made is not found.value:
        return whole_numbers(context, context.flow.with_value(found, made), array, depth + 1, seen)
    if isinstance(made, Sequence | Mapping):
        items = made.items if isinstance(made, Sequence) else [item for _, item in made.items]
        inner = [context.flow.follow(found, one) for one in items]
        shown = [_literal(one.value) or whole_numbers(context, one, array, depth + 1, seen) for one in inner]
        return made.node if shown and (all(shown) if array else any(shown)) else None
    if isinstance(made, Call):
        return made.node if _made(context, found, made, depth) else None
    parts = [*_rounds(context, found)]
    if not parts and isinstance(made, Param | Attr | Item | Indexed):
        parts = [one for one in context.sources.originals(found) if one.value is not made]
    answers = (whole_numbers(context, one, array, depth + 1, seen) for one in parts)
    return next((node for node in answers if node is not None), None)


def _literal(value: Value) -> bool:
    """Say whether a value is a whole number that is written out, also one below zero."""
    if isinstance(value, Unknown):
        return isinstance(value.node, ast.UnaryOp) and type(constant(value.node)) is int
    return isinstance(value, Const) and type(value.value) is int


def _made(context: Context, found: Bound, made: Call, depth: int) -> bool:
    """Say whether a call makes an array of integers."""
    name = context.flow.calls.callee_name(found)
    if made.starred or made.keywords or not made.args:
        return False
    if name in _COUNTED:
        return len(made.args) < 4 and all(_literal(context.flow.follow(found, one).value) for one in made.args)
    if name not in _MADE or len(made.args) > 1:
        return False
    return whole_numbers(context, context.flow.follow(found, made.args[0]), True, depth + 1) is not None


def _rounds(context: Context, found: Bound) -> list[Bound]:
    """Return what a value is in the rounds of a loop over a list, a dict or its values that are written out."""
    value, entry = found.value, False
    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value, Indexed) else value.index
        if not isinstance(index, Const) or index.value != 1:
            return []
        value, entry = value.base, True
    if not isinstance(value, Round | Each):
        return []
    base = context.flow.follow(found, value.base)
    method = base.value.callee if isinstance(base.value, Call) and not base.value.args else None
    if isinstance(method, Attr) and method.name == ("items" if entry else "values"):
        whole = context.flow.follow(base, method.base)
        items = [item for _, item in whole.value.items] if isinstance(whole.value, Mapping) else []
        return [context.flow.follow(whole, one) for one in items]
    if not entry and isinstance(base.value, Sequence):
        return [context.flow.follow(base, one) for one in base.value.items]
    counted = isinstance(base.value, Call) and context.flow.calls.callee_name(base) in _COUNTED
    return [base] if counted and not entry else []
