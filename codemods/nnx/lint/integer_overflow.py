"""NNX978: integers that grow beyond what 32 bits hold."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.sizes import size_of
from codemods.nnx.lint.syntax import keyword, names_in
from codemods.nnx.lint.wide_integers import wide_integers
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Free, Function, Item, Param, Unknown, Value

_LARGEST = 2**31 - 1
_LONGEST = 300_000  # elements that are counted through
_DEPTH = 12
_CALLS = 20  # of one function that are looked at
_POWER = 2**200  # powers are not computed beyond that
_Integers = int | list[int]
_RUNNING: dict[str, Callable[[int, int], int]] = {
    "prod": operator.mul, "cumprod": operator.mul, "sum": operator.add, "cumsum": operator.add,
}  # fmt: skip
_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
}  # fmt: skip
_GROWING = frozenset({*_RUNNING, "power", "square"})
# what is done with numbers that may well wrap around
_WRAPPING = (ast.BitXor, ast.BitAnd, ast.BitOr, ast.Mod, ast.RShift, ast.LShift)


@dataclass(frozen=True)
class _Place:
    """Where an expression stands, and what one call of the function around it gives.

    Attributes:
        scope: the body.
        given: the integers that a call gives for parameters.
        several: the parameters that get different integers, of which the greatest was taken.
    """

    scope: Scope
    given: dict[Param, int]
    several: set[Param] = field(default_factory=set)


class _TooLarge(Exception):
    """An operation whose result 32 bits do not hold."""

    def __init__(self, node: ast.expr, number: int) -> None:
        super().__init__()
        self.node, self.number = node, number


def _check(context: Context) -> Iterator[Finding]:
    if any(b"enable_x64" in module.source.data.lower() for module in context.project.modules):
        return
    for scope, wide in wide_integers(context):
        yield finding(
            RULE.code,
            scope,
            wide,
            f"these integers go beyond {_LARGEST}, where those of JAX end: it makes others of them, and says nothing",
            "number them in NumPy, as by np.unique(..., return_inverse=True), subtract the first one there, or set "
            "jax_enable_x64",
        )
    told: set[ast.expr] = set()
    for scope, node in _places(context):
        if not scope.module.source.mentions(b"arange") or in_test(scope) or not _counted(node, scope, 0):
            continue
        try:
            for given in _givens(context, scope):
                _integers(context, node, _Place(scope, given), 0)
        except _TooLarge as found:
            if found.node in told or _wraps(context, found.node, scope):
                continue
            told.add(found.node)
            yield finding(
                RULE.code,
                scope,
                found.node,
                f"this reaches {_shown(found.number)}, and the integers of JAX end at {_LARGEST}: it wraps around",
                "compute with floats, such as jax.scipy.special.gammaln for the logarithm of a factorial, or set "
                "jax_enable_x64",
            )


def _givens(context: Context, scope: Scope) -> Iterator[dict[Param, int]]:
    """Yield nothing known at first, and then the integers that each of the calls of a function gives it."""
    yield {}
    function = scope.function
    if function is None or function.vararg is not None or function.owner is not None:
        return
    tests = [n.test for n in ast.walk(function.node) if isinstance(n, ast.If | ast.IfExp | ast.While | ast.Assert)]
    asked = {name for test in tests for name in names_in(test)}  # a greater one may go another way
    for event in context.flow.sites.callers(function)[:_CALLS]:
        called = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
        itself = isinstance(called, Function) and called.facts is function
        if event.value.starred or not itself or in_test(event.scope):
            continue
        pairs = [*zip(list(function.params)[: function.positional], event.value.args, strict=False)]
        pairs += [(name, one) for name, one in event.value.keywords if name is not None]
        found = {
            function.params[name]: number
            for name, one in pairs
            if name in function.params
            and name not in asked
            and type(number := _number(context, one, event.scope)) is int
        }
        if found:
            yield found


def _number(context: Context, value: Value, scope: Scope) -> object:
    """Return the constant that an argument is, or the size of an array; None for others."""
    bound = context.flow.here(value, scope)
    whole = context.flow.resolve(bound).value
    return whole.value if isinstance(whole, Const) else size_of(context, bound)


def _places(context: Context) -> Iterator[tuple[Scope, ast.expr]]:
    """Yield the operations that may make numbers much greater."""
    for scope, operation in each(context, ast.BinOp):
        if isinstance(operation.op, ast.Mult | ast.Pow):
            yield scope, operation
    for scope, call in each(context, ast.Call):
        if last_word(call.func) in _GROWING:
            yield scope, call


def _counted(node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say at a glance whether an expression has an arange in it, which few have."""
    if depth > _DEPTH:
        return False
    if isinstance(node, ast.BinOp):
        return _counted(node.left, scope, depth + 1) or _counted(node.right, scope, depth + 1)
    if isinstance(node, ast.Call):
        method = node.func.value if isinstance(node.func, ast.Attribute) and not node.args else None
        if last_word(node.func) == "arange" or (method is not None and _counted(method, scope, depth + 1)):
            return True
        return any(_counted(one, scope, depth + 1) for one in node.args)
    if isinstance(node, ast.List | ast.Tuple):
        return any(_counted(one, scope, depth + 1) for one in node.elts)
    value = scope.module.values.get(node) if isinstance(node, ast.Name) else None
    made = value.node if isinstance(value, Call | Unknown) else None
    return isinstance(made, ast.expr) and made is not node and _counted(made, scope, depth + 1)


def _shown(number: int) -> str:
    if abs(number) < 10**15:
        return str(number)
    return f"about {number:.0e}" if abs(number) < _POWER else f"more than {_POWER:.0e}"


def _wraps(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether what wraps around is mixed bit by bit, as in a hash."""
    outer = around(context, scope).get(node)
    while isinstance(outer, ast.BinOp):
        if isinstance(outer.op, _WRAPPING):
            return True
        outer = around(context, scope).get(outer)
    return False


def _integers(context: Context, node: ast.expr, place: _Place, depth: int) -> _Integers | None:
    """Return the integers that an expression is: a number of Python, or the elements of an array; None if not known."""
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = _integers(context, node.operand, place, depth + 1)
        return -found if isinstance(found, int) else None
    if isinstance(node, ast.Name):
        return _named(context, node, place, depth)
    if isinstance(node, ast.Subscript):
        value = place.scope.module.values.get(node)
        return size_of(context, context.flow.here(value, place.scope)) if value is not None else None
    if isinstance(node, ast.BinOp):
        left = _integers(context, node.left, place, depth + 1)
        right = _integers(context, node.right, place, depth + 1) if left is not None else None
        return _operation(node, node.op, left, right) if left is not None and right is not None else None
    return _called(context, node, place, depth) if isinstance(node, ast.Call) else None


def _named(context: Context, node: ast.Name, place: _Place, depth: int) -> _Integers | None:
    scope = place.scope
    value = scope.module.values.get(node)
    if isinstance(value, Param) and value in place.given:
        return place.given[value]
    if isinstance(value, Const):
        return value.value if type(value.value) is int else None
    if isinstance(value, Call | Unknown) and isinstance(value.node, ast.expr) and value.node is not node:
        return _integers(context, value.node, place, depth + 1)
    if isinstance(value, Item):
        return size_of(context, context.flow.here(value, scope))
    if isinstance(value, Free):
        whole = context.flow.resolve(context.flow.here(value, scope)).value
        return whole.value if isinstance(whole, Const) and type(whole.value) is int else None
    if isinstance(value, Param):  # what the callers give
        given = [one.value for one in context.sources.originals(context.flow.here(value, scope))]
        numbers = [one.value for one in given if isinstance(one, Const) and type(one.value) is int]
        if len(set(numbers)) > 1:
            place.several.add(value)
        known = numbers and len(numbers) == len(given) and len(place.several) < 2  # else of different calls
        return max(numbers) if known else None
    return None


def _called(context: Context, node: ast.Call, place: _Place, depth: int) -> _Integers | None:
    scope = place.scope
    value = scope.module.values.get(node)
    if not isinstance(value, Call) or value.starred:
        return None
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    word = last_word(node.func)
    method = not name and isinstance(node.func, ast.Attribute) and word in _RUNNING
    if method and isinstance(node.func, ast.Attribute):
        inner = _integers(context, node.func.value, place, depth + 1) if not node.args and not node.keywords else None
        return _run(node, word, inner) if isinstance(inner, list) else None
    if not name.startswith("jax.numpy.") or keyword(node, "dtype") is not None:
        return None
    if word == "arange":
        ends = [_integers(context, one, place, depth + 1) for one in node.args]
        if node.keywords or not 1 <= len(ends) <= 3 or not all(isinstance(one, int) for one in ends):
            return None
        numbers = [one for one in ends if isinstance(one, int)]
        if len(numbers) == 3 and numbers[2] == 0:
            return None
        through = range(*numbers)
        return list(through) if len(through) <= _LONGEST else None
    if word in {"ones", "zeros"} and len(node.args) == 2 and last_word(node.args[1]) in {"int32", "int"}:
        count = _integers(context, node.args[0], place, depth + 1)
        small = isinstance(count, int) and 0 <= count <= _LONGEST
        return [int(word == "ones")] * count if small and isinstance(count, int) else None
    if word == "concatenate" and len(node.args) == 1 and isinstance(node.args[0], ast.List | ast.Tuple):
        parts = [_integers(context, one, place, depth + 1) for one in node.args[0].elts]
        lists = [one for one in parts if isinstance(one, list)]
        return [one for part in lists for one in part] if len(lists) == len(parts) else None
    if word in _RUNNING and len(node.args) == 1 and not node.keywords:
        inner = _integers(context, node.args[0], place, depth + 1)
        return _run(node, word, inner) if isinstance(inner, list) else None
    if word == "square" and len(node.args) == 1:
        inner = _integers(context, node.args[0], place, depth + 1)
        return _operation(node, ast.Mult(), inner, inner) if isinstance(inner, list) else None
    if word == "power" and len(node.args) == 2:
        base, times = (_integers(context, one, place, depth + 1) for one in node.args)
        return _operation(node, ast.Pow(), base, times) if base is not None and times is not None else None
    return None


def _run(node: ast.expr, word: str, elements: list[int]) -> _Integers | None:
    """Return the sum or product of some elements, or all of those on the way."""
    passed: list[int] = []
    for one in accumulate(elements, _RUNNING[word]):
        if not -_LARGEST - 1 <= one <= _LARGEST:
            raise _TooLarge(node, one)
        passed.append(one)
    return (passed if word.startswith("cum") else passed[-1:]) if passed else None


def _operation(node: ast.expr, kind: ast.operator, left: _Integers, right: _Integers) -> _Integers | None:
    """Return the results of an operation element by element."""
    if isinstance(left, int) and isinstance(right, int):
        small = abs(left) < 10**6 and 0 <= right < 64
        if isinstance(kind, ast.Pow):
            return left**right if small else None
        made = _OPERATIONS.get(type(kind))
        return made(left, right) if made is not None and not (isinstance(kind, ast.FloorDiv) and right == 0) else None
    count = len(left) if isinstance(left, list) else len(right) if isinstance(right, list) else 0
    ones = left if isinstance(left, list) else [left] * count
    others = right if isinstance(right, list) else [right] * count
    if len(ones) != len(others) and 1 in (len(ones), len(others)):
        count = max(len(ones), len(others))
        ones, others = (one * count if len(one) == 1 else one for one in (ones, others))
    if len(ones) != len(others):
        return None
    results: list[int] = []
    for one, other in zip(ones, others, strict=True):
        if isinstance(kind, ast.Pow):
            if other < 0:
                return None
            result = one**other if abs(one) < 2 or other < 200 else _POWER
        elif type(kind) in _OPERATIONS and not (isinstance(kind, ast.FloorDiv) and other == 0):
            result = _OPERATIONS[type(kind)](one, other)
        else:
            return None
        if not -_LARGEST - 1 <= result <= _LARGEST:
            raise _TooLarge(node, result)
        results.append(result)
    return results


_BAD = """\
import jax.numpy as jnp


def log_factorials(count):
    return jnp.log(jnp.cumprod(jnp.arange(1, count + 1)))


table = log_factorials(20)
"""

RULE = lint_rule(
    "NNX978",
    "integer-overflow",
    "a product, power or sum of integers that 32 bits cannot hold, or an array of such integers",
    why="""\
`jnp.arange` gives integers of 32 bits, and their sums, products and powers stay such: they do not hold 13!, nor
`2 ** jnp.arange(40)`, nor the sum of `jnp.arange(100_000)`. NumPy has 64 bits in the same places. Nothing raises; the
numbers wrap around, and a logarithm of them is nan. Integers of NumPy that are larger than that, as identifiers and
times in nanoseconds are, lose their upper bits when they become an array of JAX, also as an argument of a compiled
function.
""",
    source="jax issues on integers that overflow; measured on JAX 0.6.2, 0.7.2 and 0.10.2: 13! is 1932053504",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("jnp.arange(1, count + 1)", "jnp.arange(1.0, count + 1)"),
        _BAD.replace("(20)", "(12)"),
    ),
)
