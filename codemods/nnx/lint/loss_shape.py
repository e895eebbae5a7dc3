"""NNX853: a loss that is not reduced to a number."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, shown
from codemods.nnx.values import Call, Unknown

_POWERS = frozenset({"jax.numpy.square", "jax.numpy.abs", "builtins.abs"})
_LOSSES = frozenset(
    {"optax.squared_error", "optax.l2_loss", "optax.huber_loss", "optax.softmax_cross_entropy",
     "optax.softmax_cross_entropy_with_integer_labels", "optax.sigmoid_binary_cross_entropy"}
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "grad", "value_and_grad", everywhere=True):
        if name not in GRADIENTS or not event.value.args:
            continue
        for callee in context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope)):
            for returned in callee.function.returns:
                if (isinstance(returned, Unknown) and _square(returned.node)) or (
                    isinstance(returned, Call) and _elementwise(context, returned, callee.function)
                ):
                    yield finding(
                        RULE.code,
                        callee.function.scope,
                        returned.node,
                        f"{shown(callee.function)} returns an array if its operands are arrays",
                        "reduce it with mean() or sum()",
                    )


def _elementwise(context: Context, value: Call, function: FunctionFacts) -> bool:
    """Say whether a call gives a loss for every element."""
    name = context.flow.calls.callee_name(context.flow.here(value, function.scope))
    if name in _LOSSES:
        return True
    argument = value.node.args[0] if value.node.args else None
    return name in _POWERS and isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Sub)


def _square(node: ast.AST) -> bool:
    """Say whether an expression is the square of a difference."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Pow)
        and isinstance(node.left, ast.BinOp)
        and isinstance(node.left.op, ast.Sub)
    )


RULE = lint_rule(
    "NNX853",
    "loss-not-reduced",
    "a loss that returns the square of a difference as it is",
    why="Only a function that returns one number can be differentiated; an array raises a TypeError.",
    source="JAX tutorial, section on gradients; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
from flax import nnx


def step(model, x, y):
    return nnx.grad(lambda m: (m(x) - y) ** 2)(model)
""",
    ),
    clean=(
        """\
from flax import nnx


def step(model, x, y):
    return nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
""",
    ),
    default=False,
)
