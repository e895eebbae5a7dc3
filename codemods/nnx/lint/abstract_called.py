"""NNX877: an abstract model that is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.abstract_filled import Filling, filling
from codemods.nnx.lint.bridged import bridged
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.partial_split import held_besides
from codemods.nnx.lint.places import foreign
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Changed, Const, Function, Item, Mapping, Sequence, Value

_FILLING = frozenset({"update", "load", "restore", "load_state", "load_weights", "load_params", "set_attributes"})


def _check(context: Context) -> Iterator[Finding]:
    yield from bridged(context, RULE.code)
    made: dict[tuple[Scope, Value], CallEvent] = {}
    for event, name in foreign(context, "eval_shape"):
        if name == "flax.nnx.eval_shape":
            made[event.scope, event.value] = event
    if not any(name == "flax.nnx.eval_shape" for _, name in foreign(context, "eval_shape", everywhere=True)):
        return
    events = {event.value: event for event in context.project.calls()}
    for event in context.asked.calls():
        callee = event.value.callee
        if not isinstance(callee, Call | Item | Attr) or not isinstance(event.node.func, _CALLED):
            continue
        maker = made.get((event.scope, callee)) if isinstance(callee, Call) else None
        partly: list[Value] = []
        if maker is None and event.node.args and _abstract(context, callee, event.scope, partly):
            site: Value = callee
            while isinstance(site, Item):
                site = site.base
            maker = events.get(site) if isinstance(site, Call) else event
        if maker is None or maker.scope is not event.scope or context.bodies.guarded(event.node, event.scope):
            continue
        filled = _filling(context, maker.scope, maker.value, leaving=False) if maker is not event else Filling.NOTHING
        if filled is Filling.PARAMETERS and _keeps_averages(context, maker.value, maker.scope):
            partly.append(maker.value)
        elif filled is not Filling.NOTHING or _handed_on(context, maker, event):
            continue
        name = ast.unparse(event.node.func)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"of `{name}` only the parameters have values: the averages of BatchNorm are the shapes of nnx.eval_shape"
            if partly
            else f"`{name}` is abstract: nnx.eval_shape gives shapes in the place of weights",
            "fill the rest of its state too, such as nnx.BatchStat"
            if partly
            else "give it weights first, with nnx.update(model, state), or merge its graph definition with a state",
        )


_CALLED = (ast.Name, ast.Attribute, ast.Subscript)


def _filling(context: Context, scope: Scope, model: Value, leaving: bool) -> Filling:
    return filling(context, scope, model, lambda event, value: _looks(context, event, value), leaving)


def _keeps_averages(context: Context, model: Value, scope: Scope) -> bool:
    return "nnx.BatchStat" in held_besides(context, context.flow.here(model, scope))


def _abstract(context: Context, value: Value | None, scope: Scope, partly: list[Value], depth: int = 0) -> bool:
    """Say whether a value is abstract for certain: made by nnx.eval_shape, or split and merged of such.

    Args:
        context: the analysis.
        value: the value.
        scope: the body that it is a value of.
        partly: gets the models that have their parameters, and no other values.
        depth: how many values it was followed through.
    """
    flow = context.flow
    if value is None or depth > 8:
        return False
    if isinstance(value, Item) and isinstance(value.base, Changed):  # an entry of a dict
        made = flow.resolve(flow.here(value, scope)).value
        home = context.bodies.home(made.node) if isinstance(made, Call) else None
        return home is scope and _abstract(context, made, scope, partly, depth + 1)
    if isinstance(value, Item):
        return _abstract_part(context, value, scope, partly, depth)
    if isinstance(value, Attr):
        return _abstract_field(context, value, scope, partly, depth)
    if not isinstance(value, Call) or value.starred:
        return False
    name = flow.calls.callee_name(flow.here(value, scope))
    if name == "flax.nnx.eval_shape":
        filled = _filling(context, scope, value, leaving=depth > 0)
        if filled is Filling.PARAMETERS and _keeps_averages(context, value, scope):
            partly.append(value)
            return True
        return filled is Filling.NOTHING
    if name == "flax.nnx.merge":
        return len(value.args) > 1 and all(
            _abstract(context, one, scope, partly, depth + 1) and not _filled(context, one, scope)
            for one in value.args[1:]
        )
    if name == "flax.nnx.state":
        return bool(value.args) and _abstract(context, value.args[0], scope, partly, depth + 1)
    function = None if name else _function(context, value, scope)
    return (
        function is not None
        and len(function.returns) == 1
        and _abstract(context, function.returns[0], function.scope, partly, depth + 1)
    )


def _filled(context: Context, state: Value, scope: Scope) -> bool:
    """Say whether arrays are put into an abstract state where it is."""
    return any(
        event.value.args[:1] == (state,)
        for event in context.bodies.named("replace_by_pure_dict", "restore_int_paths", "update")
        if event.scope is scope
    )


def _function(context: Context, value: Call, scope: Scope) -> FunctionFacts | None:
    """Return the plain function of the project that a call calls, if there is just one."""
    called = context.flow.resolve(context.flow.here(value.callee, scope))
    if isinstance(called.value, Function):
        return called.value.facts if not called.value.facts.generator else None
    if not isinstance(called.value, Attr):
        return None
    methods = {one.function for one in context.flow.calls.callables(called) if not one.gradient}
    method = methods.pop() if len(methods) == 1 else None
    return method if method is not None and not method.generator and not method.decorators else None


def _abstract_part(context: Context, value: Item, scope: Scope, partly: list[Value], depth: int) -> bool:
    """Say whether a part of what a call gives is abstract."""
    index = value.index.value if isinstance(value.index, Const) else None
    if not isinstance(value.base, Call) or not isinstance(index, int | str) or value.base.starred:
        return False
    name = context.flow.calls.callee_name(context.flow.here(value.base, scope))
    if name == "flax.nnx.split":
        return (
            isinstance(index, int)
            and index > 0
            and bool(value.base.args)
            and _abstract(context, value.base.args[0], scope, partly, depth + 1)
        )
    function = None if name else _function(context, value.base, scope)
    if function is None or len(function.returns) != 1:
        return False
    given = function.returns[0]
    if isinstance(given, Mapping):
        held = [item for key, item in given.items if isinstance(key, Const) and key.value == index]
        return len(held) == 1 and _abstract(context, held[0], function.scope, partly, depth + 1)
    return (
        isinstance(given, Sequence)
        and isinstance(index, int)
        and 0 <= index < len(given.items)
        and _abstract(context, given.items[index], function.scope, partly, depth + 1)
    )


def _abstract_field(context: Context, value: Attr, scope: Scope, partly: list[Value], depth: int) -> bool:
    """Say whether an attribute of ``self`` only ever gets something abstract, which no method fills in."""
    function = scope.function
    if function is None or function.owner is None or value.base is not function.self_param:
        return False
    stores = function.owner.stores.get(value.name, [])
    if not stores or len(stores) != len(context.flow.fields.stores().get(value.name, ())):
        return False
    if not all(_abstract(context, stored, method.scope, partly, depth + 1) for method, stored in stores):
        return False
    if any(
        isinstance(event.base, Attr) and event.base.name == value.name and event.node.attr not in _MODES
        for event in context.project.attributes()
    ):
        return False
    return not any(
        isinstance(node, ast.Attribute) and node.attr == value.name and not _looks(context, call, given)
        for call in context.project.calls()
        for node, given in zip(call.node.args, call.value.args, strict=False)
    )


def _handed_on(context: Context, maker: CallEvent, call: CallEvent) -> bool:
    """Say whether something may have filled an abstract model in before it is called."""
    for event in context.bodies.calls.get(maker.scope, ()):
        given = event.value.given
        if event.node is not call.node and maker is not call and any(value is maker.value for value in given):
            if _looks(context, event, maker.value):
                continue
            name = context.flow.calls.callee_name(context.flow.here(event.value, event.scope))
            if not name.startswith("flax.nnx.") or name == "flax.nnx.update":
                return True
        func = event.node.func
        if event is not maker and isinstance(func, ast.Attribute) and func.attr in _FILLING:
            return True
    return any(
        isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
        for node in context.bodies.nodes(maker.scope)
    )


def _looks(context: Context, event: CallEvent, model: Value) -> bool:
    """Say whether a function of the project that gets a model does nothing to it but to read its shapes."""
    function = _function(context, event.value, event.scope)
    if function is None or event.value.starred or function.owner is not None or function.vararg:
        return False
    names = {n for n in function.params if event.value.argument(list(function.params).index(n), n) is model}
    readers = {
        argument
        for inner in context.bodies.calls.get(function.scope, ())
        if last_word(inner.node.func) in _READING
        for argument in (*inner.node.args, *(k.value for k in inner.node.keywords))
    }
    return bool(names) and not any(
        isinstance(node, ast.Name) and node.id in names and node not in readers for node in ast.walk(function.node)
    )


_MODES = frozenset({"eval", "train"})
_READING = frozenset({"state", "split", "graphdef", "tabulate", "display", "print", "len", "leaves", "variables"})


RULE = lint_rule(
    "NNX877",
    "abstract-called",
    "a model that nnx.eval_shape made is called without weights",
    why="""\
`nnx.eval_shape` runs a constructor without computing anything: the variables hold `jax.ShapeDtypeStruct`s. Such a model
tells shapes, to restore a checkpoint for example; it has to be given arrays before it is called.
A module of Linen in `nnx.bridge.ToNNX` has no weights at all before `nnx.bridge.lazy_init` has run it on an example,
which has to be before its optimizer is made.
""",
    source="Flax guide on checkpoints; measured on Flax 0.10.7 and 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx

model = nnx.eval_shape(lambda: nnx.Linear(4, 2, rngs=nnx.Rngs(0)))
print(model(jnp.ones((1, 4))))
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


def restored(state):
    model = nnx.eval_shape(lambda: nnx.Linear(4, 2, rngs=nnx.Rngs(0)))
    nnx.update(model, state)
    return model(jnp.ones((1, 4)))
""",
    ),
)
