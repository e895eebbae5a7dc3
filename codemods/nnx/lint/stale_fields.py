"""Partial applications that an object keeps, whose model its methods set to evaluate; part of NNX743."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.lint.lax_control_flow import draws
from codemods.nnx.lint.places import foreign, in_test, target_of
from codemods.nnx.values import Call


def stale_fields(context: Context) -> Iterator[tuple[CallEvent, ast.Attribute, ast.Attribute, ast.Call]]:
    """Yield what a constructor binds with nnx.cached_partial, where it is kept, the model, and what sets that later.

    Args:
        context: the analysis.
    """
    if not any(module.source.mentions(b".eval()") for module in context.asked.modules):
        return
    for event, name in foreign(context, "cached_partial"):
        function, kept = event.scope.function, target_of(event)
        cls = function.owner if function is not None else None
        if name != "flax.nnx.cached_partial" or function is None or cls is None or event.value.starred:
            continue
        if in_test(event.scope) or event.loops or not _own(kept, function) or not _stored_once(context, cls, kept):
            continue
        assert isinstance(kept, ast.Attribute)
        for model in event.node.args[1:]:
            if not _own(model, function) or not _stored_once(context, cls, model) or not _random(context, event, model):
                continue
            assert isinstance(model, ast.Attribute)
            change = _evaluated(context, cls, function, kept.attr, model.attr)
            if change is not None:
                yield event, kept, model, change
                break


def _own(node: ast.expr | None, method: FunctionFacts) -> bool:
    """Say whether an expression is a field of the object of a method."""
    me = method.self_param
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and me is not None
        and node.value.id == me.name
    )


def _stored_once(context: Context, cls: ClassFacts, node: ast.expr | None) -> bool:
    """Say whether one statement of the project alone assigns to a field."""
    if not isinstance(node, ast.Attribute):
        return False
    stores = [one for parent in context.flow.classes.mro(cls)[0] for one in parent.stores.get(node.attr, ())]
    heirs = (heir for heir in context.flow.classes.heirs(cls) if heir is not cls)
    outside = context.flow.fields.stores_from_outside(cls, node.attr)
    return len(stores) == 1 and not outside and not any(node.attr in heir.stores for heir in heirs)


def _random(context: Context, event: CallEvent, model: ast.expr) -> bool:
    """Say whether a model has layers that evaluate in another way than they train, whichever it is."""
    value = event.scope.module.values.get(model)
    made = context.sources.originals(context.flow.here(value, event.scope)) if value is not None else ()
    return bool(made) and all(isinstance(one.value, Call) and draws(context, one, keeping=True) for one in made)


def _evaluated(context: Context, cls: ClassFacts, binding: FunctionFacts, kept: str, model: str) -> ast.Call | None:
    """Return what sets a model to evaluate before its partial application runs, in a class that trains it as well."""
    methods = [one for one in cls.methods.values() if one is not binding]
    modes = [(one, call) for one in methods for call in _modes(context, one, model)]
    everywhere = {event.node for event in context.bodies.named("eval", "train")}
    if everywhere - {call.node for _, call in modes}:
        return None  # it may be in any mode where it is bound
    if not any(_word(call) == "train" for _, call in modes):
        return None
    for method in methods:
        for use in context.bodies.calls.get(method.scope, ()):
            func = use.node.func
            if not isinstance(func, ast.Attribute) or func.attr != kept or not _own(func, method):
                continue
            before = [c for m, c in modes if m is method and _before(context, method, c.node, use.node)]
            last = max(before, key=lambda call: call.node.lineno, default=None)
            between = last is not None and any(
                m is method and last.node.lineno < c.node.lineno < use.node.lineno for m, c in modes
            )
            if last is not None and _word(last) == "eval" and not between:
                return last.node
    return None


def _modes(context: Context, method: FunctionFacts, model: str) -> Iterator[CallEvent]:
    """Yield the calls in a method that set the mode of a model of its object."""
    for event in context.bodies.calls.get(method.scope, ()):
        func = event.node.func
        if isinstance(func, ast.Attribute) and func.attr in {"eval", "train"} and not event.node.args:
            if isinstance(func.value, ast.Attribute) and func.value.attr == model and _own(func.value, method):
                yield event


def _word(event: CallEvent) -> str:
    return event.node.func.attr if isinstance(event.node.func, ast.Attribute) else ""


def _before(context: Context, method: FunctionFacts, change: ast.expr, use: ast.expr) -> bool:
    """Say whether a change runs before a use, whenever that runs."""
    paths = context.bodies.paths(method.scope)
    around = paths.get(change, ())
    return change.lineno < use.lineno and paths.get(use, ())[: len(around)] == around
