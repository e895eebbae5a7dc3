"""States that a step returns and its caller never takes; part of NNX811."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.dropped_update import changed
from codemods.nnx.lint.missing_update import used_untrained
from codemods.nnx.lint.origins import origin, own_stores
from codemods.nnx.lint.places import compiled_roots, in_test, kinds_of, position, shown
from codemods.nnx.lint.split_by_maker import split_by_maker
from codemods.nnx.lint.stuck_eval import reach
from codemods.nnx.lint.syntax import constant, outermost_loop
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.values import Attr, Call, Free, Item, Param, Sequence, Value

_CLOCKS = frozenset({"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "process_time", "timeit"})


def dropped_states(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls in loops that begin every round with the state of the first one."""
    for root, event, _, target in _rounds(context):
        if target is not None and not _read(event, target):
            yield (
                event,
                f"the state that {shown(root.function)} returns is never taken: every round begins with the first one",
                "bind it to the name that the next round gives: state, ... = step(graphdef, state, ...)",
            )


def dropped_changes(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls in loops of steps that change the objects they are given, and give them back to nobody."""
    for root in compiled_roots(context):
        if root.transform != "jax.jit" or root.partial or root.bound or in_test(root.scope):
            continue
        places = _changed_parts(context, root.function)
        for event in context.traced.calls_of(root) if places else ():
            if outermost_loop(event) is None or event.scope.module not in context.asked or in_test(event.scope):
                continue
            targets = [_target(event, place) for place in places]
            if not _timed(context, event) and all(t is not None and not _read(event, t) for t in targets):
                yield (
                    event,
                    f"what {shown(root.function)} changes comes back in its result alone, and nobody takes it: every "
                    "round begins with the same objects",
                    "take it, and put it back: nnx.update((model, optimizer), state); or compile with nnx.jit",
                )


def _changed_parts(context: Context, function: FunctionFacts) -> set[int]:
    """Return where in its result a function gives all the arguments back that it changes; -1 if that is all of it."""
    if len(function.returns) != 1 or function.generator:
        return set()
    names = {param.name for param in changed(context, function)}
    returned, given, places = function.returns[0], set[str](), set[int]()
    parts = returned.items if isinstance(returned, Sequence) else (returned,)
    for place, part in enumerate(parts):
        held = _objects(context, part, function) & names
        if held:
            given |= held
            places.add(place if isinstance(returned, Sequence) else -1)
    return places if names and given == names else set()


def _objects(context: Context, part: Value, function: FunctionFacts) -> set[str]:
    """Return the names of the parameters that a part of a result is, or holds the state of."""
    if isinstance(part, Param):
        return {part.name} if part.function is function else set()
    if isinstance(part, Call) and part.args and context.flow.calls.callee_name(
        context.flow.here(part, function.scope)
    ) == "flax.nnx.state":  # fmt: skip
        part = part.args[0]
    if isinstance(part, Param | Sequence):
        inner = part.items if isinstance(part, Sequence) else (part,)
        return {one.name for one in inner if isinstance(one, Param) and one.function is function}
    return set()


def _timed(context: Context, event: CallEvent) -> bool:
    """Say whether the code around a call looks at a clock: it may only measure the step."""
    return any(last_word(one.node.func) in _CLOCKS for one in context.bodies.calls.get(event.scope, ()))


def unwritten_states(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls in loops whose last state goes nowhere, while the objects that were split go on being used."""
    for _, event, loop, target in _rounds(context):
        if not target or target in event.scope.globals or not _only_goes_round(context, event, target):
            continue
        for model, split in _split(context, event, target):
            if _evaluated(context, event, loop, model):
                yield (
                    event,
                    f"the trained state `{target}` is never written back: `{model}` stays what it was before",
                    f"write it back behind the loop: nnx.update({split}, {target})",
                )
                break


def unwritten_parameters(context: Context) -> tuple[tuple[CallEvent, str, str], ...]:
    """Return where optax trains parameters in a loop that go nowhere, while the model they are of is used behind it.

    Two rules share one search.

    Args:
        context: the analysis.
    """
    return context.shared(_all_unwritten)


def _all_unwritten(context: Context) -> tuple[tuple[CallEvent, str, str], ...]:
    return tuple(_unwritten(context))


def _unwritten(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    told = {(event.scope, state) for event, state, _, _ in context.shared(used_untrained)}  # by NNX812
    for event, place in _updates(context):
        loop, target = outermost_loop(event), _target(event, place)
        if loop is None or not target or (event.scope, target) in told:
            continue
        if target in event.scope.globals or not _kept_in(context, event, loop, target):
            continue
        for model, split in _split(context, event, target):
            if not _written(context, model) and _evaluated(context, event, loop, model):
                yield (
                    event,
                    f"the trained parameters `{target}` are never written back: `{model}` stays what it was before",
                    f"write them back behind the loop: nnx.update({split}, {target})",
                )
                break


def _updates(context: Context) -> Iterator[tuple[CallEvent, int]]:
    """Yield the calls in loops that give new parameters, with their place in the result: of optax or of a step."""
    steps: dict[FunctionFacts, int] = {}
    for event in context.bodies.named("apply_updates"):
        if context.flow.calls.name(event) != "optax.apply_updates":
            continue
        if event.loops and event.scope.module in context.asked and not in_test(event.scope):
            yield event, -1
        function = event.scope.function
        returned = function.returns[0] if function is not None and len(function.returns) == 1 else None
        parts = returned.items if isinstance(returned, Sequence) else (returned,)
        if function is not None and event.value in parts and not event.loops:
            steps[function] = parts.index(event.value) if isinstance(returned, Sequence) else -1
    for function, place in steps.items():
        for event in context.flow.sites.callers(function):
            if event.loops and event.scope.module in context.asked and not in_test(event.scope):
                yield event, place


def _kept_in(context: Context, event: CallEvent, loop: ast.For | ast.While, name: str) -> bool:
    """Say whether a variable is read by what trains it alone, from a loop on."""
    values = event.scope.module.values
    taken = {
        id(given)
        for call in context.bodies.calls.get(event.scope, ())
        if call is event or _trains(context, call)
        for given in (*call.node.args, *(k.value for k in call.node.keywords))
    }
    return not any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and (node.lineno >= loop.lineno or isinstance(values.get(node), Free))
        and id(node) not in taken
        for node in ast.walk(event.scope.node)
    )


def _trains(context: Context, event: CallEvent) -> bool:
    """Say whether a call computes gradients, or the updates of optax."""
    callee = event.value.callee
    if isinstance(callee, Attr) and callee.name == "update":
        return context.kinds.of(context.flow.here(callee.base, event.scope)) == {Kind.TRANSFORM}
    made = context.flow.follow(context.flow.here(event.value, event.scope), callee)
    return isinstance(made.value, Call) and context.flow.calls.callee_name(made) in GRADIENTS


def _written(context: Context, model: str) -> bool:
    """Say whether something in the project writes to an object of that name."""
    word = model.rpartition(".")[2]
    return any(
        event.node.args
        and last_word(event.node.args[0]) == word
        and context.flow.calls.name(event) == "flax.nnx.update"
        for event in context.bodies.named("update")
    )


def _rounds(context: Context) -> Iterator[tuple[Root, CallEvent, ast.For | ast.While, str | None]]:
    """Yield the calls of compiled steps that return a state, each with its outermost loop and what gets the state."""
    for root in compiled_roots(context):
        if root.transform != "jax.jit" or in_test(root.scope):
            continue
        place = _trained_state(context, root.function)
        if place is None:
            continue
        for event in context.traced.calls_of(root):
            loop = outermost_loop(event)
            if loop is not None and event.scope.module in context.asked and not in_test(event.scope):
                yield root, event, loop, _target(event, place)


def _trained_state(context: Context, function: FunctionFacts) -> int | None:
    """Return where the state of trained objects stands in what a function returns; -1 if it is all of it."""
    if len(function.returns) != 1:
        return None
    merges = trains = False
    for event in context.bodies.calls.get(function.scope, ()):
        merges |= context.flow.calls.name(event) == "flax.nnx.merge"
        trains |= isinstance(event.node.func, ast.Attribute) and event.node.func.attr == "update" and not event.used
    if not merges or not trains:
        return None
    returned = function.returns[0]
    parts = returned.items if isinstance(returned, Sequence) else (returned,)
    places = [i for i, part in enumerate(parts) if kinds_of(context, part, function.scope) == {Kind.STATE}]
    if len(places) != 1:
        return None
    return places[0] if isinstance(returned, Sequence) else -1


def _target(event: CallEvent, place: int) -> str | None:
    """Return the variable that gets the state; empty if nothing does, None if that cannot be seen."""
    statement = event.statement
    if isinstance(statement, ast.Expr) and statement.value is event.node:
        return ""
    taken = next((n for n in ast.walk(statement) if isinstance(n, ast.Subscript) and n.value is event.node), None)
    if taken is not None:  # total += step(model, x)[0]
        index = constant(taken.slice)
        return "" if type(index) is int and 0 <= index != place and place >= 0 else None
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if statement.value is not event.node:
        return None
    if place >= 0:
        if not isinstance(target, ast.Tuple) or place >= len(target.elts):
            return None
        if any(isinstance(one, ast.Starred) for one in target.elts):
            return None
        target = target.elts[place]
    return target.id if isinstance(target, ast.Name) else None


def _read(event: CallEvent, name: str) -> bool:
    """Say whether a variable is read anywhere, or belongs to more than this body."""
    if not name:
        return False
    scope = event.scope
    if name in scope.globals or (scope.function is None and not name.startswith("_")):
        return True
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in ast.walk(scope.node)
    )


def _only_goes_round(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether a variable is read by a call alone, which gives its next value."""
    own, here, values = set(ast.walk(event.node)), set(context.bodies.nodes(event.scope)), event.scope.module.values
    loads = [
        node
        for node in ast.walk(event.scope.node)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        if node in here or node not in values or isinstance(values[node], Free)
    ]
    return bool(loads) and all(node in own for node in loads)


def _split(context: Context, event: CallEvent, name: str) -> Iterator[tuple[str, str]]:
    """Yield the models whose state a variable holds at first, with all that was split."""
    for one in context.bodies.calls.get(event.scope, ()):
        statement = one.statement
        if not isinstance(statement, ast.Assign) or statement.value is not one.node or not one.node.args:
            continue
        for parts, written in split_by_maker(context, one, name):
            for part in parts:
                value = event.scope.module.values.get(part)
                if value is not None and kinds_of(context, value, event.scope) == {Kind.MODULE}:
                    yield ast.unparse(part), written
        names = {n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        if name not in names or context.flow.calls.name(one) not in {"flax.nnx.split", "flax.nnx.state"}:
            continue
        given = one.node.args[0]
        for part in elements(given, lists=True):
            value = event.scope.module.values.get(part)
            if isinstance(part, ast.Name | ast.Attribute) and value is not None:
                if kinds_of(context, value, event.scope) == {Kind.MODULE}:
                    yield ast.unparse(part), ast.unparse(given)


def _evaluated(context: Context, event: CallEvent, loop: ast.For | ast.While, name: str) -> bool:
    """Say whether an object is run in or behind a loop, or by a caller behind the call."""
    scope, function = event.scope, event.scope.function
    if _bound_again(context, scope, name, loop.lineno):
        return False
    if _runs(context, scope, name, (loop.lineno, loop.col_offset), event):
        return True
    param = function.params.get(name) if function is not None else None
    if function is None or param is None:
        return False
    for caller in context.flow.sites.callers(function):
        place = position(param)
        given = caller.node.args[place] if place < len(caller.node.args) else None
        named = next((k.value for k in caller.node.keywords if k.arg == name), given)
        if named is not None and _stays(context, named, caller.scope) and not caller.value.starred:
            text = ast.unparse(named)
            if in_test(caller.scope) or _bound_again(context, caller.scope, text, caller.statement.lineno):
                continue
            if _runs(context, caller.scope, text, _end(caller.node)):
                return True
    return False


def _stays(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an argument is a variable, an attribute that only its constructor assigns, or an entry of a dict that
    this body alone fills."""
    value = scope.module.values.get(node)
    if isinstance(node, ast.Attribute):
        return isinstance(value, Attr) and len(own_stores(context, value)) == 1
    return isinstance(node, ast.Name) or (
        isinstance(node, ast.Subscript) and isinstance(value, Item) and origin(context, node, scope) is not value
    )


def _is(node: ast.AST, text: str) -> bool:
    """Say whether an expression is the variable, attribute or entry of a text."""
    if isinstance(node, ast.Name):
        return node.id == text
    return isinstance(node, ast.Attribute | ast.Subscript) and ast.unparse(node) == text


def _end(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def _bound_again(context: Context, scope: Scope, name: str, line: int) -> bool:
    """Say whether a body gives a name another value from a line on."""
    return any(
        isinstance(n, ast.Name | ast.Attribute | ast.Subscript)
        and not isinstance(n.ctx, ast.Load)
        and n.lineno >= line
        and _is(n, name)
        for n in context.bodies.nodes(scope)
    )


def _runs(context: Context, scope: Scope, name: str, start: tuple[int, int], step: CallEvent | None = None) -> bool:
    """Say whether a model is called from a place on, or given to a function of the project that does not train.

    Args:
        context: the analysis.
        scope: the body.
        name: the text of the model.
        start: the line and column of the place.
        step: a call that is left out.
    """
    for event in context.bodies.calls.get(scope, ()):
        if (event.node.lineno, event.node.col_offset) < start or event is step:
            continue
        func = event.node.func
        if _is(func, name) or _part_runs(context, event, name):
            return True
        nodes = [*event.node.args, *(k.value for k in event.node.keywords)]
        if any(_is(n, name) for n in nodes):
            functions = list(reach(context, event, 0, set()))
            words = {last_word(one.node.func) for f in functions for one in context.bodies.calls.get(f.scope, ())}
            if functions and not words & {"grad", "value_and_grad", "split", "update", "merge"}:
                return True
    return False


def _part_runs(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether a layer or a method of a model is called, which is none of those that every module has."""
    root = event.node.func
    while isinstance(root, ast.Attribute) and not _is(root, name):
        root = root.value
    if root is event.node.func or not _is(root, name):
        return False
    if kinds_of(context, event.value.callee, event.scope) == {Kind.MODULE}:
        return True
    return any(
        callee.function.owner is not None and callee.function.name not in {"train", "eval", "set_attributes"}
        for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope))
    )
