"""Keys that a training loop makes of one seed in every round; part of NNX830."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.keys import DRAWING
from codemods.nnx.lint.names import KEY_MAKERS
from codemods.nnx.lint.places import foreign, in_test, kinds_of
from codemods.nnx.lint.syntax import innermost_loop, times_stored
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.values import Call, Const

_Loop = ast.For | ast.While


def keys_anew(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls that make a key of a fixed seed in every round of a loop, with the variable that gets it.

    Only of loops that go on with something, as a training loop does with its parameters: settings that are compared
    with the same numbers begin anew in every round.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, "key", "PRNGKey"):
        loop, statement = innermost_loop(event), event.statement
        if name not in KEY_MAKERS or loop is None or in_test(event.scope):
            continue
        if not isinstance(statement, ast.Assign) or statement.value is not event.node or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or statement not in loop.body:
            continue
        if not fixed_seed(context, event.value, event):
            continue
        derived = _derived(loop, target.id)
        calls = context.bodies.calls.get(event.scope, ())
        if any(_shuffles(call, loop, derived) for call in calls):
            continue  # NNX561 says so
        if any(_steps(call, loop) for call in calls) and any(_drawn(call, loop, target.id) for call in calls):
            continue  # NNX970 says so
        if any(_trains(context, call, loop, derived) for call in calls):
            yield event, target.id


def fixed_seed(context: Context, call: Call, event: CallEvent) -> bool:
    """Say whether a key is made of a number that is written out.

    Args:
        context: the analysis.
        call: what makes the key.
        event: a call in the same body.
    """
    given = call.args[0] if len(call.args) == 1 else None
    return given is not None and isinstance(
        context.flow.follow(context.flow.here(call, event.scope), given).value, Const
    )


def _shuffles(call: CallEvent, loop: _Loop, derived: set[str]) -> bool:
    """Say whether a round puts something in a random order with the key."""
    if innermost_loop(call) is not loop or last_word(call.node.func) not in {"permutation", "shuffle"}:
        return False
    return any(isinstance(node, ast.Name) and node.id in derived for node in call.node.args[:1])


def _steps(call: CallEvent, loop: _Loop) -> bool:
    """Say whether a round updates parameters itself, and not by a step of the project."""
    return innermost_loop(call) is loop and last_word(call.node.func) in {"update", "apply_updates", "apply_gradients"}


def _drawn(call: CallEvent, loop: _Loop, key: str) -> bool:
    """Say whether a round draws with the key as it is."""
    first = call.node.args[0] if call.node.args else None
    whole = innermost_loop(call) is loop and isinstance(first, ast.Name) and first.id == key
    return whole and last_word(call.node.func) in {*DRAWING} - {"split"}


def _derived(loop: _Loop, key: str) -> set[str]:
    """Return the variables that a round makes with a key, in any number of steps."""
    found = {key}
    assigned = [node for node in ast.walk(loop) if isinstance(node, ast.Assign)]
    for _ in assigned:
        before = len(found)
        for node in assigned:
            if any(isinstance(n, ast.Name) and n.id in found for n in ast.walk(node.value)):
                found |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        if len(found) == before:
            break
    return found


def _trains(context: Context, call: CallEvent, loop: _Loop, derived: set[str]) -> bool:
    """Say whether a call in a loop is given what comes of the key, and what the loop goes on with."""
    if innermost_loop(call) is not loop or last_word(call.node.func) in {"split", "fold_in"}:
        return False
    given = [node for node in (*call.node.args, *(k.value for k in call.node.keywords)) if isinstance(node, ast.Name)]
    statement = call.statement
    targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is call.node else []
    renewed = {one.id for target in targets for one in elements(target) if isinstance(one, ast.Name)}
    carried = [node.id for node in given if node.id in renewed and times_stored(loop, node.id) == 1]
    fed = {node.id for node in given} & derived
    if carried and fed - set(carried):
        return True
    optimizers = [
        value
        for node, value in zip(call.node.args, call.value.args, strict=False)
        if isinstance(node, ast.Name) and not times_stored(loop, node.id)
        if kinds_of(context, value, call.scope) == {Kind.OPTIMIZER}
    ]
    return bool(optimizers and fed)
