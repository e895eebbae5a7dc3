"""A ModelAndOptimizer whose update is given its model; part of NNX874."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.values import Attr, Call


def pair_updates(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the updates of a ModelAndOptimizer that are given a model before the gradients."""
    if not any(module.source.mentions(b"ModelAndOptimizer") for module in context.project.modules):
        return
    made = context.flow.may.made_by({"ModelAndOptimizer"})
    for event in context.bodies.named("update"):
        callee = event.value.callee
        if event.scope.module not in context.asked or not isinstance(callee, Attr) or event.value.starred:
            continue
        if len(event.value.args) != 2 or not made.may_be(callee.base) or in_test(event.scope):
            continue
        sources = list(context.sources.originals(context.flow.here(callee.base, event.scope)))
        names = {context.flow.calls.callee_name(one) if isinstance(one.value, Call) else "" for one in sources}
        if names != {"flax.nnx.ModelAndOptimizer"} or context.bodies.guarded(event.node, event.scope):
            continue
        if kinds_of(context, event.value.args[0], event.scope) == {Kind.MODULE}:
            text = event.scope.module.source.text(event.node.args[1])
            message = "a ModelAndOptimizer has its model: its update takes the gradients alone"
            yield event, event.node.args[0], message, f"write update({text})"
