"""Outputs of a scan that are None and are read in place of its last carry; part of NNX864."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Sequence, Value


def none_outputs(context: Context) -> Iterator[tuple[CallEvent, ast.Name]]:
    """Yield the scans whose last carry is dropped and whose outputs, all None, are read, with the name of these.

    Args:
        context: the analysis.
    """
    for event in context.bodies.unpacked:
        statement = event.statement
        body = _body(context, event)
        if body is None or event.scope.module not in context.asked or in_test(event.scope):
            continue
        target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            continue
        first, second = target.elts
        if not isinstance(first, ast.Name) or first.id.strip("_") or not isinstance(second, ast.Name):
            continue
        read = (n.lineno > statement.lineno for n in context.bodies.reads(event.scope, second.id))
        if not any(read):
            continue
        callees = context.flow.calls.callables(context.flow.here(body, event.scope))
        if callees and all(_gives_none(callee.function.returns) for callee in callees):
            yield event, second


def _body(context: Context, event: CallEvent) -> Value | None:
    """Return the body of ``lax.scan(body, init, xs)`` or ``nnx.scan(body)(...)`` with the carry first."""
    func = event.node.func
    if not isinstance(func, ast.Call):
        direct = last_word(func) == "scan" and context.flow.calls.name(event) == "jax.lax.scan"
        return event.value.argument(0, "f") if direct else None
    maker = event.value.callee
    if last_word(func.func) != "scan" or not isinstance(maker, Call) or not maker.args:
        return None
    if context.flow.calls.callee_name(context.flow.here(maker, event.scope)) != "flax.nnx.scan":
        return None
    axes = keyword(func, "out_axes")
    if axes is not None and not (isinstance(axes, ast.Tuple) and last_word(axes.elts[0]) == "Carry"):
        return None
    return maker.args[0]


def _gives_none(returns: list[Value]) -> bool:
    """Say whether all that a body returns are pairs of a carry and None."""
    return bool(returns) and all(
        isinstance(one, Sequence) and len(one.items) == 2 and one.items[1] == Const(None) for one in returns
    )
