"""NNX414: ``.type`` of a state's leaf."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import shadowed
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.variables.leaves import Leaves


def check(context: Context) -> Iterator[Finding]:
    """Yield reads of ``type`` from leaves of states."""
    if not context.options.crosses("0.11"):
        return
    leaves = Leaves(context)
    for event in context.asked.attributes():
        if event.node.attr == "type" and event.context == "load" and leaves.is_leaf(event.base, event.scope):
            yield finding(
                "NNX414",
                event.scope,
                event.node,
                "`.type` of a Variable is deprecated since Flax 0.11",
                "write type(leaf), or isinstance(leaf, nnx.Param)",
                _fix(context, event),
            )


def _fix(context: Context, event: AttrEvent) -> Fix | None:
    """Return the edits that ask for the class; under Flax 0.10 that was ``VariableState`` itself."""
    source = event.scope.module.source
    if "0.10" in context.options.targets or not source.faithful(event.node):
        return None
    if shadowed(event.scope, "type") or "type" in event.scope.module.scope.bindings:
        return None
    start, end = source.span(event.node.value)
    return Fix(
        ((source.path, Edit(start, start, b"type(")), (source.path, Edit(end, source.span(event.node)[1], b")")))
    )


_BEFORE = """\
from flax import nnx

norm = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
for path, leaf in nnx.to_flat_state(nnx.state(norm)):
    print(path, leaf.type.__name__, issubclass(leaf.type, nnx.Param))
"""

RULE = Rule(
    code="NNX414",
    name="leaf-type",
    summary="`.type` of a leaf of a state",
    why="""\
The leaves of a state were `VariableState` objects up to Flax 0.10 and named the class of their Variable in `.type`.
Since 0.11 they are Variables of that class; `.type` still works, with a DeprecationWarning.
""",
    kind=Kind.SUGGESTED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(_BEFORE, _BEFORE.replace("leaf.type", "type(leaf)"), targets=("0.11", "0.12")),
        Example(
            before="""\
class Field:
    type = int


for field in [Field()]:
    print(field.type)
""",
            after="""\
class Field:
    type = int


for field in [Field()]:
    print(field.type)
""",
        ),
    ),
    check=check,
    always=True,
)
