"""NNX801: an NNX object that traced code takes from outside instead of as an argument."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.places import NNX_OBJECTS, in_test, kinds_of, shown, traced_bodies
from codemods.nnx.lint.traced import COMPILED
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Free


def _check(context: Context) -> Iterator[Finding]:
    for function, _ in traced_bodies(context, COMPILED):
        if in_test(function.scope) or _thunk(function):
            continue
        seen: set[str] = set()
        for node in context.bodies.nodes(function.scope):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in seen:
                if _captured(context, function, node):
                    seen.add(node.id)
                    yield finding(
                        RULE.code,
                        function.scope,
                        node,
                        f"compiled code captures `{node.id}`: {shown(function)} goes on using its first values",
                        f"pass `{node.id}` as an argument",
                    )


def _thunk(function: FunctionFacts) -> bool:
    """Say whether a function takes nothing at all, and so means what it captures."""
    return not (function.params or function.vararg) and function.owner is None


def _captured(context: Context, function: FunctionFacts, node: ast.Name) -> bool:
    value = function.scope.module.values.get(node)
    if not isinstance(value, Free) or value.scope.function in context.traced:
        return False
    return bool(kinds_of(context, value, function.scope) & NNX_OBJECTS) and _used(context, function, node)


def _used(context: Context, function: FunctionFacts, name: ast.Name) -> bool:
    """Say whether the object's arrays can matter: it is called, passed on, or one of its methods is called."""
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Call):
            func = node.func
            while isinstance(func, ast.Attribute | ast.Subscript):
                func = func.value
            if func is name or any(argument is name for argument in node.args):
                return True
            if any(k.value is name for k in node.keywords):
                return True
    return False


RULE = Rule(
    code="NNX801",
    name="captured-object",
    summary="compiled code uses a module, optimizer, metric or Rngs from outside",
    why="""\
`jit` compiles the arrays of a captured object in as constants: later training does not reach them, and an update
inside raises TraceContextError, or is lost. Objects have to come in as arguments.
""",
    kind=Kind.LINT,
    safety=None,
    since="0.10",
    source="JAX tutorial on purity; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))


@nnx.jit
def predict(x):
    return model(x)
""",
            run=False,
        ),
        Example(
            before="""\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))


@nnx.jit
def predict(model, x):
    return model(x)
""",
            after="""\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))


@nnx.jit
def predict(model, x):
    return model(x)
""",
            run=False,
        ),
    ),
    check=_check,
)
