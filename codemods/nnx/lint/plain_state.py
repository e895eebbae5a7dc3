"""States of optax that flax.serialization restores as plain dicts; part of NNX728."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.lost_updates import has_moments
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Attr, Call, Const, Item

_WORDS = (b"msgpack_restore", b"from_bytes", b"restore_checkpoint", b"to_state_dict")
_PLAIN = frozenset({"flax.serialization.msgpack_restore", "flax.serialization.to_state_dict"})
# with None for the template they give dicts as well
_TEMPLATES = {"flax.serialization.from_bytes": 0, "flax.training.checkpoints.restore_checkpoint": 1}


def plain_states(context: Context, code: str) -> Iterator[Finding]:
    """Yield what restores a tree as dicts, a part of which an update of optax gets for its state.

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
        made = [_plain(context, one) for one in context.sources.originals(context.flow.here(state, event.scope))]
        if not any(made) or not _keeps(context, maker):
            continue
        for call in made:
            home = context.bodies.home(call.node) if call is not None else None
            if call is None or home is None or home.module not in context.asked or call.node in told:
                continue
            told.add(call.node)
            yield finding(
                code,
                home,
                call.node,
                "this gives dicts, and a state of optax consists of named tuples: no update takes what is restored",
                "restore into a template: serialization.from_bytes(tx.init(params), data)",
                related=[(event.node, "it is given here")] if home.module is event.scope.module else [],
            )


def _plain(context: Context, source: Bound) -> Call | None:
    """Return the call that gives a tree of dicts of which a value is a part."""
    while isinstance(source.value, Indexed | Item):
        source = context.flow.with_value(source, source.value.base)
    name = context.flow.calls.callee_name(source) if isinstance(source.value, Call) else ""
    if not isinstance(source.value, Call) or source.value.starred:
        return None
    template = source.value.argument(_TEMPLATES[name], "target") if name in _TEMPLATES else None
    if name in _PLAIN or (template is not None and context.flow.follow(source, template).value == Const(None)):
        return source.value
    return None


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
