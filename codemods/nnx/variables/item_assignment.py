"""NNX417, NNX418: assigning to elements of a Variable."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.patterns import pattern
from codemods.nnx.rewrite import replace
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.source import Source
from codemods.nnx.values import Attr, Call, Changed, Const, Item, Sequence, Unknown, Value


class Assignment(NamedTuple):
    """A statement ``variable[index] = value``.

    Attributes:
        target: the element.
        scope: the scope of the statement.
        variable: the Variable.
    """

    node: ast.Assign
    target: ast.Subscript
    scope: Scope
    variable: Bound


def _assignments(context: Context, module: ModuleFacts) -> Iterator[Assignment]:
    for store in module.item_stores:
        node = store.statement
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or node.targets[0] is not store.node:
            continue
        bound = context.flow.here(store.base, store.scope)
        if context.kinds.of(bound) == {Objects.VARIABLE}:
            yield Assignment(node, store.node, store.scope, bound)


def check_whole(context: Context) -> Iterator[Finding]:
    """Yield a finding for every ``variable[...] = number``."""
    if not context.options.crosses("0.11") or "0.11" not in context.options.targets:
        return
    for module in context.asked.modules:
        if not module.source.mentions(b"[...]"):
            continue
        for found in _assignments(context, module):
            whole = isinstance(found.target.slice, ast.Constant) and found.target.slice.value is ...
            if not whole:
                continue
            number = _number(found.node.value) or _is_number(context, found)
            axes = (number or _is_scalar(context, found)) and _has_axes(context, found.variable)
            if not number and not axes:  # of an array without axes the shape stays
                continue
            source = module.source
            index = ":" if axes else "()"  # which every array has
            yield finding(
                "NNX417",
                found.scope,
                found.node,
                "under Flax 0.11 this replaces the array by a number: shape and type are lost",
                "write variable[:] = ... for arrays with axes, or variable[()] = ... for any",
                Fix(((source.path, replace(source, found.target.slice, index)),)),
            )


def _number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _number(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _given(context: Context, found: Assignment) -> Bound | None:
    value = found.scope.module.values.get(found.node.value)
    return context.flow.resolve(context.flow.here(value, found.scope)) if value is not None else None


def _is_number(context: Context, found: Assignment) -> bool:
    """Say whether a variable that is a number is assigned, or what ``float`` and ``int`` give."""
    given = _given(context, found)
    if given is None:
        return False
    if isinstance(given.value, Const):
        return isinstance(given.value.value, int | float)
    return context.flow.calls.callee_name(given) in {"builtins.float", "builtins.int"}


def _is_scalar(context: Context, found: Assignment) -> bool:
    """Say whether an array without axes is assigned: ``jnp.float32(1)``, ``jnp.array(0)``, ``x.mean()``."""
    given = _given(context, found)
    call = given.value if given is not None else None
    if given is None or not isinstance(call, Call):
        return False
    name = context.flow.calls.callee_name(given)
    home, _, last = name.rpartition(".")
    if home in {"jax.numpy", "numpy"}:
        if last in _TYPES:
            first = context.flow.follow(given, call.args[0]).value if len(call.args) == 1 else None
            return isinstance(first, Const)
        if last in {"zeros", "ones", "full", "empty"} and call.args:
            shape = context.flow.follow(given, call.args[0]).value
            return isinstance(shape, Sequence) and not shape.items
        return last in _REDUCING and len(call.args) == 1 and not call.keywords and not call.starred
    callee = context.flow.follow(given, call.callee)
    if not isinstance(callee.value, Attr) or callee.value.name not in _REDUCING or call.given:
        return False
    return context.kinds.only(Bound(callee.value.base, callee.frame)) is Objects.ARRAY


_TYPES = frozenset(
    ["array", "asarray", "bfloat16", "float16", "float32", "float64", "int16", "int32", "int64", "int8", "uint8"]
)
_REDUCING = frozenset({"max", "mean", "min", "prod", "std", "sum", "var"})


def _has_axes(context: Context, variable: Bound) -> bool:
    """Say whether a Variable was made with an array of one axis at least, as far as its shape is written out."""
    flow = context.flow
    made = [s for s in context.sources.of(variable) if not isinstance(s.value, Changed)]
    return bool(made) and all(
        isinstance(s.value, Call) and s.value.args and _shaped(context, flow.follow(s, s.value.args[0])) for s in made
    )


def _shaped(context: Context, array: Bound) -> bool:
    value = array.value
    if not isinstance(value, Call) or not context.flow.calls.callee_name(array).startswith(("jax.numpy.", "numpy.")):
        return False
    name = context.flow.calls.callee_name(array).rpartition(".")[2]
    first = context.flow.follow(array, value.args[0]).value if value.args else None
    if name in {"zeros", "ones", "full", "empty"}:
        return _axes(first)
    if name in {"array", "asarray"}:
        return isinstance(first, Sequence)
    return name in {"arange", "linspace", "eye"}


def _axes(shape: Value | None) -> bool:
    if isinstance(shape, Sequence):
        return bool(shape.items)
    return isinstance(shape, Const) and isinstance(shape.value, int)


def check_numpy(context: Context) -> Iterator[Finding]:
    """Yield a finding for every ``variable[index] = value`` with a NumPy array as index."""
    if not context.options.crosses("0.11"):
        return
    for module in context.asked.modules:
        if not module.source.mentions(b"numpy"):
            continue
        for found in _assignments(context, module):
            index = module.values.get(found.target.slice)
            if index is None or not _numpy(context, context.flow.here(index, found.scope)):
                continue
            source = module.source
            edits, text = _written_at(source, found)
            yield finding(
                "NNX418",
                found.scope,
                found.node,
                "since Flax 0.11 a Variable cannot be assigned to at a NumPy array of indices: ValueError",
                f"write {text}",
                Fix(tuple((source.path, edit) for edit in edits)),
            )


def _written_at(source: Source, found: Assignment) -> tuple[list[Edit], str]:
    """Return the edits that make ``v.value = v.value.at[index].set(value)`` of an assignment, and what stands then.

    Index and value are kept as they are written, so that what is changed within them can be changed beside.
    """
    name, key, value = (source.text(n) for n in (found.target.value, found.target.slice, found.node.value))
    opening, closing = ("((", "))") if source.awkward(found.node.value) else ("(", ")")
    text = f"{name}.value = {name}.value.at[{key}].set{opening}{value}{closing}"
    ends = (source.span(n)[1] for n in (found.target.value, found.target, found.node))
    base_end, key_end, end = ends
    equals = _EQUALS.match(source.data, key_end)
    if source.data[base_end : base_end + 1] != b"[" or equals is None:
        return [replace(source, found.node, text)], text
    return [
        Edit(base_end, base_end, f".value = {name}.value.at".encode()),
        Edit(key_end, equals.end(), f".set{opening}".encode()),
        Edit(end, end, closing.encode()),
    ], text


def _numpy(context: Context, bound: Bound, depth: int = 0) -> bool:
    """Say whether a value is an array of NumPy, also by comparisons and operators of such with something else."""
    if depth > _DEPTH:
        return False
    found = context.flow.resolve(bound)
    value = found.value
    if context.kinds.only(found) is Objects.NUMPY:
        return True
    if isinstance(value, Item | Indexed):  # np.where(mask)[0]
        whole = context.flow.follow(found, value.base)
        return context.flow.calls.callee_name(whole) in _PLACES
    node = value.node if isinstance(value, Unknown) else None
    parts: list[ast.expr] = []
    if isinstance(node, ast.Compare) and not any(
        isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot) for op in node.ops
    ):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        parts = [node.operand]
    return any(_of_numpy(context, found, part, depth + 1) for part in parts)


def _of_numpy(context: Context, found: Bound, node: ast.expr, depth: int) -> bool:
    """Say whether an operand is an array of NumPy."""
    scope = context.bodies.module_scope(node)
    value = scope.module.values.get(node) if scope is not None else None
    return value is not None and _numpy(context, context.flow.with_value(found, value), depth)


_EQUALS = pattern(rb"(?:[ \t]|\\\r?\n)*=(?:[ \t]|\\\r?\n)*")
_DEPTH = 6
_PLACES = frozenset({"numpy.where", "numpy.nonzero"})


RULES = (
    Rule(
        code="NNX417",
        name="variable-ellipsis",
        summary="variable[...] = number, which replaces the array under 0.11",
        why="""\
`variable[...] = 0.0` wrote into the array up to Flax 0.10 and does so again in 0.12. From 0.11.0 to 0.12.0 it
replaces the value: the array becomes a Python number, without an error. A slice, `variable[:] = 0.0`, writes on every
version; so does the empty index, `variable[()] = 0.0`, which arrays without axes take too.
""",
        kind=Kind.REQUIRED,
        safety=Safety.SAFE,
        since="0.11.0",
        source="measured on 0.10.7, 0.11.2 and 0.12.8",
        examples=(
            Example(
                before="""\
import jax.numpy as jnp
from flax import nnx

total = nnx.Variable(jnp.zeros((2, 2)))
total[...] = 1.0
print(total.value.shape, total.value.dtype)
""",
                after="""\
import jax.numpy as jnp
from flax import nnx

total = nnx.Variable(jnp.zeros((2, 2)))
total[:] = 1.0
print(total.value.shape, total.value.dtype)
""",
            ),
            Example(
                before="""\
import jax.numpy as jnp
from flax import nnx

count = nnx.Variable(jnp.array(3))
count[...] = 7
print(count.value.dtype, count.value.shape)
""",
                after="""\
import jax.numpy as jnp
from flax import nnx

count = nnx.Variable(jnp.array(3))
count[()] = 7
print(count.value.dtype, count.value.shape)
""",
            ),
        ),
        check=check_whole,
    ),
    Rule(
        code="NNX418",
        name="variable-numpy-index",
        summary="assigning to a Variable at a NumPy array of indices",
        why="""\
Since Flax 0.11 `variable[index] = value` compares the index with `...`, which raises "The truth value of an array
with more than one element is ambiguous" for NumPy arrays. Indices of other kinds are all right.
""",
        kind=Kind.REQUIRED,
        safety=Safety.SAFE,
        since="0.11.0",
        source="measured on 0.10.7, 0.11.2 and 0.12.8",
        examples=(
            Example(
                before="""\
import jax.numpy as jnp
import numpy as np
from flax import nnx

param = nnx.Param(jnp.zeros(4))
index = np.array([0, 1])
param[index] = 5.0
print(*map(float, param.value))
""",
                after="""\
import jax.numpy as jnp
import numpy as np
from flax import nnx

param = nnx.Param(jnp.zeros(4))
index = np.array([0, 1])
param.value = param.value.at[index].set(5.0)
print(*map(float, param.value))
""",
                targets=("0.11", "0.12"),
            ),
        ),
        check=check_numpy,
    ),
)
