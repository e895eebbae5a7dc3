"""All modules of a project, and how their names refer to each other."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.known import COMPATIBILITY, foreign, named_so


class Modules:
    """Some modules, and the events in them.

    Attributes:
        modules: their facts, in the order of the sources.
    """

    def __init__(self, modules: Sequence[ModuleFacts]) -> None:
        self.modules = modules
        self._members = frozenset(modules)

    def __contains__(self, module: ModuleFacts) -> bool:
        return module in self._members

    def calls(self) -> Iterator[CallEvent]:
        """Yield every call."""
        for module in self.modules:
            yield from module.calls

    def attributes(self) -> Iterator[AttrEvent]:
        """Yield every attribute access."""
        for module in self.modules:
            yield from module.attributes

    def functions(self) -> Iterator[FunctionFacts]:
        """Yield every function."""
        for module in self.modules:
            yield from module.functions

    def classes(self) -> Iterator[ClassFacts]:
        """Yield every class."""
        for module in self.modules:
            yield from module.classes


class Project(Modules):
    """The modules that are analysed together.

    Attributes:
        poll: called many times a second while they are; raises something if nobody waits for the answers any more.
    """

    poll: Callable[[], None] | None = None

    def __init__(self, modules: Sequence[ModuleFacts]) -> None:
        super().__init__(modules)
        self._by_name: dict[str, ModuleFacts] = {}
        self._by_tail: dict[str, list[str]] = {}
        for module in modules:
            self._by_name[module.name] = module
            self._by_tail.setdefault(module.name.rpartition(".")[2], []).append(module.name)
        self._found: dict[tuple[str, str], ModuleFacts | None] = {}

    def find(self, name: str, importer: str = "") -> ModuleFacts | None:
        """Return the project's module that ``importer`` means by a dotted name; None if it is not the project's.

        A name is looked up as it is, then beside the importing module and in the folders around it that are no
        packages (as for scripts, whose folder is on the path), then as the end of the one module name that ends so; a
        single word only as that of a package in a folder ``src``.
        The names of Flax, JAX and the standard library mean these, whatever files lie beside.
        """
        key = (name, importer)
        if key not in self._found:
            self._found[key] = self._search(name, importer)
        return self._found[key]

    def _search(self, name: str, importer: str) -> ModuleFacts | None:
        if name.rpartition(".")[2] == COMPATIBILITY:
            return None  # what it has stands for names of Flax, see canonical()
        if name in self._by_name:
            return self._by_name[name]
        if foreign(name):
            return None
        folder = importer
        while folder:
            folder = folder.rpartition(".")[0]
            around = self._by_name.get(folder)
            if around is not None and around.source.package:
                continue
            module = self._by_name.get(f"{folder}.{name}" if folder else name)
            if module is not None:
                return module
        similar = self._by_tail.get(name.rpartition(".")[2], ())
        ends = named_so(name, similar, lambda full: self._by_name[full].source.package)
        return self._by_name[ends[0]] if len(ends) == 1 else None


def scope_of(module: ModuleFacts, node: ast.stmt | ast.expr) -> Scope:
    """Return the scope of the innermost function or lambda around a node, or that of the module."""
    place, _ = module.source.span(node)
    around = [(start, scope) for start, end, scope in module.bodies() if start <= place < end]
    return max(around, key=lambda found: found[0])[1] if around else module.scope


def enclosing_function(scope: Scope | None) -> FunctionFacts | None:
    """Return the function whose activation a scope's values belong to."""
    while scope is not None and scope.function is None:
        scope = scope.parent
    return scope.function if scope is not None else None
