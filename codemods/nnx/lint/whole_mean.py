"""Whether an expression is the mean of all numbers of a batch, also as a part of what a function gives; for NNX544."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.places import formula_of, written
from codemods.nnx.lint.sum_of_means import is_mean
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Item

_BARE = frozenset({"float", "asarray", "array", "device_get", "item", "block_until_ready"})


def is_batch_mean(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the mean over a batch, or holds such means.

    Args:
        context: the analysis.
        node: the expression.
        scope: the body that it stands in.
    """
    while isinstance(node, ast.Call) and last_word(node.func) in _BARE:
        inner = node.args[0] if node.args else getattr(node.func, "value", None)
        if not isinstance(inner, ast.expr):
            return False
        node = inner
    if is_mean(context, node, scope):
        return True
    value = scope.module.values.get(node)
    way: list[object] = []
    while isinstance(value, Item) and isinstance(value.index, Const):
        way.insert(0, value.index.value)
        value = value.base
    if not isinstance(value, Call) or value.starred:
        return False
    invoked = context.flow.calls.invoked(context.flow.here(value, scope))
    if len(invoked) != 1 or invoked[0][0].gradient:
        return False
    function = invoked[0][0].function
    formula = formula_of(context, function)
    for step in way:
        if isinstance(formula, ast.Tuple) and isinstance(step, int) and -len(formula.elts) <= step < len(formula.elts):
            formula = written(context, formula.elts[step], function.scope)
        elif isinstance(formula, ast.Dict):
            keys = [constant(key) for key in formula.keys]
            formula = formula.values[keys.index(step)] if step in keys else None
        else:
            return False
    parts = formula.values if isinstance(formula, ast.Dict) else [formula] if formula is not None else []
    return bool(parts) and all(is_mean(context, one, function.scope) for one in parts)
