"""Keywords that a module is called with and does not take; part of NNX710."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.frames import Bound
from codemods.nnx.lint.owners import owner_class, plain_module
from codemods.nnx.values import Call, Const, Param

# words that layers of other libraries are called with
_MODES = frozenset({"train", "training", "is_training", "inference", "deterministic", "use_running_average", "key",
                    "rng", "mode"})  # fmt: skip
# what the calls of layers take by keyword; those not named here take none of these words
_TAKEN = {
    "Dropout": frozenset({"deterministic", "rngs"}),
    "BatchNorm": frozenset({"use_running_average", "mask"}),
    "MultiHeadAttention": frozenset({"deterministic", "rngs", "decode", "mask"}),
}
_KNOWN = frozenset({"Linear", "LinearGeneral", "Conv", "ConvTranspose", "Embed", "LayerNorm", "RMSNorm", "GroupNorm",
                    "InstanceNorm", *_TAKEN})  # fmt: skip
_HELP = (
    "nnx.Dropout takes deterministic=, and nnx.BatchNorm use_running_average=; model.train() and model.eval() set both"
)


def strange_keywords(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls of modules with a keyword that is not taken, with what is wrong and the way out."""
    for module in context.asked.modules:
        for event in module.calls:
            if (
                not event.node.keywords
                or event.value.starred
                or not isinstance(event.node.func, ast.Name | ast.Attribute)
            ):
                continue
            given = [key for key, _ in event.value.keywords]
            found = _told(context, event, given) if None not in given else None
            if found is not None and not context.bodies.guarded(event.node, event.scope):
                yield event, *found


def _told(context: Context, event: CallEvent, given: list[str | None]) -> tuple[str, str] | None:
    cls = owner_class(context, event.value.callee, event.scope)
    text = event.scope.module.source.text(event.node.func)
    if isinstance(cls, ClassFacts):
        strange = _own(context, cls, given)
        if strange is None or _constructs(context, cls, event, given):
            return None
        message = f"`{text}` takes no `{strange}`: `{cls.name}.__call__` has no such argument"
        return message, "leave it out, or give __call__ the argument"
    if cls is None or not _MODES & set(given):
        return None
    word = cls.rpartition(".")[2]
    if word == "Sequential":
        return _chained(context, event, text, given)
    strange = next((key for key in given if key in _MODES - _TAKEN.get(word, frozenset())), None)
    if word not in _KNOWN or strange is None:
        return None
    return f"`{text}` is an nnx.{word}, which takes no `{strange}`", _HELP


def _own(context: Context, cls: ClassFacts, given: list[str | None]) -> str | None:
    """Return a keyword that the call of a module of the project does not take."""
    if not plain_module(context, cls):
        return None
    strange = None
    for one in context.flow.classes.heirs(cls) or (cls,):
        method = context.flow.classes.method(one, "__call__")
        if method is None or method.kwarg is not None or method.decorators:
            return None
        strange = next((key for key in given if key not in method.params), None)
        if strange is None:
            return None
    return strange


def _constructs(context: Context, cls: ClassFacts, event: CallEvent, given: list[str | None]) -> bool:
    """Say whether an annotation alone names the class, and the call gives all that its constructor wants: what comes
    may be the class itself, annotated as if it were an instance."""
    sources = context.sources.of(context.flow.here(event.value.callee, event.scope))
    if not all(isinstance(one.value, Param) for one in sources):
        return False
    for one in context.flow.classes.heirs(cls) or (cls,):
        init = context.flow.classes.method(one, "__init__")
        if init is None or init.self_param is None:
            continue
        names = [name for name in init.params if name != init.self_param.name]
        placed = names[: len(event.node.args)]
        needed = set(names) - set(init.defaults) - set(placed)
        known = {*names, *given} if init.kwarg is not None else set(names)
        if needed <= set(given) <= known and (init.vararg is not None or len(placed) == len(event.node.args)):
            return True
    return False


def _chained(context: Context, event: CallEvent, text: str, given: list[str | None]) -> tuple[str, str] | None:
    """Return what is wrong with the keywords of an nnx.Sequential, which its first layer gets."""
    made = list(context.sources.of(context.flow.here(event.value.callee, event.scope)))
    first = _first(context, made[0]) if len(made) == 1 else ""
    strange = next((key for key in given if key in _MODES - _TAKEN.get(first, frozenset())), None)
    if first not in _KNOWN or strange is None:
        return None
    message = f"`{text}` hands keywords to its first layer alone, and an nnx.{first} takes no `{strange}`"
    return message, "model.train() and model.eval() set the modes of all layers"


def _first(context: Context, made: Bound) -> str:
    if not isinstance(made.value, Call) or not made.value.args or made.value.starred:
        return ""
    layer = context.flow.follow(made, made.value.args[0])
    if isinstance(layer.value, Const):
        return ""
    return context.flow.calls.callee_name(layer).removeprefix("flax.nnx.")
