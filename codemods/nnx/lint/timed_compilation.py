"""NNX918: a measured time that is mostly that of compiling."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import jit_of, scopes, shown
from codemods.nnx.lint.timing import clock, starts
from codemods.nnx.lint.traced import Root


def _check(context: Context) -> Iterator[Finding]:
    if not context.traced.roots:
        return
    for scope in scopes(context):
        started = starts(context, scope)
        if not started:
            continue
        for node in context.bodies.nodes(scope):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.right, ast.Name):
                lines = [line for line in started.get(node.right.id, ()) if line < node.lineno]
                if not lines or not clock(context, node.left, scope):
                    continue
                root = _first(context, scope, max(lines), node.lineno)
                if root is not None:
                    yield finding(
                        RULE.code,
                        scope,
                        node,
                        f"the time is that of the first call of {shown(root.function)}, which compiles it",
                        "call it once before the clock is started",
                    )


def _first(context: Context, scope: Scope, start: int, end: int) -> Root | None:
    """Return the compiled function that runs once between two lines, and is not called anywhere else."""
    for event in context.bodies.calls.get(scope, ()):
        if start < event.node.lineno <= end and not event.loops:
            for root in jit_of(context, event):
                if not _elsewhere(context, root, event):
                    return root
    return None


def _elsewhere(context: Context, root: Root, event: CallEvent) -> bool:
    """Say whether the project calls a compiled function elsewhere too, which may have compiled it before."""
    return any(caller.value is not event.value for caller in context.flow.sites.callers(root.function))


RULE = lint_rule(
    "NNX918",
    "timed-compilation",
    "a time measured around the first call of a compiled function",
    why="""\
The first call compiles: measured around it, a function took 573 ms that takes 310 ms afterwards. Call it once before
the clock is started. Where the time to compile is what one wants to know the code is right, so the rule is off unless
it is selected.
""",
    source="JAX tutorial on benchmarking; measured on Flax 0.11.2",
    check=_check,
    bad=(
        """\
import time

import jax
import jax.numpy as jnp

square = jax.jit(lambda x: x @ x)
start = time.perf_counter()
square(jnp.ones((9, 9))).block_until_ready()
print(time.perf_counter() - start)
""",
    ),
    clean=(
        """\
import time

import jax
import jax.numpy as jnp

square = jax.jit(lambda x: x @ x)
square(jnp.ones((9, 9))).block_until_ready()
start = time.perf_counter()
square(jnp.ones((9, 9))).block_until_ready()
print(time.perf_counter() - start)
""",
    ),
    default=False,
)
