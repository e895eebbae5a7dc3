"""NNX204: the constructor of ``nnx.RngStream``."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rewrite import positional_to_keyword
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Const


def check(context: Context) -> Iterator[Finding]:
    """Yield every ``nnx.RngStream(tag, key)``."""
    if not context.options.crosses("0.11"):
        return
    streams = context.flow.may.made_by({"RngStream"})
    for event in context.asked.calls():
        if not event.value.args or not streams.may_make(event.value.callee):
            continue
        if context.flow.calls.name(event) == "flax.nnx.RngStream" and _old(context, event):
            yield _found(event)


def _old(context: Context, event: CallEvent) -> bool:
    """Say whether the first argument is the tag: two are positional, or it is a string."""
    first = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
    named = {name for name, _ in event.value.keywords}
    return len(event.value.args) >= 2 or "key" in named or (isinstance(first, Const) and isinstance(first.value, str))


def _found(event: CallEvent) -> Finding:
    source = event.scope.module.source
    fix = None
    if not event.value.starred and len(event.value.args) <= 2:
        names = ("tag", "key")[: len(event.value.args)]
        edits = (positional_to_keyword(source, event.node, index, name) for index, name in enumerate(names))
        fix = Fix(tuple((source.path, edit) for edit in edits))
    message = "nnx.RngStream takes the key first and the tag by keyword since Flax 0.11"
    return finding(RULE.code, event.scope, event.node, message, "name both: RngStream(tag=..., key=...)", fix)


RULE = Rule(
    code="NNX204",
    name="rng-stream-constructor",
    summary="nnx.RngStream(tag, key)",
    why="""\
The signature was `RngStream(tag, key)` up to Flax 0.10.7 and is `RngStream(key, *, tag)` since 0.11; two positional
arguments raise a TypeError. With both named the call is valid on 0.10.7 and on all later versions.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax
from flax import nnx

stream = nnx.RngStream("params", jax.random.key(0))
print(stream.tag, jax.random.key_data(stream()).tolist())
""",
            after="""\
import jax
from flax import nnx

stream = nnx.RngStream(tag="params", key=jax.random.key(0))
print(stream.tag, jax.random.key_data(stream()).tolist())
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
