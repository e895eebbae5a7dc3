"""How many classes logits have, as far as the weights or the layer tells that give them last."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.owners import made_once
from codemods.nnx.lint.sizes import followed, sizes_of
from codemods.nnx.values import Attr, Call, Item, Unknown, Value

# what gives an array as large as the one that it is given
_SAME = frozenset({"jax.nn.log_softmax", "jax.nn.softmax", "jax.numpy.asarray", "jax.lax.stop_gradient"})
_LINEAR = {"flax.nnx.Linear": (1, "out_features"), "flax.linen.Dense": (0, "features")}
# with several trees, these give parameters of the shapes of the first one
_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"})
_DEPTH = 12


def class_count(context: Context, bound: Bound, depth: int = 0) -> int | None:
    """Return the length of the last axis of an array; None if it is not known on every way.

    Args:
        context: the analysis.
        bound: the array.
        depth: how many values it was followed from.
    """
    if depth > _DEPTH:
        return None
    found = set()
    for source in context.sources.originals(bound):
        if _updated(context, source):
            continue  # as large as what was updated, which is a source, too
        one = _last(context, source, depth)
        if one is None:
            return None
        found.add(one)
    return found.pop() if len(found) == 1 else None


def _updated(context: Context, source: Bound) -> bool:
    """Say whether a value is a part of what ``optax.apply_updates`` gave, or a map over parameters and gradients."""
    value = source.value
    while isinstance(value, Item | Indexed):
        value = value.base
    if not isinstance(value, Call):
        return False
    name = context.flow.calls.callee_name(context.flow.with_value(source, value))
    return name == "optax.apply_updates" or (name in _MAPS and len(value.args) > 2)


def _last(context: Context, source: Bound, depth: int) -> int | None:
    value = source.value
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
        return _operation(context, source, value.node, depth)
    if isinstance(value, Call) and not value.starred:
        name = context.flow.calls.callee_name(source)
        if name in _SAME and value.args and followed(context, value.args[0]):
            return class_count(context, context.flow.with_value(source, value.args[0]), depth + 1)
        home = source.frame.function.scope if source.frame is not None else context.bodies.home(value.node)
        features = _features(context, value.callee, home) if home is not None else None
        if features is not None:
            return features
    sizes = sizes_of(context, source)
    size = sizes[-1] if sizes else None
    return int(size) if isinstance(size, int) else None


def _features(context: Context, callee: Value, scope: Scope) -> int | None:
    """Return how many features the linear layer gives that is called."""
    made = context.flow.here(callee, scope) if isinstance(callee, Call) else None
    if made is None and isinstance(callee, Attr):
        made = made_once(context, callee, scope)
    if made is None or not isinstance(made.value, Call) or made.value.starred:
        return None
    place = _LINEAR.get(context.flow.calls.callee_name(made))
    given = made.value.argument(*place) if place is not None else None
    if given is None:
        return None
    sources = context.sources.originals(context.flow.with_value(made, given))
    known = {getattr(one.value, "value", None) for one in sources}
    number = known.pop() if len(known) == 1 else None
    return number if type(number) is int else None


def _operation(context: Context, source: Bound, node: ast.BinOp, depth: int) -> int | None:
    """Return the length of the last axis of a product with a matrix, or of a sum of arrays."""
    home = context.bodies.home_of(source, node)
    if home is None:
        return None
    if isinstance(node.op, ast.MatMult):
        right = home.module.values.get(node.right)
        if right is None or not followed(context, right):
            return None
        return _columns(context, context.flow.with_value(source, right), depth)
    if not isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        return None
    sides = (_side(context, source, one, home, depth) for one in (node.left, node.right))
    known = {one for one in sides if one is not None and one > 1}
    return known.pop() if len(known) == 1 else None


def _side(context: Context, source: Bound, node: ast.expr, home: Scope, depth: int) -> int | None:
    value = home.module.values.get(node)
    if isinstance(node, ast.BinOp) and (value is None or (isinstance(value, Unknown) and value.node is node)):
        return _operation(context, source, node, depth + 1) if depth < _DEPTH else None
    if value is None or not followed(context, value):
        return None
    return class_count(context, context.flow.with_value(source, value), depth + 1)


def _columns(context: Context, weights: Bound, depth: int) -> int | None:
    """Return the number of columns of a matrix, wherever it comes from; None if it may be none."""
    found = set()
    for source in context.sources.originals(weights):
        if _updated(context, source):
            continue
        sizes = sizes_of(context, source)
        size = sizes[1] if sizes is not None and len(sizes) == 2 else None
        if not isinstance(size, int):
            value = source.value
            if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp | ast.UnaryOp) and depth < _DEPTH:
                size = _scaled(context, source, value.node, depth)
        if not isinstance(size, int):
            return None
        found.add(int(size))
    return found.pop() if len(found) == 1 else None


def _scaled(context: Context, source: Bound, node: ast.AST, depth: int) -> int | None:
    """Return the number of columns of ``0.1 * jax.random.normal(key, (4, 3))``, whose other side is a number."""
    home = context.bodies.home_of(source, node)
    if home is None or not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult | ast.Div):
        return None
    values = [home.module.values.get(one) for one in (node.left, node.right)]
    every = [
        sizes_of(context, context.flow.with_value(source, one)) if one is not None else ()
        for one in values
    ]  # fmt: skip
    known = [one for one in every if one is not None and len(one) == 2]
    size = known[0][1] if len(known) == 1 else None
    return int(size) if isinstance(size, int) else None
