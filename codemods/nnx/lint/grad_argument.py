"""NNX852: a gradient with respect to the data instead of the model."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.grad_arguments import gradient_calls
from codemods.nnx.lint.places import kinds_of
from codemods.nnx.values import Call


def _check(context: Context) -> Iterator[Finding]:
    for event, made, name in gradient_calls(context):
        args = event.value.args
        if not name.startswith("flax.nnx.") or len(args) < 2 or event.value.starred:
            continue
        first = kinds_of(context, args[0], event.scope)
        later = [i for i, a in enumerate(args) if i and kinds_of(context, a, event.scope) == {Kind.MODULE}]
        data = first <= {Kind.ARRAY, Kind.NUMPY, Kind.KEY} if first else _is_data(context, made, event, later)
        if later and data:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the gradient is taken with respect to the first argument, which is not the model",
                f"put the model first, or give argnums={later[0]}",
            )


def _is_data(context: Context, made: Call, event: CallEvent, later: list[int]) -> bool:
    """Say whether the loss gives its first argument to a later one, which it calls: that is the model."""
    callees = context.flow.calls.callables(context.flow.here(made.args[0], event.scope))
    if len(callees) != 1 or callees[0].args or callees[0].receiver is not None:
        return False
    function = callees[0].function
    params = list(function.params.values())
    return any(
        call.value.callee in [params[i] for i in later if i < len(params)] and params[0] in call.value.args
        for call in context.bodies.calls.get(function.scope, ())
    )


RULE = lint_rule(
    "NNX852",
    "grad-argument",
    "nnx.grad of a function whose first argument is not the model",
    why="`nnx.grad` differentiates the first argument. If that is the data, the result is the gradient of the data.",
    source="JAX tutorial, section on argnums; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
x = jnp.ones((4, 2))
grads = nnx.grad(lambda x, m: m(x).mean())(x, model)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
x = jnp.ones((4, 2))
grads = nnx.grad(lambda m, x: m(x).mean())(model, x)
wanted = nnx.grad(lambda x, m: m(x).mean(), argnums=1)(x, model)
""",
    ),
)
