"""Evaluation that stops the dropout of a model, and leaves its batch norm in training; part of NNX815."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.partial_split import held_besides
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.values import Attr, Const

# with one of these in a project, its batch norms may get their mode in another way
_OTHERWISE = (b"use_running_average", b".eval(", b"nnx.view", b"nnx.recursive_map")


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
        if event.scope.module not in context.asked or function is None or not isinstance(callee, Attr):
            continue
        if not evaluates.search(function.name) or on_purpose.search(function.name) or in_test(event.scope):
            continue
        given = event.value.keywords
        if event.value.args or event.value.starred or [name for name, _ in given] != ["deterministic"]:
            continue
        if given[0][1] != Const(True) or Kind.MODULE not in kinds_of(context, callee.base, event.scope):
            continue
        if "nnx.BatchStat" in held_besides(context, context.flow.here(callee.base, event.scope)):
            yield (
                event,
                "`deterministic` is the mode of dropout alone: the model's batch norm goes on with each batch",
                "call model.eval(), which sets both, or give use_running_average=True as well",
            )
