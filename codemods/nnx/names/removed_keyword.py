"""NNX512: ``return_variables`` of ``graph.flatten``."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.rule import Example, Kind, Rule


def check(context: Context) -> Iterator[Finding]:
    """Yield calls of ``flax.nnx.graph.flatten`` with the keyword."""
    if not context.options.crosses("0.11"):
        return
    flow = context.flow
    for event in context.project.calls():
        if event.value.keyword("return_variables") is None:
            continue
        if flow.callee_name(flow.here(event.value, event.scope)) == "flax.nnx.graph.flatten":
            yield finding(
                "NNX512",
                event.scope,
                event.node,
                "graph.flatten takes no return_variables since Flax 0.11",
                "leave it out: the leaves are Variables on every way; without it, 0.10 returned VariableState",
            )


RULE = Rule(
    code="NNX512",
    name="flatten-variables",
    summary="graph.flatten(..., return_variables=...)",
    why="""\
`flax.nnx.graph.flatten` of Flax 0.10 took `return_variables`. Since 0.11 the leaves are Variables always, and the
keyword raises TypeError. Code that asked for False has to do with Variables now, so that no rewrite is offered.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on Flax 0.10.7 and 0.11.2",
    examples=(
        Example(
            before="""\
from flax import nnx
from flax.nnx import graph

graphdef, flat = graph.flatten(nnx.Rngs(0), return_variables=True)
""",
            run=False,
        ),
    ),
    check=check,
)
