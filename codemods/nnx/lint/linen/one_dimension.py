"""NNX644: initializers that need two axes, for parameters of Linen that have one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import HOME, INITIALIZERS, has_linen, wanted
from codemods.nnx.lint.linen.param_shape import of_module
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Call, Ref, Value

_WITH_FANS = frozenset(
    f"{name}_{kind}" for name in ("glorot", "he", "kaiming", "lecun", "xavier") for kind in ("normal", "uniform")
) | {"variance_scaling", "orthogonal"}
_AXES = frozenset({"in_axis", "out_axis", "batch_axis", "column_axis"})
# layers whose bias or scale has one axis
_LAYERS = frozenset({"BatchNorm", "Conv", "ConvTranspose", "Dense", "GroupNorm", "LayerNorm", "RMSNorm"})
_OPTIONS = ("bias_init", "scale_init")


def _check(context: Context) -> Iterator[Finding]:
    if not has_linen(context):
        return
    for event in context.bodies.named("param"):
        if len(event.node.args) < 3 or not _has_one_axis(event.node.args[2]) or not wanted(context, event):
            continue
        if of_module(context, event):
            name = _initializer(context, event, event.value.args[1])
            if name:
                yield _told(event, event.node.args[1], name, "parameter")
    for event, layer in foreign(context, *sorted(_LAYERS)):
        if not layer.startswith(HOME) or not any(one.arg in _OPTIONS for one in event.node.keywords):
            continue
        for option in event.node.keywords:
            value = event.value.keyword(option.arg) if option.arg in _OPTIONS else None
            if value is None or not wanted(context, event) or _turned_off(event, option.arg):
                continue
            name = _initializer(context, event, value)
            if name:
                yield _told(
                    event, option.value, name, f"{(option.arg or '').removesuffix('_init')} of nn.{last(layer)}"
                )


def _turned_off(event: CallEvent, option: str | None) -> bool:
    """Say whether a layer may have no such parameter."""
    return any(one.arg == f"use_{(option or '').removesuffix('_init')}" for one in event.node.keywords)


def _has_one_axis(shape: ast.expr) -> bool:
    return (
        isinstance(shape, ast.Tuple | ast.List) and len(shape.elts) == 1 and not isinstance(shape.elts[0], ast.Starred)
    )


def _initializer(context: Context, event: CallEvent, value: Value) -> str:
    """Return the initializer that needs two axes and that a value is; empty for any other."""
    made = context.flow.follow(context.flow.here(event.value, event.scope), value)
    if not isinstance(made.value, Call) or made.value.starred:
        return ""
    if len(made.value.args) > 1 and isinstance(made.value.args[1], Ref):
        return ""
    name = context.flow.calls.callee_name(made)
    known = name.startswith(INITIALIZERS) and last(name) in _WITH_FANS
    return last(name) if known and not any(key is None or key in _AXES for key, _ in made.value.keywords) else ""


def _told(event: CallEvent, node: ast.expr, name: str, whose: str) -> Finding:
    return finding(
        RULE.code,
        event.scope,
        node,
        f"`{name}` needs two axes at least, and the {whose} has one: ValueError",
        "take nn.initializers.normal(...), zeros_init() or ones_init() for it",
    )


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        query = self.param("query", nn.initializers.xavier_uniform(), (x.shape[-1],))
        return nn.softmax(x @ query)


variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
"""

RULE = lint_rule(
    "NNX644",
    "linen-one-dimension",
    "an initializer that needs two axes, for a parameter of one",
    why="""\
The initializers of Glorot, He and LeCun take their scale from the sizes of the input and the output, and `orthogonal`
makes a matrix: of a shape with one axis, as those of a bias, of a scale and of a vector are, they raise a ValueError.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("xavier_uniform()", "normal(0.02)"),
        _BAD.replace("(x.shape[-1],))", "(x.shape[-1], 1))"),
    ),
)
