"""Which calls save and restore trees whose layout changes: one finding each, for two rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from codemods.nnx.checkpoints.trees import OPTIMIZER, STREAMS, Trees
from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.places import places
from codemods.nnx.values import Attr, Call

_V1 = ("pytree", "checkpointables")  # what the functions and methods of Orbax's new interface end in
_SAVES = frozenset({"save", "async_save", *(f"save_{end}{way}" for end in _V1 for way in ("", "_async"))})
_RESTORES = frozenset({"restore", *(f"load_{end}{way}" for end in _V1 for way in ("", "_async"))})
_FUNCTIONS = {
    "flax.training.checkpoints.restore_checkpoint": "restore",
    "flax.training.checkpoints.save_checkpoint": "save",
    "flax.serialization.from_bytes": "restore",
    "flax.serialization.to_bytes": "save",
    "flax.serialization.from_state_dict": "restore",
}
_V1_MODULES = ("orbax.checkpoint.experimental.v1.", "orbax.checkpoint.v1.")
_INTO = frozenset({"flax.nnx.update", "flax.nnx.merge", "flax.nnx.replace_by_pure_dict"})

_WORDS = {
    STREAMS: "the random streams of this model's layers have other paths",
    OPTIMIZER: "the optimizer, which held the model in 0.10, has another tree",
}


def check(part: str, code: str) -> Callable[[Context], Iterator[Finding]]:
    """Return the check of the rule that speaks about one part of a tree."""

    def found(context: Context) -> Iterator[Finding]:
        if not context.options.crosses("0.11"):
            return
        trees = Trees(context)
        saves: list[CallEvent] = []
        restores: dict[CallEvent, None] = {}
        for event in context.project.calls():
            kind = _kind(context, event)
            if kind and part in _moved(context, trees, event):
                if kind == "save":
                    saves.append(event)
                else:
                    restores[event] = None
        if part == STREAMS:
            restores.update((event, None) for event in _untargeted(context, trees))
        # a project that only saves will find its older checkpoints changed when it reads them
        events = list(restores or saves)
        if events:
            first, *rest = events
            verb = "reads" if restores else "writes"
            also = f", and so do {places(rest, first.scope.module)}" if rest else ""
            yield finding(
                code,
                first.scope,
                first.node,
                f"{_WORDS[part]} in a checkpoint that Flax 0.10 wrote than in what this {verb}{also}",
                "convert old checkpoints once: nnxmigrate fix-ckpt PATH",
            )

    return found


def _kind(context: Context, event: CallEvent) -> str:
    """Return ``save`` or ``restore`` if a call does that with a checkpoint."""
    flow = context.flow
    call = flow.here(event.value, event.scope)
    callee = event.value.callee
    name = flow.calls.callee_name(call)
    if name.startswith(_V1_MODULES):
        last = name.rpartition(".")[2]
        return "save" if last in _SAVES else "restore" if last in _RESTORES else ""
    if not isinstance(callee, Attr) or callee.name not in _SAVES | _RESTORES:
        return _FUNCTIONS.get(name, "")
    checkpointer = flow.here(callee.base, event.scope)
    made = [flow.calls.callee_name(source) for source in context.sources.originals(checkpointer)]
    given = list(event.value.given)
    arguments = [flow.calls.callee_name(flow.resolve(flow.with_value(call, value))) for value in given]
    if any(name.startswith("orbax.") for name in (*made, *arguments)):
        return "restore" if callee.name in _RESTORES else "save"
    return ""


def _moved(context: Context, trees: Trees, event: CallEvent) -> frozenset[str]:
    call = context.flow.here(event.value, event.scope)
    given = list(event.value.given)
    return frozenset(part for value in given for part in trees.moved(context.flow.with_value(call, value)))


def _untargeted(context: Context, trees: Trees) -> Iterator[CallEvent]:
    """Yield restores without a target whose result goes into a model with layers whose streams moved."""
    restores = {
        event.value: event
        for event in context.project.calls()
        if _kind(context, event) == "restore" and not _targeted(context, event)
    }
    for event in context.project.calls() if restores else ():
        call = context.flow.here(event.value, event.scope)
        if len(event.value.args) < 2 or context.flow.calls.callee_name(call) not in _INTO:
            continue
        target = context.flow.with_value(call, event.value.args[0])
        for value in event.value.args[1:]:
            for source in context.sources.originals(context.flow.with_value(call, value)):
                restore = restores.get(source.value) if isinstance(source.value, Call) else None
                if restore is not None and _into_moved(context, trees, target):
                    yield restore


def _targeted(context: Context, event: CallEvent) -> bool:
    """Say whether a restore is given the tree that it shall return, beside the path or the step."""
    call = context.flow.here(event.value, event.scope)
    for value in (*event.value.args[1:], *(value for _, value in event.value.keywords)):
        given = context.flow.resolve(context.flow.with_value(call, value))
        if not isinstance(given.value, Call) or not context.flow.calls.callee_name(given).startswith("orbax."):
            return True
        if given.value.args or given.value.keywords:
            return True
    return False


def _into_moved(context: Context, trees: Trees, target: Bound) -> bool:
    """Say whether the target of an update, a merge or a replacement is, or is the state of, such a model."""
    if trees.object_moved(target) or STREAMS in trees.moved(target):
        return True
    whole = context.flow.calls.split_object(context.flow.resolve(target))
    return whole is not None and trees.object_moved(whole)
