"""Bounds and shapes where samplers of jax.random take something else; part of NNX874."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import originals_that
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Const, Param, Sequence, Unknown, Value

# samplers that take the type behind the shape, with the place of the type
_TYPES = {"uniform": 2, "normal": 2, "gumbel": 2, "exponential": 2, "laplace": 2, "cauchy": 2, "logistic": 2}


def misplaced_bounds(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the numbers where a sampler takes a type, and the shapes where ``bernoulli`` takes a probability."""
    for event, name in foreign(context, *_TYPES, "bernoulli"):
        word = last(name)
        if name != f"jax.random.{word}" or event.value.starred or context.bodies.guarded(event.node, event.scope):
            continue
        if word == "bernoulli":
            if _shape_for_share(context, event):
                shape = event.scope.module.source.text(event.node.args[1])
                message = f"`bernoulli` takes the probability second, and `{shape}` is a shape"
                yield event, event.node.args[1], message, f"give it before the shape: bernoulli(key, 0.5, {shape})"
            continue
        place = _TYPES[word]
        if word == "normal" and len(event.node.args) > 1 and _float(context, event, 1):
            yield (
                event, event.node.args[1], "`normal` takes the shape second, and neither a mean nor a deviation",
                "scale what it draws: mean + deviation * jax.random.normal(key, shape)",
            )  # fmt: skip
        elif len(event.node.args) > place and _number(context, event, place):
            text = event.scope.module.source.text(event.node.args[place])
            message = f"`{word}` takes the type behind the shape, and `{text}` is a number"
            help = "give the bounds by name: minval=..., maxval=..." if word == "uniform" else "scale what it draws"
            yield event, event.node.args[place], message, help


def _shape_for_share(context: Context, event: CallEvent) -> bool:
    """Say whether ``bernoulli`` gets a tuple of sizes for its probability, and no shape."""
    value = event.value
    if len(value.args) != 2 or any(word != "mode" for word, _ in value.keywords):
        return False
    node = event.node.args[1]
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return True
    found = originals_that(context, context.flow.here(value.args[1], event.scope), _is_tuple)
    return bool(found) and not isinstance(value.args[1], Param)


def _is_tuple(value: Value) -> bool:
    return isinstance(value, Sequence) and isinstance(value.node, ast.Tuple)


def _float(context: Context, event: CallEvent, place: int) -> bool:
    value = event.value.args[place]
    return bool(originals_that(context, context.flow.here(value, event.scope), _is_float))


def _number(context: Context, event: CallEvent, place: int) -> bool:
    """Say whether an argument is a number on every way: a constant, or what arithmetic makes, as no type is.

    Of integers alone NNX763 tells.
    """
    given = context.flow.here(event.value.args[place], event.scope)
    if originals_that(context, given, lambda value: isinstance(value, Const) and type(value.value) is int):
        return False
    if type(constant(event.node.args[place])) is int:
        return False
    return _counted(event.node.args[place]) or bool(originals_that(context, given, _is_number))


def _counted(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub)
    return isinstance(node, ast.BinOp) and not isinstance(node.op, ast.BitOr)


def _is_number(value: Value) -> bool:
    if isinstance(value, Const):
        return type(value.value) in {int, float}
    return isinstance(value, Unknown) and isinstance(value.node, ast.expr) and _counted(value.node)


def _is_float(value: Value) -> bool:
    return isinstance(value, Const) and type(value.value) is float
