"""Models that run in training mode before anything calls ``eval()``; part of NNX858."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.lint.lax_control_flow import parts
from codemods.nnx.lint.owners import owner_class, plain_module
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.stuck_eval import reach
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr

_GRADIENTS = frozenset({"grad", "value_and_grad"})


def trains_first(context: Context, made: CallEvent) -> bool:
    """Say whether a model that holds a layer is told to train, or is trained before anything evaluates it.

    Args:
        context: the analysis.
        made: the call that makes the layer, in a method of the module that holds it.
    """
    owner = made.scope.function.owner if made.scope.function is not None else None
    if owner is None or not plain_module(context, owner) or context.flow.fields.stores().get("rngs"):
        return False
    if not any(context.bodies.named(*_GRADIENTS)):
        return False
    for event in context.bodies.named("train"):
        callee = event.value.callee
        if isinstance(callee, Attr) and not event.used and not event.node.args and not event.node.keywords:
            cls = owner_class(context, callee.base, event.scope)
            if not in_test(event.scope) and isinstance(cls, ClassFacts) and _holds(context, cls, owner, 0):
                return True
    return any(_trained(context, event) for event in _makers(context, owner))


def _makers(context: Context, owner: ClassFacts) -> list[CallEvent]:
    """Return the calls that bind an object of a class to a name."""
    return [
        event
        for event in context.bodies.named(owner.name)
        if isinstance(event.statement, ast.Assign)
        and event.statement.value is event.node
        and len(event.statement.targets) == 1
        and isinstance(event.statement.targets[0], ast.Name)
        and not in_test(event.scope)
        and owner_class(context, event.value, event.scope) is owner
    ]


def _trained(context: Context, made: CallEvent) -> bool:
    """Say whether a body gives a model to what differentiates it before anything else could set its mode."""
    assert isinstance(made.statement, ast.Assign)
    name = made.statement.targets[0]
    assert isinstance(name, ast.Name)
    if context.bodies.paths(made.scope).get(made.node):
        return False
    events = sorted(context.bodies.calls.get(made.scope, ()), key=lambda one: (one.node.lineno, one.node.col_offset))
    for event in events:
        nodes = [*event.node.args, *(k.value for k in event.node.keywords)]
        if event.node.lineno <= made.node.lineno:
            continue
        func = event.node.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == name.id:
            if func.attr != "train":
                return False
        if not any(isinstance(n, ast.Name) and n.id == name.id for n in nodes):
            continue
        if last_word(func) in {"Optimizer", "ModelAndOptimizer"}:
            continue
        functions = list(reach(context, event, 0, set()))
        words = {last_word(one.node.func) for f in functions for one in context.bodies.calls.get(f.scope, ())}
        words |= {last_word(func.func)} if isinstance(func, ast.Call) else set()
        if words & {"eval", "train", "set_attributes", "view", "clone"}:
            return False
        if words & _GRADIENTS:
            return not context.bodies.guarded(event.node, event.scope)
        if not functions:
            return False  # of another library, which may do anything with it
    return False


def _holds(context: Context, cls: ClassFacts, owner: ClassFacts, depth: int) -> bool:
    """Say whether objects of a class are, or hold, those of another class."""
    parents = context.flow.classes.mro(cls)[0]
    if owner in parents:
        return True
    return depth < 3 and any(
        inner is not None and inner is not cls and _holds(context, inner, owner, depth + 1)
        for parent in parents
        for stores in parent.stores.values()
        for function, value in stores
        for one in parts(context, context.flow.here(value, function.scope))
        for inner in [context.flow.classes.class_of(one)]
    )
