"""NNX647: models of Linen that look up tokens, and are given floating point numbers."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import FLOAT, Arrays, made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import HOME, calls_always, classes_of, layer_called, receiver_modules, wanted
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.values import Param


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"Embed") for module in context.project.modules):
        return
    for event in context.bodies.named("init", "apply", "init_with_output", "tabulate"):
        if len(event.node.args) < 2 or keyword(event.node, "method") is not None or not wanted(context, event):
            continue
        classes = classes_of(context, receiver_modules(context, event))
        places = {_looked_up(context, cls) for cls in classes}
        place = places.pop() if len(places) == 1 else None
        if place is None or place + 1 >= len(event.node.args):
            continue
        node, value = event.node.args[place + 1], event.value.args[place + 1]
        if made_by_jax(context, value, event.scope):
            if Arrays(context, {}).of(value, event.scope).number == FLOAT:
                text = event.scope.module.source.text(node)
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"nn.Embed looks up integers, and `{text}` holds floats",
                    "make them integers: dtype=jnp.int32",
                )


def _looked_up(context: Context, cls: ClassFacts) -> int | None:
    """Return which argument of ``__call__``, counted without ``self``, always is what an ``nn.Embed`` looks up."""
    method = context.flow.classes.method(cls, "__call__")
    if method is None or method.self_param is None:
        return None
    names = [name for name in method.params if name != method.self_param.name]
    for call in calls_always(context, cls):
        if _is_lookup(context, call) and isinstance(given := call.value.args[0], Param) and given.function is method:
            return names.index(given.name) if given.name in names else None
    return None


def _is_lookup(context: Context, call: CallEvent) -> bool:
    if len(call.value.args) != 1 or call.value.starred:
        return False
    return context.flow.calls.callee_name(layer_called(context, call)) == f"{HOME}Embed"


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Model(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        return nn.Dense(10)(nn.Embed(10, 8)(tokens))


variables = Model().init(jax.random.key(0), jnp.ones((1, 16)))
"""

RULE = lint_rule(
    "NNX647",
    "linen-float-tokens",
    "floating point numbers given to a Linen model that looks them up in an nn.Embed",
    why="""\
`nn.Embed` takes integers alone. `jnp.ones` and `jnp.zeros` give floats unless they are told otherwise, so that a model
that is initialised with such an example raises a ValueError: `Input type must be an integer or unsigned integer`.
""",
    source="questions on the Flax discussions; measured on Flax 0.10.7, 0.11.2 and 0.12.8: ValueError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(1, 16)", "(1, 16), dtype=jnp.int32"),),
)
