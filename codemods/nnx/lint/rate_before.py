"""A learning rate in front of what divides the gradients by their size again; part of NNX837."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.frames import Bound
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.values import Call

# what gives the same for gradients that are a hundred times as large
_DIVIDING = frozenset(
    {
        "adam",
        "adamw",
        "rmsprop",
        "rms",
        "lion",
        "lamb",
        "nadam",
        "nadamw",
        "adabelief",
        "radam",
        "yogi",
        "amsgrad",
        "adamax",
    }
)
_RATES = frozenset({"scale_by_schedule", "scale_by_learning_rate"})
_SMALL = 0.5  # a sign that is turned alone is more


def rate_before(context: Context, event: CallEvent) -> str:
    """Return what is lost of a chain that scales the gradients and divides them by their size behind it, as a message.

    Args:
        context: the analysis.
        event: a call of ``optax.chain``.
    """
    if event.value.starred:
        return ""
    call = context.flow.here(event.value, event.scope)
    rate = ""
    for part in event.value.args:
        found = context.flow.follow(call, part)
        name = context.flow.calls.callee_name(found) if isinstance(found.value, Call) else ""
        word = name.removeprefix("optax.") if name.startswith("optax.") else ""
        if rate and word.removeprefix("scale_by_") in _DIVIDING:
            return f"`{word}` divides the gradients by their size: what `{rate}` does to it before is undone"
        if word in _RATES or (word == "scale" and _descends(context, event, found)):
            rate = word
    return ""


def _descends(context: Context, event: CallEvent, part: Bound) -> bool:
    """Say whether a part scales by a negative number that is a learning rate, and does not only turn the sign."""
    size = part.value.argument(0, "step_size") if isinstance(part.value, Call) else None
    home = context.bodies.home(part.value.node) if isinstance(part.value, Call) else None
    known = numbers(context, size, home or event.scope) if size is not None else frozenset()
    return bool(known) and all(-_SMALL < one < 0 for one in known)
