"""NNX832: ``nnx.Rngs`` of a fixed seed made where it is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.traced import COMPILED
from codemods.nnx.values import Call, Value


def _check(context: Context) -> Iterator[Finding]:
    arguments: dict[Value, list[ast.Call]] = {}
    for event, name in foreign(context, "Rngs"):
        function = event.scope.function
        if name != "flax.nnx.Rngs" or function is None or in_test(event.scope):
            continue
        values = [*event.node.args, *(k.value for k in event.node.keywords)]
        if not values or not all(isinstance(v, ast.Constant) for v in values):
            continue
        if not arguments:
            arguments = _given(context)
        given = arguments.get(event.value, [])
        if not given or any(_constructs(context, call, function) for call in given):
            continue
        tracing = context.traced.get(function)
        if (function.name == "__call__" and function.owner is not None) or (tracing and tracing.level == COMPILED):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "a new Rngs of a fixed seed at every call gives the same numbers at every call",
                "make the Rngs once and pass it in, or keep it in the module",
            )


def _given(context: Context) -> dict[Value, list[ast.Call]]:
    """Return the calls that each result of a call is given to, at once or under a name."""
    found: dict[Value, list[ast.Call]] = {}
    for event in context.project.calls():
        for value in (*event.value.args, *(v for _, v in event.value.keywords)):
            if isinstance(value, Call):
                found.setdefault(value, []).append(event.node)
    return found


def _constructs(context: Context, call: ast.Call, function: FunctionFacts) -> bool:
    """Say whether a call makes a module, whose weights may well be the same each time."""
    value = function.scope.module.values.get(call)
    if value is None:
        return True
    return Kind.MODULE in context.kinds.of(context.flow.here(value, function.scope))


RULE = lint_rule(
    "NNX832",
    "rngs-in-call",
    "nnx.Rngs of a fixed seed made in __call__ or in compiled code",
    why="Every call starts from the same seed: dropout drops the same units each time, noise is always the same.",
    source="JAX tutorial, section on random keys; measured: identical masks",
    check=_check,
    bad=(
        """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5)

    def __call__(self, x):
        return self.drop(x, rngs=nnx.Rngs(0))
""",
    ),
    clean=(
        """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5)

    def __call__(self, x, rngs):
        return self.drop(x, rngs=rngs)
""",
    ),
)
