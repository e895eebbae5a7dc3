"""Keys in the states of loops that are drawn from and go on as they were; part of NNX830."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.keys import DRAWING, SAME, Use, uses
from codemods.nnx.lint.loop_bodies import bodies
from codemods.nnx.lint.names import NOT_CONSUMING, last
from codemods.nnx.lint.places import in_test, received
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Loop, Mapping, Param, Sequence, Unknown, Value

_CARRIES = {"scan": 0, "fori_loop": 1, "while_loop": 0}
_COPYING = frozenset({"replace", "_replace"})
_DEPTH = 3
# keys that begin the same thing again on purpose, or that stand for the world of an episode (domain randomization)
_AGAIN = pattern(r"(^|_)(init\w*|reset\w*|start\w*|seed\w*|feature\w*|basis|target|dr|domain\w*|episode)(_|$)")


def kept_in_states(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str]]:
    """Yield the draws from a part of a loop's state that is the same in the next round: call, key, function's name.

    Args:
        context: the analysis.
    """
    seen: set[tuple[Scope, Value]] = set()
    for event, key, node, name in _draws(context):
        function, scope = event.scope.function, event.scope
        if function is None or scope.module not in context.asked or (scope, key) in seen or in_test(scope):
            continue
        state = key.base if isinstance(key, Attr | Item) else None
        part = _name(key)
        if not isinstance(state, Param) or state.function is not function or state is function.self_param:
            continue
        if (
            not part
            or SAME.search(part)
            or _AGAIN.search(part)
            or function.generator
            or len(function.returns) != 1
            or _told_apart(function)
        ):
            continue
        if name == "split" and (not _unpacked(event) or _for_dropout(event, function)):
            continue
        for place in _places(function.returns[0]):
            kept = _keeps(context, _at(function.returns[0], place), state, key, scope)
            if kept and goes_on(context, function, state, place, 0):
                seen.add((scope, key))
                yield event, node, name
                break


def _draws(context: Context) -> Iterator[tuple[CallEvent, Value, ast.expr, str]]:
    """Yield the calls that use up a key that is part of something: call, key, argument and the function's name."""
    for event in context.bodies.named(*DRAWING):
        key = event.value.argument(0, "key")
        if isinstance(key, Attr | Item) and isinstance(key.base, Param):
            name = context.flow.calls.name(event)
            if name.startswith("jax.random.") and last(name) not in NOT_CONSUMING and event.node.args:
                yield event, key, event.node.args[0], last(name)
    found: list[Use] = [use for users in context.shared(uses).values() for use in users if use.helper]
    for use in found:
        if isinstance(use.key, Attr | Item) and isinstance(use.key.base, Param):
            yield use.event, use.key, use.node, last(use.name)


def _name(key: Value) -> str:
    """Return the name of an attribute or entry that is a key; empty for others."""
    if isinstance(key, Attr):
        return key.name
    index = key.index if isinstance(key, Item) else None
    return index.value if isinstance(index, Const) and isinstance(index.value, str) else ""


def _told_apart(function: FunctionFacts) -> bool:
    """Say whether a function may tell the rounds apart by something else than the key."""
    return any(
        (isinstance(n, ast.Attribute) and n.attr == "fold_in") or (isinstance(n, ast.Name) and n.id == "fold_in")
        for n in ast.walk(function.node)
    )


def _for_dropout(event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a split makes the keys of dropout that a model of Linen is applied with, of which NNX629 speaks."""
    statement = event.statement
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    made = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return any(
        isinstance(node, ast.keyword) and node.arg == "rngs" and bool(made & names_in(node.value))
        for node in ast.walk(function.node)
    )


def _unpacked(event: CallEvent) -> bool:
    """Say whether a split gives keys at fixed places, which are those of every round."""
    for node in ast.walk(event.statement):
        if isinstance(node, ast.Subscript) and node.value is event.node:
            return isinstance(node.slice, ast.Constant)
    statement = event.statement
    return (
        isinstance(statement, ast.Assign)
        and statement.value is event.node
        and all(isinstance(target, ast.Tuple) for target in statement.targets)
    )


def _places(returned: Value) -> Iterator[int | None]:
    """Yield where in what a function returns its state may be; None stands for the whole."""
    yield None
    if isinstance(returned, Sequence):
        yield from range(len(returned.items))


def _at(returned: Value, place: int | None) -> Value:
    return returned.items[place] if place is not None and isinstance(returned, Sequence) else returned


def _keeps(context: Context, after: Value, state: Param, key: Value, scope: Scope) -> bool:
    """Say whether a new state has the key of the old one."""
    part = _name(key)
    if isinstance(after, Mapping) and isinstance(key, Item):
        own: Value | None = None
        for name, value in after.items:
            if name is None:
                if value is not state and not isinstance(value, Mapping):
                    return False
                own = key if value is state else own
            elif isinstance(name, Const):
                own = value if name.value == part else own
            else:
                return False
        return own == key
    if isinstance(after, Unknown) and isinstance(after.node, ast.BinOp) and isinstance(after.node.op, ast.BitOr):
        left, right = after.node.left, after.node.right
        if scope.module.values.get(left) is not state or not isinstance(right, ast.Dict):
            return False
        return all(isinstance(one, ast.Constant) and one.value != part for one in right.keys)
    if not isinstance(after, Call) or any(name is None for name, _ in after.keywords) or after.starred:
        return False
    given = dict(after.keywords)
    if isinstance(after.callee, Attr) and after.callee.name in _COPYING and not after.args:
        return after.callee.base is state and isinstance(key, Attr) and given.get(part, key) == key
    if isinstance(after.callee, Attr) and after.callee.name == "apply_gradients":
        return after.callee.base is state and isinstance(key, Attr) and part not in given and _left(context, part)
    made = context.flow.here(after, scope)
    if context.flow.calls.callee_name(made) == "dataclasses.replace":
        return after.args == (state,) and given.get(part, key) == key
    cls = context.flow.classes.class_of(made)
    if cls is None or not isinstance(key, Attr) or "__init__" in cls.methods or part not in cls.fields:
        return False
    return after.argument([*cls.fields].index(part), part) == key


def _left(context: Context, part: str) -> bool:
    """Say whether no method of the project that takes a step changes a part of a state by itself."""
    methods = (cls.methods["apply_gradients"] for cls in context.project.classes() if "apply_gradients" in cls.methods)
    return not any(
        (isinstance(n, ast.keyword) and n.arg == part) or (isinstance(n, ast.Attribute) and n.attr == part)
        for method in methods
        for n in ast.walk(method.node)
    )


def goes_on(context: Context, function: FunctionFacts, state: Param, place: int | None, depth: int) -> bool:
    """Say whether the state that a function returns at a place is what it is given in the next round of a loop.

    Args:
        context: the analysis.
        function: the function.
        state: the parameter that gets the state.
        place: where in what it returns the state is; None stands for the whole.
        depth: how many callers it was followed through.
    """
    for loop, carry, body in context.shared(_carries):
        if body is function and carry is state and place == (0 if loop == "scan" else None):
            return True
    for event in context.flow.sites.callers(function) if depth < _DEPTH else ():
        given = _given(context, event, function, state)
        if given is None or in_test(event.scope):
            continue
        after: Value = event.value if place is None else Item(event.value, Const(place))
        if isinstance(given, Loop) and given.node in event.loops and isinstance(given.node, ast.For | ast.While):
            if given.again is not None and (given.again is after or given.again == after):
                return True
        outer = event.scope.function
        if not isinstance(given, Param) or outer is None or given.function is not outer or len(outer.returns) != 1:
            continue
        returned = outer.returns[0]
        for where in _places(returned):
            one = _at(returned, where)
            if (one is after or one == after) and goes_on(context, outer, given, where, depth + 1):
                return True
    return False


def _carries(context: Context) -> list[tuple[str, Param, FunctionFacts]]:
    """Return the carries of the bodies of loops: kind of loop, parameter, body."""
    found: list[tuple[str, Param, FunctionFacts]] = []
    for body in bodies(context):
        place, free = _CARRIES.get(last(body.loop)), body.free
        if place is not None and body.role != "cond_fun" and free is not None and place < len(free):
            found.append((last(body.loop), body.function.params[free[place]], body.function))
    return found


def _given(context: Context, event: CallEvent, function: FunctionFacts, param: Param) -> Value | None:
    """Return what a call gives for a parameter, as it stands there."""
    if event.value.starred or context.flow.calls.callee_name(context.flow.here(event.value, event.scope)):
        return None
    reached = context.flow.calls.reached(context.flow.here(event.value, event.scope))
    if len(reached) != 1 or reached[0].function is not function or reached[0].gradient or reached[0].keywords:
        return None
    place = list(function.params).index(param.name) - len(reached[0].args) - received(function)
    return event.value.argument(place, param.name) if place >= 0 else None
