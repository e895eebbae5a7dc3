"""Tuples of results that are computed with as if they were one array; part of NNX751."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.applied import layers
from codemods.nnx.lint.names import COMPILING, last
from codemods.nnx.lint.places import each, foreign, in_test
from codemods.nnx.lint.syntax import argument, constant, keyword
from codemods.nnx.values import Call, Const, Item, Value

# functions that give several arrays, with how to take these apart, and the option with which they give one
_SEVERAL = {
    "jax.numpy.linalg.lstsq": ("solution, *_ = {}", ""),
    "jax.numpy.linalg.eigh": ("values, vectors = {}", ""),
    "jax.numpy.linalg.eig": ("values, vectors = {}", ""),
    "jax.numpy.linalg.qr": ("q, r = {}", "mode"),
    "jax.numpy.linalg.svd": ("u, s, vh = {}", "compute_uv"),
    "jax.numpy.linalg.slogdet": ("sign, logdet = {}", ""),
    "jax.scipy.linalg.eigh": ("values, vectors = {}", "eigvals_only"),
    "jax.scipy.linalg.qr": ("q, r = {}", "mode"),
    "jax.scipy.linalg.svd": ("u, s, vh = {}", "compute_uv"),
    "jax.scipy.sparse.linalg.cg": ("x, _ = {}", ""),
    "jax.scipy.sparse.linalg.gmres": ("x, _ = {}", ""),
    "jax.scipy.sparse.linalg.bicgstab": ("x, _ = {}", ""),
    "jax.lax.top_k": ("values, indices = {}", ""),
    "jax.jvp": ("y, tangent = {}", ""),
}
_WORDS = (b"lstsq", b"eig", b"qr(", b"svd", b"slogdet", b"cg(", b"gmres", b"bicgstab", b"top_k", b"jvp", b"vjp",
          b"argnums")  # fmt: skip
_DERIVATIVES = frozenset(f"jax.{name}" for name in ("grad", "jacfwd", "jacrev", "jacobian", "hessian")) | {
    "flax.nnx.grad"
}
_VALUED = frozenset({"jax.value_and_grad", "flax.nnx.value_and_grad"})
# what tuples do not have
_OF_ARRAYS = frozenset({"T", "mT", "at", "shape", "dtype", "ndim", "sum", "mean", "reshape", "astype", "ravel", "dot"})

# functions of jax.numpy that take arrays alone, with how many
_TAKING = {
    "abs": 1, "cholesky": 1, "det": 1, "dot": 2, "eigvals": 1, "eigvalsh": 1, "exp": 1, "inv": 1, "matmul": 2,
    "norm": 1, "pinv": 1, "slogdet": 1, "solve": 2, "sqrt": 1, "trace": 1, "vdot": 2,
}  # fmt: skip


def whole_results(context: Context) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield the tuples that something is computed with which tuples cannot do, with how to take them apart.

    Args:
        context: the analysis.
    """
    modules = {m for m in context.asked.modules if any(m.source.mentions(word) for word in _WORDS)}
    if not modules:
        return
    for scope, node in each(context, ast.BinOp):
        if scope.module in modules:
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if _fails(node.op, other):
                    yield from _taken(context, side, node, scope)
    for event, name in foreign(context, *_TAKING):
        if event.scope.module in modules and name.startswith("jax.numpy.") and not event.value.starred:
            for given in event.node.args[: _TAKING[last(name)]]:
                yield from _taken(context, given, event.node, event.scope)
    for module in modules:
        for read in module.attributes:
            if read.stored is None and read.node.attr in _OF_ARRAYS:
                yield from _taken(context, read.node.value, read.node, read.scope)


def _fails(operator: ast.operator, other: ast.expr) -> bool:
    """Say whether an operation of a tuple and another operand raises: all but ``+``, and ``*`` with an integer."""
    if isinstance(operator, ast.Mult):
        return type(constant(other)) is not int
    return isinstance(operator, ast.Sub | ast.Div | ast.MatMult | ast.Pow)


def _taken(context: Context, node: ast.expr, outer: ast.expr, scope: Scope) -> Iterator[tuple[Scope, ast.expr, str]]:
    value = scope.module.values.get(node)
    if not isinstance(value, Call | Item) or in_test(scope) or context.bodies.guarded(outer, scope):
        return
    way = _apart(context, value, scope)
    if way:
        yield scope, node, way


def _apart(context: Context, value: Value, scope: Scope) -> str:
    """Return how to take apart what is a tuple of several results for certain; empty for anything else."""
    if isinstance(value, Item):
        made = value.base if value.index == Const(1) and isinstance(value.base, Call) else None
        return _gradients(context, made, scope, _VALUED) if made is not None else ""
    assert isinstance(value, Call)
    text = ast.unparse(value.node)
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    if name in _SEVERAL:
        way, option = _SEVERAL[name]
        if value.starred or (option and (keyword(value.node, option) is not None or len(value.args) > 1)):
            return ""
        return way.format(text) if name != "jax.jvp" or keyword(value.node, "has_aux") is None else ""
    callee = value.callee
    if isinstance(callee, Item) and callee.index == Const(1) and isinstance(callee.base, Call):
        pulled = context.flow.calls.callee_name(context.flow.here(callee.base, scope))
        return f"(gradient,) = {text}" if pulled == "jax.vjp" else ""
    return _gradients(context, value, scope, _DERIVATIVES)


def _gradients(context: Context, call: Call, scope: Scope, names: frozenset[str]) -> str:
    """Return how to take the derivatives by several arguments apart."""
    if not isinstance(call.callee, Call) and not scope.module.source.mentions(b"argnums"):
        return ""
    made = layers(context, context.flow.here(call.callee, scope))
    layer = next((one for one in made if context.flow.calls.callee_name(one) not in COMPILING), None)
    if layer is None or not isinstance(layer.value, Call) or context.flow.calls.callee_name(layer) not in names:
        return ""
    numbers = constant(argument(layer.value.node, 1, "argnums"))
    if not isinstance(numbers, tuple | list) or not numbers:
        return ""
    every = ", ".join(f"by_{number}" for number in numbers) + ("," if len(numbers) == 1 else "")
    return f"{every} = ...: it has one for each of `argnums`"
