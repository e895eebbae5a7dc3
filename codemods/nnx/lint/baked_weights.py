"""Compiled functions without arguments that a factory makes for a model which is trained between their calls; part of
NNX801."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import foreign, kinds_of
from codemods.nnx.lint.syntax import inside, outermost_loop
from codemods.nnx.values import Attr, Call, Free, Value

_OPTIMIZERS = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})


def baked_in(context: Context, function: FunctionFacts) -> bool:
    """Say whether a loop trains the model that a function captures, and calls what was compiled before the loop.

    Args:
        context: the analysis.
        function: a compiled function that another one makes.
    """
    factory = function.scope.parent.function if function.scope.parent is not None else None
    if factory is None or factory in context.traced:
        return False
    models = set(_captured(context, function))
    if not models or not models & context.shared(_trained):
        return False
    makers = context.flow.sites.callers(factory)
    if not makers or any(maker.loops for maker in makers):
        return False
    return any(
        (loop := outermost_loop(event)) is not None
        and event.scope is not factory.scope
        and not any(inside(maker.node, loop) for maker in makers if maker.scope.module is event.scope.module)
        and _trains(context, event, loop)
        for event in context.flow.sites.callers(function)
    )


def _captured(context: Context, function: FunctionFacts) -> Iterator[Bound]:
    """Yield the calls that make the models which a function gets from around it, and whose arrays it uses."""
    for event in context.bodies.calls.get(function.scope, ()):
        callee = event.value.callee
        used: list[Value] = list(event.value.given)
        used.append(callee.base if isinstance(callee, Attr) else callee)
        for value in used:
            if not isinstance(value, Free) or value.scope.function is None:
                continue
            if kinds_of(context, value, function.scope) != {Kind.MODULE}:
                continue
            found = context.sources.of(context.flow.here(value, function.scope))  # a copy is trained apart
            if all(isinstance(one.value, Call) for one in found):
                yield from found


def _trained(context: Context) -> frozenset[Bound]:
    """Return the calls that make the models which optimizers are made for."""
    return frozenset(
        one
        for event, name in foreign(context, "Optimizer", "ModelAndOptimizer", everywhere=True)
        if name in _OPTIMIZERS and (model := event.value.argument(0, "model")) is not None
        for one in context.sources.originals(context.flow.here(model, event.scope))
    )


def _trains(context: Context, event: CallEvent, loop: ast.AST) -> bool:
    """Say whether a loop hands an optimizer to something, or updates it, beside a call."""
    for other in context.bodies.calls.get(event.scope, ()):
        if other is event or loop not in other.loops:
            continue
        callee = other.value.callee
        given = list(other.value.given)
        if isinstance(callee, Attr) and callee.name == "update":
            given.append(callee.base)
        if any(kinds_of(context, value, other.scope) == {Kind.OPTIMIZER} for value in given):
            return True
    return False
