"""NNX934: the last example of a batch, where the last step of an nnx.RNN is wanted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import Arrays, batched
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, position
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Attr, Call, Const, Free, Param, Value

_MODES = frozenset({"time_major", "return_carry"})


def _check(context: Context) -> Iterator[Finding]:
    if not any(b"RNN(" in m.source.data for m in context.project.modules):
        return
    for scope, node in each(context, ast.Subscript):
        if constant(node.slice) != -1 or in_test(scope) or scope.function in context.shared(batched):
            continue
        call = scope.module.values.get(node.value)
        if not isinstance(call, Call) or not isinstance(call.callee, Attr) or not call.args or call.starred:
            continue
        if any(name in _MODES or name is None for name, _ in call.keywords):
            continue
        made = context.sources.originals(context.flow.here(call.callee, scope))
        if not made or not all(
            isinstance(one.value, Call)
            and context.flow.calls.callee_name(one) == "flax.nnx.RNN"
            and all(one.value.keyword(mode) in (None, Const(False)) for mode in _MODES)
            for one in made
        ):
            continue
        if 3 in (Arrays(context, {}).of(call.args[0], scope).axes, _given(context, call.args[0])):
            yield finding(
                RULE.code,
                scope,
                node,
                "this is the last example of the batch: the sequences run along the second axis",
                "take the last step, [:, -1], or make the nnx.RNN with time_major=True",
            )


def _given(context: Context, value: Value) -> int | None:
    """Return how many axes all calls of a model give the argument of its ``__call__``; None if that is not known."""
    if not isinstance(value, Param) or value.function.name != "__call__" or value.function.owner is None:
        return None
    place, found = position(value), set()
    for event in context.project.calls():
        if not isinstance(event.value.callee, Param | Free | Call) or event.value.starred or in_test(event.scope):
            continue
        made = context.sources.originals(context.flow.here(event.value.callee, event.scope))
        if {context.flow.classes.class_of(one) for one in made} == {value.function.owner}:
            given = event.value.argument(place, value.name)
            found.add(Arrays(context, {}).of(given, event.scope).axes if given is not None else None)
    return found.pop() if len(found) == 1 else None


_BAD = """\
import jax.numpy as jnp
from flax import nnx


class Reader(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs))

    def __call__(self, x):
        return self.rnn(x)[-1]


reader = Reader(nnx.Rngs(0))
print(reader(jnp.ones((8, 5, 3))).shape)
"""

RULE = lint_rule(
    "NNX934",
    "last-of-batch",
    "the first axis of what an nnx.RNN gives is taken for its steps",
    why="""\
`nnx.RNN` takes `(batch, time, features)` and gives the same order: `[-1]` is the last example of the batch with all its
steps. Input of `(time, batch, features)` needs `time_major=True`, else the recurrence runs over the batch.
""",
    source="documentation of nnx.RNN, Flax pull request 2770; measured: a model that never learns",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("[-1]", "[:, -1]"),),
)
