"""NNX763: numbers and arrays one after the other, where a function takes a shape or a list of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.array_for_axis import arrays_for_axes
from codemods.nnx.lint.arrays import Arrays, made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.places import foreign, kinds_of
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Param, Value

# functions that take a type behind their shape, with its place
_SHAPED = {
    **{f"jax.numpy.{word}": 1 for word in ("zeros", "ones", "empty")},
    **{f"jax.random.{word}": 2 for word in ("normal", "uniform", "gumbel", "exponential", "laplace", "cauchy")},
}
_JOINING = frozenset(f"jax.numpy.{word}" for word in ("concatenate", "stack", "vstack", "hstack", "column_stack"))


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *sorted({last(n) for n in (*_SHAPED, *_JOINING)})):
        args = event.value.args
        if event.value.starred and not (name in _SHAPED and _rest(event, _SHAPED[name])):
            continue
        if name in _SHAPED:
            place = _SHAPED[name]
            if len(args) > place and (
                event.value.starred or _number(context, event, args[place]) or _same(event, place)
            ):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{last(name)}` takes one shape, and what follows it for the type of numbers",
                    "write the shape as a tuple",
                )
        elif name in _JOINING and len(args) > 1 and (_array(context, event, args[1]) or _twice_axis(event)):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` takes one list of arrays, and an array that follows for something else",
                "write the arrays as a list",
            )
    for event, word, instead in arrays_for_axes(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{word}` reduces one array, and takes what follows it for the axis",
            f"for two arrays there is {instead}",
        )


def _twice_axis(event: CallEvent) -> bool:
    """Say whether the axis is given by name, so that what follows the first argument is no axis, or is cut out of an
    array: ``concatenate(a, b[None])``."""
    given = event.node.args[1] if len(event.node.args) > 1 else None
    if given is None or any(isinstance(one, ast.Starred) for one in event.node.args):
        return False
    if any(keyword.arg == "axis" for keyword in event.node.keywords):
        return True
    parts = given.slice.elts if isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Tuple) else []
    parts = [given.slice] if isinstance(given, ast.Subscript) and not parts else parts
    return any(isinstance(p, ast.Slice) or (isinstance(p, ast.Constant) and p.value is None) for p in parts)


def _rest(event: CallEvent, place: int) -> bool:
    """Say whether a number stands for the shape, and the rest of it unpacked behind: ``normal(key, 1, *s)``."""
    args = event.node.args
    if len(args) != place + 1 or not isinstance(args[place], ast.Starred):
        return False
    first = args[place - 1]
    return isinstance(first, ast.Constant) and type(first.value) is int


def _same(event: CallEvent, place: int) -> bool:
    """Say whether the shape is written once more where the type belongs: ``ones(n, n)``."""
    if len(event.node.args) <= place:
        return False
    shape, given = event.node.args[place - 1 : place + 1]
    return isinstance(given, ast.Name | ast.Attribute) and ast.dump(shape) == ast.dump(given)


def _number(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether a value is a whole number: by what it is on all ways, or by what a parameter or field is called."""
    if isinstance(value, Param) and _TYPE.search(value.name):
        return False  # where it gets a number, the call of the function is wrong
    found = numbers(context, value, event.scope)
    if found:
        return all(type(one) is int for one in found)
    made = context.flow.resolve(context.flow.here(value, event.scope)).value
    if isinstance(made, Param | Attr) and isinstance(value, Param | Attr) and _SIZES.search(value.name):
        return True
    place = event.value.args.index(value)
    shape, given = event.node.args[place - 1 : place + 1] if 0 < place < len(event.node.args) else (None, None)
    # two sizes, by their names
    return all(isinstance(node, ast.Name) and _WIDTHS.search(node.id) is not None for node in (shape, given))


_TYPE = pattern(r"(^|_)d?type$")
_WIDTHS = pattern(
    r"^[dn]_?(in|out)$|^(in|out|fan)_?(in|out|dim|size|features)?$|^(rows|cols|heads|n_\w+|\w+_(dim|size))$"
)
_SIZES = pattern(r"(^|_)(dims?|size|features|hidden|channels|width|height|batch|classes|length|num)(_|$)|^n_")


def _array(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether a value is an array: made by JAX, of known axes, or what a layer gives."""
    if made_by_jax(context, value, event.scope) or (Arrays(context, {}).of(value, event.scope).axes or 0) > 0:
        return True
    return (
        isinstance(value, Call)
        and not context.flow.calls.callee_name(context.flow.here(value, event.scope))
        and kinds_of(context, value.callee, event.scope) == {Kind.MODULE}
        and _layer(context, event, value)
    )


def _layer(context: Context, event: CallEvent, value: Call) -> bool:
    """Say whether what is called is a layer of NNX that gives one array."""
    made = context.flow.resolve(context.flow.here(value.callee, event.scope))
    name = context.flow.calls.callee_name(made) if isinstance(made.value, Call) else ""
    return name in {f"flax.nnx.{word}" for word in ("Linear", "Embed", "Conv", "LayerNorm", "BatchNorm", "Dropout")}


RULE = lint_rule(
    "NNX763",
    "shape-in-pieces",
    "numbers of a shape or arrays of a list one after the other",
    why="""\
`jnp.zeros(3, 4)` makes 3 numbers of the type 4, `jax.random.normal(key, 3, 4)` likewise, and `jnp.concatenate(a, b)`
joins the rows of `a` along the axis `b`: each raises a TypeError. Shapes are tuples, and what is joined is a list.
`jnp.max(0, x)` reduces the 0 alone along the axis `x`; the greater of two is `jnp.maximum`.
""",
    source="Stack Overflow; measured on JAX 0.6.2, 0.7.2 and 0.10.2: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp

state = jnp.zeros(3, 4)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp

state = jnp.zeros((3, 4), jnp.float32)
""",
    ),
)
