"""NNX838: an optimizer's state that is made anew for every update."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.epochs import over_epochs
from codemods.nnx.lint.going_on import CARRIES, again_by_method, comes_from, goes_on
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import callers_of, in_test, kinds_of, passed, position, unchanged
from codemods.nnx.lint.state_of_epochs import another_each, carried, made_in_epochs
from codemods.nnx.lint.syntax import argument, names_in
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.values import Attr, Call, Item, Loop, Param, Value

_STATELESS = frozenset({"sgd", "scale", "identity", "set_to_zero", "sign_sgd"})


def _check(context: Context) -> Iterator[Finding]:
    told: set[ast.AST] = set()
    handed = ((event, True) for event, base in made_in_epochs(context) if _keeps(context, event, base))
    for event, of_epochs in (*_of_epochs(context), *handed):
        told.add(event.node)
        when, loop = (
            ("in every epoch", "the loop over the epochs") if of_epochs else ("with every call", "the loop around")
        )
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"the state of the optimizer is made anew {when}: its moments and its count begin again",
            f"make it once before {loop}, and hand it on",
        )
    for event, step in _handed_to_steps(context):
        if event.node not in told:
            told.add(event.node)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the state of the optimizer is made anew in every round: its moments and its count never grow",
                "make it once before the loop, and keep what the step gives",
                related=[(step.node, "used for this step only")],
            )
    for event in context.bodies.named("update"):
        callee = event.value.callee
        if event.scope.module not in context.asked or not isinstance(callee, Attr) or len(event.value.args) < 2:
            continue
        state = event.value.args[1]
        again = state.node if isinstance(state, Loop) and state.again is not None else None
        if isinstance(state, Loop):
            state = state.before
        if not isinstance(state, Call) or not isinstance(state.callee, Attr) or state.callee.name != "init":
            continue
        if (
            state.node in told
            or in_test(event.scope)
            or unchanged(state.callee.base) != unchanged(callee.base)
            or not state.args
        ):
            continue
        if kinds_of(context, callee.base, event.scope) != {Kind.TRANSFORM} or not _keeps(context, event, callee.base):
            continue
        made = next((e for e in context.bodies.calls.get(event.scope, ()) if e.value is state), None)
        if made is not None and again is not None:
            if _in_epoch(context, made, event, again):
                yield finding(
                    RULE.code,
                    event.scope,
                    state.node,
                    "the state of the optimizer is made anew in every epoch: its moments and its count begin again",
                    "make it once before the loop over the epochs",
                )
        elif made is not None and (
            _in_round(context, made, event) or _in_step(context, event, state) or _in_body(context, event, state)
        ):
            yield finding(
                RULE.code,
                event.scope,
                state.node,
                "the state of the optimizer is made anew for every update: its moments and its count never grow",
                "make it once before the loop, and keep what the update gives",
                related=[(event.node, "used for this update only")],
            )


def _of_epochs(context: Context) -> Iterator[tuple[CallEvent, bool]]:
    """Yield the states that a function makes for itself, which a loop calls with what it gave before.

    With each comes whether the loop goes over epochs; others go on with the same problem.
    """
    for event in context.bodies.named("init"):
        callee, function, statement = event.value.callee, event.scope.function, event.statement
        if event.scope.module not in context.asked or function is None or not isinstance(callee, Attr) or event.loops:
            continue
        params = event.value.args[0] if len(event.value.args) == 1 else None
        kept = isinstance(params, Attr) and _kept_by(event, params)
        if not kept and (not isinstance(params, Param) or params.function is not function):
            continue
        state = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
        if not isinstance(state, ast.Name) or in_test(event.scope) or _given_back(context, event, state.id):
            continue
        if kinds_of(context, callee.base, event.scope) != {Kind.TRANSFORM} or not _keeps(context, event, callee.base):
            continue
        several = _several(context, event)
        for caller in callers_of(context, function):
            if kept:
                if several and _remembers(context, event, callee.base) and again_by_method(context, caller):
                    yield event, False
                    break
                continue
            assert isinstance(params, Param)
            given = passed(caller, params)
            loop = caller.loops[-1] if caller.loops else None
            if over_epochs(loop) and isinstance(given, Loop) and given.again is not None and given.node is loop:
                if comes_from(given.again, caller.value):
                    yield event, True
                    break
            elif several and _remembers(context, event, callee.base) and goes_on(context, caller, params):
                yield event, False
                break


def _kept_by(event: CallEvent, params: Attr) -> bool:
    """Say whether a method optimizes an attribute of its object, and puts the result there."""
    function = event.scope.function
    owner = function.owner if function is not None else None
    if owner is None or function is None or params.base is not function.self_param:
        return False
    return any(method is function for method, _ in owner.stores.get(params.name, ()))


def _handed_to_steps(context: Context) -> Iterator[tuple[CallEvent, CallEvent]]:
    """Yield the states that a loop makes for one call of a step in every round, whose parameters go on, with the call.

    The step is ``params, state, ... = step(params, state, ...)``, in the same round of the loop.
    """
    for event in context.bodies.named("init"):
        callee, statement = event.value.callee, event.statement
        if event.scope.module not in context.asked or not isinstance(callee, Attr) or len(event.node.args) != 1:
            continue
        if not event.loops or in_test(event.scope) or not isinstance(statement, ast.Assign):
            continue
        state, params = statement.targets[0], event.node.args[0]
        given = carried(context, event.value.args[0], event)
        if isinstance(params, ast.Call) and given is not event.value.args[0] and params.args:
            params = params.args[0]  # the arrays of a model
        if not isinstance(state, ast.Name) or not isinstance(params, ast.Name) or given is None:
            continue
        if given.node is not event.loops[-1] or given.again is None or over_epochs(event.loops[-1]):
            continue
        if kinds_of(context, callee.base, event.scope) != {Kind.TRANSFORM} or not _remembers(
            context, event, callee.base
        ):
            continue
        for step in context.bodies.calls.get(event.scope, ()):
            names = {one.id for one in step.node.args if isinstance(one, ast.Name)}
            target = step.statement.targets[0] if isinstance(step.statement, ast.Assign) else None
            renewed = {one.id for one in elements(target) if isinstance(one, ast.Name)}
            if step.loops == event.loops and {state.id, params.id} <= names and {state.id, params.id} <= renewed:
                if comes_from(given.again, step.value):
                    yield event, step
                    break


def _several(context: Context, event: CallEvent) -> bool:
    """Say whether a function takes several steps: it has a loop of Python or of JAX."""
    return any(
        isinstance(n, ast.For | ast.While)
        or (isinstance(n, ast.Call) and last_word(n.func) in {"scan", "fori_loop", "while_loop"})
        for n in context.bodies.nodes(event.scope)
    )


def _remembers(context: Context, event: CallEvent, base: Value) -> bool:
    """Say whether a transformation is known to keep more than nothing, wherever it comes from."""
    sources = context.sources.originals(context.flow.here(base, event.scope))
    return bool(sources) and all(_counts(context, one) for one in sources)


def _counts(context: Context, source: Bound) -> bool:
    """Say whether a transformation of optax counts its steps or averages over them."""
    name = context.flow.calls.callee_name(source) if isinstance(source.value, Call) else ""
    if not isinstance(source.value, Call) or not name.startswith("optax."):
        return False
    if last(name) == "chain":
        parts = [one for given in source.value.given
                 for one in context.sources.originals(context.flow.with_value(source, given))]  # fmt: skip
        return any(_counts(context, one) for one in parts)
    if last(name) in _AVERAGING:
        return True
    if last(name) != "sgd":
        return False
    rate = source.value.argument(0, "learning_rate")
    rates = context.sources.originals(context.flow.with_value(source, rate)) if rate is not None else ()
    scheduled = any(
        isinstance(one.value, Call)
        and last(context.flow.calls.callee_name(one)).endswith(("schedule", "schedules", "decay"))
        for one in rates
    )
    return scheduled or source.value.argument(1, "momentum") is not None


_AVERAGING = frozenset(
    {"adam", "adamw", "rmsprop", "adagrad", "adadelta", "adafactor", "adamax", "adamaxw", "amsgrad", "lamb", "lion",
     "nadam", "nadamw", "radam", "yogi", "novograd", "adabelief", "adan", "scale_by_adam", "scale_by_schedule", "trace",
     "scale_by_rms", "lbfgs"}
)  # fmt: skip


def _given_back(context: Context, event: CallEvent, state: str) -> bool:
    """Say whether a function returns the state that it made, or decides whether it makes one."""
    returned = [n.value for n in context.bodies.nodes(event.scope) if isinstance(n, ast.Return) and n.value is not None]
    if any(state in names_in(one) for one in returned):
        return True
    return any(isinstance(block, ast.If) for block, _ in context.bodies.paths(event.scope).get(event.node, ()))


def _in_round(context: Context, made: CallEvent, update: CallEvent) -> bool:
    """Say whether both stand in the same round of a loop that goes on with the parameters of the round before."""
    loops = [loop for loop in made.loops if isinstance(loop, ast.For | ast.While)]
    if not loops or made.loops != update.loops:
        return False
    params = carried(context, made.value.args[0], made)
    return params is not None and params.node is loops[-1] and params.again is not None


def _in_epoch(context: Context, made: CallEvent, update: CallEvent, steps: ast.AST) -> bool:
    """Say whether a state is made in every epoch for the parameters of the one before, and kept in a loop of steps."""
    loops = made.loops
    if not loops or not over_epochs(loops[-1]) or update.loops[: len(loops) + 1] != (*loops, steps):
        return False
    params, callee = carried(context, made.value.args[0], made), made.value.callee
    if isinstance(callee, Attr) and another_each(callee.base, loops[-1]):
        return False
    return params is not None and params.node is loops[-1] and isinstance(params.again, Value)


def _in_step(context: Context, update: CallEvent, state: Call) -> bool:
    """Say whether both stand in a function that updates its argument once, and is called in loops with its result."""
    function = update.scope.function
    params = state.args[0]
    if function is None or update.loops or not isinstance(params, Param) or params.function is not function:
        return False
    if any(e.value.callee == update.value.callee and e is not update for e in context.bodies.calls[update.scope]):
        return False
    for event in callers_of(context, function):
        given = next((a for a in event.value.args if isinstance(a, Loop) and a.node in event.loops), None)
        if given is not None and given.again is not None and comes_from(given.again, event.value):
            return True
        if event.loops and _taken_back(event, params):
            return True
    return False


def _in_body(context: Context, update: CallEvent, state: Call) -> bool:
    """Say whether the body of a loop of jax.lax makes the state for its carry, or a part of that."""
    function, params = update.scope.function, state.args[0]
    while isinstance(params, Item):
        params = params.base
    if function is None or update.loops or not isinstance(params, Param) or params.function is not function:
        return False
    roots = [root for root in context.traced.roots if root.function is function and not root.partial]
    places = {CARRIES[root.transform] for root in roots if root.transform in CARRIES}
    return len(places) == 1 and position(params) == places.pop()


def _taken_back(event: CallEvent, params: Param) -> bool:
    """Say whether a call gives an attribute or entry for a parameter that gets its result, or a part of it."""
    statement = event.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
    kept = {ast.unparse(part) for part in elements(target) if isinstance(part, ast.Attribute | ast.Subscript)}
    given = argument(event.node, position(params), params.name)
    return given is not None and not event.value.starred and ast.unparse(given) in kept


def _keeps(context: Context, event: CallEvent, base: Value) -> bool:
    """Say whether a transformation keeps anything from update to update."""
    made = context.flow.resolve(context.flow.here(base, event.scope))
    name = context.flow.calls.callee_name(made) if isinstance(made.value, Call) else ""
    if last(name) in _STATELESS:
        return isinstance(made.value, Call) and (len(made.value.args) > 1 or bool(made.value.keywords))
    return True


RULE = lint_rule(
    "NNX838",
    "state-made-anew",
    "the state of an optax transformation is made anew for every update",
    why="""\
`tx.init(params)` gives moments of zero and a count of zero. Made anew before every update, Adam takes steps of the sign
of the gradient, momentum does nothing, and a schedule stays at its first step; the state has to be kept.
""",
    source="optax discussions; measured: steps of the size of the learning rate, whatever the gradient",
    check=_check,
    bad=(
        """\
import jax
import optax

tx = optax.adam(1e-3)


def train(params, batches, loss):
    for batch in batches:
        state = tx.init(params)
        updates, state = tx.update(jax.grad(loss)(params, batch), state, params)
        params = optax.apply_updates(params, updates)
    return params
""",
    ),
    clean=(
        """\
import jax
import optax

tx = optax.adam(1e-3)


def train(params, batches, loss):
    state = tx.init(params)
    for batch in batches:
        updates, state = tx.update(jax.grad(loss)(params, batch), state, params)
        params = optax.apply_updates(params, updates)
    return params


def adapted(params, tasks, loss):
    found = []
    for task in tasks:
        state = tx.init(params)
        updates, state = tx.update(jax.grad(loss)(params, task), state, params)
        found.append(optax.apply_updates(params, updates))
    return found
""",
    ),
)
