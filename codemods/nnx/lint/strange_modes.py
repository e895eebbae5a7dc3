"""Attributes that model.set_attributes does not find, and arguments that NNX refuses by name; part of NNX710."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.owners import KNOWN_BASES
from codemods.nnx.lint.places import foreign, kinds_of
from codemods.nnx.values import Attr, Call, Value

# words of other libraries and slips that no layer of NNX has as an attribute
_STRANGE = {
    **dict.fromkeys(("train", "training", "is_training", "inference", "is_train", "eval", "mode"), ""),
    **dict.fromkeys(("determinstic", "deterministc", "is_deterministic", "dropout"), "deterministic"),
    **dict.fromkeys(("use_running_avg", "running_average", "use_running_stats", "batch_stats"), "use_running_average"),
    **dict.fromkeys(("dropout_rate", "drop_rate", "p", "rate_"), "rate"),
}
_HELP = "deterministic= is that of nnx.Dropout, use_running_average= that of nnx.BatchNorm: model.eval() sets both"


def strange_modes(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls that set an attribute which no module has, with what is wrong and the way out."""
    own: frozenset[str] | None = None
    for event in context.bodies.named("set_attributes", "view"):
        words = [word for word, _ in event.value.keywords if word in _STRANGE]
        if not words or event.scope.module not in context.asked or context.bodies.guarded(event.node, event.scope):
            continue
        if any(word == "raise_if_not_found" or word is None for word, _ in event.value.keywords):
            continue
        if not _on_module(context, event):
            continue
        own = own if own is not None else _attributes(context)
        word = next((word for word in words if word not in own), None)
        if word is not None:
            better = _STRANGE[word]
            yield (
                event,
                f"no module has an attribute `{word}`: an error, and nothing is set",
                f"it is called {better}" if better else _HELP,
            )


def _on_module(context: Context, event: CallEvent) -> bool:
    """Say whether a call sets attributes of a module."""
    callee, model = event.value.callee, None
    if context.flow.calls.name(event) == "flax.nnx.view":
        model = event.value.argument(0, "node")
    elif isinstance(callee, Attr) and callee.name == "set_attributes":
        model = callee.base
    return model is not None and kinds_of(context, model, event.scope) == {Kind.MODULE}


def _attributes(context: Context) -> frozenset[str]:
    """Return all attributes that classes of the project have, or that are set from outside."""
    found: set[str] = set(context.flow.fields.stores())
    for cls in context.project.classes():
        found |= {*cls.stores, *cls.fields, *cls.scope.env}
    return frozenset(found)


def constructors_given(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls of nnx.Module's constructor with arguments, with what is wrong and the way out."""
    for event in context.bodies.named("__init__"):
        function = event.scope.function
        if function is None or function.owner is None or event.scope.module not in context.asked:
            continue
        own = function.self_param
        if function.name != "__init__" or own is None or event.value.starred:
            continue
        args: tuple[Value, ...] = event.value.args
        if context.flow.calls.name(event) in KNOWN_BASES:
            args = args[1:]
        elif not _super(event.value.callee):
            continue
        if not args and not event.value.keywords:
            continue
        heirs = context.flow.classes.heirs(function.owner) or (function.owner,)
        if any(not _bare_above(context, cls, function.owner) for cls in heirs):
            continue
        if not context.bodies.guarded(event.node, event.scope):
            yield event, "the constructor of nnx.Module takes nothing: this is a TypeError", "write super().__init__()"


def _super(callee: Value) -> bool:
    """Say whether a call is one of ``super().__init__``, without arguments of ``super``."""
    base = callee.base if isinstance(callee, Attr) else None
    return isinstance(base, Call) and not base.args and getattr(base.callee, "name", "") in {"super", "builtins.super"}


def _bare_above(context: Context, cls: ClassFacts, owner: ClassFacts) -> bool:
    """Say whether what stands behind a class in the order of an heir's bases has no constructor at all."""
    parents, names = context.flow.classes.mro(cls)
    if "flax.nnx.Module" not in names or not names <= {"flax.nnx.Module", "flax.nnx.Pytree"}:
        return False
    behind = parents[parents.index(owner) + 1 :] if owner in parents else parents
    return not any(
        one.decorators or {"__init__", "__new__", "__init_subclass__"} & {*one.methods, *one.scope.env}
        for one in behind
    )


_FORK = 'write rngs.fork(split=n), or rngs.fork(split={{"{}": n}})'


def strange_names(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls of rngs.fork and nnx.merge with names that these have not, or not any more."""
    for event in context.bodies.named("fork"):
        word = next((word for word, _ in event.value.keywords if word and word != "split"), None)
        callee = event.value.callee
        if word is None or event.scope.module not in context.asked or not isinstance(callee, Attr):
            continue
        if kinds_of(context, callee.base, event.scope) != {Kind.RNGS} or context.flow.calls.name(event):
            continue
        if not context.bodies.guarded(event.node, event.scope):
            yield event, f"`fork` of an nnx.Rngs takes no argument `{word}`", _FORK.format(word)
    for event, name in foreign(context, "merge"):
        words = {word for word, _ in event.value.keywords}
        if name == "flax.nnx.merge" and words & {"graphdef", "state"} and not event.value.starred:
            if not context.bodies.guarded(event.node, event.scope):
                yield event, "nnx.merge takes its parts by position only", "write nnx.merge(graphdef, state)"
