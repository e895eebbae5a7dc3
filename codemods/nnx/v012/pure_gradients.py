"""NNX614: gradients as plain arrays."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call

_PURE = frozenset({"flax.nnx.pure", "flax.nnx.as_pure", "flax.nnx.to_pure_dict"})


def check(context: Context) -> Iterator[Finding]:
    """Yield updates of optimizers with gradients whose Variables were taken away."""
    if not context.options.crosses("0.12"):
        return
    flow = context.flow
    for event in context.asked.calls():
        callee = event.value.callee
        if not isinstance(callee, Attr) or callee.name != "update" or not event.value.args or event.value.starred:
            continue
        found = flow.resolve(flow.here(event.value.args[-1], event.scope))
        if not isinstance(found.value, Call) or flow.calls.callee_name(found) not in _PURE:
            continue
        if Objects.OPTIMIZER in context.kinds.of(flow.here(callee.base, event.scope)):
            yield finding(
                "NNX614",
                event.scope,
                event.node,
                "update() selects the gradients by `wrt` since Flax 0.12.1, and finds none among plain arrays",
                "pass the gradients as nnx.grad gives them",
            )


RULE = Rule(
    code="NNX614",
    name="pure-gradients",
    summary="an optimizer gets gradients without their Variables",
    why="""\
Since Flax 0.12.1 `optimizer.update` selects what it needs from the gradients by the filter `wrt`. Gradients that went
through `nnx.pure` hold plain arrays, which no filter of Variables matches: the update raises "pytree structure
error".
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.12.1",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(
        Example(
            """\
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
grads = nnx.pure(nnx.grad(lambda m: m(jnp.ones((1, 2))).sum())(model))
optimizer.update(model, grads)
""",
            targets=("0.12",),
            run=False,
        ),
    ),
    check=check,
)
