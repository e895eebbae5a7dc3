"""Averages of two models that are put into the wrong one; part of NNX878."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.numbers import the_number
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Value

# names of averages, and of what follows a model slowly
AVERAGE = pattern(r"(^|_)(ema|target|avg|average|averaged|teacher|shadow|polyak|slow)(_|$)", re.I)


def misplaced_averages(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the updates that put an average of optax into the model that it moves towards."""
    if not any(module.source.mentions(b"incremental_update") for module in context.project.modules):
        return
    for event, name in foreign(context, "incremental_update"):
        places = [argument(event.node, place, word) for place, word in enumerate(("new_tensors", "old_tensors"))]
        statement = event.statement
        if name != "optax.incremental_update" or in_test(event.scope) or None in places:
            continue
        if isinstance(statement, ast.Assign) and statement.value is event.node:
            taken: ast.expr | None = statement.targets[0]
        elif isinstance(statement, ast.Return) and statement.value is event.node:
            taken = places[0]  # as a function does that is given both
        else:
            continue
        step = the_number(context, event.value.argument(2, "step_size"), event.scope)
        if step is not None and step > 0.5:
            continue  # the weight of the average itself
        new, old, target = (last_word(node) for node in (*places, taken) if node is not None)
        if AVERAGE.search(new) and AVERAGE.search(target) and old and not AVERAGE.search(old):
            yield (
                event,
                f"optax.incremental_update(new, old, step) moves the old towards the new: with a small step "
                f"`{target}` becomes `{old}`, and no average",
                f"exchange the two: optax.incremental_update({ast.unparse(places[1])}, {ast.unparse(places[0])}, ...)"
                if places[0] is not None and places[1] is not None
                else "exchange the two",
            )
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
