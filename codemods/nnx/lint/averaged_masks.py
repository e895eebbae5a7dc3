"""Means over all positions of losses, or of right answers, that a mask leaves out in part; part of NNX789."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.around import around
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test, written
from codemods.nnx.lint.syntax import entry_word, keyword, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Unknown, Value

_CASTS = frozenset({"asarray", "array", "float32", "logical_not"})
_PLACES = frozenset({"random", "uniform", "rand", "arange"})
_DEPTH = 4
_LOSSES = frozenset({"optax.softmax_cross_entropy", "optax.softmax_cross_entropy_with_integer_labels"})


def averaged_masks(context: Context, told: set[CallEvent]) -> Iterator[tuple[CallEvent, str]]:
    """Yield the means over all positions of losses that are zero at those which do not count, with the mask.

    Args:
        context: the analysis.
        told: the means that are known already, by what their mask compares.
    """
    for event in context.bodies.named("mean", "sum"):
        scope, node = event.scope, event.node
        if event in told or scope.module not in context.asked or scope.function is None or in_test(scope):
            continue
        source = scope.module.source
        if not source.mentions(b"softmax_cross_entropy") and not source.mentions(b"argmax"):
            continue
        if node.keywords or len(node.args) > 1:
            continue
        word = last_word(node.func)
        share = around(context, scope).get(node) if word == "sum" else None
        if word == "sum" and not (isinstance(share, ast.BinOp) and share.left is node and _size(share)):
            continue
        name = context.flow.calls.name(event)
        whole = f"jax.numpy.{word}"
        given = node.args[0] if name == whole and node.args else getattr(node.func, "value", None)
        if name not in {"", whole} or not isinstance(given, ast.expr):
            continue
        factors = [bare(one) for one in operands(written(context, given, scope), ast.Mult)]
        losses = [one for one in factors if _each(context, written(context, one, scope), scope)]
        if len(factors) != 2 or len(losses) != 1:
            continue
        masks = [one for one in factors if _MASK.search(entry_word(one))]
        if not masks and losses[0] is not factors[1]:
            masks = [factors[1]] if _made_of_places(context, factors[1], scope) else []
        elif not masks:
            masks = [factors[0]] if _made_of_places(context, factors[0], scope) else []
        averaged = share if isinstance(share, ast.BinOp) else node
        if len(masks) != 1 or weighed_anew(context, averaged, masks[0], scope):
            continue
        yield event, ast.unparse(bare(masks[0]))


def _size(share: ast.BinOp) -> bool:
    """Say whether a share is one of all elements of an array: ``total / losses.size``."""
    whole = share.right
    if isinstance(whole, ast.Call):
        return isinstance(share.op, ast.Div) and last_word(whole.func) == "size" and len(whole.args) == 1
    return isinstance(share.op, ast.Div) and isinstance(whole, ast.Attribute) and whole.attr == "size"


def bare(node: ast.expr) -> ast.expr:
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


def _made_of_places(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether all that an expression may be says which places count: a condition on labels, or a draw of places."""
    value = scope.module.values.get(node)
    if value is None:
        return False
    sources = list(context.sources.originals(context.flow.here(value, scope)))
    return bool(sources) and all(_of_places(context, source) for source in sources)


def _of_places(context: Context, bound: Bound, depth: int = 0) -> bool:
    """Say whether a value is such a condition, also as numbers."""
    value = bound.value
    node = getattr(value, "node", None)
    if isinstance(value, Unknown) and isinstance(node, ast.Compare) and len(node.ops) == 1:
        drawn = any(last_word(side.func) in _PLACES for side in ast.walk(node) if isinstance(side, ast.Call))
        masked = isinstance(node.ops[0], ast.Eq) and "mask" in last_word(node.comparators[0]).lower()
        return masked or isinstance(node.ops[0], ast.NotEq) or (drawn and not isinstance(node.ops[0], ast.Eq))
    if not isinstance(value, Call) or depth > _DEPTH:
        return False
    name = context.flow.calls.callee_name(bound)
    inner: Value | None = None
    if name == "jax.random.bernoulli":
        return True
    if not name and isinstance(value.callee, Attr) and value.callee.name == "astype":
        inner = value.callee.base
    elif name.startswith(("jax.numpy.", "numpy.")) and last(name) in _CASTS and value.args:
        inner = value.args[0]
    if inner is None:
        return False
    sources = list(context.sources.originals(context.flow.with_value(bound, inner)))
    return bool(sources) and all(_of_places(context, source, depth + 1) for source in sources)


def weighed_anew(context: Context, mean: ast.expr, mask: ast.expr, scope: Scope) -> bool:
    """Say whether a mean, or its mask, is divided by what counts, or multiplied by something else."""
    if any(isinstance(n, ast.Div) for n in ast.walk(written(context, bare(mask), scope))):
        return True
    above = around(context, scope)
    outer = above.get(mean)
    names = {n.id for n in outer.targets if isinstance(n, ast.Name)} if isinstance(outer, ast.Assign) else set()
    places = [mean, *(n for n in context.bodies.nodes(scope) if isinstance(n, ast.Name) and n.id in names)]
    factors = (above.get(one) for one in places)
    return any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult | ast.Div) for one in factors)


_MASK = pattern(r"(^|_)(masks?|valid|nonpad|padding)(_|$)", re.I)
