"""NNX877: an abstract model that is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Call, Value

_FILLING = frozenset({"update", "load", "restore", "load_state", "load_weights", "load_params", "set_attributes"})


def _check(context: Context) -> Iterator[Finding]:
    made: dict[tuple[Scope, Value], CallEvent] = {}
    for event, name in foreign(context, "eval_shape"):
        if name == "flax.nnx.eval_shape":
            made[event.scope, event.value] = event
    if not made:
        return
    for event in context.asked.calls():
        callee = event.value.callee
        maker = made.get((event.scope, callee)) if isinstance(callee, Call) else None
        if (
            maker is None
            or not isinstance(event.node.func, ast.Name)
            or context.bodies.guarded(event.node, event.scope)
        ):
            continue
        if not _handed_on(context, maker, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{event.node.func.id}` is abstract: nnx.eval_shape gives shapes in the place of weights",
                "give it weights first, with nnx.update(model, state), or merge its graph definition with a state",
            )


def _handed_on(context: Context, maker: CallEvent, call: CallEvent) -> bool:
    """Say whether something may have filled an abstract model in before it is called."""
    for event in context.bodies.calls.get(maker.scope, ()):
        given = (*event.value.args, *(value for _, value in event.value.keywords))
        if event.node is not call.node and any(value is maker.value for value in given):
            name = context.flow.calls.callee_name(context.flow.here(event.value, event.scope))
            if not name.startswith("flax.nnx.") or name == "flax.nnx.update":
                return True
        func = event.node.func
        if isinstance(func, ast.Attribute) and func.attr in _FILLING:
            return True
    return any(
        isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
        for node in context.bodies.nodes(maker.scope)
    )


RULE = lint_rule(
    "NNX877",
    "abstract-called",
    "a model that nnx.eval_shape made is called without weights",
    why="""\
`nnx.eval_shape` runs a constructor without computing anything: the variables hold `jax.ShapeDtypeStruct`s. Such a model
tells shapes, to restore a checkpoint for example; it has to be given arrays before it is called.
""",
    source="Flax guide on checkpoints; measured on Flax 0.10.7 and 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx

model = nnx.eval_shape(lambda: nnx.Linear(4, 2, rngs=nnx.Rngs(0)))
print(model(jnp.ones((1, 4))))
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


def restored(state):
    model = nnx.eval_shape(lambda: nnx.Linear(4, 2, rngs=nnx.Rngs(0)))
    nnx.update(model, state)
    return model(jnp.ones((1, 4)))
""",
    ),
)
