"""Which values may be what rules ask about: what calls of certain classes and functions make."""

from __future__ import annotations

from collections.abc import Iterable

from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.may.graph import NOTHING, NOWHERE, Graph, Place, Reached, parts, peeled, stripped
from codemods.nnx.project import Project
from codemods.nnx.values import Attr, Call, Free, Param, Value


class Made:
    """What may be made by, or may be a part of what is made by, one of some classes and functions.

    Attributes:
        makers: nodes that may be one of the classes or functions themselves.
        nodes: nodes that may be what they give.
        holders: nodes that may be or hold it.
    """

    def __init__(
        self,
        graph: Graph,
        names: frozenset[str],
        classes: frozenset[ClassFacts] = frozenset(),
        fields: frozenset[str] = frozenset(),
        called: frozenset[str] = frozenset(),
    ) -> None:
        self.graph = graph
        self._given: set[FunctionFacts] = set()
        self._derived: set[ClassFacts] = set(classes)
        sought = (*names, *(cls.node for cls in classes))
        self.makers = self._classes({node for node in map(graph.find, sought) if node != NOTHING})
        made = {graph.find(call) for node in self.makers for call in graph.sites.get(node, ())}
        known = names | {cls.name for cls in self._derived}
        own = {node for cls in self._derived for node in graph.instances[cls]}
        given = {graph.field(name) for name in fields} | self._results(called)
        self.nodes = self._spread((made | own | given | self._promised(known)) - {NOTHING})
        # exact questions look into the fields of an object, and not into the objects in its fields
        instances = {cls for node in self.nodes for cls in graph.holders.get(node, ())}
        self.holders = graph.reached(
            self.nodes | dict.fromkeys(node for cls in instances for node in graph.instances[cls])
        )

    def _results(self, names: frozenset[str]) -> set[int]:
        """Return what is given by calling what calls of some names make, such as ``nnx.grad(loss)(model)``."""
        graph = self.graph
        makers = graph.reached({node for node in map(graph.find, names) if node != NOTHING}, functions=True)
        made = {graph.find(call) for node in makers for call in graph.sites.get(node, ())} - {NOTHING}
        reached = graph.reached(made, functions=True)
        return {graph.find(call) for node in reached for call in graph.sites.get(node, ())}

    def _classes(self, seeds: set[int]) -> Reached:
        """Follow the classes, and those that derive from them, to where they may be named."""
        graph = self.graph
        found = graph.reached(seeds, functions=True)
        while True:
            more = {
                cls
                for cls in graph.project.classes()
                if cls not in self._derived and any(graph.node(stripped(base)) in found for base in cls.bases)
            }
            if not more:
                return found
            self._derived |= more
            new = [node for node in (graph.find(cls.node) for cls in more) if node != NOTHING]
            found = graph.reached(found | dict.fromkeys(new), functions=True)

    def _spread(self, seeds: set[int]) -> Reached:
        """Follow what was made, also into and out of functions that are called by another name than their own."""
        graph = self.graph
        found = graph.reached(seeds)
        passed: dict[int, int] = {}  # how many of the calls that are passed something have been followed
        while True:
            before = _extent(found)
            calls: dict[Call, None] = {}
            for node in sorted(found.keys() & graph.passed.keys()):
                calls |= dict.fromkeys(graph.passed[node][passed.get(node, 0) :])
                passed[node] = len(graph.passed[node])
            new = [graph.connect(call, facts) for call in calls for facts in graph.reaching(graph.callee(call))]
            given = {f for module in graph.project.modules for f in module.functions if graph.find(f) in found}
            new += [graph.connect(call, f) for f in given - self._given for call in graph.calling(f)]
            self._given |= given
            found = graph.reached(found)
            if not any(new) and _extent(found) == before:
                return found

    def _promised(self, names: frozenset[str] | set[str]) -> set[int]:
        """Return the parameters whose annotations mention one of the classes, also by a name of the module's own."""
        return {self.graph.node(param) for param in self.graph.names.annotated(names)}

    def may_be(self, value: Value) -> bool:
        """Say whether a value may be one of them; a container counts as what it holds."""
        return self._among(value, self.nodes)

    def may_hold(self, value: Value) -> bool:
        """Say whether a value may be or hold one of them."""
        return self._among(value, self.holders)

    def field_may_be(self, name: str) -> bool:
        """Say whether an attribute of a name may be one of them."""
        return self.graph.find(name) in self.nodes

    def may_make(self, callee: Value) -> bool:
        """Say whether what is called may be one of the classes or functions."""
        return self._among(callee, self.makers)

    def _among(self, value: Value, nodes: Reached) -> bool:
        if type(value) in _SIMPLE:  # as nearly all that are asked about
            found = nodes.get(self.graph.node(value), NOWHERE)
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
            under = nodes.get(self.graph.node(inner), NOWHERE)
            if under is None or (under and (not places or places[0] is None or places[0] in under)):
                return True
        return False


def _extent(found: Reached) -> int:
    """Return how much has been found: a number that grows with every node, and with every place of one."""
    return sum(_ALL if places is None else len(places) for places in found.values())


_SIMPLE = frozenset({Attr, Call, Free, Param})  # what is no part, and has none
_LOOKS = 3  # how far what is in containers is told apart
_ALL = 100  # more than the places that are told apart


class May:
    """The analysis of one project; what is asked for is found once."""

    def __init__(self, project: Project) -> None:
        self.graph = Graph(project)
        self._made: dict[frozenset[ClassFacts] | tuple[frozenset[str], ...], Made] = {}
        self._receive()

    def _receive(self) -> None:
        """Connect calls of methods whose names objects of Python have too with those of objects that they may be on."""
        graph = self.graph
        owners: dict[str, list[ClassFacts]] = {}
        for cls in graph.project.classes():
            for name in cls.methods:
                if name in graph.deferred:
                    owners.setdefault(name, []).append(cls)
        more = True
        while more:
            more = False
            for name, calls in graph.deferred.items():
                objects = Made(graph, frozenset(), frozenset(owners.get(name, ())))
                left: list[tuple[Call, Attr]] = []
                for call, callee in calls:
                    if objects.may_be(callee.base):
                        graph.by_name(call, callee)
                    else:
                        left.append((call, callee))
                graph.deferred[name] = left
                more = more or len(left) < len(calls)

    def made_of(self, classes: Iterable[ClassFacts]) -> Made:
        """Return what may be an object of one of the project's classes, or of a class that derives from one."""
        key = frozenset(classes)
        if key not in self._made:
            self._made[key] = Made(self.graph, frozenset(), key)
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
            self._made[key] = Made(self.graph, key[0], fields=key[1], called=key[2])
        return self._made[key]
