"""Objects that are made anew in every trace, so that what is compiled for one of them never meets another state."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.lint.places import in_test, passed
from codemods.nnx.lint.syntax import inside
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Attr, Call, Changed, Choice, Each, Free, Item, Loop, Param, Value

_STEPS = 12  # through how many values, functions and calls an object is followed


def always_new(context: Context, param: Param) -> bool:
    """Say whether each call in sight gives a parameter an object that is new in every trace, and there is a call.

    What a transform is given, and what ``nnx.merge`` makes, is such an object as long as nothing updates it before the
    call: two calls for one object see what it held at the first.

    Args:
        context: the analysis.
        param: a parameter, also the object of a method.
    """
    return _given_new(context, param, set(), 0)


def _given_new(context: Context, param: Param, seen: set[Param], depth: int) -> bool:
    if param in seen:
        return True
    seen.add(param)
    function = param.function
    if param is function.self_param:
        return _of_new(context, function, seen, depth)
    callers = [event for event in context.flow.sites.callers(function) if not in_test(event.scope)]
    return bool(callers) and all(
        (given := passed(event, param)) is not None
        and not event.value.starred
        and _new(context, given, event.scope, event.node, seen, depth + 1)
        for event in callers
    )


def _of_new(context: Context, method: FunctionFacts, seen: set[Param], depth: int) -> bool:
    """Say whether a method is called, and only for new objects, as far as its name tells of the calls."""
    owner = method.owner
    if owner is None or method.name.startswith("__"):
        return False
    events = {
        event.node.func: event
        for event in context.bodies.named(method.name)
        if isinstance(event.node.func, ast.Attribute)
    }
    found = False
    for module in context.project.modules:
        for node in module.source.of_type(ast.Attribute):
            if node.attr != method.name:
                continue
            event = events.get(node)
            if event is None:
                return False  # it goes somewhere else
            if in_test(event.scope) or _of_others(context, event, owner):
                continue
            value = event.value.callee
            if not isinstance(value, Attr) or not _new(context, value.base, event.scope, event.node, seen, depth + 1):
                return False
            found = True
    return found


def _of_others(context: Context, event: CallEvent, owner: ClassFacts) -> bool:
    """Say whether a method is called of an object that is of another class."""
    callee, function = event.value.callee, event.scope.function
    base = callee.base if isinstance(callee, Attr) else None
    if base is None:
        return False
    own = function is not None and base is function.self_param
    found = function.owner if own and function else context.flow.classes.class_of(context.flow.here(base, event.scope))
    if found is None:
        return False
    return owner not in context.flow.classes.mro(found)[0] and found not in context.flow.classes.mro(owner)[0]


def _new(context: Context, value: Value, scope: Scope, node: ast.AST, seen: set[Param], depth: int) -> bool:
    """Say whether a value of a scope is an object that is new in every trace and as it was made, at a place."""
    if depth > _STEPS or _updated(context, scope, node):
        return False
    if isinstance(value, Param):
        roots = _roots(context, value.function)
        if roots and not any(value.name in root.static or root.bound for root in roots):
            return True
        return _given_new(context, value, seen, depth + 1)
    if isinstance(value, Free):
        if value.of_global or value.name in value.scope.remote:
            return False
        bindings = value.scope.bindings.get(value.name, ())
        end = value.scope.node
        return bool(bindings) and all(_new(context, one, value.scope, end, seen, depth + 1) for one in bindings)
    if isinstance(value, Attr | Item | Each):
        return _new(context, value.base, scope, node, seen, depth + 1)
    if isinstance(value, Changed):
        return _new(context, value.before, scope, node, seen, depth + 1)
    if isinstance(value, Choice):
        return all(_new(context, one, scope, node, seen, depth + 1) for one in value.options)
    if isinstance(value, Loop):
        ways = [value.before] if value.again is None or value.again is value else [value.before, value.again]
        return all(_new(context, one, scope, node, seen, depth + 1) for one in ways)
    if not isinstance(value, Call):
        return False
    call = context.flow.here(value, scope)
    name = context.flow.calls.callee_name(call)
    if name:
        return name == "flax.nnx.merge"
    made = [callee.function for callee, _ in context.flow.calls.invoked(call)]
    return bool(made) and all(
        bool(one.returns)
        and all(
            isinstance(given, Call)
            and context.flow.calls.callee_name(context.flow.here(given, one.scope)) == "flax.nnx.merge"
            for given in one.returns
        )
        for one in made
    )


def _roots(context: Context, function: FunctionFacts) -> list[Root]:
    tracing = context.traced.get(function)
    found = list(tracing.roots) if tracing is not None else []
    return found + [root for root in context.traced.gradients if root.function is function]


def _updated(context: Context, scope: Scope, node: ast.AST) -> bool:
    """Say whether a body updates some object before a place in it, or in a loop around that; anywhere, if the place is
    the body itself."""
    for event in context.bodies.calls.get(scope, ()):
        if event.node is node or not _before(event, node, scope):
            continue
        if _updates(event.node):
            return True
        if event.value.args and any(
            _updates(n)
            for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, scope))
            for n in ast.walk(callee.function.node)
        ):
            return True
    return False


def _before(event: CallEvent, node: ast.AST, scope: Scope) -> bool:
    if node is scope.node or event.node.lineno < getattr(node, "lineno", 0):
        return True
    loops = (loop for loop in event.loops if isinstance(loop, ast.For | ast.While))
    return any(inside(node, loop) for loop in loops)


def _updates(node: ast.AST) -> bool:
    """Say whether a call updates something with what it is given by position, as an optimizer or ``nnx.update``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"update", "update_state", "apply_gradients", "load_state_dict"}
        and bool(node.args)
    )
