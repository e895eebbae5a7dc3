"""Evaluation that tells its model by a constant to train; part of NNX815."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Const

_FLAGS = {"train": True, "training": True, "is_training": True, "deterministic": False, "use_running_average": False}
_EVALUATES = pattern(r"(^|_)(eval|evaluate|evaluation|validate|validation)(_|$)", re.I)
_OTHERWISE = pattern(
    r"dropout|(^|_)mc(_|$)|monte|uncertain|bayes|stochastic|noise|train|tune|augment|adapt|calibrat|statistics", re.I
)
_MODELS = frozenset({"model", "net", "network", "apply", "apply_fn"})
_GRADIENTS = frozenset({"grad", "value_and_grad", "jacrev", "jacfwd"})


def told_to_train(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls of models, in functions that are called an evaluation, with a constant that says training.

    Args:
        context: the analysis.

    Yields:
        The call, what is wrong with it, and the way out.
    """
    if not any(m.source.mentions(b"Dropout") or m.source.mentions(b"BatchNorm") for m in context.project.modules):
        return
    for function in context.asked.functions():
        if not _EVALUATES.search(function.name) or not _only_evaluates(context, function) or in_test(function.scope):
            continue
        for event in context.bodies.calls.get(function.scope, ()):
            flag = _flag(event)
            if flag is None or not _runs_model(context, event) or context.bodies.guarded(event.node, event.scope):
                continue
            around = context.bodies.paths(event.scope).get(event.node, ())
            if any(isinstance(block, ast.If | ast.Try) for block, _ in around) or event.value.keyword("mutable"):
                continue
            yield (
                event,
                f"`{function.name}` runs the model with `{flag}={_FLAGS[flag]}`, in training mode",
                f"write {flag}={not _FLAGS[flag]}",
            )


def _only_evaluates(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function, and what is around it, neither trains nor wants another mode by its name."""
    if function in context.traced.differentiated:
        return False
    scope: Scope | None = function.scope
    while scope is not None and scope.function is not None:
        if _OTHERWISE.search(scope.function.name):
            return False
        if any(
            last_word(n) in _GRADIENTS for n in ast.walk(scope.function.node) if isinstance(n, ast.Name | ast.Attribute)
        ):
            return False
        scope = scope.parent
    return True


def _flag(event: CallEvent) -> str | None:
    """Return the flag of a call that a constant sets to training, if there is one alone."""
    flags = [(name, value) for name, value in event.value.keywords if name in _FLAGS]
    if len(flags) != 1 or not isinstance(flags[0][1], Const) or event.value.starred:
        return None
    name, value = flags[0][0], flags[0][1].value
    return name if value is _FLAGS[name] else None


def _runs_model(context: Context, event: CallEvent) -> bool:
    """Say whether a call runs a model: a module, or what a name says to be one, also by its parameters."""
    if last_word(event.node.func) in _MODELS:
        return True
    return Kind.MODULE in kinds_of(context, event.value.callee, event.scope)
