"""NNX908: a static argument that is another value in every round of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.statics import static_arguments


def _check(context: Context) -> Iterator[Finding]:
    for event, node, name in static_arguments(context):
        counters = {
            n.id
            for loop in event.loops
            if isinstance(loop, ast.For)
            for n in ast.walk(loop.target)
            if isinstance(n, ast.Name)
        }
        if isinstance(node, ast.Name) and node.id in counters:
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"the static argument `{name}` changes in every round, and every value is compiled on its own",
                "pass it as an ordinary argument",
            )


RULE = lint_rule(
    "NNX908",
    "varying-static",
    "the variable of a loop as a static argument",
    why="Each value of a static argument compiles the function anew: ten rounds, ten compilations.",
    source='JAX tutorial ("recompiles each time"); measured: 10 compilations in 10 rounds',
    check=_check,
    bad=(
        """\
from functools import partial

import jax


@partial(jax.jit, static_argnums=1)
def scaled(x, n):
    return x * n


for i in range(10):
    scaled(1.0, i)
""",
    ),
    clean=(
        """\
import jax


@jax.jit
def scaled(x, n):
    return x * n


for i in range(10):
    scaled(1.0, i)
""",
    ),
)
