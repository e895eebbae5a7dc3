"""The layers that a list is filled with, as it is unpacked for a chain of layers."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound
from codemods.nnx.values import Changed, Choice, Each, Loop, Sequence, Star, Unknown, Value


def may_hold(context: Context, held: Bound) -> Iterator[Bound]:
    """Yield what a list may hold, also where it is filled by the elements of others.

    Args:
        context: the analysis.
        held: the list.
    """
    for one in context.flow.containers.elements(held):
        if isinstance(one.value, Each):  # of ``layers += more`` and ``layers.extend(more)``
            yield from context.flow.containers.elements(context.flow.with_value(one, one.value.base))
        else:
            yield one


def must_hold(context: Context, held: Bound) -> list[Bound]:
    """Return what a list holds in every way to fill it, if loops that fill it have a round.

    Args:
        context: the analysis.
        held: the list.
    """
    return list(_must(context, held, set()))


def _must(context: Context, held: Bound, seen: set[int]) -> Iterator[Bound]:
    flow = context.flow
    pending: list[Value] = [held.value]
    while pending:
        value = pending.pop()
        if id(value) in seen or isinstance(value, Choice):
            continue
        seen.add(id(value))
        if isinstance(value, Sequence):
            for item in value.items:
                if isinstance(item, Star):
                    pending.append(item.value)
                else:
                    yield flow.follow(held, item)
        elif isinstance(value, Changed) and not isinstance(value.value, Unknown):  # nothing may be taken out
            pending.append(value.before)
            if isinstance(value.value, Each):
                pending.append(value.value.base)
            else:
                yield flow.follow(held, value.value)
        elif isinstance(value, Loop):
            pending += [one for one in (value.before, value.again) if one is not None]
        else:
            found = flow.follow(held, value)
            if isinstance(found.value, Sequence | Changed | Loop) and id(found.value) not in seen:
                yield from _must(context, found, seen)
