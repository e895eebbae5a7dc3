"""Variables of one number as conditions; part of NNX760."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import originals_that
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.may.may import Made
from codemods.nnx.v012.variables import of_own_classes
from codemods.nnx.values import Call, Changed, Class, Const, Sequence, Value

_VARIABLES = frozenset({"Variable", "Param", "BatchStat", "Cache", "Intermediate"})
_MAKERS = frozenset({"array", "asarray", "bool_", "int32", "float32", "uint32", "full"})
_SHAPED = frozenset({"zeros", "ones", "full"})


def variable_conditions(context: Context) -> Iterator[tuple[Scope, ast.expr]]:
    """Yield the Variables of one truth value that are conditions themselves, which asks for their length."""
    made: tuple[Made, ...] | None = None
    for scope, node in each(context, ast.If, ast.While, ast.IfExp, ast.Assert):
        if not scope.module.source.mentions(b"nnx"):
            continue
        for test in _tests(node):
            value = scope.module.values.get(test)
            if value is None:
                continue
            made = made if made is not None else context.shared(_made)
            if not any(one.may_be(value) for one in made) or in_test(scope):
                continue
            found = originals_that(context, context.flow.here(value, scope), _told)
            sources = [one for one in found if not isinstance(one.value, Changed)]  # the same one, with another value
            if sources and all(_single(context, one) for one in sources):
                if not context.bodies.guarded(test, scope):
                    yield scope, test


def _made(context: Context) -> tuple[Made, ...]:
    """Return what may be a Variable."""
    return context.flow.may.made_by(_VARIABLES), of_own_classes(context)


def _tests(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the names and attributes that a node asks for their truth."""
    pending: list[ast.expr] = []
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        pending = [node.test]
    while pending:
        test = pending.pop()
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            pending.append(test.operand)
        elif isinstance(test, ast.BoolOp):
            pending += test.values
        elif isinstance(test, ast.Name | ast.Attribute):
            yield test


def _told(value: Value) -> bool:
    """Say whether a Variable, whatever was assigned to it, can stand there so that its number is seen."""
    return isinstance(value, Changed) or (isinstance(value, Call) and bool(value.args) and not value.starred)


def _single(context: Context, source: Bound) -> bool:
    """Say whether a Variable is made of one number."""
    value = source.value
    if not isinstance(value, Call) or value.starred or not value.args:
        return False
    name = context.flow.calls.callee_name(source)
    if not (name.startswith("flax.nnx.") and last(name) in _VARIABLES):
        cls = context.flow.follow(source, value.callee).value
        if not isinstance(cls, Class) or "__bool__" in cls.facts.methods or "__len__" in cls.facts.methods:
            return False
        if "flax.nnx.Variable" not in context.flow.classes.mro(cls.facts)[1] and not any(
            base.startswith("flax.nnx.") and last(base) in _VARIABLES for base in context.flow.classes.mro(cls.facts)[1]
        ):
            return False
    return _number(context, context.flow.resolve(context.flow.with_value(source, value.args[0])))


def _number(context: Context, given: Bound) -> bool:
    value: Value = given.value
    if isinstance(value, Const):
        return isinstance(value.value, bool | int | float)
    if not isinstance(value, Call) or not value.args:
        return False
    name = context.flow.calls.callee_name(given)
    first = context.flow.resolve(context.flow.with_value(given, value.args[0])).value
    if not name.startswith(("jax.numpy.", "numpy.")):
        return False
    if last(name) in _SHAPED:
        return isinstance(first, Sequence) and not first.items
    return last(name) in _MAKERS and isinstance(first, Const) and isinstance(first.value, bool | int | float)
