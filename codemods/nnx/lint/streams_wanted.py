"""Keys, seeds and dictionaries of keys where a layer takes its streams; part of NNX874."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.origins import originals_that
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.values import Attr, Class, Const, Mapping, Param, Value

# layers that draw their weights when they are made
_LAYERS = (
    "Linear", "LinearGeneral", "Einsum", "Embed", "Conv", "ConvTranspose", "BatchNorm", "LayerNorm", "RMSNorm",
    "GroupNorm", "LoRA", "LSTMCell", "OptimizedLSTMCell", "GRUCell", "SimpleCell", "MultiHeadAttention",
)  # fmt: skip


def no_streams(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the arguments that stand where streams are wanted, with what is wrong, and the way out."""
    for event, name in foreign(context, *_LAYERS):
        if name.removeprefix("flax.nnx.") in _LAYERS and not context.bodies.guarded(event.node, event.scope):
            value, node = event.value.keyword("rngs"), keyword(event.node, "rngs")
            if value is not None and node is not None:
                yield from _judged(context, event, value, node, name.removeprefix("flax."))
    for module in context.asked.modules:
        for event in module.calls:
            if not isinstance(event.node.func, ast.Name | ast.Attribute) or event.value.starred:
                continue
            given = _given(context, event)
            if given is not None and not context.bodies.guarded(event.node, event.scope):
                yield from _judged(context, event, *given, ast.unparse(event.node.func))


def _given(context: Context, event: CallEvent) -> tuple[Value, ast.expr] | None:
    """Return what a module of the project gets as the `rngs` that it hands on to its layers."""
    if not event.node.args and keyword(event.node, "rngs") is None:
        return None
    called = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
    if not isinstance(called, Class) or "flax.nnx.Module" not in context.flow.classes.mro(called.facts)[1]:
        return None
    init = context.flow.classes.method(called.facts, "__init__")
    if init is None or "rngs" not in init.params or init.decorators or not _handed_on(context, init):
        return None
    index = list(init.params).index("rngs") - 1
    if keyword(event.node, "rngs") is not None and index < min(init.positional - 1, len(event.node.args)):
        return None  # given twice, which is another mistake
    value = event.value.argument(index if index < init.positional - 1 else len(event.node.args), "rngs")
    node = keyword(event.node, "rngs")
    if node is None and index < min(init.positional - 1, len(event.node.args)):
        node = event.node.args[index]
    return None if value is None or node is None else (value, node)


def _handed_on(context: Context, init: FunctionFacts) -> bool:
    """Say whether a constructor gives its streams to a layer of NNX as they are, or takes a key of them."""
    param = init.params["rngs"]
    if len(init.scope.bindings.get("rngs", ())) > 1:
        return False
    for event in context.bodies.calls.get(init.scope, ()):
        name = context.flow.calls.name(event)
        if name.removeprefix("flax.nnx.") in _LAYERS and event.value.keyword("rngs") is param:
            return True
        callee = event.value.callee
        if isinstance(callee, Attr) and callee.base is param and callee.name == "params":
            return True
    return False


def _judged(
    context: Context, event: CallEvent, value: Value, node: ast.expr, taker: str
) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    if isinstance(value, Param):
        return  # it is reported where the argument comes from
    bound = context.flow.here(value, event.scope)
    text = event.scope.module.source.text(node)
    found = context.flow.resolve(bound).value
    if not isinstance(found, Const | Mapping):
        sources = [one.value for one in originals_that(context, bound, lambda one: isinstance(one, Const))]
        if sources and all(isinstance(one, Const) and type(one.value) is int for one in sources):
            found = sources[0]
    message = "`{}` wants streams, an nnx.Rngs, and gets {}"
    if isinstance(found, Const) and type(found.value) is int:
        yield event, node, message.format(taker, "a seed"), f"make them of it: nnx.Rngs({text})"
    elif isinstance(found, Mapping):
        yield event, node, message.format(taker, "a dict"), "make them of its keys: nnx.Rngs(params=..., dropout=...)"
    elif context.kinds.only(bound) is Kind.KEY:
        yield event, node, message.format(taker, "a key"), f"make them of it: nnx.Rngs({text})"
