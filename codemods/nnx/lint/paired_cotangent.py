"""Backward rules of ``nnx.custom_vjp`` that take the pair they are given for a gradient; part of NNX873."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.frames import Bound
from codemods.nnx.lint.around import around
from codemods.nnx.lint.names import gives_arrays
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Call, Ref

_CUSTOM = "flax.nnx.custom_vjp"
_OPERATORS = ast.Mult | ast.Div | ast.Sub | ast.Pow | ast.MatMult
# what an array has, and a tuple has not
_OF_ARRAYS = frozenset({"shape", "dtype", "ndim", "size", "T", "at", "sum", "mean", "astype", "reshape", "transpose"})


def unpaired(context: Context) -> Iterator[tuple[FunctionFacts, ast.expr]]:
    """Yield the backward rules that calculate with all of what they get last, with the place."""
    for event in context.bodies.named("defvjp"):
        func, given = event.node.func, event.value.argument(1, "bwd")
        if not isinstance(func, ast.Attribute) or event.scope.module not in context.asked or in_test(event.scope):
            continue
        owner = event.scope.module.values.get(func.value)
        if owner is None or given is None or event.value.starred:
            continue
        primal, backward = (_only(context, context.flow.here(one, event.scope)) for one in (owner, given))
        if backward is None or context.bodies.guarded(event.node, event.scope):
            continue
        made = context.flow.resolve(context.flow.here(owner, event.scope))
        if not (_made_by_nnx(context, made) or (primal is not None and _of_nnx(context, primal))):
            continue
        place = _calculated(context, backward)
        if place is not None:
            yield backward, place


def _only(context: Context, bound: Bound) -> FunctionFacts | None:
    callees = context.flow.calls.callables(bound)
    return callees[0].function if len(callees) == 1 and not callees[0].args and not callees[0].keywords else None


def _made_by_nnx(context: Context, made: Bound) -> bool:
    """Say whether ``nnx.custom_vjp`` was called with a function, and what it gave has a name."""
    if not isinstance(made.value, Call) or context.flow.calls.callee_name(made) != _CUSTOM or not made.value.args:
        return False
    return not {"graph", "graph_updates", None} & {key for key, _ in made.value.keywords}


def _of_nnx(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function is decorated by ``nnx.custom_vjp`` alone, which tells of changes of its arguments."""
    outer = function.scope.parent
    if outer is None or len(function.decorators) != 1:
        return False
    found = context.flow.resolve(context.flow.here(function.decorators[0], outer))
    if isinstance(found.value, Ref):
        return found.value.name == _CUSTOM
    if not isinstance(found.value, Call) or {"graph", "graph_updates", None} & {k for k, _ in found.value.keywords}:
        return False
    if context.flow.calls.callee_name(found) == _CUSTOM:
        return True
    if context.flow.calls.callee_name(found) != "functools.partial" or not found.value.args:
        return False
    inner = context.flow.follow(found, found.value.args[0]).value
    return isinstance(inner, Ref) and inner.name == _CUSTOM


def _calculated(context: Context, backward: FunctionFacts) -> ast.expr | None:
    """Return where a rule calculates with its last parameter as if that were an array."""
    if len(backward.params) < 2 or backward.vararg is not None:
        return None
    name = list(backward.params)[-1]
    uses = context.bodies.names(backward.scope).get(name, ())
    if any(not isinstance(one.ctx, ast.Load) for one in uses):
        return None  # it is taken apart under its own name
    above_of = around(context, backward.scope)
    for one in uses:
        above = above_of.get(one)
        if isinstance(above, ast.BinOp) and isinstance(above.op, _OPERATORS):
            return above
        if isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.USub):
            return above
        if isinstance(above, ast.Attribute) and above.attr in _OF_ARRAYS:
            return above
        if isinstance(above, ast.Call) and one in above.args:
            value = backward.scope.module.values.get(above)
            callee = context.flow.here(value, backward.scope) if isinstance(value, Call) else None
            called = context.flow.calls.callee_name(callee) if callee is not None else ""
            if called.startswith("jax.numpy.") and gives_arrays(called):
                return above
        if isinstance(above, ast.Tuple) and isinstance(above_of.get(above), ast.Return):
            return one
    return None
