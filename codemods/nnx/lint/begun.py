"""What a variable, an attribute or an entry of a dict holds when a body or a loop begins, whatever it holds later."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, ClassFacts, Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.values import Attr, Changed, Const, Loop, Mapping, Param, Value

_DEPTH = 40


def begun(context: Context, node: ast.expr, scope: Scope) -> Bound | None:
    """Return what the value of an expression is when it is evaluated first; None if it is not evaluated.

    Args:
        context: the analysis.
        node: the expression.
        scope: the body that it stands in.
    """
    value = scope.module.values.get(node)
    if value is None:
        return None
    found = context.flow.here(value, scope)
    for _ in range(_DEPTH):
        found = context.flow.resolve(found)
        before = _before(context, found, node)
        if before is None:
            break
        found = before
    return found


def _before(context: Context, found: Bound, node: ast.expr) -> Bound | None:
    """Return what a value was before the round, or before the method, in which it may have been changed."""
    value = found.value
    if isinstance(value, Loop):
        return context.flow.with_value(found, value.before)
    if isinstance(value, Indexed) and isinstance(value.index.value, Const):
        entry = _entry(context, value.base, value.index.value.value)
        return context.flow.with_value(found, entry) if entry is not None else None
    if isinstance(value, Attr) and isinstance(value.base, Param):
        return made_first(context, value, node)
    return None


def _entry(context: Context, container: Value, key: object) -> Value | None:
    """Return what a container holds under a constant key before the loops that change it."""
    for _ in range(_DEPTH):
        if context.flow.identity.is_distrusted(container):
            return None
        if isinstance(container, Loop):
            container = container.before
        elif isinstance(container, Changed):
            node = container.node
            if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
                return None
            if node.slice.value == key:
                return container.value
            container = container.before
        elif isinstance(container, Mapping):
            found = [item for name, item in container.items if isinstance(name, Const) and name.value == key]
            return found[-1] if found and all(isinstance(name, Const) for name, _ in container.items) else None
        else:
            return None
    return None


def made_first(context: Context, value: Attr, node: ast.expr) -> Bound | None:
    """Return what the constructor made of an attribute of `self` that a method reads before it may bind it anew.

    Nothing else may bind it: no other method, no heir, no other code.

    Args:
        context: the analysis.
        value: the attribute.
        node: where it is read.
    """
    reader = value.base.function if isinstance(value.base, Param) else None
    cls = reader.owner if reader is not None else None
    if reader is None or cls is None or value.base is not reader.self_param or reader.name == "__init__":
        return None
    init = context.flow.classes.method(cls, "__init__")
    if init is None or init.owner is not cls or context.flow.fields.stores_from_outside(cls, value.name):
        return None
    made: list[AttrEvent] = []
    for event in context.flow.fields.stores().get(value.name, ()):
        function = event.scope.function
        if function is init and event.base is init.self_param:
            made.append(event)
        elif function is reader and event.base is reader.self_param:
            if event.node.lineno < node.lineno:
                return None
        elif function is not None and function.owner is not None and _related(context, function.owner, cls):
            return None
    made.sort(key=lambda event: (event.node.lineno, event.node.col_offset))
    last = made[-1] if made else None
    if last is None or last.stored is None or context.bodies.paths(init.scope).get(last.node):
        return None
    return context.flow.here(last.stored, init.scope)


def _related(context: Context, one: ClassFacts, two: ClassFacts) -> bool:
    return one in context.flow.classes.mro(two)[0] or two in context.flow.classes.mro(one)[0]
