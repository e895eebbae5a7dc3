"""NNX974: a reshape that is to change the order of axes, which it does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.axis_order import HEADS, PART, AxisOrder
from codemods.nnx.lint.axis_order import sizes as sizes_given
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import argument, constant, names_in
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Sequence, Unknown, Value, of_display

_HEADS = pattern(r"(^|_)(n_?|num_?)?(heads?|groups)$|^(h|nh|H)$", re.I)


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named("reshape"):
        if event.scope.module not in context.asked or in_test(event.scope):
            continue
        found = sizes_given(event.value)
        if found is None:
            continue
        whole, sizes = _measured(context, event, *found), found[1]
        axes = [_axis(event, size, whole) for size in sizes]
        moved = _moved(axes) or _split_off(event, sizes, axes, whole) or _merged(context, event, whole, sizes)
        moved = moved or _heads_first(event, sizes, axes, whole) or _patched(event, sizes, whole)
        factor = _multiplied(event, whole) if not moved else None
        if factor is not None:  # x @ w has the axes of x but the last one
            axes = [_axis(event, size, factor) for size in sizes]
            moved = _split_off(event, sizes, axes, factor) or _heads_first(event, sizes, axes, factor)
        if moved and not _shifted(event):
            yield finding(RULE.code, event.scope, event.node, moved, "change the order of the axes by jnp.transpose")


def _patched(event: CallEvent, sizes: list[ast.expr], whole: Value) -> str:
    """Say what is wrong with ``img.reshape(h // p, w // p, p, p, c)``; empty if nothing is known to be."""
    parts = [_quotient(event, size, whole) for size in sizes]
    for place, (one, other) in enumerate(pairwise(parts)):
        if one is None or other is None or other[0] != one[0] + 1 or place + 2 >= len(sizes):
            continue
        if ast.unparse(sizes[place + 2]) in {one[1], other[1]}:
            return (
                f"the parts of axes {one[0]} and {other[0]} stand before the size of a part: a reshape does not move "
                "axes, and none of these patches is one of the image"
            )
    return ""


def _quotient(event: CallEvent, size: ast.expr, whole: Value) -> tuple[int, str] | None:
    """Return the axis that is cut into parts, and the size of a part, for the number of parts: ``h // p``."""
    value = event.scope.module.values.get(size)
    value = of_display(value) if value is not None else None
    node = value.node if isinstance(value, Unknown) else size
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv):
        return None
    axis = _axis(event, node.left, whole)
    return (axis, ast.unparse(node.right)) if axis is not None else None


def _measured(context: Context, event: CallEvent, whole: Value, sizes: list[ast.expr]) -> Value:
    """Return the array whose shape sizes are of: the one that is reshaped, or what it was converted or scaled from."""
    first = given = _input(context, event, whole)
    inner: Value | None = whole
    while inner is not None and not any(_axis(event, size, given) is not None for size in sizes):
        inner = _converted(context, event, inner)
        given = _input(context, event, inner) if inner is not None else first
    return given


def _converted(context: Context, event: CallEvent, whole: Value) -> Value | None:
    """Return what an array was converted or scaled from, with the axes that it has: ``jnp.asarray(x)``, ``x / 255``."""
    if isinstance(whole, Unknown) and isinstance(whole.node, ast.BinOp):
        sides = [whole.node.left, whole.node.right]
        numbers = [isinstance(constant(one), int | float) for one in sides]
        return event.scope.module.values.get(sides[numbers[0]]) if sum(numbers) == 1 else None
    if not isinstance(whole, Call) or whole.starred:
        return None
    name = context.flow.calls.callee_name(context.flow.here(whole, event.scope))
    if name in _CONVERSIONS:
        return whole.args[0] if whole.args else None
    if not name and isinstance(whole.callee, Attr) and whole.callee.name in _METHODS:
        return whole.callee.base
    return None


_METHODS = frozenset({"astype", "copy", "numpy", "detach", "cpu", "contiguous", "clone"})
_CONVERSIONS = frozenset(
    f"{home}.{word}"
    for home in ("jax.numpy", "numpy")
    for word in ("array", "asarray", "ascontiguousarray", "copy", "float32")
) | {"jax.device_put", "jax.device_get"}  # fmt: skip


def _input(context: Context, event: CallEvent, whole: Value) -> Value:
    """Return what a linear layer was called with, whose axes but the last one are those of its result."""
    while isinstance(whole, Call | Item):
        if isinstance(whole, Item):
            parts = whole.base if isinstance(whole.base, Call) and isinstance(whole.index, Const) else None
            if parts is None or last_word(parts.node.func) != "split" or not parts.args:
                break
            axis = argument(parts.node, 2, "axis")
            if constant(axis) not in (-1, 2):
                break
            whole = parts.args[0]
        elif len(whole.args) == 1 and not whole.starred and _linear(context, event, whole):
            whole = whole.args[0]
        else:
            break
    return whole


def _multiplied(event: CallEvent, whole: Value) -> Value | None:
    """Return x of ``x @ w``."""
    node = whole.node if isinstance(whole, Unknown) else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.MatMult):
        return None
    return event.scope.module.values.get(node.left)


def _linear(context: Context, event: CallEvent, call: Call) -> bool:
    """Say whether a call is one of a linear layer of NNX or Linen."""
    if owner_class(context, call.callee, event.scope) == "flax.nnx.Linear":
        return True
    made = call.callee
    if not isinstance(made, Call):
        return False
    return context.flow.calls.callee_name(context.flow.here(made, event.scope)) == "flax.linen.Dense"


def _axis(event: CallEvent, size: ast.expr, whole: Value) -> int | None:
    """Return the axis of an array whose size an expression is, counted from the front; None if it is none."""
    value = event.scope.module.values.get(size)
    if isinstance(value, Item) and isinstance(value.base, Sequence) and isinstance(value.index, Const):
        place = value.index.value  # of `a, b = x.shape[1], x.shape[2]`
        if isinstance(place, int) and 0 <= place < len(value.base.items):
            value = value.base.items[place]
    if not isinstance(value, Item) or isinstance(value.index, Unknown):
        return None
    shape, index = value.base, getattr(value.index, "value", None)
    if not isinstance(shape, Attr) or shape.name != "shape" or shape.base != whole:
        return None
    return index if isinstance(index, int) and not isinstance(index, bool) and index >= 0 else None


def _moved(axes: list[int | None]) -> str:
    """Say what is wrong with sizes that are those of the axes, each alone, in another order."""
    known = [axis for axis in axes if axis is not None]
    if len(known) < 2 or len(set(known)) < len(known) or known == sorted(known):
        return ""
    order = ", ".join("?" if axis is None else str(axis) for axis in axes)
    return f"a reshape to the sizes of the axes {order} does not move axes: the elements stay in their order"


def _split_off(event: CallEvent, sizes: list[ast.expr], axes: list[int | None], whole: Value) -> str:
    """Say what is wrong with ``x.reshape(batch, heads, length, width // heads)`` of an array of three axes."""
    for place, size in enumerate(sizes):
        if not isinstance(size, ast.BinOp) or not isinstance(size.op, ast.FloorDiv):
            continue
        divided, parts = _axis(event, size.left, whole), ast.unparse(size.right)
        before = [other for other in range(place) if ast.unparse(sizes[other]) == parts]
        if divided is None or constant(size.right) is not None or len(before) != 1:
            continue
        between = [axis for axis in axes[before[0] + 1 : place] if axis is not None]
        if between and all(axis < divided for axis in between) and not names_in(size.right) & _unpacked(event, whole):
            return (
                f"`{parts}` parts of axis {divided} stand before axis {between[0]}, of which each part gets a piece: "
                "a reshape does not move axes"
            )
    return ""


def _heads_first(event: CallEvent, sizes: list[ast.expr], axes: list[int | None], whole: Value) -> str:
    """Say what is wrong with ``x.reshape(batch, self.heads, length, self.head_dim)`` of an array of three axes."""
    if len(axes) != 4 or axes[0] != 0 or axes[1] is not None or axes[2] != 1 or axes[3] is not None:
        return ""
    heads, unpacked = sizes[1], _unpacked(event, whole)
    if not _HEADS.search(last_word(heads)) or names_in(heads) & unpacked or _axes_unpacked(event, whole) != 3:
        return ""
    return (
        f"`{ast.unparse(heads)}` parts of the last axis stand before axis 1, of which each part gets a piece: "
        "a reshape does not move axes"
    )


def _axes_unpacked(event: CallEvent, whole: Value) -> int:
    """Return how many axes an array has where its shape is unpacked; 0 if it is not."""
    return max(
        (
            len(node.targets[0].elts)
            for node in ast.walk(event.scope.node)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and not any(isinstance(one, ast.Starred) for one in node.targets[0].elts)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "shape"
            and event.scope.module.values.get(node.value.value) == whole
        ),
        default=0,
    )


def _shifted(event: CallEvent) -> bool:
    """Say whether rows are cut off what a reshape gives, and the rest is reshaped again: the relative shift of
    Transformer-XL, which moves each row by one."""
    statement, function = event.statement, event.scope.node
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {one.id for one in targets if isinstance(one, ast.Name)}
    nodes = [*ast.walk(function)]
    cuts = [
        node
        for node in nodes
        if isinstance(node, ast.Subscript | ast.Call) and node.lineno >= event.node.lineno
        if (part := _cut(node)) is not None
        if part is event.node or (isinstance(part, ast.Name) and part.id in names)
    ]
    return any(
        isinstance(node, ast.Call) and last_word(node.func) == "reshape" and node is not event.node
        for cut in cuts
        for node in nodes
        if getattr(node, "lineno", 0) >= cut.lineno
    )


def _cut(node: ast.Subscript | ast.Call) -> ast.expr | None:
    """Return what ``x[1:]`` or ``lax.slice(x, ...)`` takes rows of."""
    if isinstance(node, ast.Subscript):
        parts = elements(node.slice)
        return node.value if any(isinstance(one, ast.Slice) and one.lower is not None for one in parts) else None
    return node.args[0] if last_word(node.func) in _SLICING and node.args else None


_SLICING = frozenset({"slice", "slice_in_dim", "dynamic_slice", "dynamic_slice_in_dim"})


def _merged(context: Context, event: CallEvent, whole: Value, sizes: list[ast.expr]) -> str:
    """Say what is wrong with ``x.reshape(batch, length, width)`` of an array whose heads stand before the length."""
    order = AxisOrder(context)
    if len(sizes) != 3 or order.of(whole, event.scope) != (0, HEADS, 1, PART):
        return ""
    if [order.axis(size, event.scope) for size in sizes[:2]] != [0, 1]:
        return ""
    return "the heads stand before the positions here, and a reshape does not move axes: positions and heads are mixed"


def _unpacked(event: CallEvent, whole: Value) -> frozenset[str]:
    """Return the variables that hold sizes of the array."""
    return frozenset(
        name
        for name, bound in event.scope.bindings.items()
        if any(isinstance(b, Item) and isinstance(b.base, Attr) and b.base.base == whole for b in bound)
    )


_BAD = """\
import jax.numpy as jnp


def split_heads(x, heads):
    batch, length, width = x.shape
    return jnp.reshape(x, (batch, heads, length, width // heads))
"""
_TIME = """\
def time_major(x):
    batch, length, width = x.shape
    return x.reshape(length, batch, width)
"""

RULE = lint_rule(
    "NNX974",
    "reshape-for-transpose",
    "a reshape to the sizes of an array in another order, which moves no axis",
    why="""\
A reshape keeps the elements in their order and cuts them into other rows. Sizes in another order than those of the
array mix its examples: `x.reshape(length, batch, width)` fills the first step with what were the steps of the first
examples, and heads that stand before the positions get pieces of the sequence instead of parts of the width.
""",
    source="Stack Overflow, on reshape and transpose; measured: the elements of one example are spread over others",
    severity="error",
    check=_check,
    bad=(_BAD, "import jax\n\n\n" + _TIME),
    clean=(
        _BAD.replace("(batch, heads, length, width // heads))", "(batch, length, heads, width // heads))"),
        "import jax\n\n\n" + _TIME.replace("x.reshape(length, batch, width)", "x.transpose(1, 0, 2)"),
    ),
)
