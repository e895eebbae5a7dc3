"""Whether the numbers of an array may be negative, as far as the text tells."""

from __future__ import annotations

import ast
from enum import Enum

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound
from codemods.nnx.lint.formula import operand, same_numbers
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Attr, Call, Const, Sequence, Star, Unknown


class Sign(Enum):
    """What is known of the numbers of an array."""

    UNKNOWN = 0
    NOT_NEGATIVE = 1
    SIGNED = 2  # some are negative


_HOMES = ("jax.numpy.", "jax.nn.", "jax.random.", "jax.lax.", "flax.linen.", "flax.nnx.", "numpy.", "jax.scipy.")
_NOT_NEGATIVE = frozenset(
    {"relu", "relu6", "abs", "absolute", "square", "exp", "exp2", "softmax", "sigmoid", "softplus", "sqrt", "norm",
     "var", "std", "ones", "zeros", "eye", "identity", "one_hot", "arange", "bernoulli", "poisson", "exponential",
     "gamma", "beta", "dirichlet", "bincount", "isnan", "isfinite", "fabs", "hypot", "entropy", "histogram",
     "ones_like", "zeros_like", "count_nonzero", "squareplus", "hard_sigmoid"}
)  # fmt: skip
_SIGNED = frozenset(
    {"normal", "laplace", "gumbel", "cauchy", "logistic", "truncated_normal", "log_softmax", "log_sigmoid",
     "logsigmoid", "t", "double_sided_maxwell", "standard_normal", "randn"}
)  # fmt: skip
_LAYERS = frozenset({"Linear", "Dense", "Conv", "LayerNorm", "BatchNorm", "GroupNorm", "RMSNorm", "LinearGeneral",
                     "DenseGeneral", "ConvTranspose", "Einsum"})  # fmt: skip
_DEPTH = 10


def sign_of(context: Context, bound: Bound, depth: int = 0) -> Sign:
    """Return whether the numbers of an array may be negative: they are on some way, or on none.

    Args:
        context: the analysis.
        bound: the array in its activation.
        depth: how many values it was followed from.
    """
    sources = context.sources.originals(bound) if depth <= _DEPTH else ()
    found = {_made(context, one, depth + 1) for one in sources}
    if Sign.SIGNED in found:
        return Sign.SIGNED
    return Sign.NOT_NEGATIVE if found == {Sign.NOT_NEGATIVE} else Sign.UNKNOWN


def _made(context: Context, source: Bound, depth: int) -> Sign:
    value = source.value
    if isinstance(value, Const):
        return _of_numbers([value.value])
    if isinstance(value, Sequence) and value.items and not any(isinstance(one, Star) for one in value.items):
        signs = {sign_of(context, context.flow.with_value(source, one), depth) for one in value.items}
        return Sign.SIGNED if Sign.SIGNED in signs else signs.pop() if len(signs) == 1 else Sign.UNKNOWN
    inner = same_numbers(context, source)
    if inner is not None:
        listed = _listed(value.node.args[0]) if isinstance(value, Call) and value.node.args else Sign.UNKNOWN
        return listed if listed is not Sign.UNKNOWN else sign_of(context, inner, depth)
    if isinstance(value, Unknown):
        return _operation(context, source, value.node, depth)
    return _called(context, source, value, depth) if isinstance(value, Call) else Sign.UNKNOWN


def _listed(node: ast.expr) -> Sign:
    """Return what numbers are that are written."""
    numbers = constant(node)
    return _of_numbers(numbers) if isinstance(numbers, list | tuple) else Sign.UNKNOWN


def _of_numbers(numbers: list[object] | tuple[object, ...]) -> Sign:
    flat: list[object] = []
    pending = [*numbers]
    while pending:
        one = pending.pop()
        if isinstance(one, list | tuple):
            pending += one
        else:
            flat.append(one)
    known = [one for one in flat if isinstance(one, int | float)]
    if not known or len(known) < len(flat):
        return Sign.UNKNOWN
    return Sign.SIGNED if min(known) < 0 else Sign.NOT_NEGATIVE


def _called(context: Context, source: Bound, value: Call, depth: int) -> Sign:
    name = context.flow.calls.callee_name(source)
    word = last(name)
    if name.startswith(_HOMES) and not value.starred:
        if word in _NOT_NEGATIVE:
            counted = [constant(one) for one in value.node.args]
            return (
                Sign.UNKNOWN if word == "arange" and len(counted) > 1 and not _from_zero(counted) else Sign.NOT_NEGATIVE
            )
        if word in {"uniform", "randint"}:
            least = value.argument(2, "minval")
            if least is None:
                return Sign.NOT_NEGATIVE
            return _made(context, context.flow.with_value(source, least), depth)
        if word in {"linspace", "tanh", "arctan", "sign"} and value.args:
            return sign_of(context, context.flow.with_value(source, value.args[0]), depth)
        if word in _SIGNED:
            return Sign.SIGNED
        if word in {"maximum", "clip"} and len(value.args) > 1 and value.args[1] in (Const(0), Const(0.0)):
            return Sign.NOT_NEGATIVE
        return Sign.UNKNOWN
    if not name and isinstance(value.callee, Attr) and value.callee.name in {"var", "std"}:
        return Sign.NOT_NEGATIVE
    layer = context.flow.resolve(context.flow.with_value(source, value.callee))
    if isinstance(layer.value, Call):
        made = context.flow.calls.callee_name(layer)
        if made.startswith("flax.") and last(made) in _LAYERS:
            return Sign.SIGNED
    return Sign.UNKNOWN


def _from_zero(counted: list[object]) -> bool:
    return isinstance(counted[0], int | float) and counted[0] >= 0


def _operation(context: Context, source: Bound, node: ast.AST, depth: int) -> Sign:
    if isinstance(node, ast.Compare):
        return Sign.NOT_NEGATIVE
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = sign_of(context, operand(context, source, node.operand), depth)
        return Sign.SIGNED if inner is not Sign.UNKNOWN else Sign.UNKNOWN
    if isinstance(node, ast.Constant | ast.List | ast.Tuple):
        numbers = constant(node)
        return _of_numbers(numbers if isinstance(numbers, list | tuple) else [numbers])
    if not isinstance(node, ast.BinOp):
        return Sign.UNKNOWN
    if isinstance(node.op, ast.Pow) and constant(node.right) in (2, 4, 2.0):
        return Sign.NOT_NEGATIVE
    left, right = (sign_of(context, operand(context, source, one), depth) for one in (node.left, node.right))
    if isinstance(node.op, ast.Mult | ast.Div):
        if left is right is Sign.NOT_NEGATIVE:
            return Sign.NOT_NEGATIVE
        return Sign.SIGNED if {left, right} == {Sign.NOT_NEGATIVE, Sign.SIGNED} else Sign.UNKNOWN
    if isinstance(node.op, ast.Add) and left is right is Sign.NOT_NEGATIVE:
        return Sign.NOT_NEGATIVE
    return Sign.UNKNOWN
