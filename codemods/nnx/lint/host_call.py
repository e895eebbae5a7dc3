"""NNX806: clocks, random numbers and files of the host in traced code."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.names import HOST_FUNCTIONS, HOST_MODULES
from codemods.nnx.lint.places import traced_calls
from codemods.nnx.rule import Example, Kind, Rule


def _check(context: Context) -> Iterator[Finding]:
    for event, name in traced_calls(context):
        if name in HOST_FUNCTIONS or name.startswith(HOST_MODULES):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{name.removeprefix('builtins.')}` runs once per compilation and not at every call",
                "draw from a jax.random key or an nnx.Rngs"
                if "random" in name
                else "call it outside of the compiled function and pass the result in, or use jax.debug.callback",
            )


RULE = Rule(
    code="NNX806",
    name="host-call-in-traced",
    summary="time, random, file or network access in traced code",
    why="""\
Python runs while the function is compiled and never again: the time, the random number or the contents of the file
are constants of the compiled code, and what was to be written is written once.
""",
    kind=Kind.LINT,
    safety=None,
    since="0.10",
    source='talk "Introducing Flax NNX (Part 2)", section 3; measured: frozen at the first call',
    examples=(
        Example(
            before="""\
import time

import jax


@jax.jit
def stamped(x):
    return x * time.time()
""",
            run=False,
        ),
    ),
    check=_check,
)
