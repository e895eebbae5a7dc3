"""Layers whose numbers of features are multiples of one variable, and do not fit; part of NNX722."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.owners import made_once
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import argument
from codemods.nnx.values import Attr, Call, Value

_LAYERS = frozenset({"flax.nnx.Linear", "flax.nnx.Conv", "flax.nnx.ConvTranspose"})
_KEEPING = frozenset(
    {"relu", "gelu", "silu", "swish", "tanh", "sigmoid", "leaky_relu", "elu", "softplus", "selu", "relu6", "mish"}
)
_HOMES = frozenset({"jax.nn", "flax.nnx", "jax.numpy"})
_DEPTH = 4


class _Width(NamedTuple):
    """A number of features.

    Attributes:
        number: what the rest is multiplied with.
        rest: the variables that are multiplied, in order.
        home: the body in which they stand.
        text: how it is written.
    """

    number: int
    rest: tuple[str, ...]
    home: Scope
    text: str


def unlike_widths(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls of layers that get what another layer of the same object gives, another multiple of the same
    variable than they take, with both.

    Args:
        context: the analysis.
    """
    for module in context.asked.modules:
        if not module.source.mentions(b"nnx") or not module.source.mentions(b"self."):
            continue
        for event in module.calls:
            value = event.value
            if not isinstance(value.callee, Attr) or len(value.args) != 1 or value.starred or value.keywords:
                continue
            before = _layer_call(context, value.args[0], event.scope, 0)
            if before is None or in_test(event.scope) or context.bodies.guarded(event.node, event.scope):
                continue
            taken = _width(context, value.callee, event.scope, 0, "in_features")
            given = _width(context, before.callee, event.scope, 1, "out_features") if taken is not None else None
            if taken is None or given is None or taken.home is not given.home or taken.rest != given.rest:
                continue
            if taken.rest and taken.number != given.number:
                yield event, taken.text, given.text


def _layer_call(context: Context, value: Value, scope: Scope, depth: int) -> Call | None:
    """Return the call of an attribute that an array comes from, through activations."""
    if not isinstance(value, Call) or value.starred or depth > _DEPTH:
        return None
    if isinstance(value.callee, Attr) and len(value.args) == 1 and not value.keywords:
        if not context.flow.calls.callee_name(context.flow.here(value, scope)):
            return value
    home, _, word = context.flow.calls.callee_name(context.flow.here(value, scope)).rpartition(".")
    if home in _HOMES and word in _KEEPING and value.args:
        return _layer_call(context, value.args[0], scope, depth + 1)
    return None


def _width(context: Context, callee: Value, scope: Scope, place: int, name: str) -> _Width | None:
    """Return how many features a layer takes or gives, by how it is made."""
    made = made_once(context, callee, scope) if isinstance(callee, Attr) else None
    if made is None or not isinstance(made.value, Call) or made.value.starred:
        return None
    if context.flow.calls.callee_name(made) not in _LAYERS:
        return None
    node, home = argument(made.value.node, place, name), context.bodies.home(made.value.node)
    product = _product(node) if node is not None and home is not None else None
    if node is None or home is None or product is None:
        return None
    number, rest = product
    if any(len(home.bindings.get(one.partition(".")[0], ())) > 1 for one in rest):
        return None
    return _Width(number, tuple(sorted(rest)), home, ast.unparse(node))


def _product(node: ast.expr) -> tuple[int, list[str]] | None:
    """Return the number and the variables that a product is made of; None if it is something else."""
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 0:
        return node.value, []
    if isinstance(node, ast.Name):
        return 1, [node.id]
    if isinstance(node, ast.Attribute):
        base = node.value
        return (1, [ast.unparse(node)]) if isinstance(base, ast.Name) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        one, two = _product(node.left), _product(node.right)
        return (one[0] * two[0], one[1] + two[1]) if one is not None and two is not None else None
    return None
