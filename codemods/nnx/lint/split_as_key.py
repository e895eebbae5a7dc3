"""All the keys of a split where one key is wanted; part of NNX874."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.keys import Use, uses
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import given_to
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.values import Call, Function


def split_keys(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the calls that take a whole split for a key, with what is wrong, and the way out."""
    for (scope, key), found in context.shared(uses).items():
        if scope.module not in context.asked or not isinstance(key, Call) or not key.args:
            continue
        if context.flow.calls.callee_name(context.flow.here(key, scope)) != "jax.random.split":
            continue
        if constant(argument(key.node, 1, "num")) == ():
            continue  # one new key: of the shape of no keys beside each other
        use = next((u for u in found if _direct(context, u)), None)
        if use is not None and not context.bodies.guarded(use.event.node, scope):
            yield (
                use.event,
                use.event.node,
                f"`{scope.module.source.text(use.node)}` is all the keys of a split, and `{last(use.name)}` takes one",
                "take one of them, keys[0], or draw for all of them by jax.vmap",
            )


def _direct(context: Context, use: Use) -> bool:
    """Say whether a function is called as it is, and not what a transform made of it."""
    if not use.helper:
        return True
    callee = context.flow.follow(context.flow.here(use.event.value, use.event.scope), use.event.value.callee)
    if not isinstance(callee.value, Function) or callee.value.facts.decorators:
        return False
    return _draws(context, use, callee.value.facts)


def _draws(context: Context, use: Use, helper: FunctionFacts) -> bool:
    """Say whether a helper draws from its argument itself: further in, a transform may give one key to each call."""
    key = use.event.scope.module.values.get(use.node)
    params = set(given_to(context, use.event, key)) if key is not None else set()
    return any(
        event.value.argument(0, "key") in params and context.flow.calls.name(event).startswith("jax.random.")
        for event in context.bodies.calls.get(helper.scope, ())
    )
