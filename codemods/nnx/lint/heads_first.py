"""NNX660: queries whose heads stand before their length, given to ``dot_product_attention``."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.axis_order import HEADS, PART, AxisOrder, sizes
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Value

_ATTENTION = frozenset(f"{home}.dot_product_attention" for home in ("jax.nn", "flax.nnx", "flax.linen"))
_WRONG = (0, HEADS, 1, PART)
_TURNS: dict[str, list[object]] = {"transpose": [0, 2, 1, 3], "permute_dims": [0, 2, 1, 3], "swapaxes": [1, 2],
                                   "moveaxis": [1, 2]}  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    order = AxisOrder(context)
    taken_back: set[Call] | None = None
    for event, name in foreign(context, "dot_product_attention"):
        query = event.value.argument(0, "query")
        if name not in _ATTENTION or query is None or event.value.starred or in_test(event.scope):
            continue
        axes = order.of(query, event.scope)
        if axes is None and not _turned(query):
            if taken_back is None:
                taken_back = {one for one in map(_merged, context.bodies.named("reshape")) if one is not None}
            wrong = event.value in taken_back
        else:
            wrong = axes == _WRONG
        if wrong and not context.bodies.guarded(event.node, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the heads stand before the length: each position attends to the heads, and not to the other positions",
                "give (batch, length, heads, width), without the transposition before and behind",
            )


def _turned(value: Value) -> Value | None:
    """Return what has its second axis and its third exchanged; None if a value is nothing of the kind."""
    word = last_word(value.node.func) if isinstance(value, Call) else ""
    found = sizes(value) if isinstance(value, Call) and word in _TURNS else None
    if found is None:
        return None
    axes = [constant(axis) for axis in found[1]]
    return found[0] if axes == _TURNS[word] or (len(axes) == 2 and axes == _TURNS[word][::-1]) else None


def _merged(event: CallEvent) -> Call | None:
    """Return the call whose result is turned so that its heads stand behind its length, and merges them with what
    comes last: ``y.transpose(0, 2, 1, 3).reshape(batch, length, width)``."""
    found = sizes(event.value)
    if found is None or len(found[1]) != 3:
        return None
    turned = _turned(found[0])
    return turned if isinstance(turned, Call) else None


_BAD = """\
import jax
from flax import nnx


class Attention(nnx.Module):
    def __init__(self, dim: int, heads: int, rngs: nnx.Rngs):
        self.heads = heads
        self.query = nnx.Linear(dim, dim, rngs=rngs)
        self.key = nnx.Linear(dim, dim, rngs=rngs)
        self.value = nnx.Linear(dim, dim, rngs=rngs)

    def split(self, x):
        batch, length, dim = x.shape
        x = x.reshape(batch, length, self.heads, dim // self.heads)
        return x.transpose(0, 2, 1, 3)

    def __call__(self, x):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(0, 2, 1, 3).reshape(x.shape)
"""

RULE = lint_rule(
    "NNX660",
    "heads-before-length",
    "queries whose heads stand before their length, given to dot_product_attention",
    why="""\
`jax.nn.dot_product_attention` and `nnx.dot_product_attention` take `(batch, length, heads, width)`, other than
`scaled_dot_product_attention` of PyTorch, which takes the heads before the length. With the axes exchanged, each
position attends to the heads at that position alone: nothing raises, no position learns of another one, and a causal
mask hides heads.
""",
    source="JAX API reference; measured on Flax 0.10.7 and 0.12.8: no position sees another one",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("        x = x.reshape", "        return x.reshape")
        .replace("        return x.transpose(0, 2, 1, 3)\n", "")
        .replace("y.transpose(0, 2, 1, 3).reshape", "y.reshape"),
    ),
)
