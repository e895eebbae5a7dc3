"""NNX871: what an optax transformation gives, and nobody keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.dropped_state import unwritten_parameters
from codemods.nnx.lint.gradients_unread import gradients_unread
from codemods.nnx.lint.idle_optimizer import given_to_nobody, trains_nothing
from codemods.nnx.lint.left_out_state import leaves_old_state
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test, kinds_of, position, taken
from codemods.nnx.lint.syntax import argument, names_in, outermost_loop
from codemods.nnx.lint.unread import unread
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Param, Sequence, Value

_STATELESS = frozenset(
    f"optax.{word}"
    for word in (
        "sgd", "sign_sgd", "scale", "identity", "set_to_zero", "clip", "clip_by_global_norm", "clip_by_block_rms",
        "adaptive_grad_clip", "keep_params_nonnegative", "centralize", "scale_by_sign", "scale_by_param_block_norm",
        "scale_by_param_block_rms", "scale_by_trust_ratio", "scale_by_learning_rate", "add_decayed_weights",
        "normalize_by_update_norm", "stateless", "stateless_with_tree_map",
    )
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    yield from _unread(context)
    for event, name in gradients_unread(context):
        message = f"`{name.id}` is never used: nothing is learned from these gradients"
        yield finding(RULE.code, event.scope, name, message, "give the gradients to the update")
    yield from _thrown_away(context)
    yield from _stepped(context)
    yield from _not_put_back(context)
    for event in context.bodies.unpacked:
        callee, statement = event.value.callee, event.statement
        if not 2 <= len(event.value.args) <= 3:
            continue
        if not isinstance(callee, Attr) or callee.name != "update":
            yield from _by_function(context, event)
            continue
        assert isinstance(statement, ast.Assign)
        target = statement.targets[0]
        if event.scope.module not in context.asked or in_test(event.scope):
            continue
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not _transforms(context, event, callee):
            continue
        updates, state = target.elts
        if _dropped(event, state) and _keeps(context, event, callee):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the new state of the optimizer is thrown away: every step starts from the first moments again",
                "keep it, and give it to the next update",
            )
            continue
        if event.scope.function is None and not _at_module_level(context, event, updates):
            continue
        if isinstance(updates, ast.Name) and (event.scope.function is None or not _read(event, updates.id)):
            if _averages(context, event, callee) or (not updates.id.strip("_") and _average_read(event, state)):
                continue
            if _of_nothing(context, event):
                continue
            yield finding(
                RULE.code,
                event.scope,
                updates,
                f"`{updates.id}` is never applied: {_instead(context, event)}",
                "params = optax.apply_updates(params, updates)",
            )
        elif event.scope.function is None:
            continue
        elif isinstance(state, ast.Name) and not _read(event, state.id) and _keeps(context, event, callee):
            yield finding(
                RULE.code,
                event.scope,
                state,
                "the new state of the optimizer is lost: every step starts from the first moments again",
                "keep it, and give it to the next update",
            )


def _at_module_level(context: Context, event: CallEvent, updates: ast.expr) -> bool:
    """Say whether a training loop of a module gives updates to a variable that nothing reads."""
    if not event.loops or not isinstance(updates, ast.Name) or not updates.id.strip("_"):
        return False
    reads = (n for n in ast.walk(event.scope.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    if any(n.id == updates.id for n in reads):
        return False
    return unread(context, event.scope, event.statement, [updates.id])


def _by_function(context: Context, event: CallEvent) -> Iterator[Finding]:
    """Yield the new state that nobody reads of the function ``update`` of a transformation, which stands in a variable:
    ``updates, new_state = opt_update(grads, opt_state)``."""
    statement, function = event.statement, event.scope.function
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(event.node.func, ast.Name) or not _UPDATE.search(event.node.func.id) or function is None:
        return
    if event.value.starred or len(event.node.args) < 2:
        return
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or event.scope.module not in context.asked:
        return
    state = target.elts[1]
    if not isinstance(state, ast.Name) or _read(event, state.id) or in_test(event.scope):
        return
    if _STATE.search(last_word(event.node.args[1])) and _given_back(event):
        yield finding(
            RULE.code,
            event.scope,
            state,
            "the new state of the optimizer is lost: every step starts from the first moments again",
            "return it, and give it to the next update",
        )


_UPDATE = pattern(r"^(opt|optimi[sz]er|tx)_?update(_?fn|_?func)?$")
_STATE = pattern(r"^(new_|prev_|old_)?(opt|optim|optimi[sz]er|optax)_?state$")


def _instead(context: Context, event: CallEvent) -> str:
    """Return what becomes of the parameters where the updates are not applied."""
    grads = event.node.args[0] if event.node.args else None
    for other in context.bodies.calls.get(event.scope, ()):
        if last_word(other.node.func) == "apply_updates" and isinstance(grads, ast.Name):
            if any(isinstance(one, ast.Name) and one.id == grads.id for one in other.node.args[1:]):
                return f"the gradients `{grads.id}` are"
    return "the parameters stay as they are"


def _averages(context: Context, event: CallEvent, callee: Attr) -> bool:
    """Say whether a transformation is only asked for its state: a moving average, or one that is given parameters."""
    made = context.sources.originals(context.flow.here(callee.base, event.scope))
    if any(isinstance(one.value, Call) and context.flow.calls.callee_name(one) == "optax.ema" for one in made):
        return True
    given = context.flow.follow(context.flow.here(event.value, event.scope), event.value.args[0])
    return isinstance(given.value, Call) and last(context.flow.calls.callee_name(given)) == "apply_updates"


def _of_nothing(context: Context, event: CallEvent) -> bool:
    """Say whether a transformation is given zeros, or what is called no true gradient, to make a state alone."""
    given = event.node.args[0]
    if _FAKE.search(ast.unparse(given)):
        return True
    made = context.flow.follow(context.flow.here(event.value, event.scope), event.value.args[0]).value
    return isinstance(made, Call) and _FAKE.search(ast.unparse(made.node)) is not None


_FAKE = pattern(r"(^|[^a-z])(fake|dummy|zeros?|null)(_|\b)")


def _average_read(event: CallEvent, state: ast.expr) -> bool:
    """Say whether the moving average in the new state is read: ``state.ema``."""
    return isinstance(state, ast.Name) and any(
        isinstance(n, ast.Attribute) and n.attr == "ema" and state.id in names_in(n.value)
        for n in ast.walk(event.scope.node)
    )


def _thrown_away(context: Context) -> Iterator[Finding]:
    """Yield the calls of ``tx.update`` as statements of their own, as of an object that changes itself."""
    for event in context.asked.calls():
        callee = event.value.callee
        if event.used or not isinstance(callee, Attr) or callee.name != "update" or in_test(event.scope):
            continue
        if 2 <= len(event.value.args) <= 3 and kinds_of(context, callee.base, event.scope) == {Kind.TRANSFORM}:
            if not isinstance(event.statement, ast.Expr) or event.statement.value is not event.node:
                continue
            if not context.bodies.guarded(event.node, event.scope) and not _timed(event):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    "the updates and the new state are thrown away: the parameters stay as they are",
                    "updates, opt_state = tx.update(grads, opt_state, params), and then optax.apply_updates",
                )


def _timed(event: CallEvent) -> bool:
    """Say whether a call is made only to be measured or compiled ahead."""
    function = event.scope.function
    return function is not None and any(word in function.name for word in ("bench", "profile", "time", "warm"))


def _not_put_back(context: Context) -> Iterator[Finding]:
    """Yield the parameters of a model that are updated beside it, and never put back."""
    for event, name in foreign(context, "apply_updates"):
        statement, function = event.statement, event.scope.function
        if name != "optax.apply_updates" or function is None or in_test(event.scope) or not event.value.args:
            continue
        given = event.node.args[0] if event.node.args else None
        if (
            not isinstance(statement, ast.Assign)
            or statement.value is not event.node
            or not isinstance(given, ast.Name)
        ):
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or target.id != given.id or function.name in {"step", "body"}:
            continue
        if not _of_model(context, event, given.id) or _used(function.node, given.id):
            continue
        if event.node in context.shared(_told):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{given.id}` never gets back into the model, which stays as it was",
            f"call nnx.update(model, {given.id}) after it",
        )


def _told(context: Context) -> frozenset[ast.Call]:
    """Return the updates of parameters of which NNX811 says that they are never written back."""
    return frozenset(event.node for event, _, _ in unwritten_parameters(context))


def _of_model(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether a variable of a function is first the state of a model, taken in the same function."""
    first = next(iter(event.scope.bindings.get(name, ())), None)
    whole = first.base if isinstance(first, Item) else first
    if not isinstance(whole, Call):
        return False
    return context.flow.calls.callee_name(context.flow.here(whole, event.scope)) in {"flax.nnx.state", "flax.nnx.split"}


def _used(function: ast.AST, name: str) -> bool:
    """Say whether a variable is used for anything but the updates of optax."""
    own: set[ast.AST] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and last_word(node.func) in {"update", "apply_updates", "init"}:
            if not (isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in {"nnx", "flax.nnx"}):
                own.update(node.args)
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n not in own
        for n in ast.walk(function)
    )


def _unread(context: Context) -> Iterator[Finding]:
    """Yield the gradients that are computed with a loss, and never read."""
    for event in context.bodies.unpacked:
        statement = event.statement
        assert isinstance(statement, ast.Assign)
        target = statement.targets[0]
        if event.scope.module not in context.asked or event.scope.function is None or in_test(event.scope):
            continue
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(target.elts[1], ast.Name):
            continue
        grads = target.elts[1]
        if "grad" not in grads.id or grads.id.startswith("_"):
            continue
        if _read(event, grads.id) and not given_to_nobody(context, event, grads.id):
            continue
        calls = context.bodies.calls.get(event.scope, ())
        updated = any(last_word(call.node.func) in {"update", "apply_updates"} for call in calls)
        if not updated and not trains_nothing(context, event):
            continue  # where nothing is updated, the loss alone is wanted
        if any(call is not event and ast.dump(call.node.func) == ast.dump(event.node.func) for call in calls):
            continue  # it is learned from in another place; this one asks what has come out
        made = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee)
        name = context.flow.calls.callee_name(made) if isinstance(made.value, Call) else ""
        if name in {"jax.value_and_grad", "flax.nnx.value_and_grad"}:
            yield finding(
                RULE.code,
                event.scope,
                grads,
                f"`{grads.id}` is never used: nothing is learned from this loss",
                "give the gradients to the update; where only the loss is wanted, call the loss",
            )


def _stepped(context: Context) -> Iterator[Finding]:
    """Yield the new states that a step gives and its caller drops, although it goes on with the rest."""
    for function, place, old in context.shared(_steps):
        for event in _calls_of_step(context, function):
            if event.scope.module not in context.asked or in_test(event.scope) or event.value.starred:
                continue
            given = _given(event, old)
            dropped = taken(event, place)
            if given is None or dropped is None or context.bodies.guarded(event.node, event.scope):
                continue
            name = ast.unparse(given)
            if isinstance(given, ast.Name):
                lost = _lost_in_loop(event, given.id, dropped)
            else:
                assert isinstance(given, ast.Attribute)
                lost = _lost_in_attribute(context, event, function, given, dropped)
            if lost:
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node if isinstance(dropped, ast.Call) else dropped,
                    "the new state of the optimizer is thrown away: every step starts from the first moments again",
                    f"keep it, and give it to the next step: {_put(name, dropped)}",
                )


def _put(name: str, dropped: ast.expr) -> str:
    return f"bind it to `{name}`" if isinstance(dropped, ast.Call) else f"write `{name}` here"


def _steps(context: Context) -> list[tuple[FunctionFacts, int, Param]]:
    """Return the functions that give the new state of an optax transformation: where in their result, and which
    parameter takes the old one."""
    found: list[tuple[FunctionFacts, int, Param]] = []
    for function in dict.fromkeys(e.scope.function for e in context.bodies.named("update") if e.scope.function):
        returned = function.returns[0] if len(function.returns) == 1 else None
        for place, value in enumerate(returned.items if isinstance(returned, Sequence) else ()):
            old = old_state(context, function, value)
            if old is not None:
                found.append((function, place, old))
    return found


def _calls_of_step(context: Context, function: FunctionFacts) -> list[CallEvent]:
    """Return the calls of a function, and of what ``jit`` makes of it; a call that makes something of it is none."""
    makers = {root.node for root in context.traced.roots if root.function is function}
    return [event for event in context.flow.sites.callers(function) if event.node not in makers]


def _given(event: CallEvent, param: Param) -> ast.expr | None:
    """Return the variable or attribute that a call gives for a parameter."""
    node = argument(event.node, position(param), param.name)
    return node if isinstance(node, ast.Name | ast.Attribute) else None


def _lost_in_loop(event: CallEvent, name: str, dropped: ast.expr) -> bool:
    """Say whether a loop gives a step the same state in every round, and goes on with the rest of its result."""
    loop = outermost_loop(event)
    target = event.statement.targets[0] if isinstance(event.statement, ast.Assign) else None
    if loop is None or not isinstance(dropped, ast.Name) or not isinstance(target, ast.Tuple):
        return False
    nodes = (*event.node.args, *(k.value for k in event.node.keywords))
    given = {node.id for node in nodes if isinstance(node, ast.Name)}
    kept = given & {one.id for one in target.elts if isinstance(one, ast.Name)}
    return bool(kept) and not _read_in(loop, dropped.id) and not _bound_in(loop, name)


def _lost_in_attribute(
    context: Context, event: CallEvent, function: FunctionFacts, given: ast.Attribute, dropped: ast.expr
) -> bool:
    """Say whether an object keeps the first state of its optimizer for good, and something trains all the same."""
    if isinstance(dropped, ast.Name):
        if event.scope.function is None or _read(event, dropped.id):
            return False
    elif not isinstance(dropped, ast.Call):
        return False
    stores = context.flow.fields.stores().get(given.attr, [])
    if not stores or not all(_first_state(store) for store in stores):
        return False
    target = event.statement.targets[0] if isinstance(event.statement, ast.Assign) else None
    nodes = (*event.node.args, *(k.value for k in event.node.keywords))
    read = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
    if isinstance(target, ast.Tuple) and read & {ast.unparse(one) for one in target.elts}:
        return True
    changes = context.bodies.calls.get(function.scope, ())
    return any(context.flow.calls.name(call) == "flax.nnx.update" for call in changes)


def _first_state(store: AttrEvent) -> bool:
    """Say whether an assignment puts what ``tx.init`` gives into an attribute, or nothing yet."""
    value = store.stored
    if value == Const(None):
        return True
    return isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name == "init"


def old_state(context: Context, function: FunctionFacts, value: Value) -> Param | None:
    """Return the parameter with the state before an update, if a value is the state after it.

    Args:
        context: the analysis.
        function: a function.
        value: what it returns, or a part of that.
    """
    if not isinstance(value, Item) or not isinstance(value.base, Call) or value.index != Const(1):
        return None
    update = value.base
    if not isinstance(update.callee, Attr) or update.callee.name != "update" or not 2 <= len(update.args) <= 3:
        return None
    if kinds_of(context, update.callee.base, function.scope) != {Kind.TRANSFORM}:
        return None
    old = update.args[1]
    return old if isinstance(old, Param) and old.function is function else None


def _read_in(loop: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in ast.walk(loop))


def _bound_in(loop: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in ast.walk(loop))


def _dropped(event: CallEvent, state: ast.expr) -> bool:
    """Say whether the new state gets a name like ``_``, and the old one is given again in the next round of a loop."""
    if not isinstance(state, ast.Name) or state.id.strip("_") or len(event.node.args) < 2:
        return False
    loop = outermost_loop(event)
    given = event.node.args[1]
    if loop is None or not isinstance(given, ast.Name):
        return False
    steps = any(
        isinstance(n, ast.Assign)
        and isinstance(n.value, ast.Call)
        and last_word(n.value.func) == "apply_updates"
        and n.value.args
        and ast.unparse(n.value.args[0]) in {ast.unparse(t) for t in n.targets}
        for n in ast.walk(loop)
    )
    return steps and not any(
        isinstance(n, ast.Name) and n.id in {given.id, state.id} and (n.id == state.id) is isinstance(n.ctx, ast.Load)
        for n in ast.walk(loop)
    )


def _transforms(context: Context, event: CallEvent, callee: Attr) -> bool:
    """Say whether a call updates with an optax transformation, by its kind or by what it is given."""
    kinds = kinds_of(context, callee.base, event.scope)
    if kinds:
        return kinds == {Kind.TRANSFORM}
    second = event.node.args[1]
    word = last_word(second)
    return "opt_state" in word or "optimizer_state" in word


def _read(event: CallEvent, name: str) -> bool:
    """Say whether a variable is read in the function that a call stands in, in a loop also before the call."""
    assert event.scope.function is not None
    statement = event.statement
    end = statement.end_lineno or statement.lineno, statement.end_col_offset or 0  # two may stand in one line
    first = min(((loop.lineno, 0) for loop in event.loops if isinstance(loop, ast.For | ast.While)), default=end)
    arguments = set(ast.walk(event.node)) if not event.loops else set()
    return name in event.scope.globals or any(
        isinstance(n, ast.Name)
        and n.id == name
        and isinstance(n.ctx, ast.Load)
        and n not in arguments
        and (n.lineno, n.col_offset) >= min(first, end)
        for n in ast.walk(event.scope.function.node)
    )


def _keeps(context: Context, event: CallEvent, callee: Attr) -> bool:
    """Say whether the transformation has moments, and steps again: in a loop, compiled, or called from loops."""
    if _nothing(context, event):
        return False
    made = context.sources.originals(context.flow.here(callee.base, event.scope))
    if _named_new(event) and leaves_old_state(context, event):
        return True
    if all(isinstance(one.value, Param) for one in made) and _named_new(event):
        return _given_back(event)  # a transformation that is handed in, and a state that was to be kept
    if not made or not all(has_moments(context, one) for one in made):
        return False
    if any(isinstance(loop, ast.For | ast.While) for loop in event.loops) or _kept_half(context, event):
        return True
    return _given_back(event) or _again(context, event.scope.function, 0)


def _named_new(event: CallEvent) -> bool:
    """Say whether the new state has a name of its own: ``updates, new_state = tx.update(grads, state)``."""
    target = event.statement.targets[0] if isinstance(event.statement, ast.Assign) else None
    named = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
    return isinstance(named, ast.Name) and bool(named.id.strip("_"))


def _given_back(event: CallEvent) -> bool:
    """Say whether a function returns the state that it was given, beside parameters that it has updated."""
    old, function = event.value.args[1], event.scope.function
    whole = old
    while isinstance(whole, Item | Attr):
        whole = whole.base
    if not isinstance(whole, Param) or function is None or len(function.returns) != 1 or whole.function is not function:
        return False
    parts = list(_parts(function.returns[0]))
    return old in parts and any(isinstance(one, Call) and last_word(one.node.func) == "apply_updates" for one in parts)


def _parts(value: Value) -> Iterator[Value]:
    """Yield what a value is put together of: the items of nested tuples, and what a record gets by name."""
    if isinstance(value, Sequence):
        for one in value.items:
            yield from _parts(one)
    elif isinstance(value, Call) and value.keywords and not value.args and last_word(value.node.func)[:1].isupper():
        for _, one in value.keywords:
            yield from _parts(one)
    else:
        yield value


def _kept_half(context: Context, event: CallEvent) -> bool:
    """Say whether an object keeps the parameters of a step for the next one, and the first state for good."""
    old, function = event.node.args[1], event.scope.function
    if not isinstance(old, ast.Attribute) or function is None or function.name == "__init__":
        return False
    stores = context.flow.fields.stores().get(old.attr, [])
    return (
        bool(stores)
        and all(_first_state(store) for store in stores)
        and any(
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and last_word(node.value.func) == "apply_updates"
            and node.value.args
            and isinstance(node.value.args[0], ast.Attribute)
            and ast.unparse(node.value.args[0].value) == ast.unparse(old.value)
            and ast.unparse(node.value.args[0]) in {ast.unparse(target) for target in node.targets}
            for node in ast.walk(function.node)
        )
    )


def _nothing(context: Context, event: CallEvent) -> bool:
    """Say whether the old state is written as none: ``tx.update(grads, None)``, or ``optax.EmptyState()``."""
    old = event.value.args[1]
    if isinstance(old, Sequence):
        return not old.items
    if isinstance(old, Call):
        return last(context.flow.calls.callee_name(context.flow.here(old, event.scope))) == "EmptyState"
    return old == Const(None)


def _again(context: Context, function: FunctionFacts | None, depth: int) -> bool:
    """Say whether a function is called in a loop, or by one that is."""
    if function is None or depth > 3:
        return False
    callers = context.flow.sites.callers(function)
    return any(caller.loops for caller in callers) or any(
        _again(context, caller.scope.function, depth + 1) for caller in callers if caller.scope.function is not function
    )


def has_moments(context: Context, made: Bound) -> bool:
    """Say whether a transformation is made by a call, and is none of those that keep nothing."""
    if not isinstance(made.value, Call):
        return False
    momentum = made.value.keyword("momentum")
    plain = momentum is None or (isinstance(momentum, Const) and not momentum.value)
    name = context.flow.calls.callee_name(made)
    if name == "optax.chain" and made.value.args and not made.value.starred:
        parts = [context.flow.follow(made, one) for one in made.value.args]
        return any(has_moments(context, one) or not isinstance(one.value, Call) for one in parts)
    return not plain or name not in _STATELESS


RULE = lint_rule(
    "NNX871",
    "lost-updates",
    "the updates or the new state of an optax transformation are never used",
    why="""\
`tx.update` changes nothing: it gives the updates, which `optax.apply_updates` adds to the parameters, and a new state.
Without the first the model never learns; without the second Adam starts from its first moments in every step.
""",
    source="jax issue 2097; measured on Flax 0.10.7 and 0.12.8: weights that stay, moments that stay",
    check=_check,
    bad=(
        """\
import jax
import optax

tx = optax.adam(1e-3)


@jax.jit
def step(params, opt_state, grads):
    updates, opt_state = tx.update(grads, opt_state, params)
    return params, opt_state
""",
    ),
    clean=(
        """\
import jax
import optax

tx = optax.adam(1e-3)


@jax.jit
def step(params, opt_state, grads):
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state
""",
    ),
)
