"""What may be made by calling classes and functions, followed into and out of calls."""

from __future__ import annotations

from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.may.graph import Graph, stripped
from codemods.nnx.may.spread import Spread
from codemods.nnx.values import Call


class Index:
    """What every search of a graph looks up in it.

    Attributes:
        bases: the classes of the project that derive from something, with the nodes of that.
        results: the functions by the nodes of what they return.
    """

    def __init__(self, graph: Graph) -> None:
        classes = [cls for cls in graph.project.classes() if cls.bases]
        self.bases = [(cls, [graph.node(stripped(base)) for base in cls.bases]) for cls in classes]
        self.results: dict[int, FunctionFacts] = {graph.find(f): f for f in graph.project.functions()}


class Search:
    """A search for the objects of classes, for several sets of classes at once, which the bits of a number tell apart.

    Attributes:
        classes: what may be one of the classes, or of the functions that are sought with them.
        objects: what may be one of their objects.
        derived: the classes that are sought, and those that derive from them.
    """

    def __init__(self, graph: Graph, index: Index) -> None:
        self._graph = graph
        self._index = index
        self.classes = Spread(graph, functions=True)
        self.objects = Spread(graph)
        self.derived: dict[ClassFacts, int] = {}
        self._passed: dict[int, int] = {}  # how many of the calls that are passed something have been followed
        self._given: set[FunctionFacts] = set()

    def seek(self, cls: ClassFacts, things: int) -> None:
        """Look for objects of a class, too."""
        self.derived[cls] = self.derived.get(cls, 0) | things
        self.classes.add(self._graph.find(cls.node), things)

    def name_classes(self) -> None:
        """Follow the classes, and those that derive from them, to where they may be named."""
        more = True
        while more:
            self.classes.run()
            more = False
            for cls, bases in self._index.bases:
                new = 0
                for node in bases:
                    new |= self.classes.reaches(node)
                new &= ~self.derived.get(cls, 0)
                if new:
                    more = True
                    self.seek(cls, new)

    def make_objects(self) -> None:
        """Note where their objects are made, are ``self``, or are promised by an annotation."""
        graph, objects = self._graph, self.objects
        for node in self.classes.nodes():
            if node in graph.sites:
                things = self.classes.reaches(node)
                for call in graph.sites[node]:
                    objects.add(graph.find(call), things)
        for cls, things in self.derived.items():
            for node in graph.instances[cls]:
                objects.add(node, things)
            self.promise(cls.name, things)

    def promise(self, name: str, things: int) -> None:
        """Note the parameters whose annotations mention a class, also by a name of the module's own."""
        for param in self._graph.names.annotated((name,)):
            self.objects.add(self._graph.node(param), things)

    def follow(self) -> None:
        """Follow the objects, also into and out of functions that are called by another name than their own."""
        self.objects.run()
        more = True
        while more:
            new = self._connect()
            more = self.objects.run() or new

    def _connect(self) -> bool:
        """Connect calls with the functions that they may reach, where an object is passed or returned."""
        graph, found = self._graph, self.objects.nodes()
        calls: dict[Call, None] = {}
        given: list[FunctionFacts] = []
        for node in sorted(found):
            if node in graph.passed:
                calls.update(dict.fromkeys(graph.passed[node][self._passed.get(node, 0) :]))
                self._passed[node] = len(graph.passed[node])
            function = self._index.results.get(node)
            if function is not None and function not in self._given:
                given.append(function)
        new = [graph.connect(call, facts) for call in calls for facts in graph.reaching(graph.callee(call))]
        new += [graph.connect(call, function) for function in given for call in graph.calling(function)]
        self._given.update(given)
        return any(new)
