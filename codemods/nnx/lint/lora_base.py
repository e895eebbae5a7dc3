"""NNX737: an optimizer that trains the base layers beside their LoRA parameters."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.lax_control_flow import parts
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.values import Call, Const, Ref

# where a project says one of these, it knows what is frozen
_FREEZING = (
    b"LoRAParam", b"stop_gradient", b"set_to_zero", b"multi_transform", b"partition", b"freeze", b"frozen(", b"masked",
    b"DiffState", b"PathContains", b"full_finetun",
)  # fmt: skip
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    tuned = [e for e, name in foreign(context, "LoRA", "LoRALinear", everywhere=True) if name.startswith("flax.nnx.")]
    if not tuned or any(word in m.source.data for m in context.project.modules for word in _FREEZING):
        return
    for event, name in foreign(context, "Optimizer", "ModelAndOptimizer"):
        chosen = event.value.argument(2, "wrt")
        if not name.startswith("flax.nnx.") or chosen is None or not event.value.args or in_test(event.scope):
            continue
        if context.flow.resolve(context.flow.here(chosen, event.scope)).value != Ref("flax.nnx.Param"):
            continue
        models = context.sources.originals(context.flow.here(event.value.args[0], event.scope))
        if models and all(adapted(context, model, 0) for model in models):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the base layers are trained too: nnx.LoRAParam is an nnx.Param, and `wrt=nnx.Param` takes both",
                "freeze them: wrt=nnx.LoRAParam, and the gradient of nnx.DiffState(0, nnx.LoRAParam)",
            )


def adapted(context: Context, made: Bound, depth: int) -> bool:
    """Say whether an object is or holds a layer with LoRA parameters beside its own."""
    if not isinstance(made.value, Call) or depth > _DEPTH:
        return False
    name = context.flow.calls.callee_name(made)
    if name == "flax.nnx.LoRALinear":
        return True
    if name == "flax.nnx.LoRA":
        base = made.value.keyword("base_module")
        return base is not None and base != Const(None)
    if name == "flax.nnx.Sequential":
        layers = (context.flow.with_value(made, one) for one in made.value.args)
        return any(adapted(context, part, depth + 1) for one in layers for part in parts(context, one))
    cls = context.flow.classes.class_of(made)
    return cls is not None and _holds(context, cls, depth)


def _holds(context: Context, cls: ClassFacts, depth: int) -> bool:
    return any(
        adapted(context, part, depth + 1)
        for parent in context.flow.classes.mro(cls)[0]
        for stores in parent.stores.values()
        for function, value in stores
        for part in parts(context, context.flow.here(value, function.scope))
    )


_BAD = """\
import optax
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.dense = nnx.LoRALinear(8, 8, lora_rank=2, rngs=rngs)


model = Block(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
"""

RULE = lint_rule(
    "NNX737",
    "trained-base-layers",
    "an optimizer for nnx.Param, of a model whose layers have LoRA parameters",
    why="""\
`nnx.LoRAParam` is a subclass of `nnx.Param`. An optimizer with `wrt=nnx.Param` trains the kernels of the base layers
as well, which LoRA is there to keep. Where both shall be trained, say so: `wrt=(nnx.Param, nnx.LoRAParam)` names both.
""",
    source="google/flax#3988; measured on Flax 0.10.7, 0.11.2 and 0.12.8: the kernels of the base layers change",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("wrt=nnx.Param", "wrt=nnx.LoRAParam"),),
)
