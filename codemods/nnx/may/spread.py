"""How far several things may flow, followed for all of them together."""

from __future__ import annotations

from codemods.nnx.may.graph import MANY_PLACES, NOWHERE, Graph, Place


class Spread:
    """The nodes that things may flow to, which are told apart by the bits of a number.

    It answers for each of them as :meth:`Graph.reached` does, at about the price of one.

    Attributes:
        whole: by nodes, the things that may be there themselves or at any place.
        placed: by nodes, those that may be at a place of a tuple there.
    """

    def __init__(self, graph: Graph, functions: bool = False) -> None:
        self._graph = graph
        self._functions = graph.functions if functions else {}
        self.whole: dict[int, int] = {}
        self.placed: dict[int, dict[int, int]] = {}
        self._ways: dict[int, int] = {}  # how many ways out of a node have been followed
        self._todo: dict[int, int] = {}
        self._todo_placed: dict[tuple[int, int], int] = {}

    def nodes(self) -> list[int]:
        """Return the nodes that one of the things may be in, at whatever place."""
        return [*self.whole, *(node for node in self.placed if node not in self.whole)]

    def reaches(self, node: int) -> int:
        """Return the things that may be in a node, at whatever place."""
        found = self.whole.get(node, 0)
        for things in self.placed[node].values() if node in self.placed else ():
            found |= things
        return found

    def places(self, node: int, thing: int) -> set[int] | frozenset[int] | None:
        """Return at which places of a node a thing may be; None for itself, or at any."""
        if self.whole.get(node, 0) & thing:
            return None
        places = self.placed.get(node)
        return {place for place, things in places.items() if things & thing} if places else NOWHERE

    def copied(self) -> Spread:
        """Return another one that starts with what was found."""
        copy = Spread(self._graph)
        copy.whole = dict(self.whole)
        copy.placed = {node: dict(places) for node, places in self.placed.items()}
        copy._ways = dict(self._ways)
        return copy

    def add(self, node: int, things: int) -> None:
        """Let things be in a node, if it is one."""
        known = self.whole.get(node, 0)
        new = things & ~known
        if new and node >= 0:
            self.whole[node] = known | new
            self._todo[node] = self._todo.get(node, 0) | new

    def run(self) -> bool:
        """Follow all that was added, also along ways that were made since the last time; say whether there was any."""
        for node, followed in self._ways.items():
            if self._out(node) != followed:
                self._again(node)
        if not self._todo and not self._todo_placed:
            return False
        while self._todo or self._todo_placed:
            whole, placed = self._todo, self._todo_placed
            self._todo, self._todo_placed = {}, {}
            for node, things in whole.items():
                self._follow(node, None, things)
            for (node, place), things in placed.items():
                self._follow(node, place, things & ~self.whole.get(node, 0))
        return True

    def _out(self, node: int) -> int:
        """Return how many ways lead out of a node."""
        graph = self._graph
        count = len(graph.edges[node])
        if node in graph.placed:
            count += len(graph.placed[node])
        if node in graph.taken:
            count += len(graph.taken[node])
        return count + len(self._functions[node]) if node in self._functions else count

    def _again(self, node: int) -> None:
        """Follow everything in a node once more."""
        if node in self.whole:
            self._todo[node] = self.whole[node]
        for place, things in self.placed.get(node, {}).items():
            self._todo_placed[node, place] = things

    def _follow(self, node: int, place: Place, things: int) -> None:
        """Let things that are in a node, at a place of it or themselves, flow on."""
        graph, whole, todo = self._graph, self.whole, self._todo
        self._ways[node] = self._out(node)
        if not things:
            return
        ways = graph.edges[node]
        if node in self._functions:
            ways = ways + self._functions[node]
        if place is None:
            for to in ways:
                known = whole.get(to, 0)
                new = things & ~known
                if new:
                    whole[to] = known | new
                    todo[to] = todo.get(to, 0) | new
        else:
            for to in ways:
                self._put(to, place, things)
        if node in graph.placed:
            for to, put in graph.placed[node]:  # of one in another, only the place of that is kept
                if put is None:
                    self.add(to, things)
                else:
                    self._put(to, put, things)
        if node in graph.taken:
            for to, wanted in graph.taken[node]:
                if place is None or wanted is None or place == wanted:
                    self.add(to, things)

    def _put(self, node: int, place: int, things: int) -> None:
        """Let things be at a place of a node."""
        places = self.placed.get(node)
        if places is None:
            places = self.placed[node] = {}
        new = things & ~self.whole.get(node, 0) & ~places.get(place, 0)
        if new and len(places) >= MANY_PLACES:
            everywhere = 0
            for bit in _bits(new):
                if sum(bool(held & bit) for held in places.values()) >= MANY_PLACES:
                    everywhere |= bit
            self.add(node, everywhere)
            new &= ~everywhere
        if new:
            places[place] = places.get(place, 0) | new
            self._todo_placed[node, place] = self._todo_placed.get((node, place), 0) | new


def _bits(things: int) -> list[int]:
    """Return the bits of a number, each as a number."""
    return [1 << index for index in range(things.bit_length()) if things >> index & 1]
