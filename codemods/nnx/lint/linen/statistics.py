"""NNX598: models of Linen that are applied without the running statistics that they read."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import HOME, calls_always, classes_of, layer_called, wanted
from codemods.nnx.lint.linen_outputs import applied_modules
from codemods.nnx.values import Const, Mapping

_STATISTICS = Const("batch_stats")


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"BatchNorm") for module in context.project.modules):
        return
    for event in context.bodies.named("apply", "apply_fn"):
        if not wanted(context, event) or not _gives_params_alone(context, event):
            continue
        classes = classes_of(context, applied_modules(context, context.flow.here(event.value, event.scope)))
        if classes and all(_reads(context, cls) for cls in classes):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the model reads running statistics, and gets none: ScopeCollectionNotFound",
                'give what init returned: {"params": params, "batch_stats": batch_stats}',
            )


def _gives_params_alone(context: Context, event: CallEvent) -> bool:
    """Say whether a call gives a dict that is written out, and has one collection in it."""
    first = event.value.args[0] if event.value.args else None
    value = context.flow.resolve(context.flow.here(first, event.scope)).value if first is not None else None
    return isinstance(value, Mapping) and [key for key, _ in value.items] == [Const("params")]


def _reads(context: Context, cls: ClassFacts) -> bool:
    """Say whether a BatchNorm is called whenever a model is."""
    layers = (layer_called(context, call) for call in calls_always(context, cls))
    return any(context.flow.calls.callee_name(layer) == f"{HOME}BatchNorm" for layer in layers)


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(x))


model = Net()
variables = model.init(jax.random.key(0), jnp.ones((2, 3)), False)
print(model.apply({"params": variables["params"]}, jnp.ones((2, 3)), False))
"""

RULE = lint_rule(
    "NNX598",
    "linen-statistics",
    "a Linen model with BatchNorm that is applied to its parameters alone",
    why="""\
A BatchNorm of Linen keeps its running statistics in a collection of its own, `batch_stats`. A model that is applied to
`{"params": params}` alone raises a ScopeCollectionNotFound. Keep both collections, in a field of the TrainState beside
the parameters.
""",
    source="Flax guide to batch normalization; measured on Flax 0.10.7, 0.11.2 and 0.12.8: ScopeCollectionNotFound",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace('variables["params"]}', 'variables["params"], "batch_stats": variables["batch_stats"]}'),
        _BAD.replace('{"params": variables["params"]}', "variables"),
    ),
)
