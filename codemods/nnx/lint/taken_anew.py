"""Old probabilities that every round of a loop computes anew, of the policy as it is then; part of NNX779."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.places import callers_of, in_test, passed, position
from codemods.nnx.lint.syntax import argument, names_in
from codemods.nnx.values import Attr, Call, Param, Value

_DEPTH = 4


def taken_anew(context: Context, new: Value, old: Value, scope: Scope) -> CallEvent | None:
    """Return the call in a loop that gives the old probabilities of each update by the policy before that update.

    Args:
        context: the analysis.
        new: the new probabilities, in the loss.
        old: the old ones.
        scope: the body of the loss.
    """
    if not isinstance(new, Call) or not isinstance(old, Param):
        return None
    owners = [new.callee.base] if isinstance(new.callee, Attr) else list[Value]()
    for model in (*new.args[:1], *owners):
        found = _through(context, model, old, 0)
        if found is None or not _same_batch(*found[:2]):
            continue
        known = found[2] | (names_in(new.node) if scope.parent is found[0].scope else frozenset())
        if not names_in(found[0].node) - _called_names(found[0]) <= known:
            continue  # other data than those of the update
        if _functions(context, found[0].value, found[0].scope) == _functions(context, new, scope):
            return found[0]
    return None


def _functions(context: Context, call: Call, scope: Scope) -> set[FunctionFacts]:
    return {callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(call, scope))}


def _through(
    context: Context, model: Value | None, old: Param, depth: int
) -> tuple[CallEvent, ast.expr, frozenset[str]] | None:
    """Return the call that gives what a parameter takes, how the policy is written there, and what the update reads."""
    if depth > _DEPTH:
        return None
    for _ in range(_DEPTH):  # from the loss, where the old ones are captured, to the function around it
        if not isinstance(model, Param) or model.function is old.function:
            break
        outer = callers_of(context, model.function)
        model = passed(outer[0], model) if len(outer) == 1 and not outer[0].loops else None
    if not isinstance(model, Param) or model.function is not old.function:
        return None
    callers = [one for one in callers_of(context, old.function) if not in_test(one.scope)]
    if len(callers) != 1 or callers[0].value.starred:
        return None
    caller = callers[0]
    given = passed(caller, old)
    if isinstance(given, Param) and given.function is caller.scope.function and not caller.loops:
        return _through(context, passed(caller, model), given, depth + 1)
    policy = argument(caller.node, position(model), model.name)
    if not isinstance(given, Call) or policy is None or not caller.loops:
        return None
    made = next((e for e in context.bodies.calls.get(caller.scope, ()) if e.node is given.node), None)
    if made is None or made.loops != caller.loops or made.node.lineno > caller.node.lineno:
        return None
    return made, policy, names_in(caller.node)


def _called_names(event: CallEvent) -> frozenset[str]:
    func = event.node.func
    return frozenset({func.id}) if isinstance(func, ast.Name) else frozenset()


def _same_batch(event: CallEvent, policy: ast.expr) -> bool:
    """Say whether a call in a loop has the same policy as the update, and the same batch in every round."""
    func = event.node.func
    owner = func.value if isinstance(func, ast.Attribute) else None
    given = [*event.node.args, *([owner] if owner is not None else [])]
    if ast.unparse(policy) not in {ast.unparse(one) for one in given}:
        return False
    read = names_in(event.node) - names_in(policy) - _called_names(event)
    loop = event.loops[-1]
    stores = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return isinstance(loop, ast.For | ast.While) and bool(read) and not read & stores
