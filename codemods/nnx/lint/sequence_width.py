"""How many features the recurrent layers and attentions of NNX take and give; part of NNX722."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound
from codemods.nnx.lint.image_sizes import product
from codemods.nnx.values import Call, Const

_CELLS = frozenset(f"flax.nnx.{name}" for name in ("LSTMCell", "OptimizedLSTMCell", "GRUCell", "SimpleCell"))
#: The layers that :func:`sequence_widths` knows.
SEQUENCE_LAYERS = frozenset({"flax.nnx.RNN", "flax.nnx.Bidirectional", "flax.nnx.MultiHeadAttention"})


def sequence_widths(context: Context, made: Bound) -> tuple[int | None, int | None]:
    """Return the length of the last axis of what a layer gets, and that of what it gives; None if it is not known.

    Args:
        context: the analysis.
        made: the call that makes the layer.
    """
    value, name = made.value, context.flow.calls.callee_name(made)
    if not isinstance(value, Call) or value.starred or any(word is None for word, _ in value.keywords):
        return None, None
    if name == "flax.nnx.MultiHeadAttention":
        taken = _number(context, made, 1, "in_features")
        given = value.keyword("out_features")
        known = given is None or given == Const(None)
        return taken, taken if known else _number(context, made, None, "out_features")
    if name == "flax.nnx.Bidirectional" and len(value.args) < 3 and value.keyword("merge_fn") is None:
        both = [value.argument(0, "forward_rnn"), value.argument(1, "backward_rnn")]
        widths = [sequence_widths(context, context.flow.follow(made, one)) for one in both if one is not None]
        outs = [out for _, out in widths if out is not None]
        return widths[0][0] if widths else None, sum(outs) if len(outs) == 2 else None
    if name == "flax.nnx.RNN" and (cell := value.argument(0, "cell")) is not None:
        inner = context.flow.follow(made, cell)
        if context.flow.calls.callee_name(inner) in _CELLS:
            return _number(context, inner, 0, "in_features"), _number(context, inner, 1, "hidden_features")
    return None, None


def context_width(context: Context, made: Bound) -> int | None:
    """Return how many features an attention takes of what it attends to.

    Args:
        context: the analysis.
        made: the call that makes the attention.
    """
    value = made.value
    if not isinstance(value, Call) or context.flow.calls.callee_name(made) != "flax.nnx.MultiHeadAttention":
        return None
    if value.starred or any(word is None for word, _ in value.keywords):
        return None
    given = value.keyword("in_kv_features")
    if given is None or given == Const(None):
        return _number(context, made, 1, "in_features")
    return _number(context, made, None, "in_kv_features")


def _number(context: Context, made: Bound, place: int | None, name: str) -> int | None:
    assert isinstance(made.value, Call)
    value = made.value.keyword(name) if place is None else made.value.argument(place, name)
    return product(context, context.flow.with_value(made, value)) if value is not None else None
