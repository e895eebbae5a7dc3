"""Classes and functions that a project looks up: by name, in a dict that decorators fill, or in what ``map`` gives."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.values import Attr, Call, Changed, Choice, Class, Function, Item, Loop, Mapping, Param, Value

_COPIES = frozenset({"builtins.dict", "builtins.list", "builtins.tuple"})


class Tables:
    """Tells what may be taken out of a table."""

    def __init__(self, context: Context) -> None:
        self.flow = context.flow
        self.context = context
        self._stores: dict[Value, list[Bound]] | None = None
        self._stored: dict[Value, list[Bound]] = {}
        self._decorated: dict[FunctionFacts, list[Bound]] | None = None

    def held(self, item: Bound) -> Iterator[Bound]:
        """Yield what an item may be, ``TABLE[name]`` or ``TABLE.get(name)``, as far as other code put it there."""
        value = item.value
        base: Value | None = value.base if isinstance(value, Indexed | Item) else None
        if isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name == "get":
            base = value.callee.base
            yield from self.flow.containers.elements(self.flow.follow(item, base))
        if base is None:
            return
        table = self.flow.follow(item, base)
        while isinstance(table.value, Call) and table.value.args and self.flow.calls.callee_name(table) in _COPIES:
            table = self.flow.follow(table, table.value.args[0])
        if isinstance(table.value, Call) and table.value.args and self.flow.calls.callee_name(table) == "builtins.map":
            for called in self.flow.calls.callables(self.flow.follow(table, table.value.args[0])):
                yield from (self.flow.here(given, called.function.scope) for given in called.function.returns)
            return
        for empty in self._empty(table):
            if empty not in self._stored:  # what is put into other tables is not followed
                self._stores = self._all_stores() if self._stores is None else self._stores
                self._stored[empty] = [way for one in self._stores.get(empty, ()) for way in self._ways(one)]
            yield from self._stored[empty]

    def _all_stores(self) -> dict[Value, list[Bound]]:
        """Return the values that functions put into each dict of the project, as they are written there."""
        found: dict[Value, list[Bound]] = {}
        for module in self.context.project.modules:
            for store in module.item_stores:
                given = module.values.get(getattr(store.statement, "value", store.node))
                if given is None or store.scope.function is None:
                    continue
                for table in self._empty(self.flow.resolve(self.flow.here(store.base, store.scope))):
                    found.setdefault(table, []).append(self.flow.here(given, store.scope))
        return found

    def _empty(self, table: Bound) -> Iterator[Value]:
        """Yield the displays and calls that make a table, before anything is put into it."""
        value = table.value
        while isinstance(value, Changed | Loop | Choice):
            value = value.options[0] if isinstance(value, Choice) else value.before
        if isinstance(value, Attr):
            for field in self.flow.fields.field(Bound(value.base, table.frame, table.stale), value.name):
                found = self.flow.resolve(field).value
                if isinstance(found, Mapping | Call):
                    yield found
        elif isinstance(value, Mapping | Call):
            yield value

    def _ways(self, stored: Bound) -> Iterator[Bound]:
        """Yield what a function that is given something may put away: what it is called with, and what it decorates."""
        value = stored.value
        yield from self.context.sources.of(stored)
        if not isinstance(value, Param):
            return
        if self._decorated is None:
            self._decorated = {}
            for called, made in self._all_decorated():
                self._decorated.setdefault(called, []).append(made)
        yield from self._decorated.get(value.function, ())

    def _all_decorated(self) -> Iterator[tuple[FunctionFacts, Bound]]:
        """Yield the functions that decorate something, each with a class or function that it decorates."""
        things = [(Class(cls), cls.decorators, cls.scope) for cls in self.flow.project.classes()]
        functions = [(Function(one), one.decorators, one.scope) for one in self.flow.project.functions()]
        for thing, decorators, scope in (*things, *functions):
            for decorator in decorators:
                for called in self.flow.calls.callables(self.flow.here(decorator, scope.parent or scope)):
                    yield called.function, self.flow.here(thing, scope)
