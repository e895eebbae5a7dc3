"""NNX833: seeds that lose bits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Call, Const

_SEEDED = frozenset({"jax.random.key", "jax.random.PRNGKey", "flax.nnx.Rngs"})


def _check(context: Context) -> Iterator[Finding]:
    flow = context.flow
    for event, name in foreign(context, "key", "PRNGKey", "Rngs"):
        if name not in _SEEDED:
            continue
        for node in (*event.node.args, *(k.value for k in event.node.keywords)):
            value = event.scope.module.values.get(node)
            if value is None or isinstance(node, ast.Starred):
                continue
            made = flow.resolve(flow.here(value, event.scope))
            inner = made.value
            large = isinstance(inner, Const) and isinstance(inner.value, int) and inner.value >= 2**32
            if large or (isinstance(inner, Call) and flow.callee_name(made) == "time.time_ns"):
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    "only the lower 32 bits of a seed count, unless 64-bit mode is on",
                    "use a seed below 2**32",
                )


RULE = lint_rule(
    "NNX833",
    "seed-truncated",
    "a seed of more than 32 bits",
    why="""\
JAX works with 32 bits by default: `jax.random.PRNGKey(0x123456789)` is the key of `0x23456789`, so that different
seeds may give the same numbers; in compiled code such a seed raises OverflowError.
""",
    source="JAX tutorial, which uses 0x123456789; measured on JAX 0.6.2, 0.7.2 and 0.10.2",
    check=_check,
    bad=(
        """\
import jax

key = jax.random.PRNGKey(0x123456789)
""",
    ),
    clean=(
        """\
import jax

key = jax.random.PRNGKey(0xFFFFFFFF)
""",
    ),
)
