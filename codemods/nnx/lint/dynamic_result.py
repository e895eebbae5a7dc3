"""NNX825: functions whose result has as many elements as the values say."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import of_array, traced_calls

# names with the argument that makes the size known
_SIZED = {
    "nonzero": "size", "flatnonzero": "size", "argwhere": "size", "unique": "size", "unique_values": "size",
    "union1d": "size", "intersect1d": "size", "setdiff1d": "size", "bincount": "length",
    "repeat": "total_repeat_length",
    "compress": "size", "extract": "size", "setxor1d": "size", "unique_all": "size", "unique_counts": "size",
    "unique_inverse": "size",
}  # fmt: skip

_SEGMENTS = frozenset(f"jax.ops.segment_{word}" for word in ("sum", "max", "min", "prod"))


def _check(context: Context) -> Iterator[Finding]:
    for event, name in traced_calls(context, level=0):
        func = event.node.func
        if isinstance(func, ast.Attribute) and func.attr == "nonzero" and not name:
            traced = of_array(context, func, event.scope) and context.taint.node(func.value, event.scope)
            if traced and event.value.keyword("size") is None:
                yield finding(RULE.code, event.scope, event.node, _WHAT, "give size=, or use a mask")
        if name in _SEGMENTS and len(event.node.args) == 2 and not event.value.starred:
            if event.value.keyword("num_segments") is None and context.taint.node(event.node.args[1], event.scope):
                yield finding(RULE.code, event.scope, event.node, _WHAT, "give num_segments=")
        elif not name and isinstance(func, ast.Attribute) and _repeats(context, event, func):
            yield finding(RULE.code, event.scope, event.node, _WHAT, "give total_repeat_length=")
        if not name.startswith("jax.numpy."):
            continue
        word, value = last(name), event.value
        if word == "where":
            hit = len(value.args) == 1 and not value.keywords
        elif word == "repeat":
            count = value.argument(1, "repeats")
            hit = (
                count is not None
                and context.taint.of(count, event.scope)
                and not value.keyword(_SIZED[word])
                and not context.bodies.untraced(event.node, event.scope)
            )
            if hit:
                yield finding(RULE.code, event.scope, event.node, _WHAT, f"give {_SIZED[word]}=")
            continue
        elif word == "delete":
            given = event.node.args[1:2]
            if given and not value.keywords and context.taint.node(given[0], event.scope):
                yield finding(RULE.code, event.scope, event.node, _WHAT, "give assume_unique_indices=True")
            continue
        elif word == "trim_zeros":
            if event.node.args and context.taint.node(event.node.args[0], event.scope):
                yield finding(RULE.code, event.scope, event.node, _WHAT, "use a mask")
            continue
        else:
            hit = word in _SIZED and value.keyword(_SIZED[word]) is None
        if hit and event.node.args and context.taint.node(event.node.args[0], event.scope):
            help_ = "use jnp.where with three arguments" if word == "where" else f"give {_SIZED[word]}=, or use a mask"
            yield finding(RULE.code, event.scope, event.node, _WHAT, help_)


def _repeats(context: Context, event: CallEvent, func: ast.Attribute) -> bool:
    """Say whether a method repeats the elements of an array as often as traced values say: ``x.repeat(counts)``."""
    if func.attr != "repeat" or event.value.keyword("total_repeat_length") is not None or not event.value.args:
        return False
    if not of_array(context, func, event.scope):
        return False
    if not context.taint.node(func.value, event.scope) or not context.taint.of(event.value.args[0], event.scope):
        return False
    return not context.bodies.untraced(event.node, event.scope)


_WHAT = "the size of the result depends on traced values"

RULE = lint_rule(
    "NNX825",
    "dynamic-result",
    "nonzero, unique, argwhere and the like of a traced value without a size",
    why="""\
The result of these functions is as long as the values say, which is not known while compiling:
ConcretizationTypeError. With `size=` the result is cut or filled to a length that is known.
""",
    source="JAX tutorial, section on static shapes; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


@jax.jit
def places(x):
    return jnp.nonzero(x)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


@jax.jit
def places(x):
    return jnp.nonzero(x, size=3), jnp.where(x > 0, x, 0), jnp.repeat(x, 2)
""",
    ),
)
