"""Attributes that ``setattr`` puts containers of data into, whatever their name is."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Fix
from codemods.nnx.v012.attributes import Attributes
from codemods.nnx.v012.data_marks import wrapped
from codemods.nnx.values import Choice, Const, Free, Param, Ref


def set_by_name(context: Context) -> Iterator[tuple[CallEvent, Fix | None]]:
    """Yield the calls of ``setattr`` that give a container of data to an NNX object, with what marks it as data.

    There is no fix where other callers put something else there, which must not become data.
    """
    attributes = context.shared(Attributes)
    for event in context.bodies.named("setattr"):
        call = event.value
        if not isinstance(call.callee, Ref | Free) or len(call.args) != 3 or call.starred:
            continue
        if not any(attributes.is_owner(cls) for cls in attributes.owners(call.args[0], event.scope)):
            continue
        bound = context.flow.here(call.args[2], event.scope)
        sources = context.sources.of(bound)
        if not _is_marked(context, event) and attributes.keyword_holds(bound):
            yield event, None  # others of the keywords are no data
            continue
        if _is_marked(context, event) or not attributes.holds_data(bound):
            continue
        sure = all(
            attributes.is_data(source)
            or attributes.holds_data(source)
            or (isinstance(source.value, Const) and source.value.value is None)
            for source in sources
        )
        yield event, wrapped(context, event.scope, event.node.args[2], "data") if sure else None


def _is_marked(context: Context, event: CallEvent) -> bool:
    """Say whether what is put there, or what a caller gives for it, is marked where it is spelled."""
    value, scope = event.value.args[2], event.scope
    ways = [(way, scope) for way in (value.options if isinstance(value, Choice) else (value,))]
    if isinstance(value, Param):
        for caller in context.flow.sites.callers(value.function):
            ways += [(one, caller.scope) for one in caller.value.given]
    attributes = context.shared(Attributes)
    return any(attributes.names_mark(context.flow.here(way, where)) for way, where in ways)
