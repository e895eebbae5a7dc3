"""Whether a model is certainly changed behind the place at which compiled code is made of it."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.conditions import apart
from codemods.nnx.lint.places import callers_of, foreign, kinds_of
from codemods.nnx.lint.syntax import inside
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Item, Param, Value

_TRAINING = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer", "flax.nnx.update"})
_DEPTH = 3  # callers of what changes it


def trained_later(context: Context, owner: Value, event: CallEvent, *, anew: bool = False) -> bool:
    """Say whether a model is updated, or an optimizer made for it, after a call that compiles it, or between its calls.

    Args:
        context: the analysis.
        owner: the model, as a value of the scope of the call.
        event: the call.
        anew: whether the call compiles each time it is reached, also for a model that was compiled before.
    """
    known = context.shared(_changes)
    own = _origins(context, context.flow.here(owner, event.scope))
    function = event.scope.function
    cls = function.owner if function is not None else None
    if cls is not None and "flax.nnx.Module" in context.flow.classes.mro(cls)[1]:  # an instance is, with what it holds
        family = {cls, *context.flow.classes.heirs(cls)}
        changed = [one for one in known if context.flow.classes.class_of(one) in family]
        if not anew or not _called_there(context, event):
            return bool(changed)
        behind = (pair for one in {*changed, *own} for pair in known.get(one, ()))
        return any(_behind(context, event, node, scope, 0) for node, scope in behind)
    if any(_behind(context, event, node, scope, 0) for one in own for node, scope in known.get(one, ())):
        return True
    if function is None or not isinstance(owner, Attr) or owner.base is not function.self_param:
        return False
    made = {one.value for one in own if isinstance(one.value, Call)}  # for each object of the class, by one call
    methods = {scope.function for one, pairs in known.items() if one.value in made for _, scope in pairs}
    called = {last_word(one.node.func) for one in context.bodies.calls.get(event.scope, ())}  # perhaps before
    return not _compiled_again(event, function) and any(
        one is not None and one.name not in called and _same_class(one, function) for one in methods
    )


def _called_there(context: Context, event: CallEvent) -> bool:
    """Say whether compiled code is called in the body that makes it, and nothing else gets hold of it."""
    calls = context.bodies.calls.get(event.scope, ())
    if any(one.node.func is event.node for one in calls):
        return True
    statement = event.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
    if not isinstance(target, ast.Name) or event.scope.function is None or len(getattr(statement, "targets", ())) != 1:
        return False
    called = {one.node.func for one in calls}
    nodes = (n for n in ast.walk(event.scope.node) if isinstance(n, ast.Name) and n.id == target.id)
    return all(n in called for n in nodes if isinstance(n.ctx, ast.Load))


def _compiled_again(event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether an attribute gets compiled code at several places of a class, or it is not known what gets it."""
    statement = event.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
    if not isinstance(target, ast.Attribute) or function.owner is None:
        return True
    return len(function.owner.stores.get(target.attr, ())) != 1


def _origins(context: Context, bound: Bound) -> set[Bound]:
    found = {context.flow.resolve(bound), *context.sources.originals(bound)}
    return {one for one in found if not isinstance(one.value, Param)}


def _changes(context: Context) -> dict[Bound, list[tuple[ast.AST, Scope]]]:
    """Return the objects that optimizers are made for, that are updated, or whose Variables get new values."""
    flow = context.flow
    found: dict[Bound, list[tuple[ast.AST, Scope]]] = {}
    changed: list[tuple[Value, ast.AST, Scope]] = []
    for event, name in foreign(context, "Optimizer", "ModelAndOptimizer", "update", everywhere=True):
        model = event.value.argument(0, "model")
        if name in _TRAINING and model is not None:
            changed.append((model, event.node, event.scope))
    for event in context.bodies.named("update"):
        callee = event.value.callee
        if not isinstance(callee, Attr) or Kind.OPTIMIZER not in kinds_of(context, callee.base, event.scope):
            continue
        if len(event.value.args) > 1:
            changed.append((event.value.args[0], event.node, event.scope))
        for one in context.sources.originals(flow.here(callee.base, event.scope)):  # of 0.10, which holds its model
            if isinstance(one.value, Call) and one.value.args:
                for bound in _origins(context, flow.with_value(one, one.value.args[0])):
                    found.setdefault(bound, []).append((event.node, event.scope))
    changed += [(store.base, store.node, store.scope) for store in flow.fields.stores().get("value", ())]
    for item in (item for module in context.project.modules for item in module.item_stores):
        if isinstance(item.base, Attr) and isinstance(item.node.slice, ast.Constant):
            if item.node.slice.value is Ellipsis:
                changed.append((item.base, item.node, item.scope))
    for value, node, scope in changed:
        parts = [value]
        while isinstance(parts[-1], Attr | Item):  # what it is a part of is changed, too
            parts.append(parts[-1].base)
        for bound in {one for part in parts for one in _origins(context, context.flow.here(part, scope))}:
            found.setdefault(bound, []).append((node, scope))
    return found


def _behind(context: Context, made: CallEvent, node: ast.AST, scope: Scope, depth: int) -> bool:
    """Say whether a change comes after a call in one run of its body, itself or by what calls it."""
    if scope is made.scope:
        loops = [loop for loop in made.loops if isinstance(loop, ast.For | ast.While) and inside(node, loop)]
        if loops:
            return False  # each round may make its own
        paths = context.bodies.paths(scope)
        line = getattr(node, "lineno", 0)
        if line <= made.node.lineno or apart(paths.get(made.node, ()), paths.get(node, ()), scope.node):
            return False
        return _run_before(context, made, node)
    function = scope.function
    if function is None or depth == _DEPTH:
        return False
    if _same_class(function, made.scope.function):
        return True
    return any(_behind(context, made, one.node, one.scope, depth + 1) for one in callers_of(context, function))


def _run_before(context: Context, made: CallEvent, node: ast.AST) -> bool:
    """Say whether compiled code may be called before a change: it keeps the values of its first call."""
    statement = made.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is made.node else None
    if not isinstance(target, ast.Name):
        return True
    nodes = [n for n in ast.walk(made.scope.node) if isinstance(n, ast.Name) and n.id == target.id]
    reads = {n for n in nodes if isinstance(n.ctx, ast.Load)}
    calls = [event for event in context.bodies.calls.get(made.scope, ()) if event.node.func in reads]
    if len(calls) < len(reads):
        return True  # handed on, or called by an inner function
    line = getattr(node, "lineno", 0)
    return any(
        event.node.lineno < line
        or any(inside(node, loop) for loop in event.loops if isinstance(loop, ast.For | ast.While))
        for event in calls
    )


def _same_class(one: FunctionFacts, two: FunctionFacts | None) -> bool:
    """Say whether two methods are of one class, whose constructor compiles and whose other methods train."""
    return two is not None and one.owner is not None and one.owner is two.owner and two.name in {"__init__", "setup"}
