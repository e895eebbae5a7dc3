"""Noise of a stochastic differential equation that is scaled by the step, not by its root; part of NNX950."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.arithmetic import factors
from codemods.nnx.lint.around import around
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import entry_word, operands
from codemods.nnx.patterns import pattern

_EQUATIONS = pattern(
    rb"maruyama|langevin|brownian|wiener|\bsdes?\b|_sde\b|\bsde_|ornstein",
    re.I,
    needs=(b"maruyama", b"langevin", b"brownian", b"wiener", b"sde", b"ornstein"),
)
_ROOT_OF_TWO = pattern(rb"sqrt\(2(\.0?)?\)|\b2(\.0?)?\s*\*\*\s*0?\.5", needs=(b"sqrt(2", b"**"))
_STEP = pattern(r"_?(dt|delta_t|step_size|h|d_t|timestep|time_step|eps|epsilon)\d?")


def noise_of_steps(
    context: Context, is_noise: Callable[[ast.expr, Scope], bool]
) -> Iterator[tuple[Scope, ast.BinOp, ast.expr]]:
    """Yield ``dt * noise`` beside ``drift * dt`` with the step, in files about stochastic equations.

    Args:
        context: the analysis.
        is_noise: says whether a factor is noise of variance one.
    """
    modules = {module for module in context.asked.modules if module.source.matches(_EQUATIONS)}
    rooted = {module for module in context.asked.modules if module.source.matches(_ROOT_OF_TWO)}
    for scope, node in each(context, ast.BinOp) if modules | rooted else ():
        if not isinstance(node.op, ast.Add | ast.Sub) or scope.module not in modules | rooted or in_test(scope):
            continue
        above = around(context, scope).get(node)
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Add | ast.Sub):
            continue
        terms = [[*factors(written(context, one, scope))] for one in _terms(node)]
        for parts in terms:
            noisy = [one for one in parts if is_noise(one, scope)]
            # a root of two says that it is a step of Langevin, in a file that names no equation too
            if scope.module not in modules and not any(_ROOT_OF_TWO.search(ast.unparse(p).encode()) for p in parts):
                continue
            steps = [one for one in parts if _STEP.fullmatch(entry_word(one).lower()) and one not in noisy]
            if len(noisy) != 1 or len(steps) != 1:
                continue
            text = ast.unparse(steps[0])
            drifts = [one for one in terms if one is not parts and len(one) > 1 and text in map(ast.unparse, one)]
            if drifts and not any(is_noise(part, scope) for one in drifts for part in one):
                product = around(context, scope).get(noisy[0])
                if isinstance(product, ast.BinOp):
                    yield scope, product, steps[0]


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what sums and differences add and subtract."""
    for one in operands(node, ast.Add):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub):
            yield from _terms(one.left)
            yield from _terms(one.right)
        else:
            yield one
