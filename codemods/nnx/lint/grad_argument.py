"""NNX852: a gradient with respect to the data instead of the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.grad_arguments import gradient_calls
from codemods.nnx.lint.ignored_model import ignored_models
from codemods.nnx.lint.places import foreign, in_test, kinds_of
from codemods.nnx.values import Attr, Call, Free, Item, Param, Ref


def _check(context: Context) -> Iterator[Finding]:
    for event, called in foreign(context, "grad", "value_and_grad", "partial"):
        if event.value.keyword("wrt") is None:
            continue
        name = _bound(context, event) if called == "functools.partial" else called
        if name in GRADIENTS:
            nnx = name.startswith("flax.nnx.")
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{name.removeprefix('flax.')} has no argument `wrt`",
                "write argnums=nnx.DiffState(0, ...) with the filter" if nnx else "write argnums= with the position",
            )
    for function, node, message, help in ignored_models(context):
        yield finding(RULE.code, function.scope, node, message, help)
    for event, made, name in gradient_calls(context):
        args = event.value.args
        if name.startswith("flax.nnx.") and args and not event.value.starred and not in_test(event.scope):
            yield from _of_data(context, made, event)
        if not name.startswith("flax.nnx.") or len(args) < 2 or event.value.starred or in_test(event.scope):
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


def _bound(context: Context, event: CallEvent) -> str:
    """Return the name of the function of which ``functools.partial`` binds arguments."""
    first = event.value.args[0] if event.value.args else None
    found = context.flow.resolve(context.flow.here(first, event.scope)).value if first is not None else None
    return found.name if isinstance(found, Ref) else ""


def _of_data(context: Context, made: Call, event: CallEvent) -> Iterator[Finding]:
    """Yield the gradients of losses that run an outer model on their first argument, where that model is trained."""
    callees = context.flow.calls.callables(context.flow.here(made.args[0], event.scope))
    if len(callees) != 1 or callees[0].args or made.argument(1, "argnums") is not None:
        return
    function = callees[0].function
    params = list(function.params.values())[int(callees[0].receiver is not None) :]
    calls = context.bodies.calls.get(function.scope, ())
    outer = [
        call
        for call in calls
        if isinstance(call.value.callee, Free | Attr)
        and (isinstance(call.value.callee, Free) or isinstance(call.value.callee.base, Free | Param))
        and Kind.MODULE in kinds_of(context, call.value.callee, function.scope)
    ]
    if not params or not outer or params[0].name.startswith("_"):
        return
    read = any(
        isinstance(node, ast.Name) and node.id == params[0].name and isinstance(node.ctx, ast.Load)
        for node in ast.walk(function.node)
    )
    if read and all(params[0] in call.value.args for call in outer) and _trains(context, event, outer[0]):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"the gradient is taken with respect to `{params[0].name}`, the data, and not to "
            f"`{ast.unparse(outer[0].node.func)}`",
            "give the loss the model as its first argument",
        )


def _trains(context: Context, event: CallEvent, model: CallEvent) -> bool:
    """Say whether an optimizer updates a model with the gradients of a call."""
    for update in context.bodies.calls.get(event.scope, ()):
        callee = update.value.callee
        if isinstance(callee, Attr) and callee.name == "update" and len(update.value.args) > 1:
            given = update.value.args[1]
            while isinstance(given, Item):
                given = given.base
            if given is event.value and ast.unparse(update.node.args[0]) == ast.unparse(model.node.func):
                return True
    return False


def _is_data(context: Context, made: Call, event: CallEvent, later: list[int]) -> bool:
    """Say whether the loss gives its first argument to a later one, which it calls: that is the model."""
    callees = context.flow.calls.callables(context.flow.here(made.args[0], event.scope))
    if len(callees) != 1 or callees[0].args:
        return False
    function = callees[0].function
    bound = callees[0].receiver is not None and function.binding in {"instance", "class"}
    params = list(function.params.values())[int(bound) :]
    return bool(params) and any(
        call.value.callee in [params[i] for i in later if i < len(params)] and params[0] in call.value.args
        for call in context.bodies.calls.get(function.scope, ())
    )


RULE = lint_rule(
    "NNX852",
    "grad-argument",
    "nnx.grad of a function whose first argument is not the model, or with wrt=",
    why="""\
`nnx.grad` differentiates the first argument. If that is the data, the result is the gradient of the data. The `wrt=` of
early releases is gone: `argnums=nnx.DiffState(0, nnx.LoRAParam)` selects Variables.
""",
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
