"""NNX769: ``x > 0 & x < 1``, where the operator binds before the comparisons."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each
from codemods.nnx.lint.syntax import operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_BITS = pattern(r"(^|_)(bits?|flags|bitmask)(_|$)")
_SIGNS = {ast.BitAnd: "&", ast.BitOr: "|"}


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.Compare):
        sign = _mixed(node)
        if sign:
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{sign}` binds before the comparison: this compares with `{ast.unparse(_inner(node))}`",
                f"put the comparisons in parentheses: (a < b) {sign} (c < d)",
            )
    yield from _cosines(context)


def _cosines(context: Context) -> Iterator[Finding]:
    """Yield ``a @ b / norm(a) * norm(b)``, which multiplies by the second norm."""
    modules = {module for module in context.asked.modules if module.source.mentions(b"norm(")}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if not isinstance(node.op, ast.Mult) or scope.module not in modules:
            continue
        quotient, second = node.left, _normed(node.right)
        if second is None or not isinstance(quotient, ast.BinOp) or not isinstance(quotient.op, ast.Div):
            continue
        first = _normed(quotient.right)
        if first is not None and _product_of(quotient.left, {first, second}):
            yield finding(
                RULE.code,
                scope,
                node,
                f"the division comes first: this multiplies by the norm of `{second}`",
                "put the product in parentheses: x @ y / (norm(x) * norm(y))",
            )


def _normed(node: ast.expr) -> str | None:
    """Return of what an expression is the norm."""
    called = isinstance(node, ast.Call) and len(node.args) > 0 and last_word(node.func) == "norm"
    return ast.unparse(node.args[0]) if called and isinstance(node, ast.Call) else None


def _product_of(node: ast.expr, names: set[str]) -> bool:
    """Say whether an expression is the inner product of two arrays."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return {ast.unparse(node.left), ast.unparse(node.right)} == names
    if not isinstance(node, ast.Call) or not node.args:
        return False
    word, given = last_word(node.func), node.args[0]
    if word in {"dot", "vdot", "inner"}:
        return {*map(ast.unparse, node.args[:2])} == names
    product = isinstance(given, ast.BinOp) and isinstance(given.op, ast.Mult)
    return word == "sum" and product and {*map(ast.unparse, operands(given, ast.Mult))} == names


def _mixed(node: ast.Compare) -> str:
    """Return the operator that stands between two comparisons, or between a comparison and a truth value."""
    ordered = [isinstance(op, _ORDER) for op in node.ops]
    if not any(ordered) or not all(isinstance(op, (*_ORDER, ast.Eq, ast.NotEq)) for op in node.ops):
        return ""
    inner = _inner(node)
    if not isinstance(inner, ast.BinOp):
        return ""
    sign = _SIGNS[type(inner.op)]
    if len(node.ops) > 1:  # a > (0 & b) < 1
        return sign if all(ordered) or inner in node.comparators[:-1] else ""
    number = inner.left if inner is node.comparators[0] else inner.right
    other = inner.right if inner is node.comparators[0] else inner.left
    if isinstance(number, ast.UnaryOp):
        number = number.operand
    fraction = isinstance(number, ast.Constant) and isinstance(number.value, float)
    plain = isinstance(number, ast.Constant) and type(number.value) is int and not isinstance(other, ast.Constant)
    if fraction:
        return sign
    # `flags < 1 & mask` may be integers; `i < 10 & going` takes a name that is a truth value
    return sign if plain and inner is node.comparators[0] and not _of_bits(other) else ""


def _of_bits(node: ast.expr) -> bool:
    """Say whether an operand is called as integers are that are taken bit by bit."""
    word = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return bool(_BITS.search(word.lower()))


def _inner(node: ast.Compare) -> ast.expr:
    """Return the operand of a comparison that such an operator makes."""
    for part in (*node.comparators, node.left):
        if isinstance(part, ast.BinOp) and type(part.op) in _SIGNS:
            return part
    return node


RULE = lint_rule(
    "NNX769",
    "operator-before-comparison",
    "an `&` or `|` that takes an operand from a comparison",
    why="""\
`&` and `|` bind before comparisons: `x > 0 & x < 1` is `x > (0 & x) < 1`, an error for arrays, and `i < 10 & going`
compares with `10 & going`. Conditions of arrays are written `(x > 0) & (x < 1)`.
""",
    source="jax issue 21186; measured on JAX 0.6.2 and 0.10.2: TypeError, or a loop that does not run",
    severity="error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp


def within(x):
    return jnp.where(x > 0 & x < 1, x, 0)
""",
        """\
import jax


def going(state):
    i, active = state
    return i < 10 & active


last = jax.lax.while_loop(going, lambda state: (state[0] + 1, state[1]), (0, True))
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


def within(x, flags, mask):
    low = flags & 3
    return jnp.where((x > 0) & (x < 1) & (low > 1 << 2), x, flags & mask == mask)
""",
    ),
)
