"""The density of a flow with the logarithm of the volume of the other direction; part of NNX925."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.places import in_test, target_of, written
from codemods.nnx.lint.syntax import names_in, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_FLOW = pattern(rb"log_?det|ldj|jacobian|\bflow", re.I, needs=(b"logdet", b"log_det", b"ldj", b"jacobian", b"flow"))
_DEPTH = 3
_BASE = pattern(r"log_?p(rob|df)?|norm|gaussian|prior|base", re.I)


def wrong_volumes(context: Context) -> Iterator[tuple[Scope, ast.AST, ast.AST]]:
    """Yield the sums of volumes with the sign of the other direction, each with the density that adds it; where several
    changes are put together, the scope is that of the density.

    A function that divides by ``exp(s)`` has the volume ``-sum(s)``: what is returned beside its result is added to the
    density of the base at this result.

    Args:
        context: the analysis.
    """
    if not any(module.source.matches(_FLOW) for module in context.asked.modules):
        return
    for module in context.asked.modules:
        for function in module.functions if module.source.matches(_FLOW) else ():
            found = _returned(context, function)
            if found is None or in_test(function.scope):
                continue
            volume, agrees = found
            callers = context.flow.sites.callers(function)
            uses = [(event.scope, *use) for event in callers if (use := _used(context, event)) is not None]
            wrong = [(home, node) for home, node, added in uses if added is not agrees]
            if wrong and len(wrong) == len(uses):
                yield wrong[0][0] if isinstance(volume, ast.BinOp) else function.scope, volume, wrong[0][1]


def _returned(context: Context, function: FunctionFacts, depth: int = 0) -> tuple[ast.expr, bool] | None:
    """Return the volume that a function gives beside its result, and whether its sign is that of the change.

    The volume of several changes is the sum of theirs, which all have the sign of the one that is known.
    """
    returned = [n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
    given = returned[0].value if len(returned) == 1 else None
    if not isinstance(given, ast.Tuple) or len(given.elts) != 2:
        return None
    volume = written(context, given.elts[1], function.scope)
    if isinstance(volume, ast.BinOp) and depth < _DEPTH:
        inner_ones = [_of_part(context, one, function, depth) for one in operands(volume, ast.Add)]
        signs = {one[1] for one in inner_ones if one is not None}
        return (volume, signs.pop()) if len(signs) == 1 else None
    sign, summed = _sign(volume)
    if isinstance(summed, ast.Call) and last_word(summed.func) == "broadcast_to" and summed.args:
        summed = ast.Call(ast.Name("sum", ast.Load()), summed.args[:1], [])
    if not isinstance(summed, ast.Call) or last_word(summed.func) != "sum":
        return None
    scale = summed.args[0] if summed.args and not _method(summed) else None
    if _method(summed) and isinstance(summed.func, ast.Attribute):
        scale = summed.func.value
    if scale is None:
        return None
    inner, scale = _sign(scale)
    changes = {_change(context, n, function.scope) for n in context.bodies.nodes(function.scope)} - {None}
    if len(changes) != 1:
        return None
    text, grows = next(one for one in changes if one is not None)
    return (volume, grows == sign * inner) if text == ast.unparse(scale) else None


def _of_part(context: Context, node: ast.expr, function: FunctionFacts, depth: int) -> tuple[ast.expr, bool] | None:
    """Return what is known of the volume that another function of the project gives beside its result."""
    stores = context.bodies.names(function.scope).get(node.id, ()) if isinstance(node, ast.Name) else ()
    above = around(context, function.scope)
    for store in stores:
        target = above.get(store) if isinstance(store.ctx, ast.Store) else None
        statement = above.get(target) if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
        if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Tuple) or target.elts[1] is not store:
            continue
        value = function.scope.module.values.get(statement.value)
        if isinstance(value, Call):
            reached = context.flow.calls.invoked(context.flow.here(value, function.scope))
            if len(reached) == 1 and reached[0][0].function is not function:
                return _returned(context, reached[0][0].function, depth + 1)
    return None


def _method(call: ast.Call) -> bool:
    """Say whether a sum is one of an array's methods: ``s.sum(-1)``."""
    return isinstance(call.func, ast.Attribute) and not (
        isinstance(call.func.value, ast.Name) and call.func.value.id in {"jnp", "np", "numpy", "lax"}
    )


def _sign(node: ast.expr) -> tuple[int, ast.expr]:
    """Return the sign of an expression, and the rest."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -1, node.operand
    return 1, node


def _change(context: Context, node: ast.AST, scope: Scope) -> tuple[str, int] | None:
    """Return the scale of ``y * exp(s)``, ``y * exp(-s)`` or ``y / exp(s)``, and whether it grows with it."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult | ast.Div):
        return None
    for one, inverse in ((node.right, isinstance(node.op, ast.Div)), (node.left, False)):
        if isinstance(node.op, ast.Div) and one is node.left:
            continue
        made = written(context, one, scope)
        if isinstance(made, ast.Call) and last_word(made.func) == "exp" and len(made.args) == 1:
            sign, scale = _sign(made.args[0])
            return ast.unparse(scale), -sign if inverse else sign
    return None


def _used(context: Context, event: CallEvent) -> tuple[ast.AST, bool] | None:
    """Return the sum of a volume and the density of the base at the result, and whether the volume is added."""
    target = target_of(event)
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return None
    result, volume = target.elts
    if not isinstance(result, ast.Name) or not isinstance(volume, ast.Name):
        return None
    above = around(context, event.scope)
    reads = context.bodies.reads(event.scope, volume.id)
    if len(reads) != 1:
        return None
    holder = above.get(reads[0])
    if not isinstance(holder, ast.BinOp) or not isinstance(holder.op, ast.Add | ast.Sub):
        return None
    if holder.right is not reads[0] and isinstance(holder.op, ast.Sub):
        return None
    other = written(context, holder.left if holder.right is reads[0] else holder.right, event.scope)
    if result.id not in names_in(other) or not any(
        (isinstance(n, ast.Call) and _BASE.search(ast.unparse(n.func)))
        or (isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow) and last_word(n.left) == result.id)
        for n in ast.walk(other)
    ):
        return None
    if isinstance(other, ast.UnaryOp) or isinstance(above.get(holder), ast.BinOp | ast.AugAssign):
        return None
    return holder, isinstance(holder.op, ast.Add)
