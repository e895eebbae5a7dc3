"""NNX529: a model of diffusion that gets the place in a short schedule for the time that stands there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import each, in_test, received, written
from codemods.nnx.lint.syntax import argument, constant, inside, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Item, Unknown, Value

_LEVELS = pattern(r"alpha|beta|sigma|cum_?prod|(^|_)acp(_|$)", re.I)
_TEXT = pattern(rb"alpha|beta|sigma|cum_?prod", re.I, needs=(b"alpha", b"beta", b"sigma", b"prod"))
_TIME = pattern(r"t|ts|time|times|time_?steps?|t_batch", re.I)
_FILLING = frozenset({"full", "full_like", "broadcast_to", "array", "asarray", "atleast_1d", "repeat", "tile",
                      "int32", "float32"})  # fmt: skip
_SAME = frozenset({"flip", "array", "asarray", "round", "rint", "floor", "int32", "unique"})
_METHODS = frozenset({"astype", "round", "copy"})
_DEPTH = 5


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.matches(_TEXT) for module in context.asked.modules):
        return
    told: set[ast.AST] = set()
    for scope, node in each(context, ast.Subscript):
        if in_test(scope) or not isinstance(node.slice, ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        ends = _schedule(context, scope, node.value) if scope.module.source.matches(_TEXT) else []
        if ends:
            yield from _of_place(context, scope, _Place(node.slice.id, ast.unparse(node), ends), told)
    for scope, loop in each(context, ast.For):
        pair, made = loop.target, loop.iter
        if in_test(scope) or not isinstance(pair, ast.Tuple) or len(pair.elts) != 2 or not isinstance(made, ast.Call):
            continue
        if last_word(made.func) != "enumerate" or len(made.args) != 1 or not scope.module.source.matches(_TEXT):
            continue
        place, time = pair.elts
        ends = _schedule(context, scope, made.args[0])
        if ends and isinstance(place, ast.Name) and isinstance(time, ast.Name):
            yield from _of_place(context, scope, _Place(place.id, time.id, ends, loop), told)


class _Place(NamedTuple):
    """A place in a schedule.

    Attributes:
        name: the variable.
        time: what stands there, as it is written.
        ends: where the schedule begins and ends, as it is written.
        loop: the loop that goes through places and times; None if an index is taken.
    """

    name: str
    time: str
    ends: list[ast.expr]
    loop: ast.For | None = None


def _of_place(context: Context, scope: Scope, given_place: _Place, told: set[ast.AST]) -> Iterator[Finding]:
    """Yield the calls of a model that get a place, where a table of levels is read at the time of that place."""
    place, time, ends, loop = given_place
    if not _reads_levels(context, scope, time):
        return
    for event in context.bodies.calls.get(scope, ()):
        if (
            event.node in told
            or event.value.starred
            or (loop is not None and not any(inside(event.node, one) for one in loop.body))
        ):
            continue
        given = _given(context, scope, event.node, place)
        if given is None or len(event.node.args) + len(event.node.keywords) < 2:
            continue
        if any(_holds(context, scope, one, time) for one in _arguments(event.node)):
            continue
        name = _takes_time(context, event, given, ends)
        if name:
            told.add(event.node)
            yield finding(
                RULE.code,
                scope,
                event.node,
                f"`{name}` gets {ast.unparse(given)}, a place in a schedule that leaves steps out; the noise is that "
                f"of `{time}`",
                f"give it the time: {time}",
            )


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)]


def _holds(context: Context, scope: Scope, node: ast.expr, time: str) -> bool:
    parts = [n for one in (node, written(context, node, scope)) for n in ast.walk(one) if isinstance(n, ast.expr)]
    return any(time in (ast.unparse(one), ast.unparse(_meant(context, scope, one))) for one in parts)


def _meant(context: Context, scope: Scope, node: ast.expr) -> ast.expr:
    """Return what a variable is set to once, also an entry; other expressions themselves."""
    made = bound_once(context, scope, node) if isinstance(node, ast.Name) else None
    return made if made is not None else node


def _reads_levels(context: Context, scope: Scope, time: str) -> bool:
    """Say whether a table of the levels of noise is read at a time."""
    return any(
        isinstance(node, ast.Subscript)
        and _LEVELS.search(last_word(node.value))
        and time in (ast.unparse(node.slice), ast.unparse(_meant(context, scope, node.slice)))
        for node in context.bodies.nodes(scope)
    )


def _given(context: Context, scope: Scope, call: ast.Call, place: str) -> ast.expr | None:
    """Return the argument that is a place, or an array filled with it."""
    for one in _arguments(call):
        made = written(context, one, scope)
        if isinstance(one, ast.Name) and one.id == place:
            return one
        if isinstance(made, ast.Call) and last_word(made.func) in _FILLING:
            inner = [n for part in _arguments(made) for n in _elements(part)]
            if any(isinstance(n, ast.Name) and n.id == place for n in inner):
                return one
        if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mult):
            sides = (made.left, made.right)
            ones = any(isinstance(n, ast.Call) and last_word(n.func) in {"ones", "ones_like"} for n in sides)
            if ones and any(isinstance(n, ast.Name) and n.id == place for n in sides):
                return one
    return None


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.List) else [node]


def _takes_time(context: Context, event: CallEvent, given: ast.expr, ends: list[ast.expr]) -> str:
    """Return the name of a model that was trained with all times; nothing if it may know the schedule."""
    named = next((one.arg for one in event.node.keywords if one.value is given), None)
    function = _called(context, event)
    if function is None:
        return ""
    names = list(function.params)[received(function) :]
    place = next((number for number, one in enumerate(event.node.args) if one is given), None)
    name = named or (names[place] if place is not None and place < len(names) else "")
    if not name or not _TIME.fullmatch(name) or function.vararg is not None:
        return ""
    tables = [
        node.value
        for node in ast.walk(function.node)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and name in names_in(node.slice)
    ]
    if any(not _LEVELS.search(last_word(one)) for one in tables):
        return ""  # it looks the time up
    if not tables and not _drawn(context, function, name, ends):
        return ""
    return last_word(event.node.func) or "model"


def _drawn(context: Context, function: FunctionFacts, name: str, ends: list[ast.expr]) -> bool:
    """Say whether a call gives a model times that are drawn from all those that a schedule leaves steps out of."""
    texts = {ast.unparse(n) for one in ends for n in ast.walk(one) if isinstance(n, ast.expr)}
    for caller in [*context.flow.sites.callers(function), *_of_objects(context, function)]:
        number = list(function.params).index(name) - received(function)
        node = argument(caller.node, number, name) if not caller.value.starred else None
        value = caller.scope.module.values.get(node) if node is not None else None
        if value is None:
            continue
        for one in context.sources.originals(context.flow.here(value, caller.scope)):
            call = one.value if isinstance(one.value, Call) else None
            if call is not None and context.flow.calls.callee_name(one) == "jax.random.randint":
                last = argument(call.node, 3, "maxval")
                if last is not None and ast.unparse(last) in texts:
                    return True
    return False


def _of_objects(context: Context, function: FunctionFacts) -> Iterator[CallEvent]:
    """Yield the calls of models of the class that a function is the call of."""
    if function.name == "__call__":
        for module in context.project.modules:
            if module.source.mentions(b"randint"):
                for event in module.calls:
                    if len(event.node.args) + len(event.node.keywords) > 1 and _called(context, event) is function:
                        yield event


def _called(context: Context, event: CallEvent) -> FunctionFacts | None:
    """Return the only function that a call runs, also of a model that is called."""
    cls = owner_class(context, event.value.callee, event.scope)
    if isinstance(cls, ClassFacts):
        return context.flow.classes.method(cls, "__call__")
    reached = [callee for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope))]
    plain = len(reached) == 1 and not reached[0].args and not reached[0].keywords
    return reached[0].function if plain else None


def _schedule(context: Context, scope: Scope, node: ast.expr) -> list[ast.expr]:
    """Return where an array begins and ends that holds some of the steps of a longer schedule; else nothing."""
    value = scope.module.values.get(node)
    return (_strided(context, context.flow.here(value, scope), 0) or []) if value is not None else []


def _strided(context: Context, times: Bound, depth: int) -> list[ast.expr] | None:
    ends: list[ast.expr] = []
    for one in context.sources.originals(times) if depth < _DEPTH else ():
        found = _some_steps(context, one, depth)
        if found is None:
            return None
        ends += found
    return ends


def _some_steps(context: Context, times: Bound, depth: int) -> list[ast.expr] | None:
    value = times.value
    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value, Indexed) else value.index
        cut = index.node if isinstance(index, Unknown) else None
        if not isinstance(cut, ast.Slice):
            return None
        step = constant(cut.step) if cut.step is not None else 1
        if step in (1, -1):
            return _strided(context, context.flow.with_value(times, value.base), depth + 1)
        return _counted(context, times, value.base)
    if not isinstance(value, Call) or value.starred:
        return None
    home, _, word = context.flow.calls.callee_name(times).rpartition(".")
    if not home and isinstance(value.callee, Attr) and value.callee.name in _METHODS:
        return _strided(context, context.flow.with_value(times, value.callee.base), depth + 1)
    if home not in {"jax.numpy", "numpy"} or not value.args:
        return None
    args = value.node.args
    if word == "arange":
        return args[:2] if len(args) == 3 and constant(args[2]) not in (1, -1) else None
    if word == "linspace":
        return args[:2] if len(args) == 3 and not names_in(args[2]) & (names_in(args[0]) | names_in(args[1])) else None
    return _strided(context, context.flow.with_value(times, value.args[0]), depth + 1) if word in _SAME else None


def _counted(context: Context, times: Bound, value: Value) -> list[ast.expr] | None:
    """Return the ends of ``jnp.arange(steps)``."""
    found = context.flow.follow(times, value)
    if not isinstance(found.value, Call) or found.value.starred:
        return None
    name = context.flow.calls.callee_name(found)
    return found.value.node.args if name in {"jax.numpy.arange", "numpy.arange"} else None


_GOOD = """\
import jax
import jax.numpy as jnp

alpha_bar = jnp.cumprod(1.0 - jnp.linspace(1e-4, 0.02, 1000))
timesteps = jnp.arange(0, 1000, 20)


def noise(x, t):
    return jnp.sqrt(1.0 - alpha_bar[t]) * x


def sample(x):
    def body(i, x):
        place = 49 - i
        a = alpha_bar[timesteps[place]]
        return (x - jnp.sqrt(1.0 - a) * noise(x, timesteps[place])) / jnp.sqrt(a)

    return jax.lax.fori_loop(0, 50, body, x)
"""
RULE = lint_rule(
    "NNX529",
    "place-for-time",
    "a model of diffusion that gets a place in a short schedule for the time",
    why="""\
A sampler that takes 50 of 1000 steps counts from 0 to 49, and the model was trained with the times from 0 to 999. The
level of noise that is read at `timesteps[i]` is that of `timesteps[i]`: with `i` for the time the model takes nearly
pure noise for a nearly finished picture.
""",
    source="Song and others, 2020, Denoising diffusion implicit models; measured: samples of three times the deviation",
    check=_check,
    bad=(_GOOD.replace("noise(x, timesteps[place])", "noise(x, place)"),),
    clean=(_GOOD,),
)
