"""NNX212: the Rngs that layers were made with is reset, but they hold forks of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.identity_tests import told_alike
from codemods.nnx.rng.analysis import rng_analysis
from codemods.nnx.rng.origins import Origin
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Const, Item, Value

_MESSAGE = "layers made with this Rngs keep forks of it since Flax 0.11, which a reset of the original does not reach"
_OTHER = "the layer holds a fork since Flax 0.11, and never the Rngs that it was made with"
_KEEP = "compare what is to be the same by its name or its numbers"
_FORKING = frozenset({"flax.nnx.Dropout", "flax.nnx.MultiHeadAttention"})
_HELP = "reset the model instead: nnx.reseed(model, {stream}=...), or pass rngs to the layer's call"


def check(context: Context) -> Iterator[Finding]:
    """Yield resets of a Rngs whose streams layers have forked."""
    if not context.options.crosses("0.11"):
        return
    for call in context.asked.calls():
        if call.value.args and context.flow.calls.name(call) == "flax.nnx.reseed":
            yield from _reseeded(context, call)
    stored: set[ast.AST] = set()
    counters: list[AttrEvent] = []
    for event in context.asked.attributes():
        if event.context == "store" and event.node.attr in {"value", "key", "count"}:
            stored |= {event.node, event.node.value}
            yield from _stored(context, event)
        elif event.context == "load" and event.node.attr == "count":
            counters.append(event)
    for event in counters:
        if event.node not in stored:
            yield from _counted(context, event)
    for module in context.asked.modules:
        if module.source.mentions(b".rngs"):
            for scope in (module.scope, *(function.scope for function in module.functions)):
                yield from _compared(context, scope)


def _compared(context: Context, scope: Scope) -> Iterator[Finding]:
    """Yield comparisons of the Rngs in a layer with the one that it was made with."""
    for node in context.bodies.nodes(scope):
        compared = told_alike(node)
        if compared is None or (isinstance(node, ast.Compare) and len(node.ops) > 1):
            continue
        sides = [scope.module.values.get(side) for side in compared]
        made = [_made_with(context, side, scope) for side in sides]
        plain = [context.flow.here(side, scope) if side is not None else None for side in sides]
        for layer, other in ((made[0], made[1] or plain[1]), (made[1], plain[0])):
            if layer is not None and other is not None and context.flow.identity.same(layer, other):
                yield finding(RULE.code, scope, node, _OTHER, _KEEP)
                break


def _made_with(context: Context, value: Value | None, scope: Scope) -> Bound | None:
    """Return the Rngs that a layer was made with, given ``layer.rngs``; None if it is none that forks."""
    if not isinstance(value, Attr) or value.name != "rngs":
        return None
    made = context.flow.resolve(context.flow.here(value.base, scope))
    if not isinstance(made.value, Call) or context.flow.calls.callee_name(made) not in _FORKING:
        return None
    rngs = made.value.keyword("rngs")
    return context.flow.follow(made, rngs) if rngs is not None else None


def _reseeded(context: Context, event: CallEvent) -> Iterator[Finding]:
    names = {name for name, _ in event.value.keywords}
    stream = _forked(context, context.flow.here(event.value.args[0], event.scope), names)
    if stream is not None:
        yield finding(RULE.code, event.scope, event.node, _MESSAGE, _HELP.format(stream=stream))


def _stored(context: Context, event: AttrEvent) -> Iterator[Finding]:
    place = event.base
    if event.node.attr == "value":
        if not isinstance(place, Attr) or place.name not in {"key", "count"}:
            return
        place = place.base
    named = _stream(place)
    if named is None:
        return
    base, name = named
    stream = _forked(context, context.flow.here(base, event.scope), {name})
    if stream is not None:
        yield finding(RULE.code, event.scope, event.node, _MESSAGE, _HELP.format(stream=stream))


def _counted(context: Context, event: AttrEvent) -> Iterator[Finding]:
    """Yield the read of a counter that the layers' draws no longer advance."""
    named = _stream(event.base)
    if named is not None and _forked(context, context.flow.here(named[0], event.scope), {named[1]}) is not None:
        message = "layers made with this Rngs draw from forks of it since Flax 0.11, which this counter does not count"
        yield finding(RULE.code, event.scope, event.node, message, "read the counters of the layers: layer.rngs.count")


def _stream(value: Value) -> tuple[Value, str] | None:
    """Return the Rngs and the name of ``rngs.name`` or ``rngs["name"]``."""
    if isinstance(value, Attr):
        return value.base, value.name
    if isinstance(value, Item) and isinstance(value.index, Const) and isinstance(value.index.value, str):
        return value.base, value.index.value
    return None


def _forked(context: Context, rngs: Bound, names: set[str | None]) -> str | None:
    """Return a stream among ``names`` that layers have forked from a Rngs; None if there is none."""
    origins = rng_analysis(context).origins.of(rngs)
    return next((s for o in origins for s in _streams(o) if s in names or None in names), None)


def _streams(origin: Origin) -> Iterator[str]:
    for kept in origin.kept:
        if kept.layer.stream is not None:
            yield kept.layer.stream
            if origin.source_of(kept.layer.stream) == "default":
                yield "default"


RULE = Rule(
    code="NNX212",
    name="shared-stream-reset",
    summary="a reset of a Rngs whose streams layers have forked",
    why="""\
Up to Flax 0.10 all layers shared the Rngs they were made with: setting its key or counter, or `nnx.reseed(rngs,
...)`, made them repeat their masks. Since 0.11 each layer owns a fork, and the reset runs without an error and
without effect. Reseed the model, whose layers are then all reset, or give the Rngs to the layers when they are
called. For the same reason `layer.rngs is rngs` was true and is not any more.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax.numpy as jnp
from flax import nnx

rngs = nnx.Rngs(dropout=0)
dropout = nnx.Dropout(0.5, rngs=rngs)
first = dropout(jnp.ones((1, 32)))
rngs.dropout.count.value = jnp.zeros_like(rngs.dropout.count.value)
print(bool((first == dropout(jnp.ones((1, 32)))).all()))
""",
            run=False,
        ),
        Example(
            before="""\
from flax import nnx

rngs = nnx.Rngs(dropout=0)
dropout = nnx.Dropout(0.5, rngs=rngs)
print(dropout.rngs is rngs)
""",
            run=False,
        ),
    ),
    check=check,
)
