"""What the names of a scope stand for at each point of a walk."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from codemods.nnx.facts import Env, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.nodes import children as below
from codemods.nnx.source import Source
from codemods.nnx.values import Assigned, Choice, Const, Free, Value


class Names:
    """The state of one walk, and its environment: what every name holds now."""

    def __init__(self, source: Source) -> None:
        self.facts = ModuleFacts(source)
        self.scope = Scope(self.facts, source.tree)
        self.facts.scope = self.scope
        self.env: Env = {}
        self.shared = False  # whether an event holds on to env
        self.statement: ast.stmt | None = None
        self.loops: tuple[ast.AST, ...] = ()
        self.exits: list[list[Env]] = []  # environments at the breaks of the loops around
        self.rounds: list[list[Env]] = []  # the same at their continues
        self.transient = 0  # depth of comprehensions, whose names do not belong to the scope
        self.pending: list[FunctionFacts] = []
        self.statements: dict[ast.Lambda, ast.stmt] = {}
        self.leaking: list[tuple[str, Value]] = []  # bindings that leave the comprehension around them
        self.remote: frozenset[str] = frozenset()  # names that some function declares global
        self.handed: dict[ast.AST, frozenset[str]] = {}  # those of a function that an inner one declares nonlocal

    def snapshot(self) -> Env:
        """Return the environment as it is now; later assignments do not change it."""
        self.shared = True
        return self.env

    def bind(self, name: str, value: Value) -> None:
        scope = self.scope
        if name in scope.globals:
            outer = self.outer_scope(name)
            outer.bindings.setdefault(name, []).append(Assigned(scope, value))
            if scope.function is not None:
                outer.remote.setdefault(name, []).append(scope.function)
            return
        if not self.transient:
            if self.loops or not _empty(self.env.get(name)):
                scope.rebound.add(name)
            scope.bindings.setdefault(name, []).append(value)
        self._hold(name, value)

    def forget(self, name: str, value: Value) -> None:
        """Let a deleted name stand for nothing known; functions that use it may have been called before."""
        if name in self.env:
            self._hold(name, value)

    def _hold(self, name: str, value: Value) -> None:
        if self.shared:
            self.env = dict(self.env)
            self.shared = False
        self.env[name] = value

    def outer_scope(self, name: str) -> Scope:
        """Return the scope that a ``global`` or ``nonlocal`` name belongs to."""
        scope = self.scope.parent
        while scope is not None and scope.parent is not None:
            if scope.owner is None and name in scope.bindings:
                return scope
            scope = scope.parent
        return scope or self.scope

    def name(self, name: str) -> Value:
        value = self.env.get(name)
        if value is not None:
            return Free(self.scope, name) if self.elsewhere(name) and name in self.scope.bindings else value
        scope = self.scope.parent
        while scope is not None:
            # names of a class body are not seen by its methods
            if scope.owner is None and (name in scope.bindings or scope.parent is None):
                return Free(scope, name)
            scope = scope.parent
        return Free(self.scope, name)

    def elsewhere(self, name: str) -> bool:
        """Say whether another function binds a variable of this scope: one of its name alone is another variable."""
        if self.scope.parent is None:
            return name in self.remote
        return bool(self.handed) and name in self.handed.get(self.scope.node, ())

    def joined(self, node: ast.AST, environments: list[Env]) -> Env:
        """Return the environment after several ways meet."""
        first = environments[0]
        if all(env is first for env in environments):
            return first
        result: Env = {}
        for name in {name: None for env in environments for name in env}:
            options: list[Value] = []
            for env in environments:
                value = env.get(name)
                if value is not None and value not in options:
                    options.append(value)
            result[name] = options[0] if len(options) == 1 else Choice(node, tuple(options))
        return result

    def interrupted(self, node: ast.AST, environments: list[Env], counts: dict[str, int]) -> Env:
        """Return the environment after a block that an exception may leave at any statement.

        Args:
            node: the statement around the block.
            environments: those at its start and end.
            counts: how many bindings each name had before the block.
        """
        result = self.joined(node, environments)
        for name, values in self.scope.bindings.items():
            within = dict.fromkeys(values[counts.get(name, 0) :])
            if len(within) > 1 and name in result:
                ends = [env[name] for env in environments if name in env]
                result = {**result, name: Choice(node, tuple(dict.fromkeys([*ends, *within])))}
        return result

    def value(self, node: ast.expr) -> Value:
        """Evaluate an expression and note its value."""
        raise NotImplementedError

    def body(self, statements: Iterable[ast.stmt]) -> None:
        """Go through statements in order."""
        raise NotImplementedError

    def children(self, node: ast.AST) -> None:
        """Evaluate the expressions below a node that has no handler of its own."""
        for child in below(node):
            if isinstance(child, ast.expr):
                self.value(child)
            elif isinstance(child, ast.stmt):
                self.body([child])
            else:
                self.children(child)


def _empty(value: Value | None) -> bool:
    """Say whether a variable holds nothing yet."""
    return value is None or (isinstance(value, Const) and value.value is None)
