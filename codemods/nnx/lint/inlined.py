"""What a call of a small function of the project stands for: the expression that it gives, with the arguments in it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, ModuleFacts, Scope
from codemods.nnx.lint.places import written
from codemods.nnx.lint.syntax import taken_apart
from codemods.nnx.nodes import elements, every, last_word
from codemods.nnx.values import Attr, Call, Const, Unknown, Value

_MANY = 60  # nodes of an expression that is worth looking through
_KEEPING = frozenset({"jit", "staticmethod", "checkpoint", "remat"})  # decorators below which a function gives the same
_UNLIKE = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr, ast.Await, ast.Yield,
           ast.YieldFrom, ast.Starred, ast.JoinedStr)  # fmt: skip


def inlined(context: Context, call: ast.Call, scope: Scope) -> ast.expr | None:
    """Return what a call of a function that is a formula gives, written where the call stands; None for others.

    The arguments are the nodes of the call. All other nodes are copies, which stand where the call does.

    Args:
        context: the analysis.
        call: the call.
        scope: the body that it stands in.
    """
    formulas = context.shared(_formulas)
    if last_word(call.func) not in formulas:
        return None
    known = context.shared(_found)
    if call not in known:
        known[call] = None  # of a function that calls itself
        known[call] = _inlined(context, call, scope)
    return known[call]


def looked_through(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return the expression of which a variable is the name, and what a function gives that is a formula.

    Args:
        context: the analysis.
        node: an expression; one that is neither is returned itself.
        scope: the body that it stands in.
    """
    made = written(context, node, scope)
    return (inlined(context, made, scope) or made) if isinstance(made, ast.Call) else made


def _inlined(context: Context, call: ast.Call, scope: Scope) -> ast.expr | None:
    value = scope.module.values.get(call)
    if not isinstance(value, Call) or value.starred or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    reached = context.flow.calls.callables(context.flow.here(value.callee, scope))
    if len(reached) != 1 or reached[0].gradient or reached[0].args or reached[0].keywords:
        return None
    function = reached[0].function
    formula = context.shared(_formulas)[last_word(call.func)].get(function)
    if formula is None or (reached[0].traced and not function.decorators):
        return None  # of what is mapped over an axis, another formula is right
    given = _arguments(function, call)
    if given is None:
        return None
    copies = _Copies(call, given, formula.steps, function.scope.module, scope.module)
    made = copies.of(formula.result)
    return made if copies.left > 0 else None


def word_of(node: ast.BinOp | ast.Call) -> str:
    """Return the word for an operation: the last one of the function that is called, or what the operator is called."""
    return last_word(node.func) if isinstance(node, ast.Call) else type(node.op).__name__


def words_of_formulas(context: Context) -> dict[str, frozenset[str]]:
    """Return the words of the operations of the functions that are one expression, by the names of the functions."""
    return {
        name: frozenset(
            word_of(node)
            for formula in formulas.values()
            for node in formula.parts()
            if isinstance(node, ast.BinOp | ast.Call)
        )
        for name, formulas in context.shared(_formulas).items()
    }


def _found(context: Context) -> dict[ast.Call, ast.expr | None]:
    return {}


@dataclass(frozen=True)
class _Formula:
    """What a function computes.

    Attributes:
        result: the expression that it gives.
        steps: what its variables stand for in that and in one another.
    """

    result: ast.expr
    steps: Mapping[str, ast.expr]

    def parts(self) -> list[ast.AST]:
        """Return all nodes of the expressions."""
        return [node for part in (self.result, *self.steps.values()) for node in every(part)]


def _formulas(context: Context) -> dict[str, dict[FunctionFacts, _Formula]]:
    """Return the functions that are one expression, with that, by their names."""
    found: dict[str, dict[FunctionFacts, _Formula]] = {}
    for module in context.project.modules:
        for function in module.functions:
            outer = function.scope.parent if function.owner is None else None
            if outer is not None and outer.function is not None:
                continue  # it may read variables of the function around it
            formula = _formula(function)
            if formula is not None:
                found.setdefault(function.name, {})[function] = formula
    return found


def _formula(function: FunctionFacts) -> _Formula | None:
    """Return what a function computes, if it does nothing but set variables once and give an expression."""
    node = function.node
    if not isinstance(node, ast.FunctionDef) or any(last_word(one) not in _KEEPING for one in node.decorator_list):
        return None
    if node.args.vararg or node.args.kwarg:
        return None
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if not body or not isinstance(body[-1], ast.Return) or body[-1].value is None:
        return None
    steps: dict[str, ast.expr] = {}
    for one in body[:-1]:
        for name, value in _steps(one):
            if name in steps or name in function.params or not name:
                return None  # what it stands for depends on the place
            steps[name] = value
    formula = body[-1].value
    if isinstance(formula, ast.Tuple | ast.List | ast.Dict | ast.Constant):
        return None
    found = _Formula(formula, steps)
    nodes = found.parts()
    return found if len(nodes) <= _MANY and not any(isinstance(one, _UNLIKE) for one in nodes) else None


def _steps(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the variables that a statement sets, each with what it gets; no name for anything else that it does."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        yield "", ast.Constant(None)
        return
    for target, value in taken_apart(statement.targets[0], statement.value):
        parts = elements(target)
        for place, part in enumerate(parts):
            whole = part is target
            taken = value if whole else ast.copy_location(ast.Subscript(value, ast.Constant(place), ast.Load()), value)
            yield part.id if isinstance(part, ast.Name) else "", taken


def _arguments(function: FunctionFacts, call: ast.Call) -> Mapping[str, ast.expr] | None:
    """Return the expressions that a call gives for the parameters of a function, defaults among them."""
    assert isinstance(function.node, ast.FunctionDef)
    taken = function.node.args
    places = [one.arg for one in (*taken.posonlyargs, *taken.args)]
    given: dict[str, ast.expr] = {}
    if function.owner is not None and "staticmethod" not in map(last_word, function.node.decorator_list):
        if not isinstance(call.func, ast.Attribute) or not places:
            return None
        given[places.pop(0)] = call.func.value
    if len(call.args) > len(places):
        return None
    given.update(zip(places, call.args, strict=False))
    for one in call.keywords:
        if one.arg is None or one.arg in given:
            return None
        given[one.arg] = one.value
    for name, default in (
        *zip(reversed(places), reversed(taken.defaults), strict=False),
        *((one.arg, node) for one, node in zip(taken.kwonlyargs, taken.kw_defaults, strict=True)),
    ):
        if default is not None:
            given.setdefault(name, default)
    every_name = {*places, *(one.arg for one in taken.kwonlyargs)}
    return given if every_name <= given.keys() else None


class _Copies:
    """Makes the copies of one expression, and says what they denote."""

    def __init__(
        self,
        call: ast.Call,
        given: Mapping[str, ast.expr],
        steps: Mapping[str, ast.expr],
        there: ModuleFacts,
        here: ModuleFacts,
    ) -> None:
        self.left = _MANY * 2  # what is larger is not looked through
        self._call = call
        self._given = given
        self._steps = steps
        self._there = there  # where the function is written
        self._here = here

    def of(self, node: ast.expr) -> ast.expr:
        """Return an expression with the arguments in place of the parameters."""
        if isinstance(node, ast.Name) and node.id in self._given:
            return self._given[node.id]
        self.left -= 1
        if self.left <= 0:
            return node
        if isinstance(node, ast.Name) and node.id in self._steps:
            return self.of(self._steps[node.id])
        made = copy.copy(node)
        for name, part in ast.iter_fields(node):
            if isinstance(part, ast.expr):
                setattr(made, name, self.of(part))
            elif isinstance(part, list):
                setattr(made, name, [self._of_part(one) for one in part])
        ast.copy_location(made, self._call)
        self._here.values[made] = self._value(made, node)
        return made

    def _of_part(self, part: object) -> object:
        if isinstance(part, ast.expr):
            return self.of(part)
        if isinstance(part, ast.keyword):
            return ast.copy_location(ast.keyword(part.arg, self.of(part.value)), self._call)
        return part

    def _value(self, made: ast.expr, node: ast.expr) -> Value:
        """Return what a copy denotes where the call stands."""
        values = self._here.values
        if isinstance(made, ast.Constant):
            return Const(made.value)
        if isinstance(made, ast.Name):
            return self._there.values.get(node, Unknown(made))
        if isinstance(made, ast.Attribute):
            return Attr(values.get(made.value, Unknown(made.value)), made.attr, made)
        if isinstance(made, ast.Call):
            args = tuple(values.get(one, Unknown(one)) for one in made.args)
            keywords = tuple((one.arg, values.get(one.value, Unknown(one.value))) for one in made.keywords)
            return Call(made, values.get(made.func, Unknown(made.func)), args, keywords)
        return Unknown(made)
