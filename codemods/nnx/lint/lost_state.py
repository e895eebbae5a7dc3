"""NNX811: a step on a merged object that does not give its new state back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.changed_by_call import changed_by_call
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.dropped_state import (
    dropped_changes,
    dropped_states,
    unwritten_parameters,
    unwritten_states,
)
from codemods.nnx.lint.lax_control_flow import draws as keeps_statistics
from codemods.nnx.lint.modes import trains_at
from codemods.nnx.lint.places import foreign, in_test, kinds_of, shown
from codemods.nnx.lint.pure_states import may_be_pure
from codemods.nnx.lint.returned_cache import returned_caches
from codemods.nnx.lint.syntax import taken_apart
from codemods.nnx.lint.traced import Root
from codemods.nnx.lint.unmapped_statistics import averages
from codemods.nnx.nodes import last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Attr, Call, Const, Free, Item, Param, Value

# where a file speaks of these, the mode of a module may be set elsewhere
_MODES = (b".eval(", b"deterministic", b"use_running_average", b"set_attributes", b".view(")


def _check(context: Context) -> Iterator[Finding]:
    for dropped, message, help in (
        *dropped_states(context),
        *dropped_changes(context),
        *unwritten_states(context),
        *unwritten_parameters(context),
    ):
        yield finding(RULE.code, dropped.scope, dropped.node, message, help)
    for event, node, word in returned_caches(context):
        yield finding(
            RULE.code,
            event.scope,
            node,
            f"the copy fills its own cache, and `{word}` goes back as it came: the next token sees none before it",
            "return nnx.state(model, nnx.Cache) of the merged model",
        )
    for event, name in foreign(context, "merge"):
        function = event.scope.function
        if name != "flax.nnx.merge" or function is None or isinstance(function.node, ast.Lambda):
            continue
        outer = _compiled(context, function)
        alone = outer is None and _loss_alone(context, function)
        if outer is None and not alone:
            yield from _drawing_copies(context, event, function)
            continue
        names = _targets(event)
        calls = context.bodies.calls[event.scope]
        change = None if alone else next((e for e in calls if _changes(context, e, names)), None)
        if change is not None and any(last_word(e.node.func) == "compute" for e in calls):
            tracing = context.traced.get(function)
            if tracing is not None and all(root.transform.startswith("jax.lax.") for root in tracing.roots):
                continue  # a metric of each round by itself
        if change is None:
            change = _trained(context, event, calls, names, alone)
        if change is not None and not context.options.crosses("0.11") and _shared(context, event, function):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "this merges Variables from outside of the gradient, and the model changes them: TraceContextError",
                "merge a copy, nnx.merge(..., copy=True), and return its state with has_aux=True",
                related=[(change.node, "changed here")],
            )
        elif change is not None and not _given_back(context, function, names | _merged(context, event)):
            yield finding(
                RULE.code,
                event.scope,
                change.node,
                f"the change is lost: {shown(function)} works on merged copies and does not return their state",
                "return nnx.state(...) of the merged objects as well",
            )
        elif change is not None:
            for scope, variable in _unread(context, function):
                yield finding(
                    RULE.code,
                    scope,
                    variable,
                    f"the state that {shown(function)} gives back goes no further: every step begins with the first",
                    "return it from the step as well, and give it to the next one",
                )


def _drawing_copies(context: Context, event: CallEvent, function: FunctionFacts) -> Iterator[Finding]:
    """Yield the merges, in a loss that JAX differentiates, of streams from outside that dropout draws from."""
    if context.options.crosses("0.11") or context.options.beyond("0.11") or not _alone(context, function):
        return
    if in_test(event.scope) or _sets_modes(context, event) or not _shared(context, event, function):
        return
    names = _targets(event)
    for call in context.bodies.calls[event.scope]:
        func = call.node.func
        if call.node.keywords or not (func is event.node or (isinstance(func, ast.Name) and func.id in names)):
            continue
        made = context.flow.resolve(context.flow.here(call.value.callee, call.scope))
        sources = list(context.sources.originals(made))
        if sources and all(_draws_always(context, one) for one in sources):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "this merges streams from outside of the gradient, and dropout draws from them: TraceContextError",
                "merge a copy, nnx.merge(..., copy=True), and return its state with has_aux=True",
                related=[(call.node, "drawn here")],
            )
            return


def _draws_always(context: Context, made: Bound) -> bool:
    """Say whether a module has layers with streams of their own, which each call of it draws from or writes to."""
    cls = context.flow.classes.class_of(made)
    if cls is None:
        return keeps_statistics(context, made, keeping=True) or _attends_with_dropout(context, made)
    method = context.flow.classes.method(cls, "__call__")
    called = {
        event.value.callee.name
        for event in context.bodies.calls.get(method.scope, ())
        if isinstance(event.value.callee, Attr)
        and event.value.callee.base is method.self_param
        and not event.node.keywords
        and not event.value.starred
        and event.node in _certain_calls(context, method)
    } if method is not None else set()  # fmt: skip
    for parent in context.flow.classes.mro(cls)[0]:
        for name in called & set(parent.stores):
            stores = parent.stores[name]
            held = [context.flow.resolve(context.flow.here(value, maker.scope)) for maker, value in stores]
            if all(keeps_statistics(context, one, keeping=True) or _attends_with_dropout(context, one) for one in held):
                return True
    return False


def _certain_calls(context: Context, method: FunctionFacts) -> set[ast.AST]:
    """Return the calls of a method that every run of it makes."""
    paths = context.bodies.paths(method.scope)
    return {event.node for event in context.bodies.calls.get(method.scope, ()) if not paths.get(event.node, ())}


def _attends_with_dropout(context: Context, made: Bound) -> bool:
    """Say whether a layer is an attention with dropout that keeps a stream for it."""
    if not isinstance(made.value, Call) or context.flow.calls.callee_name(made) != "flax.nnx.MultiHeadAttention":
        return False
    words = {name for name, _ in made.value.keywords}
    if made.value.starred or words & {None, "deterministic", "keep_rngs", "rngs_collection"} or "rngs" not in words:
        return False
    rate = made.value.keyword("dropout_rate")
    return isinstance(rate, Const) and isinstance(rate.value, float) and rate.value > 0


def _unread(context: Context, function: FunctionFacts) -> Iterator[tuple[Scope, ast.Name]]:
    """Yield the variables that get the state which a loss returns beside its value, and that nobody reads."""
    returned = [n.value for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
    if len(returned) != 1 or not isinstance(returned[0], ast.Tuple):
        return
    for event, name in foreign(context, "grad", "value_and_grad", everywhere=True):
        options = event.value.keyword("has_aux")
        if name not in GRADIENTS or not isinstance(options, Const) or options.value is not True or not event.value.args:
            continue
        callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
        if [callee.function for callee in callees] != [function]:
            continue
        for call in context.bodies.calls.get(event.scope, ()):
            target = call.statement.targets[0] if isinstance(call.statement, ast.Assign) else None
            if call.value.callee is not event.value or call.statement.value is not call.node:  # type: ignore[attr-defined]
                continue
            if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
                continue
            values = target.elts[0] if name.endswith("value_and_grad") else ast.Tuple([ast.Name(""), target.elts[1]])
            for variable in _states(values, returned[0]):
                if not _loaded(call.scope, variable.id) and _steps(context, call.scope):
                    yield call.scope, variable


def _states(target: ast.expr, node: ast.expr) -> Iterator[ast.Name]:
    """Yield the variables among targets that get the states among what is returned."""
    for one, given in taken_apart(target, node):
        if isinstance(one, ast.Name) and _makes_state(given):
            yield one


def _steps(context: Context, scope: Scope) -> bool:
    """Say whether a function that findings are wanted for takes a step of an optimizer."""
    words = (last_word(event.node.func) for event in context.bodies.calls.get(scope, ()))
    return scope.module in context.asked and any(
        word in {"update", "apply_updates", "apply_gradients"} for word in words
    )


def _loaded(scope: Scope, name: str) -> bool:
    """Say whether a variable is read in a function, also by the functions in it."""
    nodes = ast.walk(scope.node)
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in nodes)


def _compiled(context: Context, function: FunctionFacts) -> FunctionFacts | None:
    """Return the function that JAX compiles: this one, or one around it of which this one is the loss."""
    inner: FunctionFacts | None = function
    while inner is not None:
        tracing = context.traced.get(inner)
        if tracing is not None and any(root.transform in _COMPILING for root in tracing.roots):
            return inner
        inner = enclosing_function(inner.scope.parent)
        if inner is not None and not _is_loss(context, inner, function):
            return None
    return None


_COMPILING = frozenset({"jax.jit", "jax.pmap", "jax.lax.scan", "jax.lax.fori_loop"})


def _is_loss(context: Context, outer: FunctionFacts, function: FunctionFacts) -> bool:
    """Say whether a function differentiates another one that is defined in it."""
    for event in context.bodies.calls.get(outer.scope, ()):
        if event.value.args and context.flow.calls.name(event) in GRADIENTS:
            callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
            if any(callee.function is function for callee in callees):
                return True
    return False


def _loss_alone(context: Context, function: FunctionFacts) -> bool:
    """Say whether JAX differentiates a function, or what calls it, which no traced function is around, and batch
    statistics occur."""
    if not function.scope.module.source.mentions(b"BatchNorm") and not context.shared(_averages_elsewhere):
        return False
    return _alone(context, function) or any(_alone(context, caller) for caller in _callers(context, function))


def _alone(context: Context, function: FunctionFacts) -> bool:
    outer = enclosing_function(function.scope.parent)
    return (outer is None or outer not in context.traced) and any(
        root.function is function for root in context.traced.gradients
    )


def _callers(context: Context, function: FunctionFacts) -> Iterator[FunctionFacts]:
    """Yield the functions that call a helper."""
    for event in context.flow.sites.callers(function):
        if event.scope.function is not None and event.scope.function is not function:
            yield event.scope.function


def _averages_elsewhere(context: Context) -> bool:
    """Say whether a project has batch statistics, and nothing in it sets modes."""
    texts = [module.source.data for module in context.project.modules]
    return any(b"BatchNorm" in text for text in texts) and not any(word in text for text in texts for word in _MODES)


def _shared(context: Context, event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a differentiated function merges states that come from outside, without a copy of them."""
    roots = [root for root in context.traced.gradients if root.function is function]
    copied = event.value.keyword("copy")
    if not roots or event.value.starred or len(event.value.args) < 3:
        return False
    if copied is not None and not (isinstance(copied, Const) and copied.value is False):
        return False
    return any(
        _outer(value, function, roots) and not may_be_pure(context, value, event.scope)
        for value in event.value.args[1:]
    )


def _outer(value: Value, function: FunctionFacts, roots: list[Root]) -> bool:
    """Say whether a value, or what it is a part of, comes from outside, and the gradient is not taken of it."""
    while isinstance(value, Item | Attr):
        value = value.base
    return (isinstance(value, Free) and value.scope is not function.scope) or (
        isinstance(value, Param) and value.function is function and all(value.name in root.static for root in roots)
    )


def _trained(
    context: Context, event: CallEvent, calls: list[CallEvent], names: set[str], alone: bool
) -> CallEvent | None:
    """Return the call of a merged model that runs in training mode and changes its statistics."""
    training = any(
        isinstance(e.node.func, ast.Attribute)
        and e.node.func.attr == "train"
        and isinstance(e.node.func.value, ast.Name)
        and e.node.func.value.id in names
        for e in calls
    )
    if not training:
        if _sets_modes(context, event):
            return None
        function = event.scope.function
        if function is None:
            return None
        if not _differentiated(context, event) and not _loss_alone(context, function):
            return None
    for call in calls:
        func = call.node.func
        if func is event.node or (isinstance(func, ast.Name) and func.id in names):
            made = context.flow.resolve(context.flow.here(call.value.callee, call.scope))
            sources = list(context.sources.originals(made))
            if any(averages(context, one) if alone else keeps_statistics(context, one) for one in sources):
                return call
            if sources and all(context.flow.calls.callee_name(source) == "flax.nnx.merge" for source in sources):
                if context.shared(_averaging):
                    return call
    return None


def _sets_modes(context: Context, event: CallEvent) -> bool:
    """Say whether a file may set the mode of a module elsewhere; that of a copy which another function merges is its
    own."""
    text = event.scope.module.source.data
    if any(word in text for word in _MODES if word != b".eval("):
        return True
    return (
        b".eval(" in text
        and not trains_at(context, event.node, event.scope)
        and not all(
            other.scope.module is not event.scope.module
            or (other.scope is not event.scope and _merged_here(context, other))
            or _split_before(context, event, other)
            for other in context.bodies.named("eval")
        )
    )


def _split_before(context: Context, event: CallEvent, mode: CallEvent) -> bool:
    """Say whether a model got its mode where it was split into what is merged, and behind that."""
    if not event.value.args:
        return False
    graphdef = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
    split = graphdef.base if isinstance(graphdef, Item) else graphdef
    if not isinstance(split, Call) or context.bodies.home(split.node) is not mode.scope:
        return False
    return split.node.lineno < mode.node.lineno and not mode.loops


def _merged_here(context: Context, event: CallEvent) -> bool:
    """Say whether a method is called of a copy that the same function makes."""
    func = event.node.func
    held = event.scope.module.values.get(func.value) if isinstance(func, ast.Attribute) else None
    if not isinstance(held, Call) or context.bodies.home(held.node) is not event.scope:
        return False
    return context.flow.calls.callee_name(context.flow.here(held, event.scope)) in _COPYING


_COPYING = frozenset({"flax.nnx.merge", "flax.nnx.clone"})


def _averaging(context: Context) -> bool:
    """Say whether all that the project splits are models that keep batch statistics, so that each merge gives one."""
    splits = [
        event
        for event, name in foreign(context, "split", everywhere=True)
        if name == "flax.nnx.split" and not in_test(event.scope)
    ]
    return bool(splits) and all(
        event.value.args
        and (sources := list(context.sources.originals(context.flow.here(event.value.args[0], event.scope))))
        and all(averages(context, source) for source in sources)
        for event in splits
    )


def _differentiated(context: Context, event: CallEvent) -> bool:
    """Say whether a function is a loss."""
    function = event.scope.function
    outer = enclosing_function(function.scope.parent) if function is not None else None
    return function is not None and outer is not None and _is_loss(context, outer, function)


def _targets(event: CallEvent) -> set[str]:
    """Return the names that the merged objects are assigned to."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node:
        return set()
    return {n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)}


def _merged(context: Context, event: CallEvent) -> set[str]:
    """Return the states that are merged: since Flax 0.11.2 the objects share their Variables, and change them, if
    they are no copies."""
    if event.value.keyword("copy") == Const(True):
        return set()
    values = event.scope.module.values
    given = ((node, values.get(node)) for node in event.node.args[1:] if isinstance(node, ast.Name))
    return {node.id for node, value in given if value is not None and not may_be_pure(context, value, event.scope)}


def _changes(context: Context, event: CallEvent, names: set[str]) -> bool:
    """Say whether a call updates a merged optimizer or metric, or one in what was merged."""
    func = event.node.func
    if changed_by_call(context, event, names):
        return True
    if event.used or not isinstance(func, ast.Attribute) or func.attr != "update":
        return False
    owner: ast.expr = func.value
    while isinstance(owner, ast.Attribute | ast.Subscript):
        owner = owner.value
    if not isinstance(owner, ast.Name) or owner.id not in names:
        return False
    kinds = kinds_of(context, event.scope.module.values[func.value], event.scope)
    return bool(kinds & {Kind.OPTIMIZER, Kind.METRIC}) or any(
        Kind.GRADIENT in kinds_of(context, value, event.scope) for value in event.value.args
    )


def _given_back(context: Context, function: FunctionFacts, names: set[str]) -> bool:
    """Say whether the function returns the objects, or a state of anything."""
    states: set[str] = set(names)
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Assign) and any(_makes_state(n) for n in ast.walk(node.value)):
            states |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        if isinstance(node, ast.Return) and node.value is not None:
            nodes = list(ast.walk(node.value))
            called = {n.func for n in nodes if isinstance(n, ast.Call)}
            if any((isinstance(n, ast.Name) and n.id in states and n not in called) or _makes_state(n) for n in nodes):
                return True
    return False


def _makes_state(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Call):
        return False
    func = node.func
    word = last_word(func)
    return word in {"state", "split", "pop", "to_tree", "pure", "as_pure", "to_pure_dict", "variables"}


RULE = lint_rule(
    "NNX811",
    "lost-functional-state",
    "a compiled step or the body of a loop of JAX merges objects, updates them and returns no state",
    why="""\
`nnx.merge` makes objects inside of the compiled function. What happens to them has to leave it as a state:
`return nnx.state((model, optimizer)), loss`; otherwise training goes nowhere without an error.
So have the averages of BatchNorm that a loss changes on a merged copy. Parameters that optax trains in a loop have to
be written back with `nnx.update`.
""",
    source="performance guide of Flax NNX (split at the end of the step); measured: constant loss",
    check=_check,
    bad=(
        """\
import jax
from flax import nnx


@jax.jit
def step(graphdef, state, x):
    model, optimizer = nnx.merge(graphdef, state)
    loss, grads = nnx.value_and_grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)
    return loss
""",
    ),
    clean=(
        """\
import jax
from flax import nnx


@jax.jit
def step(graphdef, state, x):
    model, optimizer = nnx.merge(graphdef, state)
    loss, grads = nnx.value_and_grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)
    return nnx.state((model, optimizer)), loss
""",
    ),
)
