"""Attributes that keep a state and get computed values later, so that what is put back is no snapshot; for NNX818."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.frames import Bound
from codemods.nnx.values import Attr, Call, Item, Value

_TAKING = frozenset({"flax.nnx.state", "flax.nnx.split"})


def worked_on(context: Context, owner: ClassFacts, name: str) -> bool:
    """Say whether a class gives an attribute what some call computed of its value, as a training step does.

    Args:
        context: the analysis.
        owner: the class.
        name: the attribute.
    """
    stored = [one for parent in context.flow.classes.mro(owner)[0] for one in parent.stores.get(name, ())]
    taken = {value for method, value in stored if _taken(context, context.flow.here(value, method.scope))}
    return any(
        _computed(context, context.flow.here(value, method.scope), name, taken)
        for method, value in stored
        if value not in taken
    )


def _computed(context: Context, stored: Bound, name: str, taken: set[Value]) -> bool:
    """Say whether a value may be the result of a call that gets the attribute, or what it first held."""
    whole = stored.value.base if isinstance(stored.value, Item) else stored.value
    direct = isinstance(whole, Call) and any(isinstance(one, Attr) and one.name == name for one in whole.given)
    for source in context.sources.of(stored):
        made = source.value.base if isinstance(source.value, Item) else source.value
        if not isinstance(made, Call) or _taken(context, source):
            continue
        if direct:
            return True
        given = (context.flow.follow(source, one) for one in made.given)
        if any(
            (isinstance(one.value, Attr) and one.value.name == name)
            or any(original.value in taken for original in context.sources.originals(one))
            for one in given
        ):
            return True
    return False


def _taken(context: Context, bound: Bound) -> bool:
    """Say whether a value is a state that a call takes of an object."""
    value = bound.value
    made = context.flow.follow(bound, value.base) if isinstance(value, Item) else bound
    return context.flow.calls.callee_name(made) in _TAKING


def set_before(context: Context, event: CallEvent, kept: Attr) -> bool:
    """Say whether the method that puts an attribute back gives it another value before, on every way.

    Args:
        context: the analysis.
        event: the call that puts it back.
        kept: the attribute.
    """
    function, paths = event.scope.function, context.bodies.paths(event.scope)
    if function is None or function.owner is None or kept.base is not function.self_param:
        return False
    stored = [value for method, value in function.owner.stores.get(kept.name, ()) if method is function]
    if any(_taken(context, one) for v in stored for one in context.sources.of(context.flow.here(v, event.scope))):
        return False
    around = set(paths.get(event.node, ()))
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and node.attr == kept.name
        and isinstance(node.value, ast.Name)
        and node.value.id == kept.base.name
        and node.lineno < event.node.lineno
        and all(one in around or isinstance(one[0], ast.For | ast.While | ast.With) for one in paths.get(node, ()))
        for node in context.bodies.nodes(event.scope)
    )
