"""Which parts of an object ``nnx.update`` puts values into, where they are of a split by several filters."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.values import Call, Const, Item

#: Parts of splits: the call that splits, and which of its filters chooses the part.
Parts = frozenset[tuple[ast.expr, int]]
_SPLITTING = frozenset({"flax.nnx.split", "flax.nnx.state"})


def updated(context: Context, scope: Scope, node: ast.Call) -> Parts:
    """Return the parts of splits that an update puts values into; none if it may put them into others, too.

    A variable that holds a part of a split goes on to hold values for the same Variables, also where a step computes
    them anew.

    Args:
        context: the analysis.
        scope: where the call of ``nnx.update`` stands.
        node: the call.
    """
    if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
        return frozenset()
    found: set[tuple[ast.expr, int]] = set()
    for state in node.args[1:]:
        value = scope.module.values.get(state)
        if value is None:
            return frozenset()
        parts: set[tuple[ast.expr, int]] = set()
        for source in context.sources.of(context.flow.here(value, scope)):
            part = _part(context, source)
            if part is not None:
                parts.add(part)
            elif not _computed(context, source):
                return frozenset()
        if not parts:
            return frozenset()
        found |= parts
    return frozenset(found)


def _part(context: Context, source: Bound) -> tuple[ast.expr, int] | None:
    """Return the part of a split that a value is."""
    value = source.value
    if not isinstance(value, Item) or not isinstance(value.base, Call) or not isinstance(value.index, Const):
        return None
    node, place = value.base.node, value.index.value
    if len(node.args) < _FILTERED or not isinstance(place, int) or place < 0:
        return None
    if any(isinstance(one, ast.Starred) for one in node.args):
        return None
    name = context.flow.calls.callee_name(context.flow.follow(source, value.base))
    return (node, place) if name in _SPLITTING else None


_FILTERED = 3  # how many arguments a split by several filters has


def _computed(context: Context, source: Bound) -> bool:
    """Say whether a value is what some function that is not of Flax computes, or none at all."""
    if source.value == Const(None):
        return True
    if not isinstance(source.value, Call):
        return False
    return not context.flow.calls.callee_name(source).startswith("flax.")
