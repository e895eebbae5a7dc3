"""NNX792: a clock that is read between a compiled call and the wait for its result."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.timing import measured


def _check(context: Context) -> Iterator[Finding]:
    for one in context.shared(measured):
        if one.awaited:
            yield finding(
                RULE.code,
                one.scope,
                one.node,
                "the clock is read before the wait for the result: this is the time to send the work off",
                "read it after block_until_ready",
            )


RULE = lint_rule(
    "NNX792",
    "clock-before-wait",
    "a clock that is read after compiled code is called, and before the wait for its result",
    why="""\
A compiled function returns before its result is computed. Where `block_until_ready` comes after the second look at the
clock, the time is that of the dispatch, and a speed made of it may be a thousand times too high.
""",
    source="jax documentation of asynchronous dispatch; measured: 100 TFLOP/s on a CPU that does 0.01",
    check=_check,
    bad=(
        """\
import time

import jax


@jax.jit
def square(x):
    return x @ x


def measured(x):
    square(x).block_until_ready()
    start = time.perf_counter()
    y = square(x)
    elapsed = time.perf_counter() - start
    y.block_until_ready()
    return elapsed
""",
    ),
    clean=(
        """\
import time

import jax


@jax.jit
def square(x):
    return x @ x


def measured(x):
    square(x).block_until_ready()
    start = time.perf_counter()
    y = square(x)
    y.block_until_ready()
    return time.perf_counter() - start
""",
    ),
)
