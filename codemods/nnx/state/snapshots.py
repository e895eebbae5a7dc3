"""NNX401: states that were copies and are live."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts
from codemods.nnx.findings import Finding, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.project import scope_of
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.state.aliases import aliases
from codemods.nnx.state.branches import branches
from codemods.nnx.state.copies import cloned, snapshot, wrapped
from codemods.nnx.state.lines import line
from codemods.nnx.v012.equality import compared_states
from codemods.nnx.values import Call


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every ``nnx.state`` or ``nnx.split`` whose result must be a copy."""
    if not context.options.crosses("0.11"):
        return
    found = aliases(context)
    copied = cloned(context) if found else set()
    for alias in found:
        if alias.merged or alias.node in copied:
            continue
        changed, read = (line(context, node, alias.scope.module) for node in (alias.changed, alias.read))
        if alias.told_apart:
            message = f"this state is no copy since Flax 0.11: its Variables are those of the object, and {read} asks"
        elif alias.handed:
            message = "since Flax 0.11 NNX transforms hand on the Variables of a state, no copies: "
            message += f"{changed} changes them"
        elif alias.forward:
            message = f"this state is no copy since Flax 0.11: it follows the change in {changed}"
        else:
            message = f"this state is no copy since Flax 0.11: {changed} changes the object behind it too"
        yield finding(
            "NNX401",
            alias.scope,
            alias.node,
            message if alias.told_apart else f"{message}, and {read} reads the result",
            "take a copy with nnx.clone(...)",
            wrapped(context, alias.scope, alias.node) if alias.handed else snapshot(context, alias.scope, alias.node),
        )
    if not context.options.crosses("0.12"):  # which compares contents: see NNX610
        yield from _equal(context)
    said = {alias.node for alias in found} | copied
    for event, states in branches(context):
        for function, node in states:
            if node not in said:
                said.add(node)
                yield finding(
                    "NNX401",
                    function.scope,
                    node,
                    "since Flax 0.11 this state holds the operand's own Variables, so that it differs from what other "
                    f"branches of {line(context, event.node, function.scope.module)} return, which raises TypeError",
                    "take a copy in each of them: nnx.clone(...)",
                    wrapped(context, function.scope, node),
                )


def _equal(context: Context) -> Iterator[Finding]:
    """Yield comparisons of two states of one object, which are equal since 0.11."""
    for module, node in compared_states(context):
        taken = [_taken_of(context, module, side) for side in (node.left, node.comparators[0])]
        if taken[0] is not None and taken[0] == taken[1]:
            yield finding(
                "NNX401",
                scope_of(module, node),
                node,
                "two states of one object are equal since Flax 0.11, as they hold the same Variables; up to 0.10 no "
                "state was equal to another one",
                "compare the arrays of copies: jax.tree.map(jnp.array_equal, one, two)",
            )


def _taken_of(context: Context, module: ModuleFacts, node: ast.expr) -> Bound | None:
    """Return the object of which a state is taken, if all of its Variables are; None if that is not known."""
    flow, value = context.flow, module.values.get(node)
    made = flow.resolve(flow.here(value, scope_of(module, node))) if value is not None else None
    if made is None or not isinstance(made.value, Call) or len(made.value.args) != 1 or made.value.starred:
        return None
    return flow.follow(made, made.value.args[0]) if flow.calls.callee_name(made) == "flax.nnx.state" else None


RULE = Rule(
    code="NNX401",
    name="state-snapshot",
    summary="a state kept as a snapshot, which is live since 0.11",
    why="""\
Up to Flax 0.10 `nnx.state(model)` and `nnx.split(model)` returned copies of the Variables. Since 0.11 they return the
model's own: a state kept while the model goes on training follows it, so that restoring the best weights restores the
last ones, an average starts from the wrong values and a comparison of before and after finds no difference; and
changing such a state changes the model. States given to functions under `nnx.jit` or another transform of NNX were
copied too, and are changed in place now. Nothing raises an error. `nnx.clone(nnx.state(model))` is a copy on every
version.

The rule follows the program: it speaks only where one of the two is changed and the other is read afterwards, where
`is` tells their Variables apart, or where branches of `nnx.cond` return the states of different operands, which raises
TypeError.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on 0.10.7, 0.11.2 and 0.12.8; google/flax#4800",
    examples=(
        Example(
            before="""\
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
best = None
for step in range(3):
    model.bias.value = model.bias.value + 1
    if step == 0:
        best = nnx.state(model, nnx.Param)
nnx.update(model, best)
print(float(model.bias.value[0]))
""",
            after="""\
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
best = None
for step in range(3):
    model.bias.value = model.bias.value + 1
    if step == 0:
        best = nnx.clone(nnx.state(model, nnx.Param))
nnx.update(model, best)
print(float(model.bias.value[0]))
""",
        ),
        Example(
            before="""\
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
graphdef, state = nnx.split(model)


@jax.jit
def step(state, x):
    net = nnx.merge(graphdef, state)
    net.bias.value = net.bias.value + net(x).sum()
    return nnx.state(net)


for _ in range(2):
    state = step(state, jnp.ones((1, 2)))
nnx.update(model, state)
print(float(model.bias.value[0]))
""",
            after="""\
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
graphdef, state = nnx.split(model)


@jax.jit
def step(state, x):
    net = nnx.merge(graphdef, state)
    net.bias.value = net.bias.value + net(x).sum()
    return nnx.state(net)


for _ in range(2):
    state = step(state, jnp.ones((1, 2)))
nnx.update(model, state)
print(float(model.bias.value[0]))
""",
        ),
    ),
    check=check,
)
