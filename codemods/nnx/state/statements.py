"""The statements of a run: order, branches and loops."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from codemods.nnx.kinds import Kind
from codemods.nnx.state.heap import Thing

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
            things = value(node.value)
            for target in node.targets:
                self.store(target, things)
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
                self.store(node.target, value(node.value))
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
            for item in node.items:
                things = value(item.context_expr)
                if item.optional_vars is not None:
                    self.store(item.optional_vars, things)
            return self.block(node.body)
        elif isinstance(node, ast.Match):
            value(node.subject)
            for case in node.cases:
                self.maybe(case.body)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    value(child)
        return False

    def maybe(self, body: list[ast.stmt]) -> None:
        """Run a branch that may not be taken."""
        self.run.ways(lambda: self.block(body), lambda: False)

    def loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        """Run a loop; its second round sees what the first one left."""
        value = self.run.expressions.value
        iterated = set() if isinstance(node, ast.While) else value(node.iter)
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
            self.run.names[self.run.variable(node.name)] = {self.run.closure(function)}

    def augmented(self, node: ast.AugAssign) -> None:
        """Run ``target += value``."""
        run = self.run
        run.read(run.expressions.value(node.value), node)
        target = node.target
        if isinstance(target, ast.Name):
            things = run.expressions.value(target)
            run.mutate({t for t in things if t.kind is Kind.VARIABLE}, node)
        else:
            base = run.expressions.value(target.value)
            run.read(base, node)
            if isinstance(target, ast.Attribute) and target.attr not in VALUE:
                base = run.attribute(base, target.attr)
            run.mutate(base, node)

    def store(self, target: ast.expr, things: set[Thing]) -> None:
        """Bind a target to objects."""
        run = self.run
        if isinstance(target, ast.Name):
            run.bind(run.variable(target.id), things)
        elif isinstance(target, ast.Tuple | ast.List):
            for index, part in enumerate(target.elts):
                if isinstance(part, ast.Starred):
                    self.store(part.value, run.elements(things))
                else:
                    self.store(part, run.item(things, str(index)))
        elif isinstance(target, ast.Attribute):
            base = run.expressions.value(target.value)
            if target.attr in VALUE:
                run.mutate(base, target)
            else:
                run.put(base, target.attr, things)
        elif isinstance(target, ast.Subscript):
            run.expressions.value(target.slice)
            base = run.expressions.value(target.value)
            run.put(base, run.expressions.key(target.slice), things)
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
