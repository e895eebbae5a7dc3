"""Masks of truth values that are added to scores, which moves them by one and hides nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.arrays import PREDICATES
from codemods.nnx.lint.formula import operand
from codemods.nnx.lint.mask_meaning import meaning
from codemods.nnx.lint.syntax import new_axis
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Choice, Const, Item, Sequence, Unknown, Value

# what masks are called
_MASK = pattern(r"mask|causal|valid|legal|allowed|visible|attend|avail|padding|\bkeep", re.I)
# what is multiplied with a mask, and no reward or penalty of what that is true for
_SCORES = pattern(r"logits?|scores?|attn|energ(y|ies)|@|einsum", re.I)
_NUMPY = frozenset({"jax.numpy", "numpy"})
_MASKS_OF_FLAX = frozenset({"make_causal_mask", "make_attention_mask", "combine_masks"})
# functions that give parts or other forms of an array, of the same type
_SAME = frozenset({"tril", "triu", "reshape", "expand_dims", "broadcast_to", "squeeze", "tile", "repeat", "swapaxes",
                   "transpose", "array", "asarray", "logical_not", "invert"})  # fmt: skip
_FILLED = {"ones": 1, "zeros": 1, "full": 2, "ones_like": 1, "zeros_like": 1, "full_like": 2, "tri": 3}
_BOOL = frozenset({"bool", "bool_", "builtins.bool", "jax.numpy.bool_", "jax.numpy.bool", "numpy.bool_", "numpy.bool"})
_DEPTH = 12


def added(context: Context, scope: Scope, scores: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return a mask of truth values that scores are a sum, difference or product with, and that operation.

    Args:
        context: the analysis.
        scope: the body that the scores stand in.
        scores: what a softmax gets.
    """
    for node, sides in _sums(context, scope, scores, 0):
        for mask, other in (sides, sides[::-1]):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and not _SCORES.search(ast.unparse(other)):
                continue
            value = scope.module.values.get(mask)
            if ast.unparse(mask) in ast.unparse(other):
                continue  # what it leaves out is hidden by another term
            if value is None or not _is_mask(context, scope, mask, value) or _truths_of(context, scope, other):
                continue
            if _truths_of(context, scope, mask):
                return mask, node
    return None


def _sums(
    context: Context, scope: Scope, node: ast.expr, depth: int, term: bool = False
) -> Iterator[tuple[ast.expr, tuple[ast.expr, ast.expr]]]:
    """Yield the sums, differences and products that an expression is made of, as far as its numbers stay."""
    if depth > _DEPTH:
        return
    made: list[ast.expr] = [node]
    value = scope.module.values.get(node)
    if isinstance(node, ast.Name) and value is not None:
        made = []
        for way in _ways(value):
            changed = way.node if isinstance(way, Unknown | Call | Changed) else None
            if isinstance(changed, ast.AugAssign) and isinstance(changed.target, ast.Name):
                made.append(changed.target)
            elif isinstance(changed, ast.expr):
                made.append(changed)
    paths = context.bodies.paths(scope)
    for one in made:
        if one not in paths:
            continue  # of another body
        sides = _sides(context, scope, one)
        product = isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult)
        if sides is not None and not (product and term):
            yield one, sides
        for part in sides if sides is not None and not product else _kept(one):
            yield from _sums(context, scope, part, depth + 1, term or sides is not None)


def _ways(value: Value) -> list[Value]:
    """Return what a variable may hold, by the ways that lead to where it is read."""
    return [one for option in value.options for one in _ways(option)] if isinstance(value, Choice) else [value]


def _sides(context: Context, scope: Scope, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        return node.left, node.right
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        for one in context.bodies.nodes(scope):
            if isinstance(one, ast.AugAssign) and one.target is node and isinstance(one.op, ast.Add | ast.Sub):
                return node, one.value
    value = scope.module.values.get(node)
    if isinstance(node, ast.Call) and isinstance(value, Call) and len(node.args) == 2 and not value.starred:
        name = context.flow.calls.callee_name(context.flow.here(value, scope))
        if name in {"jax.numpy.add", "jax.numpy.subtract", "jax.lax.add", "jax.lax.sub"}:
            return node.args[0], node.args[1]
    return None


def _kept(node: ast.expr) -> tuple[ast.expr, ...]:
    """Return what an expression is a quotient or another type of."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return (node.left,)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
        return (node.func.value,)
    return ()


def _is_mask(context: Context, scope: Scope, node: ast.expr, value: Value) -> bool:
    """Say whether truth values are a mask by their name or by what they are made of, and differ along the keys."""
    if _MASK.search(ast.unparse(node)):
        masks = list(context.sources.originals(context.flow.here(value, scope)))
        return not any(_one_of_row(one) for one in masks)
    found = [meaning(context, one, scope) for one in context.sources.originals(context.flow.here(value, scope))]
    return bool(found) and None not in found and not _one_of_row(context.flow.here(value, scope))


def _one_of_row(mask: Bound) -> bool:
    """Say whether a mask has one truth for a whole row of scores, which leaves their softmax as it is."""
    value = mask.value
    if not isinstance(value, Item | Indexed):
        return False
    index = value.index.value if isinstance(value, Indexed) else value.index
    if isinstance(index, Sequence):
        parts = index.node.elts if isinstance(index.node, ast.Tuple) else []
        return not parts or new_axis(parts[-1])
    return isinstance(index, Const)


def _truths_of(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether an expression of a body is an array of truth values wherever it comes from, or None."""
    value = scope.module.values.get(node)
    return value is not None and is_truths(context, context.flow.here(value, scope))


def is_truths(context: Context, mask: Bound, depth: int = 0) -> bool:
    """Say whether a value is an array of truth values by the way in which it was made, wherever it comes from.

    Args:
        context: the analysis.
        mask: the value; None beside arrays does not count.
        depth: how many values it was followed through.
    """
    found = [one for one in context.sources.originals(mask) if one.value != Const(None)] if depth <= _DEPTH else []
    return bool(found) and all(_made(context, one, depth) for one in found)


def _made(context: Context, mask: Bound, depth: int) -> bool:
    value = mask.value

    def of(part: Value) -> bool:
        return is_truths(context, context.flow.with_value(mask, part), depth + 1)

    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value, Indexed) else value.index
        return not isinstance(index, Const) and of(value.base)
    if isinstance(value, Unknown):
        return _computed(context, mask, value.node, depth)
    if not isinstance(value, Call) or value.starred:
        return False
    name = context.flow.calls.callee_name(mask)
    home, _, word = name.rpartition(".")
    dtype = value.keyword("dtype")
    if not name and isinstance(value.callee, Attr):
        method = value.callee
        if method.name == "astype":
            given = value.argument(0, "dtype")
            return given is not None and _is_bool(context, mask, given)
        return method.name in _SAME and of(method.base)
    if home.startswith("flax.") and word in _MASKS_OF_FLAX:
        return dtype is not None and _is_bool(context, mask, dtype)
    if home not in _NUMPY:
        return False
    if word in _FILLED:
        given = value.argument(_FILLED[word], "dtype")
        if given is not None:
            return _is_bool(context, mask, given)
        return word == "full" and len(value.args) > 1 and isinstance(value.args[1], Const) and _truth(value.args[1])
    if dtype is not None or (word in {"array", "asarray"} and len(value.args) > 1):
        given = value.argument(1, "dtype")
        return word in {"array", "asarray"} and given is not None and _is_bool(context, mask, given)
    if word in PREDICATES or word == "isin" or word == "bool_":
        return True
    return word in _SAME and bool(value.args) and of(value.args[0])


def _truth(value: Const) -> bool:
    return isinstance(value.value, bool)


def _is_bool(context: Context, mask: Bound, dtype: Value) -> bool:
    found = context.flow.resolve(context.flow.with_value(mask, dtype)).value
    name = found.value if isinstance(found, Const) else getattr(found, "name", "")
    return name is bool or name in _BOOL


def _computed(context: Context, mask: Bound, node: ast.AST, depth: int) -> bool:
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    sides: tuple[ast.expr, ...] = ()
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        sides = (node.operand,)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor):
        sides = (node.left, node.right)
    return bool(sides) and all(is_truths(context, operand(context, mask, side), depth + 1) for side in sides)
