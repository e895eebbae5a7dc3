"""NNX214: ``nnx.reseed`` of streams with an axis, or of one called ``policy``."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rewrite import RewriteError, add_keyword
from codemods.nnx.rng.analysis import rng_analysis
from codemods.nnx.rng.layouts import Shape
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Const


def check(context: Context) -> Iterator[Finding]:
    """Yield calls of ``nnx.reseed`` that fail since 0.11."""
    if not context.options.crosses("0.11"):
        return
    if not any(module.source.mentions(b"nnx") for module in context.project.modules):
        return
    for event in context.asked.calls():
        if event.value.args and context.flow.calls.name(event) == "flax.nnx.reseed":
            yield from _reseed(context, event)


def _reseed(context: Context, event: CallEvent) -> Iterator[Finding]:
    policy = event.value.keyword("policy")
    if policy is not None:
        if not (isinstance(policy, Const) and isinstance(policy.value, str)) and _is_stream(context, event):
            message = "`policy` is an option of nnx.reseed since Flax 0.11, so a stream of that name cannot be reseeded"
            yield finding(RULE.code, event.scope, event.node, message, "rename the stream, or set its key and count")
        return
    shapes = rng_analysis(context).layouts.of(context.flow.here(event.value.args[0], event.scope))
    if Shape.VECTOR in shapes:
        message = (
            "nnx.reseed refuses streams that have their own axis since Flax 0.11, unless told to match their shape"
        )
        yield finding(RULE.code, event.scope, event.node, message, 'add policy="match_shape"', _fix(event))


def _is_stream(context: Context, event: CallEvent) -> bool:
    """Say whether the value is a seed or a key, and not a policy: a function."""
    policy = event.value.keyword("policy")
    assert policy is not None
    value = context.flow.resolve(context.flow.here(policy, event.scope))
    name = context.flow.calls.callee_name(value)
    return isinstance(value.value, Const) or name.startswith("jax.random.")


def _fix(event: CallEvent) -> Fix | None:
    source = event.scope.module.source
    try:
        return Fix(((source.path, add_keyword(source, event.node, "policy", '"match_shape"')),))
    except RewriteError:
        return None


RULE = Rule(
    code="NNX214",
    name="reseed-policy",
    summary="nnx.reseed of stacked layers, or of a stream called `policy`",
    why="""\
Layers that are made under `nnx.vmap` have streams with an axis since Flax 0.11, and `nnx.reseed` raises "Cannot
reseed stream ... because it has a non-scalar key" unless `policy="match_shape"` says how. 0.10 takes the option for
the name of a stream that does not exist and ignores it. Every layer gets a key of its own: two reseeds with one seed
agree with each other, but not with 0.10.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax.numpy as jnp
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs):
        self.dropout = nnx.Dropout(0.5, rngs=rngs)


blocks = nnx.split_rngs(splits=3)(nnx.vmap(Block))(nnx.Rngs(dropout=0))
nnx.reseed(blocks, dropout=1)
print(blocks.dropout.rate)
""",
            after="""\
import jax.numpy as jnp
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs):
        self.dropout = nnx.Dropout(0.5, rngs=rngs)


blocks = nnx.split_rngs(splits=3)(nnx.vmap(Block))(nnx.Rngs(dropout=0))
nnx.reseed(blocks, dropout=1, policy="match_shape")
print(blocks.dropout.rate)
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
