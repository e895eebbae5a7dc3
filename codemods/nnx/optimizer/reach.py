"""Which modules of a project an object of one of them can come to."""

from __future__ import annotations

import ast

from codemods.nnx.facts import ModuleFacts
from codemods.nnx.project import Project


class Reach:
    """Answers from imports alone whether an object made in one module may be met in another."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._known: dict[ModuleFacts, frozenset[ModuleFacts]] = {}
        self._users: dict[ModuleFacts, set[ModuleFacts]] = {}
        for module in project.modules:
            for used in self._used(module):
                self._users.setdefault(used, set()).add(module)

    def meet(self, one: ModuleFacts, other: ModuleFacts) -> bool:
        """Say whether some module uses both, directly or through what it imports; each uses itself."""
        return bool(self._above(one) & self._above(other))

    def _above(self, module: ModuleFacts) -> frozenset[ModuleFacts]:
        if module not in self._known:
            found, todo = {module}, [module]
            while todo:
                new = self._users.get(todo.pop(), set()) - found
                found |= new
                todo += new
            self._known[module] = frozenset(found)
        return self._known[module]

    def _used(self, module: ModuleFacts) -> set[ModuleFacts]:
        names: list[str] = []
        for statement in module.imports:
            if isinstance(statement, ast.Import):
                names += [alias.name for alias in statement.names]
            else:
                base = "." * statement.level + (statement.module or "")
                base = self._absolute(module, base)
                names += [base, *(f"{base}.{alias.name}" for alias in statement.names)]
        found = {self.project.find(name, module.name) for name in names}
        # parents of a dotted name are imported too
        found |= {self.project.find(name.rpartition(".")[0], module.name) for name in names if "." in name}
        return {used for used in found if used is not None}

    @staticmethod
    def _absolute(module: ModuleFacts, name: str) -> str:
        """Return a relative name in full."""
        level = len(name) - len(name.lstrip("."))
        if not level:
            return name
        parts = module.name.split(".")
        kept = parts[: len(parts) - level + (1 if module.source.package else 0)]
        return ".".join([*kept, *filter(None, [name[level:]])])
