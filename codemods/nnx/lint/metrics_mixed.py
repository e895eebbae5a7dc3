"""Metrics that go on from training into evaluation, or back, without a reset between the two; part of NNX892."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import callers_of, in_test, is_metric, kinds_of, position, received, receiver
from codemods.nnx.lint.syntax import argument, outermost_loop
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Value

_EVALUATES = pattern(r"(^|[_.\W])(eval|evaluate|evaluation|val|valid|validate|validation|test|dev)([_.\W]|\d|$)")
_TRAINS = pattern(r"(^|[_.\W])train(ing)?([_.\W]|$)")
# what a call does with a metric; such as "reset train": resets it and updates it then
_TRAIN, _TEST, _RESET, _READ, _FED = "train", "test", "reset ", "read", "fed"
_DEPTH = 2
_CALLERS = 20


def mixed_metrics(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls of ``compute`` of a metric that was updated in training and in evaluation since its last reset.

    Each comes with what the call reads, ``train`` or ``test``: what updated the metric last.
    """
    for event, _ in read_metrics(context):
        last = _mixed(context, event)
        if last:
            yield event, last


def read_metrics(context: Context) -> Iterator[tuple[CallEvent, Value]]:
    """Yield the calls of ``compute`` of metrics that no test makes, with the metric."""
    for event in context.bodies.named("compute"):
        callee = event.value.callee
        if not isinstance(callee, Attr) or event.scope.module not in context.asked or in_test(event.scope):
            continue
        if not event.node.args and is_metric(context, callee.base, event.scope):
            yield event, callee.base


def _mixed(context: Context, event: CallEvent) -> str:
    """Return what updated a metric last before it is read, if something of the other kind did so before; else ''."""
    text = ast.unparse(receiver(event))
    since = _since(context, event, text, [])
    if len(set(since)) == 1:
        since = next((more for more in _in_callers(context, event, text) if len({*more}) > 1), since)
    return since[-1] if len(set(since)) > 1 else ""


def _since(context: Context, event: CallEvent, text: str, behind: list[str]) -> list[str]:
    """Return what updated a metric since its last reset before a call; ``behind``: what did so in there."""
    since: list[str] = []
    if _bound_within(event, text):
        return since
    for other in _before(context, event):
        use = _use(context, other, text)
        if use.startswith(_RESET):
            since.clear()
        if (fed := use.removeprefix(_RESET)) in (_TRAIN, _TEST) and _always(context, other, event):
            since.append(fed)
    return [*since, *behind]


def _in_callers(context: Context, event: CallEvent, text: str) -> Iterator[list[str]]:
    """Yield what updated a metric that a function is handed, or that its object has, before each call of it."""
    function = event.scope.function
    root, _, rest = text.partition(".")
    if function is None or root not in function.params or _resets_before(context, event, text):
        return
    own = _since(context, event, text, [])
    for caller in callers_of(context, function)[:_CALLERS]:
        if in_test(caller.scope) or caller.value.starred:
            continue
        held = receiver(caller) if function.self_param is function.params[root] else None
        given = held if held is not None else argument(caller.node, position(function.params[root]), root)
        if isinstance(given, ast.Name | ast.Attribute):
            yield _since(context, caller, f"{ast.unparse(given)}.{rest}".rstrip("."), own)


def _resets_before(context: Context, event: CallEvent, text: str) -> bool:
    return any(_use(context, other, text).startswith(_RESET) for other in _before(context, event))


def _before(context: Context, event: CallEvent) -> list[CallEvent]:
    """Return the calls of a body before one, in their order; in a loop also those of the round before."""
    calls = sorted(context.bodies.calls.get(event.scope, ()), key=_place)
    at = calls.index(event)
    loop = outermost_loop(event)
    return [*(one for one in calls[at + 1 :] if loop is not None and loop in one.loops), *calls[:at]]


def _place(event: CallEvent) -> tuple[int, int]:
    return event.node.end_lineno or 0, event.node.end_col_offset or 0


def _always(context: Context, other: CallEvent, event: CallEvent) -> bool:
    """Say whether one call is made whenever another one is reached, but for loops that have no rounds."""
    paths = context.bodies.paths(event.scope)
    ways = [
        [part for part in paths.get(one.node, ()) if not isinstance(part[0], ast.For | ast.While | ast.With)]
        for one in (other, event)
    ]
    return ways[1][: len(ways[0])] == ways[0]


def _bound_within(event: CallEvent, text: str) -> bool:
    """Say whether a body binds the metric other than before all loops."""
    loop = outermost_loop(event)
    return loop is not None and any(
        isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node) == text
        for node in ast.walk(loop)
    )


def _use(context: Context, event: CallEvent, text: str, depth: int = 0) -> str:
    """Return what a call does with the metric of a name; '' if nothing, and a reset where that is not known."""
    func = event.node.func
    if isinstance(func, ast.Attribute) and ast.unparse(func.value) == text:
        if func.attr != "update":
            return _READ if func.attr == "compute" else _RESET
        return _of_loop(context, event)
    given = [*event.node.args, *(k.value for k in event.node.keywords)]
    handed = any(isinstance(one, ast.Name | ast.Attribute) and ast.unparse(one) == text for one in given)
    own = text.removeprefix(ast.unparse(func.value)) if isinstance(func, ast.Attribute) else ""
    if handed or (own.startswith(".") and own != text):
        return _of_function(context, event, text, "" if handed else f"self{own}", depth)
    packed = [part for one in given if isinstance(one, ast.Tuple | ast.List | ast.Dict) for part in ast.walk(one)]
    return _RESET if any(isinstance(n, ast.Name | ast.Attribute) and ast.unparse(n) == text for n in packed) else ""


def _of_loop(context: Context, event: CallEvent) -> str:
    """Return whether a loop that updates a metric trains or evaluates; '' if it does not say."""
    loop = event.loops[-1] if event.loops else None
    if not isinstance(loop, ast.For | ast.While):
        return ""
    within = [one for one in context.bodies.calls.get(event.scope, ()) if loop in one.loops]
    if any(_trains(context, one) for one in within):
        return _TRAIN
    words = [loop.iter, loop.target] if isinstance(loop, ast.For) else []
    words += [event.node, *(one.node.func for one in within)]
    said = any(_EVALUATES.search(ast.unparse(one).lower()) for one in words)
    return _TEST if said else ""


def _of_function(context: Context, event: CallEvent, text: str, inner: str, depth: int) -> str:
    """Return what a function of the project does with a metric.

    Args:
        context: the analysis.
        event: the call.
        text: the metric where the call stands.
        inner: the metric in the function, if it is one of its object; '' if it is handed on.
        depth: how many functions were entered before.
    """
    invoked = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
    if len(invoked) != 1 or event.value.starred or depth > _DEPTH:
        return _RESET
    function = invoked[0][0].function
    handed = not inner
    if handed:
        names = list(function.params)[received(function) :]
        pairs = [*zip(names, event.node.args, strict=False), *((k.arg, k.value) for k in event.node.keywords)]
        inner = next((name for name, node in pairs if name and ast.unparse(node) == text), "")
    if not inner:
        return _RESET
    calls = sorted(context.bodies.calls.get(function.scope, ()), key=_place)
    uses = [use for one in calls if (use := _within(context, one, inner, depth)) not in ("", _READ)]
    first = _RESET if uses and uses[0].startswith(_RESET) else ""
    if any(use.startswith(_RESET) for use in uses[1:]) or uses == [_RESET]:
        return _RESET  # behind which there is nothing, or something that only a run would tell
    fed = {use.removeprefix(_RESET) for use in uses} - {""}
    if _FED not in fed:
        return first + (_TRAIN if _TRAIN in fed else _TEST) if fed else _READ
    if _TRAINS.search(function.name.lower()) or any(_trains(context, one) for one in calls):
        return first + _TRAIN
    said = (function.name, *(ast.unparse(one) for one in (*event.node.args, *_rounds(event))))
    return first + _TEST if any(_EVALUATES.search(one.lower()) for one in said) else first


def _within(context: Context, event: CallEvent, text: str, depth: int) -> str:
    updates = last_word(event.node.func) == "update" and ast.unparse(receiver(event)) == text
    return _FED if updates else _use(context, event, text, depth + 1)


def _rounds(event: CallEvent) -> list[ast.expr]:
    return [loop.iter for loop in event.loops[-1:] if isinstance(loop, ast.For)]


def _trains(context: Context, event: CallEvent) -> bool:
    """Say whether a call updates an optimizer, or says that it trains."""
    word = last_word(event.node.func)
    if word in {"apply_gradients", "apply_updates"} or _TRAINS.search(word.lower()) is not None:
        return True
    callee = event.value.callee
    return word == "update" and isinstance(callee, Attr) and _optimizer(context, callee, event.scope)


def _optimizer(context: Context, callee: Attr, scope: Scope) -> bool:
    return bool({Kind.OPTIMIZER, Kind.TRANSFORM} & kinds_of(context, callee.base, scope))
