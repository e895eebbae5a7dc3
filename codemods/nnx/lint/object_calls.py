"""Calls of objects that a function gets as arguments: ``model(x)`` where all callers give a model of one class."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.flow.calls import Callee
from codemods.nnx.frames import Bound
from codemods.nnx.values import Attr, Call, Free, Param, Value


def given_to_objects(context: Context, bound: Bound) -> Iterator[Bound]:
    """Yield what calls of objects that are arguments themselves give for a parameter of a method.

    Args:
        context: the analysis.
        bound: a parameter whose caller is not known; nothing is yielded for another value.
    """
    value, frame = bound.value, bound.frame
    if not isinstance(value, Param) or value is value.function.self_param or value.function.owner is None:
        return
    if frame is not None and frame.site is not None:
        return
    flow = context.flow
    for event, receiver in context.shared(_calls).get(value.function, ()):
        call = flow.here(event.value, event.scope)
        argument = flow.argument(flow.calls.enter(Callee(value.function, None, receiver), call), value.name)
        if argument is not None:
            yield argument


def calls_on_objects(context: Context, method: FunctionFacts) -> list[CallEvent]:
    """Return the calls that run a method on objects that are arguments themselves.

    Args:
        context: the analysis.
        method: the method.
    """
    return [event for event, _ in context.shared(_calls).get(method, ())]


def methods_of_objects(context: Context, event: CallEvent) -> list[FunctionFacts]:
    """Return the method that a call runs on an object that is an argument itself; nothing for other calls.

    Args:
        context: the analysis.
        event: the call.
    """
    return [method for method, calls in context.shared(_calls).items() if any(one is event for one, _ in calls)]


def method_of(context: Context, callee: Value, scope: Scope) -> FunctionFacts | None:
    """Return the method that is called, as ``model`` or ``model.encode``, on an object that a function gets.

    Args:
        context: the analysis.
        callee: what is called; its object is an argument, of the function that calls or of one around it.
        scope: where it is called.

    Returns:
        The method; None if the object is not of one class of the project by all that is handed in for it.
    """
    held, name = (callee.base, callee.name) if isinstance(callee, Attr) else (callee, "__call__")
    if isinstance(held, Free):
        bindings = held.scope.bindings.get(held.name, ())
        if len(bindings) != 1 or held.name in held.scope.rebound or held.name in held.scope.remote:
            return None
        scope = held.scope
        held = bindings[0]
    if not isinstance(held, Param) or held is held.function.self_param:
        return None
    classes = {context.flow.classes.class_of(one) for one in context.sources.originals(context.flow.here(held, scope))}
    cls = classes.pop() if len(classes) == 1 else None
    return context.flow.classes.method(cls, name) if cls is not None else None


def _calls(context: Context) -> dict[FunctionFacts, list[tuple[CallEvent, Bound]]]:
    """Return the calls of parameters and of their methods, by the method that each of them runs."""
    found: dict[FunctionFacts, list[tuple[CallEvent, Bound]]] = {}
    for event in context.project.calls():
        callee = event.value.callee
        named = callee.name if isinstance(callee, Attr) else "__call__"
        base = callee.base if isinstance(callee, Attr) else callee
        if not isinstance(base, Param) or base is base.function.self_param:
            continue
        receiver = context.flow.here(base, event.scope)
        if context.flow.classes.class_of(context.flow.resolve(receiver)) is not None:
            continue  # found among the callers already
        classes = {
            context.flow.classes.class_of(one) if isinstance(one.value, Call) else None
            for one in context.sources.originals(receiver)
        }
        cls = classes.pop() if len(classes) == 1 else None
        method = context.flow.classes.method(cls, named) if cls is not None else None
        if method is not None and method.binding == "instance":
            found.setdefault(method, []).append((event, receiver))
    return found
