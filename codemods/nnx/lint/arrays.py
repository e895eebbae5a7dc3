"""What can be told of an array from the text: its type of numbers, and how many axes it has."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Round
from codemods.nnx.values import Attr, Call, Const, Each, Param, Sequence, Unknown, Value

BOOL, INT, FLOAT = 0, 1, 2
_FILLED = frozenset({"zeros", "ones", "full", "empty"})
_FLOATING = frozenset(
    {"exp", "log", "sqrt", "sin", "cos", "tanh", "mean", "std", "var", "log1p", "expm1", "reciprocal", "true_divide",
     "divide", "sigmoid", "softmax", "relu6", "softplus", "log_softmax"}
)  # fmt: skip
_SAMPLERS = frozenset({"normal", "uniform", "truncated_normal", "gumbel", "exponential", "beta", "gamma", "laplace"})
_REDUCING = frozenset({"sum", "mean", "max", "min", "prod", "std", "var"})
_SHAPING = frozenset({"reshape", "ravel", "flatten", "transpose", "squeeze"})
_COUNTING = frozenset({"argmax", "argmin", "count_nonzero", "argsort", "searchsorted"})
_DTYPES = {"float32": FLOAT, "float16": FLOAT, "bfloat16": FLOAT, "float64": FLOAT, "float": FLOAT, "float_": FLOAT,
           "int32": INT, "int64": INT, "int8": INT, "uint8": INT, "uint32": INT, "int16": INT, "int": INT,
           "bool": BOOL, "bool_": BOOL}  # fmt: skip
_DEPTH = 12


@dataclass(frozen=True)
class Array:
    """An array as far as it is known.

    Attributes:
        number: whether it holds truth values, integers or floats; None if that is not known.
        axes: how many axes it has; None if that is not known.
        weak: whether its type gives way to another's, as that of a Python number does.
    """

    number: int | None = None
    axes: int | None = None
    weak: bool = False


UNKNOWN = Array()


class Arrays:
    """Tells of values what arrays they are, given those of some parameters."""

    def __init__(self, context: Context, given: dict[Value, Array]) -> None:
        self._context = context
        self._given = given

    def of(self, value: Value, scope: Scope, depth: int = 0) -> Array:
        """Return what is known of a value of a scope."""
        if value in self._given:
            return self._given[value]
        if depth > _DEPTH:
            return UNKNOWN
        if isinstance(value, Unknown):
            return self._node(value.node, scope, depth + 1)
        if isinstance(value, Const):
            return _literal(value.value)
        if isinstance(value, Call):
            return self._call(value, scope, depth + 1)
        if isinstance(value, Attr) and value.name in {"T", "real"}:
            return self.of(value.base, scope, depth + 1)
        found = self._context.flow.resolve(self._context.flow.here(value, scope))
        return self._found(found, value, depth)

    def _found(self, found: Bound, value: Value, depth: int) -> Array:
        inner = found.value
        if isinstance(inner, Param):
            return self._argument(found, depth)
        if inner is value:
            return UNKNOWN
        if isinstance(inner, Round | Each):
            whole = self.of_bound(Bound(inner.base, found.frame), depth + 1)
            return replace(whole, axes=whole.axes - 1, weak=False) if whole.axes else UNKNOWN
        return self.of_bound(found, depth + 1)

    def _argument(self, found: Bound, depth: int) -> Array:
        """Return what all calls of a function give for a parameter, if they agree."""
        given = [one for one in self._context.sources.originals(found) if one.value is not found.value]
        if not given or len(given) != len(self._context.sources.originals(found)):
            return UNKNOWN
        kinds = {self.of_bound(one, depth + 1) for one in given}
        return kinds.pop() if len(kinds) == 1 else UNKNOWN

    def of_bound(self, bound: Bound, depth: int = 0) -> Array:
        """Return what is known of a value in an activation."""
        frame = bound.frame
        if frame is not None:
            return self.of(bound.value, frame.function.scope, depth)
        value = bound.value
        if isinstance(value, Const):
            return _literal(value.value)
        if isinstance(value, Call | Unknown | Sequence):
            scope = self._context.bodies.home(value.node)
            if scope is not None:
                return self.of(value, scope, depth)
        return UNKNOWN

    def _node(self, node: ast.AST, scope: Scope, depth: int) -> Array:
        if isinstance(node, ast.Constant):
            return _literal(node.value)
        if isinstance(node, ast.BinOp):
            return self._operation(node, scope, depth)
        if isinstance(node, ast.AugAssign):
            return UNKNOWN
        if isinstance(node, ast.UnaryOp):
            inner = self._part(node.operand, scope, depth)
            return Array(BOOL, 0) if isinstance(node.op, ast.Not) else inner
        if isinstance(node, ast.Compare):
            return Array(BOOL, _joined([self._part(n, scope, depth).axes for n in (node.left, *node.comparators)]))
        return UNKNOWN

    def _part(self, node: ast.expr, scope: Scope, depth: int) -> Array:
        value = scope.module.values.get(node)
        if value is None or (isinstance(value, Unknown) and value.node is node):
            return self._node(node, scope, depth) if depth < _DEPTH else UNKNOWN
        return self.of(value, scope, depth)

    def _operation(self, node: ast.BinOp, scope: Scope, depth: int) -> Array:
        left, right = self._part(node.left, scope, depth + 1), self._part(node.right, scope, depth + 1)
        axes = _joined([left.axes, right.axes])
        if isinstance(node.op, ast.MatMult):
            axes = None
        weak = left.weak and right.weak
        if isinstance(node.op, ast.Div):
            known = left.number is not None or right.number is not None
            return Array(FLOAT if known else None, axes, weak)  # whatever the other one is, no integers come out
        if FLOAT in (left.number, right.number) and not isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor):
            return Array(FLOAT, axes, weak)
        if left.number is None or right.number is None:
            return Array(None, axes)
        number = max(left.number, right.number)
        if number == BOOL and not isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor | ast.Mult | ast.Add):
            return Array(None, axes)
        return Array(number, axes, weak)

    def _call(self, value: Call, scope: Scope, depth: int) -> Array:
        flow = self._context.flow
        name = flow.calls.callee_name(flow.here(value, scope))
        home, _, word = name.rpartition(".")
        if not name and isinstance(value.callee, Attr):
            return self._method(value, value.callee, scope, depth)
        if home == "jax.random" and word in _SAMPLERS:
            return Array(FLOAT, self._shape(value.argument(1, "shape"), scope, 0))
        if home not in {"jax.numpy", "jax.nn", "numpy"}:
            return self._result(value, scope, depth)
        if word in _DTYPES:
            inner = self.of(value.args[0], scope, depth) if value.args else Array(axes=0)
            return Array(_DTYPES[word], inner.axes)
        if word in _FILLED:
            place = 2 if word == "full" else 1
            return Array(self._dtype(value.argument(place, "dtype"), scope, None if word == "full" else FLOAT),
                         self._shape(value.argument(0, "shape"), scope, None))  # fmt: skip
        if word == "arange":
            number = _highest([self.of(a, scope, depth).number for a in value.args[:3]])
            return Array(self._dtype(value.keyword("dtype"), scope, number), 1)
        if word == "linspace":
            return Array(FLOAT, 1)
        if word in {"array", "asarray"}:
            return self._made(value, scope, depth)
        first = self.of(value.args[0], scope, depth) if value.args else UNKNOWN
        if word in _REDUCING | _COUNTING:
            whole = len(value.args) == 1 and not value.keywords
            return Array(_reduced(word, first.number), 0 if whole else None)
        if word in _FLOATING:
            return Array(FLOAT, first.axes)
        if word in {"abs", "square", "negative", "zeros_like", "ones_like", "copy"} and value.keyword("dtype") is None:
            return replace(first, weak=False)
        return UNKNOWN

    def _made(self, value: Call, scope: Scope, depth: int) -> Array:
        if not value.args:
            return UNKNOWN
        given = value.argument(1, "dtype")
        inner = value.args[0]
        if isinstance(inner, Sequence):
            parts = [self.of(item, scope, depth) for item in inner.items]
            number = _highest([p.number for p in parts])
            axes = parts[0].axes + 1 if parts and parts[0].axes is not None else None
            return Array(self._dtype(given, scope, number), axes)
        one = self.of(inner, scope, depth)
        return Array(self._dtype(given, scope, one.number), one.axes, one.weak and given is None)

    def _method(self, value: Call, callee: Attr, scope: Scope, depth: int) -> Array:
        base = self.of(callee.base, scope, depth)
        if callee.name in _REDUCING | _COUNTING and base != UNKNOWN:
            whole = not value.args and not value.keywords
            return Array(_reduced(callee.name, base.number), 0 if whole else None)
        if callee.name in _SHAPING:
            axes = len(value.args) if callee.name == "reshape" and len(value.args) > 1 else None
            return Array(base.number, 1 if callee.name in {"ravel", "flatten"} else axes)
        if callee.name == "astype" and value.args:
            return Array(self._dtype(value.args[0], scope, None), base.axes)
        return self._result(value, scope, depth)

    def _result(self, value: Call, scope: Scope, depth: int) -> Array:
        found = self._context.flow.resolve(self._context.flow.here(value, scope))
        return self.of_bound(found, depth) if found.value is not value else UNKNOWN

    def _dtype(self, value: Value | None, scope: Scope, default: int | None) -> int | None:
        if value is None:
            return default
        found = self._context.flow.resolve(self._context.flow.here(value, scope)).value
        name = getattr(found, "name", "") if not isinstance(found, Const) else found.value
        return _DTYPES.get(str(name).rpartition(".")[2])

    def _shape(self, value: Value | None, scope: Scope, default: int | None) -> int | None:
        if value is None:
            return default
        found = self._context.flow.resolve(self._context.flow.here(value, scope)).value
        if isinstance(found, Sequence) and isinstance(found.node, ast.Tuple | ast.List):
            return None if any(isinstance(e, ast.Starred) for e in found.node.elts) else len(found.items)
        return 1 if isinstance(found, Const) and isinstance(found.value, int) else None


def _highest(numbers: list[int | None]) -> int | None:
    """Return the type that several are promoted to; None if one of them is not known."""
    known = [n for n in numbers if n is not None]
    return max(known) if known and len(known) == len(numbers) else None


def _literal(value: object) -> Array:
    if isinstance(value, bool):
        return Array(BOOL, 0)
    if isinstance(value, int):
        return Array(INT, 0, weak=True)
    return Array(FLOAT, 0, weak=True) if isinstance(value, float) else UNKNOWN


def _joined(axes: list[int | None]) -> int | None:
    known = [n for n in axes if n is not None]
    return max(known) if len(known) == len(axes) else None


def _reduced(word: str, number: int | None) -> int | None:
    if word in _COUNTING:
        return INT
    if word in {"mean", "std", "var"}:
        return FLOAT
    return INT if number == BOOL and word in {"sum", "prod"} else number
