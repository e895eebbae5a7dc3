"""Merges that are not given every part that nnx.split gave; part of NNX895."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.frames import Bound, Indexed, Part
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Call, Const, Item, Value

_KINDS = {
    "BatchStat": {"nnx.BatchStat"},
    "RngState": {"nnx.RngState"},
    "RngKey": {"nnx.RngState"},
    "RngCount": {"nnx.RngState"},
}


def unmerged(
    context: Context, held: Callable[[CallEvent], set[str]]
) -> Iterator[tuple[CallEvent, CallEvent, list[str]]]:
    """Yield the merges that lack a part, with the split and the names of the parts that are left out.

    Args:
        context: the analysis.
        held: says what the object of a split holds besides parameters for certain.
    """
    splits: dict[Value, CallEvent] = {
        e.value: e for e, name in foreign(context, "split", everywhere=True) if name == "flax.nnx.split"
    }
    for event, name in foreign(context, "merge"):
        nodes = event.node.args
        if name != "flax.nnx.merge" or event.value.starred or len(nodes) < 2:
            continue
        split = _split(context, context.flow.here(event.value.args[0], event.scope), splits)
        given = [node.id if isinstance(node, ast.Name) else "" for node in nodes[1:]]
        names = _unpacked(context, split, given) if split is not None else []
        if split is None or len(names) < 3 or context.bodies.guarded(event.node, event.scope):
            continue
        if not given or not all(one in names[1:] for one in given) or len(set(given)) != len(given):
            continue  # parts under other names may be several in one
        left = [(one, node) for one, node in zip(names[1:], split.node.args[1:], strict=False) if one not in given]
        if left and all(_filled(node, held(split)) for _, node in left):
            yield event, split, [one for one, _ in left]


def _split(context: Context, graphdef: Bound, splits: dict[Value, CallEvent]) -> CallEvent | None:
    """Return the split that a graph definition is the first part of."""
    for source in context.sources.originals(graphdef):
        value = source.value
        while isinstance(value, Part):
            value = context.flow.resolve(value.of).value
        if isinstance(value, Item | Indexed) and isinstance(value.base, Call) and value.base in splits:
            index = value.index.value if isinstance(value.index, Bound) else value.index
            if isinstance(index, Const) and index.value == 0:
                return splits[value.base]
    return None


def _unpacked(context: Context, split: CallEvent, given: list[str]) -> list[str]:
    """Return the names of the parts of a split, where it stands or where a function that returns them is called."""
    function = split.scope.function
    if function is None or function.returns != [split.value]:
        return _targets(split, split)
    ways = [_targets(split, caller) for caller in context.flow.sites.callers(function)]
    fitting = [names for names in ways if set(given) <= set(names[1:])]
    return fitting[0] if len(fitting) == 1 else []


def _targets(split: CallEvent, call: CallEvent) -> list[str]:
    """Return the names that the parts of a split are given by the statement of a call, if every filter has one."""
    statement = call.statement
    if not isinstance(statement, ast.Assign) or statement.value is not call.node or split.value.starred:
        return []
    target = statement.targets[0]
    names = [part.id for part in target.elts if isinstance(part, ast.Name)] if isinstance(target, ast.Tuple) else []
    return names if len(names) == len(split.node.args) and names.count("_") < 2 else []


def _filled(node: ast.expr, held: set[str]) -> bool:
    """Say whether a filter takes something of what an object holds."""
    if isinstance(node, ast.Constant):
        return node.value in (..., True) and bool(held)
    word = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return word == "Param" or bool(_KINDS.get(word, set()) & held)
