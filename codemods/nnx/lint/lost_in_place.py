"""NNX676: functions that change their argument by an operator, as those of NumPy, called with an array of JAX."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.carry_type import gives_nothing
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test, shown
from codemods.nnx.values import Loop, Value


def _check(context: Context) -> Iterator[Finding]:
    for function in context.project.functions():
        if isinstance(function.node, ast.Lambda) or function.generator or function.decorators:
            continue
        changed = _changed(context, function)
        if not changed or not gives_nothing(function):
            continue
        for event in context.flow.sites.callers(function):
            statement = event.statement
            if event.scope.module not in context.asked or not isinstance(statement, ast.Expr):
                continue
            if statement.value is not event.node or event.value.starred or in_test(event.scope):
                continue
            for name, node in changed.items():
                given = _given(context, event, function, name)
                if given is not None and _by_jax(context, given, event):
                    yield finding(
                        RULE.code,
                        event.scope,
                        event.node,
                        f"{shown(function)} changes nothing here: `{ast.unparse(node)}` makes an array that is dropped",
                        f"let it return `{name}`, and assign what it returns",
                        related=[(node, "this one")] if function.scope.module is event.scope.module else [],
                    )


def _changed(context: Context, function: FunctionFacts) -> dict[str, ast.AugAssign]:
    """Return the parameters that a function binds anew by an operator, and reads no more after that."""
    found: dict[str, ast.AugAssign] = {}
    body = getattr(function.node, "body", [])
    for statement in body:
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
            if name in function.params:
                found[name] = statement
    reads = [n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Name) and n.id in found]
    for node in reads:
        end = found[node.id].end_lineno or 0 if node.id in found else 0
        if node.id in found and node.lineno > end:
            del found[node.id]
    inner = [f for f in function.scope.module.functions if f.scope.parent is function.scope]
    closed = {n.id for f in inner for n in ast.walk(f.node) if isinstance(n, ast.Name)}
    return {name: node for name, node in found.items() if name not in closed}


def _given(context: Context, event: CallEvent, function: FunctionFacts, name: str) -> Value | None:
    """Return the variable that a call gives for a parameter."""
    for callee, frame in context.flow.calls.invoked(context.flow.here(event.value, event.scope)):
        argument = context.flow.argument(frame, name) if callee.function is function else None
        for node in (*event.node.args, *(k.value for k in event.node.keywords)):
            value = event.scope.module.values.get(node)
            if argument is not None and value is argument.value and isinstance(node, ast.Name | ast.Attribute):
                return value
    return None


def _by_jax(context: Context, value: Value, event: CallEvent) -> bool:
    """Say whether a variable holds an array of JAX for certain, also in the rounds of a loop."""
    while isinstance(value, Loop):
        value = value.before
    return made_by_jax(context, value, event.scope)


_BAD = """\
import jax.numpy as jnp


def centre(rows):
    rows -= rows.mean(axis=0)


rows = jnp.arange(6.0)
centre(rows)
print(rows.mean())
"""

RULE = lint_rule(
    "NNX676",
    "lost-in-place",
    "a function that changes its argument by an operator, called with an array of JAX",
    why="""\
`rows -= mean` changes an array of NumPy where it stands, and the caller sees it. An array of JAX cannot be changed: the
operator makes a new one and binds the name of the function to it, which ends with the function. The caller goes on with
the old numbers, and nothing is raised.
""",
    source="JAX documentation, the sharp bits; measured: the array of the caller is the same as before",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("    rows -= rows.mean(axis=0)", "    return rows - rows.mean(axis=0)").replace(
            "\ncentre(rows)", "\nrows = centre(rows)"
        ),
    ),
)
