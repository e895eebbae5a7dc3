"""NNX800: predictions and targets whose shapes are broadcast against each other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Free, Param, Value

_LOSSES = ("squared_error", "l2_loss", "huber_loss", "log_cosh", "sigmoid_binary_cross_entropy")
_NARROW = re.compile(rb"Linear\([^()]*\b1\b")  # a cheap test for layers with one feature
_AVERAGES = frozenset({"mean", "sum", "average"})


def _check(context: Context) -> Iterator[Finding]:
    columns = any(_NARROW.search(module.source.data) for module in context.project.modules)
    for module in context.asked.modules:
        for node in module.source.of_type(ast.BinOp) if columns else ():
            if isinstance(node.op, ast.Sub):
                scope = _scope(context, module, node)
                if scope is not None and _column_against_vector(context, node.left, node.right, scope):
                    yield _found(scope, node)
        for call in module.source.of_type(ast.Call) if b"argmax" in module.source.data else ():
            compared = _compared(call) if last_word(call.func) in _AVERAGES else None
            scope = context.bodies.home(call) if compared is not None else None
            if compared is not None and scope is not None and not in_test(scope):
                yield finding(
                    RULE.code,
                    scope,
                    compared,
                    "`argmax` without an axis is one number for the whole batch, compared with all labels",
                    "give it the axis of the classes: axis=-1",
                )
    for event, name in foreign(context, *_LOSSES) if columns else ():
        if name.startswith("optax.") and len(event.node.args) > 1 and not in_test(event.scope):
            if _column_against_vector(context, event.node.args[0], event.node.args[1], event.scope):
                yield _found(event.scope, event.node)


def _scope(context: Context, module: ModuleFacts, node: ast.BinOp) -> Scope | None:
    """Return the scope of a difference with what a module or an attribute was called for; None for others."""
    for side in (node.left, node.right):
        value = module.values.get(side)
        if isinstance(value, Call) and _own(value):
            scope = context.bodies.home(value.node)
            if scope is not None and not in_test(scope):
                return scope
    return None


def _own(call: Call) -> bool:
    """Say whether a call is none of a function at the top of a module."""
    callee = call.callee
    return isinstance(callee, Param | Free | Call) or (isinstance(callee, Attr) and not callee.of_global)


def _found(scope: Scope, node: ast.AST) -> Finding:
    return finding(
        RULE.code,
        scope,
        node,
        "one side has a column for every example, the other one number: every prediction meets every target",
        "take the column away: predictions[:, 0], or squeeze(-1)",
    )


def _compared(node: ast.Call) -> ast.Compare | None:
    """Return the comparison with an argmax over everything that is averaged."""
    inner: ast.expr | None = node.args[0] if node.args else None
    if inner is None and isinstance(node.func, ast.Attribute):
        inner = node.func.value
    if not isinstance(inner, ast.Compare) or len(inner.ops) != 1 or not isinstance(inner.ops[0], ast.Eq):
        return None
    sides = (inner.left, inner.comparators[0])
    whole = [_whole_argmax(side) for side in sides]
    other = sides[0] if whole[1] else sides[1]
    return inner if sum(whole) == 1 and isinstance(other, ast.Name | ast.Attribute | ast.Subscript) else None


def _whole_argmax(node: ast.expr) -> bool:
    """Say whether an expression is an argmax over all axes."""
    if not isinstance(node, ast.Call) or last_word(node.func) != "argmax" or node.keywords:
        return False
    home = node.func.value if isinstance(node.func, ast.Attribute) else None
    return len(node.args) == int(isinstance(home, ast.Name) and home.id in {"jnp", "np", "numpy"})


def _column_against_vector(context: Context, one: ast.expr, two: ast.expr, scope: Scope) -> bool:
    """Say whether one of two expressions is a column that a module gives, and the other a vector."""
    values = scope.module.values
    for left, right in ((one, two), (two, one)):
        if not isinstance(left, ast.Name | ast.Call) or not isinstance(right, ast.Name | ast.Attribute | ast.Subscript):
            continue
        column = values.get(left)
        if not isinstance(column, Call) or not _column(context, column, scope):
            continue
        vector = values.get(right)
        if vector is not None and Arrays(context, {}).of(vector, scope).axes == 1:
            return True
    return False


def _column(context: Context, call: Call, scope: Scope) -> bool:
    """Say whether a call gives the output of a layer with one feature, on every way."""
    flow = context.flow
    if not _own(call):
        return False
    if flow.calls.callee_name(flow.here(call, scope)):
        return False
    owners = context.sources.originals(flow.here(call.callee, scope))
    if not owners:
        return False
    for owner in owners:
        cls = flow.classes.class_of(owner)
        method = flow.classes.method(cls, "__call__") if cls is not None else None
        if method is None or not method.returns:
            return False
        if not all(_one_feature(context, value, method.scope) for value in method.returns):
            return False
    return True


def _one_feature(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value is what ``self.layer(x)`` gives of a layer with one feature."""
    if not isinstance(value, Call) or not isinstance(value.callee, Attr):
        return False
    fields = context.flow.fields.field(context.flow.here(value.callee.base, scope), value.callee.name)
    return bool(fields) and all(_linear(context, one) for one in fields)


def _linear(context: Context, bound: Bound) -> bool:
    found = context.flow.resolve(bound)
    if not isinstance(found.value, Call) or context.flow.calls.callee_name(found) != "flax.nnx.Linear":
        return False
    width = found.value.argument(1, "out_features")
    return width is not None and context.flow.follow(found, width).value == Const(1)


RULE = lint_rule(
    "NNX800",
    "silent-broadcast",
    "predictions and targets of shapes that are broadcast against each other",
    why="""\
A layer with one feature gives `(n, 1)`; less targets of `(n,)` that is `(n, n)`, every prediction against every target,
and the model learns the mean. `jnp.argmax(logits)` is one number for the whole batch: an accuracy needs `axis=-1`.
""",
    source="Stack Overflow, on losses that do not fall; measured: another loss and another accuracy, without an error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx


class Regressor(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(x)


model = Regressor(nnx.Rngs(0))
x = jnp.ones((8, 3))
y = x.sum(1).ravel()
loss = ((model(x) - y) ** 2).mean()
""",
        """\
import jax.numpy as jnp


def accuracy(logits, labels):
    return jnp.mean(jnp.argmax(logits) == labels)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


class Regressor(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(x)


model = Regressor(nnx.Rngs(0))
x = jnp.ones((8, 3))
y = x.sum(1).ravel()
loss = ((model(x)[:, 0] - y) ** 2).mean()


def accuracy(logits, labels):
    return jnp.mean(jnp.argmax(logits, axis=-1) == labels)
""",
    ),
)
