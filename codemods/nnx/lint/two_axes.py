"""Transpositions whose axes are no order of all axes: PyTorch exchanges two, ``x.transpose(1, 2)``; part of NNX720."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.arrays import Arrays, batched
from codemods.nnx.lint.owners import is_array
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Param, Value

_FUNCTIONS = frozenset({"jax.numpy.transpose", "jax.numpy.permute_dims", "jax.lax.transpose"})
#: Libraries whose tensors have a method of this name that exchanges two axes.
_OTHERS = (b"torch", b"paddle", b"mxnet", b"mindspore", b"tinygrad", b"mlx", b"tensorflow", b"autograd")


def two_axes(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the transpositions with axes that no array has so, with what is wrong and the way out."""
    for event in context.bodies.named("transpose", "permute_dims"):
        scope = event.scope
        if scope.module not in context.asked or event.value.starred or in_test(scope):
            continue
        function = context.flow.calls.name(event) in _FUNCTIONS
        given = _axes(event.node, function)
        whole = event.value.argument(0, "a") if function else _owner(event)
        if given is None or whole is None or context.bodies.guarded(event.node, scope):
            continue
        text = ", ".join(map(str, given))
        count = _count(context, whole, scope)
        if _order(given, count or len(given)) or _asked(context, scope):
            continue
        if not function and not _array(context, whole, count, scope):
            continue
        many = f"and this array has {count}" if count is not None else f"and ({text}) is no order of {len(given)} axes"
        yield (
            event,
            f"`{last_word(event.node.func)}` takes all axes of an array in their new order, {many}",
            f"x.swapaxes({text}) exchanges two axes" if len(given) == 2 else "name every axis once",
        )


def _axes(call: ast.Call, function: bool) -> list[int] | None:
    """Return the axes that are given, if there are several, all of them literal."""
    if function:
        axes = argument(call, 1, "axes")
        if len(call.args) > 2:
            return None
    else:
        axes = call.args[0] if len(call.args) == 1 and not call.keywords else None
        if len(call.args) > 1 and not call.keywords:
            axes = ast.Tuple(elts=call.args)
    found = [constant(one) for one in axes.elts] if isinstance(axes, ast.Tuple | ast.List) else []
    numbers = [one for one in found if type(one) is int]
    return numbers if len(found) > 1 and len(numbers) == len(found) else None


def _order(axes: list[int], count: int) -> bool:
    """Say whether axes name each axis of an array once."""
    return sorted(axis % count if -count <= axis < count else count for axis in axes) == list(range(count))


def _owner(event: CallEvent) -> Value | None:
    return event.value.callee.base if isinstance(event.value.callee, Attr) else None


def _asked(context: Context, scope: Scope) -> bool:
    """Say whether a body asks how many axes an array has: it may be another array that is turned so."""
    return any(
        (isinstance(one, ast.Attribute) and one.attr == "ndim")
        or (isinstance(one, ast.Call) and last_word(one.func) == "len" and "shape" in map(last_word, one.args))
        for one in context.bodies.nodes(scope)
    )


def _count(context: Context, whole: Value, scope: Scope) -> int | None:
    """Return how many axes an array has, if they are known for certain, and several."""
    axes = Arrays(context, {}).of(whole, scope).axes if scope.function not in context.shared(batched) else None
    return axes if axes is not None and axes > 1 else None


def _array(context: Context, whole: Value, count: int | None, scope: Scope) -> bool:
    """Say whether a value is an array of JAX for certain; without a library that turns tensors, by its use too."""
    if is_array(context, whole, scope):
        return True
    if any(module.source.mentions(word) for module in context.project.modules for word in _OTHERS):
        return False
    used = isinstance(whole, Param) and context.bodies.evidence(whole.function).get(whole.name) == "array"
    return (count is not None or used) and scope.module.source.mentions(b"jax")
