"""What lint rules look at again and again: the nodes, the blocks and the calls of one body."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from codemods.nnx.facts import CallEvent, ModuleFacts, Scope
from codemods.nnx.lint.syntax import Path, inside, own_nodes, paths
from codemods.nnx.project import Project


class Bodies:
    """Indexes over the bodies of a project, each made when it is first asked for."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._nodes: dict[Scope, tuple[ast.AST, ...]] = {}
        self._paths: dict[Scope, dict[ast.AST, Path]] = {}

    def nodes(self, scope: Scope) -> tuple[ast.AST, ...]:
        """Return the nodes of a function's or module's body without those of inner functions."""
        if scope not in self._nodes:
            self._nodes[scope] = tuple(own_nodes(scope.node))  # type: ignore[arg-type]
        return self._nodes[scope]

    def paths(self, scope: Scope) -> dict[ast.AST, Path]:
        """Return the blocks around every node of a body."""
        if scope not in self._paths:
            self._paths[scope] = paths(scope.node)  # type: ignore[arg-type]
        return self._paths[scope]

    def guarded(self, node: ast.AST, scope: Scope) -> bool:
        """Say whether a node stands in a ``try`` that handles its errors."""
        if not any(isinstance(n, ast.Try) for n in self.nodes(scope)):
            return False
        return any(isinstance(n, ast.Try) and arm == "body" for n, arm in self.paths(scope).get(node, ()))

    def sometimes(self, node: ast.AST, scope: Scope, loop: ast.AST) -> bool:
        """Say whether a condition decides in which rounds of a loop a node runs."""
        path = self.paths(scope).get(node, ())
        return any(isinstance(outer, ast.If | ast.IfExp) and inside(outer, loop) for outer, _ in path)

    @cached_property
    def calls(self) -> dict[Scope, list[CallEvent]]:
        """The calls of every scope, in order."""
        found: dict[Scope, list[CallEvent]] = {}
        for event in self._project.calls():
            found.setdefault(event.scope, []).append(event)
        return found

    def named(self, *words: str) -> Iterator[CallEvent]:
        """Yield the calls whose callee ends in one of some words, ``f`` as well as ``module.f``."""
        for word in words:
            yield from self._by_word.get(word, ())

    @cached_property
    def _by_word(self) -> dict[str, list[CallEvent]]:
        found: dict[str, list[CallEvent]] = {}
        for event in self._project.calls():
            func = event.node.func
            word = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
            if word:
                found.setdefault(self._original(event.scope.module, word), []).append(event)
        return found

    def _original(self, module: ModuleFacts, word: str) -> str:
        return self._renamed.get(module, {}).get(word, word)

    @cached_property
    def _renamed(self) -> dict[ModuleFacts, dict[str, str]]:
        """What names that ``from … import … as`` renames were called before."""
        return {
            module: {
                alias.asname: alias.name
                for statement in module.imports
                if isinstance(statement, ast.ImportFrom)
                for alias in statement.names
                if alias.asname
            }
            for module in self._project.modules
        }
