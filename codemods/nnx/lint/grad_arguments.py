"""Calls of gradient functions with their arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.applied import calls_of
from codemods.nnx.lint.names import JITS, last
from codemods.nnx.lint.syntax import argument, constant, keyword
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Attr, Call, Free, Item, Param, Value


def gradient_calls(context: Context, compiled: bool = False) -> list[tuple[CallEvent, Call, str]]:
    """Return the calls of functions that ``grad`` made, with the call of ``grad`` and its full name.

    Calls of ``grad`` with ``argnums`` are left out.

    Args:
        context: the analysis.
        compiled: whether calls of what ``jit`` made of such functions count too.
    """
    return [found for found, direct in context.shared(_every) if direct or compiled]


def calls_of_gradient(context: Context, root: Root) -> list[CallEvent]:
    """Return the calls of a function of gradients, also of what ``jit`` made of it.

    Args:
        context: the analysis.
        root: where the gradient is made, as :attr:`Traced.gradients` gives it.
    """
    return list(dict.fromkeys([*context.traced.calls_of(root), *calls_of(context, root)]))


def placed_gradient_calls(context: Context) -> list[tuple[CallEvent, Call, str, int]]:
    """Return the calls of functions that ``grad`` made with ``argnums``, one number, with the call of ``grad``, its
    full name, and the number.

    Args:
        context: the analysis.
    """
    return context.shared(_every_placed)


def _every_placed(context: Context) -> list[tuple[CallEvent, Call, str, int]]:
    found = _of_makers(context, {event.value for event in context.bodies.named(*_MAKERS) if _place(event.node) >= 0})
    return [(event, made, name, _place(made.node)) for (event, made, name), _ in found]


def _place(made: ast.Call) -> int:
    """Return which argument a gradient is taken for; -1 if that is not written, or not one number."""
    place = constant(argument(made, 1, "argnums"))
    return place if type(place) is int else -1


_MAKERS = ("grad", "value_and_grad", "jacfwd", "jacrev")


def _every(context: Context) -> list[tuple[tuple[CallEvent, Call, str], bool]]:
    return list(_gradient_calls(context))


def _gradient_calls(context: Context) -> Iterator[tuple[tuple[CallEvent, Call, str], bool]]:
    makers = {
        event.value
        for event in context.bodies.named(*_MAKERS)
        if keyword(event.node, "argnums") is None and len(event.value.args) == 1
    }
    yield from _of_makers(context, makers)


def _of_makers(context: Context, makers: set[Call]) -> Iterator[tuple[tuple[CallEvent, Call, str], bool]]:
    """Yield the calls of what some calls of ``grad`` made, and whether it was called as it is."""
    if not makers:
        return
    grads = context.flow.may.made_by({*_MAKERS, *map(last, JITS)})
    for event in context.asked.calls():
        callee = event.value.callee
        if not grads.may_be(callee):
            continue
        made, direct = _made(context, event)
        if made in makers and isinstance(made, Call):
            name = context.flow.calls.callee_name(context.flow.here(made, event.scope))
            if name in GRADIENTS:
                yield (event, made, name), direct


def _made(context: Context, event: CallEvent) -> tuple[Value, bool]:
    """Return what made the function that is called; of what ``jit`` made of another, what made that, and False."""
    callee = event.value.callee
    if isinstance(callee, Call) or (
        isinstance(callee, Free | Attr | Item | Param)
        and isinstance(event.node.func, ast.Name | ast.Attribute | ast.Subscript)
    ):
        found = context.flow.follow(context.flow.here(event.value, event.scope), callee)
        if isinstance(found.value, Param):  # all callers give one
            given = context.sources.originals(found)
            found = next(iter(given)) if len(given) == 1 else found
        direct, seen = True, set[Value]()
        while isinstance(found.value, Call) and found.value.args and context.flow.calls.callee_name(found) in JITS:
            if found.value in seen:  # `self.step = jax.jit(self.step)`
                break
            seen.add(found.value)
            found, direct = context.flow.follow(found, found.value.args[0]), False
        return found.value, direct
    return callee, True
