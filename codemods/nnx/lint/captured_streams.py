"""Streams of the function around a loss that the loss hands to a model; part of NNX809."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Attr, Call, Free, Param


def handed_streams(context: Context) -> Iterator[tuple[Scope, ast.AST, str]]:
    """Yield the calls in losses that hand a model streams from around the loss, from which the model draws."""
    if context.options.crosses("0.11"):
        return  # before that it was allowed
    seen: set[ast.AST] = set()
    for root in context.traced.gradients:
        for node, name in _drawn(context, root):
            if node not in seen:
                seen.add(node)
                yield root.function.scope, node, name


def _drawn(context: Context, root: Root) -> Iterator[tuple[ast.AST, str]]:
    """Yield the calls of a loss that hand on streams which it takes from around itself."""
    scope = root.function.scope
    if scope.module not in context.asked or in_test(scope):
        return
    for event in scope.module.calls_in(scope):
        given = [*enumerate(event.value.args), *event.value.keywords]
        for place, value in given if not event.value.starred else ():
            if isinstance(value, Free) and _streams(context, value, root) and handed(context, event, place, 0):
                yield event.node, value.name


def handed(context: Context, event: CallEvent, place: int | str | None, depth: int) -> bool:
    """Say whether a call hands streams to a method of a model that draws from them.

    Args:
        context: the analysis.
        event: the call.
        place: where the streams stand among its arguments, or by what name.
        depth: how many calls lead to it.
    """
    if context.flow.calls.name(event) or depth > _DEPTH:
        return False
    sources = context.sources.originals(context.flow.here(event.value.callee, event.scope))
    for made in sources:
        if context.flow.calls.callee_name(made) == "flax.nnx.Dropout":
            return place == "rngs" and isinstance(made.value, Call) and made.value.keyword("deterministic") is None
        cls = context.flow.classes.class_of(made)
        method = context.flow.classes.method(cls, "__call__") if cls is not None else None
        if method is None:
            return False
        params = list(method.params.values())[1:]
        param = params[place] if isinstance(place, int) and place < len(params) else method.params.get(str(place))
        if param is None or not _draws(context, method, param, depth):
            return False
    return bool(sources)


def _draws(context: Context, method: FunctionFacts, param: Param, depth: int) -> bool:
    """Say whether a method draws from streams that it is given, on every way through it."""
    for event in context.bodies.calls.get(method.scope, ()):
        if context.bodies.paths(method.scope).get(event.node):
            continue  # perhaps
        callee = event.value.callee
        held = callee.base if isinstance(callee, Attr) else None
        if held is param or (isinstance(held, Attr) and held.base is param):
            return True
        given = [*enumerate(event.value.args), *event.value.keywords]
        if any(value is param and handed(context, event, place, depth + 1) for place, value in given):
            return True
    return False


_DEPTH = 3


def _streams(context: Context, value: Free, root: Root) -> bool:
    """Say whether a variable of a function around is an ``nnx.Rngs``."""
    scope = root.function.scope
    return value.scope is not scope and kinds_of(context, value, scope) == {Kind.RNGS}
