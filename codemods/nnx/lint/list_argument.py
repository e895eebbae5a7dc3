"""NNX844: a list for a function of ``jax.numpy``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell_name
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last

# functions that are given an array first; those that take sequences, such as stack, are left out
_ARRAYS = (
    "sum", "mean", "max", "min", "prod", "std", "var", "exp", "log", "sqrt", "abs", "sin", "cos", "tanh", "dot",
    "matmul",
    "argmax", "argmin", "cumsum", "cumprod", "sort", "argsort", "reshape", "transpose", "square", "any", "all",
    "median",
    "where", "maximum", "minimum", "expand_dims", "squeeze", "ravel", "round", "clip", "isnan", "isfinite", "sign",
    "linalg.norm", "unique", "nonzero", "tile", "repeat", "flip", "roll", "diag", "trace", "average",
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named(*(last(name) for name in _ARRAYS)):
        node = event.node
        if not node.args or not isinstance(node.args[0], ast.List | ast.Tuple):
            continue
        name = context.flow.callee_name(context.flow.here(event.value, event.scope))
        if name.startswith("jax.numpy.") and name.removeprefix("jax.numpy.") in _ARRAYS:
            kind = "list" if isinstance(node.args[0], ast.List) else "tuple"
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"functions of jax.numpy take no {kind}",
                "make an array of it: jnp.array([...])",
                _fix(context, event, node.args[0]),
            )


def _fix(context: Context, event: CallEvent, node: ast.expr) -> Fix | None:
    spelling = spell_name(context.flow, event.scope, "jax.numpy.array")
    if spelling is None or spelling.edits:
        return None
    source = event.scope.module.source
    start, end = source.span(node)
    edits = (Edit(start, start, f"{spelling.text}(".encode()), Edit(end, end, b")"))
    return Fix(tuple((source.path, edit) for edit in edits))


RULE = lint_rule(
    "NNX844",
    "list-argument",
    "a list or tuple where jax.numpy wants an array",
    why="""\
Unlike numpy, the functions of jax.numpy raise a TypeError for a list, because converting it element by element is
slow. Functions that take sequences of arrays, such as stack and concatenate, are not meant.
""",
    source="JAX tutorial; measured on JAX 0.6.2, 0.7.2 and 0.10.2",
    check=_check,
    mended=(
        (
            """\
import jax.numpy as jnp

total = jnp.sum([1, 2, 3])
""",
            """\
import jax.numpy as jnp

total = jnp.sum(jnp.array([1, 2, 3]))
""",
        ),
    ),
    clean=(
        """\
import jax.numpy as jnp

both = jnp.stack([jnp.ones(2), jnp.zeros(2)])
total = jnp.array([1, 2, 3]).sum() + jnp.concatenate([both, both]).sum()
""",
    ),
    safety=Safety.SAFE,
)
