"""Functions that vmap applies to every pair of the same points; part of NNX888."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arithmetic import squared
from codemods.nnx.lint.nearest_image import before_wrapping
from codemods.nnx.lint.places import each, formula_of, written
from codemods.nnx.lint.syntax import argument, constant, several
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_DEPTH = 2  # through how many functions a difference is followed
_TWO = frozenset({(None, 0), (0, None)})


class Pairs(NamedTuple):
    """A call that gives something for every pair of points.

    Attributes:
        scope: where it stands.
        node: the call.
        points: the points.
        root: whether it gives their distances; otherwise it gives their differences.
    """

    scope: Scope
    node: ast.Call
    points: ast.expr
    root: bool


def all_pairs(context: Context) -> Iterator[Pairs]:
    """Yield the calls that give the differences, or the distances, of all pairs of the same points.

    They are written as ``vmap(vmap(f, (None, 0)), (0, None))(x, x)``,
    or as ``vmap(lambda a: vmap(lambda b: f(a, b))(x))(x)``.

    Args:
        context: the analysis.
    """
    if not any(module.source.mentions(b"vmap") for module in context.asked.modules):
        return
    for scope, node in each(context, ast.Call):
        if not isinstance(node.func, ast.Call | ast.Name) or scope.function is None or node.keywords:
            continue
        if not 0 < len(node.args) < 3 or isinstance(node.args[0], ast.Starred):
            continue
        outer = _vmap(context, scope, node.func)
        function = _of_both(context, outer, node) if outer is not None else None
        root = _distance(context, function, 0) if function is not None else None
        if root is not None:
            yield Pairs(scope, node, node.args[0], root)


def _vmap(context: Context, scope: Scope, func: ast.expr) -> Bound | None:
    """Return the call of ``jax.vmap`` that a function comes from."""
    value = scope.module.values.get(func)
    if value is None:
        return None
    found = context.flow.resolve(context.flow.here(value, scope))
    return found if _is_vmap(context, found) else None


def _is_vmap(context: Context, bound: Bound) -> bool:
    value = bound.value
    return isinstance(value, Call) and bool(value.args) and context.flow.calls.callee_name(bound) == "jax.vmap"


def _of_both(context: Context, outer: Bound, node: ast.Call) -> FunctionFacts | None:
    """Return the function that gets both points of every pair; None if not all pairs of the same points are taken."""
    assert isinstance(outer.value, Call)
    mapped = context.flow.follow(outer, outer.value.args[0])
    points = ast.dump(node.args[0])
    if len(node.args) == 2:
        if ast.dump(node.args[1]) != points or not _is_vmap(context, mapped):
            return None
        assert isinstance(mapped.value, Call)
        axes = {several(constant(argument(one.node, 1, "in_axes"))) for one in (outer.value, mapped.value)}
        return _single(context, context.flow.follow(mapped, mapped.value.args[0])) if axes == _TWO else None
    function = _single(context, mapped)
    inner = formula_of(context, function) if function is not None else None
    if function is None or not isinstance(inner, ast.Call) or len(inner.args) != 1 or inner.keywords:
        return None
    if ast.dump(inner.args[0]) != points or _plain(outer.value) is False:
        return None
    again = _vmap(context, function.scope, inner.func)
    if again is None or not isinstance(again.value, Call) or not _plain(again.value):
        return None
    return _single(context, context.flow.follow(again, again.value.args[0]))


def _plain(call: Call) -> bool:
    """Say whether a ``vmap`` goes along the first axis of all arguments."""
    axes = argument(call.node, 1, "in_axes")
    return axes is None or constant(axes) == 0


def _single(context: Context, bound: Bound) -> FunctionFacts | None:
    callees = context.flow.calls.callables(bound)
    return callees[0].function if len(callees) == 1 else None


def _distance(context: Context, function: FunctionFacts, depth: int) -> bool | None:
    """Say whether a function gives the distance of two points; None if it gives neither that nor their difference."""
    given = formula_of(context, function)
    given = written(context, given, function.scope) if given is not None else None
    given = before_wrapping(context, given, function.scope)
    if _difference(given):
        return False
    if isinstance(given, ast.Call) and last_word(given.func) in {"sqrt", "norm"} and given.args:
        under = written(context, given.args[0], function.scope)
        root = last_word(given.func) == "sqrt"
        inner = _squares(context, under, function.scope) if root else before_wrapping(context, under, function.scope)
        return True if _difference(inner) else None
    if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Pow) and constant(given.right) == 0.5:
        return True if _difference(_squares(context, given.left, function.scope)) else None
    if isinstance(given, ast.Call) and len(given.args) == 2 and not given.keywords and depth < _DEPTH:
        if all(isinstance(one, ast.Name) for one in given.args) and ast.dump(given.args[0]) != ast.dump(given.args[1]):
            value = function.scope.module.values.get(given.func)
            called = _single(context, context.flow.here(value, function.scope)) if value is not None else None
            return _distance(context, called, depth + 1) if called is not None else None
    return None


def _difference(node: ast.expr | None) -> bool:
    """Say whether an expression is the difference of two variables."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    return isinstance(node.left, ast.Name) and isinstance(node.right, ast.Name) and node.left.id != node.right.id


def _squares(context: Context, node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return what a sum of squares is the sum of."""
    total = written(context, node, scope)
    if not isinstance(total, ast.Call) or last_word(total.func) not in {"sum", "dot", "vdot"} or not total.args:
        return None
    if last_word(total.func) != "sum":
        same = len(total.args) == 2 and ast.dump(total.args[0]) == ast.dump(total.args[1])
        return written(context, total.args[0], scope) if same else None
    inner = squared(written(context, total.args[0], scope))
    return before_wrapping(context, written(context, inner, scope), scope) if inner is not None else None
