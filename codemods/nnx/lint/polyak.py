"""Averages of two models that are put into the wrong one; part of NNX878."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.values import Call, Value


def misplaced_averages(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the updates that put an average of optax into the model that it moves towards."""
    if not any(b"incremental_update" in module.source.data for module in context.project.modules):
        return
    for event, name in foreign(context, "update"):
        if name != "flax.nnx.update" or len(event.node.args) != 2 or in_test(event.scope):
            continue
        made = context.flow.resolve(context.flow.here(event.value.args[1], event.scope))
        average = made.value
        if not isinstance(average, Call) or context.flow.calls.callee_name(made) != "optax.incremental_update":
            continue
        models = [_model(context, average, place, event) for place in (0, 1)]
        target = ast.unparse(event.node.args[0])
        if None not in models and target == models[0] and target != models[1]:
            yield (
                event,
                f"optax.incremental_update(new, old, step) moves the old towards the new: this changes `{target}`, "
                f"and `{models[1]}` stays as it is",
                f"put it into the old one: nnx.update({models[1]}, ...)",
            )


def _model(context: Context, average: Call, place: int, event: CallEvent) -> str | None:
    """Return whose state an argument is."""
    value: Value | None = average.args[place] if place < len(average.args) else None
    if value is None:
        return None
    found = context.flow.resolve(context.flow.here(value, event.scope))
    if not isinstance(found.value, Call) or context.flow.calls.callee_name(found) != "flax.nnx.state":
        return None
    node = found.value.node
    return ast.unparse(node.args[0]) if node.args else None
