"""NNX847: a literal index beyond a literal shape."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test, scopes
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Call, Value

_SHAPED = frozenset(f"jax.numpy.{name}" for name in ("zeros", "ones", "full", "empty", "arange", "array"))


def _check(context: Context) -> Iterator[Finding]:
    for scope in scopes(context):
        if in_test(scope):
            continue
        for node in context.bodies.nodes(scope):
            if not isinstance(node, ast.Subscript):
                continue
            owner = (
                node.value.value if isinstance(node.value, ast.Attribute) and node.value.attr == "at" else node.value
            )
            indices = _indices(node.slice)
            if not indices or not isinstance(owner, ast.Name):
                continue
            shape = _shape(context, scope.module.values.get(owner), scope)
            for axis, (index, length) in enumerate(zip(indices, shape, strict=False)):
                if index is not None and length is not None and not -length <= index < length:
                    where = f" along axis {axis}" if len(indices) > 1 else ""
                    yield finding(
                        RULE.code,
                        scope,
                        node,
                        f"the array has {length} elements{where}: JAX reads the last one, and drops what is written",
                        "use an index within the array",
                    )
                    break


def _indices(node: ast.expr) -> list[int | None]:
    """Return the literal index of each axis, None where it is none."""
    found: list[int | None] = []
    for part in node.elts if isinstance(node, ast.Tuple) else [node]:
        index = constant(part)
        if type(index) is int:
            found.append(index)
        elif isinstance(part, ast.Slice):
            found.append(None)
        else:
            break  # what follows an ellipsis, a new axis or an array of indices belongs to other axes
    return found if any(index is not None for index in found) else []


def _shape(context: Context, value: Value | None, scope: Scope) -> tuple[int | None, ...]:
    """Return the shape of an array that is made with a literal one, as far as it is known."""
    if not isinstance(value, Call) or not value.node.args:
        return ()
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    if name not in _SHAPED:
        return ()
    shape = constant(value.node.args[0])
    if name == "jax.numpy.array":
        return (len(shape),) if isinstance(shape, list | tuple) else ()
    if name == "jax.numpy.arange" and (len(value.node.args) != 1 or type(shape) is not int):
        return ()
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(size if type(size) is int else None for size in sizes)


RULE = lint_rule(
    "NNX847",
    "index-out-of-bounds",
    "a literal index beyond the end of an array",
    why="JAX raises no IndexError: reading gives the last element, and a value that is written there is dropped.",
    source="JAX tutorial; measured on JAX 0.6.2, 0.7.2 and 0.10.2",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp

x = jnp.zeros((3,))
last = x[3]
""",
    ),
    clean=(
        """\
import jax.numpy as jnp

x = jnp.zeros((3, 8))
last = x[2][7] + x[-3]
""",
    ),
)
