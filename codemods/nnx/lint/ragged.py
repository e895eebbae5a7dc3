"""Arrays that have another length in each round of a loop: drawn, chosen by a mask, or as long as texts; for NNX919."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.places import written
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Sequence, Value

_SAME = frozenset({"asarray", "array", "astype", "clip", "device_put", "copy"})
_MADE = {"zeros": 0, "ones": 0, "full": 0, "empty": 0, "arange": 0, "normal": 1, "uniform": 1, "randint": 1}
_DRAWING = frozenset({"integers", "randint", "randrange", "poisson", "geometric", "binomial"})
_DEPTH = 6


def of_another_length(context: Context, node: ast.expr, loop: ast.AST, scope: Scope) -> str:
    """Say what makes an array of another length in each round; empty if nothing is known to.

    Args:
        context: the analysis.
        node: the array, as it is given to compiled code.
        loop: the loop that the call stands in.
        scope: the scope of the call.
    """
    made = written(context, node, scope)
    if isinstance(made, ast.Subscript) and _chosen(context, made, loop, scope):
        return "a mask leaves another number of elements in every round"
    value = scope.module.values.get(node)
    if value is not None and _drawn(context, context.flow.here(value, scope), 0):
        return "the length is drawn anew for every one"
    return ""


def _chosen(context: Context, part: ast.Subscript, loop: ast.AST, scope: Scope) -> bool:
    """Say whether a mask that changes with the rounds chooses elements: ``x[errors > tolerance]``."""
    mask = written(context, part.slice, scope)
    while isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert):
        mask = mask.operand
    both = isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.BitAnd | ast.BitOr)
    sides = [mask.left, mask.right] if both and isinstance(mask, ast.BinOp) else [mask]
    compared = [one for one in sides if isinstance(one, ast.Compare)]
    ordered = ast.Lt | ast.LtE | ast.Gt | ast.GtE
    if not compared or not all(isinstance(op, ordered) for one in compared for op in one.ops):
        return False
    if any(isinstance(n, ast.Call) and last_word(n.func) == "len" for one in compared for n in ast.walk(one)):
        return False
    stored = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    called = any(isinstance(n, ast.Name | ast.Attribute | ast.Call) for one in compared for n in ast.walk(one.left))
    return called and any(names_in(one) & stored for one in compared)


def _drawn(context: Context, bound: Bound, depth: int) -> bool:
    """Say whether an array is made with a length that a loop draws."""
    sources = list(context.sources.originals(bound)) if depth < _DEPTH else []
    return bool(sources) and all(_of_drawn_length(context, one, one.value, depth) for one in sources)


def _of_drawn_length(context: Context, bound: Bound, value: Value, depth: int) -> bool:
    if not isinstance(value, Call) or value.starred:
        return False
    word = last_word(value.node.func)
    name = context.flow.calls.callee_name(bound)
    if word in _SAME:
        method = value.callee if not name and isinstance(value.callee, Attr) else None
        inner = method.base if method is not None else value.args[0] if value.args else None
        return inner is not None and _drawn(context, context.flow.with_value(bound, inner), depth + 1)
    shape = value.keyword("size") or value.keyword("shape")
    if shape is None and name.startswith(("jax.", "numpy.")) and word in _MADE:
        place = _MADE[word] if name.startswith("jax.random.") or word not in {"normal", "uniform", "randint"} else 9
        shape = value.args[place] if len(value.args) > place else None
    if shape is None or (name and not name.startswith(("jax.", "numpy."))):
        return False
    sizes = shape.items if isinstance(shape, Sequence) else [shape]
    return any(_number_drawn(context, context.flow.with_value(bound, one), 0) for one in sizes)


def _number_drawn(context: Context, bound: Bound, depth: int) -> bool:
    """Say whether a number of Python is drawn in a loop."""
    sources = list(context.sources.originals(bound)) if depth < _DEPTH else []
    for one in sources:
        value = one.value
        if not isinstance(value, Call):
            return False
        if last_word(value.node.func) == "int" and value.args:
            if not _number_drawn(context, context.flow.with_value(one, value.args[0]), depth + 1):
                return False
            continue
        if last_word(value.node.func) not in _DRAWING or value.keyword("size") is not None:
            return False
        name = context.flow.calls.callee_name(one)
        if name and not name.startswith(("numpy.random.", "random.")):
            return False
        if not any(event.node is value.node and event.loops for event in context.bodies.named(*_DRAWING)):
            return False
    return bool(sources)
