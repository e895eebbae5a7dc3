"""NNX848: floats that are written into an array of integers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import FLOAT, INT, Arrays
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Item, Param, Value

_METHODS = ("set", "add", "multiply", "mul", "divide", "power", "subtract")


def _check(context: Context) -> Iterator[Finding]:
    found = dict(_written(context))
    for event, array in found.items():
        if array not in {inner.node for inner in found}:  # one array, written to twice in a row
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{ast.unparse(array)}` holds integers: what is written into it loses its fraction",
                "make the array one of floats: jnp.zeros(shape), or dtype=float",
            )


def _written(context: Context) -> Iterator[tuple[CallEvent, ast.expr]]:
    """Yield the calls that write floats into an array of integers, each with the array."""
    for event in context.bodies.named(*_METHODS):
        callee = event.value.callee
        if event.scope.module not in context.asked or not isinstance(callee, Attr) or not event.value.args:
            continue
        func = event.node.func
        at = func.value if isinstance(func, ast.Attribute) else None
        if not (isinstance(at, ast.Subscript) and isinstance(at.value, ast.Attribute) and at.value.attr == "at"):
            continue
        base = event.scope.module.values.get(at.value.value)
        if base is None or in_test(event.scope):
            continue
        number = constant(event.node.args[0])
        if isinstance(number, float) and number.is_integer():
            continue  # nothing is lost
        if _handed_in(event.value.args[0], event.node.args[0]):
            continue  # truth values as floats lose nothing
        arrays = Arrays(context, {})
        if arrays.of(event.value.args[0], event.scope).number != FLOAT or arrays.of(base, event.scope).number != INT:
            continue
        yield event, at.value.value


_OF_TRUTH = pattern(
    r"(^|_)(rewards?|dones?|terminals?|terminated|truncat\w+|success\w*|flags?|masks?|labels?|actions?)(_|$)"
)


def _handed_in(value: Value, node: ast.expr) -> bool:
    """Say whether what is written is a part of what a function is given, by a name that may be that of 0 and 1 alone,
    as a reward: what each caller gives is not known together with the array."""
    while isinstance(value, Item):
        value = value.base
    return isinstance(value, Param) and bool(_OF_TRUTH.search(last_word(node).lower()))


RULE = lint_rule(
    "NNX848",
    "integer-array",
    "floats are written into an array of integers",
    why="""\
`x.at[i].set(value)` and the like keep the type of `x`: in an array of integers 0.5 becomes 0. `jnp.array([0, 0])` and
`jnp.zeros(n, int)` are such arrays, `jnp.zeros(n)` is not.
""",
    source="Stack Overflow; JAX Sharp Bits; measured: the fraction is cut off, with a warning at most",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp

values = jnp.array([0, 0, 0])
values = values.at[1].set(0.5)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp

values = jnp.zeros(3)
values = values.at[1].set(0.5)
counts = jnp.zeros(3, dtype=int).at[1].add(1).at[0].set(1.0)
""",
    ),
)
