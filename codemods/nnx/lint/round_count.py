"""How many rounds loops have that count up to written numbers."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Const, Unknown

_COUNTING = frozenset({"range", "trange", "arange"})
_WRAPPING = frozenset({"enumerate", "tqdm", "track", "sorted", "reversed", "list", "tuple", "iter"})
_DEEP = 4  # how many sums and products within one another are worked out


def rounds_at_most(context: Context, scope: Scope, loops: Sequence[ast.AST]) -> int | None:
    """Return how many rounds loops in one another have together; None if that is not known of each.

    Args:
        context: the analysis.
        scope: the scope that the loops stand in.
        loops: the loops.
    """
    product = 1
    for loop in loops:
        given = loop.iter if isinstance(loop, ast.For | ast.comprehension) else None
        while isinstance(given, ast.Call) and last_word(given.func) in _WRAPPING and given.args:
            given = given.args[0]
        if isinstance(given, ast.Tuple | ast.List) and not any(isinstance(one, ast.Starred) for one in given.elts):
            product *= len(given.elts)
            continue
        if not isinstance(given, ast.Call) or last_word(given.func) not in _COUNTING or given.keywords:
            return None
        ends = [_sum(context, scope, one, 0) for one in given.args[:2]]
        if not ends or None in ends or len(given.args) > 2:
            return None
        product *= max((ends[-1] or 0) - (ends[0] or 0 if len(ends) == 2 else 0), 0)
    return product


def _sum(context: Context, scope: Scope, node: ast.expr, depth: int) -> int | None:
    """Return a whole number that is written, or made of such numbers: ``EXAMPLES // BATCH + 1``."""
    number = _written(context, scope, node)
    if number is not None or depth > _DEEP:
        return number
    if isinstance(node, ast.Name):
        value = scope.module.values.get(node)
        found = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
        made = found.node if isinstance(found, Unknown) else None
        return _sum(context, scope, made, depth + 1) if isinstance(made, ast.BinOp) else None
    if not isinstance(node, ast.BinOp):
        return None
    left, right = (_sum(context, scope, part, depth + 1) for part in (node.left, node.right))
    if left is None or right is None:
        return None
    match node.op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv():
            return left // right if right else None
    return None


def _written(context: Context, scope: Scope, node: ast.expr) -> int | None:
    value = scope.module.values.get(node)
    found = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
    number = found.value if isinstance(found, Const) else constant(node)
    return number if type(number) is int else None
