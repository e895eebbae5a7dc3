"""Targets that a function hands to another one, which compares them with the same model; part of NNX778."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.policy_losses import stops_gradients
from codemods.nnx.nodes import last_word

_LOSSES = frozenset({"l2_loss", "huber_loss", "squared_error", "mse_loss", "smooth_l1_loss", "mse"})


def compared_by_helper(context: Context, target: str, after: ast.expr, scope: Scope) -> bool:
    """Say whether a function gets a target and the model that it was made with, and compares it with what that says.

    Args:
        context: the analysis.
        target: the variable with the target.
        after: the call of the model for the next state.
        scope: where both stand.
    """
    if not isinstance(after, ast.Call) or not isinstance(after.func, ast.Name):
        return False
    for event in context.bodies.calls.get(scope, ()):
        names = [node.id if isinstance(node, ast.Name) else "" for node in event.node.args]
        if event.value.starred or event.node.keywords or target not in names or after.func.id not in names:
            continue
        callees = context.flow.calls.callables(context.flow.here(event.value.callee, scope))
        if len(callees) != 1 or callees[0].args or callees[0].receiver is not None:
            continue
        function = callees[0].function
        params = list(function.params)
        if len(params) >= len(names) and not stops_gradients(function):
            given, model = params[names.index(target)], params[names.index(after.func.id)]
            if _compares(function, given, model):
                return True
    return False


def _compares(function: FunctionFacts, target: str, model: str) -> bool:
    """Say whether a function calls its model, and takes the difference of something to its target."""
    nodes = list(ast.walk(function.node))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    if stored & {target, model}:
        return False
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    if not any(isinstance(n.func, ast.Name) and n.func.id == model for n in calls):
        return False
    sides = [
        side for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) for side in (n.left, n.right)
    ]
    sides += [one for n in calls if last_word(n.func) in _LOSSES for one in (*n.args, *(k.value for k in n.keywords))]
    return any(isinstance(one, ast.Name) and one.id == target for one in sides)
