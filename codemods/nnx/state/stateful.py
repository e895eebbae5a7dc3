"""Whether using a model changes its Variables."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind, class_kind
from codemods.nnx.values import Call, Class, Ref

#: Layers of Flax that change Variables when they are called.
STATEFUL = frozenset(
    {"BatchNorm", "Dropout", "MultiHeadAttention", "SpectralNorm", "WeightNorm", "RNN", "Rngs", "ToNNX"}
)
#: Layers that neither change nor hold other layers.
_LEAVES = frozenset(
    {"Conv", "ConvTranspose", "Einsum", "Embed", "GroupNorm", "LayerNorm", "Linear", "LinearGeneral", "RMSNorm"}
)


def may_change(context: Context, model: Bound) -> bool:
    """Say whether calling a model may change its Variables; False only if all that it is made of is known."""
    sources = context.sources.originals(model)
    return not sources or any(_may_change(context, source, frozenset()) for source in sources)


def _may_change(context: Context, model: Bound, seen: frozenset[ClassFacts]) -> bool:
    flow = context.flow
    cls = flow.classes.class_of(model)
    if cls is not None:
        return _class_may_change(context, cls, seen)
    if not isinstance(model.value, Call):
        return True
    name = flow.calls.callee_name(model)
    if not name.startswith("flax.nnx."):
        return True
    if name.rpartition(".")[2] in STATEFUL:
        return True
    if name != "flax.nnx.Sequential":
        return False
    return any(_may_change(context, flow.follow(model, layer), seen) for layer in model.value.args)


def _class_may_change(context: Context, cls: ClassFacts, seen: frozenset[ClassFacts]) -> bool:
    """Look for stateful layers in what a class constructs, and for Variables that its methods assign."""
    flow = context.flow
    if cls in seen:
        return False
    if any(name not in {"flax.nnx.Module", "flax.nnx.Object", "flax.nnx.Pytree"} for name in flow.classes.mro(cls)[1]):
        return True
    seen |= {cls}
    arrays = _arrays(context, cls)
    for parent in flow.classes.mro(cls)[0]:
        for method in parent.methods.values():
            if method.name != "__init__" and _assigns(method.node):
                return True
        for event in parent.scope.module.calls:
            function = event.scope.function
            if function is None or function.owner is not parent:
                continue
            made = flow.follow(flow.here(event.value, event.scope), event.value.callee).value
            if isinstance(made, Ref) and made.name.startswith("flax.nnx.") and made.name[9:] in STATEFUL - {"Rngs"}:
                return True
            if isinstance(made, Class) and _class_may_change(context, made.facts, seen):
                return True
            if (
                not isinstance(made, Ref | Class)
                and function.name == "__init__"
                and event.used
                and event.node not in arrays
            ):
                return True
    return False


def _arrays(context: Context, cls: ClassFacts) -> set[ast.AST]:
    """Return what stands in the arguments of Variables and of layers that hold no other: values, no layers."""
    flow = context.flow
    found: set[ast.AST] = set()
    for parent in flow.classes.mro(cls)[0]:
        for event in parent.scope.module.calls:
            function = event.scope.function
            if function is None or function.owner is not parent:
                continue
            made = flow.follow(flow.here(event.value, event.scope), event.value.callee).value
            name = made.name if isinstance(made, Ref) else ""
            if class_kind(name) is Kind.VARIABLE or name.removeprefix("flax.nnx.") in _LEAVES:
                found |= {node for argument in ast.iter_child_nodes(event.node) for node in ast.walk(argument)}
    return found


def _assigns(function: ast.AST) -> bool:
    """Say whether a method assigns to an attribute or element, as of a Variable; not to elements of its own lists."""
    own: set[str] = set()
    stores: list[ast.expr] = []
    for node in ast.walk(function):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        if isinstance(node, ast.Assign | ast.AnnAssign) and _container(node.value):
            named = node.targets if isinstance(node, ast.Assign) else [node.target]
            own |= {target.id for target in named if isinstance(target, ast.Name)}
        stores += [target for target in targets if isinstance(target, ast.Attribute | ast.Subscript)]
    names = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    own = {name for name in own if names.count(name) == 1}  # it is nothing else on any way
    return any(
        not (isinstance(store, ast.Subscript) and isinstance(store.value, ast.Name) and store.value.id in own)
        for store in stores
    )


def _container(node: ast.expr | None) -> bool:
    """Say whether an expression is a new list or dict, or None."""
    if isinstance(node, ast.IfExp):
        return _container(node.body) and _container(node.orelse)
    return isinstance(node, ast.Dict | ast.List | ast.DictComp | ast.ListComp) or (
        isinstance(node, ast.Constant) and node.value is None
    )
