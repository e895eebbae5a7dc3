"""NNX212: the Rngs that layers were made with is reset, but they hold forks of it."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.rng.origins import Origin
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Const, Item, Value

_MESSAGE = "layers made with this Rngs keep forks of it since Flax 0.11, which a reset of the original does not reach"
_HELP = "reset the model instead: nnx.reseed(model, {stream}=...), or pass rngs to the layer's call"


def check(context: Context) -> Iterator[Finding]:
    """Yield resets of a Rngs whose streams layers have forked."""
    if not context.options.crosses("0.11"):
        return
    for event in context.project.calls():
        if (
            event.value.args
            and context.flow.callee_name(context.flow.here(event.value, event.scope)) == "flax.nnx.reseed"
        ):
            yield from _reseeded(context, event)
    for store in context.project.attributes():
        if store.context == "store" and store.node.attr in {"value", "key", "count"}:
            yield from _stored(context, store)


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


def _stream(value: Value) -> tuple[Value, str] | None:
    """Return the Rngs and the name of ``rngs.name`` or ``rngs["name"]``."""
    if isinstance(value, Attr):
        return value.base, value.name
    if isinstance(value, Item) and isinstance(value.index, Const) and isinstance(value.index.value, str):
        return value.base, value.index.value
    return None


def _forked(context: Context, rngs: Bound, names: set[str | None]) -> str | None:
    """Return a stream among ``names`` that layers have forked from a Rngs; None if there is none."""
    return next((s for o in context.rng.origins.of(rngs) for s in _streams(o) if s in names or None in names), None)


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
called.
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
    ),
    check=check,
)
