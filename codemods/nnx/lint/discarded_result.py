"""NNX842: the result of a pure function that nobody takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.dead_weights import moves_weights, new_weights
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.discarded import PURE, WORDS, array_method, discarded, displayed, is_pure
from codemods.nnx.lint.discarded_copy import discarded_copies
from codemods.nnx.lint.dropped_callback import dropped_callbacks
from codemods.nnx.lint.dropped_layers import dropped_layers
from codemods.nnx.lint.dropped_placement import dropped_placements
from codemods.nnx.lint.dropped_tree import dropped_trees
from codemods.nnx.lint.moved_apart import moved_apart
from codemods.nnx.lint.names import COMPILING, TREE_MAPS, last
from codemods.nnx.lint.origins import named
from codemods.nnx.lint.places import foreign, in_test, position, taken
from codemods.nnx.lint.restored import thrown_away
from codemods.nnx.lint.syntax import argument, innermost_loop, inside, names_in
from codemods.nnx.lint.unread import unread
from codemods.nnx.lint.unread_values import unread_values
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Class, Const, Item, Mapping, Param, Sequence, Unknown, Value


def _check(context: Context) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for one in _every(context):
        if (one.path, one.start) not in told:
            told.add((one.path, one.start))
            yield one


def _every(context: Context) -> Iterator[Finding]:
    yield from dropped_placements(context, RULE.code)
    yield from _unread(context)
    yield from _own_steps(context)
    yield from _never_kept(context)
    yield from _carries(context)
    for event, text in moved_apart(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"only the next round reads the new `{text}`, and the model keeps its weights",
            f"put them into the model in every round: nnx.update(model, {text})",
        )
    for event, function in dropped_trees(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{function.name}` changes nothing: what it gives is thrown away",
            "put it into the model, with nnx.update(model, ...), or assign the result",
        )
    for event, callback in dropped_callbacks(context):
        called = f"`{ast.unparse(callback.node.args[0])}`" if callback.node.args else "the host's function"
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"nothing reads what `pure_callback` gives: the compiler leaves the call out, and {called} never runs",
            "for an effect use jax.debug.callback, or jax.experimental.io_callback",
        )
    for event, message, help in unread_values(context):
        yield finding(RULE.code, event.scope, event.node, message, help)
    for event, name in dropped_layers(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{ast.unparse(event.node.func)}` leaves `{name}` as it is: its result is thrown away",
            f"assign the result: {name} = {ast.unparse(event.node.func)}({name})",
        )
    for event, text in discarded_copies(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{text}` does not change: the changed copy is thrown away",
            f"assign it: {text} = {text}.{last_word(event.node.func)}(...)",
        )
    for event, name in discarded(context, WORDS):
        if in_test(event.scope) or displayed(event):  # a test may only want the error
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        if name == "jax.device_get":
            continue  # it waits for what is computed, as a barrier
        if thrown_away(context, event):
            continue  # a restored state, of which NNX862 tells
        if event.node.args and all(isinstance(argument, ast.Constant) for argument in event.node.args):
            continue  # nothing of the program, such as a call that only wakes the devices
        if is_pure(event, name):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` changes nothing: its result is thrown away",
                "assign the result",
            )
    for event in context.asked.calls():
        if not event.used and not displayed(event) and array_method(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the method gives a new array, which is thrown away",
                "assign the result",
            )


def _own_steps(context: Context) -> Iterator[Finding]:
    """Yield the calls of compiled functions, in loops, that give changed parameters which nobody takes."""
    for root in context.traced.roots:
        function = root.function
        if root.transform != "jax.jit" or len(function.returns) != 1 or root.bound:
            continue
        if function.owner is not None and (not root.decorator or _sets_attributes(context, function)):
            continue
        params = list(function.params.values())
        changed = [p for p in params if is_update(context, function, function.returns[0], p)]
        if not changed or any(isinstance(n, ast.Global | ast.Nonlocal) for n in context.bodies.nodes(function.scope)):
            continue
        for event in context.traced.calls_of(root):
            if event.used or event.scope.module not in context.asked or in_test(event.scope):
                continue
            place = position(changed[0])
            if not event.loops and not _of_object(event, place):
                continue
            if event.value.starred or place >= len(event.node.args) or _times(context, event):
                continue
            given = event.node.args[place]
            if named(given) and not context.bodies.guarded(event.node, event.scope):
                text = ast.unparse(given)
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{function.name}` gives the new `{text}`, which is thrown away",
                    f"assign the result: {text} = ...",
                )


def _of_object(event: CallEvent, place: int) -> bool:
    """Say whether a method that trains gives a step what its object keeps: ``self.step(self.state, batch)``."""
    function = event.scope.function
    given = event.node.args[place] if place < len(event.node.args) else None
    return (
        function is not None
        and function.self_param is not None
        and _TRAINING.match(function.name) is not None
        and isinstance(given, ast.Attribute)
        and isinstance(given.value, ast.Name)
        and given.value.id == function.self_param.name
    )


def _sets_attributes(context: Context, function: FunctionFacts) -> bool:
    """Say whether a method keeps something in its object."""
    nodes = context.bodies.nodes(function.scope)
    return any(isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load) for n in nodes)


def _never_kept(context: Context) -> Iterator[Finding]:
    """Yield the calls of steps whose new parameters no call of them keeps, although they run again and again."""
    words = {*_NEW_TREES, "apply_gradients", "grad", "value_and_grad"}
    steps = [event.scope.function for event in context.bodies.named(*words) if event.scope.function is not None]
    for function in dict.fromkeys(steps):
        returned = function.returns[0] if len(function.returns) == 1 else None
        parts = list(enumerate(returned.items)) if isinstance(returned, Sequence) else [(None, returned)]
        params = [p for p in function.params.values() if p is not function.self_param]
        for (place, part), param in ((one, p) for one in parts for p in params):
            if part is None or not (is_update(context, function, part, param) or _descent(context, part, param)):
                continue
            if _pure_step(context, function, part):
                yield from _all_dropped(context, function, place, param)
                break


def _descent(context: Context, new: Value, param: Param) -> bool:
    """Say whether a value is a parameter less something made of a gradient, as ``w - rate * grads``."""
    node = new.node if isinstance(new, Unknown) else None
    scope = param.function.scope
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    if scope.module.values.get(node.left) != param:
        return False
    for name in ast.walk(node.right):
        value = scope.module.values.get(name) if isinstance(name, ast.Name) else None
        while isinstance(value, Item):
            value = value.base
        if isinstance(value, Call):
            made = context.flow.follow(context.flow.here(value, scope), value.callee)
            if isinstance(made.value, Call) and context.flow.calls.callee_name(made) in GRADIENTS:
                return True
    return False


def _pure_step(context: Context, function: FunctionFacts, new: Value) -> bool:
    """Say whether a function gives new parameters in its result alone, and computes them from gradients."""
    nodes = context.bodies.nodes(function.scope)
    if any(isinstance(n, ast.Global | ast.Nonlocal) for n in nodes) or any(
        isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) for n in nodes
    ):
        return False
    calls = context.bodies.calls.get(function.scope, ())
    if any(new in event.value.args or context.flow.calls.name(event) == "flax.nnx.update" for event in calls):
        return False  # they may get into a model
    if isinstance(new, Call) and context.flow.calls.callee_name(context.flow.here(new, function.scope)) in TREE_MAPS:
        return any("grad" in last_word(event.node.func) for event in calls)
    return True


def _all_dropped(context: Context, function: FunctionFacts, place: int | None, param: Param) -> Iterator[Finding]:
    """Yield the calls of a step in loops, if none of all its calls takes the new value of a parameter."""
    roots = [root for root in context.traced.roots if root.function is function]
    if any(root.transform not in COMPILING for root in roots):
        return  # a body of a scan, or what is differentiated
    makers = {root.node for root in roots}
    calls = [event for event in context.flow.sites.callers(function) if event.node not in makers]
    if not all(_dropped(event, place) for event in calls) or _anew(function, place, calls):
        return
    for event in calls:
        given = argument(event.node, position(param), param.name)
        if event.scope.module not in context.asked or in_test(event.scope) or given is None:
            continue
        if event.value.starred or not _stays(context, event, given) or context.bodies.guarded(event.node, event.scope):
            continue
        above = event.scope.function
        if (_times(context, event) and not _learns(context, event, place)) or (
            above is not None and _OTHER_AIMS.search(above.name)
        ):
            continue
        if not event.used and place is None and any(root.transform == "jax.jit" for root in roots):
            continue  # which is reported already
        text = ast.unparse(given)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{function.name}` gives the new `{text}`, which nobody keeps: every round starts from the same",
            f"assign it: {text} = ..." if place is None else f"write `{text}` where the result is unpacked",
        )


def _anew(function: FunctionFacts, place: int | None, calls: list[CallEvent]) -> bool:
    """Say whether each round is to begin with the same: it adapts to one task of many, or what the step returns beside
    the new parameters is computed with these."""
    if _ADAPTING.search(function.name) or any(_for_tasks(event) for event in calls):
        return True
    returned = function.returns[0]
    if place is None or not isinstance(returned, Sequence):
        return False
    new, others = returned.items[place], [one for i, one in enumerate(returned.items) if i != place]
    return any(isinstance(one, Call) and new in one.args for one in others)


def _for_tasks(event: CallEvent) -> bool:
    """Say whether a call stands in a loop over tasks, episodes of few-shot learning, seeds or the like."""
    targets = [loop.target for loop in event.loops if isinstance(loop, ast.For)]
    words = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return any(_TASKS.fullmatch(word) for word in words)


_ADAPTING = pattern(r"adapt|inner|maml|fine_?tun|few_?shot|look_?ahead|virtual|tentative|probe|candidate|trial")
_TASKS = pattern(
    r"_?(meta_?)?(tasks?|support|query|client|worker|user|candidate|trial|seed|fold|lr|rate|eta|alpha)s?"
    r"(_(id|idx|index|batch|set|x|y|data|key|rng))?"
)
_TRAINING = pattern(r"_?(train|learn|update|fit|optimi[sz]e|improve)(_|$)")
_OTHER_AIMS = pattern("bench|profil|time|warm|eval|valid|test|measure|compile|example|check")


def _dropped(event: CallEvent, place: int | None) -> bool:
    """Say whether nothing reads a part of what a call gives, or all of it if there is no place."""
    if place is None:
        statement = event.statement
        alone = isinstance(statement, ast.Assign) and statement.value is event.node and len(statement.targets) == 1
        if not event.used:
            return True
        target: ast.expr | None = statement.targets[0] if isinstance(statement, ast.Assign) and alone else None
    else:
        target = taken(event, place)
    if target is None or target is event.node:
        return target is not None
    if not isinstance(target, ast.Name) or target.id in event.scope.globals:
        return False
    scope = event.scope.node
    if event.scope.function is None and not target.id.startswith("_") and not event.loops:
        return False  # another module may import it
    return not any(
        (isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load))
        or (isinstance(n, ast.Nonlocal | ast.Global) and target.id in n.names)
        for n in ast.walk(scope)
    )


def _stays(context: Context, event: CallEvent, given: ast.expr) -> bool:
    """Say whether a call is made again and again with the same parameters."""
    loops = [loop for loop in event.loops if isinstance(loop, ast.For | ast.While)]
    if isinstance(given, ast.Name):
        return bool(loops) and not any(
            isinstance(n, ast.Name) and n.id == given.id and not isinstance(n.ctx, ast.Load) for n in ast.walk(loops[0])
        )
    if not isinstance(given, ast.Attribute):
        return False
    stores = context.flow.fields.stores().get(given.attr, [])
    first = [s for s in stores if s.scope.function is not None and s.scope.function.name in {"__init__", "setup"}]
    if not stores or len(first) != len(stores):
        return False
    again = context.flow.sites.callers(event.scope.function) if event.scope.function is not None else []
    return bool(loops) or any(one.loops for one in again)


def is_update(context: Context, function: FunctionFacts, returned: Value, param: Param) -> bool:
    """Say whether a function returns a parameter with its leaves changed, or a dict with a changed entry of one.

    Args:
        context: the analysis.
        function: the function.
        returned: what it returns, or a part of that.
        param: a parameter of it.
    """
    if isinstance(returned, Mapping):
        entries = [(key, one) for key, one in returned.items if isinstance(key, Const)]
        return any(_is_new(context, function, one, Item(param, key)) for key, one in entries)
    if isinstance(returned, Item) and isinstance(returned.base, Call):  # a part of what a helper gives
        made = context.flow.resolve(context.flow.here(returned, function.scope))
        if isinstance(made.value, Call) and made.frame is not None and len(made.value.args) > 2:
            if context.flow.calls.callee_name(made) in TREE_MAPS:
                return context.flow.follow(made, made.value.args[1]).value is param
    if not isinstance(returned, Call):
        return False
    method = returned.callee
    if isinstance(method, Attr) and method.name == "apply_gradients" and method.base is param:
        return bool(returned.args or returned.keywords)
    return _is_new(context, function, returned, param) or _renews(context, function, returned, param)


def _renews(context: Context, function: FunctionFacts, returned: Call, param: Param) -> bool:
    """Say whether a call makes a state like a parameter, with new leaves in a field of it: ``State(params=new, ...)``
    with ``new`` made of ``state.params``, or ``state._replace(params=new)``."""
    method = returned.callee
    copied = isinstance(method, Attr) and method.name in {"replace", "_replace"} and method.base is param
    if not copied and not isinstance(
        context.flow.resolve(context.flow.here(returned.callee, function.scope)).value, Class
    ):
        return False
    fields = [(name, one) for name, one in returned.keywords if name]
    return any(_is_new(context, function, one, Attr(param, name)) for name, one in fields)


def _is_new(context: Context, function: FunctionFacts, returned: Value, old: Value) -> bool:
    """Say whether a call gives a tree with its leaves changed, by updates or by several other trees."""
    if not isinstance(returned, Call):
        return False
    made = context.flow.here(returned, function.scope)
    if not context.flow.calls.callee_name(made):  # a helper
        made = context.flow.resolve(made)
    call = made.value
    if not isinstance(call, Call):
        return False
    name = context.flow.calls.callee_name(made)
    place = int(name in TREE_MAPS)
    if (not place and name not in _APPLYING) or len(call.args) < 2 + place:
        return False
    return old in {call.args[place], context.flow.follow(made, call.args[place]).value}


def _times(context: Context, event: CallEvent) -> bool:
    """Say whether a scope measures times, and so calls what it does not want the result of."""
    return any("time" in ast.unparse(call.node.func) for call in context.bodies.calls.get(event.scope, ()))


def _learns(context: Context, event: CallEvent, place: int | None) -> bool:
    """Say whether a call gets something new in every round and its other results are read, and nothing waits for the
    device: the times beside it are those of a training."""
    statement = event.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
    others = [part.id for i, part in enumerate(elements(target)) if i != place and isinstance(part, ast.Name)]
    names = [n for n in ast.walk(event.scope.node) if isinstance(n, ast.Name)]
    if not any(n.id in others and isinstance(n.ctx, ast.Load) for n in names) or not event.loops:
        return False
    if any("block_until_ready" in ast.unparse(call.node.func) for call in context.bodies.calls.get(event.scope, ())):
        return False
    new = {n.id for n in names if not isinstance(n.ctx, ast.Load) and inside(n, event.loops[-1])}
    return any(names_in(one) & new - set(others) for one in event.node.args)


def _captured(context: Context, function: FunctionFacts, name: str) -> bool:
    """Say whether an inner function reads a parameter."""
    own = set(context.bodies.nodes(function.scope))
    return any(isinstance(n, ast.Name) and n.id == name and n not in own for n in ast.walk(function.node))


def _unread(context: Context) -> Iterator[Finding]:
    """Yield the results of pure functions that are assigned to a parameter which nobody reads again."""
    for event in context.asked.calls():
        statement, function = event.statement, event.scope.function
        if function is None or not isinstance(statement, ast.Assign) or statement.value is not event.node:
            continue
        target = statement.targets[0]
        if len(statement.targets) != 1 or not isinstance(target, ast.Name):
            continue
        if target.id not in function.params:
            yield from _forgotten(context, event, target.id)
            continue
        if event.loops or function.generator or in_test(event.scope) or target.id in event.scope.globals:
            continue
        name = context.flow.calls.name(event)
        home, _, word = name.rpartition(".")
        if not (name in TREE_MAPS or name in PURE or (home == "jax.numpy" and word)):
            continue
        if name not in _NEW_PARAMETERS and _gives(function):
            continue  # left over, and not meant for the caller
        if name == "jax.device_get":
            continue  # the caller's arrays are the same numbers
        if isinstance(function.defaults.get(target.id), Const) or _captured(context, function, target.id):
            continue  # a default filled in, or what an inner function reads
        if not any(
            isinstance(n, ast.Name)
            and n.id == target.id
            and isinstance(n.ctx, ast.Load)
            and n.lineno > (statement.end_lineno or statement.lineno)
            for n in ast.walk(function.node)
        ):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` does not change the caller's `{target.id}`: its result goes nowhere",
                "return the result, and assign it where the function is called",
            )


def _gives(function: FunctionFacts) -> bool:
    """Say whether a function has a result of its own, as those have that do not mean to change their arguments."""
    return any(value != Const(None) for value in function.returns)


_CELLS = ("GRUCell", "LSTMCell", "OptimizedLSTMCell", "SimpleCell")


def _carries(context: Context) -> Iterator[Finding]:
    """Yield the calls of recurrent cells in loops whose new carry nobody takes."""
    if not any(name.startswith("flax.nnx.") for _, name in foreign(context, *_CELLS, everywhere=True)):
        return
    for event in context.bodies.unpacked:
        statement = event.statement
        assert isinstance(statement, ast.Assign)
        target = statement.targets[0]
        loop = innermost_loop(event)
        if loop is None or event.scope.module not in context.asked or len(event.node.args) < 2 or in_test(event.scope):
            continue
        assert isinstance(target, ast.Tuple)
        carry, new = event.node.args[0], target.elts[0]
        if not isinstance(carry, ast.Name) or not isinstance(new, ast.Name) or carry.id == new.id:
            continue
        names = [node for node in ast.walk(event.scope.node) if isinstance(node, ast.Name)]
        if any(node.id == new.id and isinstance(node.ctx, ast.Load) for node in names):
            continue
        if any(node.id == carry.id and isinstance(node.ctx, ast.Store) and inside(node, loop) for node in names):
            continue
        sources = context.sources.originals(context.flow.here(event.value.callee, event.scope))
        cells = {context.flow.calls.callee_name(source) for source in sources}
        if cells and cells <= {f"flax.nnx.{cell}" for cell in _CELLS}:
            yield finding(
                RULE.code,
                event.scope,
                new,
                f"nobody reads the new carry `{new.id}`: every round starts from the same `{carry.id}`",
                f"assign it: {carry.id}, ... = ...",
            )


def _forgotten(context: Context, event: CallEvent, name: str) -> Iterator[Finding]:
    """Yield a call that computes new parameters from others, if nothing reads the variable that gets them."""
    function, word = event.scope.function, last_word(event.node.func)
    if function is None or name.startswith("_") or name in event.scope.globals or in_test(event.scope):
        return
    following = word not in _NEW_TREES and moves_weights(context, event)
    if not following and word not in _NEW_TREES:
        return
    called = context.flow.calls.name(event)
    if not following and called not in TREE_MAPS and called not in _OF_OPTAX:
        return
    if called in TREE_MAPS and len(event.value.args) < 3 and not new_weights(context, event, name):
        return  # of one tree it may only look at it
    end = 0 if event.loops or _captured(context, function, name) else event.statement.end_lineno or 0
    reads = (
        (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Store) and node.lineno > end)
        or (isinstance(node, ast.Call) and last_word(node.func) in {"locals", "vars", "eval"})
        for node in ast.walk(function.node)
    )
    if not any(reads) or (called in _OF_OPTAX and unread(context, event.scope, event.statement, [name], rebound=True)):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"nobody reads `{name}`: what `{word}` computes reaches no model",
            "put it into the model, with nnx.update(model, ...), or return it",
        )


_APPLYING = frozenset({"optax.apply_updates", "equinox.apply_updates"})
_OF_OPTAX = frozenset({"optax.apply_updates", "optax.incremental_update", "optax.periodic_update"})
_NEW_PARAMETERS = TREE_MAPS | _OF_OPTAX
_NEW_TREES = frozenset(last(name) for name in _NEW_PARAMETERS)


RULE = lint_rule(
    "NNX842",
    "discarded-result",
    "the result of a pure function is thrown away",
    why="""\
Arrays do not change: `jax.tree.map`, `optax.apply_updates`, `nnx.cached_partial` and the methods of arrays give new
values. As a statement such a call does nothing. `jax.device_put(nnx.state(model), sharding)` moves no model either: its
result has to be written back with `nnx.update`, as have weights that a step clips or averages. Compiled code leaves
out a `jax.pure_callback` whose result nothing reads.
""",
    source="JAX tutorial on immutability; performance guide of Flax NNX; seen in public code",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp

tree = {"a": jnp.ones(2)}
jax.tree.map(lambda x: x * 2, tree)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp

tree = {"a": jnp.ones(2)}
tree = jax.tree.map(lambda x: x * 2, tree)
jax.tree.map(lambda x: print(x.shape), tree)
""",
    ),
)
