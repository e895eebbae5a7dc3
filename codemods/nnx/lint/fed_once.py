"""Metrics that an epoch updates once, with one batch of validation; part of NNX892."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import kinds_of, receiver
from codemods.nnx.lint.syntax import inside, names_in
from codemods.nnx.values import Attr, Param


def fed_once(context: Context, event: CallEvent, outer: ast.For | ast.While) -> bool:
    """Say whether a loop over epochs updates a metric itself in each round, before it reads the result.

    Args:
        context: the analysis.
        event: the call of ``compute``.
        outer: the loop.
    """
    if not _of_epochs(context, event, outer):
        return False
    text = ast.unparse(receiver(event))
    path = context.bodies.paths(event.scope)
    around = path.get(event.node, ())
    return any(
        _updates(context, other, text)
        for other in context.bodies.calls.get(event.scope, ())
        if other is not event
        and other.loops == event.loops
        and other.node.lineno < event.node.lineno
        and around[: len(path.get(other.node, ()))] == path.get(other.node, ())
    )


def _of_epochs(context: Context, event: CallEvent, outer: ast.For | ast.While) -> bool:
    """Say whether the rounds of a loop are epochs: it has a loop over batches in it, and counts epochs, or resets
    another metric."""
    if not any(isinstance(node, ast.For) and node is not outer for node in ast.walk(outer)):
        return False
    if isinstance(outer, ast.For) and any("epoch" in name.lower() for name in names_in(outer.target)):
        return True
    return any(
        other.scope is event.scope
        and outer in other.loops
        and isinstance(callee := other.value.callee, Attr)
        and kinds_of(context, callee.base, other.scope) == {Kind.METRIC}
        for other in context.bodies.named("reset")
    )


def _updates(context: Context, event: CallEvent, text: str) -> bool:
    """Say whether a call hands a metric to a function that updates it with what a model says."""
    nodes = [*event.node.args, *(k.value for k in event.node.keywords)]
    if not any(isinstance(one, ast.Name | ast.Attribute) and ast.unparse(one) == text for one in nodes):
        return False
    if event.value.starred or event.used:
        return False
    for callee, frame in context.flow.calls.invoked(context.flow.here(event.value, event.scope)):
        for inner in context.bodies.calls.get(callee.function.scope, ()):
            updated = inner.value.callee
            if not isinstance(updated, Attr) or updated.name != "update" or inner.loops:
                continue
            param = updated.base
            if not isinstance(param, Param) or param.function is not callee.function:
                continue
            given = context.flow.argument(frame, param.name)
            if (
                given is not None
                and Kind.METRIC in context.kinds.of(given)
                and inside(inner.node, callee.function.node)
            ):
                return True
    return False
