"""Loops over epochs that make the optimizer's state at their beginning and hand it to steps; part of NNX838."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.epochs import over_epochs
from codemods.nnx.lint.going_on import MEANT, comes_from
from codemods.nnx.lint.keys import varies
from codemods.nnx.lint.meant import comments_at
from codemods.nnx.lint.places import in_test, kinds_of, unchanged
from codemods.nnx.lint.syntax import inside
from codemods.nnx.values import Attr, Call, Loop, Sequence, Value


def made_in_epochs(context: Context) -> Iterator[tuple[CallEvent, Value]]:
    """Yield the states made at the beginning of every epoch for the parameters that the one before ended with, and
    handed to a step with these; with each comes its transformation.

    Args:
        context: the analysis.
    """
    for event in context.bodies.named("init"):
        callee, statement, loop = event.value.callee, event.statement, event.loops[-1] if event.loops else None
        if event.scope.module not in context.asked or not isinstance(callee, Attr) or not over_epochs(loop):
            continue
        given = event.value.args[0] if len(event.value.args) == 1 and not event.value.keywords else None
        assert loop is not None
        params = carried(context, given, event) or _begun_with(context, given, event, loop)
        if params is None or params.node is not loop or not isinstance(params.again, Value):
            continue
        if not isinstance(statement, ast.Assign) or statement.value is not event.node or in_test(event.scope):
            continue
        if context.bodies.sometimes(event.node, event.scope, loop) or _meant(event, loop):
            continue
        if another_each(callee.base, loop):
            continue
        if kinds_of(context, callee.base, event.scope) != {Kind.TRANSFORM}:
            continue
        if any(_steps(one, event, params) for one in context.bodies.calls.get(event.scope, ())):
            yield event, callee.base


def carried(context: Context, given: Value | None, event: CallEvent) -> Loop | None:
    """Return what a loop carries on, of which a state is made: the parameters, or a model whose arrays are taken.

    Args:
        context: the analysis.
        given: what the state is made of.
        event: the call that makes it.
    """
    if isinstance(given, Call) and given.args and not given.starred:
        name = context.flow.calls.callee_name(context.flow.here(given, event.scope))
        given = given.args[0] if name in _TAKING else None
    return given if isinstance(given, Loop) else None


def _begun_with(context: Context, given: Value | None, event: CallEvent, loop: ast.AST) -> Loop | None:
    """Return what a loop carries on and began with the very value that a state is made of in every round, or a copy."""
    if given is None or isinstance(given, Loop):
        return None
    steps = [call for call in context.bodies.calls.get(event.scope, ()) if call is not event and loop in call.loops]
    for call in steps:
        for one in call.value.given:
            while isinstance(one, Loop) and one.node is not loop:
                one = one.before
            if isinstance(one, Loop) and given in {one.before, _copied(context, one.before, call)}:
                return one
    return None


def _copied(context: Context, value: Value, call: CallEvent) -> Value | None:
    """Return what an array is a copy of."""
    if not isinstance(value, Call) or len(value.args) != 1:
        return None
    name = context.flow.calls.callee_name(context.flow.here(value, call.scope))
    return value.args[0] if name in {"jax.numpy.copy", "jax.numpy.array", "jax.numpy.asarray"} else None


_TAKING = frozenset({"equinox.filter", "flax.nnx.state"})


def another_each(transformation: Value, loop: ast.AST) -> bool:
    """Say whether a transformation is, or may be, another one in every round of a loop, as by its rate.

    Args:
        transformation: the value.
        loop: the loop.
    """
    transformation = unchanged(transformation)
    if isinstance(transformation, Call) and inside(transformation.node, loop):
        return transformation.starred or any(another_each(one, loop) for one in transformation.given)
    return varies(transformation, loop, lasting=lambda _: True)


def _meant(event: CallEvent, loop: ast.AST) -> bool:
    """Say whether names or comments speak of beginning anew, as of stages, restarts or tasks."""
    words = [*comments_at(event.scope.module.source, event.statement)]
    words += [ast.unparse(one) for one in event.node.args]
    words.append(event.scope.function.name if event.scope.function is not None else "")
    if isinstance(loop, ast.For):
        words += [ast.unparse(loop.target), ast.unparse(loop.iter)]
    return any(map(MEANT.search, words))


def _steps(call: CallEvent, made: CallEvent, params: Loop) -> bool:
    """Say whether a call of the same epoch, or of a loop in it, gets the parameters and the state and gives the
    parameters of the next one."""
    if call is made or call.value.starred or call.loops[: len(made.loops)] != made.loops:
        return False
    within = call.loops[len(made.loops) :]
    if len(within) > 1:
        return False
    given = [part for one in call.value.given for part in (one.items if isinstance(one, Sequence) else (one,))]
    if not within:
        again = params.again
        return made.value in given and params in given and again is not None and comes_from(again, call.value)
    carried = [one for one in given if isinstance(one, Loop) and one.node is within[0] and one.again is not None]
    carried = [one for one in carried if one.again is not None and comes_from(one.again, call.value)]
    if not any(one.before is made.value for one in carried):
        return False
    return any(_same(one.before, params) and _ends_with(params.again, one) for one in carried)


def _same(one: Value, two: Value) -> bool:
    return one is two or one == two


def _ends_with(again: Value | None, step: Loop) -> bool:
    """Say whether an epoch ends with what its loop of steps carried on."""
    return isinstance(again, Loop) and again.node is step.node
