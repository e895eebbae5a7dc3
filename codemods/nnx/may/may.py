"""Which values may be what rules ask about: what calls of certain classes and functions make."""

from __future__ import annotations

from collections.abc import Iterable

from codemods.nnx.facts import ClassFacts
from codemods.nnx.may.graph import NOTHING, Graph, Place, parts, peeled
from codemods.nnx.may.search import Index, Search
from codemods.nnx.may.spread import Spread
from codemods.nnx.project import Project
from codemods.nnx.values import Attr, Call, Free, Param, Value


class Made:
    """What may be made by, or may be a part of what is made by, one of some classes and functions."""

    def __init__(
        self,
        graph: Graph,
        index: Index,
        names: frozenset[str],
        classes: frozenset[ClassFacts] = frozenset(),
        fields: frozenset[str] = frozenset(),
        called: frozenset[str] = frozenset(),
    ) -> None:
        self.graph = graph
        search = Search(graph, index)
        for name in names:
            search.classes.add(graph.find(name), _MADE)
        for cls in classes:
            search.seek(cls, _MADE)
        search.name_classes()
        search.make_objects()
        for name in names:
            search.promise(name, _MADE)
        for node in (*(graph.field(name) for name in fields), *self._results(called)):
            search.objects.add(node, _MADE)
        search.follow()
        self._makers = search.classes  # what may be one of the classes or functions themselves
        self._objects = search.objects  # what may be what they give
        self._holders: Spread | None = None  # what may be or hold it

    def _results(self, names: frozenset[str]) -> set[int]:
        """Return what is given by calling what calls of some names make, such as ``nnx.grad(loss)(model)``."""
        graph = self.graph
        makers = graph.reached({node for node in map(graph.find, names) if node != NOTHING}, functions=True)
        made = {graph.find(call) for node in makers for call in graph.sites.get(node, ())} - {NOTHING}
        reached = graph.reached(made, functions=True)
        return {graph.find(call) for node in reached for call in graph.sites.get(node, ())}

    def _holding(self) -> Spread:
        """Return where objects may be that hold it in a field.

        Exact questions look into the fields of an object, and not into the objects in its fields.
        """
        if self._holders is None:
            graph, found = self.graph, self._objects.nodes()
            self._holders = self._objects.copied()
            for cls in {cls: None for node in found if node in graph.holders for cls in graph.holders[node]}:
                for node in graph.instances[cls]:
                    self._holders.add(node, _MADE)
            self._holders.run()
        return self._holders

    def may_be(self, value: Value) -> bool:
        """Say whether a value may be one of them; a container counts as what it holds."""
        return self._among(value, self._objects)

    def may_hold(self, value: Value) -> bool:
        """Say whether a value may be or hold one of them."""
        return self._among(value, self._holding())

    def field_may_be(self, name: str) -> bool:
        """Say whether an attribute of a name may be one of them."""
        return bool(self._objects.reaches(self.graph.find(name)))

    def may_make(self, callee: Value) -> bool:
        """Say whether what is called may be one of the classes or functions."""
        return self._among(callee, self._makers)

    def _among(self, value: Value, nodes: Spread) -> bool:
        return among(self.graph, value, nodes, _MADE)


def among(graph: Graph, value: Value, nodes: Spread, thing: int) -> bool:
    """Say whether a value may be a thing that was followed to some nodes; a container counts as what it holds."""
    if type(value) in _SIMPLE:  # as nearly all that are asked about
        found = nodes.places(graph.node(value), thing)
        return found is None or bool(found)
    seen: set[tuple[int, tuple[Place, ...]]] = set()
    todo: list[tuple[Value, tuple[Place, ...]]] = [(value, ())]  # with the places at which it is looked into
    while todo:
        inner, places = todo.pop()
        if (id(inner), places) in seen:
            continue
        seen.add((id(inner), places))
        inner, place, taken = peeled(inner)
        if taken:
            todo.append((inner, (place, *places)[:_LOOKS]))  # a loop may look into what it looked into before
            continue
        ways = parts(inner, places)
        if ways is not None:
            todo += ways
            continue
        under = nodes.places(graph.node(inner), thing)
        if under is None or (under and (not places or places[0] is None or places[0] in under)):
            return True
    return False


_SIMPLE = frozenset({Attr, Call, Free, Param})  # no part of others, and none of their parts
_MADE = 1  # the bit of what a single search looks for
_LOOKS = 3  # how far what is in containers is told apart


class May:
    """The analysis of one project; what is asked for is found once."""

    def __init__(self, project: Project) -> None:
        self.graph = Graph(project)
        self._index = Index(self.graph)
        self._made: dict[frozenset[ClassFacts] | tuple[frozenset[str], ...], Made] = {}
        self._receive()

    def _receive(self) -> None:
        """Connect calls of methods whose names objects of Python have too with those of objects that they may be on."""
        graph = self.graph
        search, bits = Search(graph, self._index), {name: 1 << n for n, name in enumerate(graph.deferred)}
        for cls in graph.project.classes():
            things = sum(bits[name] for name in cls.methods if name in bits)
            if things:
                search.seek(cls, things)
        more = True
        while more:
            search.name_classes()
            search.make_objects()
            search.follow()
            more = False
            for name, calls in graph.deferred.items():
                left: list[tuple[Call, Attr]] = []
                for call, callee in calls:
                    if among(graph, callee.base, search.objects, bits[name]):
                        graph.by_name(call, callee)
                    else:
                        left.append((call, callee))
                graph.deferred[name] = left
                more = more or len(left) < len(calls)

    def made_of(self, classes: Iterable[ClassFacts]) -> Made:
        """Return what may be an object of one of the project's classes, or of a class that derives from one."""
        key = frozenset(classes)
        if key not in self._made:
            self._made[key] = Made(self.graph, self._index, frozenset(), key)
        return self._made[key]

    def made_by(self, names: Iterable[str], fields: Iterable[str] = (), called: Iterable[str] = ()) -> Made:
        """Return what may be made by calling something of these last names, such as ``Optimizer``.

        Args:
            names: the last names.
            fields: names of attributes that objects of a library keep such things in.
            called: last names of what makes functions that give such things, such as ``grad``.
        """
        key = frozenset(names), frozenset(fields), frozenset(called)
        if key not in self._made:
            self._made[key] = Made(self.graph, self._index, key[0], fields=key[1], called=key[2])
        return self._made[key]
