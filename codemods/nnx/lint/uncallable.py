"""Optimizers that are called as if they were functions; part of NNX719."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.names import OPTIMIZERS, last
from codemods.nnx.lint.origins import made_by_calls
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Free, Param

# what of optax makes a transformation, besides whole optimizers
_MAKERS = OPTIMIZERS | {
    "chain", "clip", "clip_by_block_rms", "clip_by_global_norm", "add_decayed_weights", "adaptive_grad_clip",
    "centralize", "keep_params_nonnegative", "masked", "multi_transform", "partition", "scale", "scale_by_adam",
    "scale_by_schedule", "set_to_zero", "trace", "zero_nans", "ema", "freeze", "lookahead", "identity",
    "apply_if_finite",
}  # fmt: skip
_UPDATE = "call its update: updates, state = tx.update(grads, state, params), or give it to nnx.Optimizer in a chain"


def called_optimizers(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls of transformations of optax and of optimizers, with what is wrong and the way out."""
    if not any(module.source.mentions(b"optax") for module in context.project.modules):
        return
    transformations = context.flow.may.made_by(_MAKERS)
    optimizers = context.flow.may.made_by({"Optimizer", "ModelAndOptimizer"})
    for event in context.asked.calls():
        func, callee = event.node.func, event.value.callee
        if not isinstance(func, ast.Call | ast.Name | ast.Attribute) or not isinstance(
            callee, Call | Param | Free | Attr
        ):
            continue
        if isinstance(func, ast.Call) and last_word(func.func) not in _MAKERS:
            continue
        if not isinstance(func, ast.Call) and isinstance(callee, Attr) and callee.name in {"update", "init"}:
            continue
        if transformations.may_be(callee) and _made(context, event, "optax."):
            if not context.bodies.guarded(event.node, event.scope):
                yield event, "a transformation of optax is no function, and cannot be called", _UPDATE
        elif optimizers.may_be(callee) and _made(context, event, "flax.nnx."):
            if not context.bodies.guarded(event.node, event.scope):
                text = event.scope.module.source.text(func)
                yield event, f"`{text}` is an optimizer, and cannot be called", f"write {text}.update(model, grads)"


def _made(context: Context, event: CallEvent, home: str) -> bool:
    """Say whether what is called is made by a library in every way."""
    callee = event.value.callee
    made = made_by_calls(context, context.flow.here(callee, event.scope))
    names = [context.flow.calls.callee_name(one) for one in made]
    words = _MAKERS if home == "optax." else frozenset({"Optimizer", "ModelAndOptimizer"})
    if home == "flax.nnx." and context.kinds.only(context.flow.here(callee, event.scope)) is not Kind.OPTIMIZER:
        return False
    return bool(names) and all(name.startswith(home) and last(name) in words for name in names)
