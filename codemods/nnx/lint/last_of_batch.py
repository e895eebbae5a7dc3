"""NNX934: the last example of a batch, where the last step of an nnx.RNN is wanted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import Arrays, batched
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import callers_of, each, in_test, position
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import first_element, last_word
from codemods.nnx.values import Attr, Call, Const, Free, Item, Param, Value

_MODES = frozenset({"time_major", "return_carry"})


def _check(context: Context) -> Iterator[Finding]:
    if not any(m.source.mentions(b"RNN(") for m in context.project.modules):
        return
    for scope, node in each(context, ast.Subscript):
        first = first_element(node.slice)
        whole = isinstance(node.slice, ast.Tuple) and any(not _everything(one) for one in node.slice.elts[1:])
        if constant(first) != -1 or whole or in_test(scope) or scope.function in context.shared(batched):
            continue
        call, modes = scope.module.values.get(node.value), _MODES
        if isinstance(call, Item) and call.index == Const(1):  # carry, outputs = rnn(x)
            call, modes = call.base, _MODES - {"return_carry"}
        if not isinstance(call, Call) or not isinstance(call.callee, Attr) or not call.args or call.starred:
            continue
        if any(name in _MODES or name is None for name, _ in call.keywords):
            continue
        made = context.sources.originals(context.flow.here(call.callee, scope))
        if not made or not all(
            isinstance(one.value, Call)
            and context.flow.calls.callee_name(one) == "flax.nnx.RNN"
            and all(one.value.keyword(mode) in (None, Const(False)) for mode in modes)
            for one in made
        ):
            continue
        if _axes(context, call.args[0], scope, 0) == 3:
            yield finding(
                RULE.code,
                scope,
                node,
                "this is the last example of the batch: the sequences run along the second axis",
                "take the last step, [:, -1], or make the nnx.RNN with time_major=True",
            )


def _everything(node: ast.expr) -> bool:
    """Say whether a part of an index takes the whole axis."""
    return ast.unparse(node) in {":", "..."}


def _axes(context: Context, value: Value, scope: Scope, depth: int) -> int | None:
    """Return how many axes an array has, as its calls tell and the layers before; None if that is not known."""
    axes = Arrays(context, {}).of(value, scope).axes or _given(context, value)
    if axes is not None or depth > _DEPTH or not isinstance(value, Call) or not value.args or value.starred:
        return axes
    name = last_word(value.node.func)
    if context.flow.calls.callee_name(context.flow.here(value, scope)).startswith(_HOMES):
        return _axes(context, value.args[0], scope, depth + 1) if name in _KEEPING else None
    layer = owner_class(context, value.callee, scope)
    before = _axes(context, value.args[0], scope, depth + 1) if layer in _LAYERS else None
    return before + _LAYERS[str(layer)] if before is not None else None


_HOMES = ("jax.numpy.", "flax.nnx.", "jax.nn.")
_KEEPING = frozenset({"swapaxes", "transpose", "relu", "gelu", "tanh", "asarray"})
_LAYERS = {"flax.nnx.Embed": 1, "flax.nnx.Linear": 0, "flax.nnx.Dropout": 0, "flax.nnx.LayerNorm": 0}
_DEPTH = 4


def _given(context: Context, value: Value) -> int | None:
    """Return how many axes all calls of a model give the argument of a method; None if that is not known."""
    if not isinstance(value, Param) or value.function.owner is None:
        return None
    place, found = position(value), set()
    if value.function.name != "__call__":
        for event in callers_of(context, value.function):
            given = event.value.argument(place, value.name) if not event.value.starred else None
            found.add(Arrays(context, {}).of(given, event.scope).axes if given is not None else None)
        return found.pop() if len(found) == 1 else None
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
