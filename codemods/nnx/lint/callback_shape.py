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
from codemods.nnx.values import Attr, Const, Sequence, Unknown, Value

_WORDS = ("result_shape_dtypes", "result_shape")


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "pure_callback", "io_callback"):
        if not name.startswith("jax."):
            continue
        given = event.value.argument(1, _WORDS[0]) or event.value.keyword(_WORDS[1])
        if given is None or not _shape(context, given, event.scope):
            continue
        node = argument(event.node, 1, _WORDS[0]) or keyword(event.node, _WORDS[1]) or event.node
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
