"""Calls of functions of arrays that are methods of arrays as well: ``jnp.sum(x, axis=0)`` and ``x.sum(0)``."""

from __future__ import annotations

import ast

from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word

#: What modules are called that have functions of arrays.
MODULES = frozenset(
    {"jnp", "jp", "np", "onp", "xp", "numpy", "jax", "lax", "math", "nn", "nnx", "linalg", "special", "random", "scipy"}
)


def is_method(call: ast.Call) -> bool:
    """Say whether a call is one of an array's methods: ``x.sum(0)``, and not ``jnp.sum(x, 0)``."""
    if not isinstance(call.func, ast.Attribute) or last_word(call.func.value) in MODULES:
        return False
    # a module under another name is given an array first, a method an axis or nothing
    plain = not call.args or isinstance(call.args[0], ast.Constant | ast.UnaryOp | ast.Tuple)
    return plain or not isinstance(call.func.value, ast.Name)


def array_of(call: ast.Call) -> ast.expr | None:
    """Return the array that a function or method is called with: x of ``jnp.sum(x, 0)`` and ``x.sum(0)``."""
    if isinstance(call.func, ast.Attribute) and is_method(call):
        return call.func.value
    return argument(call, 0, "a")


def axis_of(call: ast.Call) -> ast.expr | None:
    """Return the axis along which an array is reduced, as it is written."""
    return argument(call, 0 if is_method(call) else 1, "axis")


def whole_of(call: ast.Call) -> ast.expr | None:
    """Return the array of which all is reduced to one number; None if an axis or another option is given."""
    return array_of(call) if not call.keywords and len(call.args) == (0 if is_method(call) else 1) else None
