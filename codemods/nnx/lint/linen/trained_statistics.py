"""NNX541: running statistics of Linen that an optimizer takes for parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import HOME, calls_always, classes_of, layer_called, modules_at, wanted
from codemods.nnx.lint.places import kinds_of
from codemods.nnx.lint.syntax import constant
from codemods.nnx.source import Source
from codemods.nnx.values import Attr, Call, Value

# a chain of optax that leaves the statistics out itself
_MASKING = (b"masked", b"multi_transform", b"set_to_zero", b"partition", b"freeze", b"selective_transform")
_LEVELS = 4  # modules in modules
_STATISTICS = "batch_stats"
_HELP = 'give it variables["params"], and keep variables["batch_stats"] beside them'


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if not any(module.source.mentions(b"BatchNorm") and module.source.mentions(b"linen") for module in modules):
        return
    if any(word in module.source.data for module in modules for word in _MASKING):
        return
    updated = any(True for _ in context.bodies.named("apply_gradients"))
    for event in context.bodies.named("create") if updated else ():
        given = event.value.keyword("params")
        if given is None or event.value.keyword("apply_fn") is None or event.value.keyword("tx") is None:
            continue
        yield from _found(context, event, given)
    for event in context.bodies.named("init"):
        callee = event.value.callee
        if len(event.value.args) == 1 and not event.value.keywords and isinstance(callee, Attr):
            if kinds_of(context, callee.base, event.scope) == {Kind.TRANSFORM}:
                yield from _found(context, event, event.value.args[0])


def _found(context: Context, event: CallEvent, given: Value) -> Iterator[Finding]:
    if not wanted(context, event) or not _whole(context, event, given) or context.shared(_kept_apart):
        return
    yield finding(
        RULE.code,
        event.scope,
        event.node,
        "these are all variables of the model: the optimizer trains the running statistics of its BatchNorm as well",
        _HELP,
    )


def _whole(context: Context, event: CallEvent, given: Value) -> bool:
    """Say whether a value is all that ``init`` gives, of a model that certainly has a BatchNorm."""
    sources = list(context.sources.originals(context.flow.here(given, event.scope)))
    for made in sources:
        value = made.value
        if not isinstance(value, Call) or not isinstance(value.callee, Attr) or value.callee.name != "init":
            return False
        classes = classes_of(context, modules_at(context, context.flow.with_value(made, value.callee.base)))
        if not classes or not all(_averages(context, cls, 0) for cls in classes):
            return False
    return bool(sources)


def _averages(context: Context, cls: ClassFacts, depth: int) -> bool:
    """Say whether a module calls a BatchNorm whenever it is called, or a module that does."""
    for call in calls_always(context, cls) if depth < _LEVELS else ():
        layer = layer_called(context, call)
        if context.flow.calls.callee_name(layer) == f"{HOME}BatchNorm":
            return True
        inner = context.flow.classes.class_of(layer) if isinstance(layer.value, Call) else None
        if inner is not None and _averages(context, inner, depth + 1):
            return True
    return False


def _kept_apart(context: Context) -> bool:
    """Say whether the project puts statistics somewhere itself, so that an optimizer's change of them is undone."""
    return any(_writes(module.source) for module in context.project.modules if module.source.mentions(b"batch_stats"))


def _writes(source: Source) -> bool:
    if any(node.arg == _STATISTICS for node in source.of_type(ast.keyword)):
        return True
    if any(constant(key) == _STATISTICS for node in source.of_type(ast.Dict) for key in node.keys if key is not None):
        return True
    if any(
        constant(node.slice) == _STATISTICS and not isinstance(node.ctx, ast.Load)
        for node in source.of_type(ast.Subscript)
    ):
        return True
    taking = [node for node in source.of_type(ast.Call) if isinstance(node.func, ast.Attribute)]
    return any(node.func.attr in {"pop", "copy"} and _STATISTICS in ast.unparse(node) for node in taking
               if isinstance(node.func, ast.Attribute))  # fmt: skip


_BAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from flax.training.train_state import TrainState


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.BatchNorm(use_running_average=True)(nn.Dense(4)(x))


model, x = Net(), jnp.ones((2, 3))
variables = model.init(jax.random.key(0), x)
state = TrainState.create(apply_fn=model.apply, params=variables, tx=optax.adamw(1e-3))
grads = jax.grad(lambda params: state.apply_fn(params, x).sum())(state.params)
state = state.apply_gradients(grads=grads)
"""

RULE = lint_rule(
    "NNX541",
    "linen-trained-statistics",
    "all variables of a Linen model with BatchNorm, given to an optimizer as its parameters",
    why="""\
What `init` returns holds the running statistics of a BatchNorm beside the parameters. An optimizer that gets all of it
decays them like weights, and where the model evaluates its gradient moves them too: a variance may become negative.
The averages that a step in training mode gives are lost. Nothing raises. Models with parameters alone may be given so.
""",
    source="Flax guide to batch normalization; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("params=variables", 'params=variables["params"]').replace(
            "apply_fn(params, x)", 'apply_fn({"params": params, "batch_stats": variables["batch_stats"]}, x)'
        ),
        _BAD.replace("nn.BatchNorm(use_running_average=True)(nn.Dense(4)(x))", "nn.Dense(4)(x)"),
    ),
)
