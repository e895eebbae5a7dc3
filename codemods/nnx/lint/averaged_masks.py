"""Means over all positions of losses, or of right answers, that a mask leaves out in part; part of NNX789."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.places import in_test, written
from codemods.nnx.lint.syntax import entry_word, keyword, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_LOSSES = frozenset({"optax.softmax_cross_entropy", "optax.softmax_cross_entropy_with_integer_labels"})


def averaged_masks(context: Context, told: set[CallEvent]) -> Iterator[tuple[CallEvent, str]]:
    """Yield the means over all positions of losses that are zero at those which do not count, with the mask.

    Args:
        context: the analysis.
        told: the means that are known already, by what their mask compares.
    """
    for event in context.bodies.named("mean"):
        scope, node = event.scope, event.node
        if event in told or scope.module not in context.asked or scope.function is None or in_test(scope):
            continue
        source = scope.module.source
        if not source.mentions(b"softmax_cross_entropy") and not source.mentions(b"argmax"):
            continue
        if node.keywords or len(node.args) > 1:
            continue
        name = context.flow.calls.name(event)
        given = node.args[0] if name == "jax.numpy.mean" and node.args else getattr(node.func, "value", None)
        if name not in {"", "jax.numpy.mean"} or not isinstance(given, ast.expr):
            continue
        factors = [_bare(one) for one in operands(written(context, given, scope), ast.Mult)]
        masks = [one for one in factors if _MASK.search(entry_word(_bare(one)))]
        losses = [one for one in factors if _each(context, written(context, one, scope), scope)]
        if len(factors) != 2 or len(masks) != 1 or len(losses) != 1 or _weighed_anew(context, node, masks[0], scope):
            continue
        yield event, ast.unparse(_bare(masks[0]))


def _bare(node: ast.expr) -> ast.expr:
    """Return a mask without its conversion to numbers, or further axes: ``mask.astype(jnp.float32)``."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            node = node.func.value
        elif isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            node = node.value
        else:
            return node


def _each(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the loss at each position, or whether the answer there is right."""
    if isinstance(node, ast.Compare):
        sides = [written(context, side, scope) for side in (node.left, *node.comparators)]
        return isinstance(node.ops[0], ast.Eq) and any(
            isinstance(side, ast.Call) and last_word(side.func) == "argmax" for side in sides
        )
    value = scope.module.values.get(node)
    if not isinstance(node, ast.Call) or not isinstance(value, Call) or keyword(node, "where") is not None:
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    return name in _LOSSES


def _weighed_anew(context: Context, mean: ast.Call, mask: ast.expr, scope: Scope) -> bool:
    """Say whether a mean, or its mask, is divided by what counts, or multiplied by something else."""
    if any(isinstance(n, ast.Div) for n in ast.walk(written(context, _bare(mask), scope))):
        return True
    above = around(context, scope)
    outer = above.get(mean)
    names = {n.id for n in outer.targets if isinstance(n, ast.Name)} if isinstance(outer, ast.Assign) else set()
    places = [mean, *(n for n in context.bodies.nodes(scope) if isinstance(n, ast.Name) and n.id in names)]
    factors = (above.get(one) for one in places)
    return any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult | ast.Div) for one in factors)


_MASK = pattern(r"(^|_)(masks?|valid|nonpad|padding)(_|$)", re.I)
