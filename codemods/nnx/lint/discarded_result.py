"""NNX842: the result of a pure function that nobody takes."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.discarded import array_method, discarded, is_pure
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test


def _check(context: Context) -> Iterator[Finding]:
    for event, name in discarded(context):
        if in_test(event.scope) or _displayed(event):  # a test may only want the error
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        if is_pure(event, name):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` changes nothing: its result is thrown away",
                "assign the result",
            )
    for event in context.asked.calls():
        if not event.used and not _displayed(event) and array_method(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the method gives a new array, which is thrown away",
                "assign the result",
            )


def _displayed(event: CallEvent) -> bool:
    """Say whether a notebook may show the result."""
    return event.scope.module.source.notebook and event.scope.function is None


RULE = lint_rule(
    "NNX842",
    "discarded-result",
    "the result of a pure function is thrown away",
    why="""\
Arrays do not change: `jax.tree.map`, `optax.apply_updates`, `nnx.cached_partial` and the methods of arrays give new
values. As a statement such a call does nothing.
""",
    source="JAX tutorial on immutability; performance guide of Flax NNX; seen in public code",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp

tree = {"a": jnp.ones(2)}
jax.tree.map(lambda x: x * 2, tree)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp

tree = {"a": jnp.ones(2)}
tree = jax.tree.map(lambda x: x * 2, tree)
jax.tree.map(lambda x: print(x.shape), tree)
""",
    ),
)
