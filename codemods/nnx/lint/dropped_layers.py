"""Layers and activations that are called as statements, so that their input goes on as it was; part of NNX842."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const

_ACTIVATIONS = frozenset(
    {"relu", "relu6", "gelu", "silu", "swish", "elu", "selu", "celu", "tanh", "sigmoid", "softmax", "log_softmax",
     "leaky_relu", "softplus", "soft_sign", "hard_tanh", "hard_sigmoid", "hard_silu", "log_sigmoid", "glu",
     "standardize", "avg_pool", "max_pool"}
)  # fmt: skip
_LAYERS = frozenset(
    f"flax.nnx.{word}"
    for word in ("Linear", "LinearGeneral", "Conv", "ConvTranspose", "Einsum", "Embed", "Dropout", "LayerNorm",
                 "RMSNorm", "GroupNorm", "InstanceNorm", "BatchNorm", "MultiHeadAttention", "Sequential")
)  # fmt: skip
_NORMALIZING = pattern(r"(Batch|Layer|Group|Instance|RMS|Weight)?_?Norm(alization)?(\d?d)?$")


def dropped_layers(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls of layers and activations whose input a function goes on with, with the name of the input.

    Args:
        context: the analysis.
    """
    for event in context.asked.calls():
        statement, function = event.statement, event.scope.function
        if event.used or function is None or not isinstance(statement, ast.Expr) or statement.value is not event.node:
            continue
        given = event.node.args[0] if event.node.args else None
        if not isinstance(given, ast.Name) or in_test(event.scope) or context.bodies.guarded(event.node, event.scope):
            continue
        if _goes_on(context, event, given.id) and (_is_activation(context, event) or _is_layer(context, event)):
            yield event, given.id


def _goes_on(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether a variable is read behind a call, in the block of the call or behind it."""
    end = event.statement.end_lineno or event.statement.lineno
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n.lineno > end
        for n in context.bodies.nodes(event.scope)
    )


def _is_activation(context: Context, event: CallEvent) -> bool:
    if last_word(event.node.func) not in _ACTIVATIONS:
        return False
    home, _, word = context.flow.calls.name(event).rpartition(".")
    return home in {"jax.nn", "flax.nnx", "flax.linen", "jax.numpy"} and word in _ACTIVATIONS


def _is_layer(context: Context, event: CallEvent) -> bool:
    """Say whether a method of an NNX module calls a layer of its own that does nothing but give a result, or
    normalizes."""
    function, callee = event.scope.function, event.node.func
    if function is None or function.owner is None or function.self_param is None or function.name == "__init__":
        return False
    if not isinstance(callee, ast.Attribute) or not isinstance(callee.value, ast.Name):
        return False
    if callee.value.id != function.self_param.name or Kind.MODULE not in kinds_of(
        context, function.self_param, event.scope
    ):
        return False
    made = context.sources.originals(context.flow.here(event.value.callee, event.scope))
    if not made:
        return False
    for one in made:
        if not isinstance(one.value, Call):
            return False
        if context.flow.calls.callee_name(one) in _LAYERS:
            continue
        if not _NORMALIZING.search(last_word(one.value.node.func)) or not _gives(context, event):
            return False
    return True


def _gives(context: Context, event: CallEvent) -> bool:
    """Say whether what a call runs is known, and gives something."""
    inner = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
    return bool(inner) and all(
        callee.function.returns and all(value != Const(None) for value in callee.function.returns)
        for callee, _ in inner
    )
