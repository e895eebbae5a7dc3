"""NNX811: a step on a merged object that does not give its new state back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, kinds_of, shown


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "merge"):
        function = event.scope.function
        if name != "flax.nnx.merge" or function is None or isinstance(function.node, ast.Lambda):
            continue
        tracing = context.traced.get(function)
        if tracing is None or not any(root.transform == "jax.jit" for root in tracing.roots):
            continue
        names = _targets(event)
        change = next((e for e in context.bodies.calls[event.scope] if _changes(context, e, names)), None)
        if change is not None and not _given_back(context, function, names):
            yield finding(
                RULE.code,
                event.scope,
                change.node,
                f"the change is lost: {shown(function)} works on merged copies and does not return their state",
                "return nnx.state(...) of the merged objects as well",
            )


def _targets(event: CallEvent) -> set[str]:
    """Return the names that the merged objects are assigned to."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node:
        return set()
    return {n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)}


def _changes(context: Context, event: CallEvent, names: set[str]) -> bool:
    """Say whether a call updates a merged optimizer or metric, or one in what was merged."""
    func = event.node.func
    if event.used or not isinstance(func, ast.Attribute) or func.attr != "update":
        return False
    owner: ast.expr = func.value
    while isinstance(owner, ast.Attribute | ast.Subscript):
        owner = owner.value
    if not isinstance(owner, ast.Name) or owner.id not in names:
        return False
    kinds = kinds_of(context, event.scope.module.values[func.value], event.scope)
    return bool(kinds & {Kind.OPTIMIZER, Kind.METRIC}) or any(
        Kind.GRADIENT in kinds_of(context, value, event.scope) for value in event.value.args
    )


def _given_back(context: Context, function: FunctionFacts, names: set[str]) -> bool:
    """Say whether the function returns the objects, or a state of anything."""
    states: set[str] = set(names)
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Assign) and _makes_state(node.value):
            states |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        if isinstance(node, ast.Return) and node.value is not None:
            if any((isinstance(n, ast.Name) and n.id in states) or _makes_state(n) for n in ast.walk(node.value)):
                return True
    return False


def _makes_state(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Call):
        return False
    func = node.func
    word = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    return word in {"state", "split", "pop", "to_tree", "pure", "variables"}


RULE = lint_rule(
    "NNX811",
    "lost-functional-state",
    "a jax.jit step merges objects, updates them and returns no state",
    why="""\
`nnx.merge` makes objects inside of the compiled function. What happens to them has to leave it as a state:
`return nnx.state((model, optimizer)), loss`; otherwise training goes nowhere without an error.
""",
    source="performance guide of Flax NNX (split at the end of the step); measured: constant loss",
    check=_check,
    bad=(
        """\
import jax
from flax import nnx


@jax.jit
def step(graphdef, state, x):
    model, optimizer = nnx.merge(graphdef, state)
    loss, grads = nnx.value_and_grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)
    return loss
""",
    ),
    clean=(
        """\
import jax
from flax import nnx


@jax.jit
def step(graphdef, state, x):
    model, optimizer = nnx.merge(graphdef, state)
    loss, grads = nnx.value_and_grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)
    return nnx.state((model, optimizer)), loss
""",
    ),
)
