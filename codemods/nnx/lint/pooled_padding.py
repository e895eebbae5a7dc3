"""NNX580: sequences without their padding, averaged over all positions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.averaged_masks import bare, weighed_anew
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import in_test, written
from codemods.nnx.lint.syntax import argument, constant, new_axis, operands
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern

_LENGTH = pattern(r"(^|_)(len|lens|length|lengths|seqlens?|num_tokens|n_tokens|num_valid|n_valid)(_|$)")
_PAD = pattern(r"(^|_)(pad|padding)(_|$)")


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named("mean", "sum"):
        scope = event.scope
        if scope.module not in context.asked or scope.function is None or in_test(scope):
            continue
        if not scope.module.source.mentions(b"len") and not scope.module.source.mentions(b"pad"):
            continue
        mean = _mean(context, event)
        mask = _masked(context, event) if mean is not None else None
        if mean is None or mask is None or weighed_anew(context, mean, mask, scope):
            continue
        yield finding(
            RULE.code,
            scope,
            mean,
            f"the mean divides by all positions, also by those that `{ast.unparse(bare(mask))}` leaves out: "
            "the shorter a sequence, the smaller it is",
            "divide by how many count: jnp.sum(x * mask, axis) / jnp.sum(mask, axis), or give mean(where=mask)",
        )


def _mean(context: Context, event: CallEvent) -> ast.expr | None:
    """Return a mean over an axis: the call, or the share of a sum by how long the axis is."""
    node = event.node
    name = context.flow.calls.name(event)
    word = last_word(node.func)
    if name not in {"", f"jax.numpy.{word}"} or any(one.arg not in {"axis", "keepdims"} for one in node.keywords):
        return None
    if not isinstance(constant(argument(node, 1 if name else 0, "axis")), int):
        return None
    if word == "mean":
        return node
    share = around(context, event.scope).get(node)
    if not isinstance(share, ast.BinOp) or not isinstance(share.op, ast.Div) or share.left is not node:
        return None
    whole = share.right
    return share if isinstance(whole, ast.Subscript) and last_word(whole.value) == "shape" else None


def _masked(context: Context, event: CallEvent) -> ast.expr | None:
    """Return the mask of what is averaged, if it says which positions along the axis of the mean are no padding."""
    node, scope = event.node, event.scope
    method = not context.flow.calls.name(event)
    given = getattr(node.func, "value", None) if method else node.args[0] if node.args else None
    axis = constant(argument(node, 0 if method else 1, "axis"))
    if not isinstance(given, ast.expr):
        return None
    whole = written(context, given, scope)
    if isinstance(whole, ast.Call) and last_word(whole.func) == "where" and len(whole.args) == 3:
        masks = [whole.args[0]] if constant(whole.args[2]) in (0, 0.0) else []
    else:
        masks = operands(whole, ast.Mult) if isinstance(whole, ast.BinOp) else []
    for mask in masks:
        added = _added_axes(context, mask, scope)
        shown = _spelled(context, bare(_spelled(context, bare(mask), scope)), scope)
        axes = _axes(shown)
        if axes and isinstance(axis, int) and axis in {axes - 1, -1 - added}:
            return mask
    return None


def _spelled(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return the expression of which a variable is the name; others themselves."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else None
    return node if made is None else made


def _added_axes(context: Context, mask: ast.expr, scope: Scope) -> int:
    """Return how many axes are added behind those of a mask, as in ``mask[..., None]``."""
    for node in (mask, _spelled(context, mask, scope)):
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            node = node.func.value
        if isinstance(node, ast.Subscript):
            parts = elements(node.slice)
            return sum(new_axis(one) for one in parts)
    return 0


def _axes(mask: ast.expr) -> int:
    """Return how many axes a mask of padding has, as it is written: of one sequence, or of a batch; 0 for others."""
    if not isinstance(mask, ast.Compare) or len(mask.ops) != 1:
        return 0
    sides = [mask.left, mask.comparators[0]]
    if isinstance(mask.ops[0], ast.NotEq):
        return 2 if _PAD.search(last_word(sides[1]).lower()) else 0
    counted = [one for one in sides if _counts(one)]
    if not isinstance(mask.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE) or len(counted) != 1:
        return 0
    other = sides[1] if counted[0] is sides[0] else sides[0]
    words = [last_word(n).lower() for n in ast.walk(other) if isinstance(n, ast.Name | ast.Attribute)]
    if not any(_LENGTH.search(word) for word in words):
        return 0
    return 2 if isinstance(other, ast.Subscript) and any(new_axis(one) for one in elements(other.slice)) else 1


def _counts(node: ast.expr) -> bool:
    return any(isinstance(n, ast.Call) and last_word(n.func) == "arange" for n in ast.walk(node))


RULE = lint_rule(
    "NNX580",
    "pooled-padding",
    "a mean over the positions of sequences whose padding is set to zero",
    why="""\
A mask takes the padding away, but `mean(axis=1)` still divides by how long the longest sequence is: of one that fills a
quarter of it the mean is a quarter of what it should be, and the same sequence gives another vector in another batch.
The sum is to be divided by how many positions count.
""",
    source="guides on sentence embeddings with a mask; measured: 0.25 for two of eight positions that hold 1",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp


def pooled(tokens, lengths):
    mask = jnp.arange(tokens.shape[1])[None, :] < lengths[:, None]
    return jnp.where(mask[..., None], tokens, 0.0).mean(axis=1)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


def pooled(tokens, lengths):
    mask = jnp.arange(tokens.shape[1])[None, :] < lengths[:, None]
    return jnp.where(mask[..., None], tokens, 0.0).sum(axis=1) / lengths[:, None]
""",
        """\
import jax.numpy as jnp


def pooled(tokens, lengths):
    mask = jnp.arange(tokens.shape[1])[None, :] < lengths[:, None]
    return jnp.mean(tokens, axis=1, where=mask[..., None])
""",
    ),
)
