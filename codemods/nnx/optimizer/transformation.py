"""NNX112: gradient transformations that reach into Variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.rule import Example, Kind, Rule

# position and name of the function that updates
_UPDATES = {
    "optax.GradientTransformation": (1, "update"),
    "optax.GradientTransformationExtraArgs": (1, "update"),
    "optax.stateless": (0, "f"),
}
_ATTRIBUTES = frozenset({"value", "replace", "type"})


def check(context: Context) -> Iterator[Finding]:
    """Yield attributes of leaves of states in the update functions of a project's gradient transformations."""
    if not context.options.crosses("0.11"):
        return
    seen: set[FunctionFacts] = set()
    for event in context.project.calls():
        for function in _updates(context, event):
            if function in seen or not function.scope.module.source.mentions(b"nnx"):
                continue
            seen.add(function)
            for node in _reaches(context, function):
                yield finding(
                    "NNX112",
                    function.scope,
                    node,
                    f"nnx.Optimizer hands arrays to optax since Flax 0.11: the leaves have no `{node.attr}` here",
                    "work on the arrays themselves, without is_leaf",
                )


def _updates(context: Context, event: CallEvent) -> list[FunctionFacts]:
    text = getattr(event.node.func, "attr", getattr(event.node.func, "id", ""))
    if f"optax.{text}" not in _UPDATES:
        return []
    bound = context.flow.here(event.value, event.scope)
    place = _UPDATES.get(context.flow.calls.callee_name(bound))
    value = event.value.argument(*place) if place is not None else None
    if value is None:
        return []
    return [c.function for c in context.flow.calls.callables(context.flow.with_value(bound, value))]


def _reaches(context: Context, function: FunctionFacts) -> Iterator[ast.Attribute]:
    """Yield attributes of the leaves in functions that ``jax.tree.map`` applies to the updates or the parameters."""
    given = set(list(function.params)[:3:2])  # (updates, state, params)
    values = function.scope.module.values
    for call in ast.walk(function.node):
        if not isinstance(call, ast.Call) or not call.args:
            continue
        applied = values.get(call.args[0])
        named = context.flow.calls.callables(context.flow.here(applied, function.scope)) if applied is not None else []
        body = named[0].function.node if len(named) == 1 else call.args[0]
        if not isinstance(body, ast.Lambda | ast.FunctionDef) or _asks(body):
            continue
        trees = [tree.id if isinstance(tree, ast.Name) else None for tree in call.args[1:]]
        names = {a.arg for a, tree in zip(body.args.args, trees, strict=False) if tree in given}
        for node in ast.walk(body):
            if isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
                if isinstance(node.value, ast.Name) and node.value.id in names:
                    yield node


def _asks(body: ast.AST) -> bool:
    """Say whether a function asks what a leaf is, so that arrays may be no surprise."""
    return any(isinstance(n, ast.Name) and n.id in {"isinstance", "hasattr", "getattr"} for n in ast.walk(body))


_BEFORE = """\
import jax
import optax
from flax import nnx


def update(updates, state, params=None):
    return jax.tree.map(lambda u: u.replace(-u.value), updates, is_leaf=lambda x: isinstance(x, nnx.Variable)), state


negate = optax.GradientTransformation(lambda params: optax.EmptyState(), update)
"""

_LEFT = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx


def update(updates, state, params=None):
    return jax.tree.map(lambda u: -u, updates), state


negate = optax.GradientTransformation(lambda params: optax.EmptyState(), update)
print(nnx.Param(negate.update(jnp.ones(2), optax.EmptyState())[0]).value)
"""

RULE = Rule(
    code="NNX112",
    name="optax-leaves",
    summary="a gradient transformation that reads `.value` of its leaves",
    why="""\
Up to Flax 0.10 `nnx.Optimizer` handed states of `VariableState` objects to the update function of an optax
transformation. Since 0.11 their leaves are plain arrays, and `.value`, `.type` and `.replace` raise AttributeError.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on Flax 0.10.7 and 0.11.2",
    examples=(Example(_BEFORE, run=False), Example(_LEFT, _LEFT, targets=("0.11", "0.12"))),
    check=check,
)
