"""NNX612: ``rngs.fork(split=...)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Const, Sequence


def check(context: Context) -> Iterator[Finding]:
    """Yield forks with one number, or one shape, for all streams."""
    if set(context.options.targets) != {"0.12"}:
        return
    for event in context.asked.calls():
        callee, func = event.value.callee, event.node.func
        if not isinstance(callee, Attr) or callee.name != "fork" or not isinstance(func, ast.Attribute):
            continue
        number = event.value.keyword("split")
        if number is None or len(event.value.keywords) != 1 or event.value.args:
            continue
        # a mapping stays: split() would use keys of the other streams again
        found = context.flow.resolve(context.flow.here(number, event.scope)).value
        if not isinstance(found, Sequence) and not (isinstance(found, Const) and isinstance(found.value, int)):
            continue
        if not context.kinds.of(context.flow.here(callee.base, event.scope)) & {Objects.RNGS, Objects.STREAM}:
            continue
        source = event.scope.module.source
        if not source.faithful(event.node):
            continue
        keyword = event.node.keywords[0]
        end = source.span(func)[1]
        start = source.offset(keyword.lineno, keyword.col_offset)
        edits = (Edit(end - len("fork"), end, b"split"), Edit(start, source.span(keyword.value)[0], b""))
        fix = Fix(tuple((source.path, edit) for edit in edits))
        message = "fork(split=...) is deprecated since Flax 0.12.6"
        yield finding("NNX612", event.scope, event.node, message, "rngs.split(...) gives the same keys", fix)


_BEFORE = """\
import jax
from flax import nnx

rngs = nnx.Rngs(params=0).fork(split=3)
print(jax.random.key_data(rngs.params.key.value).sum())
"""

RULE = Rule(
    code="NNX612",
    name="fork-split",
    summary="rngs.fork(split=n) is deprecated",
    why="""\
`rngs.fork(split=n)` warns since Flax 0.12.6, where `rngs.split(n)` gives the same keys. With a mapping they differ:
`split` sets the counters of the streams that are not named back to zero, and so uses keys again; such calls are left
alone. `fork` runs on all versions, so the rule is only asked for by its code.
""",
    kind=Kind.SUGGESTED,
    safety=Safety.SAFE,
    since="0.12.6",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(Example(_BEFORE, _BEFORE.replace("fork(split=3)", "split(3)"), targets=("0.12",)),),
    check=check,
    default=False,
    always=True,
)
