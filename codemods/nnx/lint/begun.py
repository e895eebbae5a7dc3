"""What a variable, an attribute or an entry of a dict holds when a body or a loop begins, whatever it holds later."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.origins import origin
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Loop, Mapping, Param, Sequence

_DEPTH = 40


def begun(context: Context, node: ast.expr, scope: Scope) -> Bound | None:
    """Return what the value of an expression is when it is evaluated first; None if it is not evaluated.

    Args:
        context: the analysis.
        node: the expression.
        scope: the body that it stands in.
    """
    value = origin(context, node, scope)
    return _first(context, context.flow.here(value, scope), node) if value is not None else None


def _first(context: Context, found: Bound, place: ast.expr) -> Bound:
    for _ in range(_DEPTH):
        if isinstance(found.value, Attr) and isinstance(found.value.node, ast.expr):
            place = found.value.node
        # what keeps a field that is bound anew later is not what that field is then
        before = _before(context, found, place) or _before(context, context.flow.resolve(found), place)
        if before is None:
            return context.flow.resolve(found)
        found = before
    return found


def same_first(context: Context, one: ast.expr, other: ast.expr, scope: Scope) -> bool:
    """Say whether two expressions of a body are one object when each is evaluated first.

    Args:
        context: the analysis.
        one: an expression.
        other: the other one.
        scope: the body that they stand in.
    """
    first, second = (_origin(context, begun(context, node, scope)) for node in (one, other))
    return (
        first is not None
        and second is not None
        and isinstance(first.value, Call | Mapping | Sequence)
        and first.value is second.value
        and first.frame is second.frame
    )


def _origin(context: Context, found: Bound | None) -> Bound | None:
    """Return what a value is, of a parameter what all callers give if that is one."""
    if found is None or not isinstance(found.value, Param):
        return found
    given = context.sources.originals(found)
    return next(iter(given)) if len(given) == 1 else None


def _before(context: Context, found: Bound, node: ast.expr) -> Bound | None:
    """Return what a value was before the round, or before the method, in which it may have been changed."""
    value = found.value
    if isinstance(value, Loop):
        return context.flow.with_value(found, value.before)
    if isinstance(value, Attr) and isinstance(value.base, Param):
        return made_first(context, value, node)
    return None


def made_first(context: Context, value: Attr, node: ast.expr) -> Bound | None:
    """Return what the constructor made of an attribute of `self`, as it is where it is read the first time.

    Nothing else may have bound it: no other method, no heir, no other code, and the reader only behind that.

    Args:
        context: the analysis.
        value: the attribute.
        node: where it is read, in a method or in the constructor itself.
    """
    reader = value.base.function if isinstance(value.base, Param) else None
    cls = reader.owner if reader is not None else None
    if reader is None or cls is None or value.base is not reader.self_param:
        return None
    if node not in context.bodies.paths(reader.scope):
        return None
    init = context.flow.classes.method(cls, "__init__")
    if init is None or init.owner is not cls or context.flow.fields.stores_from_outside(cls, value.name):
        return None
    made: list[AttrEvent] = []
    for event in context.flow.fields.stores().get(value.name, ()):
        function = event.scope.function
        if function is init and event.base is init.self_param:
            if reader is not init or event.node.lineno < node.lineno:
                made.append(event)
        elif function is reader and event.base is reader.self_param:
            if event.node.lineno < node.lineno:
                return None
        elif function is not None and function.owner is not None and _related(context, function.owner, cls):
            if reader is not init or _calls(context, init, function.name):
                return None
    made.sort(key=lambda event: (event.node.lineno, event.node.col_offset))
    last = made[-1] if made else None
    if last is None or last.stored is None or context.bodies.paths(init.scope).get(last.node):
        return None
    return context.flow.here(last.stored, init.scope)


def _calls(context: Context, init: FunctionFacts, name: str) -> bool:
    return any(last_word(event.node.func) == name for event in context.bodies.calls.get(init.scope, ()))


def _related(context: Context, one: ClassFacts, two: ClassFacts) -> bool:
    return one in context.flow.classes.mro(two)[0] or two in context.flow.classes.mro(one)[0]
