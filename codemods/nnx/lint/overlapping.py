"""Two optimizers of one model of which one takes all that the other has, both updated in one step; part of NNX795."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import foreign, in_test, kinds_of
from codemods.nnx.lint.shadowed import contained
from codemods.nnx.values import Attr, Value

_MADE = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})
# a chain of optax that leaves out a part itself
_MASKING = (b"masked", b"multi_transform", b"set_to_zero", b"partition(", b"freeze(", b"selective_transform")


def overlapping(context: Context) -> Iterator[tuple[CallEvent, CallEvent]]:
    """Yield the optimizers that train all that another one trains in the same step, each with the other.

    Args:
        context: the analysis.
    """
    made = [
        event
        for event, name in foreign(context, "Optimizer", "ModelAndOptimizer")
        if name in _MADE and not event.value.starred and not in_test(event.scope)
        and not any(map(event.scope.module.source.mentions, _MASKING))
    ]  # fmt: skip
    for wide, narrow in permutations(made, 2):
        filters = [event.value.argument(2, "wrt") for event in (wide, narrow)]
        if wide.scope is not narrow.scope or filters[0] is None or filters[1] is None:
            continue
        if not _same_model(context, wide, narrow):
            continue
        found = [context.flow.resolve(context.flow.here(one, wide.scope)) for one in filters if one is not None]
        if contained(context, *found) and _together(context, wide, narrow):
            yield wide, narrow


def _same_model(context: Context, one: CallEvent, other: CallEvent) -> bool:
    """Say whether two optimizers are made for one model that no other can be."""
    given = [event.value.argument(0, "model") for event in (one, other)]
    if given[0] is None or given[1] is None:
        return False
    if given[0] is given[1]:
        return True
    models = [context.sources.originals(context.flow.here(model, one.scope)) for model in given if model is not None]
    return len(models[0]) == 1 and models[0] == models[1]


def _together(context: Context, wide: CallEvent, narrow: CallEvent) -> bool:
    """Say whether a block updates both optimizers, by one gradient."""
    updates = [event for event in context.bodies.named("update") if isinstance(event.value.callee, Attr)]
    both = [[event for event in updates if _of(context, event, made)] for made in (wide, narrow)]
    for one in both[0]:
        paths = context.bodies.paths(one.scope)
        for other in both[1]:
            if other.scope is not one.scope or paths.get(one.node) != paths.get(other.node):
                continue
            gradients = _gradients(context, one)
            if gradients and any(g is h for g in gradients for h in _gradients(context, other)):
                return True
    return False


def _of(context: Context, event: CallEvent, made: CallEvent) -> bool:
    """Say whether a call is ``update`` of an optimizer, and can be of no other."""
    callee = event.value.callee
    assert isinstance(callee, Attr)
    sources = list(context.sources.originals(context.flow.here(callee.base, event.scope)))
    return len(sources) == 1 and sources[0].value is made.value


def _gradients(context: Context, event: CallEvent) -> list[Value]:
    """Return the gradients in the arguments of a call, as they stand there or within a filter."""
    given = [*event.node.args, *(word.value for word in event.node.keywords)]
    names = {node for one in given for node in ast.walk(one) if isinstance(node, ast.Name)}
    held = [value for node in names if (value := event.scope.module.values.get(node)) is not None]
    return [value for value in held if kinds_of(context, value, event.scope) == {Kind.GRADIENT}]
