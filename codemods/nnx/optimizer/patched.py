"""Methods of the optimizer that a program replaces by its own: ``nnx.Optimizer.update = logged``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.nodes import last_word
from codemods.nnx.optimizer.origins import OLD, Origins
from codemods.nnx.values import Call, Class, Const, Ref, Value

# what calls give these methods since 0.11, and what they gave up to 0.10
_GIVEN = {"update": "the model before the gradients", "__init__": "`wrt`"}
_SETTERS = frozenset({"setattr", "object", "patch"})  # of Python, of pytest's monkeypatch and of unittest.mock


def replaced(context: Context, origins: Origins) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield where a method of an optimizer, or of its class, is replaced by a function written for 0.10.

    Yields:
        The body, the place, and what the method is given since Flax 0.11.
    """
    flow = context.flow
    for event in context.asked.attributes():
        name = event.node.attr
        if event.context != "store" or event.stored is None or name not in _GIVEN:
            continue
        given = _of_optimizer(origins, flow.here(event.base, event.scope))
        if given and _written_for_old(flow, flow.here(event.stored, event.scope), name, given):
            yield event.scope, event.node, _GIVEN[name]
    for call in context.asked.calls():
        if last_word(call.node.func) not in _SETTERS or not call.value.args or call.value.starred:
            continue
        target, name, new = _set(flow, call.value.args, call.scope)
        if name not in _GIVEN or target is None:
            continue
        stored = new if new is not None else call.value.keyword("new") or call.value.keyword("side_effect")
        given = 2 if target == Const(OLD) else _of_optimizer(origins, flow.here(target, call.scope))
        if given and stored is not None and _written_for_old(flow, flow.here(stored, call.scope), name, given):
            yield call.scope, call.node, _GIVEN[name]


def _set(flow: Flow, args: tuple[Value, ...], scope: Scope) -> tuple[Value | None, str, Value | None]:
    """Return what a call sets an attribute of, the name, and what it sets: two arguments name the class as a text."""
    first, *rest = (flow.resolve(flow.here(one, scope)).value for one in args[:2])
    if isinstance(first, Const) and isinstance(first.value, str):
        owner, _, name = first.value.rpartition(".")
        return Const(owner), name, args[1] if len(args) > 1 else None
    named: object = rest[0].value if rest and isinstance(rest[0], Const) else None
    return args[0], named if isinstance(named, str) else "", args[2] if len(args) > 2 else None


def _of_optimizer(origins: Origins, bound: Bound) -> int:
    """Return how many arguments ``update`` had up to 0.10 on a class of optimizers, or an optimizer; 0 for others."""
    value = origins.flow.resolve(bound).value
    if value == Ref(OLD) or (isinstance(value, Class) and origins.optimizer_base(value.facts) == OLD):
        return 2
    return int(bool(origins.of(bound)))


def _written_for_old(flow: Flow, stored: Bound, name: str, given: int) -> bool:
    """Say whether a function of the project takes just what the method took up to 0.10."""
    value = flow.resolve(stored).value
    if isinstance(value, Call) and value.args and flow.calls.callee_name(flow.resolve(stored)) == "types.MethodType":
        stored, given = flow.follow(flow.resolve(stored), value.args[0]), 2  # the object is the first argument
    return any(_takes_old(callee.function, name, given) for callee in flow.calls.callables(stored))


def _takes_old(function: FunctionFacts, name: str, given: int) -> bool:
    arguments = function.node.args
    if arguments.vararg is not None:
        return False
    if name == "__init__":
        return arguments.kwarg is None and "wrt" not in function.params
    return function.positional <= given
