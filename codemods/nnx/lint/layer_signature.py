"""NNX710: a layer or an activation that is called without what it needs, or with names of another library."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.call_keywords import strange_keywords
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.strange_modes import constructors_given, strange_modes, strange_names

#: What the constructors need besides their streams, in order
NEEDED = {
    "Linear": ("in_features", "out_features"),
    "LinearGeneral": ("in_features", "out_features"),
    "Einsum": ("einsum_str", "kernel_shape"),
    "Embed": ("num_embeddings", "features"),
    "Conv": ("in_features", "out_features", "kernel_size"),
    "ConvTranspose": ("in_features", "out_features", "kernel_size"),
    "BatchNorm": ("num_features",),
    "LayerNorm": ("num_features",),
    "RMSNorm": ("num_features",),
    "GroupNorm": ("num_features",),
    "InstanceNorm": ("num_features",),
    "LoRA": ("in_features", "lora_rank", "out_features"),
    "LSTMCell": ("in_features", "hidden_features"),
    "OptimizedLSTMCell": ("in_features", "hidden_features"),
    "GRUCell": ("in_features", "hidden_features"),
    "SimpleCell": ("in_features", "hidden_features"),
    "MultiHeadAttention": ("num_heads", "in_features"),
}
#: Names that Linen, PyTorch or Keras give to arguments, and the name here; None where there is none
ELSEWHERE = {
    "in_channels": "in_features",
    "out_channels": "out_features",
    "units": "out_features",
    "filters": "out_features",
    "stride": "strides",
    "dilation": "kernel_dilation",
    "groups": "feature_group_count",
    "bias": "use_bias",
    "eps": "epsilon",
    "num_channels": "num_features",
    "num_embedding": "num_embeddings",
    "embedding_dim": "features",
    "embed_dim": "in_features",
    "hidden_size": "hidden_features",
    "input_size": "in_features",
    "normalized_shape": "num_features",
    "activation": None,
}
FEATURES = frozenset({"Linear", "LinearGeneral", "Conv", "ConvTranspose", "LSTMCell", "GRUCell", "SimpleCell",
                       "OptimizedLSTMCell", "MultiHeadAttention"})  # fmt: skip
_ACTIVATIONS = ("relu", "gelu", "silu", "swish", "tanh", "sigmoid", "softmax", "log_softmax", "elu", "leaky_relu",
                "softplus", "selu", "celu", "relu6", "hard_tanh", "hard_swish", "hard_sigmoid", "hard_silu",
                "log_sigmoid", "soft_sign", "glu", "identity")  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *NEEDED):
        word = name.removeprefix("flax.nnx.")
        if word not in NEEDED or event.value.starred or context.bodies.guarded(event.node, event.scope):
            continue
        given = {key for key, _ in event.value.keywords if key}
        strange = next((k for k in given if k in ELSEWHERE or (k == "features" and word in FEATURES)), None)
        missing = [n for n in NEEDED[word][len(event.node.args) :] if n not in given]
        if strange is not None:
            other = "out_features" if strange == "features" else ELSEWHERE[strange]
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`nnx.{word}` takes no argument `{strange}`",
                f"here it is called {other}" if other else "apply the function to what the layer gives",
            )
        elif missing:
            lacks = " and ".join(f"`{one}`" for one in missing)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`nnx.{word}` is not given {lacks}",
                "layers of NNX make their weights when they are made, and have to know what they get"
                if missing == ["out_features"] or "in_features" in missing
                else "give it as well",
            )
    for event, message, help in (
        *strange_keywords(context),
        *strange_modes(context),
        *constructors_given(context),
        *strange_names(context),
    ):
        yield finding(RULE.code, event.scope, event.node, message, help)
    for event, name in foreign(context, *_ACTIVATIONS):
        home, _, word = name.rpartition(".")
        if home not in {"flax.nnx", "jax.nn"} or word not in _ACTIVATIONS:
            continue
        if not event.node.args and not event.value.starred:
            if event.value.keyword("x") is None and not context.bodies.guarded(event.node, event.scope):
                function = event.scope.module.source.text(event.node.func)
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{function}` is a function of an array, and no layer that is made: it is called with nothing",
                    f"name it without calling it: {function}"
                    if not event.node.keywords
                    else f"prepare it: functools.partial({function}, ...)",
                )


RULE = lint_rule(
    "NNX710",
    "layer-signature",
    "a layer or activation is called without arguments that it needs, or with names of another library",
    why="""\
Layers of NNX make their weights in their constructor, so that they need the size of what they get as well as of what
they give: `nnx.Linear(in_features, out_features, rngs=rngs)`, where Linen has `nn.Dense(features)`. Activations are
functions of an array, `nnx.relu`, and not layers to be made, as `nn.ReLU()` of PyTorch. Both raise a TypeError, and so
does a call with a keyword that the module does not take: `train=` at an `nnx.Dropout`. The constructor of `nnx.Module`
takes nothing, and `model.set_attributes` only names that some layer has.
""",
    source="Flax guide on moving from Linen to NNX; measured on Flax 0.10.7 and 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx


class Classifier(nnx.Module):
    def __init__(self, hidden: int, rngs: nnx.Rngs):
        self.hidden = nnx.Linear(hidden, rngs=rngs)
        self.out = nnx.Linear(hidden, 10, rngs=rngs)
""",
        """\
from flax import nnx


def build(rngs: nnx.Rngs):
    return nnx.Sequential(nnx.Linear(4, 8, rngs=rngs), nnx.relu(), nnx.Linear(8, 2, rngs=rngs))
""",
        """\
from flax import nnx


def build(rngs: nnx.Rngs):
    return nnx.Conv(3, 8, kernel_size=(3, 3), stride=2, rngs=rngs)
""",
    ),
    clean=(
        """\
from functools import partial

from flax import nnx

conv = partial(nnx.Conv, kernel_size=(3, 3))


def build(rngs: nnx.Rngs):
    return nnx.Sequential(
        conv(3, 8, rngs=rngs), nnx.relu, nnx.Linear(in_features=8, out_features=2, rngs=rngs), partial(nnx.elu, alpha=2)
    )
""",
    ),
)
