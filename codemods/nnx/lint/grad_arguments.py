"""Calls of gradient functions with their arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.values import Attr, Call, Free, Value


def gradient_calls(context: Context) -> list[tuple[CallEvent, Call, str]]:
    """Return the calls of functions that ``grad`` made, with the call of ``grad`` and its full name.

    Calls of ``grad`` with ``argnums`` are left out.
    """
    return context.shared(_every)


def _every(context: Context) -> list[tuple[CallEvent, Call, str]]:
    return list(_gradient_calls(context))


def _gradient_calls(context: Context) -> Iterator[tuple[CallEvent, Call, str]]:
    makers = {
        event.value
        for event in context.bodies.named("grad", "value_and_grad", "jacfwd", "jacrev")
        if keyword(event.node, "argnums") is None and len(event.value.args) == 1
    }
    if not makers:
        return
    for event in context.asked.calls():
        made = _made(context, event)
        if made in makers and isinstance(made, Call):
            name = context.flow.calls.callee_name(context.flow.here(made, event.scope))
            if name in GRADIENTS:
                yield event, made, name


def _made(context: Context, event: CallEvent) -> Value:
    callee = event.value.callee
    if isinstance(callee, Free | Attr) and isinstance(event.node.func, ast.Name | ast.Attribute):
        return context.flow.follow(context.flow.here(event.value, event.scope), callee).value
    return callee
