"""NNX693: distances in a periodic box that are not the shortest ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_BOX = pattern(r"(^|_)(box|cell|length|period|size|l|lx|ly|lz|side|boxsize|box_size)(_|$)", re.I)
_DISTANCE = pattern(r"displac|minimum_?image|min_?image|pbc|periodic|distance|delta|separation", re.I)
_DIFFERENCE = pattern(r"^(d|dr|dx|dy|dz|disp|displacement|delta\w*|diff|rij|r_ij|dr_ij|dist|vec)$", re.I)
_DOWN = frozenset({"floor", "trunc", "fix"})


def _check(context: Context) -> Iterator[Finding]:
    modules = {m for m in context.asked.modules if m.source.mentions(b"floor") or m.source.mentions(b"mod")}
    for scope, node in each(context, ast.BinOp, ast.Call) if modules else ():
        if scope.module not in modules or scope.function is None or in_test(scope):
            continue
        pair = _wrapped(node)
        if pair is None or not _BOX.search(last_word(pair[1])) or not _difference(context, pair[0], scope):
            continue
        named = _DISTANCE.search(scope.function.name) or _DIFFERENCE.search(last_word(pair[0]))
        if named and not _cared_for(context, node, scope):
            yield finding(
                RULE.code,
                scope,
                node,
                f"this is between 0 and `{ast.unparse(pair[1])}`: of two images, not always the nearer one",
                f"take the nearest image: dr - {ast.unparse(pair[1])} * jnp.round(dr / {ast.unparse(pair[1])})",
            )


def _wrapped(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return the difference and the box of ``dr - box * jnp.floor(dr / box)``, or of ``jnp.mod(dr, box)``."""
    if isinstance(node, ast.Call):
        named = last_word(node.func) in {"mod", "remainder"} and len(node.args) == 2
        return (node.args[0], node.args[1]) if named else None
    if not isinstance(node, ast.BinOp):
        return None
    product = node.right if isinstance(node.op, ast.Sub) else None
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
        return None
    for box, rounded in ((product.left, product.right), (product.right, product.left)):
        if isinstance(rounded, ast.Call) and last_word(rounded.func) in _DOWN and len(rounded.args) == 1:
            share = rounded.args[0]
            if isinstance(share, ast.BinOp) and isinstance(share.op, ast.Div):
                if ast.unparse(share.left) == ast.unparse(node.left) and ast.unparse(share.right) == ast.unparse(box):
                    return node.left, box
    return None


def _difference(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is one position less another one, and nothing more."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Sub):
        return False
    return all(isinstance(one, ast.Name | ast.Subscript | ast.Attribute) for one in (made.left, made.right))


def _cared_for(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether what is left is shifted or compared, so that the nearer image is taken after all."""
    for one in context.bodies.nodes(scope):
        if isinstance(one, ast.Compare | ast.IfExp):
            return True
        if isinstance(one, ast.Call) and last_word(one.func) in {"where", "minimum", "abs", "select", "cos", "sin"}:
            return True
    parent = around(context, scope).get(node)
    return isinstance(parent, ast.BinOp)


_BAD = """\
import jax.numpy as jnp


def displacement(a, b, box):
    dr = a - b
    return dr - box * jnp.floor(dr / box)


print(displacement(jnp.array([0.1]), jnp.array([0.2]), 4.0))
"""

RULE = lint_rule(
    "NNX693",
    "not-nearest-image",
    "displacements in a periodic box that are wrapped as positions are",
    why="""\
A position is wrapped into the box with `floor`: it lies between 0 and the length. The displacement of two particles is
that to the nearest image, between minus and plus half of the length, which `round` gives. With `floor`, two neighbours
of which the second is a little further to the right are almost a whole box apart, and do not feel each other.
""",
    source="Allen and Tildesley, Computer Simulation of Liquids; measured: 3.9 in place of -0.1 in a box of 4",
    severity="error",
    check=_check,
    bad=(_BAD, _BAD.replace("dr - box * jnp.floor(dr / box)", "jnp.mod(dr, box)")),
    clean=(_BAD.replace("floor", "round"),),
)
