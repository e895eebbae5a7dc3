"""NNX652: a spacing of a grid with both ends that is the length divided by the number of its points."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant, taken_apart
from codemods.nnx.patterns import pattern

_SPACING = pattern(r"_?(d|delta_?|h_?)(x|y|z|t|r|theta|tau|q|s|u)\d?|h|dx_\w+|spacing|grid_spacing|step_?size")


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "linspace"):
        if name not in {"jax.numpy.linspace", "numpy.linspace"} or in_test(event.scope):
            continue
        first, stop, number = (argument(event.node, place, word) for place, word in enumerate(("start", "stop", "num")))
        if first is None or stop is None or number is None or not isinstance(number, ast.Name | ast.Attribute):
            continue
        given = argument(event.node, 3, "endpoint")
        if given is not None or event.value.starred:
            continue
        for assign, quotient in _spacings(context, event):
            if _is_length(quotient.left, first, stop) and ast.unparse(quotient.right) == ast.unparse(number):
                yield finding(
                    RULE.code,
                    event.scope,
                    quotient,
                    f"linspace has both ends, and {ast.unparse(number)} points with {ast.unparse(number)} - 1 steps "
                    f"between them: `{ast.unparse(assign)}` is too small",
                    f"divide by ({ast.unparse(number)} - 1), or leave the end out: linspace(..., endpoint=False)",
                    related=[(event.node, "made here")],
                )


def _spacings(context: Context, event: CallEvent) -> Iterator[tuple[ast.expr, ast.BinOp]]:
    """Yield the quotients of the same body that are called as the spacing of a grid is."""
    for node in context.bodies.nodes(event.scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            for name, made in taken_apart(node.targets[0], node.value):
                if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Div) and isinstance(name, ast.Name):
                    if _SPACING.fullmatch(name.id.lower()):
                        yield name, made


def _is_length(node: ast.expr, first: ast.expr, stop: ast.expr) -> bool:
    """Say whether an expression is the length of an interval: ``stop - start``, or the end of one that begins at 0."""
    if constant(first) == 0 and ast.unparse(node) == ast.unparse(stop):
        return True
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        # from -length / 2 to length / 2
        halves = (f"-{ast.unparse(node)} / 2", f"{ast.unparse(node)} / 2")
        return (ast.unparse(first), ast.unparse(stop)) == halves
    return ast.unparse(node.left) == ast.unparse(stop) and ast.unparse(node.right) == ast.unparse(first)


_BAD = """\
import jax.numpy as jnp


def derivative(f, length, n):
    x = jnp.linspace(0.0, length, n)
    dx = length / n
    return (f(x)[2:] - f(x)[:-2]) / (2 * dx)
"""

RULE = lint_rule(
    "NNX652",
    "grid-spacing",
    "the spacing of a grid with both ends, divided by the number of points",
    why="""\
`jnp.linspace(a, b, n)` has n points with n - 1 steps of (b - a) / (n - 1) between them. Differences that are divided by
(b - a) / n are off by a share of 1 / n everywhere. On a periodic grid the last point is the first one again:
`endpoint=False` leaves it out, and makes the spacing (b - a) / n.
""",
    source="numpy.linspace, retstep; measured: derivatives that are too large by n / (n - 1)",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("length / n\n", "length / (n - 1)\n"),),
)
