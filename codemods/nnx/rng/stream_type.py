"""NNX213: a test whether an object is a Rngs, which the rngs of a layer no longer is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell
from codemods.nnx.rng.paths import held, tested_layers
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Each, Item, Ref, Sequence, Value

_WALKS = frozenset({"flax.nnx.iter_graph", "flax.nnx.iter_children", "flax.nnx.iter_modules"})


def check(context: Context) -> Iterator[Finding]:
    """Yield ``isinstance(x, nnx.Rngs)`` for what is a RngStream since 0.11."""
    if not context.options.crosses("0.11"):
        return
    for event in context.asked.calls():
        called = isinstance(event.node.func, ast.Name) and event.node.func.id == "isinstance"
        if called and len(event.value.args) == 2 and _names_rngs(context, event, event.value.args[1]):
            yield from _test(context, event)


def _names_rngs(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether the class, or the tuple of classes, has Rngs but not RngStream in it."""
    classes = value.items if isinstance(value, Sequence) else (value,)
    resolved = [context.flow.resolve(context.flow.here(c, event.scope)).value for c in classes]
    names = {r.name for r in resolved if isinstance(r, Ref)}
    return "flax.nnx.Rngs" in names and "flax.nnx.RngStream" not in names


def _test(context: Context, event: CallEvent) -> Iterator[Finding]:
    tested = event.value.args[0]
    if isinstance(tested, Attr) and tested.name == "rngs":
        safety = _safety(context, event, tested)
        if safety is not None:
            message = "the rngs of a layer is a nnx.RngStream since Flax 0.11, no nnx.Rngs"
            yield finding(RULE.code, event.scope, event.node, message, "test for both", _both(context, event, safety))
    elif _walked(context, event, tested):
        message = "layers keep a nnx.RngStream since Flax 0.11: this walk finds no nnx.Rngs in them"
        help_ = "look for nnx.RngStream; a Rngs holds one for every stream"
        yield finding(RULE.code, event.scope, event.node, message, help_)


def _safety(context: Context, event: CallEvent, tested: Attr) -> Safety | None:
    """Return how sure it is that a layer of Flax is tested; None if it is another object."""
    found = held(context, event.scope, tested.base)
    node = event.node.args[0]
    if any(found) or (isinstance(node, ast.Attribute) and tested_layers(context, event.scope, node.value)):
        return Safety.SAFE
    return Safety.UNSAFE if all(streams is None for streams in found) else None


def _walked(context: Context, event: CallEvent, tested: Value) -> bool:
    """Say whether the object comes from a walk over an object graph."""
    value = tested
    while isinstance(value, Item | Each):
        value = value.base
    walk = context.flow.resolve(context.flow.here(value, event.scope))
    return isinstance(walk.value, Call) and context.flow.calls.callee_name(walk) in _WALKS


def _both(context: Context, event: CallEvent, safety: Safety) -> Fix | None:
    stream = spell(context.flow, event.scope, "RngStream")
    node = event.node.args[1]
    if stream is None or isinstance(node, ast.Tuple):
        return None
    source = event.scope.module.source
    start, end = source.span(node)
    edits = (Edit(start, start, b"("), Edit(end, end, f", {stream.text})".encode()), *stream.edits)
    return Fix(tuple((source.path, edit) for edit in edits), safety)


RULE = Rule(
    code="NNX213",
    name="layer-rngs-type",
    summary="isinstance(layer.rngs, nnx.Rngs)",
    why="""\
Dropout, attention and RNN layers keep a fork of one stream since Flax 0.11, a `nnx.RngStream`. Tests for `nnx.Rngs`
on `layer.rngs` become false, and walks that collect every Rngs of a model come back empty, both without an error.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
from flax import nnx

layer = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
print(isinstance(layer.rngs, nnx.Rngs))
""",
            after="""\
from flax import nnx

layer = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
print(isinstance(layer.rngs, (nnx.Rngs, nnx.RngStream)))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
)
