"""Loops that call a function with what it gave before, and else with the same: one problem that goes on; for NNX838."""

from __future__ import annotations

import ast
import re

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.keys import varies
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test, passed, position
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Function, Item, Loop, Param, Ref, Value

# other problems one after the other, or beginnings that are meant
MEANT = pattern(
    r"restart|cycle|anneal|stage|phase|task|client|round|fed|fold|warm|member|seed|trial|generation|iterate|outer|level"
    r"|temper|homotop|continu|curric|reset",
    re.I,
)
_LOOKING = pattern(
    r"^(print|len|float|int|append|info|debug|log\w*|plot\w*|save\w*|str|format|round|list|range)$|eval|loss|metric|norm"
)
#: The place of the carry among the arguments of a body
CARRIES = {"jax.lax.scan": 0, "jax.lax.while_loop": 0, "jax.lax.fori_loop": 1}


def goes_on(context: Context, caller: CallEvent, params: Param) -> bool:
    """Say whether a loop calls a function with the parameters that it gave before, and else with the same always.

    Args:
        context: the analysis.
        caller: the call.
        params: the parameter of the function for what is optimized.
    """
    if in_test(caller.scope) or caller.value.starred:
        return False
    given = passed(caller, params)
    if given is None:
        return False
    if caller.loops:
        loop = caller.loops[-1]
        if not isinstance(loop, ast.For | ast.While) or not isinstance(given, Loop) or given.node is not loop:
            return False
        return (
            given.again is not None
            and comes_from(given.again, caller.value)
            and _else_alike(context, caller, loop, given)
        )
    return _in_body(context, caller, given)


def again_by_method(context: Context, caller: CallEvent) -> bool:
    """Say whether a loop calls a method of one object with the same arguments, which goes on with what that keeps.

    Args:
        context: the analysis.
        caller: the call.
    """
    loop = caller.loops[-1] if caller.loops else None
    if not isinstance(loop, ast.For | ast.While) or not isinstance(caller.value.callee, Attr) or in_test(caller.scope):
        return False
    return not caller.value.starred and _else_alike(context, caller, loop, None)


def _else_alike(context: Context, caller: CallEvent, loop: ast.For | ast.While, carried: Value | None) -> bool:
    """Say whether a call gets the same in every round of a loop, besides what is carried on and keys."""
    head = (
        f"{ast.unparse(loop.target)} {ast.unparse(loop.iter)}" if isinstance(loop, ast.For) else ast.unparse(loop.test)
    )
    if MEANT.search(f"{head} {ast.unparse(caller.node.func)}") or context.bodies.sometimes(
        caller.node, caller.scope, loop
    ):
        return False
    others = [one for one in caller.value.given if one is not carried]
    callee = caller.value.callee
    others += [callee.base] if isinstance(callee, Attr) else []
    if any(varies(one, loop, lasting=_lasting) and not _is_key(context, one, caller) for one in others):
        return False
    stored = [n for s in loop.body for n in ast.walk(s) if isinstance(getattr(n, "ctx", None), ast.Store | ast.Del)]
    if any(isinstance(n, ast.Attribute | ast.Subscript) for n in stored):
        return False
    held = [one for one in others if not isinstance(one, Const | Ref | Function)]
    return not any(_may_change(event, held) for event in _beside(context, caller, loop))


def _beside(context: Context, caller: CallEvent, loop: ast.AST) -> list[CallEvent]:
    events = context.bodies.calls.get(caller.scope, ())
    return [event for event in events if event is not caller and loop in event.loops]


def _may_change(event: CallEvent, held: list[Value]) -> bool:
    """Say whether a call may change one of some objects: it gets one, or is a method of one."""
    callee = event.value.callee
    base = callee.base if isinstance(callee, Attr) else None
    if base is not None and any(base == one for one in held):
        return True
    return not _LOOKING.search(last_word(event.node.func)) and any(a == one for a in event.value.given for one in held)


def _lasting(attribute: Attr) -> bool:
    return True


def _is_key(context: Context, value: Value, caller: CallEvent) -> bool:
    """Say whether a value is a key of JAX, of which each round may have its own."""
    while isinstance(value, Item | Loop):
        value = value.base if isinstance(value, Item) else value.again or value.before
        while isinstance(value, Item):
            value = value.base
    if not isinstance(value, Call):
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, caller.scope))
    return name.startswith("jax.random.") and last(name) in {"split", "fold_in", "key", "PRNGKey"}


def _in_body(context: Context, caller: CallEvent, given: Value) -> bool:
    """Say whether the body of a loop of JAX goes on with its carry, and gets nothing else that is another each time."""
    function = caller.scope.function
    while isinstance(given, Item):
        given = given.base
    if function is None or not isinstance(given, Param) or given.function is not function:
        return False
    roots = [root for root in context.traced.roots if root.function is function and not root.partial]
    if len(roots) != 1 or CARRIES.get(roots[0].transform) != position(given):
        return False
    others = {name for name in function.params if name != given.name}
    call = caller.node
    nodes = [*call.args, *(k.value for k in call.keywords)]
    if any(others & names_in(one) for one in nodes) or MEANT.search(f"{function.name} {ast.unparse(call.func)}"):
        return False
    return _gives(context, function, caller)


def _gives(context: Context, function: FunctionFacts, caller: CallEvent) -> bool:
    """Say whether a body gives what a call in it gave."""
    if isinstance(function.node, ast.Lambda):
        return any(n is caller.node for n in ast.walk(function.node.body))
    targets: set[str] = set()
    statement = caller.statement
    if isinstance(statement, ast.Assign) and statement.value is caller.node:
        targets = set().union(*(map(_stored, statement.targets)))
    returned = [n.value for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return) and n.value]
    return any(targets & names_in(one) or any(n is caller.node for n in ast.walk(one)) for one in returned)


def _stored(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def comes_from(value: Value, call: Call) -> bool:
    """Say whether a value is a result of a call, or a part of one.

    Args:
        value: the value, as it stands in the text.
        call: the call.
    """
    while value is not call:
        base = getattr(value, "base", None)
        if not isinstance(base, Value):
            return False
        value = base
    return True
