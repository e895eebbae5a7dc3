"""NNX512: ``return_variables`` of ``graph.flatten``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rewrite import RewriteError, below, remove_keyword
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
        fix = None
        if _is(context, asked, event.scope, True) and "0.10" not in context.options.targets:
            paths = event.value.keyword("with_paths")
            if paths is None or _is(context, paths, event.scope, True):
                fix = _fix(event)
            elif _is(context, paths, event.scope, False):
                fix = _without_paths(event)
        yield finding(
            "NNX512",
            event.scope,
            event.node,
            "graph.flatten takes no return_variables since Flax 0.11",
            "leave it out: the leaves with paths are Variables, those without paths arrays",
            fix,
        )


def _is(context: Context, value: Value, scope: Scope, wanted: bool) -> bool:
    return context.flow.resolve(context.flow.here(value, scope)).value == Const(wanted)


def _fix(event: CallEvent, *others: str) -> Fix | None:
    """Return the edit that leaves the keyword out, where it asked for what 0.11 always gives."""
    source = event.scope.module.source
    if not source.faithful(event.node):
        return None
    try:
        return Fix(((source.path, remove_keyword(source, event.node, "return_variables", *others)),))
    except RewriteError:
        return None


def _without_paths(event: CallEvent) -> Fix | None:
    """Return the edits that take the Variables out of the flat state with paths, where that gets a name at once."""
    statement, source = event.statement, event.scope.module.source
    if not isinstance(statement, ast.Assign) or statement.value is not event.node or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(target.elts[1], ast.Name):
        return None
    fix = _fix(event, "with_paths")
    line = below(source, statement, f"{target.elts[1].id} = {target.elts[1].id}.leaves")
    return Fix((*fix.edits, (source.path, line))) if fix is not None and line is not None else None


_BEFORE = """\
from flax import nnx
from flax.nnx import graph

graphdef, flat = graph.flatten(nnx.Linear(1, 2, rngs=nnx.Rngs(0)), return_variables=True)
print([type(leaf).__name__ for leaf in flat.leaves])
"""

_LIST = """\
from flax import nnx
from flax.nnx import graph

layer = nnx.Linear(1, 2, rngs=nnx.Rngs(0))
graphdef, leaves = graph.flatten(layer, with_paths=False, return_variables=True)
print([type(leaf).__name__ for leaf in leaves], graph.unflatten(graphdef, leaves).bias is layer.bias)
"""
_TAKEN = _LIST.replace(
    ", with_paths=False, return_variables=True)\n",
    ")\nleaves = leaves.leaves\n",
)

RULE = Rule(
    code="NNX512",
    name="flatten-variables",
    summary="graph.flatten(..., return_variables=...)",
    why="""\
`flax.nnx.graph.flatten` of Flax 0.10 took `return_variables`. Since 0.11 the leaves are Variables always, and the
keyword raises TypeError. Where it was True it can go; code that asked for False has to do with Variables now. With
`with_paths=False` the leaves are plain arrays since 0.11, whatever was asked for; the Variables are the `leaves` of the
flat state with paths then.
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
        Example(_LIST, _TAKEN, targets=("0.11", "0.12")),
        Example(_BEFORE.replace("True", "False"), run=False),
    ),
    check=check,
    always=True,
)
