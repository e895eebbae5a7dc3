"""NNX834: a split key that nobody takes."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.discarded import discarded, last_of_cell
from codemods.nnx.lint.keys import DRAWING
from codemods.nnx.lint.names import NOT_CONSUMING, last
from codemods.nnx.lint.places import in_test


def _check(context: Context) -> Iterator[Finding]:
    for event, name in discarded(context, (*DRAWING, *NOT_CONSUMING)):
        function = event.scope.function
        if last(name) in {"key", "PRNGKey"} and function is not None and "seed" in function.name.lower():
            continue  # it is told that there is nothing to seed
        if not (event.node.args or event.node.keywords):
            continue  # something that is not written yet
        if name.startswith("jax.random.") and not in_test(event.scope) and not last_of_cell(event):
            ordered = last(name) in {"shuffle", "permutation"}
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the result of `{last(name)}` is thrown away, and the {'order' if ordered else 'key'} stays as it was",
                "take what it gives: x = jax.random.permutation(key, x)"
                if ordered
                else "take the new keys: key, subkey = jax.random.split(key)",
            )


RULE = lint_rule(
    "NNX834",
    "discarded-random",
    "the result of a jax.random function is thrown away",
    why="Keys do not change. `jax.random.split(key)` alone does nothing, and the next draw repeats the last one.",
    source="JAX tutorial, section on random keys; measured on JAX 0.6.2, 0.7.2 and 0.10.2",
    check=_check,
    bad=(
        """\
import jax

key = jax.random.key(0)
jax.random.split(key)
""",
    ),
    clean=(
        """\
import jax

key = jax.random.key(0)
key, subkey = jax.random.split(key)
""",
    ),
)
