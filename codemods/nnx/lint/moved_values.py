"""Expressions that give another number whenever they are applied to what they gave before."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Call, Param

_UP = frozenset({"exp", "expm1", "exp2", "softplus", "square", "sigmoid", "expit", "negative", "reciprocal", "deg2rad",
                 "rad2deg", "radians", "degrees", "inv", "transpose"})  # fmt: skip
_DOWN = frozenset({"log", "log1p", "log2", "log10", "sqrt", "logit", "cholesky"})
_ALIKE = frozenset({"asarray", "array", "float32", "float64", "device_put", "float"})
_SPACES = ("jax.numpy.", "numpy.", "jax.nn.", "jax.scipy.", "math.", "jax.lax.")
_NEUTRAL: dict[type[ast.operator], object] = {ast.Add: 0, ast.Sub: 0, ast.Mult: 1, ast.Div: 1, ast.Pow: 1}


def moved(context: Context, node: ast.expr, scope: Scope) -> Param | None:
    """Return the parameter of which an expression gives another number, and of that one another one again.

    Args:
        context: the analysis.
        node: the expression.
        scope: the scope that it is written in.

    Returns:
        None for another expression, and for one that may give the same again, as rounding and clipping do.
    """
    steps: list[str] = []
    param = _steps(context, node, scope, steps)
    words = {*steps}
    # what turns the other back may give what it was given
    return param if words and not (words & _UP and words & _DOWN) else None


def _steps(context: Context, node: ast.expr, scope: Scope, steps: list[str]) -> Param | None:
    """Return the parameter that an expression is computed of, and note what is done on the way."""
    value = scope.module.values.get(node)
    if isinstance(value, Param):
        return value
    if isinstance(node, ast.Call) and isinstance(value, Call) and len(node.args) >= 1 and not value.starred:
        name = context.flow.calls.callee_name(context.flow.here(value, scope))
        if not name.startswith((*_SPACES, "builtins.", "jax.device_put")):
            return None
        word = last(name)
        if word in _ALIKE:
            return _steps(context, node.args[0], scope, steps)
        if word not in _UP | _DOWN or len(node.args) != 1 or node.keywords:
            return None
        steps.append(word)
        return _steps(context, node.args[0], scope, steps)
    if isinstance(node, ast.Attribute) and node.attr == "T":
        steps.append("transpose")
        return _steps(context, node.value, scope, steps)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        steps.append("negative")
        return _steps(context, node.operand, scope, steps)
    if isinstance(node, ast.BinOp) and type(node.op) in _NEUTRAL:
        for one, other in ((node.left, node.right), (node.right, node.left)):
            number = constant(other)
            if isinstance(number, int | float) and number != _NEUTRAL[type(node.op)]:
                steps.append(type(node.op).__name__)
                return _steps(context, one, scope, steps)
    return None
