"""NNX609: initializers as attributes of layers."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.kinds import result_kind
from codemods.nnx.patterns import pattern
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.told_layers import ToldLayers
from codemods.nnx.values import Call

_NAMES = frozenset(
    [
        "bias_init", "embedding_init", "kernel_init", "out_bias_init", "out_kernel_init", "recurrent_kernel_init",
        "scale_init",
    ]
)  # fmt: skip
# whether a layer has it is looked at first: hasattr(layer, "kernel_init")
_ASKED = pattern(rb"hasattr\([^()]*,\s*[\"']\w+_init[\"']\)", needs=(b"hasattr(",))
# classes of the library that are no layers themselves
_BASES = frozenset({"flax.nnx.Module", "flax.nnx.Pytree", "flax.nnx.Object"})


def check(context: Context) -> Iterator[Finding]:
    """Yield reads of initializers from layers of the library."""
    if not context.options.crosses("0.12"):
        return
    for event in context.asked.attributes():
        if event.context == "load" and event.node.attr in _NAMES and _of_layer(context, event):
            yield finding(
                "NNX609",
                event.scope,
                event.node,
                f"layers do not keep `{event.node.attr}` since Flax 0.12.1",
                "keep the initializer yourself, and pass it to the layer",
            )


def _of_layer(context: Context, event: AttrEvent) -> bool:
    """Say whether an object is a layer of the library, or derives from one and keeps no such attribute."""
    flow = context.flow
    if ToldLayers(context).layers(event.base, event.node.value, event.scope):
        asked = event.scope.module.source.matches(_ASKED)
        return not asked and not any(_keeps(cls, event.node.attr) for cls in context.project.classes())
    for source in context.sources.originals(flow.here(event.base, event.scope)):
        cls = flow.classes.class_of(source)
        if cls is not None:
            own = any(_keeps(c, event.node.attr) for c in flow.classes.mro(cls)[0])
            if not own and any(name.startswith("flax.nnx.") for name in flow.classes.mro(cls)[1] - _BASES):
                return True
        elif isinstance(source.value, Call) and result_kind(flow.calls.callee_name(source)) is Objects.MODULE:
            return True
    return False


def _keeps(cls: ClassFacts, name: str) -> bool:
    return name in cls.stores or name in cls.fields or name in cls.scope.env


RULE = Rule(
    code="NNX609",
    name="layer-initializer",
    summary="an initializer is read from a layer",
    why="""\
Layers of the library kept their initializers as attributes (`kernel_init`, `bias_init`, `scale_init`,
`embedding_init`) up to Flax 0.12.0. Reading one raises AttributeError since 0.12.1. Which initializer it was depends
on the layer's arguments, so that no rewrite is offered.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.12.1",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(
        Example(
            """\
import jax
import jax.numpy as jnp
from flax import nnx

layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
print(layer.kernel_init(jax.random.key(0), (2, 3), jnp.float32))
""",
            targets=("0.12",),
            run=False,
        ),
    ),
    check=check,
    always=True,
)
