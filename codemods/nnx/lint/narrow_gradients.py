"""Gradients of fewer Variables than the optimizer was made for; part of NNX890."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.applied import layers
from codemods.nnx.lint.lora_base import adapted
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Attr, Call, Const, Function, Item, Ref, Sequence, Value

_PATHS = frozenset({"flax.nnx.PathContains", "flax.nnx.PathIn"})
_WHOLE = Ref("flax.nnx.Param")
_LORA = Ref("flax.nnx.LoRAParam")


def narrow_gradients(context: Context, code: str) -> Iterator[Finding]:
    """Yield the optimizers of all Params that are given the gradients of a part of them.

    Args:
        context: the analysis.
        code: the rule that reports them.
    """
    if not any(module.source.mentions(b"DiffState") for module in context.project.modules):
        return
    told: set[ast.AST] = set()
    for event in context.bodies.named("update"):
        model, grads = event.value.argument(0, "model"), event.value.argument(1, "grads")
        if not isinstance(event.value.callee, Attr) or event.value.starred or model is None or in_test(event.scope):
            continue
        if isinstance(grads, Item) and grads.index == Const(1):  # behind the value
            grads = grads.base
        chosen = _chosen(context, grads, event) if isinstance(grads, Call) else None
        if chosen is None:
            continue
        made = list(context.sources.originals(context.flow.here(event.value.callee.base, event.scope)))
        optimizer = made[0].value if len(made) == 1 else None
        if not isinstance(optimizer, Call) or context.flow.calls.callee_name(made[0]) != "flax.nnx.Optimizer":
            continue
        wrt, home = optimizer.argument(2, "wrt"), context.bodies.home(optimizer.node)
        if wrt is None or home is None or home.module not in context.asked or optimizer.node in told:
            continue
        if context.flow.follow(made[0], wrt).value not in {_WHOLE, Const(...)}:
            continue
        if _narrow(context, chosen, 0) or (chosen.value == _LORA and _on_lora(context, made[0], optimizer)):
            told.add(optimizer.node)
            node = next((k.value for k in optimizer.node.keywords if k.arg == "wrt"), optimizer.node)
            beside = home.module is event.scope.module
            yield finding(
                code,
                home,
                node,
                f"this optimizer takes the gradients of all Params, and line {event.node.lineno} gives it those that "
                "another filter chooses: a ValueError",
                "give wrt= the filter of the gradient's nnx.DiffState",
                related=[(event.node, "updated here")] if beside else [],
            )


def _chosen(context: Context, call: Call, event: CallEvent) -> Bound | None:
    """Return the filter of the ``nnx.DiffState`` that gradients are taken with; None if there is none."""
    for layer in layers(context, context.flow.here(call.callee, event.scope)):
        made = layer.value
        assert isinstance(made, Call)
        if context.flow.calls.wrapper_name(layer, made) in GRADIENTS:
            options = (
                made if made.argument(1, "argnums") is not None else made.callee
            )  # @partial(nnx.grad, argnums=...)
            argnums = options.argument(1, "argnums") if isinstance(options, Call) else None
            found = context.flow.follow(layer, argnums) if argnums is not None else None
            if found is None or context.flow.calls.callee_name(found) != "flax.nnx.DiffState":
                return None
            assert isinstance(found.value, Call)
            given = found.value.argument(1, "filter")
            return context.flow.follow(found, given) if given is not None else None
    return None


def _narrow(context: Context, chosen: Bound, depth: int) -> bool:
    """Say whether a filter leaves Params out, by their paths."""
    value = chosen.value
    if isinstance(value, Function):
        return _by_path(context, value.facts)
    if not isinstance(value, Call) or value.starred or depth > 3:
        return False
    name = context.flow.calls.callee_name(chosen)
    if name in _PATHS:
        return any(_attribute(context, one) for one in value.args)
    parts = [context.flow.follow(chosen, one) for one in value.args]
    return name in {"flax.nnx.All", "flax.nnx.Not"} and any(_narrow(context, part, depth + 1) for part in parts)


def _attribute(context: Context, value: Value) -> bool:
    """Say whether a part of a path is the name of an attribute in the project, so that something stands there."""
    if isinstance(value, Sequence):
        return any(_attribute(context, one) for one in value.items)
    return isinstance(value, Const) and isinstance(value.value, str) and value.value in context.flow.fields.stores()


def _by_path(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function of a path and a value asks the path for the name of an attribute, and nothing else."""
    names = [n for n in ast.walk(function.node) if isinstance(n, ast.Name)]
    known = {*function.params, *(n.id for n in names if isinstance(n.ctx, ast.Store)), *vars(builtins)}
    first = next(iter(function.params), "")
    texts = [n.value for n in ast.walk(function.node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return (
        all(n.id in known for n in names)
        and any(n.id == first for n in names)
        and any(text in context.flow.fields.stores() for text in texts)
    )


def _on_lora(context: Context, made: Bound, optimizer: Call) -> bool:
    """Say whether an optimizer was made for a model that holds Params beside those of LoRA."""
    models = context.sources.originals(context.flow.with_value(made, optimizer.args[0])) if optimizer.args else ()
    return bool(models) and all(adapted(context, one, 0) for one in models)
