"""Functions that run under a trace of their own, gradients included."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.known import GRADIENTS
from codemods.nnx.values import Attr, Call, Const, Ref, Sequence

_OF_ARGUMENTS = frozenset({"jax.grad", "jax.value_and_grad", "jax.jacfwd", "jax.jacrev", "jax.hessian"})
_GRADIENTS = _OF_ARGUMENTS | GRADIENTS | {"jax.vjp", "jax.jvp", "jax.linearize", "flax.nnx.vjp", "flax.nnx.jvp"}


def traced_functions(context: Context) -> frozenset[FunctionFacts]:
    """Return the functions that a transform of JAX or NNX runs on tracers directly."""
    return frozenset({root.function for root in context.traced.roots}) | differentiated(context).keys()


def differentiated(context: Context) -> dict[FunctionFacts, frozenset[str] | None]:
    """Return the functions whose gradients are taken, each with its parameters that are no tracers there.

    JAX hands arguments that it does not differentiate on as they are; what NNX does with them, and what is not
    known, is None.
    """
    flow = context.flow
    found: dict[FunctionFacts, frozenset[str] | None] = {}
    for event in context.project.calls():
        call = flow.here(event.value, event.scope)
        name = flow.calls.callee_name(call)
        if event.value.args and name in _GRADIENTS:
            given = flow.with_value(call, event.value.args[0])
            callees = list(flow.calls.callables(given))
            for callee in callees:
                bound = callee.on_instance
                _note(found, callee.function, _untouched(flow, callee.function, name, call, bound))
            for method in () if callees else _methods(context, given):
                _note(found, method, _untouched(flow, method, name, call, True))
    for function in context.project.functions():
        outer = function.scope.parent
        for decorator in function.decorators if outer is not None else ():
            assert outer is not None
            resolved = flow.resolve(flow.here(decorator, outer))
            name = resolved.value.name if isinstance(resolved.value, Ref) else flow.calls.callee_name(resolved)
            if name == "functools.partial" and isinstance(resolved.value, Call) and resolved.value.args:
                first = flow.follow(resolved, resolved.value.args[0]).value
                name = first.name if isinstance(first, Ref) else ""
            if name in _GRADIENTS:
                _note(found, function, _untouched(flow, function, name, resolved, False))
    return found


def _methods(context: Context, given: Bound) -> set[FunctionFacts]:
    """Return the methods that ``parameter.loss`` may be, by the objects that callers pass."""
    if not isinstance(given.value, Attr):
        return set()
    classes = context.flow.classes
    holders = {classes.class_of(one) for one in context.sources.originals(Bound(given.value.base, given.frame))}
    methods = {classes.method(cls, given.value.name) for cls in holders if cls is not None}
    return {method for method in methods if method is not None and method.binding == "instance"}


def _note(
    found: dict[FunctionFacts, frozenset[str] | None], function: FunctionFacts, untouched: frozenset[str] | None
) -> None:
    """Add what one gradient leaves alone to what others do."""
    known = found.get(function, untouched)
    found[function] = known & untouched if known is not None and untouched is not None else None


def _untouched(flow: Flow, function: FunctionFacts, name: str, transform: Bound, bound: bool) -> frozenset[str] | None:
    """Return the parameters that a gradient of JAX is not taken with respect to; None if that is not known."""
    if name not in _OF_ARGUMENTS:
        return None
    names = [*function.params][1:] if bound else [*function.params]
    chosen: set[object] = {0}
    if isinstance(transform.value, Call):
        given = transform.value.keyword("argnums")
        if given is None and flow.calls.callee_name(transform) in _OF_ARGUMENTS:
            given = transform.value.argument(1, "argnums")
        if given is not None:
            argnums = flow.follow(transform, given)
            items = argnums.value.items if isinstance(argnums.value, Sequence) else (argnums.value,)
            values = [flow.follow(argnums, item).value for item in items]
            chosen = {value.value if isinstance(value, Const) else None for value in values}
    if not all(isinstance(index, int) for index in chosen):
        return None
    return frozenset(parameter for index, parameter in enumerate(names) if index not in chosen)
