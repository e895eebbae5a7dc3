"""NNX855: random streams that are told from other state by the name of an attribute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, kinds_of
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Each, Item, Param, Value

_FILTERED = frozenset({"flax.nnx.state", "flax.nnx.split", "flax.nnx.pop", "flax.nnx.filter_state"})
_FLAT = frozenset({"flax.nnx.to_flat_state", "flax.nnx.statelib.to_flat_state", "flax.nnx.iter_graph"})
_FLAT_METHODS = frozenset({"flat_state", "flatten", "filter", "items"})


def _check(context: Context) -> Iterator[Finding]:
    filters: set[object] | None = None
    for scope, node in each(context, ast.Compare):
        asked = _asked(node)
        if asked is None or in_test(scope):
            continue
        if filters is None:
            filters = _filters(context)
        if _path(context, asked, scope, filters) and not context.shared(_all_so_named):
            yield finding(
                RULE.code,
                scope,
                node,
                "streams are in the state under the name of whatever attribute holds them, not only as `rngs`",
                "select them by type: nnx.RngState",
            )


def _all_so_named(context: Context) -> bool:
    """Say whether modules of the project hold streams, all as ``rngs``, as the layers of Flax do: the name tells it."""
    found = False
    for cls in context.project.classes():
        for name, stores in cls.stores.items():
            for function, value in stores:
                if kinds_of(context, value, function.scope) & {Kind.RNGS, Kind.STREAM}:
                    if name != "rngs":
                        return False
                    found = True
                made = context.flow.resolve(context.flow.here(value, function.scope))
                found |= context.flow.calls.callee_name(made) in _HOLDING
    return found


_HOLDING = frozenset({"flax.nnx.Dropout", "flax.nnx.MultiHeadAttention", "flax.nnx.RNN"})


def _asked(node: ast.Compare) -> ast.expr | None:
    """Return the path, or its part, in ``"rngs" in path``, ``"rng" in str(part)`` and ``path[0] == "rngs"``."""
    if len(node.ops) != 1:
        return None
    left, right = node.left, node.comparators[0]
    if isinstance(node.ops[0], ast.In | ast.NotIn):
        return _plain(right) if _names(left) else None
    if not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return None
    other = left if _names(right) else right if _names(left) else None
    return _plain(other.value if isinstance(other, ast.Subscript) else other) if other is not None else None


def _names(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in {"rngs", "rng"}


def _plain(node: ast.expr) -> ast.expr:
    """Return what ``str`` makes a text of, or an expression itself."""
    text = isinstance(node, ast.Call) and last_word(node.func) == "str" and len(node.args) == 1
    return node.args[0] if text and isinstance(node, ast.Call) else node


def _filters(context: Context) -> set[object]:
    """Return the functions that the project gives as filters of a state."""
    flow = context.flow
    found: set[object] = set()
    for event in context.bodies.named("state", "split", "pop", "filter_state", "filter"):
        call = flow.here(event.value, event.scope)
        if flow.calls.callee_name(call) in _FILTERED or isinstance(event.node.func, ast.Attribute):
            for value in event.value.args:
                found |= {callee.function for callee in flow.calls.callables(flow.with_value(call, value))}
    return found


def _path(context: Context, node: ast.expr, scope: Scope, filters: set[object]) -> bool:
    """Say whether an expression is the path of a leaf: of a flat state, or what a filter is given first."""
    value = scope.module.values.get(node)
    if isinstance(value, Param):
        return value.function in filters and next(iter(value.function.params.values()), None) is value
    while isinstance(value, Item):
        value = value.base
    if isinstance(value, Each) and isinstance(value.base, Param):  # a part of the path
        return value.base.function in filters and next(iter(value.base.function.params.values()), None) is value.base
    return isinstance(value, Each) and _flat(context, value.base, scope)


def _flat(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value is a flat state, or its items."""
    made = context.flow.resolve(context.flow.here(value, scope))
    if not isinstance(made.value, Call):
        return False
    if context.flow.calls.callee_name(made) in _FLAT:
        return True
    callee = made.value.callee
    if not isinstance(callee, Attr) or callee.name not in _FLAT_METHODS:
        return False
    return callee.name == "flat_state" or _flat(context, callee.base, scope)


RULE = lint_rule(
    "NNX855",
    "streams-by-name",
    "random streams selected by `rngs` in a path of the state",
    why="""\
A module may keep a Rngs in an attribute of any name, and since Flax 0.11 each layer has streams of its own. A test for
the name misses those under other names, and takes a module that happens to be called so for a stream. In a checkpoint
the missed ones are keys, which many formats cannot store.
""",
    source="guide NNX 0.10 to NNX 0.11; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx

model = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
weights = nnx.state(model, lambda path, leaf: "rngs" not in path)
""",
    ),
    clean=(
        """\
from flax import nnx

model = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
weights = nnx.state(model, nnx.Not(nnx.RngState))
""",
    ),
)
