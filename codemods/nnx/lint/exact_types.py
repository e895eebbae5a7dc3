"""Which of the narrow types an array has, as far as the text tells."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.origins import originals_that
from codemods.nnx.values import (
    Attr,
    Call,
    Class,
    Comprehension,
    Const,
    Function,
    Item,
    Loop,
    Mapping,
    Param,
    Ref,
    Sequence,
    Unknown,
    Value,
)

_MAKING = {"zeros": 1, "ones": 1, "full": 2, "array": 1, "asarray": 1, "empty": 1, "arange": 9, "linspace": 9,
           "normal": 2, "uniform": 2, "randint": 4, "zeros_like": 1, "ones_like": 1, "eye": 3, "tri": 3}  # fmt: skip
# methods and functions whose result has the type of the first array, of floats or of integers too
_FLOATS = frozenset({"mean", "std", "var", "sqrt", "exp", "log", "tanh", "softmax", "square"})
_SAME = frozenset({"max", "min", "reshape", "ravel", "flatten", "squeeze", "transpose", "swapaxes", "abs", "clip",
                   "zeros_like", "ones_like", "expand_dims", "T", "copy", "flip", "roll", "tril", "triu"})  # fmt: skip
_DEPTH = 10


class ExactTypes:
    """Tells the type of arrays; one of floats gives way to no number of Python, one of integers to floats only."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def of(self, value: Value | None, scope: Scope, depth: int = 0) -> str:
        """Return the type of an array, as ``float16``; empty if it is not known."""
        if value is None or depth > _DEPTH:
            return ""
        if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
            return self._operation(value.node, scope, depth)
        if isinstance(value, Loop):
            return ""
        if (isinstance(value, Item) and not isinstance(value.base, Sequence)) or (
            isinstance(value, Attr) and value.name in _SAME
        ):
            return self.of(value.base, scope, depth + 1)
        if isinstance(value, Call):
            return self._call(value, scope, depth)
        if isinstance(value, Param):
            return self._argument(self._context.flow.here(value, scope), depth)
        found = self._context.flow.resolve(self._context.flow.here(value, scope))
        return self._bound(found, depth) if found.value is not value else ""

    def bound(self, bound: Bound) -> str:
        """Return the type of an array in an activation."""
        return self._bound(bound, 0)

    def node(self, node: ast.expr, scope: Scope, depth: int = 0) -> str:
        """Return the type of an expression."""
        value = scope.module.values.get(node)
        if value is None and isinstance(node, ast.BinOp):
            return self._operation(node, scope, depth) if depth <= _DEPTH else ""
        return self.of(value, scope, depth)

    def weak(self, node: ast.expr, scope: Scope) -> float | int | None:
        """Return the number of Python that an expression is; None if it is none."""
        sign = 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            node, sign = node.operand, -1
        value = scope.module.values.get(node)
        found = None if value is None else self._context.flow.resolve(self._context.flow.here(value, scope)).value
        number: object = node.value if isinstance(node, ast.Constant) else getattr(found, "value", None)
        if isinstance(number, bool) or not isinstance(number, int | float):
            return None
        return sign * number

    def _bound(self, bound: Bound, depth: int) -> str:
        if isinstance(bound.value, Param):
            return self._argument(bound, depth)
        if isinstance(bound.value, Indexed | Round) and depth < _DEPTH:
            base = self._context.flow.resolve(self._context.flow.with_value(bound, bound.value.base))
            return "" if isinstance(base.value, Sequence | Mapping) else self._bound(base, depth + 1)
        if bound.frame is not None:
            return self.of(bound.value, bound.frame.function.scope, depth + 1)
        node = getattr(bound.value, "node", None)
        home = self._context.bodies.home(node) if isinstance(node, ast.AST) else None
        return self.of(bound.value, home, depth + 1) if home is not None else ""

    def _argument(self, found: Bound, depth: int) -> str:
        kind = ""
        for one in originals_that(self._context, found, _may_be_array):
            this = self._bound(one, depth + 1)
            if not this or (kind and this != kind):
                return ""
            kind = this
        return kind

    def _operation(self, node: ast.BinOp, scope: Scope, depth: int) -> str:
        left, right = (self.node(side, scope, depth + 1) for side in (node.left, node.right))
        if left and left == right:
            return "" if isinstance(node.op, ast.Div) and "int" in left else left
        for one, other in ((left, node.right), (right, node.left)):
            number = self.weak(other, scope)
            if one and number is not None and ("float" in one or type(number) is int):
                return "" if isinstance(node.op, ast.Div) and "int" in one else one
        return ""

    def _call(self, value: Call, scope: Scope, depth: int) -> str:
        flow = self._context.flow
        name = flow.calls.callee_name(flow.here(value, scope))
        home, _, word = name.rpartition(".")
        if not name and isinstance(value.callee, Attr):
            word = value.callee.name
            if word == "astype":
                return self._named(value.args[0] if value.args else value.keyword("dtype"), scope)
            if word in _FLOATS | _SAME | {"sum"} and value.keyword("dtype") is None:
                return self._kept(word, self.of(value.callee.base, scope, depth + 1))
        if home in {"jax.numpy", "numpy"} and word in {"float16", "uint8", "int8", "uint16", "bfloat16"}:
            return word
        if home in {"jax.numpy", "numpy", "jax.random"} and word in _MAKING:
            dtype = value.argument(_MAKING[word], "dtype")
            if dtype is not None:
                return self._named(dtype, scope)
            if word in {"array", "asarray", "zeros_like", "ones_like"} and value.args:
                return self.of(value.args[0], scope, depth + 1)
            return ""
        if home in {"jax.numpy", "jax.nn", "flax.nnx"} and word in _FLOATS | _SAME | {"sum"} and value.args:
            return self._kept(word, self.of(value.args[0], scope, depth + 1)) if value.keyword("dtype") is None else ""
        if name:
            return ""
        found = flow.resolve(flow.here(value, scope))
        return self._bound(found, depth) if found.value is not value else ""

    def _kept(self, word: str, given: str) -> str:
        return given if "float" in given or (word in _SAME and given) else ""

    def _named(self, value: Value | None, scope: Scope) -> str:
        if value is None:
            return ""
        found = self._context.flow.resolve(self._context.flow.here(value, scope)).value
        name = found.value if isinstance(found, Const) else getattr(found, "name", "")
        return str(name).rpartition(".")[2]


def _may_be_array(value: Value) -> bool:
    """Say whether a type may be told of values that stand there so."""
    return not isinstance(value, Const | Ref | Class | Function | Mapping | Sequence | Comprehension | Param)
