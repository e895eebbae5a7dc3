"""NNX215: ``nnx.fork`` and ``nnx.ForkStates``."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.names.references import nnx_references
from codemods.nnx.rule import Example, Kind, Rule


def check(context: Context) -> Iterator[Finding]:
    """Yield every mention of the removed functions."""
    if not context.options.crosses("0.11"):
        return
    for reference in nnx_references(context):
        if reference.base == "flax.nnx" and reference.last in {"fork", "ForkStates"}:
            yield finding(
                RULE.code,
                reference.scope,
                reference.node,
                f"nnx.{reference.last} was removed in Flax 0.11, and no call gives the same parts",
                "fork the Rngs itself: rngs.fork(split=N) gives a Rngs whose keys have the axis, with other key values",
            )


RULE = Rule(
    code="NNX215",
    name="fork-state",
    summary="nnx.fork and nnx.ForkStates",
    why="""\
`nnx.fork(state, filter, n)` divided the streams of a state into keys that were split and keys that were broadcast, as
a `nnx.ForkStates`. Both are gone since Flax 0.11. `Rngs.fork(split=n)`, or `nnx.split_rngs` around the transform,
does the same work with other key values, and on a Rngs instead of on its state; so the code around has to change with
it.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on Flax 0.10.7 and 0.11.2",
    examples=(
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
)
