"""Two arrays for a function that reduces one: ``jnp.max(a, b)``; part of NNX763."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.arrays import FLOAT, INT, Arrays, made_by_jax
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Const, Value

#: Functions that take an axis behind their array, with what to write for two arrays.
_REDUCING = {
    **dict.fromkeys(("max", "amax"), "jnp.maximum(a, b)"),
    **dict.fromkeys(("min", "amin"), "jnp.minimum(a, b)"),
    **dict.fromkeys(
        ("sum", "mean", "prod", "std", "var", "any", "all", "median", "argmax", "argmin"),
        "one array of both: jnp.stack((a, b))",
    ),
    "logsumexp": "jnp.logaddexp(a, b)",
}


def arrays_for_axes(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls with an array or a fraction where an axis belongs, with the word and the way out."""
    for event in context.bodies.named(*_REDUCING):
        call, scope = event.value, event.scope
        if len(call.args) < 2 or call.starred or scope.module not in context.asked:
            continue
        home, _, word = context.flow.calls.name(event).rpartition(".")
        if home not in {"jax.numpy", "jax.nn", "jax.scipy.special"}:
            continue
        if _axis_missing(context, call.args[0], call.args[1], scope):
            if not in_test(scope) and not context.bodies.guarded(event.node, scope):
                yield event, word, _REDUCING[word]


def _axis_missing(context: Context, first: Value, second: Value, scope: Scope) -> bool:
    """Say whether what stands for the axis is none: a fraction, an array, or anything behind a number alone."""
    if isinstance(first, Const) and type(first.value) in {int, float}:
        return not isinstance(second, Const)
    known = Arrays(context, {}).of(second, scope)
    if known.number == FLOAT or (known.axes or 0) > 0:
        return True
    return known.number != INT and made_by_jax(context, second, scope)
