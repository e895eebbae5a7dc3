"""Targets that were made with an axis of one, where predictions have none; part of NNX800."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.array_calls import array_of, axis_of
from codemods.nnx.lint.arrays import Arrays, batched
from codemods.nnx.lint.formula import at, binary, one_source, operand
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import argument, constant, keyword, new_axis
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Item, Value

_WORD = pattern(rb"keepdims|reshape|None\]|newaxis|expand_dims", needs=(b"keepdims", b"reshape", b"none]", b"newaxis",
                                                                        b"expand_dims"))  # fmt: skip
_TARGETS = pattern(r"^(y|ys|t)(_?(true|batch|train))?$|target|label|return|^rets$")
_REDUCING = frozenset({"sum", "mean", "max", "min", "prod", "median"})
_PRODUCTS = frozenset({"einsum", "dot", "matmul", "squeeze"})
_HOMES = ("jax.numpy.", "jax.nn.", "jax.lax.", "numpy.")
_DEPTH = 6


def targets_as_columns(context: Context, one: ast.expr, two: ast.expr, scope: Scope) -> bool:
    """Say whether one side of an error is a target that was made as a column, and the other a product with one axis.

    Args:
        context: the analysis.
        one: a side.
        two: the other side.
        scope: where they stand.
    """
    if not any(module.source.matches(_WORD) for module in context.project.modules):
        return False
    if _by_rows(context, scope, 0):
        return False
    for left, right in ((one, two), (two, one)):
        if not isinstance(left, ast.Name | ast.Attribute) or not _TARGETS.search(last_word(left)):
            continue
        value = scope.module.values.get(right)
        if value is None and not isinstance(right, ast.BinOp):
            continue
        if Arrays(context, {}).written(right, scope).axes != 1 or not _predicted(context, at(context, right, scope), 0):
            continue
        sources = context.sources.originals(at(context, left, scope))
        if sources and all(_column(context, source) for source in sources):
            return True
    return False


def _by_rows(context: Context, scope: Scope, depth: int) -> bool:
    """Say whether a body may be run for each example by itself, as a function under ``vmap`` is, or what that calls."""
    around: Scope | None = scope
    while around is not None:
        function = around.function
        if function is not None and (depth > _DEPTH or function in context.shared(batched)):
            return True
        if function is not None and any(
            caller.scope is not around and _by_rows(context, caller.scope, depth + 1)
            for caller in context.flow.sites.callers(function)
        ):
            return True
        around = around.parent
    return False


def _predicted(context: Context, bound: Bound, depth: int) -> bool:
    """Say whether a value is a product with weights, by a function of the project too."""
    found = one_source(context, bound)
    if found is None or depth > _DEPTH:
        return False
    node = binary(found, ast.MatMult, ast.Add, ast.Mult)
    if node is not None:
        sides = (operand(context, found, side) for side in (node.left, node.right))
        return isinstance(node.op, ast.MatMult) or any(_predicted(context, side, depth + 1) for side in sides)
    if not isinstance(found.value, Call):
        return False
    name = context.flow.calls.callee_name(found)
    if name.startswith(_HOMES):
        given = found.value.args[:1]
        return last(name) in _PRODUCTS or any(
            _predicted(context, context.flow.with_value(found, one), depth + 1) for one in given
        )
    invoked = context.flow.calls.invoked(found) if not name else []
    return bool(invoked) and all(
        bool(callee.function.returns)
        and all(_predicted(context, Bound(one, frame), depth + 1) for one in callee.function.returns)
        for callee, frame in invoked
    )


def _column(context: Context, source: Bound) -> bool:
    """Say whether an array was given a last axis of one, and has two."""
    value = source.value
    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value, Indexed) else value.index
        node = getattr(index, "node", None)
        parts = elements(node) if isinstance(node, ast.Tuple) else []
        if len(parts) != 2 or not isinstance(parts[0], ast.Slice) or not new_axis(parts[1]):
            return False
        return _axes(context, source, value.base) == 1
    if not isinstance(value, Call) or value.starred:
        return False
    call, name = value.node, context.flow.calls.callee_name(source)
    if name and not name.startswith(("jax.numpy.", "numpy.")):
        return False
    word = last_word(call.func)
    if word in _REDUCING:
        inner = _value(context, source, array_of(call))
        kept = constant(keyword(call, "keepdims")) is True and constant(axis_of(call)) in (1, -1)
        return kept and inner is not None and _axes(context, source, inner) == 2
    if word == "expand_dims":
        return bool(value.args) and constant(argument(call, 1, "axis")) in (1, -1) and _axes(
            context, source, value.args[0]
        ) == 1  # fmt: skip
    if word != "reshape":
        return False
    shape = call.args[1:] if name else call.args
    sizes = [constant(one) for one in (elements(shape[0], lists=True) if len(shape) == 1 else shape)]
    return sizes == [-1, 1]


def _value(context: Context, source: Bound, node: ast.expr | None) -> Value | None:
    return operand(context, source, node).value if node is not None else None


def _axes(context: Context, source: Bound, value: Value) -> int | None:
    """Return how many axes an array has."""
    if isinstance(value, Const):
        return 0
    return Arrays(context, {}).of_bound(context.flow.with_value(source, value)).axes
