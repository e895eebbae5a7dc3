"""Traces of second derivatives along the axis of a network's output; part of NNX791."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.frames import Bound
from codemods.nnx.lint.columns import Columns
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.values import Call, Function

_JACOBIANS = frozenset({"jax.jacfwd", "jax.jacrev", "jax.jacobian"})


def traces_of_output(context: Context) -> Iterator[tuple[CallEvent, tuple[int, int]]]:
    """Yield calls of ``jnp.trace`` on the Hessian of a network with one feature, whose first axis is that feature.

    Args:
        context: the analysis.

    Yields:
        Each call, with the axes that belong to the coordinates.
    """
    for event, name in foreign(context, "trace"):
        if name not in {"jax.numpy.trace", "numpy.trace"} or not event.value.args or event.value.starred:
            continue
        if in_test(event.scope) or argument(event.node, 1, "offset") is not None:
            continue
        axes = argument(event.node, 2, "axis1"), argument(event.node, 3, "axis2")
        found = _second(context, context.flow.here(event.value.args[0], event.scope))
        if found is None:
            continue
        function, many = found
        wanted = (1, 2) if many else (0, 1)
        if tuple(wanted[i] if one is None and not many else constant(one) for i, one in enumerate(axes)) == wanted:
            if _one_feature(context, function):
                yield event, (wanted[0] + 1, wanted[1] + 1)


def _second(context: Context, bound: Bound) -> tuple[Bound, bool] | None:
    """Return the function of which a value is the Hessian, and whether it is that of many points."""
    flow = context.flow
    found = flow.resolve(bound)
    maker = flow.follow(found, found.value.callee) if isinstance(found.value, Call) else found
    many = False
    if isinstance(maker.value, Call) and flow.calls.callee_name(maker) == "jax.vmap" and maker.value.args:
        maker, many = flow.follow(maker, maker.value.args[0]), True
    if not isinstance(maker.value, Call) or not maker.value.args:
        return None
    name, function = flow.calls.callee_name(maker), flow.follow(maker, maker.value.args[0])
    if name in _JACOBIANS:
        inner = function.value
        if not isinstance(inner, Call) or not inner.args or flow.calls.callee_name(function) not in _JACOBIANS:
            return None
        function = flow.follow(function, inner.args[0])
    elif name != "jax.hessian":
        return None
    return function, many


def _one_feature(context: Context, function: Bound) -> bool:
    """Say whether a function gives a vector of one element: a network, or what calls one and returns that."""
    columns = Columns(context)
    if not isinstance(function.value, Function):
        owners = context.sources.originals(function)
        return bool(owners) and all(columns.one_feature(one) for one in owners)
    facts = function.value.facts
    return bool(facts.returns) and all(
        isinstance(one, Call) and columns.of_module(one, facts.scope) for one in facts.returns
    )
