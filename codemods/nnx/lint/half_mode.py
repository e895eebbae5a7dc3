"""Evaluation that stops the dropout of a model, and leaves its batch norm in training; part of NNX815."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.partial_split import held_besides
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Const

# with one of these in a project, its batch norms may get their mode in another way
_OTHERWISE = (b"use_running_average", b".eval(", b"nnx.view", b"nnx.recursive_map")

_STEPS = pattern(r"(?i)train|step|fit|learn|epoch|update|tune")  # what may go on with the training


def half_modes(
    context: Context, evaluates: re.Pattern[str], on_purpose: re.Pattern[str]
) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls of ``set_attributes(deterministic=True)`` for a model with batch norms, with what is wrong.

    Args:
        context: the analysis.
        evaluates: matches the names of functions that evaluate.
        on_purpose: matches those that may want a mode of their own.
    """
    texts = [module.source.data for module in context.project.modules]
    if any(word in text for word in _OTHERWISE for text in texts) or not any(b"BatchNorm" in text for text in texts):
        return
    for event in context.bodies.named("set_attributes"):
        callee, function = event.value.callee, event.scope.function
        if event.scope.module not in context.asked or not isinstance(callee, Attr) or in_test(event.scope):
            continue
        given = event.value.keywords
        if event.value.args or event.value.starred or [name for name, _ in given] != ["deterministic"]:
            continue
        if given[0][1] != Const(True) or Kind.MODULE not in kinds_of(context, callee.base, event.scope):
            continue
        named = function.name if function is not None else ""
        if (not evaluates.search(named) or on_purpose.search(named)) and not _behind_training(context, event):
            continue
        if "nnx.BatchStat" in held_besides(context, context.flow.here(callee.base, event.scope)):
            yield (
                event,
                "`deterministic` is the mode of dropout alone: the model's batch norm goes on with each batch",
                "call model.eval(), which sets both, or give use_running_average=True as well",
            )


def _behind_training(context: Context, event: CallEvent) -> bool:
    """Say whether a call stands behind steps of training, and none follows that the mode could be meant for."""
    before = again = False
    for other in context.bodies.calls.get(event.scope, ()):
        trains = other is not event and _trains(context, other)
        later = (other.node.lineno, other.node.col_offset) > (event.node.lineno, event.node.col_offset)
        before |= trains and not later
        again |= trains and bool(set(other.loops) & set(event.loops))
        again |= later and (trains or _STEPS.search(last_word(other.node.func)) is not None)
    return before and (not again or _set_back(context, event))


def _trains(context: Context, event: CallEvent) -> bool:
    """Say whether a call is given an optimizer and a model, or is an optimizer's own update."""
    held, callee = [*event.value.given], event.value.callee
    if isinstance(callee, Attr) and callee.name == "update":
        held.append(callee.base)
    kinds = [kinds_of(context, one, event.scope) for one in held]
    return {Kind.OPTIMIZER} in kinds and {Kind.MODULE} in kinds


def _set_back(context: Context, event: CallEvent) -> bool:
    """Say whether the function that sets the mode also sets it back for training."""
    return any(
        other.scope is event.scope and ("deterministic", Const(False)) in other.value.keywords
        for other in context.bodies.named("set_attributes")
    )
