"""NNX861: a layer replaced behind the optimizer's back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.conditions import apart
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import callers_of, foreign, in_test, kinds_of, passed
from codemods.nnx.lint.traced import root_param
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Item, Param, Sequence, Value

_OPTIMIZERS = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})
_HELPERS = 3  # functions that hand on an optimizer


def _check(context: Context) -> Iterator[Finding]:
    made: dict[Scope, list[tuple[CallEvent, Value]]] = {}
    for event, name in foreign(context, "Optimizer", "ModelAndOptimizer", everywhere=True):
        model = event.value.argument(0, "model")
        if name in _OPTIMIZERS and model is not None and not event.value.starred:
            made.setdefault(event.scope, []).append((event, model))
    for event, model in _of_optax(context):
        made.setdefault(event.scope, []).append((event, model))
    if not made:
        return
    helped = _through_helpers(context, made)
    stores = [e for e in context.project.attributes() if isinstance(e.stored, Call) and not _own(e)]
    replacing: dict[FunctionFacts, list[AttrEvent]] = {}
    for store in stores:
        if (store.scope not in made and root_param(store.base) is None) or not _constructed(store):
            continue
        if not _replaces(context, store):
            continue
        for event, model in made.get(store.scope, ()):
            if event.node.lineno < store.node.lineno and _inside(store.base, model) and not in_test(store.scope):
                if (event in helped or event.loops) and not _goes_on(
                    context, made, event, store.statement, helped.get(event)
                ):
                    continue
                if not _made_again(context, made, store.scope, model, store.node.lineno):
                    yield _found(store.scope, store.node, event)
                    break
        first = _made_in_constructor(context, made, store)
        if first is not None and not in_test(store.scope) and not _remade(context, made, store.scope):
            yield _found(store.scope, store.node, first)
        param = root_param(store.base)
        if param is not None and param.function is store.scope.function:
            replacing.setdefault(param.function, []).append(store)
    for store in _of_methods(context):
        assert store.scope.function is not None
        replacing.setdefault(store.scope.function, []).append(store)
    for function, changes in replacing.items():
        for caller in callers_of(context, function):
            first = _made_elsewhere(context, made, caller, _given(caller, changes[0]))
            if first is not None:
                yield _found(caller.scope, caller.node, first)
            for event, model in made.get(caller.scope, ()):
                if event.node.lineno >= caller.node.lineno or in_test(caller.scope) or event.scope is not caller.scope:
                    continue
                if (event in helped or event.loops or _own(changes[0])) and not _goes_on(
                    context, made, event, caller.statement, helped.get(event)
                ):
                    continue
                given = _given(caller, changes[0])
                paths = context.bodies.paths(caller.scope)
                if (
                    given is not None
                    and _inside(given, model)
                    and not _made_again(context, made, caller.scope, model, caller.node.lineno)
                ):
                    if not apart(paths.get(event.node, ()), paths.get(caller.node, ()), caller.scope.node):
                        yield _found(caller.scope, caller.node, event)


def _made_elsewhere(
    context: Context, made: dict[Scope, list[tuple[CallEvent, Value]]], caller: CallEvent, model: Value | None
) -> CallEvent | None:
    """Return the optimizer that the constructor, or the function that gave a model, had made for it before."""
    if model is None or in_test(caller.scope) or caller.scope in made:
        return None
    if isinstance(model, Attr):
        return _of_constructor(context, made, caller.scope, model) if not _remade(context, made, caller.scope) else None
    if not isinstance(model, Item) or not isinstance(model.base, Call):
        return None
    flow, setup = context.flow, model.base
    held = flow.resolve(flow.here(model, caller.scope)).value
    makers = [one.function for one in flow.calls.callables(flow.here(setup.callee, caller.scope))]
    others = [event for event in context.bodies.calls.get(caller.scope, ()) if event.value is not setup]
    if len(makers) != 1 or any(_makes(context, made, event) for event in others):
        return None
    return next(
        (e for e, own in made.get(makers[0].scope, ()) if flow.resolve(flow.here(own, e.scope)).value is held), None
    )


def _made_in_constructor(
    context: Context, made: dict[Scope, list[tuple[CallEvent, Value]]], store: AttrEvent
) -> CallEvent | None:
    """Return the optimizer that the constructor of a class makes for the model whose layer a method replaces."""
    return _of_constructor(context, made, store.scope, store.base) if isinstance(store.base, Attr) else None


def _of_constructor(
    context: Context, made: dict[Scope, list[tuple[CallEvent, Value]]], scope: Scope, base: Attr
) -> CallEvent | None:
    """Return the optimizer that the constructor makes for a model which is an attribute, or for what holds it."""
    function = scope.function
    if function is None or function.owner is None or function.name == "__init__":
        return None
    while isinstance(base.base, Attr):
        base = base.base
    init = function.owner.methods.get("__init__")
    if init is None or base.base is not function.self_param:
        return None
    early = [e.node.lineno for e in context.bodies.calls.get(init.scope, ()) if last_word(e.node.func) == function.name]
    for event, model in made.get(init.scope, ()):
        if any(line < event.node.lineno for line in early):
            continue
        if isinstance(model, Attr) and model.base is init.self_param and model.name == base.name:
            return event
        if any(value == model for _, value in function.owner.stores.get(base.name, ())):
            return event
    return None


def _remade(context: Context, made: dict[Scope, list[tuple[CallEvent, Value]]], scope: Scope) -> bool:
    """Say whether a method makes an optimizer, itself or through a function that it calls."""
    if scope in made:
        return True
    return any(_makes(context, made, event) for event in context.bodies.calls.get(scope, ()))


def _makes(context: Context, made: dict[Scope, list[tuple[CallEvent, Value]]], event: CallEvent) -> bool:
    """Say whether a call is one of a function that makes an optimizer."""
    called = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
    return any(callee.function.scope in made for callee, _ in called)


def _constructed(store: AttrEvent) -> bool:
    """Say whether what is stored looks like a new module, before that is asked."""
    assert isinstance(store.stored, Call)
    func = store.stored.node.func
    word = last_word(func)
    return word[:1].isupper() or word.startswith(("make", "build", "create", "new"))


def _own(store: AttrEvent) -> bool:
    """Say whether an object puts something into itself."""
    return store.scope.function is not None and store.base is store.scope.function.self_param


def _found(scope: Scope, node: ast.AST, event: CallEvent) -> Finding:
    return finding(
        RULE.code,
        scope,
        node,
        f"the optimizer of line {event.node.lineno} was made for the layer that is replaced here",
        "replace the layer first, and make the optimizer behind it",
    )


def _replaces(context: Context, store: AttrEvent) -> bool:
    """Say whether a store puts a new module into another one."""
    assert store.stored is not None
    return Kind.MODULE in kinds_of(context, store.stored, store.scope) and Kind.MODULE in kinds_of(
        context, store.base, store.scope
    )


def _inside(base: Value, model: Value) -> bool:
    """Say whether a value is the model, or a part of it."""
    while True:
        if base == model:
            return True
        if not isinstance(base, Attr):
            return False
        base = base.base


def _made_again(
    context: Context, made: dict[Scope, list[tuple[CallEvent, Value]]], scope: Scope, model: Value, line: int
) -> bool:
    """Say whether a scope makes another optimizer of a model, or of what a function gave back for it, behind a line."""
    flow = context.flow
    later = [other for event, other in made.get(scope, ()) if event.node.lineno > line]
    if any(other == model for other in later):
        return True
    first = {one.value for one in context.sources.originals(flow.here(model, scope))} if later else set()
    return any(first & {one.value for one in context.sources.originals(flow.here(other, scope))} for other in later)


def _of_optax(context: Context) -> Iterator[tuple[CallEvent, Value]]:
    """Yield where optax makes its state for what ``nnx.state`` selects of a model, with the model."""
    for event in context.bodies.named("init"):
        callee = event.value.callee
        given = event.value.args[0] if len(event.value.args) == 1 else None
        if not isinstance(given, Call) or last_word(given.node.func) != "state" or not isinstance(callee, Attr):
            continue
        if not given.args or context.flow.calls.callee_name(context.flow.here(given, event.scope)) != "flax.nnx.state":
            continue
        if kinds_of(context, callee.base, event.scope) == {Kind.TRANSFORM}:
            yield event, given.args[0]


def _through_helpers(context: Context, made: dict[Scope, list[tuple[CallEvent, Value]]]) -> dict[CallEvent, int | None]:
    """Add the calls of functions that give back an optimizer of the model that they are given, or give back beside it.

    They are returned, too, with the place of the optimizer in the tuple that they give; None for no tuple.
    """
    found: dict[CallEvent, int | None] = {}
    pending = [one for several in made.values() for one in several]
    for _ in range(_HELPERS):
        calls: list[tuple[CallEvent, Value]] = []
        places: dict[CallEvent, set[int | None]] = {}
        for event, model in pending:
            function = event.scope.function
            if function is None:
                continue
            if not any(_gives(one, event.value) for one in function.returns) and not _kept(function, event.value):
                continue
            place = None if isinstance(model, Param) else _place(function, model)
            if place is None and (not isinstance(model, Param) or model.function is not function):
                continue
            if model is function.self_param:
                continue
            for caller in callers_of(context, function):
                if isinstance(model, Param):
                    given = None if caller.value.starred else passed(caller, model)
                else:
                    given = Item(caller.value, Const(place))
                if given is not None and caller not in found:
                    calls.append((caller, given))
                    places.setdefault(caller, set()).add(_place(function, event.value))
        for caller, given in calls:
            made.setdefault(caller.scope, []).append((caller, given))
        found |= {caller: next(iter(several)) if len(several) == 1 else None for caller, several in places.items()}
        pending = [one for one in calls if not _constructs(context, one[0])]
    return found


def _place(function: FunctionFacts, value: Value) -> int | None:
    """Return at which place of the tuple that a function gives back a value is."""
    returned = function.returns[0] if len(function.returns) == 1 else None
    return returned.items.index(value) if isinstance(returned, Sequence) and value in returned.items else None


def _gives(returned: Value, made: Value) -> bool:
    """Say whether a function returns what was made in it, also as a part of a tuple."""
    return returned is made or (isinstance(returned, Sequence) and any(one is made for one in returned.items))


def _of_methods(context: Context) -> Iterator[AttrEvent]:
    """Yield where a method always replaces a layer that the constructor of its class makes."""
    for store in context.project.attributes():
        function = store.scope.function
        if not isinstance(store.stored, Call) or not _own(store) or function is None or function.owner is None:
            continue
        if function.name.startswith("__") or store.context != "store" or not _constructed(store):
            continue
        first = [value for method, value in function.owner.stores.get(store.node.attr, ()) if method.name == "__init__"]
        if not first or context.bodies.paths(store.scope).get(store.statement):
            continue
        if (
            Kind.MODULE in kinds_of(context, store.stored, store.scope)
            and "flax.nnx.Module" in (context.flow.classes.mro(function.owner)[1])
        ):
            yield store


def _constructs(context: Context, event: CallEvent) -> bool:
    """Say whether a call makes an object of a class of the project."""
    return context.flow.classes.class_of(context.flow.here(event.value, event.scope)) is not None


def _kept(function: FunctionFacts, made: Value) -> set[str]:
    """Return the attributes in which a constructor alone keeps what is made in it."""
    if function.name != "__init__" or function.owner is None:
        return set()
    stores = function.owner.stores.items()
    return {name for name, stored in stores if len(stored) == 1 and stored[0] == (function, made)}


def _goes_on(
    context: Context,
    made: dict[Scope, list[tuple[CallEvent, Value]]],
    event: CallEvent,
    change: ast.stmt,
    place: int | None,
) -> bool:
    """Say whether the optimizer that a call gives, at a place of a tuple, is used behind a statement by a name."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node:
        return False
    cls = context.flow.classes.class_of(context.flow.here(event.value, event.scope))
    if cls is not None:
        return _trains_on(context, made, event, change, cls)
    targets = list(statement.targets)
    if place is not None and len(targets) == 1 and isinstance(targets[0], ast.Tuple) and place < len(targets[0].elts):
        targets = [targets[0].elts[place]]
    names = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    attributes = any(isinstance(n, ast.Attribute) for target in targets for n in ast.walk(target))
    uses = (use for name in names for use in context.bodies.names(event.scope).get(name, ()))
    return attributes or any(isinstance(n.ctx, ast.Load) and n.lineno > change.lineno for n in uses)


def _trains_on(
    context: Context,
    made: dict[Scope, list[tuple[CallEvent, Value]]],
    event: CallEvent,
    change: ast.stmt,
    cls: ClassFacts,
) -> bool:
    """Say whether a method that uses the optimizer of an object is called behind a statement, and none makes another.

    Args:
        context: the analysis.
        made: the optimizers of each body.
        event: the call that makes the object, whose constructor makes the optimizer.
        change: the statement.
        cls: the class of the object.
    """
    init, statement = cls.methods.get("__init__"), event.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if init is None or not isinstance(target, ast.Name):
        return False
    names = {name for one, _ in made.get(init.scope, ()) for name in _kept(init, one.value)}
    used = False
    for call in context.bodies.calls.get(event.scope, ()):
        func = call.node.func
        if call.node.lineno <= change.lineno or not isinstance(func, ast.Attribute):
            continue
        if _makes(context, made, call):
            return False
        if isinstance(func.value, ast.Name) and func.value.id == target.id:
            used |= bool(names & _read(context, cls, func.attr, set()))
    return used


def _read(context: Context, cls: ClassFacts, name: str, seen: set[str]) -> set[str]:
    """Return the attributes that a method of a class, and those that it names, read."""
    method = context.flow.classes.method(cls, name)
    if method is None or name in seen:
        return set()
    seen.add(name)
    found = {n.attr for n in ast.walk(method.node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)}
    return found.union(*(_read(context, cls, one, seen) for one in found))


def _given(caller: CallEvent, change: AttrEvent) -> Value | None:
    """Return what a call gives for the parameter whose layer the function replaces."""
    param = root_param(change.base)
    if param is None or caller.value.starred:
        return None
    if param is param.function.self_param:
        return caller.value.callee.base if _own(change) and isinstance(caller.value.callee, Attr) else None
    return passed(caller, param)


RULE = lint_rule(
    "NNX861",
    "layer-behind-optimizer",
    "a layer is replaced after the optimizer was made for the model",
    why="""\
`nnx.Optimizer` makes its moments for the parameters that the model has when it is constructed. A head that is replaced
afterwards has parameters of other shapes and names: the first update raises an error about mismatched trees, or goes on
with the moments of the old layer.
""",
    source="flax issue 1065, which replaces a head; measured on Flax 0.10.7 and 0.12.8: an error at the first update",
    check=_check,
    bad=(
        """\
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(4, 8, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)


def finetune(rngs):
    model = Net(rngs)
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    model.head = nnx.Linear(8, 10, rngs=rngs)
    return model, optimizer
""",
    ),
    clean=(
        """\
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(4, 8, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)


def finetune(rngs):
    model = Net(rngs)
    model.head = nnx.Linear(8, 10, rngs=rngs)
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    return model, optimizer
""",
    ),
)
