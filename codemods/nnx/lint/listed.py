"""Whether a value is certainly a list or a tuple of Python, which knows no traced index."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound, Indexed, Part
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.values import Attr, Call, Changed, Choice, Comprehension, Item, Loop, Param, Sequence, Value

_DISPLAYS = (ast.List, ast.Tuple)
#: What gives a list for a list, with the place of the argument that it is like.
_ALIKE = {
    **dict.fromkeys(("flax.nnx.List", "flax.nnx.data", "builtins.tuple", "builtins.list"), 0),
    **dict.fromkeys(TREE_MAPS, 1),
    "optax.apply_updates": 0,
}
_STEPS = 60  # how many values one question may visit


def listed(context: Context, bound: Bound) -> bool:
    """Say whether a value is a list or tuple: a display, one that was appended to, or what all callers in sight give.

    Transforms of JAX leave lists as they are, and map over the arrays in them.

    Args:
        context: the analysis.
        bound: the value.
    """
    seen: set[Value] = set()
    pending, leaves = [bound], 0
    while pending:
        found = context.flow.resolve(pending.pop())
        made = found.value
        while isinstance(made, Changed | Loop):
            made = made.before
        if made is not found.value:
            found = context.flow.resolve(context.flow.with_value(found, made))
            made = found.value
        if made in seen:
            continue  # what a loop gives again
        seen.add(made)
        if len(seen) > _STEPS:
            return False
        ways = _ways(context, found)
        if not ways and not _is_display(made):
            return False
        leaves += not ways
        pending += ways
    return leaves > 0


def _is_display(value: Value) -> bool:
    if isinstance(value, Comprehension):
        return value.key is None
    return isinstance(value, Sequence) and isinstance(value.node, _DISPLAYS)


def _ways(context: Context, found: Bound) -> list[Bound]:
    """Return the values all of which have to be lists for a value to be one; none of what decides for itself."""
    made = found.value
    if isinstance(made, Call):
        place = _ALIKE.get(context.flow.calls.callee_name(found))
        if place is None or made.starred or place >= len(made.args):
            return []
        return [context.flow.follow(found, made.args[place])]
    if isinstance(made, Part):
        return [made.of]
    if isinstance(made, Choice):  # before and after the rounds that append to it
        return [context.flow.with_value(found, one) for one in made.options]
    if isinstance(made, Param | Attr | Item | Indexed) and not _called_by_another_name(context, made):
        return [one for one in context.sources.originals(found) if one.value is not made]
    return []


def _called_by_another_name(context: Context, value: Value) -> bool:
    """Say whether what `jit` or another transform made of the function of a parameter may get other arguments."""
    tracing = context.traced.get(value.function) if isinstance(value, Param) else None
    return tracing is not None and any(not root.decorator for root in tracing.roots)
