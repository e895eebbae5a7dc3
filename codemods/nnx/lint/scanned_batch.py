"""NNX948: a recurrent cell that goes along the examples of a batch instead of their times."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.arrays import batched
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.loop_bodies import Body, bodies
from codemods.nnx.lint.names import last
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import in_test, position
from codemods.nnx.lint.syntax import argument, constant, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Param, Sequence, Value

# what makes a first carry, with the place of the shape
_MAKING = {"zeros": 0, "ones": 0, "full": 0, "empty": 0, "broadcast_to": 1, "normal": 1, "tile": 1}
_CELL = pattern(r"cell|gru|lstm|rnn", re.I)
# what a docstring says of arrays with the examples first: `(batch, time, features)`
_BATCH_FIRST = pattern(
    r"[(\[]\s*(batch(_?size)?|b|n|n_?batch|num_examples|examples)\s*,\s*(t|time|times|seq\w*|steps|length|l|s|timesteps|"
    r"time_?steps|n_?steps|num_?steps)\b",
    re.I,
)
_TIME_FIRST = pattern(r"[(\[]\s*(t|time|times|seq\w*|steps|length|timesteps|time_?steps)\s*,|time.?major", re.I)
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"scan") for module in context.project.modules):
        return
    for body in bodies(context):
        scope = body.event.scope
        if body.loop != "jax.lax.scan" or scope.module not in context.asked or body.init is None or in_test(scope):
            continue
        scanned = body.event.value.argument(2, "xs")
        if scanned is None or body.free is None or len(body.free) != 2 or not _recurrent(context, body):
            continue
        parts = scanned.items if isinstance(scanned, Sequence) else (scanned,)
        init = context.flow.here(body.init, scope)
        if any(_has_rows(context, init, part, 0) for part in parts) or _described(context, scanned, scope):
            yield finding(
                RULE.code,
                scope,
                body.event.node,
                "lax.scan goes along the first axis, which is that of the batch here: the state runs from one example "
                "to the next, and every time has a state of its own",
                "put the time first, and back afterwards: jax.lax.scan(cell, state, jnp.swapaxes(x, 0, 1))",
            )


def _has_rows(context: Context, init: Bound, scanned: Value, depth: int) -> bool:
    """Say whether a first carry has a row for each entry of the first axis of what is scanned."""
    found = context.flow.resolve(init)
    value = found.value
    if isinstance(value, Sequence):
        parts = [context.flow.with_value(found, one) for one in value.items]
        return bool(parts) and all(_has_rows(context, one, scanned, depth) for one in parts)
    if not isinstance(value, Call) or depth > _DEPTH:
        return False
    name = context.flow.calls.callee_name(found)
    word = last(name) if name.startswith(("jax.", "numpy.")) else ""
    shape: Value | None = None
    if word in _MAKING:
        shape = value.argument(_MAKING[word], "shape")
    elif isinstance(value.callee, Attr) and value.callee.name == "initialize_carry":
        whole = list(value.given)
        shape = next((one for one in whole if isinstance(one, Sequence | Attr)), None)
    if isinstance(shape, Sequence):
        return len(shape.items) > 1 and _is_length(context, context.flow.with_value(found, shape.items[0]), scanned)
    # x[:, 0].shape
    if isinstance(shape, Attr) and shape.name == "shape" and isinstance(shape.base, Item):
        return shape.base.base == scanned and _keeps_first(shape.base.index)
    return False


def _is_length(context: Context, bound: Bound, scanned: Value) -> bool:
    """Say whether a number is the length of the first axis of an array."""
    for value in (bound.value, context.flow.resolve(bound).value):
        if isinstance(value, Item | Indexed):
            index = value.index.value if isinstance(value, Indexed) else value.index
            if index == Const(0) and isinstance(value.base, Attr) and value.base.name == "shape":
                return value.base.base == scanned
        if isinstance(value, Call) and last_word(value.node.func) == "len":
            return value.args == (scanned,)
    return False


def _keeps_first(index: Value) -> bool:
    """Say whether an index takes the first axis as it is, and one place of the second: ``[:, 0]``."""
    items = index.items if isinstance(index, Sequence) else ()
    node = getattr(items[0], "node", None) if len(items) > 1 else None
    whole = isinstance(node, ast.Slice) and node.lower is node.upper is node.step is None
    return whole and isinstance(items[1], Const) and isinstance(items[1].value, int)


def _described(context: Context, scanned: Value, scope: Scope) -> bool:
    """Say whether the docstring of a function tells that its only array has the examples first, and it is scanned."""
    function = scope.function
    if not isinstance(scanned, Param) or function is None or scanned.function is not function:
        return False
    if function in context.shared(batched) or isinstance(function.node, ast.Lambda):
        return False
    text = ast.get_docstring(function.node) or ""
    if not _BATCH_FIRST.search(text) or _TIME_FIRST.search(text):
        return False
    near = [line for line in re.split(r"\n|\. ", text) if _BATCH_FIRST.search(line)]
    said = any(re.search(rf"\b{scanned.name}\b", line) for line in near)
    arrays = [name for name in function.params if not _WEIGHTS.search(name)]
    return said or (arrays == [scanned.name] and len(near) == 1 and re.search(r"return", near[0], re.I) is None)


_WEIGHTS = pattern(r"param|theta|weights|self|cell|model|key|rng|config|cfg|^p$|^w$", re.I)


def _recurrent(context: Context, body: Body) -> bool:
    """Say whether a body is a recurrent cell: it multiplies its state and its input by weights, and adds the two."""
    assert body.free is not None
    return _cell(context, body.function, body.free[0], body.free[1], 0)


def _cell(context: Context, function: FunctionFacts, state: str, given: str, depth: int) -> bool:
    if depth > _DEPTH:
        return False
    nodes = list(ast.walk(function.node))
    states, inputs = {state}, {given}
    for node in nodes:
        if isinstance(node, ast.Assign):
            names = {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            if isinstance(node.value, ast.Name) and node.value.id == state:
                states |= names
            elif isinstance(node.value, ast.Name) and node.value.id == given:
                inputs |= names
    if any(_looks_up(node, states) for node in nodes):
        return False
    multiplied = [found for node in nodes if (found := _multiplied(node) or _by_layer(context, function, node))]
    if any(found & states for found in multiplied) and any(found & inputs for found in multiplied):
        return True
    return any(_handed_on(context, function, node, states, inputs, depth) for node in nodes)


def _looks_up(node: ast.AST, states: set[str]) -> bool:
    """Say whether a state is a table in which single places are read or written."""
    if isinstance(node, ast.Attribute) and node.attr == "at":
        return isinstance(node.value, ast.Name) and node.value.id in states
    if isinstance(node, ast.Call) and last_word(node.func).startswith("dynamic_"):
        return bool(names_in(node) & states)
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name) or node.value.id not in states:
        return False
    return not isinstance(constant(node.slice), int | str)


def _multiplied(node: ast.AST) -> frozenset[str]:
    """Return the names of what is multiplied by weights: ``x @ w``, ``jnp.dot(x, w)``, both joined, or a layer's."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return names_in(node.left) if isinstance(node.left, ast.Name | ast.Call) else frozenset()
    if isinstance(node, ast.Call) and last_word(node.func) in {"dot", "matmul"} and len(node.args) == 2:
        return names_in(node.args[0]) if isinstance(node.args[0], ast.Name | ast.Call) else frozenset()
    return frozenset()


def _by_layer(context: Context, function: FunctionFacts, node: ast.AST) -> frozenset[str]:
    """Return the names of what a linear layer is called with."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or not isinstance(node.args[0], ast.Name):
        return frozenset()
    value = function.scope.module.values.get(node)
    if not isinstance(value, Call) or not isinstance(node.func, ast.Attribute | ast.Name):
        return frozenset()
    linear = owner_class(context, value.callee, function.scope) == "flax.nnx.Linear"
    return names_in(node.args[0]) if linear else frozenset()


def _handed_on(
    context: Context, function: FunctionFacts, node: ast.AST, states: set[str], inputs: set[str], depth: int
) -> bool:
    """Say whether a call hands the state and the input on to a cell."""
    if not isinstance(node, ast.Call):
        return False
    given = [*node.args, *(k.value for k in node.keywords)]
    named = {one.id for one in given if isinstance(one, ast.Name)}
    if not named & states or not named & inputs:
        return False
    value, home = function.scope.module.values.get(node), context.bodies.home(node)
    if not isinstance(value, Call) or home is None:
        return False
    invoked = context.flow.calls.invoked(context.flow.here(value, home))
    for callee, _ in invoked:
        params = list(callee.function.params.values())
        handed = {param.name: one for param in params if (one := argument(node, position(param), param.name))}
        first = next((n for n, one in handed.items() if isinstance(one, ast.Name) and one.id in states), None)
        second = next((n for n, one in handed.items() if isinstance(one, ast.Name) and one.id in inputs), None)
        if first is None or second is None or not _cell(context, callee.function, first, second, depth + 1):
            return False
    if invoked:
        return True
    called = context.flow.follow(context.flow.here(value, home), value.callee)
    made = {last(context.flow.calls.callee_name(one)) for one in context.sources.originals(called)}
    return any(one.endswith("Cell") for one in made) or _CELL.search(last_word(node.func)) is not None


_BAD = """\
import jax
import jax.numpy as jnp


def last_states(params, x):
    batch, steps, features = x.shape

    def cell(state, now):
        return jnp.tanh(now @ params["x"] + state @ params["h"]), None

    state, _ = jax.lax.scan(cell, jnp.zeros((batch, 8)), x)
    return state


params = {"x": jnp.ones((3, 8)), "h": jnp.eye(8)}
print(last_states(params, jnp.ones((5, 5, 3))).shape)
"""

RULE = lint_rule(
    "NNX948",
    "scanned-batch",
    "a recurrent cell that is scanned over the batch instead of the times",
    why="""\
`jax.lax.scan` goes along the first axis. Of an array `(batch, time, features)` it takes one example after the other,
and the state with a row for each example meets the times of one. Where both are as long there is no error: the state
goes from example to example, and nothing is remembered over time. The time has to be the first axis.
""",
    source="github.com/google/flax/issues/1294; measured: a memory task is not learnt",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.zeros((batch, 8)), x)", "jnp.zeros((batch, 8)), x.swapaxes(0, 1))"),),
)
