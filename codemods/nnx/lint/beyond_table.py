"""Ids written into the inputs of an nnx.Embed for which its table has no row; part of NNX847."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.dict_entries import sources_of
from codemods.nnx.lint.formula import binary, operand
from codemods.nnx.lint.image_sizes import product
from codemods.nnx.lint.names import last
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Free, Param, Sequence, Unknown, Value

# what gives the elements of some of its arguments, with the places of these
_MIXING = {"where": (1, 2), "full": (1,), "full_like": (1,), "maximum": (0, 1), "array": (0,), "asarray": (0,),
           "concatenate": (0,), "stack": (0,), "hstack": (0,), "vstack": (0,), "append": (0, 1), "insert": (0, 2),
           "reshape": (0,), "roll": (0,), "flip": (0,), "expand_dims": (0,), "squeeze": (0,), "tile": (0,),
           "repeat": (0,), "broadcast_to": (0,)}  # fmt: skip
_KEEPING = frozenset({"reshape", "astype", "squeeze", "copy", "ravel", "flatten"})
_WRITING = frozenset({"set", "max"})
_DEPTH = 10
_LOOPS = (ast.For, ast.While, ast.comprehension)


class _Size(NamedTuple):
    """A number that is known as far as what the project computes once, such as ``len(WORDS)``.

    Attributes:
        base: the call that gives it; None for a number that is known.
        number: what is added to it.
    """

    base: ast.expr | None
    number: int

    def __str__(self) -> str:
        if self.base is None:
            return str(self.number)
        sign = "-" if self.number < 0 else "+"
        return ast.unparse(self.base) + (f" {sign} {abs(self.number)}" if self.number else "")


def beyond_tables(context: Context) -> Iterator[tuple[CallEvent, ast.expr, _Size, _Size]]:
    """Yield the lookups, with how the ids are made, the id that has no row, and how many rows there are.

    Args:
        context: the analysis.
    """
    texts = [module.source.data for module in context.project.modules]
    if not any(b"nnx.Embed(" in text or b"import Embed" in text for text in texts):
        return
    tables = context.flow.may.made_by({"Embed"})
    for event in context.asked.calls():
        if len(event.value.args) != 1 or event.node.keywords or not tables.may_be(event.value.callee):
            continue
        if in_test(event.scope) or context.bodies.guarded(event.node, event.scope) or _masked(context, event):
            continue
        if owner_class(context, event.value.callee, event.scope) != "flax.nnx.Embed":
            continue
        rows = {_rows(context, made) for made in context.sources.of(context.flow.here(event.value.callee, event.scope))}
        count = rows.pop() if len(rows) == 1 else None
        if count is None:
            continue
        for written, node in _ids(context, context.flow.here(event.value.args[0], event.scope), 0):
            if written.base is count.base and written.number >= count.number:
                yield event, node, written, count
                break


def taken_beyond(context: Context) -> Iterator[tuple[CallEvent, ast.expr, _Size, _Size]]:
    """Yield the calls of ``jnp.take`` for ids that have no row, as :func:`beyond_tables` yields lookups of an Embed.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, "take"):
        given, axis = event.value.args, argument(event.node, 2, "axis")
        if name != "jax.numpy.take" or len(given) < 2 or event.value.starred or in_test(event.scope):
            continue
        if constant(axis) != 0 or {"mode", "fill_value"} & {one.arg for one in event.node.keywords}:
            continue
        if context.bodies.guarded(event.node, event.scope) or _masked(context, event):
            continue
        count = _rows_of(context, event)
        if count is None:
            continue
        for written, node in _ids(context, context.flow.here(given[1], event.scope), 0):
            if written.base is count.base and written.number >= count.number:
                yield event, node, written, count
                break


def _rows_of(context: Context, event: CallEvent) -> _Size | None:
    """Return the number of rows of the table that is looked up."""
    rows = {_drawn_rows(context, one) for one in sources_of(context, event.node.args[0], event.scope)}
    return rows.pop() if len(rows) == 1 else None


def _drawn_rows(context: Context, table: Bound) -> _Size | None:
    """Return the number of rows of a table that is drawn or filled: ``0.1 * jax.random.normal(key, (rows, n))``."""
    value, flow = table.value, context.flow
    scaled = binary(table, ast.Mult, ast.Div)
    if scaled is not None:
        for side in (scaled.left, scaled.right):
            made = operand(context, table, side).value
            if isinstance(made, Call) and (found := _drawn_rows(context, flow.with_value(table, made))) is not None:
                return found
        return None
    if not isinstance(value, Call) or value.starred:
        return None
    name = flow.calls.callee_name(table)
    place = 1 if name.startswith("jax.random.") else 0 if name in {"jax.numpy.zeros", "jax.numpy.ones"} else None
    shape = value.argument(place, "shape") if place is not None else None
    whole = flow.follow(table, shape).value if shape is not None else None
    if not isinstance(whole, Sequence) or len(whole.items) < 2:
        return None
    return _size(context, flow.with_value(table, whole.items[0]))


def _masked(context: Context, event: CallEvent) -> bool:
    """Say whether what has no row may be left out afterwards."""
    return any(
        last_word(other.node.func) in {"where", "nan_to_num", "isnan", "select"}
        and other.node.lineno >= event.node.lineno
        for other in context.bodies.calls.get(event.scope, ())
    )


def _rows(context: Context, made: Bound) -> _Size | None:
    value = made.value
    if not isinstance(value, Call) or value.starred or context.flow.calls.callee_name(made) != "flax.nnx.Embed":
        return None
    count = value.argument(0, "num_embeddings")
    return _size(context, context.flow.with_value(made, count)) if count is not None else None


def _size(context: Context, bound: Bound, depth: int = 0) -> _Size | None:
    """Return the number that a value is, or what is added in it to a length that is computed once."""
    number = product(context, bound)
    if number is not None:
        return _Size(None, number)
    found = context.flow.resolve(bound)
    value = found.value
    if isinstance(value, Call):
        known = context.flow.calls.callee_name(found) == "builtins.len" and _once(context, value.node)
        return _Size(value.node, 0) if known else None
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp) and isinstance(value.node.op, ast.Add):
        home, node = context.bodies.module_scope(value.node), value.node
        sides = [home.module.values.get(side) for side in (node.left, node.right)] if home is not None else []
        sizes = [_size(context, Bound(s, found.frame), depth + 1) for s in sides if s is not None and depth < _DEPTH]
        terms = [one for one in sizes if one is not None]
        if len(terms) == 2 and None in {one.base for one in terms}:
            return _Size(terms[0].base or terms[1].base, terms[0].number + terms[1].number)
        return None
    sources = [one for one in context.sources.of(found) if one.value is not value] if depth < _DEPTH else []
    ways = {_size(context, one, depth + 1) for one in sources}
    return ways.pop() if len(ways) == 1 else None


def _once(context: Context, node: ast.expr) -> bool:
    """Say whether a program runs an expression once: at the top of a module, or in a function called there alone."""
    home = context.bodies.home(node)
    if home is None or any(isinstance(block, _LOOPS) for block, _ in context.bodies.paths(home).get(node, ())):
        return False
    if home.function is None:
        return home.parent is None
    callers = context.flow.sites.callers(home.function)
    return len(callers) == 1 and not callers[0].loops and callers[0].scope.parent is None


def _ids(context: Context, ids: Bound, depth: int) -> Iterator[tuple[_Size, ast.expr]]:
    """Yield the constants that are certainly among the elements of an array, with the calls that put them there."""
    if depth > _DEPTH:
        return
    for one in context.sources.originals(ids):
        value = one.value
        if isinstance(value, Param):
            for given in _called(context, value):
                yield from _ids(context, given, depth + 1)
        if not isinstance(value, Call) or value.starred:
            continue
        name, callee, node = context.flow.calls.callee_name(one), value.callee, value.node
        end = _end(value, name)
        if end is not None:
            count = product(context, context.flow.with_value(one, end))
            if count is not None:
                yield _Size(None, count - 1), node
            continue
        if name.startswith(("jax.numpy.", "numpy.")) and last(name) in _MIXING:
            for place in _MIXING[last(name)]:
                if place < len(value.args):
                    yield from _elements(context, context.flow.with_value(one, value.args[place]), node, depth)
            continue
        if last(name) == "pad" and name.startswith("jax.numpy."):
            filled = value.keyword("constant_values")
            if filled is not None:
                yield from _elements(context, context.flow.with_value(one, filled), node, depth)
            if value.args:
                yield from _ids(context, context.flow.with_value(one, value.args[0]), depth + 1)
            continue
        if not isinstance(callee, Attr) or name:
            continue
        func = node.func
        if callee.name in _KEEPING:
            yield from _ids(context, context.flow.with_value(one, callee.base), depth + 1)
        elif callee.name in _WRITING and isinstance(func, ast.Attribute) and isinstance(func.value, ast.Subscript):
            at = func.value.value
            if isinstance(at, ast.Attribute) and at.attr == "at" and len(value.args) == 1:
                yield from _elements(context, context.flow.with_value(one, value.args[0]), node, depth)


def _end(value: Call, name: str) -> Value | None:
    """Return what the ids that a call draws or counts are less than."""
    if name == "jax.random.randint":
        return value.argument(3, "maxval")
    return value.args[0] if name == "jax.numpy.arange" and len(value.args) == 1 else None


def _called(context: Context, param: Param) -> Iterator[Bound]:
    """Yield what the calls of models that are arguments themselves give to a model's own call."""
    function, names = param.function, list(param.function.params)
    if function.owner is None or function.name != "__call__" or names[1:2] != [param.name]:
        return
    for event in context.project.calls():
        callee, given = event.value.callee, event.value.args
        if isinstance(callee, Param | Free) and len(given) == len(event.node.args) > 0 and not event.value.starred:
            if isinstance(event.node.func, ast.Name):
                if not in_test(event.scope) and _instance(context, callee, event.scope) is function.owner:
                    yield context.flow.here(given[0], event.scope)


def _instance(context: Context, value: Value, scope: Scope) -> ClassFacts | str | None:
    """Return the one class whose instance a value is, also under a gradient, which is taken of many functions."""
    found = owner_class(context, value, scope)
    if found is not None or not isinstance(value, Param):
        return found
    made = [context.flow.classes.class_of(one) for one in context.sources.originals(context.flow.here(value, scope))]
    return made[0] if len(made) == 1 else None


def _elements(context: Context, given: Bound, node: ast.expr, depth: int) -> Iterator[tuple[_Size, ast.expr]]:
    """Yield the constants that a number, a list or an array puts in."""
    found = context.flow.resolve(given)
    if isinstance(found.value, Sequence):
        for item in found.value.items if depth < _DEPTH else ():
            yield from _elements(context, context.flow.follow(found, item), node, depth + 1)
        return
    number = _size(context, given)
    if number is not None:
        yield number, node
    else:
        yield from _ids(context, given, depth + 1)
