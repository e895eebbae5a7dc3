"""NNX403: ``copy.deepcopy`` of a state."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rewrite import replace
from codemods.nnx.rule import Example, Kind, Rule


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every deep copy of a state or of a Variable."""
    if not context.options.crosses("0.11"):
        return
    flow = context.flow
    for event in context.asked.calls():
        if len(event.node.args) != 1 or event.node.keywords:
            continue
        if flow.calls.name(event) != "copy.deepcopy":
            continue
        if context.kinds.only(flow.here(event.value.args[0], event.scope)) is not Objects.STATE:
            continue
        clone = spell(flow, event.scope, "clone")
        source = event.scope.module.source
        fix = None
        if clone is not None:
            edits = (replace(source, event.node.func, clone.text), *clone.edits)
            fix = Fix(tuple((source.path, edit) for edit in edits))
        yield finding(
            "NNX403",
            event.scope,
            event.node,
            "since Flax 0.11 a deep copy of a state holds bare arrays instead of Variables",
            "write nnx.clone(...)",
            fix,
        )


RULE = Rule(
    code="NNX403",
    name="deepcopy-state",
    summary="copy.deepcopy of a state",
    why="""\
The leaves of a state are Variables since Flax 0.11, and `copy.deepcopy` of a Variable gives its bare array: the
copied state has no `.value` any more and no filter matches its leaves. `nnx.clone(state)` copies a state on every
version. Deep copies of modules are all right.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import copy

from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
state = copy.deepcopy(nnx.state(model))
model.bias.value = model.bias.value + 1
print(float(state["bias"].value.sum()))
""",
            after="""\
import copy

from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
state = nnx.clone(nnx.state(model))
model.bias.value = model.bias.value + 1
print(float(state["bias"].value.sum()))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
)
