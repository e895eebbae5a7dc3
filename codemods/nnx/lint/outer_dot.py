"""NNX657: ``jnp.dot`` of two batches, which multiplies each with each."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.literal_shape import literal_shape
from codemods.nnx.lint.places import foreign, in_test


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "dot"):
        if name != "jax.numpy.dot" or len(event.value.args) != 2 or event.value.starred or in_test(event.scope):
            continue
        arrays = Arrays(context, {})
        axes = [arrays.axes(value, event.scope) for value in event.value.args]
        if min(axes) < 3:
            continue
        shapes = [literal_shape(context, value, event.scope) for value in event.value.args]
        if not all(shapes) or shapes[0][0] != shapes[1][0]:
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`dot` multiplies each matrix with each: the result has {sum(axes) - 2} axes, not one for the batch",
            "multiply them in pairs: a @ b, or jnp.matmul(a, b)",
        )


_BAD = """\
import jax.numpy as jnp

queries, keys = jnp.ones((8, 5, 4)), jnp.ones((8, 4, 5))
scores = jnp.dot(queries, keys)
"""

RULE = lint_rule(
    "NNX657",
    "outer-dot",
    "jnp.dot of two batches of matrices",
    why="""\
`jnp.dot` of arrays with three axes sums over the last of the first and the last but one of the second, and keeps all
other axes of both: each matrix is multiplied with each. `@` and `jnp.matmul` go through both batches together.
""",
    source="numpy.dot; measured: (8, 5, 8, 5) instead of (8, 5, 5)",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.dot(queries, keys)", "jnp.matmul(queries, keys)"),),
)
