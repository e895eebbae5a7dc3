"""Whether using a model changes its Variables."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind, class_kind
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Class, Param, Ref

#: Layers of Flax that change Variables when they are called.
STATEFUL = frozenset(
    {"BatchNorm", "Dropout", "MultiHeadAttention", "SpectralNorm", "WeightNorm", "RNN", "Rngs", "ToNNX"}
)
#: Those among them that change nothing after ``model.eval()``.
_OF_TRAINING = frozenset({"BatchNorm", "Dropout"})
#: Layers that neither change nor hold other layers.
_LEAVES = frozenset(
    {"Conv", "ConvTranspose", "Einsum", "Embed", "GroupNorm", "LayerNorm", "Linear", "LinearGeneral", "RMSNorm"}
)

#: Methods that run while an object is made.
_BUILDING = frozenset({"__init__", "__post_init__", "__init_subclass__", "__new__"})
_BASES = frozenset({"flax.nnx.Module", "flax.nnx.Object", "flax.nnx.Pytree"})
#: Classes that are bases for the sake of types only, wherever they are imported from.
_TYPING = ("typing.Generic", "typing.Protocol", "typing_extensions.Generic", "typing_extensions.Protocol", "abc.ABC")


def may_change(context: Context, model: Bound, still: bool = False) -> bool:
    """Say whether calling a model may change its Variables.

    Args:
        context: the project.
        model: the model.
        still: whether its layers are those of evaluation.

    Of several models that may be meant, those of which something is known speak for the others, which a function
    outside of the project makes of such a one, as for adapters of low rank. Where nothing is known, all models of the
    project do, if it has any.
    """
    sources = context.sources.originals(model)
    known = [source for source in sources if _known(context, source)]
    if not known:
        return context.shared(_some_may_change)
    return any(_may_change(context, source, frozenset(), still) for source in known)


def _some_may_change(context: Context) -> bool:
    """Say whether calling some model of the project may change its Variables, or whether it has none."""
    models = [cls for cls in context.project.classes() if Kind.MODULE in context.kinds.class_kinds(Bound(Class(cls)))]
    if not models or any(class_may_change(context, cls, frozenset(), shown=True) for cls in models):
        return True
    made = {context.flow.calls.name(event).rpartition(".") for event in context.project.calls()}
    return any(home == "flax.nnx" and name in STATEFUL - {"Rngs"} for home, _, name in made)


def _known(context: Context, model: Bound) -> bool:
    """Say whether a model is an instance of a class of the project or of Flax."""
    if context.flow.classes.class_of(model) is not None:
        return True
    return isinstance(model.value, Call) and context.flow.calls.callee_name(model).startswith("flax.nnx.")


def _may_change(context: Context, model: Bound, seen: frozenset[ClassFacts], still: bool) -> bool:
    flow = context.flow
    cls = flow.classes.class_of(model)
    if cls is not None:
        return class_may_change(context, cls, seen, still=still)
    if not isinstance(model.value, Call):
        return True
    name = flow.calls.callee_name(model)
    if not name.startswith("flax.nnx."):
        return True
    if name.rpartition(".")[2] in (STATEFUL - _OF_TRAINING if still else STATEFUL):
        return True
    if name != "flax.nnx.Sequential":
        return False
    return any(_may_change(context, flow.follow(model, layer), seen, still) for layer in model.value.args)


def class_may_change(
    context: Context, cls: ClassFacts, seen: frozenset[ClassFacts], shown: bool = False, still: bool = False
) -> bool:
    """Look for stateful layers in what a class constructs, and for Variables that its methods assign.

    Args:
        context: the project.
        cls: the class.
        seen: the classes that are being looked at.
        shown: whether what is unknown counts for nothing.
        still: whether the layers are those of evaluation.
    """
    flow = context.flow
    if cls in seen:
        return False
    if Kind.VARIABLE in context.kinds.class_kinds(Bound(Class(cls))):
        return False
    if any(name not in _BASES and not name.endswith(_TYPING) for name in flow.classes.mro(cls)[1]):
        return not shown
    seen |= {cls}
    arrays = _arrays(context, cls)
    changing = STATEFUL - {"Rngs"} - (_OF_TRAINING if still else frozenset())
    for parent in flow.classes.mro(cls)[0]:
        for method in parent.methods.values():
            if method.name not in _BUILDING and method.binding == "instance" and _assigns(context, method):
                return True
        for event in parent.scope.module.calls:
            function = event.scope.function
            if function is None or function.owner is not parent:
                continue
            if function.name not in _BUILDING and _draws(context, event):
                return True
            made = flow.follow(flow.here(event.value, event.scope), event.value.callee).value
            if isinstance(made, Ref) and made.name.startswith("flax.nnx.") and made.name[9:] in changing:
                return True
            if (
                isinstance(made, Class)
                and context.kinds.class_kinds(Bound(made))  # others hold no part of a model
                and class_may_change(context, made.facts, seen, shown, still)
            ):
                return True
            if (
                not (shown or isinstance(made, Ref | Class))
                and function.name == "__init__"
                and event.used
                and event.node not in arrays
                and not _plain(context, flow.here(event.value, event.scope))
            ):
                return True
    return False


def _draws(context: Context, event: CallEvent) -> bool:
    """Say whether a method takes a key from streams that its object keeps, as ``self.rngs.noise()`` does."""
    callee = event.value.callee
    if not isinstance(callee, Attr) or event.node.args or callee.name in _VIEWS:
        return False
    kept = callee.base if isinstance(callee.base, Attr) else callee
    function = event.scope.function
    if function is None or not isinstance(kept.base, Param) or kept.base is not function.self_param:
        return False
    return bool(context.kinds.of(context.flow.here(kept, event.scope)) & {Kind.RNGS, Kind.STREAM})


_VIEWS = frozenset({"fork", "split", "items", "keys", "values"})  # what streams tell without giving a key


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


def _plain(context: Context, call: Bound, within: frozenset[FunctionFacts] = frozenset()) -> bool:
    """Say whether a call surely makes no layer, but numbers and the like."""
    assert isinstance(call.value, Call)
    if within and context.flow.calls.callee_name(call).startswith(("builtins.", "math.", "numpy.", "jax.")):
        return True
    callees = context.flow.calls.callables(context.flow.follow(call, call.value.callee)) if len(within) < _DEPTH else []
    return bool(callees) and all(_gives_plain(context, callee.function, within) for callee in callees)


def _gives_plain(context: Context, function: FunctionFacts, within: frozenset[FunctionFacts]) -> bool:
    """Say whether a function is annotated to return no layer, or only calls what makes none."""
    annotation = None if isinstance(function.node, ast.Lambda) else function.node.returns
    if annotation is not None or function in within:
        return annotation is None or _names_plain(annotation)
    calls = [event for event in function.scope.module.calls if event.scope is function.scope]
    inner = within | {function}
    return all(_plain(context, context.flow.here(event.value, event.scope), inner) for event in calls)


_DEPTH = 4  # how many functions deep a plain value is followed


def _names_plain(node: ast.expr) -> bool:
    """Say whether an annotation names nothing but numbers, texts, arrays, and tuples and lists of them."""
    if isinstance(node, ast.BinOp):
        return _names_plain(node.left) and _names_plain(node.right)
    if isinstance(node, ast.Tuple):
        return all(map(_names_plain, node.elts))
    if isinstance(node, ast.Subscript):
        return _names_plain(node.value) and _names_plain(node.slice)
    if isinstance(node, ast.Constant):
        return node.value is None or node.value is Ellipsis
    return last_word(node) in _PLAIN


_PLAIN = frozenset(
    {
        "bool", "float", "int", "str", "bytes", "slice", "complex", "Array", "ndarray",
        "list", "tuple", "dict", "List", "Tuple", "Dict", "Optional", "Union", "Sequence",
    }
)  # fmt: skip


def _assigns(context: Context, method: FunctionFacts) -> bool:
    """Say whether a method assigns to an attribute or element, as of a Variable, or keeps an intermediate.

    What it makes itself does not count.
    """
    if any(map(_kept, ast.walk(method.node))):
        return True
    own: set[str] = set()
    made: set[str] = set()
    stores: list[ast.expr] = []
    for node in ast.walk(method.node):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        if isinstance(node, ast.Assign | ast.AnnAssign) and _container(node.value):
            named = node.targets if isinstance(node, ast.Assign) else [node.target]
            own |= {target.id for target in named if isinstance(target, ast.Name)}
        if isinstance(node, ast.Assign) and _instance(context, method, node.value):
            made |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        stores += [target for target in targets if isinstance(target, ast.Attribute | ast.Subscript)]
    names = [n.id for n in ast.walk(method.node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    own = {name for name in own if names.count(name) == 1}  # it is nothing else on any way
    made = {name for name in made if names.count(name) == 1}
    return any(
        not (isinstance(base := store.value, ast.Name) and base.id in (made if _attribute(store) else own))
        for store in stores
        if isinstance(store, ast.Attribute | ast.Subscript)
    )


def _kept(node: ast.AST) -> bool:
    """Say whether code calls a method that sets a Variable, as ``self.sow(...)``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING


_KEEPING = frozenset({"sow", "copy_from", "copy_from_state", "update_from_state", "set_value"})


def _attribute(store: ast.expr) -> bool:
    return isinstance(store, ast.Attribute)


def _instance(context: Context, method: FunctionFacts, node: ast.expr) -> bool:
    """Say whether an expression makes a plain object of the project, which is no part of a model."""
    value = method.scope.module.values.get(node)
    if not isinstance(value, Call):
        return False
    callee = context.flow.follow(context.flow.here(value, method.scope), value.callee)
    return isinstance(callee.value, Class) and not context.kinds.class_kinds(callee)


def _container(node: ast.expr | None) -> bool:
    """Say whether an expression is a new list or dict, or None."""
    if isinstance(node, ast.IfExp):
        return _container(node.body) and _container(node.orelse)
    return isinstance(node, ast.Dict | ast.List | ast.DictComp | ast.ListComp) or (
        isinstance(node, ast.Constant) and node.value is None
    )
