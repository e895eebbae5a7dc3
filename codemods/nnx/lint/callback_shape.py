"""NNX883: a shape alone where a callback needs the shape and the type of its result."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import argument, keyword
from codemods.nnx.values import Attr, Call, Const, Sequence, Unknown, Value

_WORDS = ("result_shape_dtypes", "result_shape")
_DESCRIBING = frozenset({"jax.ShapeDtypeStruct", "jax.numpy.zeros", "jax.numpy.ones", "jax.numpy.empty"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "pure_callback", "io_callback"):
        if not name.startswith("jax."):
            continue
        given = event.value.argument(1, _WORDS[0]) or event.value.keyword(_WORDS[1])
        if given is None:
            continue
        node = argument(event.node, 1, _WORDS[0]) or keyword(event.node, _WORDS[1]) or event.node
        if _several(context, given, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                node,
                "this one result has several shapes, and an array has one",
                "give a tuple with one jax.ShapeDtypeStruct(shape, dtype) for each result",
            )
        if not _shape(context, given, event.scope):
            continue
        yield finding(
            RULE.code,
            event.scope,
            node,
            f"`{name.rpartition('.')[2]}` needs the shape and the type of what it gives, and gets a shape",
            "give jax.ShapeDtypeStruct(shape, dtype)",
        )


def _shape(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value is the shape of an array, or a tuple of numbers."""
    if isinstance(value, Attr) and value.name == "shape":
        return True
    found = context.flow.resolve(context.flow.here(value, scope)).value
    if isinstance(found, Attr):
        return found.name == "shape"
    if isinstance(found, Unknown) and isinstance(found.node, ast.BinOp) and isinstance(found.node.op, ast.Add):
        parts = (found.node.left, found.node.right)
        return any(isinstance(part, ast.Attribute) and part.attr == "shape" for part in parts)  # a longer shape
    if not isinstance(found, Sequence) or not isinstance(found.node, ast.Tuple | ast.List) or not found.items:
        return False
    return all(isinstance(item, Const) and type(item.value) is int for item in found.items) or any(
        isinstance(item, Attr) and item.name in {"shape", "dtype"} for item in found.items
    )


def _several(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a result is described by one type and a tuple of shapes: ``ShapeDtypeStruct(((3,), (3, 3)), t)``."""
    made = context.flow.resolve(context.flow.here(value, scope))
    if not isinstance(made.value, Call) or context.flow.calls.callee_name(made) not in _DESCRIBING:
        return False
    shape = made.value.argument(0, "shape")
    found = context.flow.resolve(context.flow.with_value(made, shape)) if shape is not None else None
    if found is None or not isinstance(found.value, Sequence):
        return False
    node = found.value.node
    if not isinstance(node, ast.Tuple | ast.List) or any(isinstance(one, ast.Starred) for one in node.elts):
        return False
    parts = [context.flow.resolve(context.flow.with_value(found, item)).value for item in found.value.items]
    shapes = [_is_shape(part) or _is_shape(item) for part, item in zip(parts, found.value.items, strict=True)]
    return bool(shapes) and all(shapes)


def _is_shape(value: Value) -> bool:
    if isinstance(value, Attr):
        return value.name == "shape"
    return isinstance(value, Sequence) and isinstance(value.node, ast.Tuple | ast.List)


RULE = lint_rule(
    "NNX883",
    "callback-shape",
    "a callback gets a shape where it needs a shape and a type",
    why="""\
`jax.pure_callback` and `io_callback` are told what the function on the host will give: trees of
`jax.ShapeDtypeStruct`, or arrays of that shape and type. A tuple of numbers is a tree of numbers, which raises.
""",
    source="JAX documentation on external callbacks; measured on JAX 0.6.2 and 0.10.2: it raises",
    severity="error",
    check=_check,
    bad=(
        """\
import jax


def looked_up(x, table):
    return jax.pure_callback(table, x.shape, x)
""",
    ),
    clean=(
        """\
import jax


def looked_up(x, table):
    return jax.pure_callback(table, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
""",
    ),
)
