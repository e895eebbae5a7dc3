"""NNX748: a function of jax.lax.associative_scan that is not associative."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.loop_bodies import bodies
from codemods.nnx.lint.places import foreign, shown
from codemods.nnx.values import Ref

_SCAN = "jax.lax.associative_scan"
_MESSAGE = "is not associative, and associative_scan combines in an order of its own"
_HELP = "use jax.lax.scan, or combine pairs, as (a, b) of x -> a * x + b, whose combination is associative"
_Number = Fraction | tuple[Fraction, ...]


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "associative_scan"):
        if name == _SCAN and event.value.args and not event.value.starred:
            given = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
            if isinstance(given, Ref) and given.name in {"jax.numpy.subtract", "jax.numpy.divide", "jax.lax.sub"}:
                yield finding(RULE.code, event.scope, event.node.args[0], f"`{given.name}` {_MESSAGE}", _HELP)
    for body in bodies(context):
        free = body.free if body.loop == _SCAN and body.event.scope.module in context.asked else None
        if free is None or len(free) != 2 or body.function.decorators:
            continue
        if _differs(body.function, free):
            yield finding(
                RULE.code,
                body.event.scope,
                body.event.node,
                f"{shown(body.function)} {_MESSAGE}",
                _HELP,
                related=[(body.function.node, "this is combined")],
            )


def _differs(function: FunctionFacts, params: list[str]) -> bool:
    """Say whether a function gives other numbers if three values are combined in the other order, however they are."""
    arity = _arity(function, set(params))
    return all(_trial(function, params, arity, seed) for seed in (2, 5, 11))


def _trial(function: FunctionFacts, params: list[str], arity: int, seed: int) -> bool:
    evaluation = _Evaluation(seed)
    if arity:
        one, two, three = (tuple(evaluation.number() for _ in range(arity)) for _ in range(3))
    else:
        one, two, three = (evaluation.number() for _ in range(3))  # type: ignore[assignment]
    try:
        first = evaluation.run(function, params, evaluation.run(function, params, one, two), three)
        second = evaluation.run(function, params, one, evaluation.run(function, params, two, three))
    except (_Unknown, ZeroDivisionError):
        return False
    return first != second


def _arity(function: FunctionFacts, params: set[str]) -> int:
    """Return how many parts the values have that are combined; 0 if they are arrays."""
    found = 0
    for node in ast.walk(function.node):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in params:
            if isinstance(node.targets[0], ast.Tuple):
                found = max(found, len(node.targets[0].elts))
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in params:
            if isinstance(node.slice, ast.Constant) and type(node.slice.value) is int:
                found = max(found, node.slice.value + 1)
    return found


class _Unknown(Exception):
    """Something else than arithmetic was met."""


class _Evaluation:
    """Computes with fractions what a function of arithmetic gives; what it reads besides is a number of its own."""

    def __init__(self, seed: int) -> None:
        self._next = seed
        self._outer: dict[str, Fraction] = {}

    def number(self) -> Fraction:
        """Return another number."""
        self._next = self._next * 48271 % 2147483647
        return Fraction(self._next % 97 + 2, self._next % 13 + 3)

    def run(self, function: FunctionFacts, params: list[str], left: _Number, right: _Number) -> _Number:
        """Return what the function gives for two values.

        Raises:
            _Unknown: it is not arithmetic.
        """
        env: dict[str, _Number] = {params[0]: left, params[1]: right}
        node = function.node
        if isinstance(node, ast.Lambda):
            return self._of(node.body, env)
        for statement in getattr(node, "body", ()):
            if isinstance(statement, ast.Return) and statement.value is not None:
                return self._of(statement.value, env)
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                self._assign(statement.targets[0], self._of(statement.value, env), env)
            elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                raise _Unknown
        raise _Unknown

    def _assign(self, target: ast.expr, value: _Number, env: dict[str, _Number]) -> None:
        if isinstance(target, ast.Name):
            env[target.id] = value
            return
        if not isinstance(target, ast.Tuple) or not isinstance(value, tuple) or len(target.elts) != len(value):
            raise _Unknown
        for one, part in zip(target.elts, value, strict=True):
            self._assign(one, part, env)

    def _of(self, node: ast.expr, env: dict[str, _Number]) -> _Number:
        if isinstance(node, ast.Tuple):
            return tuple(self._scalar(one, env) for one in node.elts)
        if isinstance(node, ast.Name) and node.id in env:
            return env[node.id]
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            whole = self._of(node.value, env)
            index = node.slice.value
            if isinstance(whole, tuple) and type(index) is int and -len(whole) <= index < len(whole):
                return whole[index]
            raise _Unknown
        return self._arithmetic(node, env)

    def _scalar(self, node: ast.expr, env: dict[str, _Number]) -> Fraction:
        value = self._of(node, env)
        if isinstance(value, tuple):
            raise _Unknown
        return value

    def _arithmetic(self, node: ast.expr, env: dict[str, _Number]) -> Fraction:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return Fraction(str(node.value))
        if isinstance(node, ast.Name) or (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in env
        ):
            return self._outer.setdefault(ast.unparse(node), self.number())
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._scalar(node.operand, env)
        if isinstance(node, ast.BinOp):
            left, right = self._scalar(node.left, env), self._scalar(node.right, env)
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.Div):
                return left / right
        raise _Unknown


RULE = lint_rule(
    "NNX748",
    "not-associative",
    "a function that is not associative for jax.lax.associative_scan",
    why="""\
`jax.lax.associative_scan` combines neighbours, then pairs of them: the result is that of a loop only if
`f(f(a, b), c)` is `f(a, f(b, c))`. `decay * a + b` and `a - b` are not so, and give other numbers, silently.
""",
    source="documentation of jax.lax.associative_scan; measured on JAX 0.10.2",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp

decay = 0.9
smooth = jax.lax.associative_scan(lambda a, b: decay * a + b, jnp.ones(8))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def combine(left, right):
    return left[0] * right[0], right[0] * left[1] + right[1]


smooth = jax.lax.associative_scan(combine, (jnp.full(8, 0.9), jnp.ones(8)))[1]
""",
    ),
)
