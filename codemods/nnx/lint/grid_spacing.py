"""NNX652: a spacing of a grid with both ends that is the length divided by the number of its points."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant, keyword, taken_apart
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_SPACING = pattern(r"_?(d|delta_?|h_?)(x|y|z|t|r|theta|tau|q|s|u)\d?|h|dx_\w+|spacing|grid_spacing|step_?size")
_CIRCLE = pattern(r"2(\.0)? \* (\w+\.)*pi|(\w+\.)*pi \* 2(\.0)?|(\w+\.)*tau")


def _check(context: Context) -> Iterator[Finding]:
    told: set[ast.AST] = set()
    for event, name in foreign(context, "linspace"):
        if name not in {"jax.numpy.linspace", "numpy.linspace"} or in_test(event.scope):
            continue
        first, stop, number = (argument(event.node, place, word) for place, word in enumerate(("start", "stop", "num")))
        if first is None or stop is None or number is None:
            continue
        given = argument(event.node, 3, "endpoint")
        if given is not None or event.value.starred:
            continue
        counted = isinstance(number, ast.Name | ast.Attribute)
        for scope, called, quotient in _spacings(context, event, (stop, number)):
            if not counted and not isinstance(called, ast.Call):
                continue
            if ast.unparse(quotient.right) != ast.unparse(number) or not _is_length(quotient.left, first, stop, called):
                continue
            if quotient in told:
                continue
            told.add(quotient)
            points = ast.unparse(number)
            about = f"`{ast.unparse(called)}` is too small"
            if isinstance(called, ast.Call):
                about = f"`{last_word(called.func)}` is told a step that is too small"
            yield finding(
                RULE.code,
                scope,
                quotient,
                f"linspace has both ends, and {points} points with {points} - 1 steps between them: {about}",
                "leave the end out: linspace(..., endpoint=False)"
                if isinstance(called, ast.Call)
                else f"divide by ({points} - 1), or leave the end out: linspace(..., endpoint=False)",
                related=[(event.node, "made here")],
            )


def _spacings(
    context: Context, event: CallEvent, wanted: tuple[ast.expr, ast.expr]
) -> Iterator[tuple[Scope, ast.expr, ast.BinOp]]:
    """Yield the quotients that are called as the spacing of a grid is, or that ``fftfreq`` gets for one.

    Args:
        context: the analysis.
        event: the call that makes the grid.
        wanted: the end of the grid and the number of its points.
    """
    bodies = _bodies(event, wanted)
    if len(bodies) > 1 and any(map(partial(_another_grid, context), bodies)):
        bodies = [event.scope]
    for scope in bodies:
        for node in context.bodies.nodes(scope):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                for name, made in taken_apart(node.targets[0], node.value):
                    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Div) and _spacing(name):
                        yield scope, name, made
            elif isinstance(node, ast.Call) and last_word(node.func) in {"fftfreq", "rfftfreq"}:
                step = argument(node, 1, "d")
                made_of = made_by(context, step, scope) if isinstance(step, ast.Name) else step
                if isinstance(step, ast.Name) and _spacing(step):
                    continue  # told already
                if isinstance(made_of, ast.BinOp) and isinstance(made_of.op, ast.Div):
                    if ast.unparse(node.args[0] if node.args else node) == ast.unparse(wanted[1]):
                        yield scope, node, made_of
            elif isinstance(node, ast.Return) and isinstance(node.value, ast.BinOp) and scope.function is not None:
                if scope.function.is_property and _SPACING.fullmatch(scope.function.name.lower()):
                    if isinstance(node.value.op, ast.Div):
                        yield scope, ast.Name(scope.function.name), node.value


def _another_grid(context: Context, scope: Scope) -> bool:
    """Say whether a body makes points in another way, of which a spacing elsewhere may be."""
    return any(
        last_word(node.func) in {"arange", "mgrid"} or keyword(node, "endpoint") is not None
        for node in context.bodies.nodes(scope)
        if isinstance(node, ast.Call)
    )


def _bodies(event: CallEvent, wanted: tuple[ast.expr, ast.expr]) -> list[Scope]:
    """Return the bodies in which the end and the number of a grid are the same: those of its class, if these are
    attributes of the object, and that of the module, if these are its variables."""
    function = event.scope.function
    if function is None:
        return [event.scope]
    roots = {n.id for one in wanted for n in ast.walk(one) if isinstance(n, ast.Name)}
    own = function.self_param
    if own is not None and function.owner is not None and own.name in roots:
        methods = function.owner.methods.values()
        alike = [one.scope for one in methods if one.self_param is not None and one.self_param.name == own.name]
        return alike if roots <= {own.name, "jnp", "np", "jax", "numpy"} else [event.scope]
    module = event.scope.module.scope
    stored = {*event.scope.bindings, *function.params}
    return [event.scope] if roots & stored else [event.scope, module]


def _spacing(name: ast.expr) -> bool:
    """Say whether a variable or an attribute is called as the spacing of a grid is."""
    return isinstance(name, ast.Name | ast.Attribute) and bool(_SPACING.fullmatch(last_word(name).lower()))


def _is_length(node: ast.expr, first: ast.expr, stop: ast.expr, called: ast.expr) -> bool:
    """Say whether an expression is the length of an interval: ``stop - start``, or the end of one that begins at 0."""
    if constant(first) == 0 and ast.unparse(node) == ast.unparse(stop):
        return True
    if isinstance(called, ast.Call) and constant(node) == 1:  # waves in a circle
        return constant(first) == 0 and _CIRCLE.fullmatch(ast.unparse(stop)) is not None
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
`endpoint=False` leaves it out, and makes the spacing (b - a) / n, as `fftfreq(n, d=(b - a) / n)` is told.
""",
    source="numpy.linspace, retstep; measured: derivatives that are too large by n / (n - 1)",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("length / n\n", "length / (n - 1)\n"),),
)
