"""The statements of a run: order, branches and loops."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from codemods.nnx.kinds import Kind
from codemods.nnx.state.heap import ANY, Change, Thing, is_container

if TYPE_CHECKING:
    from codemods.nnx.state.execution import Execution

_TWICE = 2  # loops in so many others run one round only: what one round keeps, another has changed already
VALUE = frozenset({"value", "raw_value"})


class Statements:
    """Runs statements. Loops run twice, branches apart."""

    def __init__(self, execution: Execution) -> None:
        self.run = execution
        self._loops = 0

    def block(self, statements: Iterable[ast.stmt]) -> bool:
        """Run statements; say whether control never reaches their end."""
        return any(self.statement(statement) for statement in statements)

    def statement(self, node: ast.stmt) -> bool:
        """Run one statement; say whether it leaves the function."""
        run = self.run
        value = run.expressions.value
        if isinstance(node, ast.Expr):
            value(node.value)
        elif isinstance(node, ast.Assign):
            if isinstance(node.value, ast.Call) and all(isinstance(t, ast.Tuple | ast.List) for t in node.targets):
                run.summaries.unpacked.add(node.value)
            things = value(node.value)
            for target in node.targets:
                self.store(target, things, node.value)
        elif isinstance(node, ast.Return | ast.Raise):
            if isinstance(node, ast.Return) and node.value is not None:
                run.results |= value(node.value)
            run.leave()
            return True
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._defined(node)
        elif isinstance(node, ast.ClassDef | ast.Import | ast.ImportFrom | ast.Pass):
            return False
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.store(node.target, value(node.value), node.value)
        elif isinstance(node, ast.AugAssign):
            self.augmented(node)
        elif isinstance(node, ast.If):
            value(node.test)
            return run.ways(lambda: self.block(node.body), lambda: self.block(node.orelse))
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            self.loop(node)
        elif isinstance(node, ast.Try):
            left = self.block([*node.body, *node.orelse])
            for handler in node.handlers:
                self.maybe(handler.body)
            return self.block(node.finalbody) or (left and not node.handlers)
        elif isinstance(node, ast.With | ast.AsyncWith):
            return self.within(node.items, node.body)
        elif isinstance(node, ast.Match):
            things = value(node.subject)
            for case in node.cases:
                self._captured(case.pattern, things)
                self.maybe(case.body)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    value(child)
        return False

    def _captured(self, pattern: ast.pattern, things: set[Thing]) -> None:
        """Bind the names of a pattern to what it may match, or parts of that."""
        run = self.run
        if isinstance(pattern, ast.MatchAs) and pattern.name is not None:
            run.bind(run.variable(pattern.name), things)
        for part in ast.iter_child_nodes(pattern):
            if isinstance(part, ast.pattern):
                self._captured(part, things if isinstance(pattern, ast.MatchAs | ast.MatchOr) else run.elements(things))

    def maybe(self, body: list[ast.stmt]) -> None:
        """Run a branch that may not be taken."""
        self.run.ways(lambda: self.block(body), lambda: False)

    def within(self, items: list[ast.withitem], body: list[ast.stmt]) -> bool:
        """Run a body between what its context managers do before and after it; say whether it leaves the function."""
        if not items:
            return self.block(body)
        item, run = items[0], self.run

        def inner(things: set[Thing]) -> bool:
            if item.optional_vars is not None:
                self.store(item.optional_vars, things)
            return self.within(items[1:], body)

        left = self._handed_out(item.context_expr, inner)
        if isinstance(left, bool):
            return left
        managers = {thing for thing in left if run.calls.manages(thing)}
        entered = left - managers
        for manager in managers:
            entered |= run.calls.manage(item.context_expr, manager, "__enter__")
        leaves = inner(entered)
        for manager in managers:
            run.calls.manage(item.context_expr, manager, "__exit__")
        return leaves

    def _handed_out(self, node: ast.expr, body: Callable[[set[Thing]], bool]) -> bool | set[Thing]:
        """Evaluate a call, running a body for all that a generator hands out, in the midst of what the generator does.

        Returns:
            Whether the body leaves the function; what the call gives if that is no generator of the project.
        """
        run, left = self.run, []
        inside: frozenset[Change] = frozenset()

        def handed(things: set[Thing]) -> None:
            nonlocal inside
            outer, run.returned = run.returned, frozenset()
            left.append(body(things))
            inside |= run.returned
            run.returned = outer

        before = run.bodies.get(node)
        run.bodies[node] = handed
        made = run.expressions.value(node)
        del run.bodies[node]
        if before is not None:
            run.bodies[node] = before
        if not left:
            return made
        run.returned |= inside
        return all(left)

    def loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        """Run a loop; its second round sees what the first one left."""
        value = self.run.expressions.value

        def once(things: set[Thing]) -> bool:
            assert not isinstance(node, ast.While)
            self.store(node.target, things)
            self.block(node.body)
            return False

        iterated = set() if isinstance(node, ast.While) else self._handed_out(node.iter, once)
        if isinstance(iterated, bool):  # the rounds were those of a generator
            self.block(node.orelse)
            return
        rounds = 2 if self._loops < _TWICE else 1
        self._loops += 1
        for _ in range(rounds):
            if isinstance(node, ast.While):
                value(node.test)
            else:
                self.store(node.target, self.run.elements(iterated))
            if self.block(node.body):
                break
        self._loops -= 1
        self.block(node.orelse)

    def _defined(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = self.run.summaries.defined(self.run.scope.module, node)
        if function is not None:
            made = {self.run.closure(function)}
            self.run.names[self.run.variable(node.name)] = made
            for decorator in node.decorator_list:  # which may keep it somewhere
                for thing in self.run.expressions.value(decorator):
                    if thing.function is not None:
                        self.run.calls.enter(node, thing.function, [made], {}, set(), thing.fields)

    def augmented(self, node: ast.AugAssign) -> None:
        """Run ``target += value``."""
        run = self.run
        added, target = run.expressions.value(node.value), node.target
        into = run.expressions.value(target) if isinstance(target, ast.Name | ast.Attribute) else set[Thing]()
        into = {thing for thing in into if is_container(thing)}
        if into:
            run.put(into, ANY, run.elements(added))
            return
        run.read(added, node)
        if isinstance(target, ast.Name):
            things = run.expressions.value(target)
            run.mutate({t for t in things if t.kind is Kind.VARIABLE}, node)
        else:
            base = run.expressions.value(target.value)
            run.read(base, node)
            if isinstance(target, ast.Attribute) and target.attr not in VALUE:
                base = run.attribute(base, target.attr)
            run.mutate(base, node)

    def store(self, target: ast.expr, things: set[Thing], node: ast.expr | None = None) -> None:
        """Bind a target to objects.

        Args:
            target: the target.
            things: the objects.
            node: what it is assigned, if that is written out.
        """
        run = self.run
        anew = node is not None and not isinstance(node, ast.Constant)
        if isinstance(target, ast.Name):
            run.bind(run.variable(target.id), things)
        elif isinstance(target, ast.Tuple | ast.List):
            parts = node.elts if isinstance(node, ast.Tuple | ast.List) else []
            for index, part in enumerate(target.elts):
                if isinstance(part, ast.Starred):
                    self.store(part.value, run.elements(things))
                else:
                    self.store(part, run.item(things, str(index)), parts[index] if index < len(parts) else node)
        elif isinstance(target, ast.Attribute):
            base = run.expressions.value(target.value) or run.of_class(target)
            if target.attr in VALUE:
                run.mutate(base, target)
            else:
                run.put(base, target.attr, things, anew)
        elif isinstance(target, ast.Subscript):
            run.expressions.value(target.slice)
            base = run.expressions.value(target.value)
            run.put(base, run.expressions.key(target.slice), things, anew)
            if isinstance(target.slice, ast.Slice):
                run.put(base, ANY, run.elements({thing for thing in things if is_container(thing)}))
            if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
                return  # of a state or a dictionary
            run.mutate({t for t in base if is_variable(t)}, target)


def is_variable(thing: Thing) -> bool:
    """Say whether an item assignment to an object changes a Variable and no container."""
    if thing.kind is not None:
        return thing.kind is Kind.VARIABLE
    owner = thing.parent
    while owner is not None and owner.kind is None and owner.parent is not None:
        owner = owner.parent
    return owner is not None and owner.kind is Kind.MODULE
