"""NNX205: ``fork(splits=...)``, as the guide spells it."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.kinds import Kind as Object
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr


def check(context: Context) -> Iterator[Finding]:
    """Yield every ``fork`` of a Rngs with the keyword ``splits``."""
    for event in context.asked.calls():
        keyword = next((k for k in event.node.keywords if k.arg == "splits"), None)
        callee = event.value.callee
        if keyword is None or not isinstance(callee, Attr) or callee.name != "fork":
            continue
        base = context.flow.here(callee.base, event.scope)
        kinds = context.kinds.of(base)
        if context.flow.classes.class_of(context.flow.resolve(base)) is not None and not kinds:
            continue
        if kinds and not kinds & {Object.RNGS, Object.STREAM}:
            continue
        source = event.scope.module.source
        start, _ = source.span(keyword)
        fix = Fix(
            ((source.path, Edit(start, start + len("splits"), b"split")),), Safety.SAFE if kinds else Safety.UNSAFE
        )
        yield finding(RULE.code, event.scope, event.node, "Rngs.fork has no keyword `splits`", "it is `split`", fix)


_OTHERS = """\
from flax import nnx


class River:
    def fork(self, splits):
        return splits


print(River().fork(splits=2), nnx.Rngs(0).fork(split=5).default.key.shape)
"""

RULE = Rule(
    code="NNX205",
    name="fork-splits",
    summary="Rngs.fork(splits=...)",
    why="""\
The guide from 0.10 to 0.11 makes the streams of a stack with `rngs.fork(splits=5)`. The keyword is `split`; `splits`
raises a TypeError on every release.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.10.0",
    source='guide "NNX 0.10 to NNX 0.11", section on Rngs in transforms; measured on 0.10.7 to 0.12.8',
    examples=(
        Example(
            before="""\
from flax import nnx

rngs = nnx.Rngs(0)
print(rngs.fork(splits=5).default.key.shape)
""",
            after="""\
from flax import nnx

rngs = nnx.Rngs(0)
print(rngs.fork(split=5).default.key.shape)
""",
            run=False,
            targets=("0.11", "0.12"),
        ),
        Example(before=_OTHERS, after=_OTHERS, targets=("0.11", "0.12")),
    ),
    check=check,
    always=True,
)
