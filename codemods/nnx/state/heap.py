"""Abstract objects of one run, and which of them share Variables since Flax 0.11."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.state.giving_back import to_let_go
from codemods.nnx.state.parts import Parts

_INSIDE = 500  # how many objects in one are looked at
_MANY = 8  # how many unknown objects one value may be
_PARAMS = frozenset({"kernel", "bias", "scale", "embedding"})  # names under which layers keep parameters
ANY = "*"  # the field of a container that stands for elements under any key
KEYWORD = "keyword "  # begins the names of fields that hold the keywords of a partial application


@dataclass(eq=False, repr=False, slots=True)  # they hold each other
class Thing:
    """An object: an NNX object, a state, a Variable, a container or an instance of the project's classes.

    Attributes:
        kind: what kind of NNX object it is; None for anything else or if unknown.
        cls: its class, if that is the project's.
        name: the name of its class in Flax, such as ``BatchNorm``.
        parent: the object that it was taken out of, where nothing else is known of it.
        fields: what its attributes and elements hold; elements under their key as text. Those of a function are the
            variables around it that it uses.
        steps: the objects that an optimizer changes besides itself.
        display: whether all elements are known, as of a tuple that is written out.
        partial: for a partial application the function and its first arguments.
        function: the project's function that it is.
        named: for a function of Flax that is handed on as a value its full name, with the code that mentions it.
        given: whether it comes from the caller of the function that runs, and stands for whatever that may be.
        key: under which name or index it was taken out of its parent.
        attribute: whether it was taken out as an attribute, and not as an element.
        variable: the variable around the function that holds it; a class, for its attributes, by its name and a dot.
        holders: the objects that have it in a field.
        depth: how many objects it was taken out of.
        watched: whether it has changed unasked, or holds what has.
        number: how many were made before it.
    """

    kind: Kind | None = None
    cls: ClassFacts | None = None
    name: str = ""
    parent: Thing | None = None
    fields: dict[str, set[Thing]] = field(default_factory=dict)
    steps: frozenset[Thing] = frozenset()
    display: bool = False
    partial: tuple[Bound, list[set[Thing]]] | None = None
    function: FunctionFacts | None = None
    named: tuple[str, ast.expr, Scope] | None = None
    given: bool = False
    key: str = ""
    attribute: bool = False
    variable: tuple[Scope, str] | None = None
    holders: set[Thing] | frozenset[Thing] = frozenset()
    depth: int = 0
    watched: bool = False
    number: int = field(default_factory=count().__next__)

    def __post_init__(self) -> None:
        to_let_go(self)
        for things in self.fields.values():
            for thing in things:
                thing.held_by(self)
                self.watched |= thing.watched

    def hold(self, key: str, things: set[Thing], instead: bool = False) -> None:
        """Set a field, or add to what it may hold."""
        if instead:
            for old in self.fields.get(key, ()):
                if old not in things and sum(old in values for values in self.fields.values()) == 1:
                    old.holders = old.holders - {self}
            self.fields[key] = set(things)
        else:
            self.fields[key] = self.fields.get(key, set()) | things
        for thing in things:
            thing.held_by(self)
            if thing.watched and not self.watched:
                for holder in above((self,)):
                    holder.watched = True

    def forget(self, key: str) -> None:
        """Let a field hold something of which nothing is known yet."""
        if key in self.fields:
            self.hold(key, set(), instead=True)
            del self.fields[key]

    def held_by(self, holder: Thing) -> None:
        """Note that an object has this one in a field."""
        if isinstance(self.holders, set):
            self.holders.add(holder)
        else:  # an empty set for each of very many objects would take much memory
            self.holders = {*self.holders, holder}

    def let_go(self) -> None:
        """Hold no other object any more, since nobody asks again."""
        self.parent = self.partial = None
        self.fields.clear()
        self.steps = self.holders = frozenset()

    def inside(self) -> set[Thing]:
        """Return the object with everything in it."""
        found = {self}
        if not self.fields:
            return found
        todo = [self]
        while todo and len(found) < _INSIDE:
            holder = todo.pop()
            for values in holder.fields.values():
                for value in values:
                    if value in found:
                        continue
                    if holder.kind is Kind.MODULE and value.foreign:
                        continue
                    found.add(value)
                    if value.fields:
                        todo.append(value)
        return found

    @property
    def foreign(self) -> bool:
        """Whether it is a configuration and the like, which is no part of a model that holds it."""
        if self.kind is not None or self.cls is None:
            return False
        return not any(value.kind is Kind.VARIABLE for values in self.fields.values() for value in values)

    @property
    def called(self) -> bool:
        """Whether it is a function of which it is known what it does."""
        return self.function is not None or self.partial is not None or self.named is not None

    @property
    def unknown(self) -> bool:
        """Whether the caller has to say what it is."""
        return self.given and self.kind in {None, Kind.MODULE} and self.cls is None


@dataclass(eq=False, slots=True)
class Share:
    """Two handles on the same Variables that were copies up to 0.10.

    Attributes:
        site: the call of ``nnx.state``, ``nnx.split`` or ``nnx.merge`` that made the second from the first, or the
            argument that a transform handed on.
        scope: the scope of the call.
        merged: whether the call is a merge.
        first: what the call was given.
        second: what it returned.
        params: whether only parameters are shared, so that a change of other Variables does not matter.
        handed: whether a transform of NNX handed the first on to the function that it runs.
        part: which filter of the call chose the second; what different filters choose has no Variable in common.
    """

    site: ast.expr
    scope: Scope
    merged: bool
    first: set[Thing]
    second: set[Thing]
    params: bool = False
    handed: bool = False
    part: int = 0

    def apart(self, other: Share) -> bool:
        """Say whether the second handles are parts of one split, so that no change comes from one to the other."""
        return self.site is other.site and self.part != other.part

    def beside(self, parts: Parts) -> bool:
        """Say whether the second handle is a part of a split of which only other parts are among these."""
        return (self.site, self.part) not in parts and any(site is self.site for site, _ in parts)


@dataclass(frozen=True, slots=True)
class Change:
    """A handle that changed because the other handle of a share was changed.

    Attributes:
        share: the share over which the change came last.
        forward: whether ``share.second`` is the handle that changed unasked.
        over: all shares on the way from the object that was really changed.
        node: the code that changed it.
        others_only: whether no parameters changed, but statistics or random state.
    """

    share: Share
    forward: bool
    over: tuple[Share, ...]
    node: ast.AST
    others_only: bool = False


class Heap:
    """The shares of a run, and the changes that came over them so far.

    Attributes:
        shares: all shares, in the order in which they were made.
        changes: the changes that nobody has read, on the present way.
    """

    def __init__(self) -> None:
        self.shares: list[Share] = []
        self.changes: frozenset[Change] = frozenset()

    def mutate(
        self,
        things: Iterable[Thing],
        node: ast.AST,
        others_only: bool = False,
        given: Iterable[Thing] = (),
        parts: Parts = frozenset(),
    ) -> None:
        """Note that Variables of objects change.

        Args:
            things: the objects.
            node: the code that changes them.
            others_only: whether no parameters change, but statistics or random state.
            given: whose values they get; these do not change by that, whatever they share.
            parts: the parts of splits that change; of those splits no others do.
        """
        if not self.shares:
            return
        found: set[Change] = set()
        left = [share for share in self.shares if not (others_only and share.params)]
        kept = set(given)
        around = above(kept)
        todo: list[tuple[set[Thing], tuple[Share, ...]]] = [(set(things), ())]
        while todo:
            changed, over = todo.pop()
            mine = above(changed)
            far: list[Share] = []
            for share in left:
                if over[-1].apart(share) if over else share.beside(parts):
                    far.append(share)
                    continue
                for one, other, forward in ((share.first, share.second, True), (share.second, share.first, False)):
                    if not mine.isdisjoint(one) or not changed.isdisjoint(above(one)):
                        if kept and _touches(kept, around, other):
                            break
                        way = (*over, share)
                        found.add(Change(share, forward, way, node, others_only))
                        todo.append((other, way))
                        break
                else:
                    far.append(share)
            left = far
        self.changes |= found
        for change in found:
            for thing in above(change.share.second if change.forward else change.share.first):
                thing.watched = True

    def carry(self, share: Share) -> None:
        """Note that what an object gave of itself, after it had changed unasked, has changed so too."""
        if share.merged or share.handed or not self.changes:
            return
        mine, found = above(share.first), set[Change]()
        for change in self.changes:
            changed = change.share.second if change.forward else change.share.first
            if change.share is not share and _touches(share.first, mine, changed):
                found.add(Change(share, True, (*change.over, share), change.node, change.others_only))
        if found:
            self.changes |= found
            for thing in above(share.second):
                thing.watched = True

    def same(self, one: set[Thing], two: set[Thing], node: ast.AST) -> Change | None:
        """Return how Variables of two objects came to be the same ones; None if no share makes them so."""
        left = list(self.shares)
        todo: list[tuple[set[Thing], tuple[Share, ...]]] = [(one, ())]
        while todo:
            things, over = todo.pop(0)
            mine = above(things)
            for share in list(left):
                for near, far, forward in ((share.first, share.second, True), (share.second, share.first, False)):
                    if (over and over[-1].apart(share)) or not _touches(things, mine, near):
                        continue
                    left.remove(share)
                    if overlap(two, far):
                        return Change(share, forward, (*over, share), node)
                    todo.append((far, (*over, share)))
                    break
        return None

    def overwritten(self, things: set[Thing]) -> None:
        """Note that objects got new values as a whole: what had changed in them no longer matters."""
        if self.changes:
            mine = above(things)
            self.changes = frozenset(
                c for c in self.changes if not _touches(things, mine, c.share.second if c.forward else c.share.first)
            )

    def renewed(self, things: set[Thing]) -> None:
        """Note that objects stand for new ones from now on, which are as the code makes them."""
        self.changes = frozenset(
            c for c in self.changes if things.isdisjoint(c.share.second if c.forward else c.share.first)
        )

    def unasked(self, things: set[Thing]) -> Iterator[Change]:
        """Yield the changes that a reader of objects sees since 0.11 and did not see before."""
        if not things or not self.changes:
            return
        mine = above(things)
        if not any(thing.watched for thing in mine):
            return
        seen: dict[tuple[Share, bool], bool] = {}  # the same handle may have changed in many ways
        params = all(thing.key in _PARAMS for thing in things)
        for change in self.changes:
            if change.others_only and params:
                continue
            key = change.share, change.forward
            if key not in seen:
                seen[key] = _touches(things, mine, change.share.second if change.forward else change.share.first)
            if seen[key]:
                yield change


def may_be_variable(thing: Thing) -> bool:
    """Say whether an object is a Variable, or may be the leaf of a state or the attribute of a layer."""
    return thing.kind is Kind.VARIABLE or (thing.kind is None and thing.cls is None and bool(thing.key))


def is_container(thing: Thing) -> bool:
    """Say whether an object is a list, a tuple or a dictionary that the code makes."""
    return thing.kind is None and thing.cls is None and thing.parent is None and (thing.display or ANY in thing.fields)


def narrowed(things: set[Thing]) -> set[Thing]:
    """Return objects with few that stand for the many of which nothing is known."""
    if len(things) <= _MANY:
        return things
    known = {
        t for t in things if t.kind or t.cls or t.name or t.watched or t.function or t.partial or t.named or t.display
    }
    unknown = sorted((t for t in things if t not in known), key=lambda thing: (thing.depth, thing.number))
    return known | set(unknown[:_MANY])


def overlap(one: set[Thing], two: set[Thing]) -> bool:
    """Say whether an object of the one set is, holds or belongs to an object of the other."""
    return _touches(one, above(one), two)


def _touches(things: set[Thing], around: set[Thing], others: set[Thing]) -> bool:
    return not around.isdisjoint(others) or not things.isdisjoint(above(others))


def above(things: Iterable[Thing]) -> set[Thing]:
    """Return objects with everything that holds them."""
    found = set(things)
    todo = list(found)
    while todo:
        thing = todo.pop()
        if thing.parent is not None and thing.parent not in found:
            if thing.parent.kind is not Kind.MODULE or not thing.foreign:
                found.add(thing.parent)
                todo.append(thing.parent)
        for holder in thing.holders:
            if holder not in found and (holder.kind is not Kind.MODULE or not thing.foreign):
                found.add(holder)
                todo.append(holder)
    return found
