"""NNX413: constructing a ``VariableState``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rewrite import replace
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.variables.references import VARIABLE_STATE, speaks


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every call of ``nnx.VariableState``."""
    if not context.options.crosses("0.11"):
        return
    for module in context.asked.modules:
        if not speaks(context, module):
            continue
        for event in module.calls:
            if context.flow.calls.name(event) == VARIABLE_STATE:
                yield _report(event)


def _report(event: CallEvent) -> Finding:
    source = event.scope.module.source
    text = _constructor(event)
    keyword = event.value.keyword("type") is not None
    return finding(
        "NNX413",
        event.scope,
        event.node,
        "since Flax 0.11 this makes a bare Variable with metadata `type`, without an error"
        if keyword
        else "since Flax 0.11 there is no VariableState to construct; Variable takes no type",
        f"write {text}" if text else "call the type itself with the value",
        Fix(((source.path, replace(source, event.node, text)),)) if text else None,
    )


def _constructor(event: CallEvent) -> str | None:
    """Return the call of the Variable type itself; None where arguments are unpacked or comments would be lost."""
    node, source = event.node, event.scope.module.source
    if event.value.starred or "#" in source.text(node):
        return None
    positional = [*node.args]
    keywords = {k.arg: k.value for k in node.keywords}
    kind = positional.pop(0) if positional else keywords.pop("type", None)
    value = positional.pop(0) if positional else keywords.pop("value", None)
    if kind is None or value is None or positional:
        return None
    if isinstance(kind, ast.Attribute) and kind.attr == "type":
        callee = f"type({source.text(kind.value)})"
    elif isinstance(kind, ast.Name | ast.Attribute):
        callee = source.text(kind)
    else:
        callee = f"({source.text(kind)})"
    metadata = [f"{name}={source.text(k)}" for name, k in keywords.items() if name != "type"]
    return f"{callee}({', '.join([source.text(value), *metadata])})"


RULE = Rule(
    code="NNX413",
    name="variable-state-constructor",
    summary="constructing nnx.VariableState",
    why="""\
`nnx.VariableState(nnx.Param, value)` raises since Flax 0.11, where the name means `Variable`. Worse, the keyword form
`nnx.VariableState(type=nnx.Param, value=value)` runs and makes a bare Variable, which no filter for `nnx.Param`
matches. The leaf of a state is a Variable of its type: `nnx.Param(value)`.
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

leaf = nnx.VariableState(nnx.Param, jnp.ones(2), note="a")
other = nnx.VariableState(type=nnx.Param, value=jnp.ones(3))
state = nnx.State({"leaf": leaf, "other": other})
print(float(leaf.value.sum()), leaf.note, *sorted(nnx.filter_state(state, nnx.Param)))
""",
            after="""\
import jax.numpy as jnp
from flax import nnx

leaf = nnx.Param(jnp.ones(2), note="a")
other = nnx.Param(jnp.ones(3))
state = nnx.State({"leaf": leaf, "other": other})
print(float(leaf.value.sum()), leaf.note, *sorted(nnx.filter_state(state, nnx.Param)))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
