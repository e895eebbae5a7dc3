"""Which methods of a class give an attribute that keeps a state a new value, so that others may run without them."""

from __future__ import annotations

from collections.abc import Iterable

from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.state.events import Put, Shared, flat
from codemods.nnx.state.heap import above
from codemods.nnx.state.summaries import Summaries


def renewing(summaries: Summaries, cls: ClassFacts, sharing: Iterable[FunctionFacts]) -> frozenset[FunctionFacts]:
    """Return the methods that set attributes anew in which others keep states that share Variables.

    Who uses the class need not call them between what keeps a state and what reads it.

    Args:
        summaries: what functions do.
        cls: the class.
        sharing: its methods that make such states.
    """
    kept = {key for method in sharing for key in _kept(summaries, method)}
    if not kept:
        return frozenset()
    heirs = summaries.context.flow.classes.heirs(cls)
    others = {
        method
        for heir in heirs
        for one in summaries.context.flow.classes.mro(heir)[0]
        for method in one.methods.values()
    }
    return frozenset(method for method in others.difference(sharing) if not kept.isdisjoint(_anew(summaries, method)))


def _kept(summaries: Summaries, method: FunctionFacts) -> set[str]:
    """Return the attributes in which a method keeps what shares Variables with something else."""
    summary = summaries.of(method)
    events = flat(summary.events) if summary is not None else []
    shared = above(thing for event in events if isinstance(event, Shared) for thing in event.share.second)
    return {event.key for event in events if isinstance(event, Put) and not shared.isdisjoint(event.things)}


def _anew(summaries: Summaries, method: FunctionFacts) -> set[str]:
    """Return the attributes that a method gives new values of which nothing is known."""
    summary = summaries.of(method)
    events = flat(summary.events) if summary is not None else []
    return {event.key for event in events if isinstance(event, Put) and not event.things and event.sure}
