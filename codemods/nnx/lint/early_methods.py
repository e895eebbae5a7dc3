"""Methods of early versions of NNX, under names that containers have too; part of NNX730."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.owners import has_attribute, owner_class, plain_module
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.values import Attr, Call, Value

_OF_MODULES = {
    "update": "write nnx.update(model, state)",
    "split": "write nnx.split(model)",
    "partition": "write nnx.split(model, nnx.Param, ...)",
    "copy": "write nnx.clone(model)",
}
_OF_PAIRS = ("items", "keys", "values", "get")
_PAIRS = "a flat state is a sequence of pairs (path, leaf): go through it as it is, or make a dict of it"


def early_methods(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls of methods that are gone, with what is wrong and the way out."""
    for event in context.bodies.named(*_OF_MODULES):
        callee = event.value.callee
        if event.scope.module not in context.asked or not isinstance(callee, Attr):
            continue
        cls = owner_class(context, callee.base, event.scope)
        if cls is None or not plain_module(context, cls) or in_test(event.scope):
            continue
        if not isinstance(cls, str) and has_attribute(context, cls, callee.name):
            continue
        if isinstance(cls, str) and not _layer(cls):
            continue
        if not context.bodies.guarded(event.node, event.scope):
            name = cls.rpartition(".")[2] if isinstance(cls, str) else cls.name
            yield event, f"`{name}` is a module of NNX, and has no method `{callee.name}`", _OF_MODULES[callee.name]
    if any(module.source.mentions(b"flat_state(") for module in context.project.modules):
        yield from _pairs(context)


def _layer(name: str) -> bool:
    """Say whether a class of NNX is a layer, and no container."""
    return (
        name.startswith("flax.nnx.") and name.count(".") == 2 and not name.endswith((".List", ".Dict", ".Sequential"))
    )


def _pairs(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    for event in context.bodies.named(*_OF_PAIRS):
        callee = event.value.callee
        if event.scope.module not in context.asked or not isinstance(callee, Attr) or in_test(event.scope):
            continue
        if _flat(context, callee.base, event) and not context.bodies.guarded(event.node, event.scope):
            yield event, f"a flat state is no dict, and has no `{callee.name}`", _PAIRS


def _flat(context: Context, value: Value, event: CallEvent) -> bool:
    """Say whether a value is what ``flat_state`` of a state, or ``nnx.to_flat_state``, gives."""
    if not isinstance(value, Call):  # as it is: dict(...) around it is followed to what it holds
        return False
    if context.flow.calls.callee_name(context.flow.here(value, event.scope)) == "flax.nnx.to_flat_state":
        return True
    callee = value.callee
    if not isinstance(callee, Attr) or callee.name != "flat_state":
        return False
    return kinds_of(context, callee.base, event.scope) == {Kind.STATE}
