"""NNX210: a key, a seed or a dictionary where a layer takes a Rngs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.imports import spell
from codemods.nnx.kinds import Kind as Object
from codemods.nnx.rng.layers import constructor, layer
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Const, Mapping, Value

_LAYERS = frozenset({"flax.nnx.Dropout"})


def check(context: Context) -> Iterator[Finding]:
    """Yield layers that are made or called with something else than a Rngs."""
    if not context.options.crosses("0.11"):
        return
    for event in context.asked.calls():
        given = event.value.keyword("rngs")
        if given is None:
            continue
        made = constructor(context.flow, context.flow.here(event.value, event.scope))
        if made is not None and made.name in _LAYERS:
            yield from _made(context, event, given)
        elif made is None:
            yield from _called(context, event, given)


def _made(context: Context, event: CallEvent, given: Value) -> Iterator[Finding]:
    """A layer made with a key worked as long as it drew nothing."""
    bound = context.flow.resolve(context.flow.here(given, event.scope))
    seed = isinstance(bound.value, Const) and type(bound.value.value) is int
    if not seed and context.kinds.only(bound) is not Object.KEY:
        return
    node = _node(event)
    rngs = spell(context.flow, event.scope, "Rngs")
    fix = None
    if rngs is not None:
        source = event.scope.module.source
        start, end = source.span(node)
        edits = (Edit(start, start, f"{rngs.text}(dropout=".encode()), Edit(end, end, b")"), *rngs.edits)
        fix = Fix(tuple((source.path, edit) for edit in edits))
    message = "nnx.Dropout is made with a Rngs since Flax 0.11, not with a key or a seed"
    yield finding(RULE.code, event.scope, node, message, "nnx.Rngs(dropout=...)", fix)


def _called(context: Context, event: CallEvent, given: Value) -> Iterator[Finding]:
    """A call of a Dropout took any mapping from names to functions."""
    flow = context.flow
    if not isinstance(flow.resolve(flow.here(given, event.scope)).value, Mapping):
        return
    callee = flow.here(event.value.callee, event.scope)
    if not any(layer(flow, s) or _dropout(context, s) for s in context.sources.originals(callee)):
        return
    source = event.scope.module.source
    node = _node(event)
    key = _drawn(node)
    fix = None
    if key is not None and "0.10" not in context.options.targets:
        fix = Fix(((source.path, Edit(*source.span(node), source.text(key).encode())),))
    message = "a Dropout is called with a Rngs, a stream or a key since Flax 0.11, not with a dictionary"
    yield finding(RULE.code, event.scope, node, message, "pass the key itself", fix)


def _dropout(context: Context, source: Bound) -> bool:
    made = constructor(context.flow, source)
    return made is not None and made.name in _LAYERS


def _drawn(node: ast.expr) -> ast.expr | None:
    """Return what ``{"dropout": lambda: key}`` draws; only as it stands here, names mean what they shall mean."""
    if not isinstance(node, ast.Dict) or len(node.keys) != 1:
        return None
    key, value = node.keys[0], node.values[0]
    if not isinstance(key, ast.Constant) or key.value != "dropout" or not isinstance(value, ast.Lambda):
        return None
    return value.body if ast.unparse(value).startswith("lambda:") else None


def _node(event: CallEvent) -> ast.expr:
    return next(keyword.value for keyword in event.node.keywords if keyword.arg == "rngs")


RULE = Rule(
    code="NNX210",
    name="not-an-rngs",
    summary="a key, a seed or a dictionary given as the rngs of a Dropout",
    why="""\
Up to Flax 0.10 `nnx.Dropout` stored whatever it got as `rngs` and failed only when it drew from it, and a call took
any mapping from stream names to functions. Since 0.11 the constructor forks the stream and refuses everything but a
Rngs or a RngStream; a call also takes a key.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax
import jax.numpy as jnp
from flax import nnx

key = jax.random.key(3)
quiet = nnx.Dropout(0.5, deterministic=True, rngs=key)
dropout = nnx.Dropout(0.5)
print(float(quiet(jnp.ones(4)).sum()), float(dropout(jnp.ones((1, 6)), rngs={"dropout": lambda: key}).sum()))
""",
            after="""\
import jax
import jax.numpy as jnp
from flax import nnx

key = jax.random.key(3)
quiet = nnx.Dropout(0.5, deterministic=True, rngs=nnx.Rngs(dropout=key))
dropout = nnx.Dropout(0.5)
print(float(quiet(jnp.ones(4)).sum()), float(dropout(jnp.ones((1, 6)), rngs=key).sum()))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
