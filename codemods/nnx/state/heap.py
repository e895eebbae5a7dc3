"""Abstract objects of one program run, and which of them share Variables since Flax 0.11."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from codemods.nnx.facts import ClassFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind

_INSIDE = 500  # how many objects in one are looked at
ANY = "*"  # the field of a container that stands for elements under any key


@dataclass(eq=False, repr=False)  # they hold each other
class Thing:
    """An object: an NNX object, a state, a Variable, a container or an instance of the project's classes.

    Attributes:
        kind: what kind of NNX object it is; None for anything else or if unknown.
        cls: its class, if that is the project's.
        name: the name of its class in Flax, such as ``BatchNorm``.
        parent: the object that it was taken out of, where nothing else is known of it.
        fields: what its attributes and elements hold; elements under their key as text.
        steps: the objects that an optimizer changes besides itself.
        display: whether all elements are known, as of a tuple that is written out.
        partial: for a partial application the function and its first arguments.
    """

    kind: Kind | None = None
    cls: ClassFacts | None = None
    name: str = ""
    parent: Thing | None = None
    fields: dict[str, set[Thing]] = field(default_factory=dict)
    steps: set[Thing] = field(default_factory=set)
    display: bool = False
    partial: tuple[Bound, list[set[Thing]]] | None = None

    def inside(self) -> set[Thing]:
        """Return the object with everything in it."""
        found = {self}
        todo = [self]
        while todo and len(found) < _INSIDE:
            holder = todo.pop()
            for values in holder.fields.values():
                for value in values:
                    if value in found:
                        continue
                    if holder.kind is Kind.MODULE and value.kind is None and value.cls is not None:
                        continue  # a configuration and the like: no part of the model
                    found.add(value)
                    todo.append(value)
        return found


@dataclass(eq=False)
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
    """

    site: ast.expr
    scope: Scope
    merged: bool
    first: set[Thing]
    second: set[Thing]
    params: bool = False
    handed: bool = False


@dataclass(frozen=True)
class Change:
    """A handle that changed because the other handle of a share was changed.

    Attributes:
        share: the share over which the change came last.
        forward: whether ``share.second`` is the handle that changed unasked.
        over: all shares on the way from the object that was really changed.
        node: the code that changed it.
    """

    share: Share
    forward: bool
    over: tuple[Share, ...]
    node: ast.AST


class Heap:
    """The shares of a run, and the changes that came over them so far."""

    def __init__(self) -> None:
        self.shares: list[Share] = []
        self.changes: frozenset[Change] = frozenset()
        self.visits = 0  # how many objects were looked at

    def mutate(self, things: Iterable[Thing], node: ast.AST, others_only: bool = False) -> None:
        """Note that Variables of objects change.

        Args:
            things: the objects.
            node: the code that changes them.
            others_only: whether no parameters change, but statistics or random state.
        """
        found: set[Change] = set()
        seen: set[Share] = set()
        todo: list[tuple[set[Thing], tuple[Share, ...]]] = [(set(things), ())]
        while todo:
            changed, over = todo.pop()
            for share in self.shares:
                if share in seen or (others_only and share.params):
                    continue
                for mine, other, forward in ((share.first, share.second, True), (share.second, share.first, False)):
                    if self.overlap(changed, mine):
                        seen.add(share)
                        way = (*over, share)
                        found.add(Change(share, forward, way, node))
                        todo.append((other, way))
                        break
        self.changes |= found

    def overwritten(self, things: set[Thing]) -> None:
        """Note that objects got new values as a whole: what had changed in them no longer matters."""
        self.changes = frozenset(
            c for c in self.changes if not self.overlap(things, c.share.second if c.forward else c.share.first)
        )

    def unasked(self, things: Iterable[Thing]) -> Iterator[Change]:
        """Yield the changes that a reader of objects sees since 0.11 and did not see before."""
        things = set(things)
        if not things or not self.changes:
            return
        mine = self._extent(things)
        seen: dict[tuple[Share, bool], bool] = {}  # the same handle may have changed in many ways
        for change in self.changes:
            key = change.share, change.forward
            if key not in seen:
                other = change.share.second if change.forward else change.share.first
                seen[key] = not mine.isdisjoint(other) or not things.isdisjoint(self._extent(other))
            if seen[key]:
                yield change

    def overlap(self, one: set[Thing], two: set[Thing]) -> bool:
        """Say whether an object of the one set is, holds or belongs to an object of the other."""
        return not self._extent(one).isdisjoint(two) or not self._extent(two).isdisjoint(one)

    def _extent(self, things: set[Thing]) -> set[Thing]:
        """Return objects with everything in them and the objects they were taken out of."""
        found: set[Thing] = set()
        for thing in things:
            found |= thing.inside()
            above = thing.parent
            while above is not None:
                found.add(above)
                above = above.parent
        self.visits += len(found)
        return found
