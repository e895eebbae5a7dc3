"""Losses that a function of the project gets, differentiates, and steps with, as a state's ``apply_loss_fn`` does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.places import in_test, received
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Function, Param

_GRADIENTS = frozenset({"grad", "value_and_grad"})
_STEPS = frozenset({"apply_gradients", "apply_updates"})


def handed_losses(context: Context) -> Iterator[tuple[CallEvent, FunctionFacts]]:
    """Yield the calls that hand a loss over to be differentiated by its first argument, each with the loss.

    Args:
        context: the analysis.
    """
    steppers = context.shared(_steppers)
    if not steppers:
        return
    for event in context.bodies.named(*steppers):
        functions = steppers[last_word(event.node.func)]
        if event.value.starred or event.scope.module not in context.asked or in_test(event.scope):
            continue
        losses = {_given(context, event, function, name) for function, name in functions}
        loss = losses.pop() if len(losses) == 1 else None
        if loss is not None and loss.params and not getattr(loss.node, "decorator_list", ()):
            yield event, loss


def _steppers(context: Context) -> dict[str, list[tuple[FunctionFacts, str]]]:
    """Return the functions that step with the gradient of a parameter, by their names, if all of a name do so."""
    found: dict[str, list[tuple[FunctionFacts, str]]] = {}
    for event in context.bodies.named(*_GRADIENTS):
        given, function = event.value.args[0] if event.value.args else None, event.scope.function
        if not isinstance(given, Param) or given.function is not function or event.value.keyword("argnums") is not None:
            continue
        if len(event.node.args) > 1 or not context.flow.calls.name(event).startswith(("jax.", "flax.")):
            continue
        if any(isinstance(n, ast.Call) and last_word(n.func) in _STEPS for n in ast.walk(function.node)):
            entry = (function, given.name)
            if entry not in found.setdefault(function.name, []):
                found[function.name].append(entry)
    every: dict[str, set[FunctionFacts]] = {}
    for module in context.project.modules if found else ():
        for function in module.functions:
            every.setdefault(function.name, set()).add(function)
    return {name: ways for name, ways in found.items() if {one for one, _ in ways} == every[name]}


def _given(context: Context, event: CallEvent, function: FunctionFacts, name: str) -> FunctionFacts | None:
    """Return the function that a call gives for a parameter."""
    value = event.value.keyword(name)
    place = list(function.params).index(name) - received(function)
    if value is None and 0 <= place < len(event.value.args) and place < function.positional:
        value = event.value.args[place]
    found = context.flow.resolve(context.flow.here(value, event.scope)).value if value is not None else None
    return found.facts if isinstance(found, Function) else None
