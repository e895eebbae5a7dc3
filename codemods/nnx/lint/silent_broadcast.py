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
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Free, Param, Sequence, Unknown, Value

_LOSSES = ("squared_error", "l2_loss", "huber_loss", "log_cosh", "sigmoid_binary_cross_entropy")
_NARROW = re.compile(rb"Linear\([^()]*\b1\b")  # a cheap test for layers with one feature
_AVERAGES = frozenset({"mean", "sum", "average"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _other_axes(context)
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


def _other_axes(context: Context) -> Iterator[Finding]:
    """Yield the losses of a matrix of predictions and a vector of targets, both known from where they were made."""
    for event, name in foreign(context, *_LOSSES):
        if not name.startswith("optax.") or len(event.value.args) < 2 or in_test(event.scope):
            continue
        if [Arrays(context, {}).of(one, event.scope).axes for one in event.value.args[:2]] in ([2, 1], [1, 2]):
            yield _found(event.scope, event.node)
    for event, name in foreign(context, "mean", "sum", "square"):
        difference = _squared(event.node, event.scope)
        if difference is None or not name.startswith("jax.numpy.") or in_test(event.scope):
            continue
        for left, right in ((difference.left, difference.right), (difference.right, difference.left)):
            value = event.scope.module.values.get(right)
            if value is None or not _width_one(context, left, event.scope, 0):
                continue
            if Arrays(context, {}).of(value, event.scope).axes == 1:
                yield _found(event.scope, difference)
                break


def _squared(node: ast.Call, scope: Scope) -> ast.BinOp | None:
    """Return the difference in ``jnp.mean((a - b) ** 2)`` or ``jnp.square(a - b)``, also one that has a name."""
    inner: ast.expr | None = node.args[0] if node.args else None
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Pow):
        inner = inner.left
    elif isinstance(inner, ast.Call) and last_word(inner.func) in {"abs", "square"} and len(inner.args) == 1:
        inner = inner.args[0]
    elif last_word(node.func) != "square":
        return None
    value = scope.module.values.get(inner) if isinstance(inner, ast.Name) else None
    inner = value.node if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp) else inner
    return inner if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub) else None


def _width_one(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether an expression is a product with weights that were made with one column."""
    if depth > 6:
        return False
    value = scope.module.values.get(node)
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
        node = value.node
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            weights = scope.module.values.get(node.right)
            return weights is not None and _made_column(context, context.flow.here(weights, scope))
        return isinstance(node.op, ast.Add) and _width_one(context, node.left, scope, depth + 1)
    if not isinstance(value, Call):
        return False
    bound = context.flow.here(value, scope)
    name = context.flow.calls.callee_name(bound)
    if name.startswith(("jax.nn.", "jax.numpy.")):
        return last(name) in _ELEMENTWISE and _width_one(context, value.node.args[0], scope, depth + 1)
    invoked = context.flow.calls.invoked(bound) if not name else []
    if len(invoked) != 1 or invoked[0][0].gradient or len(invoked[0][0].function.returns) != 1:
        return False
    function = invoked[0][0].function
    returned = getattr(function.returns[0], "node", None)
    return isinstance(returned, ast.expr) and _width_one(context, returned, function.scope, depth + 1)


_ELEMENTWISE = frozenset({"tanh", "sigmoid", "relu", "softplus", "exp", "sin", "gelu", "silu"})


def _made_column(context: Context, weights: Bound) -> bool:
    """Say whether weights are made in a shape that ends in one, on every way."""
    sources = [one for one in context.sources.originals(weights) if not _update(one.value)]
    for source in sources:
        call = source.value
        if not isinstance(call, Call):
            return False
        name = context.flow.calls.callee_name(source)
        place = 0 if name in {"jax.numpy.zeros", "jax.numpy.ones"} else 1 if name in _DRAWN else None
        shape = call.argument(place, "shape") if place is not None else None
        found = context.flow.follow(source, shape).value if shape is not None else None
        if not isinstance(found, Sequence) or len(found.items) != 2:
            return False
        if context.flow.follow(source, found.items[1]).value != Const(1):
            return False
    return bool(sources)


def _update(value: Value) -> bool:
    """Say whether a value is a step from another of the same shape."""
    node = value.node if isinstance(value, Unknown) else None
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


_DRAWN = frozenset(f"jax.random.{word}" for word in ("normal", "uniform", "truncated_normal"))


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
