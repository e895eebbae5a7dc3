"""Steps that are given what they were to train with, and do not touch it; part of NNX871."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import callers_of, kinds_of, taken
from codemods.nnx.nodes import last_word

_MEASURES = ("eval", "valid", "test", "norm", "check", "debug", "bench", "profile")


def trains_nothing(context: Context, event: CallEvent) -> bool:
    """Say whether a function with a gradient takes an optimizer and never reads it, or gives back what it is of.

    Args:
        context: the analysis.
        event: the call that gives the loss and the gradient, which nothing reads.
    """
    function = event.scope.function
    if function is None or any(word in function.name.lower() for word in _MEASURES):
        return False
    read = {n.id for n in ast.walk(function.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for name, param in function.params.items():
        if name not in read and kinds_of(context, param, event.scope) == {Kind.OPTIMIZER}:
            return True
    return _given_back(context, function, event)


def given_to_nobody(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether a function with an optimizer that it never reads returns its gradients, and no caller takes them.

    Args:
        context: the analysis.
        event: the call that gives the loss and the gradient.
        name: the variable with the gradient.
    """
    function = event.scope.function
    if function is None or len(function.returns) != 1:
        return False
    nodes = list(ast.walk(function.node))
    returned = next((n.value for n in nodes if isinstance(n, ast.Return)), None)
    parts = returned.elts if isinstance(returned, ast.Tuple) else []
    places = [i for i, part in enumerate(parts) if isinstance(part, ast.Name) and part.id == name]
    reads = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    if len(places) != 1 or len(reads) != 1 or not trains_nothing(context, event):
        return False
    callers = callers_of(context, function)
    return bool(callers) and all(_dropped(taken(caller, places[0]), caller) for caller in callers)


def _dropped(target: ast.expr | None, caller: CallEvent) -> bool:
    """Say whether what a call gives is named like nothing, or by a variable that nothing reads."""
    if target is caller.node:
        return True
    return isinstance(target, ast.Name) and not any(
        isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load)
        for n in ast.walk(caller.scope.node)
    )


def _given_back(context: Context, function: FunctionFacts, event: CallEvent) -> bool:
    """Say whether a function returns the parameters of its gradient as they came: ``return params, state, loss``."""
    given = event.node.args[0] if event.node.args else None
    statement = event.statement
    if not isinstance(given, ast.Name) or given.id not in function.params or not isinstance(statement, ast.Assign):
        return False
    stored = (n.id for n in ast.walk(function.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    if given.id in stored:
        return False
    target = statement.targets[0]
    losses = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
    for node in context.bodies.nodes(function.scope):
        parts = node.value.elts if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) else []
        names = {last_word(part) for part in parts if isinstance(part, ast.Name)}
        if given.id in names and names & losses:
            return True
    return False
