"""NNX821: a Python number made of a traced value."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import traced_calls

_BUILTINS = frozenset({"builtins.float", "builtins.int", "builtins.bool", "builtins.complex", "builtins.range"})
_METHODS = frozenset({"item", "tolist", "__array__", "tobytes"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in traced_calls(context, level=0):
        if context.bodies.guarded(event.node, event.scope):
            continue
        func = event.node.func
        if name in _BUILTINS:
            hit = any(context.taint.node(argument, event.scope) for argument in event.node.args)
        else:
            hit = (
                isinstance(func, ast.Attribute)
                and func.attr in _METHODS
                and not event.node.args
                and context.taint.node(func.value, event.scope)
            )
        if hit:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "a traced value has no number yet: it is known when the compiled function runs",
                "go on with the array (astype changes its type), or make the argument static",
            )


RULE = lint_rule(
    "NNX821",
    "number-of-tracer",
    "float(), int(), bool(), range() or .item() of a traced value",
    why="""\
These need the value, which raises ConcretizationTypeError or TracerIntegerConversionError while the function is
compiled.
""",
    source="JAX tutorial; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
import jax


@jax.jit
def total(x):
    return float(x.sum())
""",
    ),
    clean=(
        """\
import jax


@jax.jit
def average(x):
    return x.sum() / float(x.shape[0])
""",
    ),
)
