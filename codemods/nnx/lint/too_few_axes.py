"""One sharding for all leaves of a tree, some of which have fewer axes than it names; part of NNX863."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.applied import handed_on, may_hand_on
from codemods.nnx.lint.arrays import Arrays, batched
from codemods.nnx.lint.names import JITS, TREE_MAPS, WITH_PATH, last
from codemods.nnx.lint.places import foreign, in_test, passed, position
from codemods.nnx.lint.syntax import argument
from codemods.nnx.lint.unbound_axis import always
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Mapping, Param, Ref, Sequence, Value

_PLACING = {"jax.device_put": "device", "jax.lax.with_sharding_constraint": "shardings"}
_SHARDINGS = frozenset({"jax.sharding.NamedSharding", "jax.NamedSharding"})
_SPECS = frozenset({"jax.sharding.PartitionSpec", "jax.P", "jax.experimental.pjit.PartitionSpec"})
_JITTED = frozenset({"jax.jit", "jax.experimental.pjit.pjit"})
# whose states count their steps, whatever they are given
_COUNTING = frozenset(
    {"adabelief", "adafactor", "adam", "adamax", "adamaxw", "adamw", "amsgrad", "apply_if_finite", "ema", "lamb",
     "lion", "nadam", "nadamw", "novograd", "radam", "scale_by_adam", "scale_by_schedule", "yogi",
     "MultiSteps", "lbfgs"}
)  # fmt: skip
_SCHEDULED = ("_schedule", "_decay")
_DEPTH = 3

_Found = tuple[Scope, ast.expr, str, int]


def too_few(context: Context) -> Iterator[_Found]:
    """Yield the trees that one sharding is given for, with a leaf of fewer axes, and how many entries the spec has."""
    if not any(m.source.mentions(word) for m in context.project.modules for word in (b"PartitionSpec", b"jax.P(")):
        return
    for event, name in foreign(context, "device_put", "with_sharding_constraint", everywhere=True):
        if name in _PLACING and len(event.node.args) + len(event.node.keywords) >= 2 and _serves(context, event):
            tree, given = event.value.argument(0, "x"), event.value.argument(1, _PLACING[name])
            node = argument(event.node, 0, "x")
            if tree is not None and given is not None and node is not None and _tree_like(context, tree, event.scope):
                yield from _told(context, event.scope, node, tree, _Given(context, given, event.scope), 0)
    for event, name in foreign(context, "map", "tree_map", everywhere=True):
        if name in TREE_MAPS - WITH_PATH and len(event.value.args) == 2 and _serves(context, event):
            found = _of_leaves(context, event.value.args[0], event.scope)
            if found is not None:
                yield from _told(context, event.scope, event.node.args[1], event.value.args[1], found, 0)
    yield from _compiled(context)


class _Given:
    """A sharding, and the scope that it stands in."""

    def __init__(self, context: Context, value: Value, scope: Scope) -> None:
        self.value = value
        self.scope = scope
        self.bound = context.flow.resolve(context.flow.here(value, scope))


def _tree_like(context: Context, tree: Value, scope: Scope) -> bool:
    """Say whether a value may be a tree, and is no array that another check looks at."""
    return Arrays(context, {}).of(tree, scope).axes is None


def _serves(context: Context, event: CallEvent) -> bool:
    """Say whether a call runs as it is written, at most compiled."""
    if event.value.starred or in_test(event.scope) or not always(context, event.node, event.scope):
        return False
    tracing = context.traced.get(event.scope.function)
    return tracing is None or (
        not tracing.sites and all(root.transform in JITS and "shard" not in root.transform for root in tracing.roots)
    )


def _told(context: Context, scope: Scope, node: ast.expr, tree: Value, given: _Given, depth: int) -> Iterator[_Found]:
    """Yield a tree that does not fit its sharding, or those that callers give for it."""
    found = context.flow.resolve(context.flow.here(tree, scope))
    value = found.value
    if isinstance(value, Param) and value.function is scope.function and depth < _DEPTH:
        if value.function in context.traced or value is value.function.self_param:
            return
        if any(isinstance(n, ast.Name) and n.id == value.name and not isinstance(n.ctx, ast.Load)
               for n in context.bodies.nodes(scope)):  # fmt: skip
            return
        for caller in context.flow.sites.callers(value.function):
            handed = passed(caller, value)
            place = argument(caller.node, position(value), value.name)
            if handed is None or place is None or not _serves(context, caller):
                continue
            inner = given
            sharding = given.bound.value
            if isinstance(sharding, Param) and sharding.function is value.function:
                passed_on = passed(caller, sharding)
                if passed_on is None:
                    continue
                inner = _Given(context, passed_on, caller.scope)
            yield from _told(context, caller.scope, place, handed, inner, depth + 1)
        return
    entries = _entries(context, given.bound)
    leaf = _leaf(context, found, entries, 0) if entries else ""
    if leaf and scope.module in context.asked:
        yield scope, node, leaf, entries


def _entries(context: Context, bound: Bound) -> int:
    """Return how many entries the spec of a sharding has; 0 if that is not known."""
    flow = context.flow
    made = flow.resolve(bound)
    if not isinstance(made.value, Call) or made.value.starred:
        return 0
    if flow.calls.callee_name(made) in TREE_MAPS and made.value.args:  # jax.tree.map(lambda _: sharding, tree)
        callees = flow.calls.callables(flow.with_value(made, made.value.args[0]))
        function = callees[0].function if len(callees) == 1 else None
        if function is None or len(function.returns) != 1:
            return 0
        return _entries(context, flow.here(function.returns[0], function.scope))
    if flow.calls.callee_name(made) in _SPECS:
        return len(made.value.args)
    if flow.calls.callee_name(made) not in _SHARDINGS:
        return 0
    spec = made.value.argument(1, "spec")
    parts = flow.follow(made, spec) if spec is not None else made
    if not isinstance(parts.value, Call) or parts.value.starred or flow.calls.callee_name(parts) not in _SPECS:
        return 0
    return len(parts.value.args)


def _leaf(context: Context, found: Bound, entries: int, depth: int) -> str:
    """Return a leaf of a tree that has fewer axes than a spec has entries, in words; empty if none is known."""
    flow, value = context.flow, found.value
    if isinstance(value, Sequence | Mapping) and depth < _DEPTH:
        parts = value.items if isinstance(value, Sequence) else [v for k, v in value.items if k is not None]
        for part in parts:
            inner = _leaf(context, flow.resolve(flow.with_value(found, part)), entries, depth + 1)
            if inner:
                return inner
        return ""
    if isinstance(value, Const):
        number = depth and isinstance(value.value, int | float) and not isinstance(value.value, bool)
        return f"the number {value.value}" if number else ""
    if not isinstance(value, Call):
        return ""
    home = context.bodies.home(value.node)
    if home is None or home.function in context.shared(batched):
        return ""  # of many examples, which have an axis more
    name = flow.calls.callee_name(found)
    if name.endswith("train_state.TrainState.create"):
        return "the step of the state"
    if name == "flax.nnx.state" and len(value.args) == 1 and not value.keywords:
        kinds = context.kinds.of(flow.with_value(found, value.args[0]))
        return "the step of the optimizer" if kinds == {Kind.OPTIMIZER} else ""
    callee = value.callee
    if isinstance(callee, Attr) and callee.name == "init" and len(value.args) == 1:
        return "the count of steps" if _counting(context, flow.with_value(found, callee.base), 0) else ""
    if depth and name.startswith("jax."):
        axes = Arrays(context, {}).of(value, home).axes
        return f"`{ast.unparse(value.node)[:40]}`" if axes is not None and axes < entries else ""
    return ""


def _counting(context: Context, bound: Bound, depth: int) -> bool:
    """Say whether a value is a transformation of optax whose state holds a count."""
    flow = context.flow
    made = flow.resolve(bound)
    value = made.value
    if not isinstance(value, Call) or depth > _DEPTH:
        return False
    name = flow.calls.callee_name(made)
    if not name.startswith("optax."):
        return False
    word = last(name)
    if word == "chain":
        return any(_counting(context, flow.with_value(made, one), depth + 1) for one in value.args)
    if word in {"sgd", "rmsprop", "adagrad", "scale_by_learning_rate"}:
        rate = value.argument(0, "learning_rate")
        one = flow.follow(made, rate) if rate is not None else made
        return isinstance(one.value, Call) and one is not made and _schedule(flow.calls.callee_name(one))
    return word in _COUNTING


def _schedule(name: str) -> bool:
    return name.startswith("optax.") and name.endswith(_SCHEDULED)


def _of_leaves(context: Context, function: Value, scope: Scope) -> _Given | None:
    """Return the sharding that a function of one leaf gives it, whatever it is."""
    flow = context.flow
    made = flow.resolve(flow.here(function, scope))
    if isinstance(made.value, Call) and flow.calls.callee_name(made) == "functools.partial" and made.value.args:
        inner = flow.follow(made, made.value.args[0]).value
        given = made.value.keyword(_PLACING.get(inner.name, "")) if isinstance(inner, Ref) else None
        return _Given(context, given, scope) if given is not None and made.frame is None else None
    callees = flow.calls.callables(made)
    if len(callees) != 1 or callees[0].args or callees[0].keywords:
        return None
    return _of_body(context, callees[0].function)


def _of_body(context: Context, function: FunctionFacts) -> _Given | None:
    """Return the sharding that the only placing call of a function gives its first parameter."""
    if not function.params or function.decorators:
        return None
    first = next(iter(function.params))
    events = [e for e in context.bodies.calls.get(function.scope, ()) if last_word(e.node.func) in _WORDS]
    if len(events) != 1:
        return None
    event = events[0]
    name = context.flow.calls.name(event)
    if name not in _PLACING or event.value.starred or not event.node.args:
        return None
    node, given = event.node.args[0], event.value.argument(1, _PLACING[name])
    if not isinstance(node, ast.Name) or node.id != first or given is None:
        return None
    stored = any(not isinstance(n.ctx, ast.Load) for n in context.bodies.names(function.scope).get(first, ()))
    if stored or not always(context, event.node, function.scope):
        return None
    return _Given(context, given, function.scope)


_WORDS = frozenset(map(last, _PLACING))


def _compiled(context: Context) -> Iterator[_Found]:
    """Yield the states that compiled functions take or give, with a sharding that ``jit`` is told for them."""
    made = context.flow.may.made_by({"jit", "pjit"})
    for event in context.asked.calls():
        if not may_hand_on(made, event) or not _serves(context, event):
            continue
        for handed in handed_on(context, event):
            if handed.name not in _JITTED or handed.prepared:
                continue
            out = handed.option(context, "out_shardings")
            inner = context.flow.follow(handed.made, handed.call.args[0])
            entries = _entries(context, out) if out is not None else 0
            if entries and isinstance(inner.value, Attr) and inner.value.name == "init":
                if _counting(context, context.flow.with_value(inner, inner.value.base), 0):
                    yield event.scope, event.node, "the count of steps", entries
            given = handed.option(context, "in_shardings")
            if given is None:
                break
            if isinstance(given.value, Sequence):
                every = [context.flow.follow(given, one) for one in given.value.items]
            else:
                every = [given] * len(event.node.args)
            if len(every) == len(event.node.args) == handed.given:
                for node, value, one in zip(event.node.args, event.value.args, every, strict=True):
                    found = context.flow.resolve(context.flow.here(value, event.scope))
                    entries = _entries(context, one)
                    leaf = _leaf(context, found, entries, 0) if entries else ""
                    if leaf:
                        yield event.scope, node, leaf, entries
            break
