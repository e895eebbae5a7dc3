"""NNX559: rotations that do not rotate: a wrong sign or part, and angles in degrees."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.templates import Bound, match
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_COSINE = pattern(r"cos")
_SINE = pattern(r"sin(?!g|c\b|k)")
_WAVES = pattern(rb"cos", needs=(b"cos",))
_DEGREES = (
    Wrong(
        ("cos(D)", "sin(D)", "tan(D)"),
        "the angle is in degrees, and taken for radians",
        "jnp.deg2rad(angle)",
        (b"deg",),
        named={"D": pattern(r"^[\w.]*(_deg|degrees?|_degs)$|^deg$")},
    ),
)


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, _DEGREES)
    modules = {module for module in context.asked.modules if module.source.matches(_WAVES)}
    if modules:
        yield from _matrices(context, modules)
        yield from _pairs(context, modules)


def _matrices(context: Context, modules: set[ModuleFacts]) -> Iterator[Finding]:
    """Yield the matrices ``[[cos, sin], [sin, cos]]`` whose sines have the same sign."""
    for scope, node in each(context, ast.Call):
        if scope.module not in modules or last_word(node.func) not in {"array", "asarray"} or not node.args:
            continue
        rows = node.args[0].elts if isinstance(node.args[0], ast.List | ast.Tuple) else []
        cells = [row.elts for row in rows[:2] if isinstance(row, ast.List | ast.Tuple)]
        if len(cells) != 2 or min(map(len, cells)) < 2 or in_test(scope):
            continue
        (a, b), (c, d) = cells[0][:2], cells[1][:2]
        if _wave(context, a, scope) != ("cos", 1) or _wave(context, d, scope) != ("cos", 1):
            continue
        one, other = _wave(context, b, scope), _wave(context, c, scope)
        same = ast.unparse(_angle(context, a, scope)) == ast.unparse(_angle(context, b, scope))
        if one == other and one is not None and one[0] == "sin" and same:
            yield finding(
                RULE.code,
                scope,
                node,
                "both sines have the same sign: this matrix changes lengths and does not rotate",
                "[[cos, -sin], [sin, cos]]",
            )


def _wave(context: Context, node: ast.expr, scope: Scope) -> tuple[str, int] | None:
    """Return which function of an angle a cell is, and its sign."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    made = written(context, node, scope)
    if isinstance(made, ast.Call) and last_word(made.func) in {"cos", "sin"}:
        return last_word(made.func), sign
    return None


def _angle(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    made = written(context, node, scope)
    return made.args[0] if isinstance(made, ast.Call) and made.args else made


def _pairs(context: Context, modules: set[ModuleFacts]) -> Iterator[Finding]:
    """Yield the second halves of rotated pairs that take the parts of the first: ``x * cos + y * sin``."""
    first: dict[Scope, list[tuple[ast.BinOp, Bound]]] = {}
    second: dict[Scope, list[tuple[ast.BinOp, Bound]]] = {}
    for scope, node in each(context, ast.BinOp):
        if scope.module not in modules or not isinstance(node.op, ast.Add | ast.Sub) or in_test(scope):
            continue
        form = "X*C - Y*S" if isinstance(node.op, ast.Sub) else "X*C + Y*S"
        bound = match(form, node, lambda one: one)
        if bound is None or not _COSINE.search(bound["C"][0].lower()) or not _SINE.search(bound["S"][0].lower()):
            continue
        if isinstance(node.op, ast.Sub):
            first.setdefault(scope, []).append((node, bound))
        else:
            second.setdefault(scope, []).append((node, bound))
    for scope, found in second.items():
        for node, bound in found:
            if len(first.get(scope, ())) == len(found) and any(_same(bound, one) for _, one in first[scope]):
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    "the second part of the rotated pair takes the parts of the first: lengths and angles change",
                    f"{bound['Y'][0]} * {bound['C'][0]} + {bound['X'][0]} * {bound['S'][0]}",
                )

    for rows in (first, second):
        for scope, found in rows.items():
            for index, (node, bound) in enumerate(found):
                parts = [one for one, other in found[:index] if _crossed(bound, other)]
                if any(_side_by_side(context, one, node, scope) for one in parts):
                    yield finding(
                        RULE.code,
                        scope,
                        node,
                        "both parts of the rotated pair have the same sign: lengths and angles change",
                        f"{bound['X'][0]} * {bound['C'][0]} + {bound['Y'][0]} * {bound['S'][0]}, minus in the other",
                    )


def _crossed(one: Bound, other: Bound) -> bool:
    """Say whether one of two parts has the other's first as its second."""
    same = all(one[name][0] == other[name][0] for name in "CS")
    return same and one["X"][0] == other["Y"][0] and one["Y"][0] == other["X"][0]


def _side_by_side(context: Context, one: ast.BinOp, other: ast.BinOp, scope: Scope) -> bool:
    """Say whether two expressions are the parts of one pair: of one tuple or list, or of two statements in a row that
    do no more than to name them, not two sums that stand by themselves."""
    above = around(context, scope)
    first, second = above.get(one), above.get(other)
    if first is not None and first is second:
        return True
    if not isinstance(first, ast.Assign | ast.AnnAssign) or not isinstance(second, ast.Assign | ast.AnnAssign):
        return False
    block = context.bodies.block(one, first, scope)
    return second in block and abs(block.index(first) - block.index(second)) == 1


def _same(one: Bound, other: Bound) -> bool:
    return all(one[name][0] == other[name][0] for name in "XYCS")


_BAD = """\
import jax.numpy as jnp


def rotary(x, cos, sin):
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, first * cos + second * sin], axis=-1)
"""

RULE = lint_rule(
    "NNX559",
    "rotations",
    "a rotation with a wrong sign or part, or by degrees taken for radians",
    why="""\
A rotation by an angle makes `x * cos - y * sin` and `y * cos + x * sin` of a pair: lengths stay, and so do the products
of two vectors that are turned alike, which rotary positions rely on. With the same parts twice, or both sines of one
sign, they do not.
""",
    source="Su and others, 2021, section 3.2; measured: lengths that change",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("first * cos + second * sin]", "second * cos + first * sin]"),),
)
