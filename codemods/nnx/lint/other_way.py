"""Code under a condition that does not hold wherever its function is traced, as what is printed for debugging."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.conditions import opposed
from codemods.nnx.lint.syntax import Path
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Const, Free


def runs_untraced(context: Context, node: ast.AST, scope: Scope) -> bool:
    """Say whether all that traces a function stands under conditions that exclude those around a place of it.

    So it is with ``if debug: print(x)`` in a step that Python calls ``if debug``, and ``jax.lax.scan`` otherwise.

    Args:
        context: the analysis.
        node: what stands there.
        scope: the body of the function.
    """
    function = scope.function
    path = context.bodies.paths(scope).get(node, ())
    if function is None or not any(isinstance(block, ast.If | ast.IfExp) for block, _ in path):
        return False
    roots = _roots(context, function)
    return bool(roots) and all(_excluded(context, root, path, scope) for root in roots)


def _roots(context: Context, function: FunctionFacts) -> list[Root]:
    """Return what traces a function, or a function that calls it."""
    found: list[Root] = []
    waiting, seen = [function], {function}
    while waiting:
        tracing = context.traced.get(waiting.pop())
        if tracing is None:
            continue
        found += tracing.roots
        callers = {way.by for way in tracing.ways} - seen
        seen |= callers
        waiting += callers
    return found


def _excluded(context: Context, root: Root, path: Path, scope: Scope) -> bool:
    """Say whether a place of an inner function is not reached where a transform is applied to it.

    Where it is applied to the function around, that is so with the defaults of parameters that no call in sight gives.
    """
    if not root.decorator:
        around = context.bodies.paths(root.scope).get(root.node, ())
        if opposed(around, _of(path, scope, root.scope), root.scope.node):
            return True
    whole = root.function.scope
    return whole is not scope and opposed(_defaults(context, root), _of(path, scope, whole), whole.node)


def _of(path: Path, scope: Scope, outer: Scope) -> Path:
    """Return the conditions of an inner function on nothing but variables of a scope around it."""
    values = scope.module.values
    return tuple(
        (block, arm)
        for block, arm in path
        if isinstance(block, ast.If | ast.IfExp)
        and all(
            isinstance(value := values.get(n), Free) and value.scope is outer
            for n in ast.walk(block.test)
            if isinstance(n, ast.Name)
        )
    )


def _defaults(context: Context, root: Root) -> Path:
    """Return that parameters have their defaults, where these are constants and no call in sight gives others."""
    function = root.function
    found: list[tuple[ast.AST, str]] = []
    for name, default in function.defaults.items():
        value = default.value if isinstance(default, Const) else ...
        if not isinstance(value, str | int | float | None) or context.traced.passes(root, name):
            continue
        test = ast.Compare(ast.Name(name, ast.Load()), [ast.Eq()], [ast.Constant(value)])
        whole = ast.copy_location(ast.If(test, [], []), function.node)
        found.append((ast.fix_missing_locations(whole), "body"))
    return tuple(found)
