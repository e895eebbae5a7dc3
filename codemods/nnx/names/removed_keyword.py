"""NNX512: ``return_variables`` of ``graph.flatten``."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rewrite import RewriteError, remove_keyword
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Const, Value


def check(context: Context) -> Iterator[Finding]:
    """Yield calls of ``flax.nnx.graph.flatten`` with the keyword."""
    if not context.options.crosses("0.11"):
        return
    flow = context.flow
    for event in context.asked.calls():
        asked = event.value.keyword("return_variables")
        if asked is None or flow.calls.name(event) != "flax.nnx.graph.flatten":
            continue
        paths = event.value.keyword("with_paths")
        same = _is_true(context, asked, event.scope) and (paths is None or _is_true(context, paths, event.scope))
        yield finding(
            "NNX512",
            event.scope,
            event.node,
            "graph.flatten takes no return_variables since Flax 0.11",
            "leave it out: the leaves with paths are Variables, those without paths arrays",
            _fix(context, event) if same else None,
        )


def _is_true(context: Context, value: Value, scope: Scope) -> bool:
    return context.flow.resolve(context.flow.here(value, scope)).value == Const(True)


def _fix(context: Context, event: CallEvent) -> Fix | None:
    """Return the edit that leaves the keyword out, where it asked for what 0.11 always gives."""
    source = event.scope.module.source
    if "0.10" in context.options.targets or not source.faithful(event.node):
        return None
    try:
        return Fix(((source.path, remove_keyword(source, event.node, "return_variables")),))
    except RewriteError:
        return None


_BEFORE = """\
from flax import nnx
from flax.nnx import graph

graphdef, flat = graph.flatten(nnx.Linear(1, 2, rngs=nnx.Rngs(0)), return_variables=True)
print([type(leaf).__name__ for leaf in flat.leaves])
"""

RULE = Rule(
    code="NNX512",
    name="flatten-variables",
    summary="graph.flatten(..., return_variables=...)",
    why="""\
`flax.nnx.graph.flatten` of Flax 0.10 took `return_variables`. Since 0.11 the leaves are Variables always, and the
keyword raises TypeError. Where it was True it can go; code that asked for False has to do with Variables now. With
`with_paths=False` the leaves are plain arrays since 0.11, whatever was asked for.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7 and 0.11.2",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace(", return_variables=True", ""),
            targets=("0.11", "0.12"),
        ),
        Example(_BEFORE.replace("True", "False"), run=False),
    ),
    check=check,
    always=True,
)
