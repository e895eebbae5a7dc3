"""NNX304: transforms of JAX on NNX objects, which run since 0.11 and drop every update."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.flow import Callee
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.state.stateful import may_change
from codemods.nnx.values import Attr, Call

_TRANSFORMS = {
    "jax.jit": "nnx.jit",
    "jax.pmap": "nnx.pmap",
    "jax.vmap": "nnx.vmap",
    "jax.grad": "nnx.grad",
    "jax.value_and_grad": "nnx.value_and_grad",
    "jax.checkpoint": "nnx.remat",
    "jax.remat": "nnx.remat",
}
_OBJECTS = {Objects.MODULE, Objects.OPTIMIZER, Objects.METRIC, Objects.RNGS}


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every call of a function under such a transform that gets an object and changes it."""
    if not context.options.crosses("0.11"):
        return
    if not any(module.source.mentions(b"nnx") for module in context.project.modules):
        return
    for event in context.asked.calls():
        transform = _transform(context, event)
        if transform is None:
            continue
        changed = _changed(context, event)
        if changed is not None:
            yield finding(
                "NNX304",
                event.scope,
                event.node,
                f"{transform} takes NNX objects since Flax 0.11, but on copies: changes of `{changed}` are dropped",
                f"use {_TRANSFORMS[transform]}, or return the changed objects",
            )


def _transform(context: Context, event: CallEvent) -> str | None:
    """Return the transform of JAX around the function that a call calls."""
    flow = context.flow
    call = flow.here(event.value, event.scope)
    callee = flow.follow(call, event.value.callee)
    if not isinstance(callee.value, Call) or not callee.value.args:
        return None
    name = flow.calls.wrapper_name(callee, callee.value)
    return name if name in _TRANSFORMS else None


def _changed(context: Context, event: CallEvent) -> str | None:
    """Return the name of a parameter that gets an NNX object, is changed and is not given back."""
    flow = context.flow
    call = flow.here(event.value, event.scope)
    for callee, frame in flow.calls.invoked(call):
        for name in callee.function.params:
            given = flow.argument(frame, name)
            # what the text of the function tells is asked first, and what callers give at last
            if given is None or not _touched(callee.function, name) or _returned(callee.function, name):
                continue
            if context.kinds.of(given) & _OBJECTS and _mutates(context, callee, name, given):
                return name
    return None


def _touched(function: FunctionFacts, name: str) -> bool:
    """Say whether a function calls, updates or assigns to what it gets for a parameter."""
    param, module = function.params[name], function.scope.module
    return any(
        event.value.callee is param or (isinstance(event.value.callee, Attr) and event.value.callee.base is param)
        for event in module.calls
        if event.scope is function.scope
    ) or any(
        event.scope is function.scope and event.context == "store" and _root(event.base) is param
        for event in module.attributes
    )


def _mutates(context: Context, callee: Callee, name: str, given: Bound) -> bool:
    """Say whether a function updates an object: by ``update``, by an assignment, or by calling a stateful module."""
    function = callee.function
    param = function.params[name]
    for event in function.scope.module.calls:
        if event.scope is not function.scope:
            continue
        target = event.value.callee
        if isinstance(target, Attr) and target.base is param and target.name in {"update", "reset"}:
            return True
        if target is param and may_change(context, given):
            return True
    return any(
        event.scope is function.scope and event.context == "store" and _root(event.base) is param
        for event in function.scope.module.attributes
    )


def _root(value: object) -> object:
    while isinstance(value, Attr):
        value = value.base
    return value


def _returned(function: FunctionFacts, name: str) -> bool:
    """Say whether a function gives an object back, itself or as an argument of a call such as ``nnx.state``."""
    param = function.params[name]
    values = function.scope.module.values
    if isinstance(function.node, ast.Lambda):
        given = [function.node.body]
    else:
        given = [s.value for s in ast.walk(function.node) if isinstance(s, ast.Return) and s.value is not None]
    while given:
        node = given.pop()
        if values.get(node) is param:
            return True
        if isinstance(node, ast.Tuple | ast.List):
            given += node.elts
        elif isinstance(node, ast.Dict):
            given += node.values
        elif isinstance(node, ast.Call):
            given += node.args
    return False


RULE = Rule(
    code="NNX304",
    name="jax-transform-on-objects",
    summary="jax.jit, jax.grad or jax.vmap on NNX objects that they change",
    why="""\
Up to Flax 0.10 `jax.jit` refused modules and optimizers with a TypeError. Since 0.11 they are pytrees and it runs: on
copies. Everything that the function changes in them, such as the step of an optimizer, the statistics of BatchNorm or
the state of Dropout, is dropped without a word. `nnx.jit` and the other transforms of NNX bring changes back.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)


@jax.jit
def step(model, optimizer, x):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean())(model)
    optimizer.update(model, grads)


step(model, optimizer, jnp.ones((4, 2)))
""",
            run=False,
        ),
        Example(
            before="""\
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
print(jax.vmap(lambda m, x: m(x), in_axes=(None, 0))(model, jnp.ones((4, 3))).shape)
""",
            after="""\
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
print(jax.vmap(lambda m, x: m(x), in_axes=(None, 0))(model, jnp.ones((4, 3))).shape)
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
)
