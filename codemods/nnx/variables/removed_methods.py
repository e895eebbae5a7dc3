"""NNX415, NNX416: methods of Variables and of ``VariableState`` that are gone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Class


def check_to_variable(context: Context) -> Iterator[Finding]:
    """Yield a finding for every ``leaf.to_variable()``."""
    if not context.options.crosses("0.11"):
        return
    for event, base in _methods(context, "to_variable"):
        cls = context.flow.classes.class_of(context.flow.resolve(context.flow.here(base.base, event.scope)))
        if (
            event.value.args
            or event.value.keywords
            or (cls is not None and context.flow.classes.method(cls, "to_variable"))
            or _asked_before(context, event)
        ):
            continue
        assert isinstance(event.node.func, ast.Attribute)
        source = event.scope.module.source
        _, end = source.span(event.node.func)
        edit = Edit(end - len("to_variable"), end, b"copy")
        yield finding(
            "NNX415",
            event.scope,
            event.node,
            "the leaves of states are Variables since Flax 0.11 and have no to_variable()",
            "write .copy(), which makes a Variable of its own as to_variable() did",
            None if "0.10" in context.options.targets else Fix(((source.path, edit),)),
        )


def check_state(context: Context) -> Iterator[Finding]:
    """Yield a finding for every ``nnx.Param.state(value)``."""
    if not context.options.crosses("0.11"):
        return
    for event, base in _methods(context, "state"):
        cls = context.flow.resolve(context.flow.here(base.base, event.scope))
        if context.kinds.class_kinds(cls) != {Objects.VARIABLE}:
            continue
        if isinstance(cls.value, Class) and context.flow.classes.method(cls.value.facts, "state"):
            continue
        func = event.node.func
        assert isinstance(func, ast.Attribute)
        source = event.scope.module.source
        _, start = source.span(func.value)
        _, end = source.span(func)
        kept = source.data[start:end].strip() == b".state"
        yield finding(
            "NNX416",
            event.scope,
            event.node,
            "Variables have no classmethod state() since Flax 0.11",
            f"write {source.text(func.value)}(...)",
            Fix(((source.path, Edit(start, end, b"")),)) if kept else None,
        )


def _asked_before(context: Context, event: CallEvent) -> bool:
    """Say whether code asks whether there is such a method, as what runs on several releases does."""
    assert isinstance(event.node.func, ast.Attribute)
    name, base = event.node.func.attr, ast.dump(event.node.func.value)
    return any(
        len(call.node.args) > 1
        and isinstance(call.node.args[1], ast.Constant)
        and call.node.args[1].value == name
        and call.scope is event.scope
        and ast.dump(call.node.args[0]) == base
        for call in context.bodies.named("hasattr", "getattr")
    )


def _methods(context: Context, name: str) -> Iterator[tuple[CallEvent, Attr]]:
    """Yield the calls of methods of a name in modules that know Flax."""
    for event in context.asked.calls():
        callee = event.value.callee
        if isinstance(callee, Attr) and callee.name == name and isinstance(event.node.func, ast.Attribute):
            yield event, callee


RULES = (
    Rule(
        code="NNX415",
        name="to-variable",
        summary="to_variable() of a state's leaf",
        why="""\
Up to Flax 0.10 `VariableState.to_variable()` made a new Variable of a state's leaf. Since 0.11 the leaf is a
Variable; `copy()` makes a new one of it.
""",
        kind=Kind.REQUIRED,
        safety=Safety.SAFE,
        since="0.11.0",
        source="measured on 0.10.7, 0.11.2 and 0.12.8",
        examples=(
            Example(
                before="""\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
variable = nnx.state(model)["bias"].to_variable()
print(type(variable).__name__, variable is model.bias)
""",
                after="""\
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
variable = nnx.state(model)["bias"].copy()
print(type(variable).__name__, variable is model.bias)
""",
                targets=("0.11", "0.12"),
            ),
        ),
        check=check_to_variable,
        always=True,
    ),
    Rule(
        code="NNX416",
        name="variable-class-state",
        summary="nnx.Param.state(value), which made a VariableState",
        why="""\
The classmethod `state` of Variables is gone since Flax 0.11: what it made is the Variable itself, `nnx.Param(value)`.
""",
        kind=Kind.REQUIRED,
        safety=Safety.SAFE,
        since="0.11.0",
        source="measured on 0.10.7, 0.11.2 and 0.12.8",
        examples=(
            Example(
                before="""\
import jax.numpy as jnp
from flax import nnx

state = nnx.State({"w": nnx.Param.state(jnp.ones(2))})
print(float(state["w"].value.sum()))
""",
                after="""\
import jax.numpy as jnp
from flax import nnx

state = nnx.State({"w": nnx.Param(jnp.ones(2))})
print(float(state["w"].value.sum()))
""",
                targets=("0.11", "0.12"),
            ),
        ),
        check=check_state,
        always=True,
    ),
)
