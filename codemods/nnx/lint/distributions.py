"""Arrays of probabilities: numbers that are written and sum to one, and what is divided by its sum; part of NNX869."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.formula import binary, operand, same_numbers
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Choice, Item, Loop, Param, Sequence, Unknown, Value

_SPACES = ("jax.", "numpy.", "flax.")
_DRAWN = frozenset({"jax.random.dirichlet", "numpy.random.dirichlet"})
_SOFTMAX = frozenset({"softmax"})
_LOGARITHMS = frozenset({"log_softmax", "log_sigmoid"})
_EXPONENTIALS = frozenset({"jax.numpy.exp", "numpy.exp", "jax.lax.exp"})
_LOGARITHM_WORD = pattern(r"log_?(p|pi|probs?|probabilit(y|ies)|softmax|w|weights?)")
_ROUNDING = 1e-6
_DEPTH = 8


def probabilities(context: Context, bound: Bound, depth: int = 0) -> bool:
    """Say whether a value certainly is an array of probabilities that sum to one, or rows of one.

    Args:
        context: the analysis.
        bound: the array.
        depth: how many steps it was followed.
    """
    if depth > _DEPTH:
        return False
    sources = context.sources.originals(bound)
    return bool(sources) and all(_made(context, source, depth) for source in sources)


def _made(context: Context, source: Bound, depth: int) -> bool:
    """Say whether a source is known to be an array of probabilities."""
    value = source.value
    if isinstance(value, Item | Indexed):
        return probabilities(context, context.flow.with_value(source, value.base), depth + 1)
    if isinstance(value, Sequence):
        return _written(context, source)
    if isinstance(value, Unknown):
        return _divided(context, source)
    if not isinstance(value, Call) or value.starred:
        return False
    name = context.flow.calls.callee_name(source)
    given = [context.flow.with_value(source, one) for one in value.args]
    if name in _DRAWN or (name.startswith(_SPACES) and last(name) in _SOFTMAX):
        return True
    if name in _EXPONENTIALS and given:
        return _logarithms(context, given[0], value.node.args[0])
    inner = given[0] if name == "jax.lax.stop_gradient" and given else same_numbers(context, source)
    return inner is not None and probabilities(context, inner, depth + 1)


def _logarithms(context: Context, bound: Bound, node: ast.expr) -> bool:
    """Say whether a value is of logarithms of probabilities, by what made it or by what it is called."""
    if _LOGARITHM_WORD.fullmatch(last_word(node).lower()):
        return True
    return any(
        isinstance(one.value, Call) and last(context.flow.calls.callee_name(one)) in _LOGARITHMS
        for one in context.sources.originals(bound)
    )


def _written(context: Context, source: Bound) -> bool:
    """Say whether a display has numbers that sum to one, in each of its rows or in each of its columns."""
    rows = _rows(context, source, 0)
    if not rows:
        return False
    if len(rows) > 1 and len({len(row) for row in rows}) == 1:
        columns = [list(column) for column in zip(*rows, strict=True)]
        return _sum_to_one(rows) or _sum_to_one(columns)
    return _sum_to_one(rows)


def _rows(context: Context, source: Bound, depth: int) -> list[list[float]]:
    """Return the rows of numbers that a display consists of, of several axes too; none if one is not known."""
    value = source.value
    if not isinstance(value, Sequence) or depth > 3:
        return []
    items = [context.flow.follow(source, one) for one in value.items]
    if any(isinstance(one.value, Sequence) for one in items):
        found = [_rows(context, one, depth + 1) for one in items]
        return [row for some in found for row in some] if all(found) else []
    known = [_number(context, one) for one in items]
    return [[one for one in known if one is not None]] if None not in known else []


def _number(context: Context, bound: Bound) -> float | None:
    scope = bound.frame.function.scope if bound.frame is not None else None
    if scope is None and isinstance(bound.value, Call | Unknown):
        scope = context.bodies.module_scope(bound.value.node)
    scope = scope or next(iter(context.asked.modules)).scope
    found = numbers(context, bound.value, scope)
    return next(iter(found)) if len(found) == 1 else None


def _sum_to_one(rows: list[list[float]]) -> bool:
    return all(
        len(row) > 1 and all(0 <= one <= 1 for one in row) and abs(sum(row) - 1) < _ROUNDING for row in rows
    ) and any(0 < one < 1 for row in rows for one in row)


def _divided(context: Context, source: Bound) -> bool:
    """Say whether an array was divided by its own sum, along one axis or all: ``counts / counts.sum()``."""
    node = binary(source, ast.Div)
    if node is None:
        return False
    whole = operand(context, source, node.left)
    for divisor in context.sources.originals(operand(context, source, node.right)):
        summed = _summed(context, divisor)
        if summed is None:
            return False
        value, written = summed
        if not _same(context, whole, node.left, value, written):
            return False
    return True


def _summed(context: Context, bound: Bound) -> tuple[Bound, ast.expr] | None:
    """Return the array whose sum a value is, also with axes added to it: ``counts.sum(axis=1)[:, None]``."""
    value: Value = bound.value
    if isinstance(value, Item):
        value = value.base
        if not isinstance(value, Call):
            found = context.flow.follow(bound, value)
            bound, value = found, found.value
    if not isinstance(value, Call):
        return None
    name = context.flow.calls.callee_name(context.flow.with_value(bound, value))
    func = value.node.func
    if name in {"jax.numpy.sum", "numpy.sum"} and value.args:
        return context.flow.with_value(bound, value.args[0]), value.node.args[0]
    if not name and isinstance(value.callee, Attr) and value.callee.name == "sum" and isinstance(func, ast.Attribute):
        return context.flow.with_value(bound, value.callee.base), func.value
    return None


def _same(context: Context, one: Bound, node: ast.expr, other: Bound, written: ast.expr) -> bool:
    """Say whether two expressions of one formula are the same array."""
    if one == other:
        return True
    if isinstance(one.value, Param | Loop | Choice):
        return False
    first, second = context.flow.resolve(one), context.flow.resolve(other)
    if first == second and not isinstance(first.value, Choice):
        return True
    return (
        not isinstance(node, ast.Name)
        and ast.dump(node) == ast.dump(written)
        and abs(node.lineno - written.lineno) <= 1
        and one.frame == other.frame
    )
