"""NNX732: an attention mask that is True for what must not be seen, or that lies over the queries."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.mask_meaning import BEHIND, OVER_QUERIES, Meaning, meaning, over_queries
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import argument, keyword
from codemods.nnx.lint.upper_causal import upper_causal
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const

_WORDS = (b"dot_product_attention", b"MultiHeadAttention", b"DotProductAttention", b"SelfAttention")
_FUNCTIONS = frozenset(f"{home}.dot_product_attention" for home in ("flax.nnx", "flax.linen", "jax.nn"))
_LAYERS = frozenset({"flax.nnx.MultiHeadAttention"})
_OF_LINEN = frozenset(f"flax.linen.{name}" for name in ("MultiHeadAttention", "MultiHeadDotProductAttention",
                                                        "SelfAttention"))  # fmt: skip
_PLACE = 4  # of the mask among the arguments of the functions


def _check(context: Context) -> Iterator[Finding]:
    for scope, node, name in upper_causal(context):
        message = (
            f"`{name}` is the upper triangle: it holds what comes behind a position, and leaves out what is before"
        )
        yield finding(RULE.code, scope, node, message, "take the lower one: jnp.tril(jnp.ones((n, n), bool))")
    if not any(m.source.mentions(word) for m in context.project.modules for word in _WORDS):
        return
    for module in context.asked.modules:
        for event in module.calls if module.source.mentions(b"mask") else ():
            given = keyword(event.node, "mask")
            if given is None and last_word(event.node.func) == "dot_product_attention":
                given = argument(event.node, _PLACE, "mask")
            value = module.values.get(given) if given is not None else None
            if given is None or value is None or in_test(event.scope) or not _attends(context, event):
                continue
            masks = context.sources.originals(context.flow.here(value, event.scope))
            alone = keyword(event.node, "bias") is None
            if alone and masks and all(over_queries(context, one, event.scope) for one in masks):
                yield finding(RULE.code, event.scope, given, *OVER_QUERIES)
                continue
            found = [meaning(context, one, event.scope) for one in masks if one.value != Const(None)]
            known = [one for one in found if one is not None and not one.seen]
            if known and len(known) == len(found):
                yield finding(
                    RULE.code,
                    event.scope,
                    given,
                    f"the mask is True for {known[0].hides} alone: in JAX and Flax True is what may be seen, not what"
                    " is hidden",
                    _help(known[0]),
                )


def _help(mask: Meaning) -> str:
    if mask.hides == BEHIND:
        return "make it of jnp.tril(jnp.ones((n, n), bool)), or by nnx.make_causal_mask"
    return "compare the other way, as in tokens != pad_id, or give ~mask"


def _attends(context: Context, event: CallEvent) -> bool:
    """Say whether a call is one of attention, of which the mask is known."""
    if context.flow.calls.name(event) in _FUNCTIONS:
        return True
    callee = context.flow.resolve(context.flow.here(event.value.callee, event.scope))
    if isinstance(callee.value, Const):
        return False
    if isinstance(callee.value, Call) and context.flow.calls.callee_name(callee) in _OF_LINEN:
        return True
    return owner_class(context, event.value.callee, event.scope) in _LAYERS


RULE = lint_rule(
    "NNX732",
    "future-mask",
    "an attention mask that is True for what must not be seen, or that lies over the queries",
    why="""\
`nnx.MultiHeadAttention`, `nnx.dot_product_attention` and `jax.nn.dot_product_attention` take a mask that is True where
a position may be attended to. A mask of `jnp.triu(..., k=1)`, as PyTorch takes it, shows each position only what comes
behind it. The same holds for masks that are added to the scores, zero where something may be seen and -inf elsewhere:
as truths, they are the other way round. The last axis of a mask is that of the keys: a mask of padding as
`keep[:, None, :, None]` leaves out queries, of which nobody reads the result, and lets all others see the padding.
""",
    source="docstring of flax.nnx.dot_product_attention; measured: outputs that change with later tokens",
    check=_check,
    severity="error",
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx


def attend(q, k, v):
    hidden = jnp.triu(jnp.ones((8, 8), dtype=bool), k=1)
    return nnx.dot_product_attention(q, k, v, mask=hidden)
""",
        """\
from flax import nnx


def attend(q, k, v, tokens, pad_id):
    is_padding = tokens == pad_id
    return nnx.dot_product_attention(q, k, v, mask=is_padding[:, None, None, :])
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


def attend(q, k, v):
    hidden = jnp.triu(jnp.ones((8, 8), dtype=bool), k=1)
    return nnx.dot_product_attention(q, k, v, mask=~hidden)
""",
        """\
from flax import nnx


def attend(q, k, v, tokens, pad_id):
    is_token = tokens != pad_id
    return nnx.dot_product_attention(q, k, v, mask=is_token[:, None, None, :])
""",
    ),
)
