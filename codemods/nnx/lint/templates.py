"""Formulas written as templates, which find the same formula in code however it is written.

``match("2 * X / H", node)`` finds ``x / h * 2`` and ``2.0 * x / h`` alike: sums and products may be in any order,
numbers may stand anywhere, ``x / 2`` is ``0.5 * x``, ``jnp.square(x)`` and ``x * x`` are ``x**2``, ``x.sum()`` is
``jnp.sum(x)``, and a name stands for what it was set to. Names in capitals stand for anything, the same wherever they
stand; all others are functions and numbers by their last word.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from codemods.nnx.lint.array_calls import MODULES
from codemods.nnx.nodes import last_word

#: What a name in capitals stands for, as text, with the node.
Bound = dict[str, tuple[str, ast.expr]]
Resolve = Callable[[ast.expr], ast.expr]


@dataclass(frozen=True)
class Factor:
    """What is multiplied, to a power.

    Attributes:
        node: the expression.
        power: the power; negative for what is divided by.
    """

    node: ast.expr
    power: float


@dataclass(frozen=True)
class Term:
    """A product.

    Attributes:
        number: the product of its numbers, with the sign.
        factors: everything else.
    """

    number: float
    factors: tuple[Factor, ...]


def terms(node: ast.expr, sign: float = 1.0) -> list[Term]:
    """Return the terms of a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        second = -sign if isinstance(node.op, ast.Sub) else sign
        every = [*terms(node.left, sign), *terms(node.right, second)]
        return _added([one for one in every if not _small(one)] or every)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return terms(node.operand, -sign if isinstance(node.op, ast.USub) else sign)
    number, found = _product(node, 1.0)
    if len(found) == 1 and found[0].power == 1 and _is_sum(found[0].node):
        inner = terms(found[0].node)  # in parentheses, perhaps times a number
        return [Term(sign * number * one.number, one.factors) for one in inner]
    return [Term(sign * number, _joined(found))]


def _added(parts: list[Term]) -> list[Term]:
    """Return terms with one for all that are numbers: ``1 - 0.9`` is 0.1."""
    numbers = [one for one in parts if not one.factors]
    if len(numbers) < 2:
        return parts
    return [*(one for one in parts if one.factors), Term(sum(one.number for one in numbers), ())]


def _small(term: Term) -> bool:
    """Say whether a term only keeps a sum from being zero: ``x + 1e-8`` and ``x + eps`` stand for ``x``."""
    if not term.factors:
        return 0 < abs(term.number) <= _SMALL
    last = last_word(term.factors[0].node)
    return len(term.factors) == 1 and term.number == 1 and last.lower() in {"eps", "epsilon", "tiny", "smooth"}


def _without_small(node: ast.expr, reading: Reading) -> ast.expr:
    """Return ``x`` of ``x + 1e-8`` and ``x + eps``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if all(map(_small, reading.terms(other))):
                return one
    return node


def _is_sum(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub | ast.UAdd)
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _product(node: ast.expr, power: float) -> tuple[float, list[Factor]]:
    """Return the numbers and factors of a product."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        number = _to_power(node.value, power)
        if number is not None:
            return number, []
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and power in {1, -1}:
        number, found = _product(node.operand, power)
        return -number, found
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        one, left = _product(node.left, power)
        other, right = _product(node.right, -power if isinstance(node.op, ast.Div) else power)
        return one * other, left + right
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        exponent = _number(node.right)
        if exponent is not None:
            return _raised(node.left, exponent, power)
    elif isinstance(node, ast.Call) and len(node.args) == 1 and last_word(node.func) in _POWERS:
        return _raised(node.args[0], _POWERS[last_word(node.func)], power)
    elif _is_sum(node) and power in {1, -1}:
        every = terms(node)
        number = _to_power(every[0].number, power) if len(every) == 1 and every[0].number else None
        if number is not None:  # the rest keeps it from being zero
            return number, [Factor(one.node, one.power * power) for one in every[0].factors]
    return 1.0, [Factor(node, power)]


def _to_power(number: float, power: float) -> float | None:
    """Return a power of a number; None if it is none, or too large for a float."""
    try:
        found: float = float(number) ** power
    except (OverflowError, ZeroDivisionError):
        return None
    return found


def _raised(node: ast.expr, exponent: float, power: float) -> tuple[float, list[Factor]]:
    number, found = _product(node, 1.0)
    raised = None if number < 0 else _to_power(number, exponent * power)
    if raised is None or (len(found) > 1 and exponent * power not in {2, -2}):
        return 1.0, [Factor(node, exponent * power)]
    return raised, [Factor(one.node, one.power * exponent * power) for one in found]


_POWERS = {"square": 2.0, "sqrt": 0.5, "rsqrt": -0.5, "reciprocal": -1.0}


def _number(node: ast.expr) -> float | None:
    number, found = _product(node, 1.0)
    return number if not found else None


def _joined(found: list[Factor]) -> tuple[Factor, ...]:
    """Join equal factors: ``x * x`` is ``x**2``."""
    if len(found) < 2:
        return tuple(one for one in found if one.power)
    powers: dict[str, Factor] = {}
    for one in found:
        key = ast.unparse(one.node)
        powers[key] = Factor(one.node, one.power + (powers[key].power if key in powers else 0))
    return tuple(one for one in powers.values() if one.power)


class Reading:
    """An expression, with what many templates ask about it and its parts."""

    def __init__(self, node: ast.expr, resolve: Resolve) -> None:
        """Read an expression.

        Args:
            node: the expression.
            resolve: gives the expression of which a variable is the name, or the variable itself.
        """
        self.node = node
        self._resolve = resolve
        self._made: dict[ast.expr, ast.expr] = {}
        self._terms: dict[ast.expr, list[Term]] = {}
        self._whole: Reading | None = None

    def made(self, node: ast.expr) -> ast.expr:
        """Return the expression of which a variable is the name, or the variable itself."""
        if node not in self._made:
            self._made[node] = self._resolve(node)
        return self._made[node]

    def terms(self, node: ast.expr) -> list[Term]:
        """Return the terms of a part, see :func:`terms`."""
        if node not in self._terms:
            self._terms[node] = terms(node)
        return self._terms[node]

    def whole(self) -> Reading:
        """Return the expression with what its names stand for in their place; itself if that is the same."""
        if self._whole is None:
            node = _expanded(self.node, self.made, 0)
            self._whole = self if node is self.node else Reading(node, lambda one: one)
        return self._whole


def match(template: str, node: ast.expr, resolve: Resolve) -> Bound | None:
    """Return what the capitals of a template stand for in an expression; None if that is another formula.

    Args:
        template: the formula.
        node: the expression.
        resolve: gives the expression of which a variable is the name, or the variable itself.
    """
    return next(matches(template, Reading(node, resolve)), None)


def matches(template: str, reading: Reading) -> Iterator[Bound]:
    """Yield all that the capitals of a template may stand for in an expression, see :func:`match`."""
    wanted = parsed(template)
    yield from _matched(wanted, reading.node, reading, {})
    whole = reading.whole()
    if whole is not reading:
        yield from _matched(wanted, whole.node, whole, {})


def _expanded(node: ast.expr, resolve: Resolve, depth: int) -> ast.expr:
    """Return an expression with what its names stand for in their place."""
    if isinstance(node, ast.Name | ast.Call):
        made = resolve(node)
        if made is not node and depth < _DEPTH:
            return _expanded(made, resolve, depth + 1)
    if isinstance(node, ast.BinOp):
        left, right = (_expanded(one, resolve, depth) for one in (node.left, node.right))
        if left is not node.left or right is not node.right:
            return ast.copy_location(ast.BinOp(left, node.op, right), node)
    elif isinstance(node, ast.UnaryOp):
        operand = _expanded(node.operand, resolve, depth)
        if operand is not node.operand:
            return ast.copy_location(ast.UnaryOp(node.op, operand), node)
    elif isinstance(node, ast.Call):
        given = [_expanded(one, resolve, depth) for one in node.args]
        if any(one is not other for one, other in zip(given, node.args, strict=True)):
            return ast.copy_location(ast.Call(node.func, given, node.keywords), node)
    return node


_DEPTH = 3


@cache
def parsed(template: str) -> ast.expr:
    """Return the syntax of a template."""
    return ast.parse(template, mode="eval").body


@cache
def _wanted(part: ast.expr) -> list[Term]:
    """Return the terms of a part of a template, of which there are few, and each is asked for again and again."""
    return terms(part)


def _matched(wanted: ast.expr, node: ast.expr, reading: Reading, bound: Bound) -> Iterator[Bound]:
    """Yield the ways in which an expression is the wanted one."""
    if isinstance(wanted, ast.Name) and wanted.id.isupper():
        node = _without_small(node, reading)
        text = ast.unparse(node)
        known = bound.get(wanted.id)
        if known is None:
            yield {**bound, wanted.id: (text, node)}
        elif known[0] == text:
            yield bound
        return
    yield from _sums(_wanted(wanted), reading.terms(node), reading, bound)
    if isinstance(node, ast.Name):
        made = reading.made(node)
        if made is not node:
            yield from _matched(wanted, made, reading, bound)


def _sums(wanted: list[Term], given: list[Term], reading: Reading, bound: Bound) -> Iterator[Bound]:
    """Yield the ways in which the terms of two sums belong to each other."""
    if len(wanted) != len(given):
        return
    if not wanted:
        yield bound
        return
    first, *rest = wanted
    for index, term in enumerate(given):
        if abs(first.number - term.number) > _EXACT * max(1, abs(first.number)):
            continue
        for found in _products(first.factors, term.factors, reading, bound):
            yield from _sums(rest, given[:index] + given[index + 1 :], reading, found)


def _products(wanted: tuple[Factor, ...], given: tuple[Factor, ...], reading: Reading, bound: Bound) -> Iterator[Bound]:
    """Yield the ways in which the factors of two products belong to each other."""
    if len(wanted) != len(given):
        return
    if not wanted:
        yield bound
        return
    # what stands for anything takes what the others leave
    first = min(wanted, key=lambda one: isinstance(one.node, ast.Name))
    rest = tuple(one for one in wanted if one is not first)
    for index, factor in enumerate(given):
        if factor.power == first.power:
            for found in _atoms(first.node, factor.node, reading, bound):
                yield from _products(rest, given[:index] + given[index + 1 :], reading, found)


def _atoms(wanted: ast.expr, node: ast.expr, reading: Reading, bound: Bound) -> Iterator[Bound]:
    """Yield the ways in which two factors are the same."""
    if isinstance(wanted, ast.Name) and wanted.id.isupper():
        yield from _matched(wanted, node, reading, bound)
        return
    if isinstance(node, ast.Name):
        made = reading.made(node)
        if made is not node:
            yield from _matched(wanted, made, reading, bound)
        return
    if isinstance(wanted, ast.BinOp) and isinstance(wanted.op, ast.MatMult):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            for found in _matched(wanted.left, node.left, reading, bound):
                yield from _matched(wanted.right, node.right, reading, found)
        return
    if isinstance(wanted, ast.BinOp) and isinstance(wanted.op, ast.Pow):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            for found in _matched(wanted.left, node.left, reading, bound):
                yield from _matched(wanted.right, node.right, reading, found)
        return
    if isinstance(wanted, ast.BinOp | ast.UnaryOp):
        if isinstance(node, ast.BinOp | ast.UnaryOp):
            yield from _sums(_wanted(wanted), reading.terms(node), reading, bound)
        return
    if isinstance(wanted, ast.Attribute):
        if isinstance(node, ast.Attribute) and node.attr == wanted.attr:
            yield from _matched(wanted.value, node.value, reading, bound)
    elif isinstance(wanted, ast.Subscript):
        if isinstance(node, ast.Subscript) and ast.unparse(wanted.slice) == ast.unparse(node.slice):
            yield from _matched(wanted.value, node.value, reading, bound)
    elif isinstance(wanted, ast.Call):
        yield from _calls(wanted, node, reading, bound)
    elif isinstance(wanted, ast.Name) and isinstance(node, ast.Attribute) and node.attr == wanted.id:
        yield bound  # jnp.pi


def _calls(wanted: ast.Call, node: ast.expr, reading: Reading, bound: Bound) -> Iterator[Bound]:
    if not isinstance(node, ast.Call):
        return
    given, ways = list(node.args), [bound]
    if isinstance(wanted.func, ast.Call):  # grad(F)(X)
        ways = list(_calls(wanted.func, node.func, reading, bound))
    elif isinstance(wanted.func, ast.Name) and wanted.func.id.isupper():
        ways = list(_matched(wanted.func, node.func, reading, bound))
    elif last_word(node.func) != last_word(wanted.func):
        return
    elif (
        isinstance(node.func, ast.Attribute)
        and node.func.attr in _METHODS
        and last_word(node.func.value) not in MODULES
    ):
        given = [node.func.value, *given]  # a method
    if len(given) < len(wanted.args):
        return
    for one, other in zip(wanted.args, given, strict=False):
        ways = [found for way in ways for found in _matched(one, other, reading, way)]
    yield from ways


#: What arrays have as methods, too.
_METHODS = frozenset({"sum", "mean", "var", "std", "max", "min", "dot", "argmax", "argmin"})
_EXACT = 1e-6
_SMALL = 1e-4
