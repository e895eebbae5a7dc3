"""Parameters that every round of a loop moves, and that nothing ever looks at; part of NNX842."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import foreign, in_test, kinds_of, target_of
from codemods.nnx.lint.syntax import inside, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Loop, Value

_MOVING = frozenset({"optax.apply_updates", *TREE_MAPS})


def moved_apart(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield what gives the new parameters of a round, with the name that only the next round reads for its own.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, "apply_updates", "map", "tree_map"):
        target = target_of(event)
        if name not in _MOVING or not event.loops or in_test(event.scope) or not isinstance(target, ast.Name):
            continue
        text = target.id
        if not any(isinstance(one, ast.Name) and one.id == text for one in event.node.args):
            continue
        if text.startswith("_") or text in event.scope.globals or context.bodies.guarded(event.node, event.scope):
            continue
        if event.scope.function is None and event.scope.module.source.notebook:
            continue
        if not _read(context, event, text) and _of_model(context, event, text):
            yield event, text


def _read(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether anything reads a variable but what gives it its next value, and the optimizer."""
    steps = [
        other.node
        for other in context.bodies.calls.get(event.scope, ())
        if last_word(other.node.func) == "update" and len(other.node.args) == 3 and name in names_in(other.node.args[2])
    ]
    return any(
        (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
         and not any(inside(node, one) for one in (event.node, *steps)))
        or (isinstance(node, ast.Global | ast.Nonlocal) and name in node.names)
        or (isinstance(node, ast.Call) and last_word(node.func) in {"locals", "eval", "exec"})
        for node in ast.walk(event.scope.node)
    )  # fmt: skip


def _of_model(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether a variable begins as the state of a model, in the same body."""
    place = next(i for i, one in enumerate(event.node.args) if isinstance(one, ast.Name) and one.id == name)
    value: Value = event.value.args[place]
    while isinstance(value, Loop):
        value = value.before
    return Kind.STATE in kinds_of(context, value, event.scope)
