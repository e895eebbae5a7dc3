"""Values that are complex for certain."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.names import last
from codemods.nnx.values import Attr, Call, Const, Item, Param, Ref, Sequence, Unknown, Value

_DTYPES = frozenset({"complex64", "complex128", "complex"})
_FUNCTIONS = frozenset(
    {"sum", "mean", "prod", "exp", "sin", "cos", "sqrt", "dot", "vdot", "inner", "outer", "matmul", "tensordot",
     "kron", "multiply", "add", "subtract", "divide", "square", "conj", "conjugate", "trace", "diag", "transpose",
     "reshape", "ravel", "roll", "array", "asarray", "stack", "concatenate", "negative"}
)  # fmt: skip
_METHODS = frozenset(
    {"sum", "mean", "prod", "dot", "conj", "conjugate", "trace", "transpose", "reshape", "ravel", "copy", "squeeze"}
)
_UPDATES = frozenset({"set", "add", "multiply", "mul", "divide"})
_DEPTH = 20


def is_complex(context: Context, value: Value | None, scope: Scope, depth: int = 0) -> bool:
    """Say whether a value is a complex number or array for certain.

    Args:
        context: the analysis.
        value: a value of a scope.
        scope: the body that it stands in.
        depth: in how many operations it stands.
    """
    if value is None or depth > _DEPTH:
        return False
    if isinstance(value, Const):
        return isinstance(value.value, complex)
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp | ast.UnaryOp | ast.Constant):
        return _node(context, value.node, scope, depth)
    if isinstance(value, Attr) and value.name in {"T", "mT"}:
        return is_complex(context, value.base, scope, depth + 1)
    if isinstance(value, Item):
        return is_complex(context, value.base, scope, depth + 1)
    if isinstance(value, Call):
        known = _call(context, value, scope, depth)
        if known is not None:
            return known
    sources = context.sources.all_of(context.flow.here(value, scope), _may_be_complex)
    return bool(sources) and all(_source(context, one, value, depth + 1) for one in sources or ())


def _may_be_complex(value: Value) -> bool:
    """Say whether a complex number can stand there so, for :func:`_source`."""
    return isinstance(value.value, complex) if isinstance(value, Const) else not isinstance(value, Param)


def _source(context: Context, found: Bound, asked: Value, depth: int) -> bool:
    value = found.value
    if value is asked or isinstance(value, Param):
        return False
    if isinstance(value, Const):
        return isinstance(value.value, complex)
    home = context.bodies.home(value.node) if isinstance(value, Call) else None
    if home is None and found.frame is not None:
        home = found.frame.function.scope
    if home is None and isinstance(value, Unknown):
        home = context.bodies.module_scope(value.node)
    return home is not None and is_complex(context, value, home, depth)


def _node(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    if depth > _DEPTH:
        return False
    if isinstance(node, ast.Constant):
        return isinstance(node.value, complex)
    if isinstance(node, ast.BinOp):
        return _part(context, node.left, scope, depth) or _part(context, node.right, scope, depth)
    return (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and _part(context, node.operand, scope, depth)
    )


def _part(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    value = scope.module.values.get(node)
    if value is None or (isinstance(value, Unknown) and value.node is node):
        return _node(context, node, scope, depth + 1)
    return is_complex(context, value, scope, depth + 1)


def _call(context: Context, value: Call, scope: Scope, depth: int) -> bool | None:
    """Say whether a function of JAX gives a complex number; None if it is no function of JAX."""
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    callee = value.callee
    if name.startswith("jax."):
        if value.starred:
            return False
        if name.startswith("jax.numpy.fft."):
            return last(name) in {"fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "rfft", "rfft2", "rfftn"}
        if name == "jax.lax.complex":
            return True
        if name.startswith("jax.random."):
            kind = value.argument(2, "dtype") if last(name) == "normal" else value.keyword("dtype")
            return kind is not None and _wide(context, kind, scope)
        if not name.startswith("jax.numpy.") or last(name).startswith(("complex64", "complex128")):
            return name.startswith("jax.numpy.complex")
        dtype = value.keyword("dtype")
        if dtype is not None:
            return _wide(context, dtype, scope)
        positions = {"zeros": 1, "ones": 1, "empty": 1, "array": 1, "asarray": 1, "full": 2, "eye": 3}
        place = positions.get(last(name))
        if place is not None and len(value.args) > place:
            return _wide(context, value.args[place], scope)
        if last(name) == "where":
            return any(is_complex(context, one, scope, depth + 1) for one in value.args[1:])
        if last(name) == "einsum":
            return any(is_complex(context, one, scope, depth + 1) for one in value.args)
        return last(name) in _FUNCTIONS and any(_given(context, one, scope, depth + 1) for one in value.args[:2])
    if name or not isinstance(callee, Attr):
        return None
    if callee.name == "astype" and value.args:
        return _wide(context, value.args[0], scope)
    base = callee.base
    if callee.name in _UPDATES and isinstance(base, Item) and isinstance(base.base, Attr) and base.base.name == "at":
        return is_complex(context, base.base.base, scope, depth + 1)
    if callee.name in _METHODS and is_complex(context, base, scope, depth + 1):
        return True
    return None


def _given(context: Context, value: Value, scope: Scope, depth: int) -> bool:
    """Say whether an argument is complex, or a list with a part that is."""
    if depth > _DEPTH:
        return False
    if isinstance(value, Sequence):
        return any(_given(context, one, scope, depth + 1) for one in value.items)
    return is_complex(context, value, scope, depth)


def _wide(context: Context, dtype: Value, scope: Scope) -> bool:
    found = context.flow.resolve(context.flow.here(dtype, scope)).value
    name = found.name if isinstance(found, Ref) else found.value if isinstance(found, Const) else ""
    return isinstance(name, str) and last(name) in _DTYPES
