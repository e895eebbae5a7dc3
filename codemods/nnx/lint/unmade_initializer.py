"""NNX718: the maker of an initializer in the place of the initializer."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, kinds_of
from codemods.nnx.values import Attr, Call, Ref, Value

_HOMES = ("flax.nnx.initializers.", "jax.nn.initializers.", "flax.linen.initializers.")
_MAKERS = frozenset(
    {"lecun_normal", "lecun_uniform", "glorot_normal", "glorot_uniform", "xavier_normal", "xavier_uniform", "he_normal",
     "he_uniform", "kaiming_normal", "kaiming_uniform", "normal", "uniform", "truncated_normal", "variance_scaling",
     "orthogonal", "delta_orthogonal", "constant", "zeros_init", "ones_init"}
)  # fmt: skip
_OPTIONS = ("kernel_init", "bias_init", "embedding_init", "scale_init", "recurrent_kernel_init", "out_kernel_init")
_LAYERS = ("Linear", "LinearGeneral", "Einsum", "Embed", "Conv", "ConvTranspose", "LayerNorm", "RMSNorm", "BatchNorm",
           "GroupNorm", "LSTMCell", "GRUCell", "SimpleCell", "MultiHeadAttention", "Dense", "DenseGeneral")  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *_LAYERS):
        package, _, layer = name.rpartition(".")
        if package not in {"flax.nnx", "flax.linen"} or layer not in _LAYERS:
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        for keyword, node in ((k.arg, k.value) for k in event.node.keywords):
            value = event.value.keyword(keyword) if keyword in _OPTIONS else None
            if value is not None and _maker(context, value, event.scope):
                text = event.scope.module.source.text(node)
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"`{text}` makes an initializer when it is called, and is none itself",
                    f"call it: {text}()",
                )
    yield from _parameters(context)
    for event, name in foreign(context, *_MAKERS):
        if name.startswith(_HOMES) and event.value.args and _key(context, event.value.args[0], event.scope):
            text = event.scope.module.source.text(event.node.func)
            if not context.bodies.guarded(event.node, event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{text}` takes no key: it makes the initializer that takes one",
                    f"call it first: {text}()(key, shape)",
                )


def _parameters(context: Context) -> Iterator[Finding]:
    """Find the makers that the method ``param`` of a Linen module gets."""
    for event in context.bodies.named("param"):
        function = event.scope.function
        callee = event.value.callee
        if function is None or len(event.node.args) < 2 or event.value.starred or not isinstance(callee, Attr):
            continue
        if callee.base is not function.self_param or context.bodies.guarded(event.node, event.scope):
            continue
        if function.owner is not None and "flax.linen.Module" in context.flow.classes.mro(function.owner)[1]:
            if _maker(context, event.value.args[1], event.scope):
                text = event.scope.module.source.text(event.node.args[1])
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node.args[1],
                    f"`{text}` makes an initializer when it is called, and is none itself",
                    f"call it: {text}()",
                )


def _maker(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value is a maker of initializers on every way that is known, the default of a parameter too."""
    made = list(context.sources.originals(context.flow.here(value, scope)))
    return bool(made) and all(
        isinstance(one.value, Ref) and one.value.name.startswith(_HOMES) and last(one.value.name) in _MAKERS
        for one in made
    )


def _key(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether an argument is a key, taken from streams perhaps."""
    if kinds_of(context, value, scope) == {Kind.KEY}:
        return True
    callee = value.callee if isinstance(value, Call) and not value.args else None
    base = callee.base if isinstance(callee, Attr) else None
    return base is not None and context.kinds.only(context.flow.here(base, scope)) is Kind.RNGS


RULE = lint_rule(
    "NNX718",
    "unmade-initializer",
    "the maker of an initializer stands where an initializer is wanted",
    why="""\
`nnx.initializers.lecun_normal()` gives an initializer, a function of a key and a shape; without the parentheses it is
taken for the initializer itself, and fails on the shape. `zeros` and `ones` are initializers as they are.
""",
    source="measured on Flax 0.12.8: TypeError or another error far from the cause",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx

layer = nnx.Linear(4, 2, kernel_init=nnx.initializers.xavier_uniform, rngs=nnx.Rngs(0))
""",
    ),
    clean=(
        """\
from flax import nnx

layer = nnx.Linear(
    4, 2, kernel_init=nnx.initializers.xavier_uniform(), bias_init=nnx.initializers.zeros, rngs=nnx.Rngs(0)
)
""",
    ),
)
