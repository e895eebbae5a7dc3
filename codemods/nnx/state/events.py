"""What running a function did to the objects that its caller can see, so that it need not run again."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from codemods.nnx.facts import Scope
from codemods.nnx.state.heap import Share, Thing, above, overlap
from codemods.nnx.state.parts import Parts

HANDED = "handed"  # the method of an Invoke that hands a state to what a transform of NNX runs
MERGE = "flax.nnx.merge"  # the method of one that merges states of which only the caller knows what they are
_NOTED = 2


@dataclass(slots=True, eq=False)
class Taken:
    """An object was taken out of a given one."""

    thing: Thing


@dataclass(slots=True, eq=False)
class Put:
    """A field of objects was set; ``sure`` says whether that happens on every way.

    Without ``things`` it holds a new value of which nothing is known.
    """

    base: set[Thing]
    key: str
    things: set[Thing]
    sure: bool


@dataclass(slots=True, eq=False)
class Bind:
    """A variable around the function was set."""

    variable: tuple[Scope, str]
    things: set[Thing]


@dataclass(slots=True, eq=False)
class Read:
    """Variables of objects were looked at."""

    things: set[Thing]
    node: ast.AST


@dataclass(slots=True, eq=False)
class Told:
    """Code asked whether Variables are the same object."""

    one: set[Thing]
    two: set[Thing]
    node: ast.AST


@dataclass(slots=True, eq=False)
class Mutate:
    """Variables of objects were changed, to the values of given ones if there are any; of a split only some parts."""

    things: set[Thing]
    node: ast.AST
    others_only: bool
    given: set[Thing]
    parts: Parts = frozenset()


@dataclass(slots=True, eq=False)
class Overwrite:
    """Objects got new values as a whole."""

    things: set[Thing]


@dataclass(slots=True, eq=False)
class Renewed:
    """Objects stand for new ones from here on, which a later round of a loop made."""

    things: set[Thing]


@dataclass(slots=True, eq=False)
class Shared:
    """Two handles came to share Variables."""

    share: Share


@dataclass(slots=True, eq=False)
class Invoke:
    """A method of objects was called that only the caller knows, or a function of Flax in a scope."""

    node: ast.expr
    method: str
    receiver: set[Thing]
    args: list[set[Thing]]
    keywords: dict[str, set[Thing]]
    result: Thing
    scope: Scope | None = None


@dataclass(slots=True, eq=False)
class Yielded:
    """A generator handed objects to its caller, which goes on until it asks for more."""

    things: set[Thing]
    node: ast.AST


@dataclass(slots=True, eq=False)
class Ways:
    """Two branches; ``left`` says of each whether it leaves the function."""

    first: list[Event]
    second: list[Event]
    left: tuple[bool, bool]


Event = Taken | Put | Bind | Read | Told | Mutate | Overwrite | Renewed | Shared | Invoke | Yielded | Ways


class Log:
    """What happened on one way. Of what happens at one place again and again, the first and the last are noted.

    Attributes:
        events: what happened, in order.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._places: dict[tuple[object, ...], list[Event]] = {}

    def branch(self) -> Log:
        """Return a log for one of two ways."""
        made = Log()
        made._places = self._places
        return made

    def append(self, event: Event) -> None:
        """Note an event."""
        self.events.append(event)
        place = _place(event)
        if place is None:
            return
        known = self._places.setdefault(place, [])
        if len(known) == _NOTED:
            _joined(known[0], known.pop())
        known.append(event)

    def invoked(self, event: Invoke) -> Thing:
        """Note a call, and return what it gives."""
        known = self._places.setdefault((Invoke, event.node, event.method), [])
        if len(known) < _NOTED:
            known.append(event)
            self.events.append(event)
            return event.result
        last = known[-1]
        assert isinstance(last, Invoke)
        last.receiver = last.receiver | event.receiver
        last.args = [one | two for one, two in zip_longest(last.args, event.args, fillvalue=set[Thing]())]
        for name, things in event.keywords.items():
            last.keywords = {**last.keywords, name: last.keywords.get(name, set()) | things}
        return last.result


def _place(event: Event) -> tuple[object, ...] | None:
    if isinstance(event, Read | Told | Mutate | Yielded):
        return type(event), event.node
    if isinstance(event, Renewed):
        return Renewed, *sorted(map(id, event.things))
    if isinstance(event, Shared):
        return Shared, event.share.site, event.share.handed
    return (Put, event.key, *sorted(map(id, event.base))) if isinstance(event, Put) else None


_JOINED = Read | Mutate | Put | Yielded | Renewed


def _joined(first: Event, last: Event) -> None:
    """Let the first of several events stand for the one that was the last of them."""
    if isinstance(first, _JOINED) and isinstance(last, _JOINED):
        first.things = first.things | last.things
        last.things = set()
        if isinstance(last, Put):
            last.sure = False
    elif isinstance(first, Told) and isinstance(last, Told):
        first.one, first.two, last.one, last.two = first.one | last.one, first.two | last.two, set(), set()
    elif isinstance(first, Shared) and isinstance(last, Shared):
        one, two = first.share, last.share
        first.share = replace(one, first=one.first | two.first, second=one.second | two.second)
        last.share = replace(two, first=set(), second=set())


@dataclass(eq=False)
class Summary:
    """A function that has been run.

    Attributes:
        params: the objects that stood for its arguments, by parameter.
        events: what it did, in order.
        results: what it may return.
        sharing: whether its caller can see both sides of a share that it makes.
    """

    params: dict[str, Thing] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    results: set[Thing] = field(default_factory=set)
    sharing: bool = False


def flat(events: list[Event]) -> list[Event]:
    """Return events with those of branches among them."""
    found: list[Event] = []
    for event in events:
        if isinstance(event, Ways):
            found += flat(event.first) + flat(event.second)
        else:
            found.append(event)
    return found


def visible(summary: Summary, events: list[Event]) -> None:
    """Note in a summary the events that matter to a caller: those about objects which it gave or gets."""
    every = flat(events)
    mine = set(summary.params.values()).union(*(thing.inside() for thing in summary.results))
    puts: set[str] = set()
    changed: set[Thing] = set()
    asked: set[Thing] = set()
    merged: set[Thing] = set()
    for event in every:
        if isinstance(event, Taken):
            mine.add(event.thing)
        elif isinstance(event, Put):
            puts.add(event.key)
            mine |= event.things
        elif isinstance(event, Bind | Yielded):
            mine |= event.things
        elif isinstance(event, Mutate):
            changed |= event.things
        elif isinstance(event, Invoke):
            mine.add(event.result)
            asked = asked.union(event.receiver, *event.args, *event.keywords.values())
            if event.method == MERGE:
                merged = merged.union(*event.args)
    mine |= {thing for event in every for thing in _about(event) if thing.given}
    shares = [event.share for event in every if isinstance(event, Shared)]
    if any(isinstance(event, Yielded) for event in every):  # what it keeps meanwhile, its caller may change
        mine = mine.union(*(share.second for share in shares))
    kept: set[int] = set()
    if shares:
        _visible(shares, kept, mine, changed)
        left = [share for share in shares if id(share) not in kept]
        called = [s for s in left if overlap(asked, s.first) or not merged.isdisjoint(s.second) or _around(every, s)]
        summary.sharing = bool(kept or called)  # only the caller knows what is called, and whether that changes it
        kept |= {id(share) for share in called}
        _visible(shares, kept, mine | asked, changed | asked)
    summary.sharing |= any(isinstance(event, Invoke) and event.method == HANDED for event in every)
    mine |= asked
    for share in shares:
        if id(share) in kept:
            mine |= share.first | share.second
    summary.events = _kept(events, mine, above(mine), kept, puts)


def _around(events: list[Event], share: Share) -> bool:
    """Say whether a share is made before, and read behind, a call of a function that only the caller knows.

    That may change anything that the caller has.
    """
    if not any(thing.given for thing in above(share.first)):
        return False
    made = called = False
    for event in events:
        if isinstance(event, Shared):
            made |= event.share is share
        elif isinstance(event, Invoke) and not called:
            called = made and event.method == "__call__" and any(t.given and t.unknown for t in event.receiver)
        elif called and overlap(_seen(event), share.second):
            return True
    return False


def _seen(event: Event) -> set[Thing]:
    """Return the objects that are looked at, or handed on."""
    if isinstance(event, Mutate):
        return event.given
    if isinstance(event, Invoke):
        return set[Thing]().union(*event.args, *event.keywords.values())
    return event.one | event.two if isinstance(event, Told) else event.things if isinstance(event, Read) else set()


def _visible(shares: list[Share], kept: set[int], mine: set[Thing], changed: set[Thing]) -> None:
    """Add the shares whose both sides can be reached from objects."""
    before = -1
    while len(kept) != before:
        before = len(kept)
        near = above(mine)
        for share in reversed(shares):
            if id(share) not in kept and (
                not near.isdisjoint(share.second)
                or any(t.given or t in mine for t in above(share.second))
                or overlap(changed, share.second)
            ):
                kept.add(id(share))
                mine |= share.first | share.second


def _about(event: Event) -> set[Thing]:
    if isinstance(event, Read | Mutate | Overwrite):
        return event.things
    if isinstance(event, Told):
        return event.one | event.two
    return event.base if isinstance(event, Put) else set()


def _kept(events: list[Event], mine: set[Thing], near: set[Thing], shares: set[int], puts: set[str]) -> list[Event]:
    found: list[Event] = []
    for event in events:
        if isinstance(event, Ways):
            first, second = (_kept(way, mine, near, shares, puts) for way in (event.first, event.second))
            if first or second:
                found.append(Ways(first, second, event.left))
        elif isinstance(event, Taken):
            if event.thing.key in puts:  # else it can be taken whenever it is needed
                found.append(event)
        elif isinstance(event, Put):
            base = {thing for thing in event.base if thing.given}
            if base and (event.things or event.sure):
                found.append(Put(base, event.key, event.things, event.sure))
        elif isinstance(event, Shared):
            if id(event.share) in shares:
                found.append(event)
        elif isinstance(event, Read | Mutate | Overwrite | Renewed):
            if not near.isdisjoint(event.things) or not mine.isdisjoint(above(event.things)):
                found.append(event)
        else:
            found.append(event)
    return found
