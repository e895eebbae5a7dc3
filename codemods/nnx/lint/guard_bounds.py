"""Divisors that are never zero, or not where a gradient comes by: which guards NNX870 has nothing to say of."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.places import literal, written
from codemods.nnx.lint.syntax import constant, inside, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_SMALL = 1e-2
_TINY = pattern(
    r"(^|_)(eps\w*|epsilon\w*|tol\w*|tiny|small\w*|min\w*|thresh\w*|zeros?|floor|delta|cutoff|smallest)(_|$)"
)
_DEPTH = 6
_ROOTS = frozenset({"sqrt", "cbrt", "abs", "absolute", "square", "asarray", "array"})


def about_zero(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether what something is compared with is zero, or a number that stands for little more.

    Args:
        context: the analysis.
        node: the other side of a comparison.
        scope: the scope that it stands in.
    """
    if isinstance(node, ast.UnaryOp):
        return about_zero(context, node.operand, scope)
    number = _number(context, node, scope)
    if number is not None:
        return abs(number) <= _SMALL
    if isinstance(node, ast.Name | ast.Attribute):
        if _TINY.search(last_word(node).lower()):
            return True
        made = written(context, node, scope)
        return made is not node and about_zero(context, made, scope)
    if isinstance(node, ast.BinOp):
        return about_zero(context, node.left, scope) or about_zero(context, node.right, scope)
    if isinstance(node, ast.Call):
        word = last_word(node.func)
        if word in {"asarray", "array", "float", "full_like"} and node.args:
            return about_zero(context, node.args[-1 if word == "full_like" else 0], scope)
        return word in {"zeros", "zeros_like"}
    return False


def never_zero(context: Context, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Say whether an expression is held off zero: a number, a floor under something, or what is made of these.

    Args:
        context: the analysis.
        node: the expression.
        scope: the scope that it stands in.
        depth: through how many steps it was followed.
    """
    if depth > _DEPTH:
        return False
    number = _number(context, node, scope)
    if number is not None:
        return number != 0
    made = written(context, node, scope)
    if made is not node:
        return never_zero(context, made, scope, depth + 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return never_zero(context, node.operand, scope, depth + 1)
    if isinstance(node, ast.BinOp):
        left = never_zero(context, node.left, scope, depth + 1)
        if isinstance(node.op, ast.Div | ast.Pow):
            return left
        return isinstance(node.op, ast.Mult) and left and never_zero(context, node.right, scope, depth + 1)
    if not isinstance(node, ast.Call):
        return False
    word = last_word(node.func)
    if word == "exp":
        return True
    if word in _ROOTS | {"pow", "power"} and node.args:
        return never_zero(context, node.args[0], scope, depth + 1)
    if word == "maximum" and len(node.args) == 2:
        return any(_positive(context, one, scope) for one in node.args)
    if word == "clip":
        lower = [*node.args[1:2], *(k.value for k in node.keywords if k.arg in {"min", "a_min"})]
        return any(_positive(context, one, scope) for one in lower)
    return False


def _positive(context: Context, node: ast.expr, scope: Scope) -> bool:
    number = _number(context, node, scope)
    return number is not None and number > 0


def _number(context: Context, node: ast.expr, scope: Scope) -> float | None:
    """Return the number that an expression is, also a constant of a module."""
    number = literal(context, node, scope)
    return float(number) if type(number) in {int, float} else None  # type: ignore[arg-type]


def added_together(function: FunctionFacts, quotient: ast.BinOp) -> bool:
    """Say whether a sum is divided by a count or a weight that begins at zero and grows in the same block as the sum:
    where the one is zero, the other is still the number that it began with, and has no gradient.

    Args:
        function: the function.
        quotient: the division.
    """
    total, count = quotient.left, quotient.right
    if not isinstance(total, ast.Name) or not isinstance(count, ast.Name):
        return False
    grown = [_grown(function, one.id) for one in (total, count)]
    return bool(grown[0]) and grown[0] == grown[1]


def _grown(function: FunctionFacts, name: str) -> list[int]:
    """Return the blocks in which something is added to a variable that begins at zero; nothing for any other one."""
    blocks: list[int] = []
    begun = False
    for node in ast.walk(function.node):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            for statement in block if isinstance(block, list) else ():
                target = (
                    statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
                )
                if not isinstance(target, ast.Name) or target.id != name:
                    continue
                if isinstance(statement, ast.Assign) and _zero(statement.value):
                    begun = True
                elif isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
                    blocks.append(id(block))
                elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
                    if not isinstance(statement.value.op, ast.Add) or name not in names_in(statement.value):
                        return []
                    blocks.append(id(block))
                else:
                    return []
    return blocks if begun else []


def _zero(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and last_word(node.func) in {"array", "asarray", "float32", "float64"} and node.args:
        return _zero(node.args[0])
    number = constant(node)
    return type(number) in {int, float} and number == 0


_HISTORY = pattern(r"histor|residual|diagnos|(^|_)(logs?|traces?|metrics?|infos?|stats|updates|errors|norms)(_|$)")


def kept_as_history(function: FunctionFacts, node: ast.AST) -> bool:
    """Say whether a value only goes into a list that a function gives as a part of its result which tells how it went,
    as ``residual_history=jnp.asarray(residuals)``.

    Args:
        function: the function.
        node: the value.
    """
    nodes = list(ast.walk(function.node))
    maker = next((n for n in nodes if isinstance(n, ast.Assign) and inside(node, n.value)), None)
    if maker is not None:
        target = maker.targets[0]
        if len(maker.targets) != 1 or not isinstance(target, ast.Name):
            return False
        places: list[ast.AST] = [
            n for n in nodes if isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load)
        ]
    else:
        places = [node]
    lists: set[str] = set()
    for place in places:
        call = next(
            (n for n in nodes if isinstance(n, ast.Call) and last_word(n.func) == "append" and inside(place, n)), None
        )
        held = getattr(call.func, "value", None) if call is not None else None
        if not isinstance(held, ast.Name):
            return False
        lists.add(held.id)
    return bool(lists) and all(_told(nodes, name) for name in lists)


def _told(nodes: list[ast.AST], name: str) -> bool:
    """Say whether a list is read only where it is appended to, and as an argument whose name says what it tells."""
    told = False
    for one in nodes:
        if not isinstance(one, ast.Name) or one.id != name or not isinstance(one.ctx, ast.Load):
            continue
        if any(isinstance(n, ast.Attribute) and n.value is one and n.attr == "append" for n in nodes):
            continue
        words = [n.arg or "" for n in nodes if isinstance(n, ast.keyword) and inside(one, n.value)]
        if not any(_HISTORY.search(word) for word in words):
            return False
        told = True
    return told
