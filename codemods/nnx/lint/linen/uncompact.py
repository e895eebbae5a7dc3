"""NNX681: layers of Linen that are made in a ``__call__`` without ``@nn.compact``."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import HOME, is_linen
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import error_wanted, foreign
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.values import Class

_LAYERS = frozenset(
    {"Dense", "DenseGeneral", "Conv", "ConvTranspose", "ConvLocal", "Embed", "Einsum", "LayerNorm", "BatchNorm",
     "GroupNorm", "RMSNorm", "InstanceNorm", "Dropout", "MultiHeadDotProductAttention", "SelfAttention", "PReLU",
     "MultiHeadAttention", "LSTMCell", "GRUCell", "OptimizedLSTMCell", "SimpleCell", "RNN", "Sequential"}
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    told: set[Scope] = set()
    for event, name in (*foreign(context, *sorted(_LAYERS)), *_own_modules(context)):
        if event.scope in told or (not name.startswith(HOME) and last(name) in _LAYERS):
            continue
        if name.startswith(HOME) and last(name) not in _LAYERS:
            continue
        if not _in_plain_call(context, event) or keyword(event.node, "parent") is not None:
            continue
        if error_wanted(context, event) or context.bodies.guarded(event.node, event.scope):
            continue
        told.add(event.scope)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{last(name)}` is made in {_method(event)} without @nn.compact: Linen refuses it (AssignSubModuleError)",
            "decorate __call__ by @nn.compact, or make the layer in setup",
        )


def _in_plain_call(context: Context, event: CallEvent) -> bool:
    """Say whether a call stands in an undecorated ``__call__`` of a Linen module that no other class derives from.

    A method that a compact one calls, as by ``super().__call__(x)``, may make layers without the decorator.
    """
    function = event.scope.function
    if function is None or function.owner is None or event.value.starred:
        return False
    if not _plain(function) or function.owner.decorators or not is_linen(context, function.owner):
        return False
    if {*context.flow.classes.heirs(function.owner)} > {function.owner}:
        return False
    if function.name == "__call__":
        return True
    # a method that only such a `__call__` calls on its own object
    callers = [one.scope.function for one in context.flow.sites.callers(function)]
    return bool(callers) and all(
        one is not None and one.name == "__call__" and one.owner is function.owner and _plain(one) for one in callers
    )


def _plain(function: FunctionFacts) -> bool:
    """Say whether a method is not decorated."""
    return not getattr(function.node, "decorator_list", ()) and function.name != "setup"


def _method(event: CallEvent) -> str:
    function = event.scope.function
    inner = function is not None and function.name != "__call__"
    return f"`{function.name}`, which `__call__` calls," if inner and function is not None else "a `__call__`"


def _own_modules(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls that make a module of a class of the project within a method, with its name."""
    for cls in context.project.classes():
        if not is_linen(context, cls):
            continue
        for event in context.bodies.named(cls.name):
            function = event.scope.function
            if event.scope.module not in context.asked or function is None or function.owner is None:
                continue
            made = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
            if isinstance(made, Class) and made.facts is cls:
                yield event, cls.name


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Block(nn.Module):
    features: int

    def setup(self):
        self.norm = nn.LayerNorm()

    def __call__(self, x):
        return x + nn.Dense(self.features)(self.norm(x))


params = Block(3).init(jax.random.key(0), jnp.ones((2, 3)))
"""

RULE = lint_rule(
    "NNX681",
    "uncompact-layer",
    "a layer of Linen that is made in a __call__ without @nn.compact",
    why="""\
Modules of Linen make their layers in `setup`, or in one method that is decorated by `@nn.compact`. A layer that is made
anywhere else belongs to nobody, and Linen raises an AssignSubModuleError when the model is initialised.
""",
    source="flax issue 1192; measured on 0.10.7, 0.11.2 and 0.12.8: AssignSubModuleError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace(
            "        self.norm = nn.LayerNorm()\n",
            "        self.norm = nn.LayerNorm()\n        self.out = nn.Dense(self.features)\n",
        ).replace("nn.Dense(self.features)(self", "self.out(self"),
    ),
)
