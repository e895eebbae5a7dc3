"""NNX591: models of Linen that are applied with dropout, and get no key for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.flags import call_flags, is_off
from codemods.nnx.lint.linen.modules import HOME, calls_always, classes_of, layer_called, wanted
from codemods.nnx.lint.linen_outputs import applied_modules
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.values import Call


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"Dropout") for module in context.project.modules):
        return
    for event in context.bodies.named("apply", "apply_fn"):
        if not wanted(context, event) or keyword(event.node, "rngs") is not None:
            continue
        modules = applied_modules(context, context.flow.here(event.value, event.scope), mutable=True)
        classes = classes_of(context, modules)
        if classes and all(_drops(context, event, cls) for cls in classes):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the model draws masks for its dropout here, and gets no key for them: InvalidRngError",
                'give it one for every step: rngs={"dropout": key}',
            )


def _drops(context: Context, event: CallEvent, cls: ClassFacts) -> bool:
    """Say whether a call of a model runs a Dropout of it that is not deterministic, whatever else it does."""
    method = context.flow.classes.method(cls, "__call__")
    if method is None or method.owner is None:
        return False
    flags = call_flags(event, method)
    return any(_is_on(context, call, flags) for call in calls_always(context, cls))


def _is_on(context: Context, call: CallEvent, flags: Mapping[str, object]) -> bool:
    """Say whether a call in a method is one of a Dropout with a rate above zero that its flag turns on."""
    bound = layer_called(context, call)
    layer = bound.value
    if not isinstance(layer, Call) or context.flow.calls.callee_name(bound) != f"{HOME}Dropout":
        return False
    rate = layer.node.args[0] if layer.node.args else keyword(layer.node, "rate")
    number = constant(rate) if isinstance(rate, ast.Constant) else None
    if not isinstance(number, float) or number <= 0 or keyword(layer.node, "rng_collection") is not None:
        return False
    given = [flag for node in (layer.node, call.node) if (flag := keyword(node, "deterministic")) is not None]
    return len(given) == 1 and is_off(given[0], flags)


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        x = nn.Dense(4)(x)
        return nn.Dropout(0.5, deterministic=not train)(x)


model = Net()
variables = model.init(jax.random.key(0), jnp.ones((1, 3)))
print(model.apply(variables, jnp.ones((1, 3))))
"""

RULE = lint_rule(
    "NNX591",
    "linen-dropout-key",
    "a model of Linen that is applied with dropout and without a key for it",
    why="""\
Where a Dropout is not deterministic, it draws its mask from the key of the collection `dropout`. `apply` has no keys
but those of its argument `rngs`, and raises an InvalidRngError. Give a new key at every step.
""",
    source="Flax guide to dropout; measured on Flax 0.10.7, 0.11.2 and 0.12.8: InvalidRngError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("jnp.ones((1, 3))))", 'jnp.ones((1, 3)), rngs={"dropout": jax.random.key(1)}))'),
        _BAD.replace("jnp.ones((1, 3))))", "jnp.ones((1, 3)), train=False))"),
    ),
)
