"""Whose attribute is named: a module, layer, optimizer, Variable or array, where that is certain."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.frames import Bound, Indexed, Part, Round
from codemods.nnx.kinds import Kind, class_kind, result_kind
from codemods.nnx.known import ARRAY_FUNCTIONS
from codemods.nnx.lint.names import ARRAY_METHODS
from codemods.nnx.lint.operands import NUMERIC, gives_array
from codemods.nnx.lint.places import kinds_of
from codemods.nnx.may.may import Made
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Changed, Choice, Const, Item, Loop, Param, Ref, Unknown, Value

KNOWN_BASES = frozenset({"flax.nnx.Module", "flax.nnx.Pytree", "typing.Generic", "abc.ABC"})
_LOSSES = ("optax.softmax_", "optax.sigmoid_", "optax.l2_loss", "optax.squared_error", "optax.huber_loss",
           "optax.losses.", "optax.cosine_", "optax.log_cosh", "optax.hinge_loss", "optax.ctc_loss")  # fmt: skip
_DEPTH = 8


# the objects of NNX that rules ask for by their class
_OBJECTS = frozenset(
    {"BatchNorm", "Bidirectional", "Conv", "ConvTranspose", "Dropout", "Einsum", "Embed", "GRUCell", "GroupNorm",
     "InstanceNorm", "LSTMCell", "LayerNorm", "Linear", "LinearGeneral", "LoRA", "LoRALinear", "ModelAndOptimizer",
     "MultiHeadAttention", "OptimizedLSTMCell", "Optimizer", "Param", "RMSNorm", "RNN", "Sequential", "SimpleCell",
     "SpectralNorm", "Variable", "WeightNorm"}
)  # fmt: skip


def _objects(context: Context) -> tuple[Made, ...]:
    """Return what may be an object of NNX, of its own classes or of the project's modules."""
    modules = [cls for cls in context.project.classes() if "flax.nnx.Module" in context.flow.classes.mro(cls)[1]]
    return context.flow.may.made_of(modules), context.flow.may.made_by(_OBJECTS)


def owner_class(context: Context, value: Value, scope: Scope) -> ClassFacts | str | None:
    """Return the one class whose instance a value is: one of the project, or the name of one of ``flax.nnx``.

    Args:
        context: the analysis.
        value: the value.
        scope: the scope that it belongs to.

    Returns:
        The class; None if it is not just one, or not known.
    """
    if not any(made.may_be(value) for made in context.shared(_objects)):
        return None
    found: set[ClassFacts | str] = set()
    stored = made_once(context, value, scope)
    here = context.flow.here(value, scope)
    for source in (stored,) if stored is not None else context.sources.all_of(here, _may_be_instance) or ():
        if source.value == Const(None):
            continue
        cls = context.flow.classes.class_of(source)
        if cls is not None:
            found.add(cls)
            continue
        while isinstance(source.value, Part):  # a copy
            source = context.flow.resolve(source.value.of)
        name = context.flow.calls.callee_name(source) if isinstance(source.value, Call) else ""
        if class_kind(name) is None:
            return None
        found.add(name)
    return found.pop() if len(found) == 1 else None


def _may_be_instance(value: Value) -> bool:
    """Say whether the class can be told of values that stand there so."""
    if isinstance(value, Const):
        return value.value is None
    if isinstance(value, Param):
        return value is value.function.self_param or value.name in value.function.annotations
    return isinstance(value, Call | Part | Choice | Loop | Indexed | Round | Changed)


def made_once(context: Context, value: Value, scope: Scope) -> Bound | None:
    """Return the call that makes what an attribute of the method's own object holds, if one place alone sets it.

    This is what most attributes of modules are, and asks for no flow through the project.
    """
    function = scope.function
    if not isinstance(value, Attr) or function is None or function.owner is None:
        return None
    if value.base is not function.self_param:
        return None
    classes = {one for heir in (*context.flow.classes.heirs(function.owner), function.owner)
               for one in context.flow.classes.mro(heir)[0]}  # fmt: skip
    stores = [found for one in classes for found in one.stores.get(value.name, ())]
    if len(stores) != 1 or not isinstance(stores[0][1], Call):
        return None
    if sum(not _own(event) for event in context.flow.fields.stores().get(value.name, ())):
        return None
    method, made = stores[0]
    bound = context.flow.here(made, method.scope)
    name = context.flow.calls.callee_name(bound)
    return bound if class_kind(name) is not None or context.flow.classes.class_of(bound) is not None else None


def own_reads(context: Context, method: FunctionFacts) -> Iterator[ast.Attribute]:
    """Yield the attributes that a method reads of its own object; none if it is a function of the class."""
    own = method.self_param
    for node in context.bodies.nodes(method.scope) if own is not None else ():
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name):
            if own is not None and node.value.id == own.name:
                yield node


def plain_module(context: Context, cls: ClassFacts | str | None) -> bool:
    """Say whether a class is a module of NNX whose bases are all known."""
    if isinstance(cls, str):
        return class_kind(cls) is Kind.MODULE
    if cls is None:
        return False
    bases = context.flow.classes.mro(cls)[1]
    return "flax.nnx.Module" in bases and bases <= KNOWN_BASES


def has_attribute(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether a class of the project, or one derived from it, may have an attribute of a name."""
    if has_own_attribute(context, cls, name):
        return True
    return any(not _own(event) for event in context.flow.fields.stores().get(name, ()))


def has_own_attribute(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether a class of the project, or one derived from it, gives its objects an attribute of a name itself."""
    for one in context.flow.classes.heirs(cls) or (cls,):
        for parent in context.flow.classes.mro(one)[0]:
            if name in parent.methods or name in parent.fields or name in parent.stores or name in parent.scope.env:
                return True
            if {"__getattr__", "__getattribute__"} & set(parent.methods):
                return True
    return False


def _own(event: AttrEvent) -> bool:
    """Say whether an attribute is set by a method of the object itself."""
    return isinstance(event.base, Param) and event.base is event.base.function.self_param


def is_array(context: Context, value: Value | None, scope: Scope, depth: int = 0) -> bool:
    """Say whether a value is an array of JAX, or what a module of NNX gives, for certain.

    Args:
        context: the analysis.
        value: the value.
        scope: the scope that it belongs to.
        depth: how deep in a larger value it stands.
    """
    if value is None or depth > _DEPTH:
        return False
    if isinstance(value, Unknown):
        return _operation(context, value.node, scope, depth)
    if isinstance(value, Loop | Changed):
        return is_array(context, value.before, scope, depth + 1)
    if isinstance(value, Choice):
        return all(is_array(context, one, scope, depth + 1) for one in value.options)
    sources = context.sources.all_of(context.flow.here(value, scope), _may_be_array)
    return bool(sources) and all(_source(context, source, scope, depth) for source in sources or ())


def _may_be_array(value: Value) -> bool:
    """Say whether an array can stand there so, for :func:`is_array`."""
    if isinstance(value, Unknown):
        return isinstance(value.node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.AugAssign)
    if isinstance(value, Param):
        return value.function.owner is not None and value is not value.function.self_param
    return isinstance(value, Item | Call)


def _source(context: Context, source: Bound, scope: Scope, depth: int) -> bool:
    value = source.value
    if source.frame is not None:
        scope = source.frame.function.scope
    if isinstance(value, Unknown):
        return _operation(context, value.node, scope, depth + 1)
    if isinstance(value, Item):
        return kinds_of(context, value, scope) == {Kind.GRADIENT}
    if isinstance(value, Param):
        return fed_to_layers(context, value)
    if not isinstance(value, Call):
        return False
    name = context.flow.calls.callee_name(source)
    home, _, word = name.rpartition(".")
    if home == "flax.nnx" and word in ARRAY_FUNCTIONS:
        return True
    if name.startswith(_LOSSES) or result_kind(name) is Kind.ARRAY:
        return True
    callee = value.callee
    if isinstance(callee, Attr) and callee.name in ARRAY_METHODS and is_array(context, callee.base, scope, depth + 1):
        return True
    return plain_module(context, owner_class(context, callee, scope))


def fed_to_layers(context: Context, param: Param) -> bool:
    """Say whether a parameter of a method of a module goes into a layer of NNX as it is."""
    function = param.function
    if function.owner is None or param is function.self_param or not plain_module(context, function.owner):
        return False
    for event in context.bodies.calls.get(function.scope, ()):
        if param in event.value.args[:1] and isinstance(event.value.callee, Attr):
            if isinstance(owner_class(context, event.value.callee, function.scope), str):
                return True
    return False


def _operation(context: Context, node: ast.AST, scope: Scope, depth: int) -> bool:
    parts: tuple[ast.expr, ...] = ()
    if isinstance(node, ast.BinOp):
        parts = (node.left, node.right)
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        parts = (node.operand,)
    elif isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn):
        parts = (node.left, *node.comparators)
    elif isinstance(node, ast.AugAssign):
        parts = (node.target, node.value)
    values = [scope.module.values.get(part) for part in parts]
    return gives_array(context, values, scope, lambda one: is_array(context, one, scope, depth + 1)) and not any(
        of_other_library(context, one, scope) for one in values
    )


_REFLECTED = frozenset({"__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__rpow__", "__rmatmul__"})


def of_other_library(context: Context, value: Value | None, scope: Scope, depth: int = 0) -> bool:
    """Say whether a value comes from a library that JAX does not know, as a unit of astropy, or is such an object.

    Of arithmetic with an array its class may make something else.

    Args:
        context: the analysis.
        value: the value.
        scope: the scope that it belongs to.
        depth: how deep in a larger value it stands.
    """
    if value is None or depth > _DEPTH:
        return False
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
        values = scope.module.values
        parts = (value.node.left, value.node.right)
        return any(of_other_library(context, values.get(part), scope, depth + 1) for part in parts)
    found = context.flow.resolve(context.flow.here(value, scope))
    if isinstance(found.value, Unknown) and found.value is not value and found.frame is None:
        return of_other_library(context, found.value, scope, depth + 1)
    cls = context.flow.classes.class_of(found)
    if cls is not None:
        parents = context.flow.classes.mro(cls)[0]
        return any(name in _REFLECTED for one in parents for name in one.methods)
    name = ""
    for _ in range(_DEPTH):
        inner = found.value
        if isinstance(inner, Ref):
            name = inner.name
        elif isinstance(inner, Call) and not (name := context.flow.calls.callee_name(found)):
            found = context.flow.follow(found, inner.callee)
            continue
        elif isinstance(inner, Attr | Item):
            found = context.flow.follow(found, inner.base)
            continue
        break
    home = name.partition(".")[0]
    return bool(home) and home not in NUMERIC and home not in sys.stdlib_module_names


def left_to_heirs(function: FunctionFacts) -> bool:
    """Say whether a method only stands for those of the classes below, which may take other arguments: it is abstract,
    or does nothing but raise NotImplementedError."""
    if function.owner is None or isinstance(function.node, ast.Lambda):
        return False
    if any(last_word(one) == "abstractmethod" for one in function.node.decorator_list):
        return True
    body = [n for n in function.node.body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
    error = body[0].exc if len(body) == 1 and isinstance(body[0], ast.Raise) else None
    return error is not None and last_word(error.func if isinstance(error, ast.Call) else error) == _UNFINISHED


_UNFINISHED = "NotImplementedError"
