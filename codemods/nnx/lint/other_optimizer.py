"""Steps that are given one of two models with the optimizer of the other, by their names; part of NNX854."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.places import callers_of, in_test, position
from codemods.nnx.lint.syntax import argument
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Param

_OWNED = pattern(r"^(?P<model>[a-z]\w*?)(?P<word>_(optimizer|optim|opt))$")


def other_optimizers(context: Context) -> Iterator[tuple[CallEvent, ast.Name, str, str]]:
    """Yield the calls that give a step for ``policy`` and ``policy_optimizer`` the policy and ``q_optimizer``.

    Args:
        context: the analysis.

    Yields:
        The call, the optimizer in it, what is wrong, and what to do.
    """
    for function, model, optimizer in context.shared(_steps):
        for event in callers_of(context, function):
            if event.scope.module not in context.asked or event.value.starred or in_test(event.scope):
                continue
            one = argument(event.node, position(model), model.name)
            other = argument(event.node, position(optimizer), optimizer.name)
            if not isinstance(one, ast.Name) or not isinstance(other, ast.Name):
                continue
            owned = _OWNED.search(other.id)
            if owned is None or owned["model"] == one.id:
                continue
            if {owned["model"], one.id, one.id + owned["word"]} <= _names(event):
                yield (
                    event,
                    other,
                    f"`{function.name}` updates `{one.id}` here with `{other.id}`, the optimizer of `{owned['model']}`",
                    f"give it {one.id + owned['word']}",
                )


def _steps(context: Context) -> list[tuple[FunctionFacts, Param, Param]]:
    """Return the functions with ``model_optimizer.update(model, ...)`` for two of their parameters of such names."""
    found = []
    for event in context.bodies.named("update"):
        callee, function = event.node.func, event.scope.function
        if function is None or not isinstance(callee, ast.Attribute) or not isinstance(callee.value, ast.Name):
            continue
        owned = _OWNED.search(callee.value.id)
        given = event.node.args[0] if event.node.args else None
        optimizer = function.params.get(callee.value.id)
        if owned is None or optimizer is None or not isinstance(given, ast.Name):
            continue
        model = function.params.get(owned["model"])
        if model is not None and (given.id == model.name or len(event.node.args) == 1) and not event.used:
            found.append((function, model, optimizer))
    return found


def _names(event: CallEvent) -> set[str]:
    """Return the variables of the function around a call, also where it only binds them."""
    function = event.scope.function
    names = {n.id for n in ast.walk(event.scope.node) if isinstance(n, ast.Name)}
    return names | set(function.params if function is not None else ())
