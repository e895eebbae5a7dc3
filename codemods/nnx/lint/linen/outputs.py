"""NNX589: what ``apply`` gives with ``mutable``, taken for the output alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import has_linen, receiver_modules, wanted
from codemods.nnx.lint.linen.unlisted import unlisted
from codemods.nnx.lint.linen_outputs import applied_modules
from codemods.nnx.lint.names import ARRAY_METHODS
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.values import Attr

_FIELDS = ARRAY_METHODS | {"shape", "dtype", "ndim", "T", "at"}


def _check(context: Context) -> Iterator[Finding]:
    if not has_linen(context):
        return
    for event in context.bodies.named("apply", "apply_fn"):
        mutable = keyword(event.node, "mutable")
        if mutable is None or not constant(mutable) or not wanted(context, event) or not _of_linen(context, event):
            continue
        used = _used_as_array(context, event)
        if used is not None:
            yield finding(
                RULE.code,
                event.scope,
                used,
                "with `mutable`, apply gives the output and the collections that changed: this is a tuple",
                "take it apart: y, updates = ...apply(..., mutable=...)",
                related=[(event.node, "it is given here")],
            )
    for scope, node, word in unlisted(context):
        yield finding(
            RULE.code,
            scope,
            node,
            f"`mutable` does not name `{word}`: what apply gives beside the output never has it",
            f'name it there: mutable=["{word}"]',
        )


def _of_linen(context: Context, event: CallEvent) -> bool:
    callee = event.value.callee
    if isinstance(callee, Attr) and callee.name == "apply":
        return bool(receiver_modules(context, event))
    return bool(applied_modules(context, context.flow.here(event.value, event.scope), mutable=True))


def _used_as_array(context: Context, event: CallEvent) -> ast.AST | None:
    """Return where the result is used as an array; None if it is taken apart, or may be."""
    nodes, values = context.bodies.nodes(event.scope), event.scope.module.values
    for node in nodes:
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Mod):
            sides = (node.left, node.right)
        elif isinstance(node, ast.Attribute) and node.attr in _FIELDS:
            sides = (node.value, node.value)
        else:
            continue
        if any(
            side is event.node or (isinstance(side, ast.Name) and values.get(side) is event.value) for side in sides
        ):
            return node
    return None


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn

model = nn.BatchNorm(use_running_average=False)
variables = model.init(jax.random.key(0), jnp.ones((4, 3)))
y = model.apply(variables, jnp.ones((4, 3)), mutable=["batch_stats"])
print((y**2).mean())
"""

RULE = lint_rule(
    "NNX589",
    "linen-updated-output",
    "the result of `apply` with `mutable` used as the output alone",
    why="""\
With `mutable`, also with `mutable=True` and a list of one collection, `apply` returns a pair: the output and a dict
with the collections that changed. Arithmetic with the pair raises a TypeError, its attributes an AttributeError. The
dict has the collections that `mutable` names, and no others: what `sow` puts into another one is lost.
""",
    source="Flax guide to batch normalization; measured on Flax 0.10.7, 0.11.2 and 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("y = model", "y, updates = model"), _BAD.replace('["batch_stats"])', '["batch_stats"])[0]')),
)
