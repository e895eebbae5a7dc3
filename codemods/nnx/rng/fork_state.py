"""NNX215: ``nnx.fork`` and ``nnx.ForkStates``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell, spell_name
from codemods.nnx.names.references import nnx_references
from codemods.nnx.rewrite import below, replace
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Const


def check(context: Context) -> Iterator[Finding]:
    """Yield every mention of the removed functions."""
    if not context.options.crosses("0.11"):
        return
    found = [r for r in nnx_references(context) if r.base == "flax.nnx" and r.last in {"fork", "ForkStates"}]
    calls = {event.node.func: event for event in context.project.calls()} if found else {}
    for reference in found:
        event = calls.get(reference.node) if isinstance(reference.node, ast.Attribute) else None
        fix = _fix(context, event) if event is not None and reference.last == "fork" else None
        yield finding(
            RULE.code,
            reference.scope,
            reference.node,
            f"nnx.{reference.last} was removed in Flax 0.11",
            "split the state with filters, and its keys with jax.random.split"
            if fix is not None
            else "fork the Rngs itself: rngs.fork(split=N) gives one whose keys have the axis, with other values",
            fix,
        )


def _fix(context: Context, event: CallEvent) -> Fix | None:
    """Return the edits that do what ``nnx.fork`` did, where its four parts are named at once."""
    node, statement, source = event.node, event.statement, event.scope.module.source
    if not isinstance(statement, ast.Assign) or statement.value is not node or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Tuple) or len(target.elts) != 4 or not source.faithful(node):
        return None
    parts = [part.id for part in target.elts if isinstance(part, ast.Name)]
    if len(parts) != 4 or len(node.args) != 3 or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    shape = _shape(context, event)
    plain = isinstance(node.args[1], ast.Name | ast.Attribute | ast.Constant)
    names = ("split_state", "All", "RngKey", "RngCount")
    spelled = [spell(context.flow, event.scope, name) for name in names]
    ways = [spell_name(context.flow, event.scope, name) for name in ("jax.tree.map", "jax.random.split")]
    if shape is None or not plain or not all(spelled) or not all(ways):
        return None
    split, every, key, count, tree_map, random_split = (way.text for way in (*spelled, *ways) if way is not None)
    line = below(source, statement, f"{parts[0]} = {tree_map}(lambda key: {random_split}(key, {shape}), {parts[0]})")
    if line is None:
        return None
    chosen = source.text(node.args[1])
    filters = f"{every}({chosen}, {key}), {every}({chosen}, {count}), {key}, {count}"
    start, end = source.span(node.args[1])[0], source.span(node.args[2])[1]
    if b"(" in source.data[source.span(node.args[0])[1] : start] or b"#" in source.data[start:end]:
        return None
    edits = [
        *(edit for way in (*spelled, *ways) if way is not None for edit in way.edits),
        replace(source, node.func, split),
        Edit(start, end, filters.encode()),
        line,
    ]
    return Fix(tuple((source.path, edit) for edit in dict.fromkeys(edits)))


def _shape(context: Context, event: CallEvent) -> str | None:
    """Return the shape that the keys are split to, where it is written out; ``None`` in it stood for 1."""
    given = event.node.args[2]
    value = context.flow.resolve(context.flow.here(event.value.args[2], event.scope)).value
    if isinstance(value, Const) and type(value.value) is int:
        return event.scope.module.source.text(given)
    if not isinstance(given, ast.Tuple) or not all(isinstance(part, ast.Constant) for part in given.elts):
        return None
    sizes = [1 if part.value is None else part.value for part in given.elts if isinstance(part, ast.Constant)]
    return repr(tuple(sizes)) if all(type(size) is int for size in sizes) else None


_BEFORE = """\
import jax
from flax import nnx

rngs = nnx.Rngs(params=0, dropout=1)
keys, counts, other_keys, other_counts = nnx.fork(nnx.state(rngs), "dropout", 3)
print(jax.random.key_data(keys["dropout"]["key"].value), len(jax.tree.leaves(other_counts)))
"""

_AFTER = """\
import jax
from flax import nnx

rngs = nnx.Rngs(params=0, dropout=1)
keys, counts, other_keys, other_counts = nnx.split_state(nnx.state(rngs), nnx.All("dropout", nnx.RngKey), \
nnx.All("dropout", nnx.RngCount), nnx.RngKey, nnx.RngCount)
keys = jax.tree.map(lambda key: jax.random.split(key, 3), keys)
print(jax.random.key_data(keys["dropout"]["key"].value), len(jax.tree.leaves(other_counts)))
"""

RULE = Rule(
    code="NNX215",
    name="fork-state",
    summary="nnx.fork and nnx.ForkStates",
    why="""\
`nnx.fork(state, filter, n)` divided the streams of a state into keys that were split and keys that were broadcast, as
a `nnx.ForkStates`. Both are gone since Flax 0.11. Where the four parts are named at once, `nnx.split_state` and
`jax.random.split` give the same, with the same keys. Elsewhere the code around has to change: `Rngs.fork(split=n)`, or
`nnx.split_rngs` around the transform, does the work with other key values, and on a Rngs instead of on its state.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7 and 0.11.2",
    examples=(
        Example(before=_BEFORE, after=_AFTER, targets=("0.11", "0.12")),
        Example(
            before="""\
from flax import nnx

rngs = nnx.Rngs(params=0, dropout=1)
forks = nnx.fork(nnx.state(rngs), "dropout", 3)
""",
            run=False,
        ),
    ),
    check=check,
    always=True,
)
