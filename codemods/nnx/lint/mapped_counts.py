"""States of optax with one count for a whole ensemble, over which vmap is to go; part of NNX867."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.arrays import batched
from codemods.nnx.lint.made_records import record_fields
from codemods.nnx.lint.names import last
from codemods.nnx.values import Attr, Call, Mapping, Sequence, Value

# transformations that count their updates
_COUNTING = frozenset(
    {"adam", "adamw", "adamax", "adamaxw", "nadam", "nadamw", "lamb", "lion", "radam", "amsgrad", "adabelief", "yogi",
     "scale_by_adam", "scale_by_adamax", "scale_by_amsgrad", "scale_by_lion", "scale_by_radam", "scale_by_belief",
     "scale_by_yogi", "scale_by_schedule"}
)  # fmt: skip
_DEPTH = 4


def one_count(context: Context, event: CallEvent, argument: Value, mapped: FunctionFacts) -> str:
    """Return the call that makes a state of optax for all members at once, if a mapped argument is or holds its result.

    Args:
        context: the analysis.
        event: the call of what vmap made.
        argument: the argument, whose first axis is mapped.
        mapped: the function that is mapped.

    Returns:
        The text of the call; empty if there is none, or the argument may be something else.
    """
    if not event.scope.module.source.mentions(b"optax"):
        return ""
    given = context.flow.resolve(context.flow.here(argument, event.scope))
    texts = []
    for one in context.sources.originals(given):
        home = context.bodies.home(one.value.node) if isinstance(one.value, Call) else None
        if isinstance(one.value, Indexed | Round) or (home is not None and home.function is mapped):
            continue  # what the function gave in the round before
        texts.append(_counted(context, one, 0))
    return texts[0] if texts and all(texts) else ""


def _counted(context: Context, bound: Bound, depth: int) -> str:
    """Return the call of ``tx.init`` that makes a value or a part of it, if it is in no mapped function."""
    value = bound.value
    if depth > _DEPTH:
        return ""
    if isinstance(value, Sequence | Mapping):
        parts = value.items if isinstance(value, Sequence) else [item for _, item in value.items]
        found = (_counted(context, context.flow.follow(bound, part), depth + 1) for part in parts)
        return next((text for text in found if text), "")
    if not isinstance(value, Call):
        return ""
    home = context.bodies.home(value.node)
    if home is None or (home.function is not None and home.function in context.shared(batched)):
        return ""
    if record_fields(context, bound):
        parts = [*value.args, *(one for _, one in value.keywords)]
        found = (_counted(context, context.flow.follow(bound, part), depth + 1) for part in parts)
        return next((text for text in found if text), "")
    if not isinstance(value.callee, Attr) or value.callee.name != "init":
        return ""
    base = context.flow.with_value(bound, value.callee.base)
    if context.kinds.of(base) != {Kind.TRANSFORM}:
        return ""
    makers = context.sources.originals(base)
    counts = bool(makers) and all(_counts(context, one, 0) for one in makers)
    return home.module.source.text(value.node) if counts else ""


def _counts(context: Context, made: Bound, depth: int) -> bool:
    """Say whether a transformation counts its updates."""
    value = made.value
    if not isinstance(value, Call) or value.starred or depth > _DEPTH:
        return False
    name = context.flow.calls.callee_name(made)
    if not name.startswith("optax."):
        return False
    if last(name) == "chain":
        return any(_counts(context, context.flow.follow(made, part), depth + 1) for part in value.args)
    return last(name) in _COUNTING
