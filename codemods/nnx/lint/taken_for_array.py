"""What a transform makes, which is a function, where it is computed with like an array; part of NNX759."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.values import Call

_ATTRIBUTES = frozenset({"shape", "ndim", "dtype", "T", "at", "mean", "sum", "max", "min", "astype", "reshape", "item"})


def taken_for_array(context: Context, event: CallEvent) -> bool:
    """Say whether what a call makes is an operand, is indexed, or is given to a function of arrays.

    Args:
        context: the analysis.
        event: a call that makes a function.
    """
    values = event.scope.module.values
    return any(
        one is event.node or (isinstance(one, ast.Name) and values.get(one) is event.value)
        for node in context.bodies.nodes(event.scope)
        for one in _arrays(context, node, event)
    )


def _arrays(context: Context, node: ast.AST, event: CallEvent) -> Iterator[ast.expr]:
    """Yield the expressions right under a node that have to be arrays or numbers."""
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Compare) and all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops):
        yield from (node.left, *node.comparators)
    elif isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES):
        yield node.value
    elif isinstance(node, ast.Call) and node.args and node is not event.node:
        value = event.scope.module.values.get(node)
        if not isinstance(value, Call) or value.starred:
            return
        here = context.flow.here(value, event.scope)
        name = context.flow.calls.callee_name(here)
        if name.rpartition(".")[0] in {"jax.numpy", "jax.nn"} and name.rpartition(".")[2] not in _OF_FUNCTIONS:
            yield node.args[0]
        elif not name:
            yield from _of_project(context, node, value, event)


_OF_FUNCTIONS = frozenset(
    {"vectorize", "apply_along_axis", "apply_over_axes", "piecewise", "fromfunction", "frompyfunc"}
)


def _of_project(context: Context, node: ast.Call, value: Call, event: CallEvent) -> Iterator[ast.expr]:
    """Yield the arguments that a function of the project takes as arrays."""
    reached = context.flow.calls.invoked(context.flow.here(value, event.scope))
    functions = {callee.function for callee, _ in reached}
    if len(functions) != 1:
        return
    function = functions.pop()
    kinds = context.bodies.evidence(function)
    params = [one for one in function.params.values() if one is not function.self_param]
    for param, given in zip(params, node.args, strict=False):
        if kinds.get(param.name) == "array":
            yield given
