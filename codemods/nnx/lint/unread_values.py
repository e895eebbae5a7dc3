"""Models, transformations, masks and new values that a function makes and never reads; part of NNX842."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import may_read, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_MASKS = frozenset({"flax.nnx.make_causal_mask", "flax.nnx.combine_masks", "flax.linen.make_causal_mask",
                    "flax.linen.combine_masks"})  # fmt: skip
_ATTENTION = frozenset({"dot_product_attention", "dot_product_attention_weights", "attn", "attention", "self_attn",
                        "self_attention", "mha"})  # fmt: skip
_WORDS = ("merge", "chain", "make_causal_mask", "combine_masks", "where", "select")
_NEW = pattern(r"(new|updated)_(\w+)")
_OTHER_AIMS = pattern(
    "bench|profil|time|warm|measure|compile|example|check(?!point)|assert|demo|inspect|debug|print|summar"
)


def unread_values(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls whose result gets a variable of a function that nothing reads, with what to say and to do.

    Args:
        context: the analysis.
    """
    for event in context.bodies.named(*_WORDS):
        statement, function = event.statement, event.scope.function
        if function is None or not isinstance(statement, ast.Assign) or statement.value is not event.node:
            continue
        target = statement.targets[0]
        if len(statement.targets) != 1 or not isinstance(target, ast.Name) or target.id.startswith("_"):
            continue
        if event.scope.module not in context.asked or in_test(event.scope) or target.id in event.scope.globals:
            continue
        if _OTHER_AIMS.search(function.name) or may_read(function.node, target.id):
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        told = _told(context, event, target.id)
        if told is not None:
            yield event, *told


def _told(context: Context, event: CallEvent, name: str) -> tuple[str, str] | None:
    """Return what to say of a result that nobody reads, and what to do; None if it may be left over."""
    called = context.flow.calls.name(event)
    if called == "flax.nnx.merge":
        return f"nobody reads `{name}`: the merged model is a new object, and the old ones stay as they are", (
            "go on with it, or put its state into the old model: nnx.update(model, state)"
        )
    if called == "optax.chain":
        parts = [one.id for one in event.node.args if isinstance(one, ast.Name) and _given_to_maker(event, one.id)]
        if parts:
            return f"nobody reads `{name}`: the optimizer gets `{parts[0]}` alone", f"give `{name}` to the optimizer"
        return None
    if called in _MASKS:
        for other in context.bodies.calls.get(event.scope, ()):
            if last_word(other.node.func) in _ATTENTION and not any(k.arg == "mask" for k in other.node.keywords):
                return f"nobody reads `{name}`: the attention has no mask", f"give it on: mask={name}"
        return None
    new = _NEW.fullmatch(name)
    if new is not None and called in {"jax.numpy.where", "jax.lax.select"} and _made_of(event.node, new[2]):
        return f"nobody reads `{name}`: `{new[2]}` stays as it was", "put it back, or return it"
    return None


def _given_to_maker(event: CallEvent, name: str) -> bool:
    """Say whether an optimizer or a train state is made of a transformation."""
    assert event.scope.function is not None
    return any(
        isinstance(n, ast.Call)
        and (last_word(n.func) in {"Optimizer", "ModelAndOptimizer"} or ast.unparse(n.func).endswith("State.create"))
        and any(isinstance(one, ast.Name) and one.id == name for one in (*n.args, *(k.value for k in n.keywords)))
        for n in ast.walk(event.scope.function.node)
    )


def _made_of(node: ast.Call, name: str) -> bool:
    """Say whether an expression reads what a new value has its name of, as it is or by an attribute."""
    last = node.args[-1] if node.args else None
    if last is None or name not in names_in(node) | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}:
        return False
    return any(last_word(n) == name for n in ast.walk(last) if isinstance(n, ast.Name | ast.Attribute))
