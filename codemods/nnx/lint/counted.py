"""Indices that count to the end of an array in compiled loops, and go past it; part of NNX847."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.literal_shape import literal_shape
from codemods.nnx.lint.syntax import constant
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import first_element, last_word
from codemods.nnx.values import Attr, Call, Const, Item, Param, Value

_CHOOSING = frozenset({"where", "select", "cond", "switch", "minimum", "clip", "mod", "get"})


def past_in_rounds(context: Context, node: ast.Subscript, scope: Scope) -> bool:
    """Say whether ``x[i + 1]`` is past the end in the last round of a ``fori_loop`` or a ``scan`` over all indices."""
    index = first_element(node.slice)
    if not isinstance(index, ast.BinOp) or not isinstance(index.op, ast.Add) or scope.function is None:
        return False
    step = constant(index.right)
    counter = scope.module.values.get(index.left)
    if type(step) is not int or step <= 0 or not isinstance(counter, Param) or counter.function is not scope.function:
        return False
    tracing = context.traced.get(scope.function)
    if tracing is None or len(tracing.roots) != 1 or tracing.sites:
        return False
    root = tracing.roots[0]
    count = _rounds(context, root, counter)
    at = isinstance(node.value, ast.Attribute) and node.value.attr == "at"
    owner = node.value.value if isinstance(node.value, ast.Attribute) and at else node.value
    value = scope.module.values.get(owner)
    if count is None or value is None or not isinstance(owner, ast.Name) or _chosen(context, node, scope):
        return False
    whole = _whole(context, root, value, scope)
    if whole is None:
        return False
    if isinstance(count.value, Const):
        home = context.bodies.home(whole.value.node) if isinstance(whole.value, Call) else None
        shape = literal_shape(context, whole.value, home) if home is not None else ()
        return bool(shape) and type(count.value.value) is int and shape[0] == count.value.value
    measured = _measured(context, count)
    return measured is not None and context.flow.resolve(measured) == whole


def _rounds(context: Context, root: Root, counter: Param) -> Bound | None:
    """Return the number to which a parameter counts from round to round; None if it does not count."""
    place = list(root.function.params).index(counter.name)
    call = root.scope.module.values.get(root.node)
    if not isinstance(call, Call) or call.starred or root.partial or root.bound:
        return None
    here = context.flow.here(call, root.scope)
    if root.transform == "jax.lax.fori_loop" and place == 0:
        end = call.argument(1, "upper")
    elif root.transform == "jax.lax.scan" and place == 1:
        given = call.argument(2, "xs")
        found = context.flow.follow(here, given) if given is not None else here
        if not isinstance(found.value, Call) or context.flow.calls.callee_name(found) != "jax.numpy.arange":
            return None
        if len(found.value.args) != 1 or found.value.keywords:
            return None
        return context.flow.follow(found, found.value.args[0])
    else:
        return None
    return context.flow.follow(here, end) if end is not None else None


def _measured(context: Context, count: Bound) -> Bound | None:
    """Return the array whose length a number is; None if it is none."""
    value = count.value
    if isinstance(value, Call) and context.flow.calls.callee_name(count) == "builtins.len" and len(value.args) == 1:
        return context.flow.with_value(count, value.args[0])
    base = getattr(value, "base", None)
    if isinstance(value, Item) or type(value).__name__ == "Indexed":
        index = getattr(value, "index", None)
        number = index.value if isinstance(index, Bound) else index
        if isinstance(number, Const) and number.value == 0 and isinstance(base, Attr) and base.name == "shape":
            return context.flow.with_value(count, base.base)
    return None


def _whole(context: Context, root: Root, value: Value, scope: Scope) -> Bound | None:
    """Return the array that a body indexes, as the code around the loop has it."""
    if isinstance(value, Param):
        if value.function is not root.function or root.transform != "jax.lax.fori_loop":
            return None
        call = root.scope.module.values.get(root.node)
        if not isinstance(call, Call):
            return None
        first = call.argument(3, "init_val")
        if first is None or list(root.function.params).index(value.name) != 1:
            return None
        return context.flow.follow(context.flow.here(call, root.scope), first)
    return context.flow.resolve(context.flow.here(value, scope))


def _chosen(context: Context, node: ast.Subscript, scope: Scope) -> bool:
    """Say whether a condition chooses what is read, or a mode says what becomes of an index past the end."""
    for call in context.bodies.nodes(scope):
        if isinstance(call, ast.Call) and any(part is node for part in ast.walk(call)):
            if last_word(call.func) in _CHOOSING or any(k.arg in {"mode", "fill_value"} for k in call.keywords):
                return True
    return any(isinstance(block, ast.If | ast.IfExp) for block, _ in context.bodies.paths(scope).get(node, ()))
