"""What is a Variable where it is compared, since callers or what fills a list say so; and lists of Variables."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.kinds import Kind
from codemods.nnx.project import scope_of
from codemods.nnx.source import Source
from codemods.nnx.v012.asked import asked_variable
from codemods.nnx.v012.variables import Variables
from codemods.nnx.values import Attr, Changed, Choice, Const, Each, Item, Loop, Param, Sequence, Value

_MATRICES = frozenset({"embedding", "kernel"})  # Variables of layers that never hold one number alone
_ADDING = frozenset({"append", "add"})
_DEPTH = 3  # how many callers up an argument is followed


class Compared:
    """Answers what is compared, as far as other places tell that."""

    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self.context: Context = variables.context
        self.flow = variables.flow

    def is_variable(self, module: ModuleFacts, node: ast.expr, depth: int = 0) -> bool:
        """Say whether an expression is a Variable: known as one, or as callers and what fills lists tell."""
        value = module.values.get(node)
        if value is None or not isinstance(node, ast.Name | ast.Attribute | ast.Subscript) or depth > _DEPTH:
            return False
        if isinstance(node, ast.Subscript) and not _named(node):
            return False
        scope = scope_of(module, node)
        if asked_variable(self.context, node, scope) or self.variables.is_variable(value, scope):
            return True
        if isinstance(value, Param):
            return self._handed(value, depth)
        return isinstance(value, Each | Round) and self._gathered(self.flow.here(value.base, scope))

    def _handed(self, param: Param, depth: int) -> bool:
        """Say whether every caller hands over a Variable."""
        function = param.function
        callers = self.flow.sites.callers(function)
        if not callers or param is function.self_param:
            return False
        place = [*function.params].index(param.name) - (function.self_param is not None)
        for event in callers:
            named = next((k.value for k in event.node.keywords if k.arg == param.name), None)
            given = event.node.args[place] if 0 <= place < len(event.node.args) else named
            if given is None or event.value.starred or not self.is_variable(event.scope.module, given, depth + 1):
                return False
        return True

    def _gathered(self, whole: Bound) -> bool:
        """Say whether all elements of a list were put there under a test that says that they are Variables."""
        if self.flow.containers.is_mapping(whole):
            return False
        elements = self.flow.containers.elements(whole)
        return bool(elements) and all(one.value in self._put for one in elements)

    @cached_property
    def _put(self) -> set[Value]:
        found: set[Value] = set()
        for module in self.context.project.modules:
            if not module.source.mentions(b"isinstance"):
                continue
            for event in module.calls:
                func = event.node.func
                if not isinstance(func, ast.Attribute) or func.attr not in _ADDING or len(event.node.args) != 1:
                    continue
                node = event.node.args[0]
                if isinstance(node, ast.Name) and asked_variable(self.context, node, event.scope):
                    found.add(event.value.args[0])
                    found.add(self.flow.resolve(self.flow.here(event.value.args[0], event.scope)).value)
        return found

    def lists_variables(self, module: ModuleFacts, node: ast.expr) -> bool:
        """Say whether an expression is a list or tuple of nothing but Variables, and no dict or state."""
        value = module.values.get(node)
        if value is None or not (self.variables.may_hold(value) or self._put):
            return False
        whole = self.flow.here(value, scope_of(module, node))
        if self.flow.containers.is_mapping(whole) or self.context.kinds.of(whole):
            return False
        sources = self.context.sources.of(whole)
        made = [_as_made(source.value) for source in sources]
        if not made or not all(isinstance(one, Sequence) for one in made):
            return False
        elements = self.flow.containers.elements(whole)
        return bool(elements) and all(
            self.context.kinds.only(one) is Kind.VARIABLE or one.value in self._put for one in elements
        )

    def untold(self, module: ModuleFacts, node: ast.expr) -> bool:
        """Say whether nothing is known of an expression: it may be a Variable."""
        value = module.values.get(node)
        if value is None or not isinstance(node, ast.Name | ast.Attribute):
            return False
        bound = self.flow.here(value, scope_of(module, node))
        found = self.flow.resolve(bound)
        if not isinstance(found.value, Param | Each | Round | Item | Indexed | Attr) or self.context.kinds.of(bound):
            return False
        if isinstance(found.value, Param) and found.value.name in found.value.function.annotations:
            return False
        sources = self.context.sources.of(bound)
        return not any(isinstance(one.value, Const) or self.flow.classes.class_of(one) for one in sources)

    def is_matrix(self, module: ModuleFacts, node: ast.expr) -> bool:
        """Say whether an expression is a Variable of a layer that holds a matrix, whose truth nobody can ask for."""
        value = module.values.get(node)
        if not isinstance(node, ast.Attribute) or node.attr not in _MATRICES or value is None:
            return False
        return self.variables.is_variable(value, scope_of(module, node))


def decides(module: ModuleFacts, node: ast.expr) -> bool:
    """Say whether the truth of an expression is asked for: it stands in a condition."""
    return any(node is test for test in module.source.once(_conditions))


def _conditions(source: Source) -> tuple[ast.expr, ...]:
    return tuple(_tests(source.of_type(ast.If, ast.IfExp, ast.While, ast.comprehension, ast.Assert, ast.UnaryOp)))


def _tests(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    for node in nodes:
        todo: list[ast.expr] = []
        if isinstance(node, ast.comprehension):
            todo = [*node.ifs]
        elif isinstance(node, ast.UnaryOp):
            todo = [node.operand] if isinstance(node.op, ast.Not) else []
        elif isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            todo = [node.test]
        while todo:
            test = todo.pop()
            yield test
            if isinstance(test, ast.BoolOp):
                todo += test.values


def _named(node: ast.Subscript) -> bool:
    return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)


def _as_made(value: Value) -> Value:
    """Return a container as it was before it was filled."""
    for _ in range(100):
        if isinstance(value, Changed | Loop):
            value = value.before
        elif isinstance(value, Choice) and len(value.options) == 1:
            value = value.options[0]
        else:
            break
    return value
