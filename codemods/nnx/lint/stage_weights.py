"""NNX704: a step of Runge and Kutta that forgets to divide by the sum of its weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import factors
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant, operands
from codemods.nnx.patterns import pattern

_TWICE = pattern(rb"2(\.0?)? ?\* ?[\w\[\]]+ ?\+ ?2(\.0?)? ?\*|\* ?2(\.0?)? ?\+ ?[\w\[\]]+ ?\* ?2")
_SIXTH = pattern(rb"/ ?6\b")
_STEP = pattern(r"^(self\.)?(h|dt|step|step_size|delta_t)$")
_HALVES = tuple(
    wrong
    for word in (b"k1", b"k_1")
    for wrong in (
        Wrong(
            ("F(T + 0.5*H, Y + H*K)", "F(Y + H*K, T + 0.5*H)"),
            "the slope in the middle of the step is taken at its end",
            "go half a step in both: f(t + h / 2, y + h / 2 * k1)",
            (word,),
            named={"K": pattern(r"^(\w*_)?k_?\d$"), "H": _STEP},
        ),
        Wrong(
            ("F(T + H, Y + 0.5*H*K)", "F(Y + 0.5*H*K, T + H)"),
            "the slope at the end of the step is taken in its middle",
            "go a whole step in both: f(t + h, y + h * k3)",
            (word,),
            named={"K": pattern(r"^(\w*_)?k_?\d$"), "H": _STEP},
        ),
    )
)
_STAGES = pattern(r"\w*k_?\d\w*|k\[\d\]|k\w*")


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, _HALVES)
    yield from _sixths(context)
    modules = {module for module in context.asked.modules if module.source.matches(_TWICE)}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if not isinstance(node.op, ast.Mult) or scope.module not in modules or in_test(scope):
            continue
        above = around(context, scope).get(node)
        if not isinstance(above, ast.BinOp) or not isinstance(above.op, ast.Add):
            continue  # perhaps it is divided further on
        parts = list(factors(node))
        sums = [one for one in parts if _weighted(one)]
        steps = [one for one in parts if one not in sums]
        if len(sums) != 1 or not steps or any(_speaks_of_six(context, one, scope) for one in steps):
            continue
        if any(not isinstance(one, ast.Name | ast.Attribute | ast.Constant) for one in steps):
            continue
        yield finding(
            RULE.code,
            scope,
            node,
            "the weights 1, 2, 2, 1 of the slopes add up to 6: the step is six times too long",
            f"divide by their sum: {ast.unparse(steps[0])} / 6 * (...)",
        )


def _sixths(context: Context) -> Iterator[Finding]:
    """Yield sums of four slopes that are divided by 6, and whose weights have another sum."""
    modules = {module for module in context.asked.modules if module.source.matches(_SIXTH)}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if not isinstance(node.op, ast.Add) or scope.module not in modules or in_test(scope):
            continue
        weights = _weights(node)
        if len(weights) != 4 or not all(isinstance(one, int | float) for one in weights):
            continue
        total = sum(one for one in weights if isinstance(one, int | float))
        if _divisors(around(context, scope), node) == [6] and total != 6:
            yield finding(
                RULE.code,
                scope,
                node,
                f"these weights of the four slopes add up to {total:g}, and the sum is divided by 6",
                "weigh the two in the middle twice: (k1 + 2 * k2 + 2 * k3 + k4) / 6",
            )


def _divisors(above: dict[ast.AST, ast.AST], node: ast.BinOp) -> list[object]:
    """Return the numbers that a sum is divided by in the product that it is a factor of; None for other numbers."""
    found: list[object] = []
    inner: ast.AST = node
    outer = above.get(node)
    while isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Mult | ast.Div):
        other = outer.left if outer.right is inner else outer.right
        if isinstance(outer.op, ast.Div):
            found.append(constant(other) if outer.left is inner else None)
        else:
            for one in operands(other, ast.Mult):
                if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div):
                    found.append(constant(one.right))
                elif constant(one) is not None:
                    found.append(None)
        inner = outer
        outer = above.get(outer)
    return found


def _weighted(node: ast.expr) -> bool:
    """Say whether an expression is ``k1 + 2 * k2 + 2 * k3 + k4`` of four slopes."""
    return _weights(node) == [1, 2, 2, 1]


def _weights(node: ast.expr) -> list[object]:
    """Return the weights of four slopes in a sum of them; none of anything else."""
    terms = operands(node, ast.Add)
    if len(terms) != 4:
        return []
    weights: list[object] = []
    names: list[str] = []
    for term in terms:
        parts = operands(term, ast.Mult)
        numbers = [constant(one) for one in parts if isinstance(one, ast.Constant)]
        rest = [one for one in parts if not isinstance(one, ast.Constant)]
        if len(rest) != 1 or len(numbers) > 1 or not _STAGES.fullmatch(ast.unparse(rest[0])):
            return []
        weights.append(numbers[0] if numbers else 1)
        names.append(ast.unparse(rest[0]))
    return weights if len(set(names)) == 4 else []


def _speaks_of_six(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a factor, or what a variable is the name of, has the division in it."""
    made = written(context, node, scope)
    text = ast.unparse(made)
    unknown = isinstance(node, ast.Name) and "6" in node.id
    return unknown or "6" in text or (made is not node and isinstance(made, ast.BinOp))


_BAD = """\
def rk4(f, y, t, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h * (k1 + 2 * k2 + 2 * k3 + k4)


import jax.numpy as jnp

print(rk4(lambda t, y: -y, jnp.ones(2), 0.0, 0.1))
"""

RULE = lint_rule(
    "NNX704",
    "stage-weights",
    "slopes weighted by 1, 2, 2, 1 that are not divided by 6, or four divided by 6 with other weights",
    why="""\
The classical method of Runge and Kutta goes one step along the mean of four slopes, whose weights 1, 2, 2, 1 add up to
six. Without the division the step is six times too long; with other weights it has another length, too.
""",
    source="Kutta, 1901; measured: an error of the first order in the step",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("y + h * (k1", "y + h / 6 * (k1"),),
)
