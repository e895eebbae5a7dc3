"""Doing again what a function did, with the objects of another call."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from codemods.nnx.state.events import (
    HANDED,
    Bind,
    Event,
    Invoke,
    Mutate,
    Overwrite,
    Put,
    Read,
    Renewed,
    Shared,
    Summary,
    Taken,
    Told,
    Ways,
    Yielded,
    flat,
)
from codemods.nnx.state.heap import Thing, above, narrowed

if TYPE_CHECKING:
    from codemods.nnx.state.execution import Execution

_COPIES = 2  # how many objects stand for all that one place makes in the rounds of loops


class Replay:
    """One call of a function that has been run.

    Args:
        execution: the run of the caller.
        summary: what the function does.
        site: the call.
        given: the objects of its parameters.
        captured: the variables around it that it brings along.
    """

    def __init__(
        self,
        execution: Execution,
        summary: Summary,
        site: ast.AST,
        given: dict[str, set[Thing]],
        captured: dict[str, set[Thing]],
    ) -> None:
        self.run = execution
        self.site = site
        self.summary = summary
        self.captured = captured
        self._left: set[Thing] | None = None
        self._now = {thing: given.get(name, set()) for name, thing in summary.params.items()}

    def results(self) -> set[Thing]:
        """Do everything, and return what the function returns."""
        outer = self.run.branches
        returned, self.run.returned = self.run.returned, frozenset()
        self._events(self.summary.events)
        self.run.heap.changes |= self.run.returned
        self.run.returned, self.run.branches = returned, outer
        return self.things(self.summary.results)

    def _events(self, events: list[Event]) -> None:
        for event in events:
            self._event(event)

    def _event(self, event: Event) -> None:
        run = self.run
        if isinstance(event, Read):
            run.read(self.things(event.things), event.node)
        elif isinstance(event, Told):
            run.told_apart(self.things(event.one), self.things(event.two), event.node)
        elif isinstance(event, Mutate):
            things, given = self.things(event.things), self.things(event.given)
            run.mutate(things, event.node, event.others_only, given, event.parts)
        elif isinstance(event, Put) and not event.things:
            run.forget(self.things(event.base), event.key)
        elif isinstance(event, Put):
            base, things = self.things(event.base), self.things(event.things)
            run.branches += not event.sure
            run.put(base, event.key, things)
            run.branches -= not event.sure
        elif isinstance(event, Taken):
            self.thing(event.thing)
        elif isinstance(event, Bind):
            run.bind(event.variable, self.things(event.things))
        elif isinstance(event, Yielded):
            body = run.bodies.get(self.site)
            if body is not None:
                body(self.things(event.things))
        elif isinstance(event, Overwrite):
            run.overwritten(self.things(event.things))
        elif isinstance(event, Renewed):
            run.renewed(self.things(event.things))
        elif isinstance(event, Shared):
            first, second = self.things(event.share.first), self.things(event.share.second)
            if first and second:
                run.share(replace(event.share, first=first, second=second))
        elif isinstance(event, Invoke):
            args = [self.things(things) for things in event.args]
            keywords = {name: self.things(things) for name, things in event.keywords.items()}
            if event.method == HANDED:
                found = run.calls.handed(event.node, args[0], event.scope)
            elif event.scope is not None:
                assert isinstance(event.node, ast.Call)
                found = run.library.again(event.method, event.scope, event.node, args, keywords)
            else:
                assert isinstance(event.node, ast.Call)
                found = run.calls.invoke(event.method, event.node, self.things(event.receiver), args, keywords)
            self._now[event.result] = found
        else:
            self._ways(event)

    def _ways(self, event: Ways) -> None:
        def way(events: list[Event], left: bool) -> bool:
            self._events(events)
            if left:
                self.run.leave()
            return left

        self.run.ways(lambda: way(event.first, event.left[0]), lambda: way(event.second, event.left[1]))

    def things(self, things: Iterable[Thing]) -> set[Thing]:
        """Return the objects of this call that objects stand for."""
        found: set[Thing] = set()
        for thing in things:
            found |= self.thing(thing)
        return narrowed(found)

    def thing(self, thing: Thing) -> set[Thing]:
        """Return the objects of this call that one stands for: the caller's, or new ones for those it made."""
        known = self._now.get(thing)
        if known is not None:
            return known
        self.run.step()
        if not thing.given:
            return self._made(thing)
        self._now[thing] = set()
        found: set[Thing] = set()
        if thing.variable is not None:
            name = thing.variable[1]
            if name in self.captured:  # as it was, or as a function set it since
                found = self.captured[name] | self.run.names.get(thing.variable, set())
            else:
                found = self.run.around(thing.variable)
        elif thing.parent is not None:
            base = self.thing(thing.parent)
            found = self.run.attribute(base, thing.key) if thing.attribute else self.run.item(base, thing.key)
        self._now[thing] = found
        return found

    def _stays(self, thing: Thing) -> bool:
        """Say whether something may hold an object that the function made when the function is done."""
        if self._left is None:
            out = set(self.summary.results)
            for event in flat(self.summary.events):
                if isinstance(event, Bind | Yielded):
                    out |= event.things
            self._left = set[Thing]().union(*(one.inside() for one in out))
        return any(one.given or one in self._left for one in above({thing}))

    def _made(self, thing: Thing) -> set[Thing]:
        copies = self.run.copies(thing, self.site)
        if len(copies) < _COPIES:
            copies.append(Thing(thing.kind, thing.cls, thing.name, display=thing.display, function=thing.function))
        if len(copies) == _COPIES and not self._stays(thing):
            self.run.renewed({copies[-1]})  # also the first time: what is noted of all rounds is noted together
        copy = copies[-1]
        copy.key, copy.attribute = thing.key, thing.attribute
        self._now[thing] = {copy}
        for key, values in thing.fields.items():
            copy.hold(key, self.things(values))
        copy.steps = copy.steps | self.things(thing.steps)
        if thing.partial is not None:
            copy.partial = thing.partial[0], [self.things(things) for things in thing.partial[1]]
        copy.named = thing.named
        if thing.parent is not None:
            copy.parent = next(iter(self.thing(thing.parent)), None)
        return {copy}
