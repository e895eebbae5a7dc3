"""Code that no call in sight switches on, as under ``if debug:`` where every caller says ``debug=False``."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.values import Const, Param


def switched_off(context: Context, node: ast.AST, scope: Scope) -> bool:
    """Say whether a node stands under a parameter that is False by default and in all calls, one of which says so."""
    for block, arm in context.bodies.paths(scope).get(node, ()):
        if isinstance(block, ast.If | ast.IfExp) and arm == "body" and isinstance(block.test, ast.Name):
            value = scope.module.values.get(block.test)
            if isinstance(value, Param) and _never(context, value):
                return True
    return False


def _never(context: Context, param: Param) -> bool:
    if not _false(param.function.defaults.get(param.name)):
        return False
    said = False
    for frame in context.flow.sites.entries(param.function):
        given = context.flow.argument(frame, param.name)
        if given is None:
            continue
        if not _false(context.flow.resolve(given).value):
            return False
        said |= frame.site is not None
    return said


def _false(value: object) -> bool:
    return isinstance(value, Const) and value.value is False
