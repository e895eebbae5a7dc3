"""NNX751: another number of names than what is unpacked into them has parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.applied import layers
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import COMPILING, last
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.values import Call, Const, Star, Value


def _check(context: Context) -> Iterator[Finding]:
    yield from _gradients(context)
    for event, name in foreign(context, "split", "array_split"):
        statement = event.statement
        if not isinstance(statement, ast.Assign) or statement.value is not event.node or event.value.starred:
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        names = [
            len(target.elts)
            for target in statement.targets
            if isinstance(target, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in target.elts)
        ]
        parts = _parts(context, event, name)
        if parts is not None and any(count != parts for count in names):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` gives {parts} parts here, and {names[0]} names take them",
                "give as many names as there are parts",
            )


def _gradients(context: Context) -> Iterator[Finding]:
    """Yield the unpackings of ``value_and_grad`` with several `argnums` into more than two names."""
    for event in context.bodies.unpacked:
        if event.scope.module not in context.asked or b"value_and_grad" not in event.scope.module.source.data:
            continue
        assert isinstance(event.statement, ast.Assign)
        target = event.statement.targets[0]
        assert isinstance(target, ast.Tuple)
        if len(target.elts) < 3 or any(isinstance(one, ast.Starred) for one in target.elts):
            continue
        # `jax.jit(jax.value_and_grad(...))`; of `self.step = jax.jit(self.step)` there is no innermost one
        made = layers(context, context.flow.here(event.value.callee, event.scope))
        layer = next((one for one in made if context.flow.calls.callee_name(one) not in COMPILING), None)
        if layer is None or not isinstance(layer.value, Call) or not layer.value.args:
            continue
        name = context.flow.calls.callee_name(layer)
        numbers = constant(argument(layer.value.node, 1, "argnums"))
        if name not in {"jax.value_and_grad", "flax.nnx.value_and_grad"} or not isinstance(numbers, tuple | list):
            continue
        if not context.bodies.guarded(event.node, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.statement.targets[0],
                f"`value_and_grad` gives a pair, the value and all gradients, and {len(target.elts)} names take it",
                "put the names of the gradients in brackets: loss, (first, second) = ...",
            )


def _parts(context: Context, event: CallEvent, name: str) -> int | None:
    """Return how many parts a call gives; None if that is not known."""
    call = event.value
    if name == "flax.nnx.split":
        return None if any(isinstance(a, Star) for a in call.args) or not call.args else 1 + max(1, len(call.args) - 1)
    if name == "jax.random.split":
        given = call.argument(1, "num")
        return 2 if given is None else _number(context, event, given)
    if name in {"jax.numpy.split", "jax.numpy.array_split"}:
        given = call.argument(1, "indices_or_sections")
        return None if given is None else _number(context, event, given)
    return None


def _number(context: Context, event: CallEvent, value: Value) -> int | None:
    found = context.flow.resolve(context.flow.here(value, event.scope)).value
    return found.value if isinstance(found, Const) and type(found.value) is int else None


RULE = lint_rule(
    "NNX751",
    "split-count",
    "another number of names than a split gives parts",
    why="""\
`jax.random.split(key, 3)` gives three keys, without a number two; `nnx.split(model, A, B)` gives the graph and a state
for each filter. `value_and_grad` gives a pair: with several `argnums` the gradients are a tuple of their own. Another
number of names on the left raises a ValueError.
""",
    source="jax and flax discussions; measured on Flax 0.10.7, 0.11.2 and 0.12.8: ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax

key = jax.random.key(0)
data_key, noise_key = jax.random.split(key, 3)
""",
    ),
    clean=(
        """\
import jax

key = jax.random.key(0)
data_key, *others = jax.random.split(key, 3)
one, two = jax.random.split(data_key)
""",
    ),
)
