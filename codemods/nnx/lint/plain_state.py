"""States of optax that flax.serialization or Orbax restore as plain dicts and lists; part of NNX728."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.lost_updates import has_moments
from codemods.nnx.lint.names import last
from codemods.nnx.lint.orbax_calls import CHECKPOINTERS
from codemods.nnx.lint.places import in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Item, Param

_WORDS = (b"msgpack_restore", b"from_bytes", b"restore_checkpoint", b"to_state_dict", b"orbax")
_PLAIN = frozenset({"flax.serialization.msgpack_restore", "flax.serialization.to_state_dict"})
# with None for the template they give dicts as well
_TEMPLATES = {"flax.serialization.from_bytes": 0, "flax.training.checkpoints.restore_checkpoint": 1}


def plain_states(context: Context, code: str) -> Iterator[Finding]:
    """Yield what restores a tree as dicts, of which an update of optax gets a part for its state, or named fields are
    read.

    Args:
        context: the analysis.
        code: the rule that reports it.
    """
    texts = [module.source.data for module in context.project.modules]
    if not any(b"optax" in text for text in texts) or not any(word in text for text in texts for word in _WORDS):
        return
    told: set[ast.AST] = set()
    for event in context.bodies.named("update"):
        state = event.value.argument(1, "state")
        if state is None or not isinstance(event.value.callee, Attr) or event.value.starred or in_test(event.scope):
            continue
        maker = context.flow.here(event.value.callee.base, event.scope)
        if context.kinds.of(maker) != {Kind.TRANSFORM} or context.bodies.guarded(event.node, event.scope):
            continue
        made = [_plain(context, one) for one in _origins(context, context.flow.here(state, event.scope), 0)]
        if any(made) and _keeps(context, maker):
            yield from _found(context, code, told, [call for call in made if call is not None], event)
    for read in context.asked.attributes() if any(b"orbax" in text for text in texts) else ():
        inner = read.node.attr in _INNER
        if read.context != "load" or not (inner or read.node.attr in _FIELDS) or in_test(read.scope):
            continue
        sources = context.sources.originals(context.flow.here(read.base, read.scope))
        made = [_restored(context, one, whole=not inner) for one in sources]
        if any(made) and not context.bodies.guarded(read.node, read.scope):
            yield from _found(context, code, told, [call for call in made if call is not None], read)


def _origins(context: Context, bound: Bound, depth: int) -> Iterator[Bound]:
    """Yield where a value may come from, and where the containers may that it is taken out of.

    Of a container that several ways lead to, the entries of those that are displays alone are known as sources.
    """
    yield from context.sources.originals(bound)
    found = context.flow.resolve(bound)
    value = found.value
    if depth >= _PARTS:
        return
    if isinstance(value, Indexed | Item):
        index = value.index.value if isinstance(value, Indexed) else value.index
        if isinstance(index, Const) and index.value not in context.shared(put_in):
            yield from _origins(context, context.flow.with_value(found, value.base), depth + 1)
    elif isinstance(value, Param) and found.frame is not None and found.frame.site is None:
        for entry in context.flow.sites.entries(value.function):
            given = context.flow.argument(entry, value.name)
            if given is not None:
                yield from _origins(context, given, depth + 1)


def put_in(context: Context) -> set[object]:
    """Return the keys under which something is put into dicts that were made before.

    Args:
        context: the analysis.
    """
    found: set[object] = set()
    for module in context.project.modules:
        for node in module.source.of_type(ast.Subscript):
            if isinstance(node.ctx, ast.Store) and isinstance(node.slice, ast.Constant):
                found.add(node.slice.value)
        for call in module.source.of_type(ast.Call):
            if last_word(call.func) == "update":
                found |= {word.arg for word in call.keywords}
                shown = (one for one in call.args if isinstance(one, ast.Dict))
                found |= {key.value for one in shown for key in one.keys if isinstance(key, ast.Constant)}
    return found


def _found(
    context: Context, code: str, told: set[ast.AST], made: list[Call], event: CallEvent | AttrEvent
) -> Iterator[Finding]:
    """Yield the calls that restore dicts, with where they are needed as what they were saved as."""
    for call in made:
        home = context.bodies.home(call.node)
        if home is None or home.module not in context.asked or call.node in told:
            continue
        told.add(call.node)
        word = call.callee.name if isinstance(call.callee, Attr) else ""
        yield finding(
            code,
            home,
            call.node,
            "this gives dicts and lists, and a state of optax consists of named tuples: no update takes what is "
            "restored"
            if isinstance(event, CallEvent)
            else f"this gives dicts and lists, which have no `{event.node.attr}`",
            "give the template: a state as it was made at first, with tx.init(params)"
            if word == "restore"
            else "restore into a template: serialization.from_bytes(tx.init(params), data)",
            related=[(event.node, "it is given here" if isinstance(event, CallEvent) else "it is read here")]
            if home.module is event.scope.module
            else [],
        )


def _plain(context: Context, source: Bound) -> Call | None:
    """Return the call that gives a tree of dicts of which a value is a part."""
    restored = _restored(context, source)
    if restored is not None:
        return restored
    while isinstance(source.value, Indexed | Item):
        source = context.flow.with_value(source, source.value.base)
    name = context.flow.calls.callee_name(source) if isinstance(source.value, Call) else ""
    if not isinstance(source.value, Call) or source.value.starred:
        return None
    template = source.value.argument(_TEMPLATES[name], "target") if name in _TEMPLATES else None
    if name in _PLAIN or (template is not None and context.flow.follow(source, template).value == Const(None)):
        return source.value
    return None


# fields of states of optax, and of what holds one; dicts have no such attributes
_INNER = frozenset({"mu", "nu", "inner_state", "inner_states", "hyperparams", "apply_gradients"})
_FIELDS = frozenset({"opt_state", "params", "apply_gradients", "apply_fn"})
_EMPTY = ("item", "target", "args", "restore_args", "items")


def _restored(context: Context, source: Bound, whole: bool = False) -> Call | None:
    """Return the call by which Orbax restores a tree of which a value is a part, if that has no template.

    Args:
        context: the analysis.
        source: the value.
        whole: whether it has to be the whole tree of a checkpointer, and no part of one.
    """
    for _ in range(_PARTS):
        if not isinstance(source.value, Indexed | Item | Attr) or whole:
            break
        source = context.flow.resolve(context.flow.with_value(source, source.value.base))
    call = source.value
    if not isinstance(call, Call) or call.starred or not isinstance(call.callee, Attr) or call.callee.name != "restore":
        return None
    if len(call.args) > 1 and context.flow.follow(source, call.args[1]).value != Const(None):
        return None
    for name, given in call.keywords:
        if name in _EMPTY and not _nothing(context, context.flow.follow(source, given), 0):
            return None
    makers = list(context.sources.originals(context.flow.with_value(source, call.callee.base)))
    known = CHECKPOINTERS if whole else CHECKPOINTERS | {"CheckpointManager"}
    names = [context.flow.calls.callee_name(maker) for maker in makers]
    return call if names and all(n.startswith("orbax.checkpoint") and last(n) in known for n in names) else None


def _nothing(context: Context, given: Bound, depth: int) -> bool:
    """Say whether what to restore is None, or arguments of Orbax without a template."""
    value = given.value
    if value == Const(None):
        return True
    if not isinstance(value, Call) or value.starred or depth > 1:
        return False
    word = last(context.flow.calls.callee_name(given))
    if word == "Composite" and not value.args and value.keywords:
        return all(_nothing(context, context.flow.follow(given, one), depth + 1) for _, one in value.keywords)
    return word in {"StandardRestore", "PyTreeRestore"} and not value.args and not value.keywords


_PARTS = 6  # through how many items a part is followed to the whole


def _keeps(context: Context, maker: Bound) -> bool:
    """Say whether a transformation is known, and keeps something from step to step."""
    made = list(context.sources.originals(maker))
    return bool(made) and all(_moments(context, one, 0) for one in made)


def _moments(context: Context, made: Bound, depth: int) -> bool:
    if not isinstance(made.value, Call) or depth > 3:
        return False
    name = context.flow.calls.callee_name(made)
    if name == "optax.chain":
        return any(_moments(context, context.flow.follow(made, one), depth + 1) for one in made.value.args)
    return name.startswith("optax.") and not last(name).startswith(_PASSING) and has_moments(context, made)


_PASSING = ("clip", "add_", "scale_by_learning_rate", "identity", "zero_nans", "keep_params", "centralize", "set_to")
