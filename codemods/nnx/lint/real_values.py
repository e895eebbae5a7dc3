"""Arrays that hold real numbers for certain, in a type that gives way to no other."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arrays import FLOAT, Arrays
from codemods.nnx.lint.names import last
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Ref, Sequence, Unknown, Value

#: The names of types of real numbers.
REAL = frozenset({"float", "float16", "float32", "float64", "bfloat16", "int", "int32", "int64", "uint8"})
# where the type may stand in a call, of functions that make an array in a type of their own
_MAKERS = {
    "jax.numpy.zeros": 1, "jax.numpy.ones": 1, "jax.numpy.empty": 1, "jax.numpy.linspace": 5, "jax.numpy.eye": 3,
    "jax.numpy.arange": 3, "jax.numpy.fft.fftfreq": 2, "jax.numpy.fft.rfftfreq": 2, "jax.random.normal": 2,
    "jax.random.uniform": 2, "numpy.zeros": 1, "numpy.ones": 1, "numpy.linspace": 5, "numpy.arange": 3,
}  # fmt: skip
_OF_LIST = frozenset({"jax.numpy.array", "jax.numpy.asarray", "numpy.array", "numpy.asarray"})
_ALWAYS = frozenset({"abs", "absolute", "real", "imag", "angle", "irfft", "irfft2", "irfftn", "norm"})
_REDUCING = frozenset({"sum", "mean", "max", "min", "dot", "vdot", "trace", "trapezoid"})
_LIKE = frozenset(
    {"exp", "sin", "cos", "tan", "tanh", "sqrt", "log", "square", "where", "maximum", "minimum", "stack", "reshape",
     "concatenate", "sinh", "cosh", "outer", "negative", "roll", "ravel", "squeeze", "transpose", "multiply", "add",
     "subtract", "divide", "sign", "clip", "sinc", "cumsum"}
)  # fmt: skip
_DEPTH = 14


class RealValues:
    """Tells whether a value is a real array of a type of its own; asked once, for one value.

    Attributes:
        strong: whether a part of it was made in a type that does not give way, as that of a Python number does.
    """

    def __init__(self, context: Context) -> None:
        self.strong = False
        self._context = context
        self._seen: dict[tuple[Value, Scope | None], bool] = {}

    def holds(self, bound: Bound) -> bool:
        """Say whether all sources of a value are real, and one of them strong.

        Args:
            bound: the value.
        """
        return self._bound(bound, 0) and self.strong

    def _bound(self, bound: Bound, depth: int) -> bool:
        if depth > _DEPTH:
            return False
        sources = self._context.sources.originals(bound)
        return bool(sources) and all(self._source(one, depth + 1) for one in sources)

    def _source(self, found: Bound, depth: int) -> bool:
        value = found.value
        if isinstance(value, Const):
            return isinstance(value.value, int | float)
        if isinstance(value, Sequence):
            return all(self._bound(self._context.flow.follow(found, one), depth + 1) for one in value.items)
        scope = self._context.bodies.home(value.node) if isinstance(value, Call) else None
        if scope is None and found.frame is not None:
            scope = found.frame.function.scope
        if scope is None and isinstance(value, Unknown):
            scope = self._context.bodies.module_scope(value.node)
        key = (value, scope)
        if key not in self._seen:
            self._seen[key] = False  # while it is asked: what depends on itself proves nothing
            if isinstance(value, Call):
                self._seen[key] = self._call(found, value, depth)
            elif isinstance(value, Unknown) and isinstance(value.node, ast.expr) and scope is not None:
                self._seen[key] = self._node(found, value.node, scope, depth)
            elif isinstance(value, Attr):
                self._seen[key] = value.name in {"real", "imag", "size", "ndim"}
        return self._seen[key]

    def _node(self, found: Bound, node: ast.expr, scope: Scope, depth: int) -> bool:
        """Say whether an operation is one of real numbers; those of a call are what its value says."""
        if depth > _DEPTH:
            return False
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int | float)
        if isinstance(node, ast.UnaryOp):
            return self._part(found, node.operand, scope, depth + 1)
        if isinstance(node, ast.BinOp):
            sides = (node.left, node.right)
            return all(self._part(found, side, scope, depth + 1) for side in sides)
        return False

    def _part(self, found: Bound, node: ast.expr, scope: Scope, depth: int) -> bool:
        value = scope.module.values.get(node)
        if value is None or (isinstance(value, Unknown) and value.node is node):
            return self._node(found, node, scope, depth)
        return self._bound(self._context.flow.with_value(found, value), depth)

    def _call(self, found: Bound, value: Call, depth: int) -> bool:
        if value.starred:
            return False
        flow = self._context.flow
        name, word = flow.calls.callee_name(found), last_word(value.node.func)
        if name in _MAKERS:
            dtype = value.argument(_MAKERS[name], "dtype")
            if dtype is not None:
                return self._is_real(flow.with_value(found, dtype))
            self.strong |= last(name) != "arange" or any(_is_float(one) for one in value.args)
            return True
        first = flow.with_value(found, value.args[0]) if value.args else None
        if name in _OF_LIST and first is not None and len(value.args) == 1:
            dtype = value.keyword("dtype")
            if dtype is not None:
                return self._is_real(flow.with_value(found, dtype))
            listed = isinstance(first.value, Sequence) and any(_is_float(one) for one in first.value.items)
            real = self._bound(first, depth + 1)
            self.strong |= real and listed
            return real
        if name.startswith("jax.numpy.") and not value.keyword("dtype"):
            if last(name) in _ALWAYS:
                return True
            if last(name) in _LIKE | _REDUCING:
                given = value.args[1:] if last(name) == "where" else value.args[:2]
                real = bool(given) and all(self._bound(flow.with_value(found, one), depth + 1) for one in given)
                self.strong |= real and last(name) in _REDUCING and self._floats(found)
                return real
            return False
        if not name and isinstance(value.callee, Attr) and word in _REDUCING | {"reshape", "ravel", "squeeze", "copy"}:
            real = self._bound(flow.with_value(found, value.callee.base), depth + 1)
            self.strong |= real and word in _REDUCING and self._floats(found)
            return real
        return False

    def _floats(self, found: Bound) -> bool:
        return Arrays(self._context, {}).of_bound(found).number == FLOAT

    def _is_real(self, dtype: Bound) -> bool:
        word = type_word(self._context, dtype)
        self.strong |= "float" in word
        return word in REAL


def type_word(context: Context, dtype: Bound) -> str:
    """Return the name of a type of numbers, such as ``float32``, however it is written; empty if it is not known.

    Args:
        context: the analysis.
        dtype: the type.
    """
    found = context.flow.resolve(dtype).value
    name = found.name if isinstance(found, Ref) else found.value if isinstance(found, Const) else None
    return last(name) if isinstance(name, str) else ""


def _is_float(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, float)
