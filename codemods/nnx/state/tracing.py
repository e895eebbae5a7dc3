"""Functions that run under a trace of their own, gradients included."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.known import GRADIENTS
from codemods.nnx.values import Call, Ref

_GRADIENTS = GRADIENTS | {"jax.vjp", "jax.jvp", "jax.linearize", "jax.hessian", "flax.nnx.vjp", "flax.nnx.jvp"}


def traced_functions(context: Context) -> frozenset[FunctionFacts]:
    """Return the functions that a transform of JAX or NNX runs on tracers directly."""
    flow = context.flow
    found = {root.function for root in context.traced.roots}
    for event in context.project.calls():
        if event.value.args and flow.callee_name(flow.here(event.value, event.scope)) in _GRADIENTS:
            found |= {c.function for c in flow.callables(flow.here(event.value.args[0], event.scope))}
    for function in context.project.functions():
        outer = function.scope.parent
        for decorator in function.decorators if outer is not None else ():
            assert outer is not None
            resolved = flow.resolve(flow.here(decorator, outer))
            name = resolved.value.name if isinstance(resolved.value, Ref) else flow.callee_name(resolved)
            if name == "functools.partial" and isinstance(resolved.value, Call) and resolved.value.args:
                first = flow.follow(resolved, resolved.value.args[0]).value
                name = first.name if isinstance(first, Ref) else ""
            if name in _GRADIENTS:
                found.add(function)
    return frozenset(found)
