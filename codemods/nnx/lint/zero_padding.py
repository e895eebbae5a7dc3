"""Arrays that are filled up with zeros, so that what is added of them beyond their length changes nothing."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.names import last
from codemods.nnx.lint.object_calls import given_to_objects
from codemods.nnx.values import Attr, Call, Item, Param, Sequence, Unknown

_JOINING = frozenset({"concatenate", "concat", "append", "hstack", "vstack", "stack"})
_ZEROS = frozenset({"zeros", "zeros_like", "pad"})
_DEPTH = 8


def zero_padded(context: Context, bound: Bound) -> bool:
    """Say whether an array may be filled up with zeros, in one of the ways in which it is made.

    Args:
        context: the analysis.
        bound: the array in its activation.
    """
    return _padded(context, bound, 0, set())


def _padded(context: Context, bound: Bound, depth: int, seen: set[Bound]) -> bool:
    if depth >= _DEPTH or bound in seen:
        return False
    seen.add(bound)
    return any(_made(context, one, depth + 1, seen) for one in context.sources.originals(bound))


def _made(context: Context, source: Bound, depth: int, seen: set[Bound]) -> bool:
    value = source.value
    if isinstance(value, Param):
        return any(_padded(context, one, depth, seen) for one in given_to_objects(context, source))
    if isinstance(value, Item | Indexed):
        return _padded(context, context.flow.with_value(source, value.base), depth, seen)
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp) and isinstance(value.node.op, ast.Mult):
        scope = context.bodies.home(value.node) or context.bodies.module_scope(value.node)
        values = scope.module.values if scope is not None else {}
        sides = [values.get(side, Unknown(side)) for side in (value.node.left, value.node.right)]
        return any(_padded(context, context.flow.with_value(source, one), depth, seen) for one in sides)
    if not isinstance(value, Call):
        return False
    word = last(context.flow.calls.callee_name(source))
    if word in _ZEROS:
        return True
    parts = list(value.args)
    if word in _JOINING and parts and isinstance(parts[0], Sequence):
        parts = [*parts[0].items]
    if not word and isinstance(value.callee, Attr):
        parts.append(value.callee.base)
    return any(_padded(context, context.flow.with_value(source, one), depth, seen) for one in parts)
