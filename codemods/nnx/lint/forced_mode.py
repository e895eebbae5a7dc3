"""Layers that are told by a constant to train, whatever model.eval() says; part of NNX815."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.owners import owner_class, plain_module
from codemods.nnx.lint.places import in_test
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Const

_FLAGS = {"deterministic": "flax.nnx.Dropout", "use_running_average": "flax.nnx.BatchNorm"}
_ON_PURPOSE = pattern(r"(^|_)mc(_|$)|monte|uncertain|bayes|stochastic|sample|noise|train|augment|adapt|calibrat", re.I)


def forced_modes(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls of layers in a model's own call that keep it in training mode, in a project that evaluates."""
    if not any(module.source.mentions(b".eval()") for module in context.project.modules):
        return
    for module in context.asked.modules:
        if not any(f"{flag}=False".encode() in module.source.data for flag in _FLAGS):
            continue
        for event in module.calls:
            flag = next((k for k, v in event.value.keywords if k in _FLAGS and isinstance(v, Const)), None)
            function = event.scope.function
            if flag is None or function is None or function.owner is None or function.name != "__call__":
                continue
            value = event.value.keyword(flag)
            if not isinstance(value, Const) or value.value is not False or in_test(event.scope):
                continue
            if _conditional(context, event, event.scope) or _ON_PURPOSE.search(function.owner.name):
                continue
            if plain_module(context, function.owner) and (
                owner_class(context, event.value.callee, event.scope) == _FLAGS[flag]
            ):
                yield (
                    event,
                    f"`{flag}=False` in the call stands above model.eval(): the layer always trains",
                    "leave it out: model.train() and model.eval() set it",
                )


def _conditional(context: Context, event: CallEvent, scope: Scope) -> bool:
    """Say whether a call stands under a condition, which may ask for the mode."""
    return bool(context.bodies.paths(scope).get(event.node)) or bool(context.bodies.behind(event.node, scope))
