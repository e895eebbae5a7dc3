"""What the rounds of a loop of JAX give, of which its results are stacked."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.values import Call, Const, Item, Sequence


def stacked(context: Context, bound: Bound) -> Bound | None:
    """Return what one round of ``jax.lax.scan`` gives for a part of its second result; None for another value.

    Args:
        context: the analysis.
        bound: the part, such as ``ys`` or ``a`` in ``_, (a, b) = jax.lax.scan(body, start, xs)``.
    """
    parts: list[int] = []
    value = bound.value
    while isinstance(value, Indexed | Item):
        index = value.index.value if isinstance(value, Indexed) else value.index
        if not isinstance(index, Const) or type(index.value) is not int:
            return None
        parts.insert(0, index.value)
        bound = context.flow.resolve(context.flow.with_value(bound, value.base))
        value = bound.value
    if not parts or parts[0] != 1 or not isinstance(value, Call):
        return None
    if context.flow.calls.callee_name(bound) != "jax.lax.scan":
        return None
    invoked = context.flow.calls.invoked(bound)
    if len(invoked) != 1 or len(invoked[0][0].function.returns) != 1:
        return None
    found = Bound(invoked[0][0].function.returns[0], invoked[0][1])
    for place in parts:
        found = context.flow.resolve(found)
        if not isinstance(found.value, Sequence) or not -len(found.value.items) <= place < len(found.value.items):
            return None
        found = context.flow.with_value(found, found.value.items[place])
    return found
