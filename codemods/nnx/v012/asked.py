"""What is a Variable because the program asks for it: ``if isinstance(leaf, nnx.Variable)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.source import Source


def asked_variable(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a name is reached only where ``isinstance`` says that it is a Variable.

    Args:
        context: the analysis.
        node: the name where it is used.
        scope: the scope in which it stands.
    """
    if not isinstance(node, ast.Name) or node.id not in scope.module.source.once(_tested_names):
        return False
    if any(
        _says(context, test, holds, node, scope) and not _rebound(context, node, test, scope)
        for test, holds in _tests(context, node, scope)
    ):
        return True
    return _filtered(context, node, scope)


def _tested_names(source: Source) -> frozenset[str]:
    """Return the names in calls of ``isinstance``, and those of loops over what a comprehension tests."""
    if not source.mentions(b"isinstance"):
        return frozenset()
    asked = [call.args[0] for call in source.of_type(ast.Call)
             if isinstance(call.func, ast.Name) and call.func.id == "isinstance" and call.args]  # fmt: skip
    tested = {one.id for one in asked if isinstance(one, ast.Name)}
    loops = {loop.target.id for loop in source.of_type(ast.For) if isinstance(loop.target, ast.Name)}
    return frozenset(tested | loops) if tested else frozenset()


def asked_of_elements(
    context: Context, made: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, scope: Scope
) -> bool:
    """Say whether a comprehension takes what ``isinstance`` says to be a Variable as its elements or keys."""
    element = made.key if isinstance(made, ast.DictComp) else made.elt
    if not isinstance(element, ast.Name) or not scope.module.source.mentions(b"isinstance"):
        return False
    return any(_says(context, test, True, element, scope) for one in made.generators for test in one.ifs)


def _tests(context: Context, node: ast.Name, scope: Scope) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the conditions that hold, or do not, wherever a place is reached."""
    yield from context.bodies.in_front(node, scope)
    blocks: list[object] = [getattr(scope.node, "body", [])]
    for block, arm in context.bodies.paths(scope).get(node, ()):
        if isinstance(block, ast.If | ast.IfExp) and arm in {"body", "orelse"}:
            yield block.test, arm == "body"
        blocks.append(getattr(block, arm, None))
    for statements in blocks:
        for statement in statements if isinstance(statements, list) else ():
            if isinstance(statement, ast.If) and not statement.orelse and (statement.end_lineno or 0) < node.lineno:
                if isinstance(statement.body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break):
                    yield statement.test, False


def _says(context: Context, test: ast.expr, holds: bool, node: ast.Name, scope: Scope) -> bool:
    """Say whether a condition, if it holds or does not, means that a name is a Variable."""
    for part, wanted in _parts(test, holds):
        if not wanted or not isinstance(part, ast.Call) or len(part.args) != 2 or part.keywords:
            continue
        if not isinstance(part.func, ast.Name) or part.func.id != "isinstance":
            continue
        first, kinds = part.args[0], part.args[1]
        if not isinstance(first, ast.Name) or first.id != node.id:
            continue
        classes = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
        values = [scope.module.values.get(cls) for cls in classes]
        if values and all(
            value is not None and context.kinds.class_kinds(context.flow.here(value, scope)) == {Kind.VARIABLE}
            for value in values
        ):
            return True
    return False


def _parts(test: ast.expr, holds: bool) -> Iterator[tuple[ast.expr, bool]]:
    """Yield what must hold, or must not, where a condition does or does not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _parts(test.operand, not holds)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if holds else ast.Or):
        for value in test.values:
            yield from _parts(value, holds)
    else:
        yield test, holds


def _rebound(context: Context, node: ast.Name, test: ast.expr, scope: Scope) -> bool:
    """Say whether a name is bound anew between a condition and its use."""
    first, last = test.end_lineno or test.lineno, node.lineno
    return any(
        isinstance(one, ast.Name)
        and one.id == node.id
        and isinstance(one.ctx, ast.Store | ast.Del)
        and first < one.lineno <= last
        for one in context.bodies.nodes(scope)
    )


def _filtered(context: Context, node: ast.Name, scope: Scope) -> bool:
    """Say whether a loop takes a name out of a comprehension that asks for Variables."""
    loops = [
        block
        for block, arm in context.bodies.paths(scope).get(node, ())
        if isinstance(block, ast.For) and arm == "body" and isinstance(block.target, ast.Name)
        if block.target.id == node.id
    ]
    if not loops or _rebound(context, node, loops[-1].iter, scope):
        return False
    taken: ast.AST = loops[-1].iter
    if isinstance(taken, ast.Name):
        made = [
            one.value
            for one in context.bodies.nodes(scope)
            if isinstance(one, ast.Assign) and any(isinstance(t, ast.Name) and t.id == taken.id for t in one.targets)
        ]
        taken = made[0] if len(made) == 1 else taken
    if not isinstance(taken, ast.ListComp | ast.GeneratorExp | ast.SetComp) or not isinstance(taken.elt, ast.Name):
        return False
    return asked_of_elements(context, taken, scope)
