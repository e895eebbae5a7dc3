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
            index = constant(node.slice)
            owner = (
                node.value.value if isinstance(node.value, ast.Attribute) and node.value.attr == "at" else node.value
            )
            if type(index) is not int or not isinstance(owner, ast.Name):
                continue
            length = _length(context, scope.module.values.get(owner), scope)
            if length is not None and not -length <= index < length:
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"the array has {length} elements: JAX reads the last one, and drops what is written",
                    "use an index within the array",
                )


def _length(context: Context, value: Value | None, scope: Scope) -> int | None:
    """Return the length of an array that is made with a literal shape."""
    if not isinstance(value, Call) or not value.node.args:
        return None
    name = context.flow.callee_name(context.flow.here(value, scope))
    if name not in _SHAPED:
        return None
    shape = constant(value.node.args[0])
    if name == "jax.numpy.array":
        return len(shape) if isinstance(shape, list | tuple) else None
    if name == "jax.numpy.arange" and (len(value.node.args) != 1 or type(shape) is not int):
        return None
    if isinstance(shape, tuple | list) and shape:
        shape = shape[0]
    return shape if type(shape) is int else None


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
