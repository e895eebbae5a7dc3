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


def _weighted(node: ast.expr) -> bool:
    """Say whether an expression is ``k1 + 2 * k2 + 2 * k3 + k4`` of four slopes."""
    terms = operands(node, ast.Add)
    if len(terms) != 4:
        return False
    weights, names = [], []
    for term in terms:
        parts = operands(term, ast.Mult)
        numbers = [constant(one) for one in parts if isinstance(one, ast.Constant)]
        rest = [one for one in parts if not isinstance(one, ast.Constant)]
        if len(rest) != 1 or len(numbers) > 1 or not _STAGES.fullmatch(ast.unparse(rest[0])):
            return False
        weights.append(numbers[0] if numbers else 1)
        names.append(ast.unparse(rest[0]))
    return weights == [1, 2, 2, 1] and len(set(names)) == 4


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
    "slopes weighted by 1, 2, 2, 1 that are not divided by 6",
    why="""\
The classical method of Runge and Kutta goes one step along the mean of four slopes, whose weights 1, 2, 2, 1 add up to
six. Without the division the step is six times too long.
""",
    source="Kutta, 1901; measured: an error of the first order in the step",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("y + h * (k1", "y + h / 6 * (k1"),),
)
