"""Branches of jax.lax.switch that are drawn by a number past the last one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.frames import Bound
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Call, Const, Sequence, Star, Unknown, Value


def past_branches(context: Context) -> Iterator[tuple[CallEvent, int]]:
    """Yield the calls of ``switch`` whose drawn index may be too high, with the number of branches."""
    for event, name in foreign(context, "switch"):
        if name != "jax.lax.switch" or event.value.starred:
            continue
        index, given = event.value.argument(0, "index"), event.value.argument(1, "branches")
        if index is None or given is None:
            continue
        branches = context.flow.resolve(context.flow.here(given, event.scope)).value
        if not isinstance(branches, Sequence) or any(isinstance(one, Star) for one in branches.items):
            continue
        if _end(context, context.flow.here(index, event.scope), branches, event) > len(branches.items):
            yield event, len(branches.items)


def _end(context: Context, index: Bound, branches: Sequence, event: CallEvent) -> int:
    """Return the number behind the highest that an index may be; 0 if that is not known."""
    found = context.flow.resolve(index)
    value = found.value
    added = 0
    if isinstance(value, Unknown):
        inner = _plus(value.node)
        part = event.scope.module.values.get(inner[0]) if inner is not None else None
        if inner is None or part is None:
            return 0
        added = inner[1]
        found = context.flow.follow(found, part)
        value = found.value
    if not isinstance(value, Call) or context.flow.calls.callee_name(found) != "jax.random.randint":
        return 0
    limit = value.argument(3, "maxval")
    return _limit(context, found, limit, branches) + added if limit is not None else 0


def _plus(node: ast.AST) -> tuple[ast.expr, int] | None:
    """Return what a positive number is added to, with the number."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant):
        if type(node.right.value) is int and node.right.value > 0:
            return node.left, node.right.value
    return None


def _limit(context: Context, drawn: Bound, limit: Value, branches: Sequence) -> int:
    """Return the limit of a draw: a number, or how many branches there are and some more; very low if not known."""
    found = context.flow.follow(drawn, limit)
    if isinstance(found.value, Const) and type(found.value.value) is int:
        return found.value.value
    added = 0
    value: Value | None = found.value
    if isinstance(value, Unknown):
        inner = _plus(value.node)
        home = context.bodies.home(inner[0]) if inner is not None else None
        if inner is None or home is None:
            return -1_000_000
        added = inner[1]
        value = home.module.values.get(inner[0])
    if isinstance(value, Call) and isinstance(value.node.func, ast.Name) and value.node.func.id == "len":
        if len(value.args) == 1 and context.flow.follow(found, value.args[0]).value is branches:
            return len(branches.items) + added
    return -1_000_000
