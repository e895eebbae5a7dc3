"""NNX904: a training step that is not compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Attr


def _check(context: Context) -> Iterator[Finding]:
    told: set[object] = set()  # loops, or functions that loops call
    for event in context.bodies.named("update"):
        callee = event.value.callee
        if event.used or not isinstance(callee, Attr) or in_test(event.scope):
            continue
        if Kind.OPTIMIZER not in kinds_of(context, callee.base, event.scope) or not _hot(context, event):
            continue
        place = next((one for one in event.loops if isinstance(one, ast.For | ast.While)), event.scope)
        if place in told:
            continue
        told.add(place)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "the optimizer steps outside of compiled code, operation by operation",
            "put the gradient and the update into one function and compile it with nnx.jit",
        )


def _hot(context: Context, event: CallEvent) -> bool:
    """Say whether a call happens in a loop and not in compiled code, its own or that of all callers."""
    function = enclosing_function(event.scope)
    if function in context.traced:
        return False
    if any(isinstance(loop, ast.For | ast.While) for loop in event.loops):
        return True
    callers = context.flow.sites.callers(function) if function is not None else []
    return bool(callers) and all(
        any(isinstance(loop, ast.For | ast.While) for loop in caller.loops)
        and enclosing_function(caller.scope) not in context.traced
        for caller in callers
    )


RULE = lint_rule(
    "NNX904",
    "uncompiled-step",
    "optimizer.update in a loop outside of compiled code",
    why="""\
Without compilation every operation is sent off alone. Measured for a small model: 55 to 130 ms for a step of which
nothing is compiled, 4 to 16 ms if only the gradient is, 1 to 3 ms if all of it is.
""",
    source='JAX tutorial ("widest possible context"); measured on Flax 0.10.7, 0.11.2 and 0.12.8 on a CPU',
    check=_check,
    bad=(
        """\
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
for x in range(100):
    grads = nnx.grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)
""",
    ),
    clean=(
        """\
import optax
from flax import nnx


@nnx.jit
def step(model, optimizer, x):
    grads = nnx.grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)


def train(model, data):
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    step(model, optimizer, data)
""",
    ),
)
