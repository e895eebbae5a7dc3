"""NNX910: a training step that keeps the memory of its old state."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import compiled_roots, shown
from codemods.nnx.lint.syntax import keyword


def _check(context: Context) -> Iterator[Finding]:
    for root in compiled_roots(context):
        options = root.options
        given = options is not None and any(keyword(options, w) for w in ("donate_argnums", "donate_argnames"))
        if (
            root.transform == "jax.jit"
            and not given
            and _carries(root.function.node)
            and "state" in root.function.params
        ):
            yield finding(
                RULE.code,
                root.scope,
                root.node,
                f"{shown(root.function)} holds the old and the new state in memory at once",
                'add donate_argnames="state" if the old state is not used again',
            )


def _carries(node: ast.AST) -> bool:
    """Say whether a function returns a name `state` it was given."""
    return any(
        isinstance(n, ast.Name) and n.id == "state"
        for statement in ast.walk(node)
        if isinstance(statement, ast.Return) and statement.value is not None
        for n in ast.walk(statement.value)
    )


RULE = lint_rule(
    "NNX910",
    "no-donation",
    "a jax.jit step carries a state without donating it",
    why="""\
With `donate_argnames` the new state takes the memory of the old one. The old arrays are deleted then: copies that
alias them cannot be read any more.
""",
    source="flax issue 5031; measured: aliased snapshots are deleted with the donated state",
    check=_check,
    bad=(
        """\
import jax


@jax.jit
def step(state, x):
    state = state + x
    return state
""",
    ),
    clean=(
        """\
from functools import partial

import jax


@partial(jax.jit, donate_argnames="state")
def step(state, x):
    state = state + x
    return state
""",
    ),
    default=False,
)
