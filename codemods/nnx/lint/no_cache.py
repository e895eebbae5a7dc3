"""NNX898: attention that decodes without a cache."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import constant, keyword


def _check(context: Context) -> Iterator[Finding]:
    found = [
        event
        for event, name in foreign(context, "MultiHeadAttention")
        if name == "flax.nnx.MultiHeadAttention" and constant(keyword(event.node, "decode")) is True
    ]
    if not found:
        return
    texts = [module.source.data for module in context.project.modules]
    if any(word in text for text in texts for word in (b"init_cache", b"decode=False", b"cached_key", b"decode = ")):
        return
    for event in found:
        if not in_test(event.scope) and not context.bodies.guarded(event.node, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                keyword(event.node, "decode") or event.node,
                "nothing makes the cache that decoding needs: init_cache is never called",
                "call init_cache(shape) of the layer before the first token",
            )


RULE = lint_rule(
    "NNX898",
    "decode-without-cache",
    "attention with decode=True in a project that never calls init_cache",
    why="""\
`nnx.MultiHeadAttention(..., decode=True)` keeps keys and values of the tokens before, in arrays that `init_cache` makes
for a batch and a length. Without it the first call raises a ValueError.
""",
    source="measured on Flax 0.10.7 and 0.12.8: ValueError",
    check=_check,
    bad=(
        """\
from flax import nnx


class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(2, 8, decode=True, rngs=rngs)

    def __call__(self, x):
        return self.attention(x)
""",
    ),
    clean=(
        """\
from flax import nnx


class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(2, 8, decode=True, rngs=rngs)

    def start(self, shape):
        self.attention.init_cache(shape)

    def __call__(self, x):
        return self.attention(x)
""",
    ),
    severity="error",
)
