"""Numbers of Python that a model keeps, and that a loop changes between compiled steps; part of NNX919."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, Scope
from codemods.nnx.lint.owners import owner_class, plain_module
from codemods.nnx.lint.places import compiled_roots, in_test
from codemods.nnx.lint.static_varies import counted
from codemods.nnx.values import Call, Const, Param, Value

_NUMBERS = frozenset({"float", "int", "max", "min", "abs", "round", "len", "pow"})
_DEPTH = 6


def changed_numbers(context: Context) -> Iterator[tuple[Scope, ast.Attribute]]:
    """Yield the attributes of models that a loop gives another number in every round, beside a step of ``nnx.jit``."""
    told: set[ast.AST] = set()
    for root in compiled_roots(context):
        if root.transform != "flax.nnx.jit" or in_test(root.scope):
            continue
        for event in context.traced.calls_of(root):
            loop = next((one for one in reversed(event.loops) if isinstance(one, ast.For)), None)
            if loop is None or event.scope.module not in context.asked or in_test(event.scope):
                continue
            for statement in loop.body:
                target = _changed(statement)
                if target is None or target in told or not _given(event, target):
                    continue
                value = event.scope.module.values.get(target.value)
                cls = owner_class(context, value, event.scope) if value is not None else None
                if not isinstance(cls, ClassFacts) or not plain_module(context, cls):
                    continue
                if _kept_number(context, cls, target.attr) and _varies(context, statement, loop, event.scope):
                    told.add(target)
                    yield event.scope, target


def _changed(statement: ast.stmt) -> ast.Attribute | None:
    """Return the attribute of a variable that a statement assigns to."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AugAssign):
        targets = [statement.target]
    target = targets[0] if len(targets) == 1 else None
    return target if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) else None


def _given(event: CallEvent, target: ast.Attribute) -> bool:
    """Say whether a call is given the object whose attribute is changed."""
    assert isinstance(target.value, ast.Name)
    given = [*event.node.args, *(word.value for word in event.node.keywords)]
    return any(isinstance(one, ast.Name) and one.id == target.value.id for one in given)


def _kept_number(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether an attribute is a number of Python, by all that the class puts there."""
    stores = [one for parent in context.flow.classes.mro(cls)[0] for one in parent.stores.get(name, ())]
    return bool(stores) and all(_plain(context, value, function.scope) for function, value in stores)


def _plain(context: Context, value: Value, scope: Scope) -> bool:
    if isinstance(value, Param):
        default = value.function.defaults.get(value.name)
        return isinstance(default, Const) and _is_number(default.value)
    found = context.flow.resolve(context.flow.here(value, scope)).value
    return isinstance(found, Const) and _is_number(found.value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _varies(context: Context, statement: ast.stmt, loop: ast.For, scope: Scope) -> bool:
    """Say whether a number of Python is assigned that is another one in each round."""
    counters = {name.id for name in counted(loop.target, loop.iter)}
    if isinstance(statement, ast.AugAssign):
        return _number(context, statement.value, scope, counters, 0)
    assert isinstance(statement, ast.Assign)
    names = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
    itself = ast.unparse(statement.targets[0])
    again = any(ast.unparse(n) == itself for n in ast.walk(statement.value) if isinstance(n, ast.Attribute))
    return bool(names & counters or again) and _number(context, statement.value, scope, counters, 0, itself)


def _number(context: Context, node: ast.expr, scope: Scope, known: set[str], depth: int, itself: str = "") -> bool:
    """Say whether an expression is a number of Python, where some variables, and an attribute, are."""
    if depth > _DEPTH:
        return False
    if isinstance(node, ast.Constant):
        return _is_number(node.value)
    if isinstance(node, ast.UnaryOp):
        return _number(context, node.operand, scope, known, depth + 1, itself)
    if isinstance(node, ast.BinOp):
        return all(_number(context, side, scope, known, depth + 1, itself) for side in (node.left, node.right))
    if isinstance(node, ast.IfExp):
        return all(_number(context, side, scope, known, depth + 1, itself) for side in (node.body, node.orelse))
    if isinstance(node, ast.Attribute) and itself:
        return ast.unparse(node) == itself
    value = scope.module.values.get(node)
    if isinstance(node, ast.Name):
        if node.id in known:
            return True
        if isinstance(value, Param):
            return _plain(context, value, scope)
        found = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
        return isinstance(found, Const) and _is_number(found.value)
    if not isinstance(node, ast.Call) or not isinstance(value, Call) or value.starred:
        return False
    given = [*node.args, *(word.value for word in node.keywords)]
    if not all(_number(context, one, scope, known, depth + 1, itself) for one in given):
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    if name:
        home, _, word = name.rpartition(".")
        return home == "math" or (home == "builtins" and word in _NUMBERS)
    for callee in context.flow.calls.callables(context.flow.here(value.callee, scope)):
        function = callee.function
        returned = [n.value for n in ast.walk(function.node) if isinstance(n, ast.Return) and n.value is not None]
        if isinstance(function.node, ast.Lambda):
            returned = [function.node.body]
        bare = all(_number(context, one, function.scope, set(function.params), depth + 1) for one in returned)
        return bool(returned) and bare and not function.decorators
    return False
