"""Objects that are static arguments by their identity, and are changed in place between calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.static_anew import compared_by_identity
from codemods.nnx.lint.statics import static_arguments
from codemods.nnx.lint.syntax import inside


def changed_statics(context: Context) -> Iterator[tuple[Scope, ast.Attribute, CallEvent, str]]:
    """Yield where a static object is changed: the place, the attribute, the call that was compiled, the parameter."""
    calls = [one for one in static_arguments(context) if isinstance(one[1], ast.Name | ast.Attribute)]
    told: set[ast.AST] = set()
    for event, node, name in calls:
        if in_test(event.scope):
            continue
        stores = [one for one in _stores(context, event, node) if one[1] not in told]
        if not stores or not _by_identity(context, event, node):
            continue
        for scope, store in stores:
            if _between(context, event, node, scope, store, calls) and _reads(context, event, name, store.attr):
                told.add(store)
                yield scope, store, event, name


def _stores(context: Context, event: CallEvent, node: ast.expr) -> list[tuple[Scope, ast.Attribute]]:
    """Return the assignments to attributes of an object: in the same body, of an attribute of self in any method."""
    function, text = event.scope.function, ast.dump(node)
    scopes = [event.scope]
    if isinstance(node, ast.Attribute) and function is not None and function.owner is not None:
        scopes += [m.scope for m in function.owner.methods.values() if m.name != "__init__" and m is not function]
    return [
        (scope, one)
        for scope in scopes
        for one in context.bodies.nodes(scope)
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and ast.dump(one.value) == text
    ]


def _by_identity(context: Context, event: CallEvent, node: ast.expr) -> bool:
    """Say whether an argument is an object of a class of the project that is equal to itself alone."""
    value = event.scope.module.values.get(node)
    made = context.sources.originals(context.flow.here(value, event.scope)) if value is not None else ()
    classes = [context.flow.classes.class_of(one) for one in made]
    return bool(classes) and all(cls is not None and compared_by_identity(context, cls) for cls in classes)


def _between(
    context: Context, event: CallEvent, node: ast.expr, scope: Scope, store: ast.Attribute,
    calls: list[tuple[CallEvent, ast.expr, str]],
) -> bool:  # fmt: skip
    """Say whether an object is changed between two calls that get it: in a loop with one, behind one and before one."""
    if scope is not event.scope:
        return True
    text = ast.dump(node)
    for loop in event.loops:
        if isinstance(loop, ast.For | ast.While) and inside(store, loop):
            again = (n for n in ast.walk(loop) if isinstance(n, type(node)) and ast.unparse(n) == ast.unparse(node))
            if not any(isinstance(n.ctx, ast.Store) for n in again):  # type: ignore[attr-defined]
                return True
    value = event.scope.module.values.get(node)
    later = (
        other for other, given, _ in calls
        if other.scope is scope and other.node.lineno > store.lineno and ast.dump(given) == text
        and other.scope.module.values.get(given) == value and ast.dump(other.node.func) == ast.dump(event.node.func)
    )  # fmt: skip
    return event.node.lineno < store.lineno and any(True for _ in later) and not _exclusive(context, scope, store)


def _exclusive(context: Context, scope: Scope, store: ast.Attribute) -> bool:
    """Say whether a place stands under a condition, and so perhaps not between two calls."""
    return any(isinstance(block, ast.If | ast.Try) for block, _ in context.bodies.paths(scope).get(store, ()))


def _reads(context: Context, event: CallEvent, name: str, attribute: str) -> bool:
    """Say whether compiled code reads an attribute of its static argument, itself or in what it calls with that."""
    callees = context.flow.calls.callables(context.flow.here(event.value.callee, event.scope))
    return any(_reading(context, callee.function, name, attribute, 0) for callee in callees)


def _reading(context: Context, function: FunctionFacts, name: str, attribute: str, depth: int) -> bool:
    nodes = [n for n in ast.walk(function.node) if isinstance(n, ast.Attribute) and n.attr == attribute]
    if any(isinstance(n.value, ast.Name) and n.value.id == name and isinstance(n.ctx, ast.Load) for n in nodes):
        return True
    if depth > 2 or name not in function.params:
        return False
    param = function.params[name]
    for event in context.bodies.calls.get(function.scope, ()):
        if param in event.value.args or any(value is param for _, value in event.value.keywords):
            for callee, frame in context.flow.calls.invoked(context.flow.here(event.value, event.scope)):
                for one in callee.function.params:
                    given = context.flow.argument(frame, one)
                    if given is not None and given.value is param:
                        if _reading(context, callee.function, one, attribute, depth + 1):
                            return True
    return False
