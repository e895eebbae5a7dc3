"""NNX607: positional arguments of ``nnx.MultiHeadAttention``."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rewrite import positional_to_keyword
from codemods.nnx.rule import Example, Kind, Rule

_POSITION = 4  # of in_kv_features up to 0.12.5


def check(context: Context) -> Iterator[Finding]:
    """Yield constructors that pass ``in_kv_features`` by position."""
    if not context.options.crosses("0.12"):
        return
    for event in context.asked.calls():
        if len(event.node.args) <= _POSITION:
            continue
        bound = context.flow.here(event.value, event.scope)
        if context.flow.calls.callee_name(bound) != "flax.nnx.MultiHeadAttention":
            continue
        source = event.scope.module.source
        fix = None
        if not event.value.starred and len(event.node.args) == _POSITION + 1:
            fix = Fix(((source.path, positional_to_keyword(source, event.node, _POSITION, "in_kv_features")),))
        yield finding(
            "NNX607",
            event.scope,
            event.node,
            "the fifth argument is num_kv_heads since Flax 0.12.6, not in_kv_features",
            "pass it by keyword",
            fix,
        )


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx

attend = nnx.MultiHeadAttention(2, 4, 4, 4, 6, decode=False, rngs=nnx.Rngs(0))
print(attend(jnp.ones((1, 3, 4)), jnp.ones((1, 3, 6))).shape)
"""

RULE = Rule(
    code="NNX607",
    name="attention-positional",
    summary="in_kv_features of nnx.MultiHeadAttention by position",
    why="""\
Flax 0.12.6 put `num_kv_heads` before `in_kv_features`. A fifth positional argument changes its meaning: it raises
"num_heads must be divisible by num_kv_heads", or makes another layer without an error.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.6",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(Example(_BEFORE, _BEFORE.replace(", 6,", ", in_kv_features=6,"), targets=("0.12",)),),
    check=check,
)
