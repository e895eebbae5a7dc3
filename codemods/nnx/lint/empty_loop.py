"""NNX973: a loop of JAX whose bounds or whose condition leave no round."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.places import foreign, formula_of, in_test, shown, written
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.lint.traced import free_params
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Param, Ref, Unknown, Value


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "fori_loop"):
        if name != "jax.lax.fori_loop" or event.value.starred or in_test(event.scope):
            continue
        first, behind = (
            _number(context, argument(event.node, place, word), event.scope)
            for place, word in ((0, "lower"), (1, "upper"))
        )
        if first is None and behind is not None:
            first = _given(context, event, behind)
        if first is not None and behind is not None and first > behind and not _meant(event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"a loop from {first} up to {behind} has no round: fori_loop only counts up",
                f"loop over range({first - behind}) and count down in the body: {first} - i",
            )
    for event, name in foreign(context, "while_loop"):
        if name not in {"jax.lax.while_loop", "flax.nnx.while_loop"} or event.value.starred or in_test(event.scope):
            continue
        cond, init = event.value.argument(0, "cond_fun"), event.value.argument(2, "init_val")
        asked = context.flow.calls.callables(context.flow.here(cond, event.scope)) if cond is not None else []
        params = free_params(asked[0]) if len(asked) == 1 else []
        condition = formula_of(context, asked[0].function) if len(params) == 1 else None
        if init is None or condition is None:
            continue
        if _STOPPED.search(asked[0].function.name) and _below(condition):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{shown(asked[0].function)} is true where the error is small enough: while_loop goes on while it is "
                "true, and ends at once",
                "let the condition say when to go on: error >= tol",
            )
            continue
        begun = context.sources.originals(context.flow.here(init, event.scope))
        carry = asked[0].function.params[params[0]]
        if _meant(event):
            continue
        starts = [_Begun(context, asked[0].function, carry, one) for one in begun]
        if starts and all(one.truth(condition) is False for one in starts):
            alike = next((text for one in starts for text in one.alike), "")
            what = "the condition is false to begin with"
            if alike:
                what = f"`{alike}` is zero at first: both begin alike"
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{what}, and the loop has no round: while_loop goes on while it is true",
                "begin with one that is far from the other, as jnp.inf, or carry the difference, from jnp.inf on"
                if alike
                else "let the condition say when to go on, not when to stop",
                related=[(condition, "this is false for the first carry")]
                if asked[0].function.scope.module is event.scope.module
                else [],
            )


_NO_ROUNDS = pattern(
    r"#.*\b((0|zero|no|without)[- ](any )?(iterations?|rounds?|trips?|steps?)|degenerate)\b", re.IGNORECASE
)


def _meant(event: CallEvent) -> bool:
    """Say whether a comment beside a loop, or above it or its function, says that it has no round: such a case is
    looked at on purpose."""
    source = event.scope.module.source
    function = event.scope.function
    starts = [event.statement.lineno, *([function.node.lineno] if function is not None else [])]
    lines = [*range(event.statement.lineno, (event.statement.end_lineno or event.statement.lineno) + 1)]
    for start in starts:
        lines.append(start)
        above = start - 1
        while above > 0 and source.line(above).lstrip().startswith("#"):
            lines.append(above)
            above -= 1
    return any(_NO_ROUNDS.search(source.line(number)) for number in lines)


_STOPPED = pattern(r"(^|_)(converged|convergence|stop|should_stop|stopping|finished|done)(_|$)")
_TOLERANCE = pattern(r"_*(a|r)?tol(erance)?|_*eps(ilon)?|_*threshold")


def _below(condition: ast.expr) -> bool:
    """Say whether a condition is that something is below a tolerance."""
    if not isinstance(condition, ast.Compare) or len(condition.ops) != 1:
        return False
    low, high = condition.left, condition.comparators[0]
    if isinstance(condition.ops[0], ast.Gt | ast.GtE):
        low, high = high, low
    elif not isinstance(condition.ops[0], ast.Lt | ast.LtE):
        return False
    return _TOLERANCE.fullmatch(last_word(high)) is not None and _TOLERANCE.fullmatch(last_word(low)) is None


def _given(context: Context, event: CallEvent, behind: int) -> int | None:
    """Return the least number that callers give for the first round, if all of them are behind the last one."""
    node = argument(event.node, 0, "lower")
    value = event.scope.module.values.get(node) if isinstance(node, ast.Name) else None
    found = numbers(context, value, event.scope) if isinstance(value, Param) else frozenset()
    least = min(found, default=behind)
    return int(least) if least > behind else None


_Number = int | float
_COMPARED: dict[type[ast.cmpop], Callable[[_Number, _Number], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
_CASTS = frozenset({"array", "asarray", "int32", "int64", "float32", "float64", "bool_", "int8", "uint32", "float16"})
_EQUAL = frozenset({"allclose", "array_equal"})
_SIZES = frozenset(
    {"abs", "absolute", "max", "amax", "norm", "sum", "mean", "sqrt", "square", "any", "asarray", "array"}
)
_FILLING = frozenset(f"jax.numpy.{name}" for name in ("zeros", "ones", "zeros_like", "ones_like", "full"))
_DEPTH = 5
_ALL, _ANY = frozenset({"logical_and"}), frozenset({"logical_or"})


class _Begun:
    """The condition of a loop before its first round: true, false, or not known."""

    def __init__(self, context: Context, function: FunctionFacts, carry: Param, init: Bound) -> None:
        self._context = context
        self._function = function
        self._carry = carry
        self._init = init
        self._turned = False
        #: The differences that are zero, as two parts of the carry begin with the same.
        self.alike: list[str] = []

    def truth(self, node: ast.expr) -> bool | None:
        """Return whether an expression of the condition holds; None if that is not known."""
        if isinstance(node, ast.Compare):
            return self._compared(node)
        if isinstance(node, ast.BoolOp):
            return _together([self.truth(one) for one in node.values], every=isinstance(node.op, ast.And))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
            return _together([self.truth(node.left), self.truth(node.right)], every=isinstance(node.op, ast.BitAnd))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
            self._turned = not self._turned
            inner = self.truth(node.operand)
            self._turned = not self._turned
            return None if inner is None else not inner
        if isinstance(node, ast.Call) and last_word(node.func) in _EQUAL and len(node.args) > 1:
            return True if self._same(node.args[0], node.args[1]) else None
        if isinstance(node, ast.Call) and node.args and not node.keywords:
            word, parts = last_word(node.func), [self.truth(one) for one in node.args]
            if word in _ALL | _ANY and len(parts) == 2:
                return _together(parts, every=word in _ALL)
            if word == "logical_not" and len(parts) == 1:
                return None if parts[0] is None else not parts[0]
            return parts[0] if word in {"any", "all", "bool"} and len(parts) == 1 else None
        known = self._numbers(node)
        return bool(known.pop()) if len(known) == 1 and all(isinstance(one, bool) for one in known) else None

    def _compared(self, node: ast.Compare) -> bool | None:
        compare = _COMPARED.get(type(node.ops[0])) if len(node.ops) == 1 else None
        if compare is None:
            return None
        if compare is operator.ne and self._same(node.left, node.comparators[0]):
            return False
        left, right = self._numbers(node.left), self._numbers(node.comparators[0])
        if left == {0} and self.alike and compare is operator.gt and not right:
            return False if _TOLERANCE.fullmatch(last_word(node.comparators[0])) else None
        if (left == {math.inf} and compare is operator.lt) or (left == {-math.inf} and compare is operator.gt):
            return False  # whatever the other one is
        if (right == {math.inf} and compare is operator.gt) or (right == {-math.inf} and compare is operator.lt):
            return False
        found = {compare(one, two) for one in left for two in right}
        return found.pop() if len(found) == 1 else None

    def _numbers(self, node: ast.expr) -> set[_Number]:
        """Return the numbers that an expression may be; empty if they are not known."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return {-one for one in self._numbers(node.operand)}
        if self._vanishes(node, 0):
            return {0}
        value = self._function.scope.module.values.get(node)
        if value is None:
            return _number_of(node.value) if isinstance(node, ast.Constant) else set()
        begun = self._part(value)
        if begun is not None:
            return _made(self._context, begun, 0)
        found = self._context.flow.resolve(self._context.flow.here(value, self._function.scope))
        known = _made(self._context, found, 0)
        if known or not isinstance(found.value, Param):
            return known
        # a limit that is an argument
        limits = set(numbers(self._context, value, self._function.scope))
        default = found.value.function.defaults.get(found.value.name)
        limits = limits or (_number_of(default.value) if isinstance(default, Const) else set())
        return limits if all(one > 0 for one in limits) else set()

    def _vanishes(self, node: ast.expr, depth: int) -> bool:
        """Say whether an expression is a size of the difference between two parts of the carry that begin alike."""
        node = written(self._context, node, self._function.scope)
        if depth > _DEPTH:
            return False
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            return self._same(node.left, node.right)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return self._vanishes(node.left, depth + 1) or self._vanishes(node.right, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.Div):
            exact = isinstance(node.op, ast.Pow) or not self._turned  # 0 / 0 is less than nothing
            return exact and self._vanishes(node.left, depth + 1)
        if not isinstance(node, ast.Call) or last_word(node.func) not in _SIZES:
            return False
        inner = node.args[0] if node.args else getattr(node.func, "value", None)
        return isinstance(inner, ast.expr) and self._vanishes(inner, depth + 1)

    def _same(self, left: ast.expr, right: ast.expr) -> bool:
        """Say whether two parts of the carry begin with the same value, and note their difference if so."""
        one, two = (self._begun(side) for side in (left, right))
        if one is None or two is None:
            return False
        made = _filled(self._context, one)
        known = not isinstance(one.value, Unknown) or isinstance(one.value.node, ast.BinOp | ast.UnaryOp)
        once = one.value is two.value and one.frame is two.frame and known
        if not once and not (made and made == _filled(self._context, two)):
            return False
        self.alike.append(f"{ast.unparse(left)} - {ast.unparse(right)}")
        return True

    def _begun(self, node: ast.expr) -> Bound | None:
        """Return what a part of the carry is to begin with; None for another expression."""
        value = self._function.scope.module.values.get(written(self._context, node, self._function.scope))
        return self._part(value) if value is not None else None

    def _part(self, value: Value) -> Bound | None:
        """Return what a part of the carry is to begin with; None for what is none."""
        if value is self._carry:
            return self._init
        if not isinstance(value, Item | Attr):
            return None
        whole = self._part(value.base)
        if whole is None:
            return None
        part = Item(whole.value, value.index) if isinstance(value, Item) else Attr(whole.value, value.name)
        return self._context.flow.resolve(self._context.flow.with_value(whole, part))


def _filled(context: Context, bound: Bound) -> str:
    """Return how an array of one number is written, if two that are written so are equal; empty for others."""
    value = bound.value
    if not isinstance(value, Call) or context.flow.calls.callee_name(bound) not in _FILLING or bound.frame is None:
        return ""
    return f"{ast.unparse(value.node)} in {id(bound.frame)}"


def _together(parts: list[bool | None], every: bool) -> bool | None:
    """Return what several truths are together: whether all hold, or whether one does."""
    if (not every) in parts:
        return not every
    return None if None in parts else every


def _number_of(value: object) -> set[_Number]:
    return {value} if isinstance(value, int | float) else set()


def _made(context: Context, bound: Bound, depth: int) -> set[_Number]:
    """Return the number that a constant is, also in an array of no axes."""
    value = bound.value
    if isinstance(value, Const):
        return _number_of(value.value)
    if isinstance(value, Ref):
        return {math.inf} if value.name in {"jax.numpy.inf", "numpy.inf", "math.inf"} else set()
    if isinstance(value, Unknown) and isinstance(value.node, ast.UnaryOp) and isinstance(value.node.op, ast.USub):
        operand = context.flow.follow(bound, _operand(context, value.node.operand))
        return {-one for one in _made(context, operand, depth + 1)}
    if not isinstance(value, Call) or value.starred or not value.args or depth > 3:
        return set()
    name = context.flow.calls.callee_name(bound)
    given = context.flow.follow(bound, value.args[0])
    if name == "builtins.float" and isinstance(given.value, Const) and isinstance(given.value.value, str):
        text = given.value.value.strip().lower().removeprefix("+")
        return {math.inf} if text in {"inf", "infinity"} else {-math.inf} if text in {"-inf", "-infinity"} else set()
    if name.startswith(("jax.numpy.", "numpy.")) and last(name) in _CASTS:
        return _made(context, given, depth + 1)
    return set()


def _operand(context: Context, node: ast.expr) -> Value:
    """Return the value of an operand; an unknown one where it was not evaluated."""
    home = context.bodies.module_scope(node)
    value = home.module.values.get(node) if home is not None else None
    return value if value is not None else Const(node.value) if isinstance(node, ast.Constant) else Unknown(node)


def _number(context: Context, node: ast.expr | None, scope: Scope) -> int | None:
    """Return the whole number that an expression is, also as a sum or difference; None if that is not known."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left, right = (_number(context, side, scope) for side in (node.left, node.right))
        if left is None or right is None:
            return None
        return left + right if isinstance(node.op, ast.Add) else left - right
    number = constant(node)
    value = scope.module.values.get(node) if node is not None and number is None else None
    if value is not None:
        found = context.flow.resolve(context.flow.here(value, scope)).value
        number = found.value if isinstance(found, Const) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


_STOPPING = """\
import jax
import jax.numpy as jnp


def solve(x, tol=1e-5, steps=100):
    def cond(state):
        i, x, error = state
        return (error < tol) | (i >= steps)

    def body(state):
        i, x, _ = state
        new = jnp.cos(x)
        return i + 1, new, jnp.abs(new - x)

    return jax.lax.while_loop(cond, body, (0, x, jnp.inf))
"""

_BAD = """\
import jax


def back(x):
    return jax.lax.fori_loop(10, 0, lambda i, total: 0.9 * total + x[i], 0.0)
"""

RULE = lint_rule(
    "NNX973",
    "empty-loop",
    "a fori_loop whose lower bound is above the upper one, or a while_loop whose condition is false at first",
    why="""\
`jax.lax.fori_loop(lower, upper, body, init)` counts up from `lower` to `upper`, which it leaves out. With the bounds
the other way round it has no round and returns `init`, without a word.

`jax.lax.while_loop(cond, body, init)` goes on while `cond` is true. One that says when to stop, as
`(error < tol) | (i >= steps)`, is false for the first carry, where the error is infinite and no step is done, and
`init` comes back as well. The numbers that `init` begins with are put into the condition; a limit that is an argument
counts as what the calls give for it, or as its default.
""",
    source="documentation of jax.lax.fori_loop and while_loop; measured: init comes back",
    severity="error",
    check=_check,
    bad=(_BAD, _STOPPING),
    clean=(
        _BAD.replace("(10, 0, lambda i,", "(0, 10, lambda i,").replace("x[i]", "x[10 - i]"),
        _STOPPING.replace("(error < tol) | (i >= steps)", "(error >= tol) & (i < steps)"),
    ),
)
