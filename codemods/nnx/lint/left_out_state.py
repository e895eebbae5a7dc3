"""Records that a step returns with new parameters and the old state of their optimizer; part of NNX871."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.record_copies import copied, fields
from codemods.nnx.values import Attr, Param

_PARAMETERS = frozenset({"params", "parameters", "weights", "theta", "variables"})


def leaves_old_state(context: Context, event: CallEvent) -> bool:
    """Say whether a function returns the record of its old optimizer state with new parameters and without the new
    state: ``return state.replace(params=new_params)``.

    Args:
        context: the analysis.
        event: the call ``tx.update(grads, state.opt_state, ...)``, whose new state nobody reads.
    """
    function = event.scope.function
    old = event.value.args[1] if len(event.value.args) > 1 else event.value.keyword("state")
    if function is None or not isinstance(old, Attr) or not isinstance(old.base, Param):
        return False
    if old.base.function is not function:
        return False
    given = [fields(copy) for copy in copied(context, function, old.base)]
    return bool(given) and all(one is not None and old.name not in one and one & _PARAMETERS for one in given)
