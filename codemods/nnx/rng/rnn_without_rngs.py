"""NNX209: ``rngs=None`` for ``nnx.RNN`` and ``nnx.Bidirectional``."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rewrite import RewriteError, remove_keyword
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Choice, Const, Param, Value

_LAYERS = {"flax.nnx.RNN": "nnx.RNN", "flax.nnx.Bidirectional": "nnx.Bidirectional"}


def check(context: Context) -> Iterator[Finding]:
    """Yield recurrent layers that get None as their Rngs, or may get it."""
    if not context.options.crosses("0.11"):
        return
    for event in context.asked.calls():
        given = event.value.keyword("rngs")
        if given is None:
            continue
        layer = _LAYERS.get(context.flow.calls.name(event))
        if layer is not None and _may_be_none(given):
            yield _found(event, layer, given)


def _may_be_none(value: Value) -> bool:
    if isinstance(value, Param):
        return value.function.defaults.get(value.name) == Const(None)
    return value == Const(None) or (isinstance(value, Choice) and Const(None) in value.options)


def _found(event: CallEvent, layer: str, given: Value) -> Finding:
    source = event.scope.module.source
    if given != Const(None):
        message = f"{layer} takes no None as its rngs since Flax 0.11, and this may be None"
        return finding(RULE.code, event.scope, event.node, message, "leave rngs out where there is none")
    try:
        fix = Fix(((source.path, remove_keyword(source, event.node, "rngs")),))
    except RewriteError:
        fix = None
    message = f"{layer} takes no None as its rngs since Flax 0.11"
    return finding(
        RULE.code, event.scope, event.node, message, "leave it out: the layer then makes a stream of its own", fix
    )


RULE = Rule(
    code="NNX209",
    name="rnn-rngs-none",
    summary="rngs=None for nnx.RNN and nnx.Bidirectional",
    why="""\
None meant "a Rngs of your own" up to Flax 0.10. Since 0.11 the default says so and None raises a ValueError.
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

rnn = nnx.RNN(nnx.GRUCell(2, 3, rngs=nnx.Rngs(0)), time_major=True, rngs=None)
print(float(rnn(jnp.ones((4, 1, 2))).sum()))
""",
            after="""\
import jax.numpy as jnp
from flax import nnx

rnn = nnx.RNN(nnx.GRUCell(2, 3, rngs=nnx.Rngs(0)), time_major=True)
print(float(rnn(jnp.ones((4, 1, 2))).sum()))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
