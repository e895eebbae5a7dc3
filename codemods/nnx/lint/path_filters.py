"""Filters that choose by names in a path, as ``nnx.PathContains("head")`` and ``lambda path, _: "head" in path``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound
from codemods.nnx.values import Call, Const, Function, Sequence

_HOMES = frozenset({"flax.nnx", "flax.nnx.filterlib"})
_DEPTH = 6


def joined(context: Context, chosen: Bound) -> tuple[str, list[Bound]]:
    """Return how a filter is made of others, ``All``, ``Any`` or ``Not``, with these; empty if it is made of none."""
    value = chosen.value
    if isinstance(value, Sequence):
        return "Any", [context.flow.follow(chosen, item) for item in value.items]
    if not isinstance(value, Call) or value.starred:
        return "", []
    home, _, word = context.flow.calls.callee_name(chosen).rpartition(".")
    if home not in _HOMES or word not in {"All", "Any", "Not"}:
        return "", []
    return word, [context.flow.follow(chosen, item) for item in value.args]


def path_word(context: Context, chosen: Bound) -> tuple[str, bool] | None:
    """Return the name that ``nnx.PathContains`` looks for, with whether it compares whole names; None if not known."""
    value = chosen.value
    if not isinstance(value, Call) or value.starred:
        return None
    home, _, word = context.flow.calls.callee_name(chosen).rpartition(".")
    key, exact = value.argument(0, "key"), value.argument(1, "exact")
    if home not in _HOMES or word != "PathContains" or key is None:
        return None
    name = context.flow.follow(chosen, key).value
    whole = context.flow.follow(chosen, exact).value if exact is not None else Const(True)
    if not isinstance(name, Const) or not isinstance(name.value, str) or not isinstance(whole, Const):
        return None
    return name.value, bool(whole.value)


def compared(node: ast.AST) -> Iterator[tuple[ast.Compare, str]]:
    """Yield the names that a function looks for in the path that it is given, as it is."""
    if not isinstance(node, ast.Lambda | ast.FunctionDef):
        return
    arguments = [*node.args.posonlyargs, *node.args.args]
    if len(arguments) != 2:
        return
    path = arguments[0].arg
    inner = list(ast.walk(node))
    if any(isinstance(n, ast.Name) and n.id == path and not isinstance(n.ctx, ast.Load) for n in inner):
        return
    for one in inner:
        if not isinstance(one, ast.Compare) or len(one.ops) != 1 or not isinstance(one.ops[0], ast.In | ast.NotIn):
            continue
        right, left = one.comparators[0], one.left
        if isinstance(right, ast.Name) and right.id == path and isinstance(left, ast.Constant):
            if isinstance(left.value, str):
                yield one, left.value


def leaves_out(context: Context, chosen: Bound, path: tuple[str, ...], within: Set[str], depth: int = 0) -> bool:
    """Say whether a filter certainly selects nothing of a part of a model.

    Args:
        context: the analysis.
        chosen: the filter, followed to where it was made.
        path: the names that lead to the part.
        within: all names that may follow.
        depth: how deep in another filter it stands.
    """
    return depth < _DEPTH and _selects(context, chosen, path, within, depth) is False


def _selects(context: Context, chosen: Bound, path: tuple[str, ...], within: Set[str], depth: int) -> bool | None:
    """Say whether a filter selects all of a part of a model; False if nothing of it, None if some or unknown."""
    how, parts = joined(context, chosen)
    if how and depth < _DEPTH:
        found = [_selects(context, one, path, within, depth + 1) for one in parts]
        if how == "Not":
            return None if len(found) != 1 or found[0] is None else not found[0]
        decisive = how == "Any"  # one that selects all is enough; of All one that selects nothing
        if decisive in found:
            return decisive
        return None if None in found or not found else not decisive
    known = path_word(context, chosen)
    if known is not None:
        word, whole = known
        if word in path or (not whole and any(word in one for one in path)):
            return True
        return None if any(word == one or (not whole and word in one) for one in within) else False
    if isinstance(chosen.value, Function):
        node = chosen.value.facts.node
        body = node.body if isinstance(node, ast.Lambda) else None
        for compare, word in compared(node):
            if compare is body and (word in path or word not in within):
                return (word in path) is isinstance(compare.ops[0], ast.In)
    return None
