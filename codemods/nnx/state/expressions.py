"""The expressions of a run: which objects they give, and whose Variables they look at."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemods.nnx.identity_tests import identified
from codemods.nnx.state.events import Yielded
from codemods.nnx.state.heap import ANY, Thing
from codemods.nnx.state.statements import VALUE
from codemods.nnx.values import Function

if TYPE_CHECKING:
    from codemods.nnx.state.execution import Execution

_FEW = 4  # how many rounds of a comprehension are told apart


class Expressions:
    """Evaluates expressions; values that are no objects give nothing."""

    def __init__(self, execution: Execution) -> None:
        self.run = execution

    def value(self, node: ast.expr) -> set[Thing]:
        """Evaluate an expression."""
        run = self.run
        if isinstance(node, ast.Name):
            return self._mention(node) or run.name(node.id)
        if isinstance(node, ast.Constant):
            return set()
        if isinstance(node, ast.Attribute):
            mentioned = self._mention(node)
            if mentioned:
                return mentioned
            base = self.value(node.value) or run.of_class(node)
            if not base:
                variable = run.of_module(run.scope.module.values.get(node))
                return run.around(variable) if variable is not None else set()
            if node.attr in VALUE:
                run.read(base, node)
                return set()
            return run.attribute(base, node.attr)
        if isinstance(node, ast.Call):
            return run.calls.call(node)
        if isinstance(node, ast.Subscript):
            self.value(node.slice)
            base = self.value(node.value)
            if not base:
                return base
            if _whole(node.slice):
                run.read(base, node)
            return run.item(base, self.key(node.slice))
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            made = self._display(node)
            return {made} if made.fields or not isinstance(node, ast.Tuple) else set()
        if isinstance(node, ast.Dict):
            return {self._mapping(node)}
        if isinstance(node, ast.IfExp):
            self.value(node.test)
            return self.value(node.body) | self.value(node.orelse)
        if isinstance(node, ast.BoolOp):
            return {thing for part in node.values for thing in self.value(part)}
        if isinstance(node, ast.NamedExpr):
            things = self.value(node.value)
            run.statements.store(node.target, things)
            return things
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            return self.comprehension(node)
        if isinstance(node, ast.Lambda):
            function = run.scope.module.values.get(node)
            return {run.closure(function.facts)} if isinstance(function, Function) else set()
        if isinstance(node, ast.Compare):
            self.compared(node)
            return set()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            things = self.value(node.value) if node.value is not None else set()
            run.results |= {Thing(fields={ANY: things})} if isinstance(node, ast.Yield) else things
            run.log.append(Yielded(things, node))
            return set()
        if isinstance(node, ast.Await | ast.Starred):
            return self.value(node.value)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self.value(node.left) | self.value(node.right)  # states are joined with `|`
        if isinstance(node, ast.BinOp):
            left, right = self.value(node.left), self.value(node.right)
            joined = run.library.containers.joined(node, left, right)
            if joined is not None:
                return joined
            run.read(left, node.left)
            run.read(right, node.right)
            return set()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                run.read(self.value(child), child)
        return set()

    def _mention(self, node: ast.expr) -> set[Thing]:
        """Return the function that a name means, if it is one that shares Variables."""
        name = self.run.library.shares(node, self.run.scope)
        return {Thing(named=(name, node, self.run.scope))} if name else set()

    def _display(self, node: ast.Tuple | ast.List | ast.Set) -> Thing:
        whole = Thing(display=True)
        shifted = False  # behind a star an element may have any index
        for index, element in enumerate(node.elts):
            if isinstance(element, ast.Starred):
                shifted = True
                whole.hold(ANY, self.run.elements(self.value(element.value)))
            else:
                things = self.value(element)
                if things:
                    whole.hold(ANY if shifted else str(index), things)
        return whole

    def _mapping(self, node: ast.Dict) -> Thing:
        whole = Thing(display=True)
        for key, element in zip(node.keys, node.values, strict=True):
            things = self.value(element)
            if not things:
                continue
            if key is None:
                whole.hold(ANY, self.run.elements(things))
            else:
                whole.hold(self.key(key), things)
        return whole

    def compared(self, node: ast.Compare) -> None:
        """Evaluate a comparison, which reads what it compares by value."""
        operands = [self.value(identified(operand) or operand) for operand in (node.left, *node.comparators)]
        if identified(node.left) is not None and identified(node.comparators[0]) is not None:
            self.run.told_apart(operands[0], operands[1], node)
            return
        for operator, one, two in zip(node.ops, operands, operands[1:], strict=False):
            if isinstance(operator, ast.Is | ast.IsNot):
                self.run.told_apart(one, two, node)
            elif not isinstance(operator, ast.In | ast.NotIn):
                self.run.read(one | two, node)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> set[Thing]:
        """Evaluate a comprehension: as every loop, what one round keeps, the next may change."""
        rounds = None if isinstance(node, ast.DictComp | ast.SetComp) else self._rounds(node.generators)
        if rounds is not None and not isinstance(node, ast.DictComp):
            made = Thing(display=True)
            for index, things in enumerate(rounds):
                self.run.statements.store(node.generators[0].target, things)
                made.hold(str(index), self.value(node.elt))
            return {made}
        element: set[Thing] = set()
        for _ in range(2):
            for generator in node.generators:
                self.run.statements.store(generator.target, self.run.elements(self.value(generator.iter)))
                for condition in generator.ifs:
                    self.value(condition)
            if isinstance(node, ast.DictComp):
                self.value(node.key)
                element |= self.value(node.value)
            else:
                element |= self.value(node.elt)
        return {Thing(fields={ANY: element})}

    def _rounds(self, generators: list[ast.comprehension]) -> list[set[Thing]] | None:
        """Return what each round of a comprehension over few elements gets, which are written out or counted."""
        over = generators[0].iter
        if len(generators) > 1 or generators[0].ifs:
            return None
        if isinstance(over, ast.Tuple | ast.List):
            if not 1 < len(over.elts) <= _FEW or any(isinstance(one, ast.Starred) for one in over.elts):
                return None
            return [self.value(one) for one in over.elts]
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range":
            count = over.args[0].value if len(over.args) == 1 and isinstance(over.args[0], ast.Constant) else 0
            return [set() for _ in range(count)] if isinstance(count, int) and 1 < count <= _FEW else None
        return None

    def key(self, node: ast.expr) -> str:
        """Return the name of the field that an index means."""
        return str(node.value) if isinstance(node, ast.Constant) else ANY


def _whole(index: ast.expr) -> bool:
    """Say whether an index gives the value of a Variable: ``v[...]`` or ``v[:]``."""
    return isinstance(index, ast.Slice) or (isinstance(index, ast.Constant) and index.value is Ellipsis)
