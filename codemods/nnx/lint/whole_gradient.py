"""Losses whose gradient of all parameters an optimizer gets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.syntax import argument
from codemods.nnx.values import Attr, Call, Const, Item, Ref

PARAM = Ref("flax.nnx.Param")


def losses_of(context: Context, event: CallEvent) -> Iterator[FunctionFacts]:
    """Yield the losses whose gradient of all parameters of their first argument updates an optimizer.

    Args:
        context: the analysis.
        event: the call that makes the optimizer.
    """
    for update in context.bodies.named("update"):
        callee = update.value.callee
        if not isinstance(callee, Attr) or len(update.value.args) != 2:
            continue
        used = context.sources.originals(context.flow.here(callee.base, update.scope))
        if {one.value for one in used} != {event.value}:
            continue
        losses = [root for root in context.traced.gradients if root.scope is update.scope]
        if len(losses) != 1:
            made = _maker(context, update)  # it may be a loss that is decorated
            losses = [root for root in losses or context.traced.gradients if root.node is made]
        if len(losses) == 1 and losses[0].transform.startswith("flax.nnx."):
            if _whole(context, losses[0].node, update):
                yield losses[0].function


def _maker(context: Context, update: CallEvent) -> ast.AST | None:
    """Return the call that made the function of which an update gets the result: ``nnx.grad(loss)``."""
    value = update.value.args[1]
    value = value.base if isinstance(value, Item) else value
    if not isinstance(value, Call):
        return None
    made = context.flow.follow(context.flow.here(value, update.scope), value.callee).value
    return made.node if isinstance(made, Call) else None


def _whole(context: Context, node: ast.AST, update: CallEvent) -> bool:
    """Say whether the gradient is one of all parameters of the first argument."""
    if not isinstance(node, ast.Call):
        return False
    chosen = argument(node, 1, "argnums")
    value = update.scope.module.values.get(chosen) if chosen is not None else None
    if chosen is None:
        return not any(k.arg is None for k in node.keywords)
    found = context.flow.resolve(context.flow.here(value, update.scope)) if value is not None else None
    if found is None:
        return False
    if isinstance(found.value, Const):
        return found.value.value == 0
    if not isinstance(found.value, Call) or context.flow.calls.callee_name(found) != "flax.nnx.DiffState":
        return False
    place, kind = found.value.argument(0, "argnum"), found.value.argument(1, "filter")
    return place == Const(0) and kind is not None and context.flow.follow(found, kind).value == PARAM
