"""What modules of Linen give when they are applied."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.linen.modules import is_linen
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.ordered import OrderedSet
from codemods.nnx.values import Attr, Call, Const, Item, Sequence, Value

#: Functions that give as many columns as they get.
ELEMENTWISE = frozenset({"tanh", "sigmoid", "relu", "softplus", "exp", "sin", "gelu", "silu"})
_DEPTH = 4


def gives_column(context: Context, value: Value | None, scope: Scope) -> bool:
    """Say whether a value is what modules of Linen with one feature give, on every way: ``net.apply(variables, x)``,
    ``state.apply_fn(variables, x)``, the first of what they give with ``mutable``, or one of several results."""
    places: list[int] = []
    call = value
    while isinstance(call, Item) and isinstance(call.index, Const) and type(call.index.value) is int:
        places.insert(0, call.index.value)
        call = call.base
    if not isinstance(call, Call) or not isinstance(call.callee, Attr) or len(call.args) < 2:
        return False
    if keyword(call.node, "method") is not None:
        return False
    if keyword(call.node, "mutable") is not None:
        if places[:1] != [0]:
            return False
        places = places[1:]
    if len(places) > 1:
        return False
    part = places[0] if places else None
    if call.callee.name == "apply":
        return _of_module(context, context.flow.here(call.callee.base, scope), part)
    return call.callee.name == "apply_fn" and _states_give_column(context, part)


def applied_modules(context: Context, call: Bound, mutable: bool = False) -> list[Bound]:
    """Return the modules of Linen that ``net.apply(variables, x)`` or ``state.apply_fn(variables, x)`` may apply.

    Args:
        context: the analysis.
        call: the call.
        mutable: whether those count too that give new variables beside the output.
    """
    value = call.value
    if not isinstance(value, Call) or not isinstance(value.callee, Attr) or len(value.args) < 2:
        return []
    if keyword(value.node, "method") is not None or (keyword(value.node, "mutable") is not None and not mutable):
        return []
    if value.callee.name == "apply":
        made = context.sources.originals(context.flow.with_value(call, value.callee.base))
    elif value.callee.name == "apply_fn":
        given = context.shared(_given_to_states)
        if not all(isinstance(one.value, Attr) and one.value.name == "apply" for one in given):
            return []
        made = OrderedSet(
            source
            for one in given
            if isinstance(one.value, Attr)
            for source in context.sources.originals(context.flow.with_value(one, one.value.base))
        )
    else:
        return []
    classes = [context.flow.classes.class_of(one) for one in made]
    return list(made) if classes and all(is_linen(context, cls) for cls in classes) else []


def _given_to_states(context: Context) -> list[Bound]:
    """Return what the project gives states as their ``apply_fn``."""
    return [
        context.flow.resolve(context.flow.here(value, event.scope))
        for module in context.project.modules
        if module.source.mentions(b"apply_fn")
        for event in module.calls
        if (value := event.value.keyword("apply_fn")) is not None
    ]


def _states_give_column(context: Context, part: int | None) -> bool:
    """Say whether all that the project gives states as their ``apply_fn`` are modules with one feature, or with one at
    a place of their results."""
    given = context.shared(_given_to_states)
    return bool(given) and all(
        isinstance(one.value, Attr)
        and one.value.name == "apply"
        and _of_module(context, Bound(one.value.base, one.frame), part)
        for one in given
    )


def _of_module(context: Context, module: Bound, part: int | None) -> bool:
    """Say whether a value is a module of Linen whose ``__call__`` gives one feature, or does so at a place."""
    found = list(context.sources.originals(module))
    return bool(found) and all(_layer(context, one, 0, part) for one in found)


def _layer(context: Context, layer: Bound, depth: int, part: int | None = None) -> bool:
    """Say whether what makes a module makes one that gives one feature.

    Args:
        context: the analysis.
        layer: what makes it.
        depth: how many modules it is in.
        part: which of several results is asked about; None if there is one.
    """
    value = layer.value
    if part is not None:
        cls = context.flow.classes.class_of(layer)
        return cls is not None and _class_gives_column(context, cls, depth, part)
    if not isinstance(value, Call) or depth > _DEPTH:
        return False
    name = context.flow.calls.callee_name(layer)
    if name == "flax.linen.Dense":
        width = value.argument(0, "features")
        return width is not None and context.flow.follow(layer, width).value == Const(1)
    if name == "flax.linen.Sequential":
        given = value.argument(0, "layers")
        every = context.flow.follow(layer, given) if given is not None else None
        last_one = every.value.items[-1] if every and isinstance(every.value, Sequence) and every.value.items else None
        made = context.flow.follow(every, last_one) if every is not None and last_one is not None else None
        return made is not None and _layer(context, made, depth + 1)
    cls = context.flow.classes.class_of(layer) if not name else None
    return cls is not None and _class_gives_column(context, cls, depth)


def _class_gives_column(context: Context, cls: ClassFacts, depth: int, part: int | None = None) -> bool:
    method = context.flow.classes.method(cls, "__call__")
    if method is None or "flax.linen.Module" not in context.flow.classes.mro(cls)[1]:
        return False
    given = [value if part is None else _at(value, part) for value in method.returns]
    return bool(given) and all(one is not None and _output(context, one, method, depth) for one in given)


def _at(value: Value, place: int) -> Value | None:
    """Return a part of a tuple that is written out."""
    items = value.items if isinstance(value, Sequence) else ()
    return items[place] if -len(items) <= place < len(items) else None


def _output(context: Context, value: Value, method: FunctionFacts, depth: int) -> bool:
    """Say whether a value is the output of a layer with one feature, perhaps behind a function of its elements."""
    if not isinstance(value, Call) or depth > _DEPTH:
        return False
    here = context.flow.here(value, method.scope)
    name = context.flow.calls.callee_name(here)
    if name.startswith(("jax.nn.", "jax.numpy.", "flax.linen.")):
        return last(name) in ELEMENTWISE and _output(context, value.args[0], method, depth + 1)
    callee = value.callee
    if isinstance(callee, Call):
        return _layer(context, context.flow.follow(here, callee), depth + 1)
    if not isinstance(callee, Attr) or callee.base is not method.self_param or method.owner is None:
        return False
    stores = method.owner.stores.get(callee.name, [])
    made = [context.flow.here(stored, function.scope) for function, stored in stores]
    return bool(made) and all(_layer(context, one, depth + 1) for one in made)
