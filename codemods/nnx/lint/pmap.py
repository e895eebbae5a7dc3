"""NNX916: ``pmap``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Ref

_NAMES = {"jax.pmap": "jax.jit", "flax.nnx.pmap": "nnx.jit"}


def _check(context: Context) -> Iterator[Finding]:
    for module in context.asked.modules:
        names = {"pmap"} | {a.asname for s in module.imports for a in s.names if a.name == "pmap" and a.asname}
        for node, value in module.values.items():
            word = last_word(node)
            if word not in names:
                continue
            found = context.flow.resolve(context.flow.here(value, module.scope)).value
            other = _NAMES.get(found.name) if isinstance(found, Ref) else None
            if other is not None and isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
                yield finding(
                    RULE.code,
                    module.scope,
                    node,
                    "pmap needs a slice of every argument for each device, and gathers what jit leaves sharded",
                    f"use {other} with arrays that are sharded over a mesh, or jax.shard_map",
                )


RULE = lint_rule(
    "NNX916",
    "pmap",
    "jax.pmap or nnx.pmap",
    why="""\
`pmap` is kept for old code: its arguments have a leading axis as long as there are devices, and it does not compose
with arrays that are sharded over a mesh. `jit` with shardings, or `jax.shard_map`, does the same and more. The code
works, so the rule is off unless it is selected.
""",
    source="JAX documentation on parallel programming",
    check=_check,
    bad=(
        """\
import jax

double = jax.pmap(lambda x: 2 * x)
""",
    ),
    clean=(
        """\
import jax

double = jax.vmap(lambda x: 2 * x)
""",
    ),
    default=False,
)
