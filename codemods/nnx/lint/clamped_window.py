"""Windows that begin so near to the end of an array that a dynamic slice begins them earlier; part of NNX847."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.frames import Bound, Round
from codemods.nnx.lint.applied import calls_of
from codemods.nnx.lint.clamped_block import blocks, length_of, measured, origins, texts
from codemods.nnx.lint.formula import at, binary, is_number, one_source, operand, same_number
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import the_number
from codemods.nnx.lint.places import foreign, in_test, position
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Each, Param, Unknown

_COUNTING = frozenset({"builtins.range", "jax.numpy.arange", "numpy.arange"})
# what makes the last windows right, or drops them
_CARED_FOR = pattern(
    r"update_slice|\.at\[|where|mask|valid|minimum|\bmin\(|clip|pad|%|divisib|remain|\btail|_tail|\broll\(|wrap\b"
)
_DEPTH = 6
_TWICE = 2
_Starts = tuple[Bound, Bound | None, int]


def clamped_windows(context: Context) -> Iterator[tuple[CallEvent, bool]]:
    """Yield the dynamic slices of an array that begin at places up to its end, and are longer than what is left.

    With each comes whether they stand one behind the other, as blocks do, and only the last one is too long.
    """
    for event, name in foreign(context, "dynamic_slice_in_dim", "dynamic_slice"):
        if not name.startswith("jax.lax.") or event.value.starred or in_test(event.scope):
            continue
        sliced = context.flow.here(event.value.args[0], event.scope) if event.value.args else None
        for axis, start, size in blocks(context, event, last(name)) if sliced is not None else ():
            if is_number(context, size, 1):
                continue
            starts = _starts(context, start, 0)
            if starts is None or _number_of(context, starts[0], event.scope) is not None:
                if sliced is not None and _past_end(context, start, size, sliced, axis, event.scope):
                    yield event, True
                    break
            if starts is None:
                continue
            end, step, least = starts
            whole = measured(context, end, axis)
            if whole is None or sliced is None or not _same(context, whole, sliced):
                continue
            apart = step is not None and not _overlapping(context, size, step, least, event.scope)
            if apart and step is not None:
                if least > 1 or not _left_over(context, size, step, sliced, axis, event.scope):
                    continue
            if _dropped(event.scope, end) or any(_CARED_FOR.search(text) for text in texts(event.scope, end, start)):
                continue
            yield event, apart
            break


def _same(context: Context, one: Bound, other: Bound) -> bool:
    """Say whether two arrays are the same, also where both are what a constructor is given that nothing calls."""
    first, second = origins(context, one), origins(context, other)
    if first == second:
        return True
    unfilled = all(isinstance(part.value, Param) and part.value.function.name == "__init__" for part in first | second)
    return unfilled and {part.value for part in first} == {part.value for part in second}


def _starts(context: Context, start: Bound, depth: int) -> _Starts | None:
    """Return the length up to which windows begin, how far they are apart, and how many times that are past the end.

    The distance is None for one.
    """
    found = one_source(context, start)
    if found is None or depth > _DEPTH:
        return None
    value = found.value
    if isinstance(value, Param):
        given = mapped(context, value)
        return _starts(context, given, depth + 1) if given is not None else None
    if isinstance(value, Round | Each):
        return _starts(context, context.flow.follow(found, value.base), depth + 1)
    if isinstance(value, Call):
        return _counted(context, found, value)
    if isinstance(value, Unknown) and isinstance(value.node, ast.Call):  # what a loop of JAX gives its body
        given = _gone_through(context, operand(context, found, value.node))
        return _starts(context, given, depth + 1) if given is not None else None
    return _of_product(context, found)


def _counted(context: Context, found: Bound, value: Call) -> _Starts | None:
    """Return the end and the step of a call of ``arange`` or ``range`` that begins at zero."""
    if context.flow.calls.callee_name(found) not in _COUNTING or value.starred:
        return None
    given = [context.flow.with_value(found, one) for one in value.args]
    if len(given) == 1:
        return given[0], None, 1
    if len(given) not in {2, 3} or not is_number(context, given[0], 0):
        return None
    return given[1], given[2] if len(given) == 3 else None, 1


def _of_product(context: Context, found: Bound) -> _Starts | None:
    """Return the end and the step of ``arange(n // step) * step``."""
    product = binary(found, ast.Mult)
    if product is None:
        return None
    left, right = operand(context, found, product.left), operand(context, found, product.right)
    for counter, step in ((left, right), (right, left)):
        inner = one_source(context, counter)
        counted = _counted(context, inner, inner.value) if inner is not None and isinstance(inner.value, Call) else None
        if counted is None or counted[1] is not None:
            continue
        rounds = one_source(context, counted[0])
        quotient = binary(rounds, ast.FloorDiv) if rounds is not None else None
        if rounds is None or quotient is None:
            continue
        if same_number(context, operand(context, rounds, quotient.right), step):
            return operand(context, rounds, quotient.left), step, _TWICE  # what is left over may be nearly one more
    return None


def mapped(context: Context, param: Param) -> Bound | None:
    """Return the array whose elements a parameter gets, one in each run of its function.

    Args:
        context: the analysis.
        param: the parameter.
    """
    tracing = context.traced.get(param.function)
    roots = tracing.roots if tracing is not None else []
    if len(roots) != 1 or param.name in roots[0].static:
        return None
    root = roots[0]
    if last(root.transform) == "vmap":
        calls = [one for one in calls_of(context, root) if not one.value.starred]
        given = calls[0].value.argument(position(param), param.name) if len(calls) == 1 else None
        return context.flow.here(given, calls[0].scope) if given is not None else None
    if root.transform != "jax.lax.map" or not isinstance(root.node, ast.Call):
        return None
    return _gone_through(context, at(context, root.node, root.scope))


def _gone_through(context: Context, made: Bound) -> Bound | None:
    """Return the array whose elements ``jax.lax.map`` or ``scan`` gives its function one by one."""
    if not isinstance(made.value, Call):
        return None
    place = {"jax.lax.map": 1, "jax.lax.scan": 2}.get(context.flow.calls.callee_name(made))
    xs = made.value.argument(place, "xs") if place is not None else None
    return context.flow.with_value(made, xs) if xs is not None else None


def _overlapping(context: Context, size: Bound, step: Bound, least: int, scope: Scope) -> bool:
    """Say whether windows are certainly so long, for how far they are apart, that the last one goes past the end."""
    known = [the_number(context, one.value, _home(one, scope)) for one in (size, step)]
    if known[1] == 1:
        return known[0] is None or known[0] > 1
    if known[0] is None or known[1] is None:
        return False
    return known[0] > known[1] if least == 1 else known[0] >= least * known[1]


def _left_over(context: Context, size: Bound, step: Bound, sliced: Bound, axis: int, scope: Scope) -> bool:
    """Say whether windows one behind the other do not divide an array whose length is known."""
    size_, step_ = (the_number(context, one.value, _home(one, scope)) for one in (size, step))
    if size_ != step_ or not isinstance(size_, int) or size_ < 1:
        return False
    lengths = [length_of(context, one, axis) for one in origins(context, sliced)]
    return any(length is not None and length % size_ != 0 for length in lengths)


def _past_end(context: Context, start: Bound, size: Bound, sliced: Bound, axis: int, scope: Scope) -> bool:
    """Say whether one of several places where windows begin is too near to the end of an array, all by numbers."""
    last_start = _last_start(context, start, scope, 0)
    length = _number_of(context, size, scope)
    if last_start is None or length is None or last_start <= 0:
        return False
    lengths = {length_of(context, one, axis) for one in origins(context, sliced)}
    known = lengths.pop() if len(lengths) == 1 else None
    # one whole window past the end is another mistake, or room that is filled later
    if known is None or not last_start < known < last_start + length:
        return False
    return not any(_CARED_FOR.search(text) for text in texts(scope, start))


def _last_start(context: Context, start: Bound, scope: Scope, depth: int) -> float | None:
    """Return the largest of several numbers that a place counts through; None for a single one or unknown ones."""
    found = one_source(context, start)
    if found is None or depth > _DEPTH:
        return None
    if isinstance(start.value, Param) and position(start.value) == 0:
        bounds = bounds_of_loop(context, start.value)
        if bounds is not None:
            lower, upper = (_number_of(context, one, scope) for one in bounds)
            return upper - 1 if lower is not None and upper is not None and upper - lower > 1 else None
    value = found.value
    if isinstance(value, Param):
        given = mapped(context, value)
        return _last_start(context, given, scope, depth + 1) if given is not None else None
    if isinstance(value, Round | Each):
        return _last_start(context, context.flow.follow(found, value.base), scope, depth + 1)
    if isinstance(value, Unknown) and isinstance(value.node, ast.Call):
        given = _gone_through(context, operand(context, found, value.node))
        return _last_start(context, given, scope, depth + 1) if given is not None else None
    product = binary(found, ast.Mult)
    if product is not None:
        left, right = operand(context, found, product.left), operand(context, found, product.right)
        for counter, step in ((left, right), (right, left)):
            most, factor = _last_start(context, counter, scope, depth + 1), _number_of(context, step, scope)
            if most is not None and factor is not None and factor > 0:
                return most * factor
        return None
    if not isinstance(value, Call) or value.starred or context.flow.calls.callee_name(found) not in _COUNTING:
        return None
    ends = [_number_of(context, context.flow.with_value(found, one), scope) for one in value.args]
    whole = [int(one) for one in ends if isinstance(one, int)]
    if len(whole) != len(ends) or not 0 < len(whole) <= 3 or (len(whole) == 3 and whole[2] < 1):
        return None
    counted = range(*whole)
    return counted[-1] if len(counted) > 1 else None


def bounds_of_loop(context: Context, counter: Param) -> list[Bound] | None:
    """Return the bounds of the one ``fori_loop`` that runs the function whose first parameter counts its rounds.

    Args:
        context: the analysis.
        counter: the parameter.
    """
    tracing = context.traced.get(counter.function)
    roots = tracing.roots if tracing is not None else []
    if len(roots) != 1 or roots[0].transform != "jax.lax.fori_loop" or not isinstance(roots[0].node, ast.Call):
        return None
    made = at(context, roots[0].node, roots[0].scope)
    if not isinstance(made.value, Call) or len(made.value.args) < 2 or made.value.starred:
        return None
    return [context.flow.with_value(made, one) for one in made.value.args[:2]]


def _number_of(context: Context, bound: Bound, scope: Scope) -> int | float | None:
    return the_number(context, bound.value, _home(bound, scope))


def _home(bound: Bound, default: Scope) -> Scope:
    return bound.frame.function.scope if bound.frame is not None else default.module.scope


def _dropped(scope: Scope, end: Bound) -> bool:
    """Say whether what is made near there is cut off at an end: ``windows[: n - size]``."""
    scopes = {scope, _home(end, scope)}
    return any(
        isinstance(node, ast.Slice) and node.upper is not None
        for one in scopes
        if one.function is not None
        for node in ast.walk(one.function.node)
    )
