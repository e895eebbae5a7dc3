"""NNX773: one key for draws that may be meant to be equal."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.key_reuse import reuses


def _check(context: Context) -> Iterator[Finding]:
    yield from (place.found(RULE.code) for place in context.shared(reuses) if place.weak)


RULE = lint_rule(
    "NNX773",
    "shared-key",
    "a random key is used twice where the same numbers may be meant",
    why="""\
Two methods that a script compares, a loop over settings, an evaluation beside another one or what is only shown may
get the same key on purpose: then nothing is wrong, and so this rule runs only if it is selected. Of other keys that
are used twice NNX830 tells.
""",
    source="public projects; measured: identical numbers",
    check=_check,
    default=False,
    bad=(
        """\
import jax


def fast(key, x):
    return x + jax.random.normal(key, x.shape)


def exact(key, x):
    return x - jax.random.normal(key, x.shape)


key = jax.random.key(0)
x = jax.numpy.ones(3)
a = fast(key, x)
b = exact(key, x)
""",
    ),
    clean=(
        """\
import jax

key = jax.random.key(0)
a = jax.random.normal(key, (3,))
b = jax.random.uniform(key, (3,))
""",
    ),
)
