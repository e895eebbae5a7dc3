"""NNX946: a Linen model that is applied in training mode, and may not change its running statistics."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.flags import call_flags, is_off
from codemods.nnx.lint.linen.modules import classes_of, wanted
from codemods.nnx.lint.linen_outputs import applied_modules
from codemods.nnx.lint.places import target_of
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const

_MODE = "use_running_average"


def _check(context: Context) -> Iterator[Finding]:
    words = (_MODE.encode(), b".variable(", b"batch_stats")
    if not any(module.source.mentions(word) for module in context.project.modules for word in words):
        return
    for event in context.bodies.named("apply", "apply_fn"):
        if not wanted(context, event):
            continue
        read = _read_beside(context, event)
        if read is not None:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "new batch statistics are read here, and the call gives the output alone, for it lacks `mutable`",
                'write y, updates = ...apply(..., mutable=["batch_stats"])',
                related=[(read, "they are read here")],
            )
            continue
        classes = classes_of(context, applied_modules(context, context.flow.here(event.value, event.scope)))
        if classes and all(_updates(context, event, cls) for cls in classes):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the model updates its batch statistics here, and nothing says that it may: ModifyScopeVariableError",
                'write y, updates = ...apply(..., mutable=["batch_stats"]) and keep updates["batch_stats"]',
            )
            continue
        names = {_written(context, cls) for cls in classes}
        name = names.pop() if len(names) == 1 else ""
        if name:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the model changes a variable of `{name}`, and nothing says that it may: ModifyScopeVariableError",
                f'write y, updates = ...apply(..., mutable=["{name}"]) and keep updates["{name}"]',
            )


def _read_beside(context: Context, event: CallEvent) -> ast.AST | None:
    """Return where the second part of what a call without ``mutable`` gives is asked for its statistics:
    ``y, updates = model.apply({"params": params, "batch_stats": stats}, x)`` and ``updates["batch_stats"]``."""
    if keyword(event.node, "mutable") is not None or keyword(event.node, "method") is not None:
        return None
    target, given = target_of(event), event.node.args[0] if event.node.args else None
    if not isinstance(given, ast.Dict) or "batch_stats" not in {constant(key) for key in given.keys}:
        return None
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(target.elts[1], ast.Name):
        return None
    for node in context.bodies.nodes(event.scope):
        if isinstance(node, ast.Subscript) and constant(node.slice) == "batch_stats":
            if isinstance(node.value, ast.Name) and node.value.id == target.elts[1].id:
                return node
    return None


def _written(context: Context, cls: ClassFacts) -> str:
    """Return the collection of a variable that every call of a model gives a new value; empty if there is none."""
    method = context.flow.classes.method(cls, "__call__")
    if method is None or method.self_param is None:
        return ""
    for node in context.bodies.nodes(method.scope):
        held = node.value if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else None
        value = method.scope.module.values.get(held) if isinstance(held, ast.Name) else None
        if not isinstance(node, ast.Attribute) or node.attr != "value" or not isinstance(value, Call):
            continue
        callee, first = value.callee, value.argument(0, "col")
        if not isinstance(callee, Attr) or callee.name != "variable" or callee.base is not method.self_param:
            continue
        if not isinstance(first, Const) or first.value in {"params", "cache"}:
            continue
        around = context.bodies.paths(method.scope).get(node, ())
        if all(map(_when_applied, around)) and not context.bodies.behind(node, method.scope):
            return str(first.value)
    return ""


def _when_applied(block: tuple[ast.AST, str]) -> bool:
    """Say whether a block runs in every call of ``apply``: ``if not self.is_initializing():``."""
    node, arm = block
    test = node.test if isinstance(node, ast.If) else None
    if not isinstance(test, ast.UnaryOp) or not isinstance(test.op, ast.Not) or arm != "body":
        return False
    return isinstance(test.operand, ast.Call) and last_word(test.operand.func) == "is_initializing"


def _updates(context: Context, event: CallEvent, cls: ClassFacts) -> bool:
    """Say whether a call of a model has a BatchNorm of it take the statistics of the batch, whatever else it does."""
    method = context.flow.classes.method(cls, "__call__")
    if method is None or method.owner is None:
        return False
    flags = call_flags(event, method)
    if not any(last_word(n) == "BatchNorm" for n in ast.walk(method.owner.node)):
        return False
    return any(
        is_off(keyword.value, flags) and not context.bodies.paths(method.scope).get(node, ())
        for node in context.bodies.nodes(method.scope)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == _MODE
    )


_BAD = """\
import flax.linen as nn
import jax
import jax.numpy as jnp


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(x))
        return nn.Dense(1)(x)


model = Net()
variables = model.init(jax.random.key(0), jnp.ones((2, 3)), train=False)


def loss_fn(params, batch_stats, x, y):
    predicted = model.apply({"params": params, "batch_stats": batch_stats}, x, train=True)
    return jnp.mean((predicted - y) ** 2)
"""

RULE = lint_rule(
    "NNX946",
    "immutable-statistics",
    "a Linen model in training mode that may not change its batch statistics",
    why="""\
In training mode a BatchNorm of Linen writes the new running statistics into the collection `batch_stats`. `apply`
gives all collections as constants unless it is told which may change, so that the call raises a
ModifyScopeVariableError; so it does for the variables of other collections that `__call__` sets. With
`mutable=["batch_stats"]` it returns the output and the collections that changed.
""",
    source="Flax guide to batch normalization; measured on Flax 0.10.7, 0.11.2 and 0.12.8: ModifyScopeVariableError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("predicted = ", "predicted, updates = ")
        .replace("train=True)", 'train=True, mutable=["batch_stats"])')
        .replace("- y) ** 2)", '- y) ** 2), updates["batch_stats"]'),
        _BAD.replace("train=True", "train=False"),
    ),
)
