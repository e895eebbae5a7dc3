"""Masks that are called causal, and hold the upper triangle with its diagonal; part of NNX732."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_CAUSAL = pattern(r"(^|_)causal(_|$)")
_TURNING = frozenset({"logical_not", "invert", "bitwise_not", "transpose", "swapaxes", "matrix_transpose", "flip"})


def upper_causal(context: Context) -> Iterator[tuple[Scope, ast.Call, str]]:
    """Yield the upper triangles that get the name of a causal mask, and are used as they are.

    With its diagonal the triangle is no causal mask in any convention: as what may be seen it shows what comes behind,
    and as what is hidden it hides each position from itself.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, "triu"):
        statement = event.statement
        if name != "jax.numpy.triu" or in_test(event.scope) or not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0]
        if len(statement.targets) != 1 or not isinstance(target, ast.Name) or not _CAUSAL.search(target.id):
            continue
        diagonal = argument(event.node, 1, "k")
        if (diagonal is not None and constant(diagonal) != 0) or len(event.node.args) > 2:
            continue
        if _square(event.node.args[0] if event.node.args else None) and _plain(statement.value, event.node):
            if _as_it_is(context, event.scope, target.id):
                yield event.scope, event.node, target.id


def _square(node: ast.expr | None) -> bool:
    """Say whether an expression is a square of ones."""
    if not isinstance(node, ast.Call) or last_word(node.func) != "ones" or not node.args:
        return False
    shape = node.args[0]
    sizes = [ast.unparse(one) for one in shape.elts[-2:]] if isinstance(shape, ast.Tuple | ast.List) else []
    return len(sizes) == 2 and sizes[0] == sizes[1]


def _plain(value: ast.expr, call: ast.Call) -> bool:
    """Say whether a value is what a call gives, as it is or as another type."""
    while isinstance(value, ast.Call) and value is not call:
        if not isinstance(value.func, ast.Attribute) or value.func.attr != "astype":
            return False
        value = value.func.value
    return value is call


def _as_it_is(context: Context, scope: Scope, name: str) -> bool:
    """Say whether a variable is bound once, read, and nowhere turned round."""
    names = [n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == name]
    if sum(isinstance(n.ctx, ast.Store) for n in names) != 1 or len(names) < 2:
        return False
    return not any(_turns(node, name) for node in context.bodies.nodes(scope))


def _turns(node: ast.AST, name: str) -> bool:
    parts: list[ast.expr] = []
    if isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.BitXor):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.Call) and last_word(node.func) == "where":
        return _hides(node, name)
    elif isinstance(node, ast.Call) and last_word(node.func) in _TURNING:
        parts = [*node.args, node.func]
    elif isinstance(node, ast.Attribute) and node.attr in {"T", "mT"}:
        parts = [node.value]
    return any(isinstance(n, ast.Name) and n.id == name for part in parts for n in ast.walk(part))


def _hides(node: ast.Call, name: str) -> bool:
    """Say whether ``where`` takes its first value where the mask holds, which may be the one that hides."""
    return bool(node.args) and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.args[0]))
