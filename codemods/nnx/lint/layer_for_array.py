"""NNX599: a layer that is given to a function of arrays in place of what it gives."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import modules_of, wanted
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Call

_FUNCTIONS = (
    "relu", "gelu", "silu", "swish", "elu", "selu", "leaky_relu", "sigmoid", "softplus", "softmax", "log_softmax",
    "tanh", "log_sigmoid", "mean", "sum", "exp", "log", "abs", "max", "square", "sqrt",
)  # fmt: skip
_HOMES = frozenset({"jax.nn", "jax.numpy", "flax.nnx", "flax.linen"})


def _check(context: Context) -> Iterator[Finding]:
    made = context.flow.may.made_by(_WORDS)
    for event, name in foreign(context, *_FUNCTIONS):
        if name.rpartition(".")[0] not in _HOMES or len(event.value.args) == 0 or not wanted(context, event):
            continue
        value = event.value.args[0]
        if not made.may_be(value):
            continue
        bound = context.flow.here(value, event.scope)
        if not modules_of(context, value, event.scope) and not _is_layer(context, bound):
            continue
        text = event.scope.module.source.text(event.node.args[0])
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{last(name)}` takes an array, and `{text}` is the layer itself",
            f"call the layer: {text}(x)" if len(text) < _SHORT else "call the layer",
        )


_SHORT = 40


def _is_layer(context: Context, bound: Bound) -> bool:
    """Say whether a value is a layer of NNX, wherever it comes from."""
    found = list(context.sources.originals(bound))
    names = [context.flow.calls.callee_name(one) if isinstance(one.value, Call) else "" for one in found]
    return bool(names) and all(name in _LAYERS for name in names)


_WORDS = frozenset(
    {"BatchNorm", "Conv", "ConvTranspose", "Dense", "DenseGeneral", "Dropout", "Einsum", "Embed", "GroupNorm",
     "LayerNorm", "Linear", "LinearGeneral", "MultiHeadAttention", "RMSNorm", "Sequential"}
)  # fmt: skip
_LAYERS = frozenset(f"flax.nnx.{word}" for word in _WORDS)

_BAD = """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(3, 4, rngs=rngs)

    def __call__(self, x):
        return nnx.relu(self.hidden)


print(Net(nnx.Rngs(0))(jnp.ones((1, 3))))
"""

RULE = lint_rule(
    "NNX599",
    "layer-for-array",
    "a layer given to a function of arrays",
    why="""\
`nnx.relu(self.hidden)` gives the activation the layer, and not what the layer makes of its input: a TypeError. In Linen
`nn.relu(nn.Dense(4))` is the same mistake, since `nn.Dense(4)` only makes the layer.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("relu(self.hidden)", "relu(self.hidden(x))"),),
)
