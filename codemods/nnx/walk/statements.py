"""How a walk goes through statements."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable

from codemods.nnx.annotated import AnnotatedAssign
from codemods.nnx.facts import ModuleFacts
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Changed, Const, Each, Unknown, Value
from codemods.nnx.walk.blocks import Blocks
from codemods.nnx.walk.nonlocals import handed

# where a statement may begin
_DECLARES = pattern(rb"(?:^|[;:])\s*(?:global|nonlocal)\b", re.MULTILINE, needs=(b"global", b"nonlocal"))


class Statements(Blocks):
    """Goes through the statements of a body in order."""

    def run(self) -> ModuleFacts:
        source = self.facts.source
        if source.matches(_DECLARES):
            self.remote = frozenset(name for node in source.of_type(ast.Global) for name in node.names)
            self.handed = handed(source)
        self.body(self.facts.source.tree.body)
        self.scope.env = self.env
        while self.pending:
            self.function_body(self.pending.pop(0))
        return self.facts

    def body(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.statement = statement
            handler = _STATEMENTS.get(type(statement))
            if handler is not None:
                handler(self, statement)
            else:
                self.children(statement)

    def assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.store(target, value)

    def annotated(self, node: ast.AnnAssign) -> None:
        self.annotation(node.annotation)
        if isinstance(node.target, ast.Name) and self.scope.owner is not None:
            self.scope.owner.fields[node.target.id] = node.annotation
        if node.value is not None:
            self.store(node.target, self.value(node.value))

    def augmented(self, node: ast.AugAssign) -> None:
        self.value(node.value)
        if isinstance(node.target, ast.Name):
            before = self.name(node.target.id)
            added = self.facts.values.get(node.value, Unknown(node))
            self.facts.values[node.target] = before
            self.bind(
                node.target.id,
                Changed(node, before, Each(added, node)) if isinstance(node.op, ast.Add) else Unknown(node),
            )
        else:
            self.store(node.target, Unknown(node))

    def delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                self.attribute_event(target, self.value(target.value), "del")
            elif isinstance(target, ast.Name):
                self.facts.values[target] = self.name(target.id)
                self.forget(target.id, Unknown(target))
            elif isinstance(target, ast.Subscript):
                self.value(target.slice)
                base = self.value(target.value)
                self.change(target.value, Changed(node, base, Unknown(target)))
            else:
                self.children(target)

    def returned(self, node: ast.Return) -> None:
        value: Value = Const(None) if node.value is None else self.value(node.value)
        if self.scope.function is not None:
            self.scope.function.returns.append(value)


_STATEMENTS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.Assign: Statements.assign,
    ast.AnnAssign: Statements.annotated,
    AnnotatedAssign: Statements.annotated,
    ast.AugAssign: Statements.augmented,
    ast.Delete: Statements.delete,
    ast.Return: Statements.returned,
    ast.If: Statements.branch,
    ast.For: Statements.loop,
    ast.AsyncFor: Statements.loop,
    ast.While: Statements.loop,
    ast.Break: Statements.leave_loop,
    ast.Continue: Statements.next_round,
    ast.Try: Statements.guarded,
    ast.With: Statements.managed,
    ast.AsyncWith: Statements.managed,
    ast.Match: Statements.matched,
    ast.Import: Statements.import_names,
    ast.ImportFrom: Statements.import_from,
    ast.Global: Statements.declare,
    ast.Nonlocal: Statements.declare,
    ast.FunctionDef: Statements.define,
    ast.AsyncFunctionDef: Statements.define,
    ast.ClassDef: Statements.class_definition,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = Statements.guarded
