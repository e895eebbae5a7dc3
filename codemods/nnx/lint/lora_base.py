"""NNX737: an optimizer that trains the base layers beside their LoRA parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, ModuleFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.lax_control_flow import parts
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Each, Item, Ref, Value

# where a project says one of these, it knows what is frozen
_FREEZING = pattern(
    rb"stop_gradient|set_to_zero|multi_transform|optax\.masked|\bmasked\(|\bpartition\(|freez|frozen\("
    rb"|PathContains|full_finetun"
)
_DEPTH = 4
_LAYERS = frozenset({"LoRA", "LoRALinear"})
_PARAM = Ref("flax.nnx.Param")


def _check(context: Context) -> Iterator[Finding]:
    tuned = [e for e, name in foreign(context, *_LAYERS, everywhere=True) if name.startswith("flax.nnx.")]
    if not tuned or any(m.source.matches(_FREEZING) or _chosen(context, m) for m in context.project.modules):
        return
    if any(_narrower(context, event) for event, _ in foreign(context, "DiffState", everywhere=True)):
        return
    optimizers = list(foreign(context, "Optimizer", "ModelAndOptimizer", everywhere=True))
    for event, name in optimizers:
        model, chosen = event.value.argument(0, "model"), event.value.argument(2, "wrt")
        if not name.startswith("flax.nnx.") or chosen is None or model is None or in_test(event.scope):
            continue
        if event.scope.module not in context.asked or _followed(context, chosen, event) != _PARAM:
            continue
        if _tuned(context, model, event, sum(1 for _, one in optimizers if one.startswith("flax.nnx."))):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the base layers are trained too: nnx.LoRAParam is an nnx.Param, and `wrt=nnx.Param` takes both",
                "freeze them: wrt=nnx.LoRAParam, and the gradient of nnx.DiffState(0, nnx.LoRAParam)",
            )
    for event in context.bodies.named("init"):
        yield from _functional(context, event)


def _narrower(context: Context, event: CallEvent) -> bool:
    """Say whether a gradient is taken for some of the parameters alone."""
    chosen = event.value.argument(1, "filter")
    return chosen is None or _followed(context, chosen, event) != _PARAM


# where the first filter's part stands in what these give
_PLACES = {"flax.nnx.state": Const(0), "flax.nnx.split": Const(1)}


def _functional(context: Context, event: CallEvent) -> Iterator[Finding]:
    """Yield where optax gets all the parameters of such a model."""
    callee = event.value.callee
    if event.scope.module not in context.asked or len(event.value.args) != 1 or not isinstance(callee, Attr):
        return
    if in_test(event.scope) or context.kinds.of(context.flow.here(callee.base, event.scope)) != {Kind.TRANSFORM}:
        return
    given = context.flow.resolve(context.flow.here(event.value.args[0], event.scope))
    call: Value = given.value
    place = call.index if isinstance(call, Item) else Const(0)
    if isinstance(call, Item):
        call = call.base
    if not isinstance(call, Call) or call.starred:
        return
    name = context.flow.calls.callee_name(context.flow.with_value(given, call))
    if place != _PLACES.get(name) or len(call.args) < 2 or context.flow.follow(given, call.args[1]).value != _PARAM:
        return
    models = context.sources.originals(context.flow.with_value(given, call.args[0]))
    if models and all(adapted(context, model, 0) for model in models):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "the base layers are trained too: nnx.LoRAParam is an nnx.Param, and the filter nnx.Param takes both",
            "freeze them: split by nnx.LoRAParam, and differentiate that part alone",
        )


def _followed(context: Context, value: Value, event: CallEvent) -> Value:
    return context.flow.resolve(context.flow.here(value, event.scope)).value


def _chosen(context: Context, module: ModuleFacts) -> bool:
    """Say whether a file selects by nnx.LoRAParam, other than to look at these parameters or to save them."""
    if not module.source.mentions(b"LoRAParam"):
        return False
    looking = {
        id(node)
        for event in module.calls
        if _looks(context, event)
        for given in (*event.node.args, *(k.value for k in event.node.keywords if k.arg != "wrt"))
        for node in ast.walk(given)
    }
    tree = module.scope.node
    mentions = [n for n in ast.walk(tree) if isinstance(n, ast.Name | ast.Attribute) and last_word(n) == "LoRAParam"]
    trees = any(word in module.source.data for word in (b"apply_updates", b"jax.grad", b"jax.value_and_grad"))
    return trees or any(id(node) not in looking for node in mentions)


def _looks(context: Context, event: CallEvent) -> bool:
    """Say whether a call takes a state, itself or in a function that does nothing else with what it is given."""
    if last_word(event.node.func) in {"state", "variables", "isinstance", *_LAYERS}:
        return True
    callees = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
    return bool(callees) and all(
        last_word(inner.node.func) in {"state", "variables", "isinstance"}
        for callee, _ in callees
        for inner in context.bodies.calls.get(callee.function.scope, ())
        if any(one in callee.function.params.values() for one in inner.value.args[1:])
    )


def _tuned(context: Context, model: Value, event: CallEvent, optimizers: int) -> bool:
    """Say whether a model has such layers, from its class or put in from outside before its optimizer is made."""
    models = context.sources.originals(context.flow.here(model, event.scope))
    if not models:
        return False
    if all(adapted(context, one, 0) for one in models):
        return True
    made = {one.value for one in models}
    return any(
        (optimizers == 1 or (store.scope is event.scope and store.node.lineno < event.node.lineno))
        and {one.value for one in context.sources.originals(_root(context, store))} == made
        for module in context.project.modules
        if module.source.mentions(b"LoRA")
        for store in module.attributes
        if isinstance(store.stored, Call)
        and store.context == "store"
        and last_word(store.stored.node.func) in _LAYERS
        and adapted(context, context.flow.here(store.stored, store.scope), 0)
    )


def _root(context: Context, store: AttrEvent) -> Bound:
    """Return the object of which a layer is an attribute, or a part of one."""
    value = store.base
    while isinstance(value, Attr | Item | Each):
        value = value.base
    return context.flow.here(value, store.scope)


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
