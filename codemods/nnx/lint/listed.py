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
_DEPTH = 12


def listed(context: Context, bound: Bound) -> bool:
    """Say whether a value is a list or tuple: a display, one that was appended to, or what all callers in sight give.

    Transforms of JAX leave lists as they are, and map over the arrays in them.

    Args:
        context: the analysis.
        bound: the value.
    """
    return _listed(context, bound, frozenset()) is True


def _listed(context: Context, bound: Bound, seen: frozenset[Value]) -> bool | None:
    """Say whether a value is a list; None for one that is asked about already, as what a loop gives again."""
    found = context.flow.resolve(bound)
    made = found.value
    while isinstance(made, Changed | Loop):
        made = made.before
    if made in seen:
        return None
    if len(seen) > _DEPTH:
        return False
    behind = seen | {made}
    if made is not found.value:
        return _listed(context, context.flow.with_value(found, made), seen)
    if isinstance(made, Sequence):
        return isinstance(made.node, _DISPLAYS)
    if isinstance(made, Comprehension):
        return made.key is None
    if isinstance(made, Call):
        place = _ALIKE.get(context.flow.calls.callee_name(found))
        if place is None or made.starred or place >= len(made.args):
            return False
        return _listed(context, context.flow.follow(found, made.args[place]), behind)
    if isinstance(made, Part):
        return _listed(context, made.of, behind)
    ways: list[Bound] = []
    if isinstance(made, Choice):  # before and after the rounds that append to it
        ways = [context.flow.with_value(found, one) for one in made.options]
    elif isinstance(made, Param | Attr | Item | Indexed) and not _called_by_another_name(context, made):
        ways = [one for one in context.sources.originals(found) if one.value is not made]
    answers = {_listed(context, one, behind) for one in ways}
    return False if False in answers or not answers else True if True in answers else None


def _called_by_another_name(context: Context, value: Value) -> bool:
    """Say whether what `jit` or another transform made of the function of a parameter may get other arguments."""
    tracing = context.traced.get(value.function) if isinstance(value, Param) else None
    return tracing is not None and any(not root.decorator for root in tracing.roots)
