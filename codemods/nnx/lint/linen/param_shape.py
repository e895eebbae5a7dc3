"""NNX594: shapes of Linen parameters that are given as several numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import INITIALIZERS, has_linen, is_linen, wanted
from codemods.nnx.values import Attr, Call, Ref


def _check(context: Context) -> Iterator[Finding]:
    if not has_linen(context):
        return
    for event in context.bodies.named("param"):
        if len(event.node.args) < 4 or not wanted(context, event) or not of_module(context, event):
            continue
        if _is_number(event.node.args[2]) and _is_number(event.node.args[3]) and _by_initializer(context, event):
            numbers = ", ".join(ast.unparse(one) for one in event.node.args[2:])
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "an initializer takes the shape as one tuple, and the type behind it",
                f"({numbers})",
            )


def of_module(context: Context, event: CallEvent) -> bool:
    """Say whether a call is one of the method ``param`` of the module of Linen in whose method it stands."""
    function, callee = event.scope.function, event.value.callee
    return (
        function is not None
        and is_linen(context, function.owner)
        and isinstance(callee, Attr)
        and callee.base is function.self_param
    )


def _is_number(node: ast.expr) -> bool:
    """Say whether an expression is one of the numbers of a shape: a literal, or ``x.shape[-1]``."""
    if isinstance(node, ast.Subscript):
        part = not isinstance(node.slice, ast.Slice)
        return part and isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    return isinstance(node, ast.Constant) and type(node.value) is int


def _by_initializer(context: Context, event: CallEvent) -> bool:
    """Say whether the values come from an initializer of Linen or JAX."""
    made = context.flow.follow(context.flow.here(event.value, event.scope), event.value.args[1])
    name = made.value.name if isinstance(made.value, Ref) else ""
    if isinstance(made.value, Call):
        name = context.flow.calls.callee_name(made)
    return name.startswith(INITIALIZERS)


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        kernel = self.param("kernel", nn.initializers.lecun_normal(), x.shape[-1], 4)
        return x @ kernel


variables = Net().init(jax.random.key(0), jnp.ones((1, 3)))
"""

RULE = lint_rule(
    "NNX594",
    "linen-param-shape",
    "the shape of a Linen parameter given as several numbers",
    why="""\
`self.param(name, initializer, *arguments)` calls the initializer with the key and the arguments, and the argument
behind the shape is the type. Numbers one by one raise a TypeError, or a ValueError about a weight of one dimension.
""",
    source="questions on the Flax discussions; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("x.shape[-1], 4)", "(x.shape[-1], 4))"),),
)
