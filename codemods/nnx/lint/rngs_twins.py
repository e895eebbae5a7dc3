"""NNX831: several layers with ``nnx.Rngs`` of the same seed."""

from __future__ import annotations

import ast
import re
from bisect import bisect
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind, class_kind
from codemods.nnx.lint.conditions import apart
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.only_shapes import only_shapes
from codemods.nnx.lint.owners import plain_module
from codemods.nnx.lint.places import foreign, in_test, kinds_of, shown, target_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Class, Const, Param, Ref, Value

_HELP = "make one nnx.Rngs and pass it to all layers: each takes its own keys from it"


def _check(context: Context) -> Iterator[Finding]:
    layers = {}
    for event in context.project.calls():
        for argument in (*event.node.args, *(k.value for k in event.node.keywords)):
            if isinstance(argument, ast.Call):
                layers[argument] = event
    seen: dict[tuple[Scope, str], list[tuple[CallEvent, CallEvent]]] = {}
    for event, name in foreign(context, "Rngs"):
        layer = layers.get(event.node)
        if name != "flax.nnx.Rngs" or layer is None or not _steady(event) or in_test(event.scope):
            continue
        if not _layer(context, layer) or _constant(context, layer):
            continue
        text = ast.dump(event.node)
        known = seen.setdefault((event.scope, text), [])
        twins = [
            (earlier, other)
            for earlier, other in known
            if _both(context, earlier, event) and _equal(earlier, event) and not _copied(context, other, layer)
        ]
        if (twins or event.loops) and only_shapes(context, event.scope.function):
            known.append((event, layer))
            continue
        if twins:
            first = known[0][0]
            message = f"the same seed as in line {first.node.lineno}: the layers start with related weights and masks"
            yield finding(RULE.code, event.scope, event.node, message, _HELP)
        elif event.loops and (_collected(event) or _initialises(event)):
            message = "the same seed in every round: the layers start with identical weights and masks"
            yield finding(RULE.code, event.scope, event.node, message, _HELP)
        known.append((event, layer))
    yield from _named_in_loop(context)
    yield from _critics(context, layers)
    for event, name in foreign(context, "Rngs"):
        function = event.scope.function
        if name != "flax.nnx.Rngs" or function is None or in_test(event.scope) or not _anew(context, event, function):
            continue
        layer = layers.get(event.node)
        if layer is None or not _constant(context, layer):
            if only_shapes(context, function):
                continue
            message = f"the same seed at every call of {shown(function)}: its layers start with equal weights"
            yield finding(RULE.code, event.scope, event.node, message, _HELP)


def _named_in_loop(context: Context) -> Iterator[Finding]:
    """Yield the streams that every round of a loop makes of one seed, and gives one layer that the loop collects."""
    for event, name in foreign(context, "Rngs"):
        statement = event.statement
        if name != "flax.nnx.Rngs" or not event.loops or not _steady(event) or in_test(event.scope):
            continue
        if not isinstance(statement, ast.Assign) or statement.value is not event.node:
            continue
        calls = context.bodies.calls.get(event.scope, ())
        given = [
            call for call in calls
            if call is not event and event.value in call.value.given
        ]  # fmt: skip
        if len(given) != 1 or given[0].loops != event.loops or _constant(context, given[0]):
            continue
        collected = any(
            last_word(call.node.func) == "append" and given[0].value in call.value.args
            for call in calls
            if call.loops == event.loops
        )
        callee = context.flow.follow(context.flow.here(given[0].value, given[0].scope), given[0].value.callee).value
        kind = class_kind(getattr(callee, "name", "")) if isinstance(callee, Ref) else None
        if collected and kind is Kind.MODULE and not only_shapes(context, event.scope.function):
            message = "the same seed in every round: the layers start with identical weights and masks"
            yield finding(RULE.code, event.scope, event.node, message, _HELP)


def _critics(context: Context, layers: dict[ast.Call, CallEvent]) -> Iterator[Finding]:
    """Yield the streams of a second critic that are those of the first: the smaller of two equal numbers is no help."""
    seen: dict[tuple[Scope, str], list[tuple[CallEvent, CallEvent, str]]] = {}
    for event, name in foreign(context, "Rngs"):
        layer = layers.get(event.node)
        if name != "flax.nnx.Rngs" or layer is None or not event.value.given or in_test(event.scope):
            continue
        target = target_of(layer)
        word = last_word(target) if target is not None else ""
        if not _CRITIC.fullmatch(word) or event.value.starred or layer.loops or _layer(context, layer):
            continue
        known = seen.setdefault((event.scope, ast.dump(layer.node)), [])
        for first, other, critic in known:
            same = all(one is two for one, two in zip(first.value.given, event.value.given, strict=True)) or (
                _equal(first, event) and _steady(event)
            )
            if critic == word or not same or not _both(context, first, event) or _copied(context, other, layer):
                continue
            if context.kinds.of(context.flow.here(layer.value, layer.scope)) == {Kind.MODULE}:
                message = f"the same seed as that of `{critic}`: the two critics are equal, and stay so"
                yield finding(RULE.code, event.scope, event.node, message, _HELP)
                break
        known.append((event, layer, word))


_CRITIC = pattern(r"_?(q|qf|q_?net|q_?network|critic|q_?critic|q_?func(tion)?|critic_?net(work)?)_?[12ab]", re.I)


def _anew(context: Context, event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a function that makes layers takes the same seed at every call, and a module takes several of it."""
    if function.name == "__init__" or len(function.returns) != 1 or event.value.starred:
        return False
    seeds = list(event.value.given)
    if not seeds or not all(isinstance(one, Const) and one.value is not None for one in seeds):
        return False
    if context.bodies.paths(event.scope).get(event.node) or kinds_of(context, function.returns[0], event.scope) != {
        Kind.MODULE
    }:
        return False  # a seed that is made up where none is given
    callers = [
        call
        for call in context.flow.sites.callers(function)
        if _initialises(call) and call.scope.function is not None and plain_module(context, call.scope.function.owner)
    ]
    if any(call.loops for call in callers):
        return True
    return any(
        one.scope is two.scope and ast.dump(one.node) == ast.dump(two.node) and _both(context, one, two)
        for number, one in enumerate(callers)
        for two in callers[:number]
    )


def _copied(context: Context, one: CallEvent, two: CallEvent) -> bool:
    """Say whether the project copies the state of one layer into the other, as that of a target network."""
    names = [last_word(e.statement.targets[0]) for e in (one, two) if isinstance(e.statement, ast.Assign)]
    if len(names) != 2:
        return False
    for event, name in foreign(context, "update", everywhere=True):
        if name == "flax.nnx.update" and len(event.node.args) == 2:
            words = {last_word(n) for n in ast.walk(event.node) if isinstance(n, ast.Name | ast.Attribute)}
            if set(names) <= words:
                return True
    return False


def _constant(context: Context, layer: CallEvent) -> bool:
    """Say whether a layer starts with ones and zeros, and draws nothing: normalization."""
    flow = context.flow
    callee = flow.follow(flow.here(layer.value, layer.scope), layer.value.callee).value
    names = flow.classes.mro(callee.facts)[1] if isinstance(callee, Class) else [getattr(callee, "name", "")]
    return any(isinstance(name, str) and name.startswith("flax.nnx.") and name.endswith("Norm") for name in names)


def _steady(event: CallEvent) -> bool:
    """Say whether the seeds are the same in all rounds of the loops: literals, arguments and fields of these."""
    values = list(event.value.given)
    return bool(values) and not event.value.starred and all(_fixed(event, value) for value in values)


def _fixed(event: CallEvent, value: Value) -> bool:
    while isinstance(value, Attr):
        if any(name == value.name for name in _stored(event.scope)):
            return False
        value = value.base
    return isinstance(value, Const | Param)


def _stored(scope: Scope) -> Iterator[str]:
    """Yield the attributes that a body assigns."""
    for node in ast.walk(scope.node):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def _equal(one: CallEvent, two: CallEvent) -> bool:
    """Say whether two calls are given the same values, and not only the same text."""
    return one.value.args == two.value.args and one.value.keywords == two.value.keywords


def _layer(context: Context, event: CallEvent) -> bool:
    """Say whether a call makes a layer: one of Flax, or any module in the constructor of another or a collection."""
    flow = context.flow
    callee = flow.follow(flow.here(event.value, event.scope), event.value.callee).value
    name = getattr(callee, "name", "")
    if isinstance(name, str) and class_kind(name) is Kind.MODULE:
        return True
    if not isinstance(callee, Class) or Kind.MODULE not in context.kinds.class_kinds(flow.here(callee, event.scope)):
        return False
    return _initialises(event) or _collected(event)


def _initialises(event: CallEvent) -> bool:
    function = event.scope.function
    return function is not None and function.name == "__init__"


def _collected(event: CallEvent) -> bool:
    return any(isinstance(loop, ast.comprehension) for loop in event.loops)


def _both(context: Context, one: CallEvent, two: CallEvent) -> bool:
    paths = context.bodies.paths(one.scope)
    first, second = paths.get(one.node), paths.get(two.node)
    if first is None or second is None or apart(first, second, one.scope.node):
        return False
    cells = one.scope.module.source.cell_starts if one.scope.function is None else ()
    return bisect(cells, one.node.lineno) == bisect(cells, two.node.lineno)  # another cell may show something else


RULE = lint_rule(
    "NNX831",
    "twin-rngs",
    "layers that are made with nnx.Rngs of the same seed",
    why="""\
Two `nnx.Rngs(0)` give the same keys: layers of equal shape start with identical weights, and dropouts use identical
masks. One Rngs object that is passed on gives every layer its own keys. Whole models that are made alike are not
reported, but for two critics, of which the smaller value is taken; nor are tests.
""",
    source="JAX tutorial, section on random keys; measured: identical weights and masks",
    check=_check,
    bad=(
        """\
from flax import nnx

a = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
b = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
""",
        """\
from flax import nnx

layers = [nnx.Linear(2, 2, rngs=nnx.Rngs(0)) for _ in range(3)]
""",
    ),
    clean=(
        """\
from flax import nnx

rngs = nnx.Rngs(0)
a = nnx.Linear(2, 2, rngs=rngs)
b = nnx.Linear(2, 2, rngs=nnx.Rngs(1))
c = nnx.Linear(2, 2, rngs=rngs)
""",
    ),
)
