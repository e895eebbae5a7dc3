"""Schedules of optax, and functions of the step, that never give a number below zero."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.values import Call, Function, Param, Sequence, Unknown, Value

# of each schedule: the arguments between which all that it gives lies, or whose sign it has, by position
_SCHEDULES: dict[str, dict[str, int]] = {
    "constant_schedule": {"value": 0},
    "exponential_decay": {"init_value": 0, "decay_rate": 2, "end_value": 5},
    "cosine_decay_schedule": {"init_value": 0, "alpha": 2},
    "linear_schedule": {"init_value": 0, "end_value": 1},
    "polynomial_schedule": {"init_value": 0, "end_value": 1},
    "warmup_constant_schedule": {"init_value": 0, "peak_value": 1},
    "warmup_cosine_decay_schedule": {"init_value": 0, "peak_value": 1, "end_value": 4},
    "warmup_exponential_decay_schedule": {"init_value": 0, "peak_value": 1, "decay_rate": 4, "end_value": 7},
    "piecewise_constant_schedule": {"init_value": 0},
    "cosine_onecycle_schedule": {"peak_value": 1},
    "linear_onecycle_schedule": {"peak_value": 1},
}
_OPTIONAL = frozenset({"end_value", "alpha"})  # which are not below zero where they are left out
_POSITIVE = frozenset({"exp", "exp2", "sqrt", "rsqrt", "abs", "square", "sigmoid", "relu", "softplus", "cosh"})
_KEEPING = frozenset({"float", "int", "asarray", "array", "float32", "floor", "ceil"})
_BOUNDED = frozenset({"cos", "sin", "tanh"})
_HOMES = ("jax.", "numpy", "math", "builtins")
_DEPTH = 8


def positive_schedule(context: Context, bound: Bound, depth: int = 0) -> bool:
    """Say whether a schedule is known, and gives no number below zero and not always zero.

    Args:
        context: the analysis.
        bound: what is given as the schedule.
        depth: through how many schedules this one was reached.
    """
    sources = list(context.sources.originals(bound))
    return bool(sources) and depth < _DEPTH and all(_positive(context, one, depth) for one in sources)


def _positive(context: Context, source: Bound, depth: int) -> bool:
    value = source.value
    if isinstance(value, Function):
        function = value.facts
        step = next(iter(function.params.values()), None)
        ends = _ends(function)
        return (
            bool(ends) and len(function.params) == 1 and not function.generator
            and all(_Sign(context, function.scope, step, depth).of(end) for end in ends)
        )  # fmt: skip
    if not isinstance(value, Call) or value.starred:
        return False
    home, _, word = context.flow.calls.callee_name(source).rpartition(".")
    if home not in {"optax", "optax.schedules"}:
        return False
    if word == "join_schedules":
        joined = value.argument(0, "schedules")
        parts = context.flow.follow(source, joined) if joined is not None else None
        if parts is None or not isinstance(parts.value, Sequence) or not parts.value.items:
            return False
        return all(
            positive_schedule(context, context.flow.with_value(parts, item), depth + 1) for item in parts.value.items
        )
    wanted = _SCHEDULES.get(word)
    scope = source.frame.function.scope if source.frame is not None else context.bodies.home(value.node)
    if wanted is None or scope is None:
        return False
    highest = 0.0
    for name, place in wanted.items():
        given = value.argument(place, name)
        found = numbers(context, given, scope)
        if given is None and name in _OPTIONAL:
            continue
        if not found or min(found) < 0:
            return False
        highest = max(highest, min(found))
    return highest > 0


def _ends(function: FunctionFacts) -> list[ast.expr]:
    """Return the expressions that a function returns."""
    node = function.node
    if isinstance(node, ast.Lambda):
        return [node.body]
    own = function.scope.module.values
    returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
    found = [one for one in returned if one is not None and own.get(one) in function.returns]
    return found if len(found) == len(returned) else []


class _Sign:
    """Tells whether expressions of a function of the step are never below zero."""

    def __init__(self, context: Context, scope: Scope, step: Param | None, schedules: int) -> None:
        self._context = context
        self._scope = scope
        self._step = step
        self._schedules = schedules

    def of(self, node: ast.expr, depth: int = 0) -> bool:
        """Say whether an expression is never below zero."""
        if depth > _DEPTH:
            return False
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int | float) and not isinstance(node.value, bool) and node.value >= 0
        if isinstance(node, ast.IfExp):
            return self.of(node.body, depth + 1) and self.of(node.orelse, depth + 1)
        if isinstance(node, ast.BinOp):
            return self._operation(node, depth)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        value = self._scope.module.values.get(node)
        if value is None or isinstance(node, ast.UnaryOp):
            return False
        if value == self._step:
            return True
        if isinstance(value, Unknown | Call) and isinstance(value.node, ast.BinOp | ast.IfExp | ast.Call):
            if self._context.bodies.home(value.node) is self._scope or isinstance(value, Unknown):
                return value.node is not node and self.of(value.node, depth + 1)
        found = numbers(self._context, value, self._scope)
        return bool(found) and min(found) >= 0

    def _operation(self, node: ast.BinOp, depth: int) -> bool:
        if isinstance(node.op, ast.Pow):
            return self.of(node.left, depth + 1)
        if isinstance(node.op, ast.Add) and any(
            isinstance(one, ast.Constant) and isinstance(one.value, int | float) and one.value >= 1
            and self._name(other).rpartition(".")[2] in _BOUNDED
            for one, other in ((node.left, node.right), (node.right, node.left))
        ):  # fmt: skip
            return True
        if not isinstance(node.op, ast.Add | ast.Mult | ast.Div | ast.FloorDiv):
            return False
        return self.of(node.left, depth + 1) and self.of(node.right, depth + 1)

    def _call(self, node: ast.Call, depth: int) -> bool:
        name = self._name(node)
        if not name:
            value = self._scope.module.values.get(node)
            if not isinstance(value, Call) or not all(self.of(one, depth + 1) for one in node.args):
                return False
            called = self._context.flow.follow(self._context.flow.here(value, self._scope), value.callee)
            return positive_schedule(self._context, called, self._schedules + 1)
        word = name.rpartition(".")[2]
        if not name.startswith(_HOMES) or node.keywords or not node.args:
            return False
        if word in _POSITIVE:
            return True
        if word in {"maximum", "max"}:
            return any(self.of(one, depth + 1) for one in node.args)
        if word in _KEEPING | {"minimum", "min"}:
            return all(self.of(one, depth + 1) for one in node.args)
        if word == "where" and len(node.args) == 3:
            return all(self.of(one, depth + 1) for one in node.args[1:])
        return word == "clip" and len(node.args) == 3 and self.of(node.args[1], depth + 1)

    def _name(self, node: ast.expr) -> str:
        value: Value | None = self._scope.module.values.get(node) if isinstance(node, ast.Call) else None
        if not isinstance(value, Call):
            return ""
        return self._context.flow.calls.callee_name(self._context.flow.here(value, self._scope))
