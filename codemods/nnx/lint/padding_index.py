"""Negative numbers as padding of indices, which count from the end; part of NNX847."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.names import last
from codemods.nnx.lint.object_calls import given_to_objects
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import in_test, written
from codemods.nnx.lint.syntax import constant, keyword, names_in
from codemods.nnx.lint.zero_padding import zero_padded
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Choice, Const, Item, Loop, Param, Ref, Sequence, Unknown, Value

_UPDATES = ("add", "apply", "divide", "get", "max", "min", "mul", "multiply", "power", "set", "subtract")
# functions that take indices, with the position of these
_TAKING = {"jax.numpy.take": 1, "jax.numpy.take_along_axis": 1}
_COPYING = frozenset({"array", "asarray", "device_put", "ravel", "reshape", "astype", "copy", "flatten", "squeeze"})
# what is filled up with a number to a fixed size, by the name of that argument
_FILLING = {"full": (1, "fill_value"), "full_like": (1, "fill_value"), "pad": (9, "constant_values"),
            "nonzero": (9, "fill_value"), "flatnonzero": (9, "fill_value"), "argwhere": (9, "fill_value"),
            "unique": (9, "fill_value"), "union1d": (9, "fill_value"), "intersect1d": (9, "fill_value"),
            "setdiff1d": (9, "fill_value")}  # fmt: skip
_JOINING = frozenset({"concatenate", "concat", "append", "hstack"})
_MASKS = pattern(r"mask|valid|keep|is_pad|weights?$", re.I)
_DEPTH = 8
_SCATTER = pattern(rb"\.at\[", needs=(b".at[",))
_OWN_ROW = pattern(rb"dummy|sentinel|trash|garbage|scratch|sink")  # the last row is one for padding


def negative_padding(context: Context) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield the indices that hold negative padding where padding is meant to be dropped, with the mode, or none.

    Args:
        context: the analysis.
    """
    modules = [m for m in context.asked.modules if m.source.mentions(b"drop") or m.source.mentions(b"fill")
               or m.source.mentions(b"FILL_OR_DROP") or m.source.matches(_SCATTER)]  # fmt: skip
    if not modules:
        return
    for event in context.bodies.named(*_UPDATES, *(last(name) for name in _TAKING)):
        if event.scope.module not in modules or in_test(event.scope):
            continue
        mode = _mode(context, event)
        if not (mode or _scatters(context, event)) or keyword(event.node, "wrap_negative_indices") is not None:
            continue
        for index in _indices(context, event):
            value = event.scope.module.values.get(index)
            if value is None or not _padded(context, context.flow.here(value, event.scope), 0, set()):
                continue
            if not _masked(context, event, index):
                yield event.scope, index, mode
                break


def _mode(context: Context, event: CallEvent) -> str:
    """Return the mode of a call that is said to leave out what is out of bounds; empty for another one."""
    value = event.value.keyword("mode")
    found = context.flow.resolve(context.flow.here(value, event.scope)).value if value is not None else None
    if isinstance(found, Const) and found.value in {"drop", "fill"}:
        return str(found.value)
    return "fill" if isinstance(found, Ref) and last(found.name) == "FILL_OR_DROP" else ""


def _scatters(context: Context, event: CallEvent) -> bool:
    """Say whether a call without a mode changes places of an array that has no row of its own for padding."""
    func, source = event.node.func, event.scope.module.source
    if last_word(func) in {"get", "take", "take_along_axis"} or event.value.keyword("mode") is not None:
        return False
    whole = _changed_at(func)
    made = written(context, whole[0], event.scope) if whole is not None else None
    if not isinstance(made, ast.Call) or not source.matches(_SCATTER) or source.matches(_OWN_ROW):
        return False
    if last_word(made.func) == "zeros_like":
        return True
    return last_word(made.func) == "zeros" and not any(isinstance(n, ast.Add) for n in ast.walk(made))


def _indices(context: Context, event: CallEvent) -> list[ast.expr]:
    """Return the indices of ``x.at[...].add(...)``, or those that are given to a function."""
    func = event.node.func
    name = context.flow.calls.name(event)
    if name in _TAKING:
        given = keyword(event.node, "indices")
        place = _TAKING[name]
        return [given] if given is not None else event.node.args[place : place + 1]
    changed = _changed_at(func)
    parts = elements(changed[1]) if changed is not None else []
    return [part for part in parts if isinstance(part, ast.Name | ast.Attribute | ast.Subscript | ast.Call)]


def _changed_at(func: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return the array and the index of ``x.at[...].add``; None of anything else."""
    place = func.value if isinstance(func, ast.Attribute) else None
    if not isinstance(place, ast.Subscript) or not isinstance(place.value, ast.Attribute) or place.value.attr != "at":
        return None
    return place.value.value, place.slice


def _padded(context: Context, bound: Bound, depth: int, seen: set[Bound]) -> bool:
    """Say whether an array is filled up with a negative number, by one of the ways in which it is made."""
    if depth > _DEPTH or bound in seen:
        return False
    seen.add(bound)
    return any(_source(context, one, depth + 1, seen) for one in context.sources.originals(bound))


def _source(context: Context, bound: Bound, depth: int, seen: set[Bound]) -> bool:
    value = bound.value
    if isinstance(value, Changed | Loop):
        return depth <= _DEPTH and _source(context, context.flow.with_value(bound, value.before), depth + 1, seen)
    if isinstance(value, Indexed | Round | Item):  # a row of a table
        base = context.flow.with_value(bound, value.base)
        return not isinstance(base.value, Param) and depth <= _DEPTH and _padded(context, base, depth + 1, seen)
    if isinstance(value, Choice):
        return any(_source(context, context.flow.with_value(bound, way), depth + 1, seen) for way in value.options)
    if isinstance(value, Param):
        return any(_padded(context, one, depth + 1, seen) for one in given_to_objects(context, bound))
    if isinstance(value, Unknown):
        return _minus_ones(context, value.node)
    if not isinstance(value, Call) or value.starred:
        return False
    name = context.flow.calls.callee_name(bound)
    word = last(name)
    if not name and isinstance(value.callee, Attr) and value.callee.name in _COPYING:
        return _padded(context, context.flow.with_value(bound, value.callee.base), depth + 1, seen)
    if not name.startswith(("jax.numpy.", "numpy.", "jax.device_put")):
        return False
    if word in _FILLING:
        place, keyword_name = _FILLING[word]
        fill = value.argument(place, keyword_name)
        return fill is not None and _negative(context, bound, fill)
    if word == "where":
        if fill := value.keyword("fill_value"):
            return _negative(context, bound, fill)
        return len(value.args) == 3 and any(_negative(context, bound, one) for one in value.args[1:])
    if word in _JOINING and value.args:
        listed = word != "append" and isinstance(value.args[0], Sequence)
        pieces = value.args[0].items if listed and isinstance(value.args[0], Sequence) else value.args[:2]
        return any(_padded(context, context.flow.with_value(bound, piece), depth + 1, seen) for piece in pieces)
    if word in _COPYING and value.args:
        given = value.args[0]
        node = value.node.args[0] if value.node.args else None
        return (node is not None and _filled_rows(context, node)) or _padded(
            context, context.flow.with_value(bound, given), depth + 1, seen
        )
    return False


def _negative(context: Context, bound: Bound, fill: Value) -> bool:
    """Say whether a number is a negative one."""
    found = context.flow.follow(bound, fill).value
    if isinstance(found, Const):
        return type(found.value) is int and found.value < 0
    number = constant(found.node) if isinstance(found, Unknown) and isinstance(found.node, ast.expr) else None
    return type(number) is int and number < 0


def _minus_ones(context: Context, node: ast.AST) -> bool:
    """Say whether an expression is ``-ones(n)`` or ``ones(n) * -1``."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _named(context, node.operand, "ones")
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    sides = ((node.left, node.right), (node.right, node.left))
    return any(_below_zero(context, number) and _named(context, made, "ones") for number, made in sides)


def _named(context: Context, node: ast.expr, word: str) -> bool:
    """Say whether an expression is a call of a function of NumPy or JAX."""
    scope = context.bodies.home(node) if isinstance(node, ast.Call) and last_word(node.func) == word else None
    value = scope.module.values.get(node) if scope is not None else None
    if scope is None or not isinstance(value, Call):
        return False
    return context.flow.calls.callee_name(context.flow.here(value, scope)).startswith(("numpy.", "jax.numpy."))


def _filled_rows(context: Context, node: ast.expr) -> bool:
    """Say whether lists are filled up with a negative number, as in ``row + [-1] * (n - len(row))``."""
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult) and isinstance(part.left, ast.List):
            if len(part.left.elts) == 1 and _below_zero(context, part.left.elts[0]):
                return True
    return False


def _below_zero(context: Context, node: ast.expr) -> bool:
    """Say whether a negative number is written, or a variable of that one value: ``PAD``."""
    if isinstance(node, ast.Name):
        scope = context.bodies.module_scope(node)
        value = scope.module.values.get(node) if scope is not None else None
        return scope is not None and value is not None and _negative(context, context.flow.here(value, scope), value)
    number = constant(node)
    return type(number) is int and number < 0


def _masked(context: Context, event: CallEvent, index: ast.expr) -> bool:
    """Say whether what is done with padding may be of no effect: zeros are written there, or it is taken out again."""
    names = names_in(index) - {"jnp", "np", "jax"}
    if last_word(event.node.func) in {"get", "take", "take_along_axis"}:
        parts: list[ast.AST] = [event.statement]
    else:
        parts = [one for given in event.node.args for one in _chain(context, event.scope, given, 0)]
        if any(zero_padded(context, context.flow.here(given, event.scope)) for given in event.value.args):
            return True  # what is added there changes nothing
    for part in parts:
        for node in ast.walk(part):
            if _chooses(node, names) and not _within(node, index) and not _ones(context, event.scope, node):
                return True
    end = event.statement.end_lineno or 0
    later = [n for n in context.bodies.nodes(event.scope) if getattr(n, "lineno", 0) > end]
    cut = [*ast.walk(event.statement), *later]
    if any(isinstance(n, ast.Slice) and n.lower is None and n.upper is not None for n in cut):
        return True  # a row more than there are, which is left out again
    return any(_chooses(node, names) for node in later)


def _ones(context: Context, scope: Scope, node: ast.AST) -> bool:
    """Say whether a variable holds ones alone, which choose nothing."""
    value = scope.module.values.get(node) if isinstance(node, ast.Name) else None
    made = context.sources.originals(context.flow.here(value, scope)) if value is not None else ()
    return bool(made) and all(
        isinstance(one.value, Call) and context.flow.calls.callee_name(one) in {"jax.numpy.ones", "numpy.ones"}
        for one in made
    )


def _within(node: ast.AST, index: ast.expr) -> bool:
    return any(part is node for part in ast.walk(index))


def _chain(context: Context, scope: Scope, node: ast.expr, depth: int) -> Iterator[ast.expr]:
    """Yield an expression, and those that the variables in it stand for."""
    yield node
    for part in ast.walk(node) if depth < 4 else ():
        bound = bound_once(context, scope, part) if isinstance(part, ast.Name) else None
        if bound is not None:
            yield from _chain(context, scope, bound, depth + 1)


def _chooses(node: ast.AST, names: frozenset[str]) -> bool:
    """Say whether something asks which indices are padding, or chooses by a mask."""
    if isinstance(node, ast.Name | ast.Attribute):
        return _MASKS.search(node.id if isinstance(node, ast.Name) else node.attr) is not None
    if isinstance(node, ast.Compare):
        return bool(names & names_in(node))
    return isinstance(node, ast.Call) and last_word(node.func) in {"where", "select", "nan_to_num", "isnan"}
