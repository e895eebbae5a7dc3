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
from codemods.nnx.lint.traced import function_of
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const


def _check(context: Context) -> Iterator[Finding]:
    words = (b"Dropout", b"make_rng")
    if not any(module.source.mentions(word) for module in context.project.modules for word in words):
        return
    for event in context.bodies.named("apply", "apply_fn"):
        if not wanted(context, event) or keyword(event.node, "rngs") is not None:
            continue
        modules = applied_modules(context, context.flow.here(event.value, event.scope), mutable=True)
        classes = classes_of(context, modules)
        unread = _unread_key(context, event) if not classes else ""
        if unread:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"nothing reads `{unread}`, and the model is told to drop: without a key it raises an InvalidRngError",
                f'give it to the model: rngs={{"dropout": {unread}}}',
            )
            continue
        if classes and all(_drops(context, event, cls) for cls in classes):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the model draws masks for its dropout here, and gets no key for them: InvalidRngError",
                'give it one for every step: rngs={"dropout": key}',
            )
            continue
        streams = {_stream(context, cls) for cls in classes}
        stream = streams.pop() if len(streams) == 1 else ""
        if stream:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the model draws from its stream `{stream}` here, and gets no key for it: InvalidRngError",
                f'give it one for every call: rngs={{"{stream}": key}}',
            )


def _unread_key(context: Context, event: CallEvent) -> str:
    """Return the parameter of a function around a call that tells a model to drop, if it is named as the key for that
    and nothing in the function reads it; empty if there is none."""
    if not _told_to_drop(context, event.node):
        return ""
    function = event.scope.function
    while function is not None:
        for name in function.params:
            if _KEY.search(name) and not any(
                isinstance(n, ast.Name) and n.id in {name, "locals"} and isinstance(n.ctx, ast.Load)
                for n in ast.walk(function.node)
            ):
                return name
        function = function_of(function.scope.parent)
    return ""


_KEY = pattern(r"^dropout_?(rng|key|seed)s?$")


def _told_to_drop(context: Context, call: ast.Call) -> bool:
    """Say whether a call has a model drop: ``deterministic=False``, or ``train=True`` where nothing else trains so."""
    if constant(keyword(call, "deterministic")) is False:
        return True
    trains = any(constant(keyword(call, word)) is True for word in ("train", "training", "is_training"))
    return trains and not any(module.source.mentions(b"BatchNorm") for module in context.project.modules)


def _stream(context: Context, cls: ClassFacts) -> str:
    """Return the stream that a model asks for a key whenever it is called; empty if there is none."""
    method = context.flow.classes.method(cls, "__call__")
    if method is None or method.self_param is None:
        return ""
    for call in calls_always(context, cls):
        callee, first = call.value.callee, call.value.args[0] if call.value.args else None
        if isinstance(callee, Attr) and callee.name == "make_rng" and callee.base is method.self_param:
            if isinstance(first, Const) and isinstance(first.value, str):
                return first.value
    return ""


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
