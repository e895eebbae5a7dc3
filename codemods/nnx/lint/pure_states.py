"""Which states may hold arrays in the place of Variables, so that a merge makes new Variables of them."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Item, Value

# what makes arrays or copies of the Variables of a state; `is_leaf` goes with a map over Variables
_PURE = pattern(rb"pure|is_leaf|map_state|flat_state|deepcopy|raw_value")


def may_be_pure(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a state may hold arrays instead of Variables, as those of ``nnx.as_pure`` do.

    Args:
        context: the analysis.
        value: the state.
        scope: the body that it is a value of.
    """
    if not any(module.source.matches(_PURE) for module in context.project.modules):
        return False
    found = context.sources.originals(context.flow.here(value, scope))
    return not found or not all(_of_variables(context, one) for one in found)


def _of_variables(context: Context, state: Bound) -> bool:
    """Say whether a state is what ``nnx.split`` or ``nnx.state`` gave."""
    value = state.value
    if isinstance(value, Indexed | Item):
        state = context.flow.with_value(state, value.base)
        return isinstance(state.value, Call) and context.flow.calls.callee_name(state) == "flax.nnx.split"
    return isinstance(value, Call) and context.flow.calls.callee_name(state) in {"flax.nnx.state", "flax.nnx.variables"}
