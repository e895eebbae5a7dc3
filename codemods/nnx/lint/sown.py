"""Values that a model sows and nobody takes away; part of NNX919."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.owners import plain_module
from codemods.nnx.lint.places import compiled_roots, in_test
from codemods.nnx.values import Attr

_TAKING = (b"nnx.pop", b"capture", b"import pop", b"reduce_fn", b"del model.", b"clear_intermediates")


def never_taken(context: Context) -> Iterator[CallEvent]:
    """Yield the calls of ``self.sow`` in a project that trains in a loop and never pops what was sown."""
    events = [event for event in context.bodies.named("sow") if _sows(context, event)]
    if not events or any(word in module.source.data for module in context.project.modules for word in _TAKING):
        return
    if not any(_in_loop(context)):
        return
    for event in events:
        if event.scope.module in context.asked and not in_test(event.scope):
            if not context.bodies.paths(event.scope).get(event.node):
                yield event


def _sows(context: Context, event: CallEvent) -> bool:
    function, callee = event.scope.function, event.value.callee
    return (
        function is not None
        and function.owner is not None
        and isinstance(callee, Attr)
        and callee.base is function.self_param
        and plain_module(context, function.owner)
    )


def _in_loop(context: Context) -> Iterator[bool]:
    """Yield True for every call of a function compiled by nnx.jit in a loop, in a project that differentiates."""
    if not any(True for _ in context.bodies.named("grad", "value_and_grad")):
        return
    for root in compiled_roots(context):
        if root.transform == "flax.nnx.jit":
            for call in context.traced.calls_of(root):
                if any(isinstance(loop, ast.For | ast.While) for loop in call.loops):
                    yield True
