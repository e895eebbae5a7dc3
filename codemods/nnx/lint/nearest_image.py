"""Displacements in a periodic box before they were wrapped to those of the nearest images; part of NNX888."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.places import formula_of, position, written
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Param

_ROUND = frozenset({"round", "rint", "around"})
_MODULO = frozenset({"mod", "remainder"})


def before_wrapping(context: Context, node: ast.expr | None, scope: Scope) -> ast.expr | None:
    """Return the displacement of which a formula takes the nearest image, where 0 stays 0; other expressions as given.

    Such as dr of ``dr - box * jnp.round(dr / box)``, of ``jnp.mod(dr + half, box) - half``, and of a function of the
    project that gives one of these.

    Args:
        context: the analysis.
        node: an expression.
        scope: the body that it stands in.
    """
    inner = _wrapped(node)
    if inner is None and isinstance(node, ast.Call):
        inner = _of_function(context, node, scope)
    return written(context, inner, scope) if inner is not None else node


def _wrapped(node: ast.expr | None) -> ast.expr | None:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return None
    left, text = node.left, ast.dump(node.left)
    for call in ast.walk(node.right):
        if isinstance(call, ast.Call) and last_word(call.func) in _ROUND and call.args:
            share = call.args[0]
            scaled = isinstance(share, ast.BinOp) and isinstance(share.op, ast.Div | ast.Mult)
            if isinstance(share, ast.BinOp) and scaled and ast.dump(share.left) == text:
                return left
    shifted = _modulo(left)
    if isinstance(shifted, ast.BinOp) and isinstance(shifted.op, ast.Add):
        half = ast.dump(node.right)
        for one, other in ((shifted.left, shifted.right), (shifted.right, shifted.left)):
            if ast.dump(other) == half:
                return one
    return None


def _modulo(node: ast.expr) -> ast.expr | None:
    """Return what a remainder is taken of."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return node.left
    named = isinstance(node, ast.Call) and last_word(node.func) in _MODULO and len(node.args) == 2
    return node.args[0] if isinstance(node, ast.Call) and named else None


def _of_function(context: Context, node: ast.Call, scope: Scope) -> ast.expr | None:
    """Return what a function of the project gets that takes the nearest image of it."""
    call = scope.module.values.get(node)
    if not isinstance(call, Call) or call.starred:
        return None
    called = [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(call, scope))]
    inner = _wrapped(formula_of(context, called[0])) if len(called) == 1 else None
    param = called[0].scope.module.values.get(inner) if inner is not None else None
    if not isinstance(param, Param) or param.function is not called[0]:
        return None
    place = position(param)
    return argument(node, place, param.name) if place >= 0 else None
