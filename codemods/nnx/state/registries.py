"""Classes that are taken out of a table: one that is written out, or one that decorators or subclasses fill."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.state.summaries import Summaries
from codemods.nnx.values import Attr, Call, Changed, Choice, Class, Free, Item, Loop, Param, Value

_DEPTH = 4  # how many tables deep a class is looked for
_MANY = 12  # of more classes than that, any could be meant
_FILLING = frozenset({"append", "setdefault", "update"})
_VIEWS = frozenset({"copy", "items", "values"})
_FIRST = frozenset({"builtins.iter", "builtins.list", "builtins.next", "builtins.reversed", "builtins.sorted"})


def registered(context: Context) -> dict[Value, list[Bound]]:
    """Return what code puts into tables that are attributes or globals, by the displays that they begin as."""
    found: dict[Value, list[Bound]] = {}

    def note(base: Value, stored: Bound) -> None:
        if isinstance(base, Attr | Free):
            for display in _displays(context, Bound(base, stored.frame)):
                found.setdefault(display, []).append(stored)

    for module in context.flow.project.modules:
        for store in module.item_stores:
            value = module.values.get(getattr(store.statement, "value", store.node))
            if value is not None:
                note(store.base, context.flow.here(value, store.scope))
    for name in _FILLING:
        for event in context.flow.sites.calls_of(name):
            callee = event.value.callee
            if isinstance(callee, Attr) and isinstance(callee.base, Attr | Free):
                for given in event.value.given:
                    note(callee.base, context.flow.here(given, event.scope))
    return found


def _displays(context: Context, table: Bound) -> set[Value]:
    """Return what a table began as, before anything was put into it."""
    found: set[Value] = set()
    todo, seen = [context.flow.resolve(table)], set[Bound]()
    while todo and len(seen) < _MANY:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        value = one.value
        if isinstance(value, Changed | Loop):
            todo.append(context.flow.follow(one, value.before))
        elif isinstance(value, Choice):
            todo += [context.flow.follow(one, option) for option in value.options]
        else:
            found.add(value)
    return found


def table_of(context: Context, callee: Bound) -> Bound | None:
    """Return the container that a callee is taken out of: by an index, by ``get``, in a loop, or as the first."""
    value, flow = callee.value, context.flow
    if isinstance(value, Item | Indexed | Round):
        return flow.with_value(callee, value.base)
    if not isinstance(value, Call) or not value.args:
        return None
    if flow.calls.callee_name(callee) in _FIRST:
        return flow.with_value(callee, value.args[0])
    method = flow.follow(callee, value.callee)
    if not isinstance(method.value, Attr) or method.value.name != "get":
        return None
    table = flow.with_value(method, method.value.base)
    return table if flow.containers.is_mapping(table) else None


def classes_in(summaries: Summaries, callee: Bound, table: Bound) -> list[ClassFacts]:
    """Return the classes that an element of a container may be; none if they are too many.

    Those that a decorator puts there are the ones that it decorates, and those that ``__init_subclass__`` puts there
    derive from its class.
    """
    found: dict[ClassFacts, None] = {}
    sources = summaries.context.sources.originals(callee)
    if set(sources) <= {callee}:  # nothing is known of the key
        _inside(summaries, table, found, 0)
    for source in set(sources) - {callee}:
        _add(summaries, source, found, 0)
    return [*found] if len(found) <= _MANY else []


def _inside(summaries: Summaries, table: Bound, found: dict[ClassFacts, None], depth: int) -> None:
    context, flow = summaries.context, summaries.context.flow
    for way in context.sources.originals(table):
        held = way.value
        if isinstance(held, Call):
            method = flow.follow(way, held.callee)
            if flow.calls.callee_name(way) in _FIRST and held.args:
                _inside(summaries, flow.with_value(way, held.args[0]), found, depth + 1)
            elif isinstance(method.value, Attr) and method.value.name in _VIEWS:
                _inside(summaries, flow.with_value(method, method.value.base), found, depth + 1)
            elif isinstance(method.value, Attr) and method.value.name == "__subclasses__":
                cls = flow.follow(method, method.value.base).value
                if isinstance(cls, Class):
                    heirs = flow.classes.heirs(cls.facts)
                    found |= dict.fromkeys(heir for heir in heirs if heir is not cls.facts)
        elements = [*flow.containers.elements(way)]
        filled = context.shared(registered)
        for stored in (one for display in _displays(context, way) for one in filled.get(display, ())):
            elements += [stored, *flow.containers.elements(stored)]
        for element in elements:
            for source in context.sources.originals(element):
                _add(summaries, source, found, depth)


def _add(summaries: Summaries, source: Bound, found: dict[ClassFacts, None], depth: int) -> None:
    """Note the classes that a value may be."""
    flow = summaries.context.flow
    if isinstance(source.value, Class):
        cls = source.value.facts
        found[cls] = None
        if flow.classes.method(cls, "__init_subclass__") is not None:
            found |= dict.fromkeys(flow.classes.heirs(cls))
    elif isinstance(source.value, Param):
        function = source.value.function
        found |= dict.fromkeys(summaries.decorated(function))
        own = next(iter(function.params.values()), None)
        if function.name == "__init_subclass__" and function.owner is not None and source.value is own:
            found |= dict.fromkeys(heir for heir in flow.classes.heirs(function.owner) if heir is not function.owner)
    elif depth < _DEPTH:
        table = table_of(summaries.context, source)
        if table is not None:
            _inside(summaries, table, found, depth + 1)
