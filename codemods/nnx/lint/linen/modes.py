"""NNX590: layers of Linen that nobody tells whether they train."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import HOME, layer_called, method_around, wanted
from codemods.nnx.lint.names import last
from codemods.nnx.values import Call

# the flag of a layer, and how many arguments its constructor takes up to it
_FLAGS = {f"{HOME}Dropout": ("deterministic", 3), f"{HOME}BatchNorm": ("use_running_average", 1)}
_LAYERS = (b"Dropout", b"BatchNorm")


def _check(context: Context) -> Iterator[Finding]:
    for module in context.asked.modules:
        if not any(module.source.mentions(word) for word in _LAYERS):
            continue
        for event in module.calls:
            if len(event.value.args) == 1 and method_around(context, event.scope) is not None:
                name = _untold(context, event)
                if name and wanted(context, event) and not _of_torch(context, event):
                    layer, flag = last(name), _FLAGS[name][0]
                    yield finding(
                        RULE.code,
                        event.scope,
                        event.node,
                        f"nobody tells this {layer} whether it trains, where it is made or called: Linen refuses it",
                        f"give it {flag}=..., as an argument of the model says",
                    )


def _of_torch(context: Context, event: CallEvent) -> bool:
    """Say whether the class of a layer is one of PyTorch, whose layers are looked for in Linen by mistake: an error
    comes before, where they are made."""
    method = method_around(context, event.scope)
    owner = method.owner if method is not None else None
    return owner is not None and any(
        context.flow.calls.name(call) in _TORCH
        for one in owner.methods.values()
        for call in context.bodies.calls.get(one.scope, ())
    )


_TORCH = frozenset(
    f"{HOME}{word}"
    for word in ("Linear", "MultiheadAttention", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d", "ReLU",
                 "GELU", "Embedding", "Dropout2d", "MaxPool2d", "Identity")
)  # fmt: skip


def _untold(context: Context, event: CallEvent) -> str:
    """Return the name of the layer that a call applies, if neither this nor its constructor says its mode."""
    if not isinstance(event.value.callee, Call) and event.node.keywords:
        return ""
    made = layer_called(context, event)
    call = made.value
    if not isinstance(call, Call) or call.starred:
        return ""
    name = context.flow.calls.callee_name(made)
    if name not in _FLAGS:
        return ""
    flag, place = _FLAGS[name]
    told = {key for key, _ in (*call.keywords, *event.value.keywords)}
    return "" if flag in told or None in told or len(call.args) >= place else name


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Dense(4)(x)
        return nn.Dropout(0.5)(x)


variables = Net().init(jax.random.key(0), jnp.ones((1, 3)))
"""

RULE = lint_rule(
    "NNX590",
    "linen-mode",
    "a Dropout or BatchNorm of Linen without a mode",
    why="""\
Layers of Linen keep no mode: `nn.Dropout` has to be given `deterministic`, and `nn.BatchNorm` `use_running_average`,
by its constructor or by the call. Without it Linen raises a ValueError when the model is initialised.
""",
    source="Flax guide to dropout; measured on Flax 0.10.7, 0.11.2 and 0.12.8: ValueError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("self, x)", "self, x, train=False)").replace(
            "Dropout(0.5)(x)", "Dropout(0.5)(x, deterministic=not train)"
        ),
        _BAD.replace("Dropout(0.5)", "Dropout(0.5, deterministic=True)"),
    ),
)
