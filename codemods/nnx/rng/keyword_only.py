"""NNX208: positional options of layers that take them by keyword only."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.flow import Flow
from codemods.nnx.rewrite import positional_to_keyword
from codemods.nnx.rng.layers import POSITIONAL, SIGNATURES
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Ref, Star


def check(context: Context) -> Iterator[Finding]:
    """Yield every constructor of ``nnx.Dropout`` and ``nnx.RNN`` with positional options."""
    if not context.options.crosses("0.11"):
        return
    if not any(module.source.mentions(b"nnx") for module in context.project.modules):
        return
    for event in context.asked.calls():
        if len(event.value.args) > 1:
            name, skipped = _class(context.flow, event)
            if name in POSITIONAL and len(event.value.args) - skipped > POSITIONAL[name]:
                yield _found(event, name, skipped)


def _class(flow: Flow, event: CallEvent) -> tuple[str, int]:
    """Return the class that a call makes, and how many of its arguments are not the class's own."""
    call = flow.here(event.value, event.scope)
    name = flow.calls.callee_name(call)
    if name == "functools.partial":
        first = flow.follow(call, event.value.args[0]).value
        return (first.name, 1) if isinstance(first, Ref) else ("", 0)
    callee = event.value.callee
    if isinstance(callee, Attr) and callee.name == "__init__":  # super().__init__(...), nnx.Dropout.__init__(self, ...)
        base = flow.follow(call, callee.base)
        if isinstance(base.value, Ref):
            return base.value.name, 1
        owner = event.scope.function.owner if event.scope.function is not None else None
        if (
            owner is not None
            and flow.calls.callee_name(base) == "builtins.super"
            and not flow.calls.callables(flow.follow(call, callee))
        ):
            return next((n for n in flow.classes.mro(owner)[1] if n in POSITIONAL), ""), 0
    return name, 0


def _found(event: CallEvent, name: str, skipped: int) -> Finding:
    source = event.scope.module.source
    names = SIGNATURES[name]
    places = range(skipped + POSITIONAL[name], len(event.value.args))
    fix = None
    if not any(isinstance(a, Star) for a in event.value.args) and places[-1] - skipped < len(names):
        edits = (positional_to_keyword(source, event.node, i, names[i - skipped]) for i in places)
        fix = Fix(tuple((source.path, edit) for edit in edits))
    short = name.rpartition(".")[2]
    message = f"nnx.{short} takes its options by keyword only since Flax 0.11"
    return finding(
        RULE.code, event.scope, event.node, message, f"name them: {', '.join(names[POSITIONAL[name] :][:3])}, ...", fix
    )


RULE = Rule(
    code="NNX208",
    name="layer-options-positional",
    summary="positional options of nnx.Dropout and nnx.RNN",
    why="""\
`nnx.Dropout(0.5, (1,), True)` and `nnx.RNN(cell, True)` were valid up to Flax 0.10. Since 0.11 everything behind the
rate or the cell is keyword-only, and a positional argument raises a TypeError. The names are the same on all
versions.
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

dropout = nnx.Dropout(0.5, (1,), True)
rnn = nnx.RNN(nnx.GRUCell(2, 3, rngs=nnx.Rngs(0)), True, True)
print(dropout.broadcast_dims, dropout.deterministic, rnn(jnp.ones((4, 1, 2)))[0].shape)
""",
            after="""\
import jax.numpy as jnp
from flax import nnx

dropout = nnx.Dropout(0.5, broadcast_dims=(1,), deterministic=True)
rnn = nnx.RNN(nnx.GRUCell(2, 3, rngs=nnx.Rngs(0)), time_major=True, return_carry=True)
print(dropout.broadcast_dims, dropout.deterministic, rnn(jnp.ones((4, 1, 2)))[0].shape)
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
