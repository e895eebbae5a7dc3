"""Batches that a generator of the project gives as NumPy arrays, which donation leaves as they are."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Each, Item, Value

_TO_HOST = frozenset({"numpy", "_numpy", "as_numpy", "device_get"})
_HOMES = frozenset({"np", "numpy", "onp"})
# what makes arrays of JAX: of these alone the memory is given away
_TO_DEVICE = frozenset({"device_put", "device_put_sharded", "device_put_replicated", "prefetch_to_device", "shard",
                        "make_array_from_process_local_data", "make_array_from_callback"})  # fmt: skip


def from_host(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value is what a generator of the project yields, which makes NumPy arrays and none of JAX.

    Args:
        context: the analysis.
        value: the value, as a variable of a loop.
        scope: where the loop stands.
    """
    while isinstance(value, Item):
        value = value.base
    if not isinstance(value, Each):
        return False
    made = context.flow.resolve(context.flow.here(value.base, scope))
    if not isinstance(made.value, Call):
        return False
    callees = context.flow.calls.callables(context.flow.follow(made, made.value.callee))
    return bool(callees) and all(one.function.generator and _of_numpy(one.function) for one in callees)


def _of_numpy(function: FunctionFacts) -> bool:
    """Say whether a body makes NumPy arrays, and moves nothing to a device."""
    calls = [n.func for n in ast.walk(function.node) if isinstance(n, ast.Call)]
    words = {last_word(one) for one in calls}
    homes = {one.value.id for one in calls if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)}
    return bool(words & _TO_HOST or homes & _HOMES) and not (words & _TO_DEVICE or homes & {"jnp", "jax_utils"})
