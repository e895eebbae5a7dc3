"""NNX641: lifted transforms of Linen that are not told what happens to the parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import HOME, is_linen, modules_of, wanted
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.values import Class, Function, Ref

_MAPPING = frozenset({f"{HOME}vmap", f"{HOME}scan"})
_OF_CLASSES = frozenset({f"{HOME}remat", f"{HOME}checkpoint", f"{HOME}jit", *_MAPPING})
_AXES = frozenset({"variable_axes", "variable_broadcast", "variable_carry"})
_LAYERS = frozenset(
    {"Conv", "ConvTranspose", "Dense", "DenseGeneral", "Embed", "GRUCell", "LSTMCell", "LayerNorm", "MGUCell",
     "MultiHeadDotProductAttention", "OptimizedLSTMCell", "RMSNorm", "SelfAttention", "SimpleCell"}
)  # fmt: skip
_UNTOLD = "nobody tells nn.{} what it does with the parameters: they are not there inside of it"
_TELLING = (
    'share them by variable_axes={"params": None}, or variable_broadcast="params" of scan; '
    'one for each, by variable_axes={"params": 0}'
)


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
                    _UNTOLD.format(word),
                    _TELLING,
                )
            elif "split_rngs" not in given and len(event.value.args) == 1 and _shares_parameters(event):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"nn.{word} hands on no keys without split_rngs: the parameters cannot be made (InvalidRngError)",
                    'give it split_rngs={"params": False}',
                )
    yield from _decorated(context)


def _decorated(context: Context) -> Iterator[Finding]:
    """Yield what ``functools.partial(nn.scan, in_axes=1)`` makes of a class, or of its method that it decorates."""
    for event, name in foreign(context, "partial"):
        if name != "functools.partial" or len(event.value.args) != 1 or not wanted(context, event):
            continue
        lifted = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
        if not isinstance(lifted, Ref) or lifted.name not in _MAPPING:
            continue
        given = {key for key, _ in event.value.keywords}
        if not given & _AXES and _decorates(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                _UNTOLD.format(last(lifted.name)),
                _TELLING,
            )


def _decorates(context: Context, event: CallEvent) -> bool:
    """Say whether a call makes what is given a class whose modules make parameters, or decorates it or its method."""
    for applied in context.bodies.calls.get(event.scope, ()):
        if applied.node.func is event.node:
            return len(applied.value.args) == 1 and _has_parameters(context, applied)
    for cls in context.project.classes():
        if cls.scope.module is not event.scope.module or not is_linen(context, cls):
            continue
        if event.node in cls.node.decorator_list:
            method = context.flow.classes.method(cls, "__call__")
            return method is not None and _makes_parameters(context, method)
        for method in cls.methods.values():
            if isinstance(method.node, ast.FunctionDef) and event.node in method.node.decorator_list:
                return _makes_parameters(context, method)
    return False


def _shares_parameters(event: CallEvent) -> bool:
    """Say whether a transform has one set of parameters for all; of stacked ones NNX786 speaks."""
    axes = constant(keyword(event.node, "variable_axes"))
    return keyword(event.node, "variable_broadcast") is not None or axes == {"params": None}


def _has_parameters(context: Context, event: CallEvent) -> bool:
    """Say whether a transform is one of a class whose modules make parameters, or of a function that does."""
    made = context.flow.follow(context.flow.here(event.value, event.scope), event.value.args[0]).value
    if isinstance(made, Ref):
        return made.name.startswith(HOME) and last(made.name) in _LAYERS
    if isinstance(made, Function):
        return _makes_parameters(context, made.facts)
    if not isinstance(made, Class) or not is_linen(context, made.facts):
        return False
    method = context.flow.classes.method(made.facts, "__call__")
    return method is not None and _makes_parameters(context, method)


def _makes_parameters(context: Context, method: FunctionFacts) -> bool:
    """Say whether a method makes parameters, itself or by a layer of the library."""
    calls = context.bodies.calls.get(method.scope, ())
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
