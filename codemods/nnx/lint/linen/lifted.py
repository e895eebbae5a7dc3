"""NNX641: lifted transforms of Linen that are not told what happens to the parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import HOME, is_linen, modules_of, wanted
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.values import Class, Ref

_MAPPING = frozenset({f"{HOME}vmap", f"{HOME}scan"})
_OF_CLASSES = frozenset({f"{HOME}remat", f"{HOME}checkpoint", f"{HOME}jit", *_MAPPING})
_AXES = frozenset({"variable_axes", "variable_broadcast", "variable_carry"})
_LAYERS = frozenset(
    {"Conv", "ConvTranspose", "Dense", "DenseGeneral", "Embed", "GRUCell", "LSTMCell", "LayerNorm", "MGUCell",
     "MultiHeadDotProductAttention", "OptimizedLSTMCell", "RMSNorm", "SelfAttention", "SimpleCell"}
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *sorted({last(one) for one in _OF_CLASSES})):
        if name not in _OF_CLASSES or not event.value.args or not wanted(context, event):
            continue
        word = last(name)
        if modules_of(context, event.value.args[0], event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"nn.{word} takes the class of a module, and this is a module: TransformTargetError",
                f"nn.{word}(nn.Dense)(4), not nn.{word}(nn.Dense(4))",
            )
        elif name in _MAPPING and _has_parameters(context, event):
            given = {key for key, _ in event.value.keywords}
            if not given & _AXES and len(event.value.args) == 1:
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"nobody tells nn.{word} what it does with the parameters: they are not there inside of it",
                    'share them by variable_axes={"params": None}, or variable_broadcast="params" of scan; '
                    'one for each, by variable_axes={"params": 0}',
                )
            elif "split_rngs" not in given and len(event.value.args) == 1 and _shares_parameters(event):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"nn.{word} hands on no keys without split_rngs: the parameters cannot be made (InvalidRngError)",
                    'give it split_rngs={"params": False}',
                )


def _shares_parameters(event: CallEvent) -> bool:
    """Say whether a transform has one set of parameters for all; of stacked ones NNX786 speaks."""
    axes = constant(keyword(event.node, "variable_axes"))
    return keyword(event.node, "variable_broadcast") is not None or axes == {"params": None}


def _has_parameters(context: Context, event: CallEvent) -> bool:
    """Say whether a transform is one of a class whose modules make parameters."""
    made = context.flow.follow(context.flow.here(event.value, event.scope), event.value.args[0]).value
    if isinstance(made, Ref):
        return made.name.startswith(HOME) and last(made.name) in _LAYERS
    if not isinstance(made, Class) or not is_linen(context, made.facts):
        return False
    method = context.flow.classes.method(made.facts, "__call__")
    calls = context.bodies.calls.get(method.scope, ()) if method is not None else ()
    names = {context.flow.calls.name(one) for one in calls if not context.bodies.paths(one.scope).get(one.node)}
    return any(name.startswith(HOME) and last(name) in _LAYERS for name in names) or any(
        isinstance(one.node.func, ast.Attribute) and one.node.func.attr == "param" for one in calls
    )


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, xs):
        cell = nn.scan(nn.GRUCell, in_axes=1, out_axes=1)(features=4)
        return cell(jnp.zeros((2, 4)), xs)


variables = Net().init(jax.random.key(0), jnp.ones((2, 5, 3)))
"""

RULE = lint_rule(
    "NNX641",
    "linen-lifted",
    "nn.vmap or nn.scan without axes for the parameters or keys, or a transform of a module in place of its class",
    why="""\
`nn.vmap` and `nn.scan` make a new class, inside of which there are only the collections and keys that they are told
about: the parameters by `variable_axes` or `variable_broadcast`, the keys by `split_rngs`. Without these a layer raises
a ScopeCollectionNotFound or an InvalidRngError. All transforms of Linen take the class of a module: a module that is
made already raises a TransformTargetError.
""",
    source="Flax documentation of lifted transforms; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace(
            "        cell = nn.scan(nn.GRUCell, in_axes=1, out_axes=1)",
            '        shared = {"variable_broadcast": "params", "split_rngs": {"params": False}}\n'
            "        cell = nn.scan(nn.GRUCell, in_axes=1, out_axes=1, **shared)",
        ),
    ),
)
