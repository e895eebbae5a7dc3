"""Calls of ``jnp.where`` whose condition stands second; part of NNX874."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import names_in, written_number
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_TESTS = frozenset(
    {"isnan", "isfinite", "isinf", "isclose", "logical_and", "logical_or", "logical_not", "logical_xor", "equal",
     "not_equal", "greater", "greater_equal", "less", "less_equal", "isneginf", "isposinf", "isin", "signbit"}
)  # fmt: skip
_NUMBERS = frozenset(
    {"sqrt", "exp", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh", "square", "abs", "sum", "mean", "dot",
     "matmul", "einsum", "zeros_like", "ones_like", "full_like", "softmax", "log_softmax", "relu", "power", "sigmoid"}
)  # fmt: skip
_MASK = pattern(r"(^|_)(masks?|is_\w+|valid|dones?|terminated|truncated|cond|condition)$")
_WHERE = frozenset({"jax.numpy.where", "numpy.where"})


def where_exchanged(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls that give a value as the condition and the condition as a value, with message and help."""
    for event, name in foreign(context, "where"):
        args = event.node.args
        if name not in _WHERE or len(args) != 3 or event.value.starred or in_test(event.scope):
            continue
        given, condition, other = args
        if written_number(given) not in {None, 0, 1}:
            yield (
                event,
                f"`where` takes the condition first, and `{ast.unparse(given)}` is a number",
                "write where(condition, where it holds, where not)",
            )
            continue
        if any(_is_test(context, one, event.scope) or _may_be_mask(one) for one in (given, other)):
            continue
        sure = _is_test(context, condition, event.scope)
        if not sure and not _may_be_mask(condition):
            continue
        numbers = [_is_number(one) for one in (given, other)]
        about = sure and (_about(condition, given) or (numbers[0] and _shared(condition, given)))
        if about or (numbers[1] and (sure or numbers[0] or _scores(given))):
            yield (
                event,
                f"`where` takes the condition first: `{ast.unparse(condition)}` stands where a value belongs",
                f"write where({ast.unparse(condition)}, {ast.unparse(given)}, {ast.unparse(other)})",
            )


def _is_test(context: Context, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Say whether an expression certainly gives truth values."""
    if isinstance(node, ast.Compare) or (isinstance(node, ast.Constant) and isinstance(node.value, bool)):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) or _is_test(context, node.operand, scope, depth)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor) or (
            _is_test(context, node.left, scope, depth) and _is_test(context, node.right, scope, depth)
        )
    if isinstance(node, ast.Call):
        return last_word(node.func) in _TESTS
    if isinstance(node, ast.Subscript):
        return _is_test(context, node.value, scope, depth)
    made = bound_once(context, scope, node) if isinstance(node, ast.Name) and not depth else None
    return made is not None and _is_test(context, made, scope, 1)


def _may_be_mask(node: ast.expr) -> bool:
    """Say whether an expression has the name of a mask, also broadcast or turned round."""
    while isinstance(node, ast.Subscript | ast.UnaryOp | ast.Call):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Attribute):
                return False
            node = node.func.value
        else:
            node = node.value if isinstance(node, ast.Subscript) else node.operand
    return _MASK.search(last_word(node)) is not None


def _is_number(node: ast.expr) -> bool:
    """Say whether an expression certainly gives numbers that are no truth values."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _is_number(node.operand)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Sub | ast.Div | ast.Pow | ast.MatMult) or (
            isinstance(node.op, ast.Mult) and any(map(_is_number, (node.left, node.right)))
        )
    if isinstance(node, ast.Call):
        return last_word(node.func) in _NUMBERS
    return isinstance(node, ast.Attribute) and node.attr in {"inf", "nan"}


def _about(condition: ast.expr, given: ast.expr) -> bool:
    """Say whether a condition is about the value itself, as in ``where(x, x > 0, y)``."""
    while isinstance(given, ast.Attribute | ast.Subscript) and not isinstance(given.value, ast.Name):
        given = given.value
    names = names_in(given)
    if not names or not isinstance(given, ast.Name | ast.Attribute | ast.Subscript):
        return False
    text = ast.unparse(given)
    return any(ast.unparse(part) == text for part in ast.walk(condition) if isinstance(part, ast.expr))


def _shared(condition: ast.expr, given: ast.expr) -> bool:
    """Say whether a condition and a value are computed from the same variable."""
    return bool((names_in(condition) & names_in(given)) - {"jnp", "np", "jax", "jp", "lax"})


def _scores(node: ast.expr) -> bool:
    """Say whether a variable holds scores, by its name."""
    return _SCORES.search(last_word(node)) is not None


_SCORES = pattern(r"(^|_)(logits?|scores?|bias|weights?|attn|attention|energy|similarity|loss(es)?|values?|rewards?)$")
