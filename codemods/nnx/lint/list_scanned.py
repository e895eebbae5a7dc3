"""NNX756: a list of arrays where a loop or ``vmap`` goes along the first axis of one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.listed_layers import listed_layers
from codemods.nnx.lint.loop_bodies import bodies
from codemods.nnx.lint.made_records import record_fields
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import callers_of, passed, shown
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Changed, Comprehension, Const, Item, Loop, Mapping, Param, Sequence, Value

_DEPTH = 3  # functions that hand a list on
_PLACES = {"jax.lax.scan": ((2, "xs"), 1), "jax.lax.map": ((1, "xs"), 0)}


def _check(context: Context) -> Iterator[Finding]:
    for body in bodies(context):
        if body.loop not in _PLACES or body.event.scope.module not in context.asked:
            continue
        (place, word), index = _PLACES[body.loop]
        given = body.event.value.argument(place, word)
        if given is not None and not context.bodies.guarded(body.event.node, body.event.scope):
            yield from _no_axis(context, body.event, given, last(body.loop))
        if given is not None and body.free is not None and len(body.free) > index:
            yield from _judged(context, body.event, given, body.function, body.free[index], last(body.loop))
    for event in context.bodies.named("vmap"):
        yield from _mapped(context, event)
    for event, node, word in listed_layers(context):
        yield finding(
            RULE.code,
            event.scope,
            node,
            f"{word} goes along an axis of the weights, and this is a list of layers, each with its own",
            "make them stacked: nnx.vmap(Layer)(rngs.fork(split=n))",
        )


def _no_axis(context: Context, event: CallEvent, given: Value, loop: str) -> Iterator[Finding]:
    """Yield a number, a range or a list of numbers where a loop goes along the first axis of an array."""
    found = context.flow.resolve(context.flow.here(given, event.scope)).value
    number = isinstance(found, Const) and type(found.value) in {int, float}
    word = "number" if number else _numbers(context, event, given)
    if not word:
        return
    help = "make it an array: jnp.arange(...)" if word == "range" else "make it an array: jnp.array(...)"
    if number:
        help = "give how many rounds by name: length=..." if loop == "scan" else "give jnp.arange(...)"
    yield finding(
        RULE.code,
        event.scope,
        event.node,
        f"{loop} goes along the first axis of an array, and is given a {word}",
        help,
    )


def _mapped(context: Context, made: CallEvent) -> Iterator[Finding]:
    """Yield the calls of a mapped function that get a list, as in ``jax.vmap(f)([a, b])``."""
    if context.flow.calls.name(made) not in {"jax.vmap", "flax.nnx.vmap"} or not made.value.args:
        return
    yield from _of_numbers(context, made)
    callees = context.flow.calls.callables(context.flow.here(made.value.args[0], made.scope))
    if len(callees) != 1 or callees[0].args or callees[0].receiver is not None:
        return
    function = callees[0].function
    bound = {word for word, _ in callees[0].keywords}  # by functools.partial
    names = [name for name in list(function.params)[: function.positional] if name not in bound]
    for event in context.bodies.calls.get(made.scope, ()):
        if _calls(context, event, made) and not event.value.starred:
            for given, name in zip(event.value.args, names, strict=False):
                yield from _judged(context, event, given, function, name, "vmap")


def _of_numbers(context: Context, made: CallEvent) -> Iterator[Finding]:
    """Yield the calls of a mapped function that get a list of numbers or a range, which have no axis to go along."""
    axes = argument(made.node, 1, "in_axes")
    for event in context.bodies.calls.get(made.scope, ()):
        if event.value.starred or not _calls(context, event, made) or context.bodies.guarded(event.node, event.scope):
            continue
        for place, given in enumerate(event.value.args):
            entry = axes.elts[place] if isinstance(axes, ast.Tuple) and place < len(axes.elts) else axes
            if entry is not None and not isinstance(constant(entry), int):
                continue
            word = _numbers(context, event, given)
            if word:
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node.args[place],
                    f"vmap goes along an axis of an array, and this is a {word}",
                    "make it an array: jnp.array(...)" if word != "range" else "make it an array: jnp.arange(...)",
                )


def _calls(context: Context, event: CallEvent, made: CallEvent) -> bool:
    """Say whether a call calls what ``vmap`` made, as it is or compiled."""
    callee = event.value.callee
    if callee is made.value:
        return True
    if not isinstance(callee, Call) or not callee.args or callee.args[0] is not made.value:
        return False
    return context.flow.calls.callee_name(context.flow.here(callee, event.scope)) == "jax.jit"


def _numbers(context: Context, event: CallEvent, given: Value) -> str:
    """Return what a list of numbers or a range is called; empty if a value is something else."""
    found = context.flow.resolve(context.flow.here(given, event.scope))
    if isinstance(found.value, Call):
        return "range" if context.flow.calls.callee_name(found) == "builtins.range" else ""
    if not isinstance(found.value, Sequence) or not isinstance(found.value.node, ast.List | ast.Tuple):
        return ""
    items = found.value.items
    numbers = items and all(isinstance(one, Const) and type(one.value) in {int, float, bool} for one in items)
    word = "list" if isinstance(found.value.node, ast.List) else "tuple"
    return f"{word} of numbers" if numbers else ""


def _judged(
    context: Context, event: CallEvent, given: Value, function: FunctionFacts, param: str, word: str
) -> Iterator[Finding]:
    as_array = context.bodies.evidence(function).get(param) == "array"
    kind = _array if as_array else _dict if _by_name(context, function, param) else _record
    if kind is _record and not _by_field(context, function, param):
        kind = _tuple
        names = _names(context, function, param)
        if not names or not _list_of_tuples(context, event, given, names):
            return
    elif not list_of(context, event, given, kind):
        return
    if param in function.annotations or context.bodies.guarded(event.node, event.scope):
        return
    if any(
        isinstance(n, ast.Call) and getattr(n.func, "id", "") in {"isinstance", "len"}
        for n in context.bodies.nodes(function.scope)
    ):
        return
    yield finding(
        RULE.code,
        event.scope,
        event.node,
        f"{word} takes the list for a tree of arrays: {shown(function)} gets a list of slices for `{param}`",
        "join it into one array: jnp.stack(...)"
        if as_array
        else f"join the arrays of the {_PLURALS[kind]}: jax.tree.map(lambda *parts: jnp.stack(parts), *items)",
    )


def _by_name(context: Context, function: FunctionFacts, param: str) -> bool:
    """Say whether a function takes entries of a parameter by their names, as of a dict, which no list has."""
    return any(
        isinstance(n, ast.Subscript)
        and isinstance(n.value, ast.Name)
        and n.value.id == param
        and isinstance(constant(n.slice), str)
        and len(function.scope.bindings.get(param, ())) == 1
        for n in context.bodies.nodes(function.scope)
    )


def _by_field(context: Context, function: FunctionFacts, param: str) -> bool:
    """Say whether a function reads fields of a parameter, as of a record, which no list has."""
    return any(
        isinstance(n, ast.Attribute)
        and isinstance(n.value, ast.Name)
        and n.value.id == param
        and not hasattr(list, n.attr)
        and len(function.scope.bindings.get(param, ())) == 1
        for n in context.bodies.nodes(function.scope)
    )


def _names(context: Context, function: FunctionFacts, param: str) -> int:
    """Return into how many names a function unpacks a parameter that it does not set: ``x, y = batch``."""
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == param:
            target = node.targets[0]
            known = isinstance(target, ast.Tuple) and all(isinstance(one, ast.Name) for one in target.elts)
            if known and isinstance(target, ast.Tuple) and len(function.scope.bindings.get(param, ())) == 1:
                return len(target.elts)
    return 0


def _list_of_tuples(context: Context, event: CallEvent, value: Value, names: int) -> bool:
    """Say whether a value is a list of tuples of some length, as many as a loop or a generator gives.

    A display of as many tuples as they have elements may be meant: it is a tree that is unpacked in the same way.
    """
    given = _yielded(context, event, value)
    if not given:
        bound = context.flow.resolve(context.flow.here(value, event.scope))
        ways = [*context.sources.originals(bound)] if isinstance(bound.value, Param | Attr) else [bound]
        found, given = _appended([way.value for way in ways])
        if isinstance(found, Comprehension) and found.key is None and not given:
            given = [found.element]
        elif not isinstance(found, Sequence) or not isinstance(found.node, ast.List) or found.items:
            return False
    return bool(given) and all(_tuple(context, event, one) and len(_parts(one)) == names for one in given)


def _yielded(context: Context, event: CallEvent, value: Value, depth: int = 0) -> list[Value]:
    """Return what a generator of the project yields, of which ``list`` makes a list, also where all callers do so."""
    if isinstance(value, Param):
        callers = callers_of(context, value.function) if depth < _DEPTH else []
        found = [
            _yielded(context, caller, given, depth + 1) if (given := passed(caller, value)) is not None else []
            for caller in callers
        ]
        return [one for part in found for one in part] if all(found) else []
    if not isinstance(value, Call) or last_word(value.node.func) != "list" or len(value.args) != 1:
        return []
    made = value.args[0]
    if not isinstance(made, Call):
        return []
    callees = context.flow.calls.callables(context.flow.here(made.callee, event.scope))
    functions = [one.function for one in callees if one.function.generator and not one.function.delegated]
    return list(functions[0].returns) if len(functions) == len(callees) == 1 else []


def _parts(value: Value) -> tuple[Value, ...]:
    return value.items if isinstance(value, Sequence) else ()


def list_of(
    context: Context, event: CallEvent, value: Value, kind: Callable[[Context, CallEvent, Value], bool]
) -> bool:
    """Say whether a value is a list of some kind: a display, a comprehension, or what a loop appends to."""
    bound = context.flow.resolve(context.flow.here(value, event.scope))
    ways = [*context.sources.originals(bound)] if isinstance(bound.value, Param | Attr) else [bound]
    found, appended = _appended([way.value for way in ways])
    if found is None:
        return False
    if isinstance(found, Comprehension):
        node = getattr(found.loop, "ifs", None)
        return found.key is None and node is not False and kind(context, event, found.element)
    if not isinstance(found, Sequence) or not isinstance(found.node, ast.List):
        return False
    items = (*found.items, *appended)
    return bool(items) and all(kind(context, event, item) for item in items)


def _array(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether a part of a list is an array, the value of a Variable too."""
    if isinstance(value, Item) and value.index == Const(...):
        return True
    home = context.bodies.home(getattr(value, "node", event.node)) or event.scope
    return made_by_jax(context, value, home) or _drawn(value)


def _dict(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether a part of a list is a dict."""
    if isinstance(value, Call) and value.keywords and not value.args:
        home = context.bodies.home(value.node) or event.scope
        return context.flow.calls.callee_name(context.flow.here(value, home)) == "builtins.dict"
    return isinstance(value, Mapping)


def _record(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether a part of a list is a record of the project, as a NamedTuple is."""
    home = context.bodies.home(value.node) if isinstance(value, Call) else None
    return home is not None and bool(record_fields(context, context.flow.here(value, home)))


def _tuple(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether a part of a list is a tuple."""
    return isinstance(value, Sequence) and isinstance(value.node, ast.Tuple)


_PLURALS = {_dict: "dicts", _record: "records", _tuple: "tuples"}


def _appended(ways: list[Value]) -> tuple[Value | None, list[Value]]:
    """Return what a list was before anything was appended to it, and what was; None if it was changed otherwise."""
    items: list[Value] = []
    pending, seen = ways, set[Value]()
    start: Value | None = None
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        if isinstance(one, Changed):
            if getattr(getattr(one.node, "func", None), "attr", "") != "append":
                return None, []
            items.append(one.value)
            pending.append(one.before)
        elif isinstance(one, Loop):
            pending += [one.before, *([] if one.again is None else [one.again])]
        elif start is not None:
            return None, []
        else:
            start = one
    return start, items


def _drawn(value: Value) -> bool:
    """Say whether numbers are drawn from a stream of NNX, as ``rngs.params.normal((3, 3))`` does."""
    return (
        isinstance(value, Call)
        and getattr(value.callee, "name", "") in {"normal", "uniform", "truncated_normal"}
        and bool(value.args)
    )


RULE = lint_rule(
    "NNX756",
    "list-scanned",
    "a list of arrays where scan, map or vmap goes along an axis",
    why="""\
`jax.lax.scan(f, init, [a, b, c])` does not go through the list: a list is a tree of three arrays, and every round gets
a list of their slices. A body that computes with it raises a TypeError. `jnp.stack` makes one array of the list.
""",
    source="jax discussions on scan over a list of layers; measured on JAX 0.6.2 and 0.10.2: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def body(h, w):
    return jnp.tanh(h @ w), None


def run(h):
    layers = [jnp.eye(3) for _ in range(4)]
    return jax.lax.scan(body, h, layers)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def body(h, w):
    return jnp.tanh(h @ w), None


def run(h):
    layers = [jnp.eye(3) for _ in range(4)]
    return jax.lax.scan(body, h, jnp.stack(layers))
""",
    ),
)
