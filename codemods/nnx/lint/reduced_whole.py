"""Functions on the host that reduce all axes of what they are given; part of NNX937."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.lint.places import written
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Param

_REDUCING = frozenset({"sum", "mean", "max", "min", "std", "var", "prod", "norm", "median", "amax", "amin", "argmax",
                       "argmin", "logsumexp"})  # fmt: skip
_COPYING = frozenset(
    {"asarray", "array", "astype", "copy", "exp", "abs", "log", "square", "sqrt", "float64", "float32"}
)
# what looks at the axes, or goes through them
_AWARE = frozenset({"shape", "ndim", "reshape", "vectorize", "apply_along_axis", "squeeze", "atleast_2d", "einsum"})
_DEPTH = 6


def reduced_whole(context: Context, function: FunctionFacts, places: set[int]) -> ast.Call | None:
    """Return a call in a function that reduces all of one of its arguments to one number; None if there is none.

    Functions that look at the shape of what they are given, or that go through it, are left alone.

    Args:
        context: the analysis.
        function: the function.
        places: the places of the arguments that have a batch.
    """
    if isinstance(function.node, ast.Lambda):
        nodes = [*ast.walk(function.node.body)]
    else:
        nodes = [n for one in function.node.body for n in ast.walk(one)]
    if any(isinstance(n, ast.For | ast.While | ast.comprehension) for n in nodes):
        return None
    if any(getattr(n, "attr", getattr(n, "id", "")) in _AWARE for n in nodes):
        return None
    names = list(function.params)[int(function.binding in {"instance", "class"}) :]
    given = {name for place, name in enumerate(names) if place in places}
    for node in nodes:
        if not isinstance(node, ast.Call) or last_word(node.func) not in _REDUCING or node.keywords:
            continue
        if not isinstance(node.func, ast.Attribute) or len(node.args) > 1:
            continue
        named = last_word(node.func.value) in {"np", "numpy", "onp", "linalg"}
        whole = (node.args[0] if node.args else None) if named else (node.func.value if not node.args else None)
        if whole is not None and _of_parameter(context, whole, function, given, 0):
            return node
    return None


def _of_parameter(
    context: Context, node: ast.expr, function: FunctionFacts, given: set[str], depth: int
) -> bool:  # fmt: skip
    """Say whether an expression has the axes of one of some parameters: it is made element by element."""
    if depth > _DEPTH:
        return False
    value = function.scope.module.values.get(node)
    if isinstance(node, ast.Name) and isinstance(value, Param):
        return value.function is function and node.id in given
    made = written(context, node, function.scope)
    if isinstance(made, ast.BinOp):
        return any(_of_parameter(context, one, function, given, depth + 1) for one in (made.left, made.right))
    if isinstance(made, ast.UnaryOp):
        return _of_parameter(context, made.operand, function, given, depth + 1)
    if not isinstance(made, ast.Call) or last_word(made.func) not in _COPYING:
        return False
    method = isinstance(made.func, ast.Attribute) and last_word(made.func) in {"astype", "copy"}
    inner = made.func.value if method and isinstance(made.func, ast.Attribute) else made.args[0] if made.args else None
    return inner is not None and _of_parameter(context, inner, function, given, depth + 1)
