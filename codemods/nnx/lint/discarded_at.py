"""NNX841: an indexed update whose result nobody takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.discarded import last_of_cell
from codemods.nnx.lint.names import last
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const

_MEMORY = pattern(r"_(refs?|[gst]mem|vmem|hbm)(\[|$)")  # names of the memory that a kernel is given
_REFERENCES = frozenset({"new_ref", "array_ref", "mutable_array", "empty_ref", "freeze"})
_UPDATES = ("set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max", "apply")


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named(*_UPDATES):
        func = event.node.func
        if event.used or not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Subscript):
            continue
        if context.bodies.guarded(event.node, event.scope) or last_of_cell(event):
            continue  # a test of the error, or what a notebook shows
        holder = func.value.value
        array = event.scope.module.values.get(holder.value) if isinstance(holder, ast.Attribute) else None
        if array is not None and context.kinds.only(context.flow.here(array, event.scope)) is Kind.NUMPY:
            continue  # which has no `at`
        if array is not None and context.flow.classes.class_of(
            context.flow.resolve(context.flow.here(array, event.scope))
        ):
            continue  # an object of the project, whose `at` does what its class says
        if isinstance(holder, ast.Attribute) and holder.attr == "at" and not _reference(context, event, holder.value):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the array does not change: the result of the update is thrown away",
                "assign the result",
                _fix(event, holder.value),
            )


def _reference(context: Context, event: CallEvent, array: ast.expr) -> bool:
    """Say whether something given to a function may be a reference of a Pallas kernel, whose ``at`` writes."""
    source = event.scope.module.source
    text = source.text(array)
    if not source.mentions(b"pallas") and not source.mentions(b"_ref(") and not _MEMORY.search(text):
        return False
    value = event.scope.module.values.get(array)
    if value is None:
        return False
    bound = context.flow.resolve(context.flow.here(value, event.scope))
    if isinstance(bound.value, Call):
        name = context.flow.calls.callee_name(bound)
        return last(name) in _REFERENCES or not name.startswith(("jax.", "numpy."))
    return not isinstance(bound.value, Const)


def _fix(event: CallEvent, array: ast.expr) -> Fix | None:
    if not isinstance(array, ast.Name):
        return None
    source = event.scope.module.source
    start, _ = source.span(event.node)
    return Fix(((source.path, Edit(start, start, f"{array.id} = ".encode())),))


RULE = lint_rule(
    "NNX841",
    "discarded-at-update",
    "x.at[...].set(...) as a statement",
    why="`x.at[i].set(v)` gives a changed copy and leaves x as it is. As a statement it does nothing.",
    source="JAX tutorial, section on in-place updates; found twice in a public library",
    severity="error",
    check=_check,
    mended=(
        (
            """\
import jax.numpy as jnp

x = jnp.zeros(3)
x.at[0].set(1.0)
""",
            """\
import jax.numpy as jnp

x = jnp.zeros(3)
x = x.at[0].set(1.0)
""",
        ),
    ),
    clean=(
        """\
import jax.numpy as jnp

x = jnp.zeros(3)
y = x.at[0].set(1.0)
print(x.at[1].add(1.0))
""",
    ),
    safety=Safety.SAFE,
)
