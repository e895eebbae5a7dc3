"""How a walk goes through branches, loops and other blocks, and joins the ways where they meet."""

from __future__ import annotations

import ast
from collections.abc import Callable

from codemods.nnx.nodes import last_word
from codemods.nnx.values import Loop, Unknown
from codemods.nnx.walk.expressions import Expressions
from codemods.nnx.walk.stores import CHANGING, FILLING

# context managers that go on after an exception in their block
_SWALLOWING = frozenset({"suppress", "raises", "assertRaises"})


class Blocks(Expressions):
    """Follows every way through a block."""

    def branch(self, node: ast.If) -> None:
        self.value(node.test)
        before = self.snapshot()
        self.body(node.body)
        first, first_ends = self.snapshot(), _leaves(node.body)
        self.env = before
        self.shared = True
        self.body(node.orelse)
        if first_ends and _leaves(node.orelse):
            return
        if _leaves(node.orelse):
            self.env = first
        elif not first_ends:
            self.env = self.joined(node, [first, self.env])
        self.shared = True

    def loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        if isinstance(node, ast.While):
            head: Callable[[], object] = lambda: self.value(node.test)  # noqa: E731
        else:
            iterated = self.value(node.iter)
            head = lambda: self.iterate(node.target, iterated, node)  # noqa: E731
        variables: dict[str, Loop] = {}
        for name in sorted(_assigned(node)):
            before = self.env.get(name)
            if before is not None:
                variables[name] = Loop(node, before)
        if variables:
            self.env = {**self.env, **variables}
            self.shared = False
        start = self.snapshot()
        self.loops += (node,)
        self.exits.append([])
        self.rounds.append([])
        head()
        self.body(node.body)
        ends = [*self.rounds.pop(), *([] if _leaves(node.body) else [self.snapshot()])]
        if ends:
            self.env = self.joined(node, ends)
            self.shared = True
        for name, variable in variables.items():
            variable.again = self.env.get(name, variable)
        self.loops = self.loops[:-1]
        exits = self.exits.pop()
        after = [] if isinstance(node, ast.While) and _always(node.test) and exits else [{**self.env, **start}]
        self.env = self.joined(node, [*after, *exits])
        self.shared = True
        self.body(node.orelse)

    def leave_loop(self, node: ast.Break) -> None:
        if self.exits:
            self.exits[-1].append(self.snapshot())

    def next_round(self, node: ast.Continue) -> None:
        if self.rounds:
            self.rounds[-1].append(self.snapshot())

    def guarded(self, node: ast.Try) -> None:
        before = self.snapshot()
        counts = {name: len(values) for name, values in self.scope.bindings.items()}
        self.body(node.body)
        after_body = self.snapshot()
        interrupted = self.interrupted(node, [before, after_body], counts)
        self.body(node.orelse)
        ends = [] if _leaves([*node.body, *node.orelse]) else [self.snapshot()]
        for handler in node.handlers:
            self.env = interrupted
            self.shared = True
            if handler.type is not None:
                self.value(handler.type)
            if handler.name:
                self.bind(handler.name, Unknown(handler))
            self.body(handler.body)
            if not _leaves(handler.body):
                ends.append(self.snapshot())
        self.env = self.joined(node, ends or [after_body])
        self.shared = True
        self.body(node.finalbody)

    def managed(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.store(item.optional_vars, value)
        before = self.snapshot()
        counts = {name: len(values) for name, values in self.scope.bindings.items()}
        self.body(node.body)
        if any(_last_name(item.context_expr) in _SWALLOWING for item in node.items):
            self.env = self.interrupted(node, [before, self.snapshot()], counts)
            self.shared = True

    def matched(self, node: ast.Match) -> None:
        self.value(node.subject)
        before = self.snapshot()
        ends = [before]
        for case in node.cases:
            self.env = before
            self.shared = True
            for pattern in ast.walk(case.pattern):
                for name in (getattr(pattern, "name", None), getattr(pattern, "rest", None)):
                    if isinstance(name, str):
                        self.bind(name, Unknown(pattern))
                if isinstance(pattern, ast.MatchValue):
                    self.value(pattern.value)
            if case.guard is not None:
                self.value(case.guard)
            self.body(case.body)
            if not _leaves(case.body):
                ends.append(self.snapshot())
        self.env = self.joined(node, ends)
        self.shared = True


def _leaves(body: list[ast.stmt]) -> bool:
    """Say whether control never reaches the end of a block."""
    return any(isinstance(s, ast.Return | ast.Raise | ast.Break | ast.Continue) for s in body)


def _last_name(node: ast.expr) -> str:
    """Return the last part of the name that an expression calls."""
    called = node.func if isinstance(node, ast.Call) else node
    return last_word(called)


def _always(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _assigned(loop: ast.For | ast.AsyncFor | ast.While) -> set[str]:
    """Return the names that a loop binds, or whose container it changes, in its own scope."""
    names: set[str] = set()
    stack: list[ast.AST] = [*loop.body]
    if not isinstance(loop, ast.While):
        stack.append(loop.target)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            continue
        elif isinstance(node, ast.Lambda):
            continue
        elif (
            isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and not isinstance(node.ctx, ast.Load)
        ):
            names.add(node.value.id)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ) and (node.func.attr in FILLING or node.func.attr in CHANGING):
            names.add(node.func.value.id)
        stack.extend(ast.iter_child_nodes(node))
    return names
