"""The density of a flow with the logarithm of the volume of the other direction; part of NNX925."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.places import in_test, written
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_FLOW = pattern(rb"log_?det|ldj|jacobian|\bflow", re.I, needs=(b"logdet", b"log_det", b"ldj", b"jacobian", b"flow"))
_BASE = pattern(r"log_?p(rob|df)?|norm|gaussian|prior|base", re.I)


def wrong_volumes(context: Context) -> Iterator[tuple[Scope, ast.AST, ast.AST]]:
    """Yield the sums of volumes with the sign of the other direction, each with the density that adds it.

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
            uses = [use for event in context.flow.sites.callers(function) if (use := _used(context, event)) is not None]
            wrong = [node for node, added in uses if added is not agrees]
            if wrong and len(wrong) == len(uses):
                yield function.scope, volume, wrong[0]


def _returned(context: Context, function: FunctionFacts) -> tuple[ast.expr, bool] | None:
    """Return the volume that a function gives beside its result, and whether its sign is that of the change."""
    returned = [n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
    given = returned[0].value if len(returned) == 1 else None
    if not isinstance(given, ast.Tuple) or len(given.elts) != 2:
        return None
    volume = written(context, given.elts[1], function.scope)
    sign, summed = _sign(volume)
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
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
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
        isinstance(n, ast.Call) and _BASE.search(ast.unparse(n.func)) for n in ast.walk(other)
    ):
        return None
    if isinstance(other, ast.UnaryOp) or isinstance(above.get(holder), ast.BinOp | ast.AugAssign):
        return None
    return holder, isinstance(holder.op, ast.Add)
