"""NNX807: compiled code that reads a variable or attribute which is bound again between its calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeGuard

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, FunctionFacts, ItemStore, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.between import Place, changed_between, compiling_roots, stands_between
from codemods.nnx.lint.conditions import apart
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.for_want import for_want
from codemods.nnx.lint.given_in_vain import given_in_vain
from codemods.nnx.lint.held import held
from codemods.nnx.lint.kept_fields import kept_fields
from codemods.nnx.lint.left_as_is import left_as_is
from codemods.nnx.lint.looked_into import looked_into
from codemods.nnx.lint.made_alike import made_alike, of_literals, record_of_literals
from codemods.nnx.lint.meant import same_said
from codemods.nnx.lint.names import COMPILING, last
from codemods.nnx.lint.places import in_test, kinds_of, shown, traced_bodies
from codemods.nnx.lint.running import running_calls
from codemods.nnx.lint.same_again import compiled_anew, in_other_cells, of_other_lengths, other_item
from codemods.nnx.lint.set_and_run import set_and_run
from codemods.nnx.lint.static_changed import changed_statics
from codemods.nnx.lint.syntax import constant, inside, is_none, keyword, names_in, of_comprehension
from codemods.nnx.lint.traced import COMPILED, Root
from codemods.nnx.lint.uncompiled import uncompiled
from codemods.nnx.lint.used_before import used_before
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import (
    Attr,
    Call,
    Choice,
    Class,
    Const,
    Free,
    Function,
    Item,
    Mapping,
    ModuleRef,
    Param,
    Ref,
    Value,
)

_CONSTRUCTORS = frozenset({"__init__", "__post_init__"})
# what `x += y` calls, of sums that are built up as a rule, and not of what compiled code holds
_IN_PLACE = frozenset(f"__i{word}__" for word in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"))
_STEADY = frozenset({"apply_fn", "tx"})  # what a train state hands on to the next as it is
_SIZES = frozenset({"batch_size", "n_samples", "num_samples", "shape", "size"})
_SHAPED = frozenset({"bernoulli", "choice", "exponential", "gamma", "laplace", "multivariate_normal", "poisson",
                     "randint", "rademacher", "truncated_normal"})  # fmt: skip
_SIZED = frozenset({"arange", "empty", "full", "linspace", "normal", "ones", "rand", "randn", "uniform", "zeros"})


def _check(context: Context) -> Iterator[Finding]:
    changed = {name for name, stores in context.flow.fields.stores().items() if any(map(_later, stores))}
    for function, tracing in traced_bodies(context, COMPILED):
        yield from _attributes(context, function, changed)
        seen: set[str] = set()
        if _of_first_round(context, function):
            continue
        if not tracing.roots and not _within(context, function):
            yield from _by_callers(context, function, seen)
            continue
        for node, value in _read(context, function):
            if node.id not in seen and _data(context, value) and not _function_part(context, function, node, value):
                if compiled_anew(context, function, value):
                    continue
                seen.add(node.id)
                change = _rebound(context, function, value)
                place = (value.scope, change) if change is not None else _called_between(context, function, value)
                if place is None or in_other_cells(context, function, value, place[1]):
                    continue
                if not _other_state(context, function, node.id, place):
                    yield _kept(function, node, node.id, place)
    for scope, store, event, name in changed_statics(context):
        yield finding(
            RULE.code,
            scope,
            store,
            f"`{last_word(event.node.func)}` is compiled once for the object that it gets as its static argument "
            f"`{name}`: changed in place, `{store.attr}` stays what it was there",
            "give it a new object, of a frozen dataclass: dataclasses.replace(...)",
            related=[(event.node, "called here")] if event.scope.module is scope.module else [],
        )


def _read(context: Context, function: FunctionFacts) -> Iterator[tuple[ast.Name, Free]]:
    """Yield the names of outer variables that a body reads, those of traced functions left out."""
    steady = _steady(context, function) | _unused(context, function) | _idle(context, function)
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in steady:
            value = function.scope.module.values.get(node)
            if isinstance(value, Free) and value.scope.function not in context.traced:
                if same_said(function.scope, node) or given_in_vain(context, node, function.scope):
                    continue
                if not of_comprehension(function.scope.module.source, node):
                    yield node, value


def _steady(context: Context, function: FunctionFacts) -> set[ast.expr]:
    """Return what a body reads only for something in it that stays as it is: ``state`` of ``state.actor.apply_fn``."""
    found: set[ast.expr] = set()
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Attribute) and (node.attr in _STEADY or node.attr in context.shared(kept_fields)):
            inner = node.value
            found.add(inner)
            while isinstance(inner, ast.Attribute):
                inner = inner.value
                found.add(inner)
    return found


def _idle(context: Context, function: FunctionFacts) -> set[ast.expr]:
    """Return the keys of dropout that a body gives a model in evaluation, where nothing draws with them:
    ``apply(variables, x, train=False, rngs={"dropout": key})``."""
    found: set[ast.expr] = set()
    for event in context.bodies.calls.get(function.scope, ()):
        words = {word.arg: word.value for word in event.node.keywords}
        rngs = words.get("rngs")
        if isinstance(rngs, ast.Dict) and any(
            constant(words.get(name)) is value for name, value in _EVALUATING.items() if name in words
        ):
            pairs = zip(rngs.keys, rngs.values, strict=True)
            found |= {v for k, v in pairs if isinstance(v, ast.Name) and k is not None and constant(k) == "dropout"}
    return found


_EVALUATING = {"train": False, "training": False, "is_training": False, "deterministic": True}


def _unused(context: Context, function: FunctionFacts) -> set[ast.expr]:
    """Return the names in a body from which only variables are made that nothing reads."""
    if isinstance(function.node, ast.Lambda):
        return set()
    every = [n for n in ast.walk(function.node) if isinstance(n, ast.Name)]
    read = {n.id for n in every if not isinstance(n.ctx, ast.Store)} | function.scope.globals
    found: set[ast.expr] = set()
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id not in read for t in node.targets):
            found.update(n for n in ast.walk(node.value) if isinstance(n, ast.Name))
    return found


def _by_callers(context: Context, function: FunctionFacts, seen: set[str]) -> Iterator[Finding]:
    """Yield the variables that a helper of compiled code reads, and that change between the calls of that."""
    for node, value in _read(context, function):
        if node.id in seen:
            continue
        seen.add(node.id)
        if _function_part(context, function, node, value):
            continue
        change = _called_between(context, function, value)
        if change is not None:
            yield _kept(function, node, node.id, change)


def _called_between(context: Context, function: FunctionFacts, free: Free) -> Place | None:
    """Return what changes a variable between two calls of the code that is compiled with it."""
    changes = [
        change
        for change in _changes(context, free)
        if not _before(context, function, free, change)
        and not _with_the_shape(context, *change)
        and not _sized_behind(context, free.name, *change, _direct(context, function, change[0]))
        and not other_item(context, function, free.name, change[1])
        and not of_other_lengths(context, function, *change)
        and not left_as_is(context, function, free.name, *change)
        and not used_before(context, function, change)
    ]
    return changed_between(context, compiling_roots(context, function), changes, reading=function) if changes else None


def _before(context: Context, function: FunctionFacts, free: Free, change: Place) -> bool:
    """Say whether a variable is bound before the function that reads it is made, each time, or for another function of
    its name that stands further down."""
    scope, node = change
    while function.scope.parent is not None and function.scope.parent is not free.scope:
        above = function.scope.parent.function
        if above is None:
            return False
        function = above
    if scope is not free.scope or function.scope.parent is not scope:
        return False
    if isinstance(node, ast.For) and inside(function.node, node):
        return True  # it binds the variable, and makes the function in each round
    if (node.end_lineno or node.lineno) < function.node.lineno:
        return True
    again = [n for n in context.bodies.nodes(scope) if _defines(n, {function.name}, function)]
    return any(n.lineno > function.node.lineno for n in again)


def _same(context: Context, free: Free, scope: Scope) -> bool:
    """Say whether a variable of a scope gets the value of the same text wherever it is bound."""
    nodes = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.stmt) and _binds(n, free.name)]
    texts = {ast.dump(n) for n in nodes}
    if scope is not free.scope or len(texts) != 1 or not isinstance(nodes[0], ast.Assign):
        return False
    alike = (made_alike(context, scope, n) for n in nodes if isinstance(n, ast.Assign))
    if _settled(nodes[0]) or of_literals(context, nodes[0], scope) or _length(context, nodes[0], scope):
        return True
    if record_of_literals(context, nodes[0], scope):
        return True
    return all(alike)


def _other_state(context: Context, function: FunctionFacts, name: str, place: Place) -> bool:
    """Say whether a train state is made of a model behind the place that binds it, or of another transformation, and a
    function gets such a state: it is compiled anew for the other `apply_fn` or `tx`."""
    scope, change = place
    taken = {
        n.value.id
        for n in context.bodies.nodes(function.scope)
        if isinstance(n, ast.Attribute) and n.attr == "params" and isinstance(n.value, ast.Name)
    }
    return bool(taken & set(function.params)) and any(
        last_word(event.node.func) == "create"
        and "State" in ast.unparse(event.node.func)
        and event.node.lineno > change.lineno
        and any(
            (k.arg == "apply_fn" and name in names_in(k.value))
            or (k.arg == "tx" and _behind(context, scope, k.value, change))
            for k in event.node.keywords
        )
        for event in context.bodies.calls.get(scope, ())
    )


def _behind(context: Context, scope: Scope, tx: ast.expr, change: ast.stmt | ast.expr) -> bool:
    """Say whether the transformation of a train state is made anew behind a place: it is a part of what is compiled."""
    if isinstance(tx, ast.Call):
        return True
    made = (n for n in context.bodies.nodes(scope) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call))
    return isinstance(tx, ast.Name) and any(
        n.lineno > change.lineno and any(isinstance(t, ast.Name) and t.id == tx.id for t in n.targets) for n in made
    )


def _length(context: Context, node: ast.Assign, scope: Scope) -> bool:
    """Say whether a variable is the length of something that is bound once."""
    made = node.value
    if not isinstance(made, ast.Call) or last_word(made.func) != "len" or len(made.args) != 1:
        return False
    if not isinstance(counted := made.args[0], ast.Name):
        return False
    return sum(_binds(n, counted.id) for n in context.bodies.nodes(scope) if isinstance(n, ast.stmt)) == 1


def _once(context: Context, free: Free, scope: Scope) -> bool:
    """Say whether a variable gets its value once: in the first round of all loops around the place that binds it, as by
    `if step == 0`, or where it is still None."""
    if scope is not free.scope or free.name in scope.remote:
        return False
    nodes = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.stmt) and _binds(n, free.name)]
    known = context.bodies.paths(scope)
    if len(nodes) == 2 and isinstance(none := nodes[0], ast.Assign) and not known.get(none):
        told = is_none(none.value)
        tests = [block.test for block, arm in known.get(nodes[1], ()) if isinstance(block, ast.If) and arm == "body"]
        return told and isinstance(nodes[1], ast.Assign) and any(_is_none(test, free.name) for test in tests)
    if len(nodes) != 1 or not isinstance(nodes[0], ast.Assign):
        return False
    path = known.get(nodes[0], ())
    rounds = [block for block, _ in path if isinstance(block, ast.For | ast.While | ast.AsyncFor)]
    firsts = {name for block, arm in path if isinstance(block, ast.If) and arm == "body" for name in _zero(block.test)}
    return bool(rounds) and all(isinstance(one, ast.For) and _counter(one) in firsts for one in rounds)


def _is_none(test: ast.expr, name: str) -> bool:
    """Say whether a condition asks whether a variable is None."""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == name
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Is)
        and is_none(test.comparators[0])
    )


def _zero(test: ast.expr) -> Iterator[str]:
    """Yield the names that are 0 where a condition holds."""
    for part in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]:
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.Eq):
            sides = (part.left, part.comparators[0])
            if any(constant(side) == 0 for side in sides):
                yield from (side.id for side in sides if isinstance(side, ast.Name))


def _counter(loop: ast.For) -> str:
    """Return the name of what counts the rounds of a loop from 0 on; empty if nothing does."""
    if not isinstance(loop.iter, ast.Call) or loop.iter.keywords or len(loop.iter.args) != 1:
        return ""
    target = loop.target
    if last_word(loop.iter.func) == "enumerate" and isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]
    elif last_word(loop.iter.func) not in {"range", "trange"}:
        return ""
    return target.id if isinstance(target, ast.Name) else ""


def _of_first_round(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function counts in the first round of a loop alone: ``lax.cond(i == 0, function, other, x)``."""
    scope = function.scope.parent
    if scope is None:
        return False
    names = context.bodies.reads(scope, function.name)
    if not names:
        return False
    paths = context.bodies.paths(scope)
    for name in names:
        loops = [block for block, _ in paths.get(name, ()) if isinstance(block, ast.For | ast.While | ast.AsyncFor)]
        counter = _counter(loops[0]) if len(loops) == 1 and isinstance(loops[0], ast.For) else ""
        tests = [block.test for block, arm in paths[name] if isinstance(block, ast.If | ast.IfExp) and arm == "body"]
        if not counter or not any(counter in _zero(test) for test in (*tests, *_chosen_by(context, name, scope))):
            return False
    every = (n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == function.name)
    return sum(isinstance(n.ctx, ast.Load) for n in every) == len(names)


def _chosen_by(context: Context, name: ast.Name, scope: Scope) -> Iterator[ast.expr]:
    """Yield the conditions of ``lax.cond`` under which it calls a function that it is given."""
    for event in context.bodies.calls.get(scope, ()):
        if last_word(event.node.func) == "cond" and event.node.args[1:2] == [name]:
            yield event.node.args[0]


def _settled(node: ast.Assign) -> bool:
    """Say whether a statement gives a variable the same value again: that of an attribute, a literal, or a function
    transformed, as ``jax.pmap(jnp.argsort)``."""
    value = node.value
    if isinstance(value, ast.Call) and last_word(value.func) in _TRANSFORMS and len(value.args) == 1:
        return isinstance(value.args[0], ast.Attribute) and all(
            isinstance(n, _LITERAL) for k in value.keywords for n in ast.walk(k.value)
        )
    return all(isinstance(n, _PLAIN) for n in ast.walk(node.value)) or all(
        isinstance(n, _LITERAL) for n in ast.walk(node.value)
    )


_TRANSFORMS = frozenset({"jit", "pmap", "vmap", "grad", "value_and_grad"})
_PLAIN = ast.Attribute | ast.Name | ast.Constant | ast.expr_context
_LITERAL = (
    ast.Constant | ast.Tuple | ast.List | ast.Set | ast.Dict | ast.UnaryOp | ast.BinOp
    | ast.operator | ast.unaryop | ast.expr_context
)  # fmt: skip


def _with_the_shape(context: Context, scope: Scope, node: ast.AST) -> bool:
    """Say whether a loop changes a variable with the size of an array that it makes, so that all is compiled again."""
    if isinstance(node, ast.For):  # it binds the variable itself
        loops = [(node, "body")]
    elif isinstance(node, ast.Assign):
        loops = [(loop, arm) for loop, arm in context.bodies.paths(scope).get(node, ()) if isinstance(loop, ast.For)]
    else:
        return False
    for loop, arm in loops:
        if arm != "body":
            continue
        sizes = names_in(loop.target)
        if isinstance(node, ast.Assign):
            sizes &= names_in(node.value)
        if sizes and any(names & sizes for names in _sizes(loop)):
            return True
    return False


def _direct(context: Context, function: FunctionFacts, scope: Scope) -> list[ast.Call]:
    """Return the calls in a body of what is compiled with a function."""
    roots = compiling_roots(context, function)
    return [event.node for root in roots for event in context.traced.calls_of(root) if event.scope is scope]


def _sized_behind(context: Context, name: str, scope: Scope, change: ast.AST, calls: list[ast.Call]) -> bool:
    """Say whether all calls behind a change get an array that is made there, with the variable as its size: JAX
    compiles for its shape."""
    line = getattr(change, "lineno", 0)
    loops = [loop for loop, _ in context.bodies.paths(scope).get(change, ()) if isinstance(loop, ast.For | ast.While)]
    if any(call.lineno < line and inside(call, loop) for call in calls for loop in loops):
        return False
    made = {
        target.id: node.lineno
        for node in context.bodies.nodes(scope)
        if isinstance(node, ast.Assign) and node.lineno > line and any(name in sizes for sizes in _sizes(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    after = [call for call in calls if call.lineno > line]
    return bool(after and made) and all(
        any(isinstance(part, ast.Name) and made.get(part.id, call.lineno) < call.lineno for part in call.args)
        for call in after
    )


def _sizes(node: ast.AST) -> Iterator[frozenset[str]]:
    """Yield the names of the sizes of the arrays that the calls in a node make."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            known, shaped = last_word(call.func) in _SIZED, last_word(call.func) in _SHAPED
            yield from (_size(p) for p in call.args if known or (shaped and isinstance(p, ast.Tuple)))
            yield from (_size(word.value) for word in call.keywords if word.arg in _SIZES)


def _size(node: ast.expr) -> frozenset[str]:
    """Return the names of what an argument is a size of: itself, or the parts of a tuple."""
    parts = elements(node)
    return frozenset(part.id for part in parts if isinstance(part, ast.Name))


def _changes(context: Context, free: Free) -> Iterator[Place]:
    """Yield where a variable is bound again, or an item of it is assigned to, by its module or another one."""
    if free.scope.function is None:
        for event in context.flow.fields.stores().get(free.name, ()):
            base = context.flow.resolve(context.flow.here(event.base, event.scope)).value
            if isinstance(base, ModuleRef) and context.project.find(base.name, base.importer) is free.scope.module:
                yield event.scope, event.statement
    if not _data(context, free):
        return
    for scope in (free.scope, *(writer.scope for writer in free.scope.remote.get(free.name, ()))):
        if not _same(context, free, scope) and not _once(context, free, scope):
            nodes = context.bodies.nodes(scope)
            yield from ((scope, n) for n in nodes if isinstance(n, ast.stmt) and _binds(n, free.name))


def _kept(function: FunctionFacts, node: ast.expr, text: str, change: Place) -> Finding:
    scope, place = change
    beside = scope.module is function.scope.module
    where = "" if beside else f" of {scope.module.source.file_name}"
    return finding(
        RULE.code,
        function.scope,
        node,
        f"{shown(function)} keeps an earlier value of `{text}`, which line {place.lineno}{where} changes",
        f"pass `{text}` as an argument",
        related=[(place, "changed here")] if beside else (),
    )


def _within(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function is written in one that is compiled itself."""
    scope = function.scope.parent
    while scope is not None and scope.function is not None:
        tracing = context.traced.get(scope.function)
        if tracing is None:
            return False
        if any(root.transform in COMPILING for root in tracing.roots):
            return True
        scope = scope.parent
    return False


def _data(context: Context, free: Free) -> bool:
    """Say whether a variable is bound several times, and to data only: no state of another library."""
    bindings: list[Value] = free.scope.bindings.get(free.name, [])
    names = [context.flow.calls.callee_name(context.flow.here(b, free.scope)) for b in bindings if isinstance(b, Call)]
    if any(last(name).endswith("Variable") and not name.startswith("flax.") for name in names):
        return False
    if any(isinstance(b, Item) and kinds_of(context, b, free.scope) == {Kind.GRAPHDEF} for b in bindings):
        return False  # the structure of a model, which is equal after every split
    if _batch_count(context, free, bindings):
        return False
    several = len(bindings) > 1 or free.name in free.scope.rebound or free.name in free.scope.remote
    return several and not any(isinstance(b, Function | Class | ModuleRef | Attr) for b in bindings)


def _batch_count(context: Context, free: Free, bindings: list[Value]) -> bool:
    """Say whether a variable gets the number of batches each time, from what makes the epochs of a NumPyro example."""
    for value in bindings:
        if not isinstance(value, Item) or not _first(value) or not isinstance(value.base, Call):
            return False
        made = context.flow.follow(context.flow.here(value.base, free.scope), value.base.callee)
        if (
            not isinstance(made.value, Item | Indexed)
            or not _first(made.value)
            or not isinstance(made.value.base, Call)
        ):
            return False
        loaded = context.flow.calls.callee_name(context.flow.with_value(made, made.value.base))
        if loaded != "numpyro.examples.datasets.load_dataset":
            return False
    return bool(bindings)


def _first(part: Item | Indexed) -> bool:
    index = part.index.value if isinstance(part, Indexed) else part.index
    return isinstance(index, Const) and index.value == 0


def _function_part(context: Context, function: FunctionFacts, node: ast.Name, free: Free) -> bool:
    """Say whether a variable gets parts of results, and is called: ``init, apply = make()`` gives equal ones again."""
    if not any(isinstance(b, Item) for b in free.scope.bindings.get(free.name, ())):
        return False
    return any(event.node.func is node for event in context.bodies.calls.get(function.scope, ()))


def _rebound(context: Context, function: FunctionFacts, free: Free) -> ast.stmt | ast.expr | None:
    """Return what binds a variable again after a first call and before another; None if nothing does."""
    outer, reader = free.scope, function
    nodes = context.bodies.nodes(outer)
    while function.scope.parent is not outer:  # an inner function reads it, and the outer one is called
        above = function.scope.parent.function if function.scope.parent is not None else None
        if above is None or above not in context.traced:
            return None
        function = above
    names = {function.name} | {
        t.id for n in nodes if isinstance(n, ast.Assign) and _mentions(n.value, function) for t in n.targets
        if isinstance(t, ast.Name)
    }  # fmt: skip
    writers = {writer.name for writer in free.scope.remote.get(free.name, ()) if writer not in context.traced}
    calls = [n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in names]
    made = function.node.lineno
    again = min((d.lineno for d in nodes if _defines(d, names, function) and d.lineno > made), default=None)
    paths = context.bodies.paths(outer)
    calls = [call for call in calls if made < call.lineno and (again is None or call.lineno < again)]
    calls = [call for call in calls if not uncompiled(paths.get(call, ()))]
    calls += looked_into(context, outer, names, calls)
    loops = [n for n in nodes if isinstance(n, ast.For | ast.While) and not inside(function.node, n)]
    for node in nodes:
        if not _binds(node, free.name) and not _calls(node, writers):
            continue
        assert isinstance(node, ast.stmt | ast.expr)
        if _with_the_shape(context, outer, node) or other_item(context, reader, free.name, node):
            continue
        if _binds(node, free.name) and (_same(context, free, outer) or _once(context, free, outer)):
            continue
        if of_other_lengths(context, function, outer, node) or left_as_is(context, reader, free.name, outer, node):
            continue
        if _sized_behind(context, free.name, outer, node, calls):
            continue
        if _amid(context, outer, node, calls):
            return node
        if any(inside(node, loop) and any(inside(call, loop) for call in calls) for loop in loops):
            return node
    return None


def _amid(context: Context, scope: Scope, node: ast.stmt | ast.expr, calls: list[ast.Call]) -> bool:
    """Say whether a place stands between two calls that one run of a body may reach with it."""
    paths = context.bodies.paths(scope)
    before = [call for call in calls if call.lineno < node.lineno]
    after = [call for call in calls if call.lineno > node.lineno] if before else []
    return any(
        not any(apart(paths.get(a, ()), paths.get(b, ()), scope.node) for a, b in pairwise((first, node, second)))
        and not apart(paths.get(first, ()), paths.get(second, ()), scope.node)
        for first in before
        for second in after
    )


def _defines(node: ast.AST, names: set[str], function: FunctionFacts) -> TypeGuard[ast.stmt]:
    """Say whether a statement gives another function one of the names."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name in names
    return (
        isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id in names for target in node.targets)
        and not _mentions(node.value, function)
    )


def _calls(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _later(store: AttrEvent) -> bool:
    """Say whether an attribute is assigned outside of a constructor, and not to add to the whole object."""
    return store.scope.function is None or store.scope.function.name not in _CONSTRUCTORS | _IN_PLACE


def _attributes(context: Context, function: FunctionFacts, changed: set[str]) -> Iterator[Finding]:
    """Yield the reads of attributes that other code assigns to, of objects that are no arguments."""
    seen: set[str] = set()
    items = context.shared(_stored_items)
    steady = _steady(context, function) if changed else set()
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Subscript) and last_word(node.value) in items and isinstance(node.ctx, ast.Load):
            change = _set_between(context, function, node)
            if change is not None:
                yield _kept(function, node, ast.unparse(node), change)
                return
        if not isinstance(node, ast.Attribute) or node.attr not in changed or node.attr in seen:
            continue
        if not isinstance(node.ctx, ast.Load):
            continue
        if not isinstance(node.value, ast.Name | ast.Attribute) or node in steady:
            continue
        change = _set_between(context, function, node)
        if change is not None:
            seen.add(node.attr)
            yield _kept(function, node, ast.unparse(node), change)
            continue
        if not isinstance(node.value, ast.Name) or not held(context, function, node.value):
            continue
        if for_want(context, function, node):
            continue
        seen.add(node.attr)
        change = _assigned(context, function, node)
        if change is not None:
            yield _kept(function, node, ast.unparse(node), change)


def _set_between(context: Context, function: FunctionFacts, node: ast.Attribute | ast.Subscript) -> Place | None:
    """Return what sets an attribute or item of a module, a class or an object of a module between two calls."""
    shared = _shared(context, node.value, function.scope)
    if shared is None:
        return None
    stores: list[AttrEvent] | list[ItemStore]
    if isinstance(node, ast.Attribute):
        stores = [event for event in context.flow.fields.stores().get(node.attr, ()) if _later(event)]
    else:
        stores = context.shared(_stored_items).get(last_word(node.value), [])
    changes = [
        (store.scope, store.statement)
        for store in stores
        if context.flow.resolve(context.flow.here(store.base, store.scope)) == shared
        and not used_before(context, function, (store.scope, store.statement))
    ]
    if not changes or kinds_of(context, function.scope.module.values[node.value], function.scope):
        return None  # what NNX passes as an argument is told of elsewhere
    return changed_between(context, compiling_roots(context, function), changes)


def _shared(context: Context, node: ast.expr, scope: Scope) -> Bound | None:
    """Return what an expression in a function names that the whole module has: another module, a class, an object."""
    value = scope.module.values.get(node)
    if value is None:
        return None
    if isinstance(value, Free) and value.scope.function in context.traced:
        return None
    found = context.flow.resolve(context.flow.here(value, scope))
    inner = found.value
    if isinstance(inner, ModuleRef):
        return found if context.project.find(inner.name, inner.importer) is not None else None
    if isinstance(inner, Class):
        return found
    if isinstance(inner, Choice) and isinstance(value, Free) and value.of_global:
        return found  # as it was made, or with other items
    if not isinstance(inner, Call | Mapping) or not isinstance(value, Free | Attr | Ref):
        return None
    return found if context.bodies.home(inner.node) not in {one.scope for one in context.traced.known} else None


def _stored_items(context: Context) -> dict[str, list[ItemStore]]:
    """Return the assignments to items, by the last word of what holds them."""
    found: dict[str, list[ItemStore]] = {}
    for module in context.project.modules:
        for store in module.item_stores:
            found.setdefault(last_word(store.node.value), []).append(store)
    return found


def _assigned(context: Context, function: FunctionFacts, node: ast.Attribute) -> Place | None:
    """Return what assigns to an attribute after the constructor did; None if nothing does."""
    flow = context.flow
    base = flow.resolve(flow.here(function.scope.module.values[node.value], function.scope))
    cls = flow.classes.class_of(base)
    if cls is None:  # an argument without an annotation
        classes = {flow.classes.class_of(source) for source in context.sources.originals(base)}
        cls = classes.pop() if len(classes) == 1 else None
    if cls is None:
        return None
    parents = flow.classes.mro(cls)[0]
    if any(name in parent.methods for parent in parents for name in ("__hash__", "__eq__")):
        return None  # what is compiled may depend on the object's state
    stores = [store for parent in parents for store in parent.stores.get(node.attr, ())]
    first = [value for method, value in stores if method.name == "__init__"]
    if not first or any(isinstance(v, Function | Class) or v == Const(None) for v in first):
        return None
    roots = context.traced.known[function].roots
    if roots and all(in_test(root.scope) for root in roots):
        return None
    compiling = {root.scope.function for root in roots} - {None}
    for event in flow.fields.stores().get(node.attr, ()):
        writer = event.scope.function
        if writer in context.traced:
            continue
        if not _later(event) or (writer in compiling and not _amid_calls(context, function, event, roots)):
            continue
        changed = flow.here(event.base, event.scope)
        holder = flow.classes.class_of(flow.resolve(changed))
        if holder is None and isinstance(event.base, Param):  # an argument without an annotation
            given = {flow.classes.class_of(source) for source in context.sources.originals(changed)}
            holder = given.pop() if len(given) == 1 else None
        if holder is None or holder not in parents or _handed_on(function, node, event) or _begins(context, writer):
            continue
        if (
            writer in compiling
            or _between(context, function, event)
            or _set_outside(context, function, event)
            or _set_by_method(context, function, event)
            or set_and_run(context, event, _names(context, function))
        ) and not used_before(context, function, (event.scope, event.statement)):
            return event.scope, event.node
    return None


def _begins(context: Context, writer: FunctionFacts | None) -> bool:
    """Say whether only functions of its module call a method which make or begin an object, by their names:
    ``injected_init``."""
    callers = [*context.bodies.named(writer.name)] if writer is not None and writer.name else []
    return bool(callers) and all(
        writer is not None
        and event.scope.module is writer.scope.module
        and event.scope.function is not None
        and _MAKING.search(event.scope.function.name)
        for event in callers
    )


_MAKING = pattern(r"(^|_)init(_|$)|^__(post_init|init|new)__$")


def _handed_on(function: FunctionFacts, node: ast.Attribute, event: AttrEvent) -> bool:
    """Say whether only a field is read of an attribute, and what is assigned to that is a new object which gets this
    field as it was: ``self.fixed = Fixed(rate=self.fixed.rate, matrix=new)``."""
    made = getattr(event.statement, "value", None)
    fields = {
        n.attr for n in ast.walk(function.node)
        if isinstance(n, ast.Attribute) and ast.dump(n.value) == ast.dump(node)
    }  # fmt: skip
    whole = [n for n in ast.walk(function.node) if isinstance(n, ast.Attribute) and ast.dump(n) == ast.dump(node)]
    if not isinstance(made, ast.Call) or len(fields) != 1 or not isinstance(node.value, ast.Name):
        return False
    (field,) = fields
    reads = [n for n in ast.walk(function.node) if isinstance(n, ast.Attribute) and n.value in whole]
    given = keyword(made, field)
    if len(reads) != len(whole) or given is None:
        return False
    if isinstance(given, ast.Call) and not given.args and not given.keywords:  # the very function that reads it
        return isinstance(given.func, ast.Attribute) and given.func.attr == function.name
    return isinstance(given, ast.Attribute) and given.attr == field and last_word(given.value) == node.attr


def _set_outside(context: Context, function: FunctionFacts, event: AttrEvent) -> bool:
    """Say whether other code sets an attribute of an object between two calls of its methods, which run the code."""
    owner = ast.unparse(event.node.value)
    if _made_in_loop(context, event):
        return False
    if isinstance(event.base, Param) and event.base is not event.base.function.self_param:
        for root in compiling_roots(context, function):  # callers may have another object of its name
            calls = running_calls(context, event.scope, owner, _attribute(context, root), root.function.owner)
            if calls and stands_between(context, root, event.scope, event.statement, calls, event.statement):
                return True
        return False
    change = changed_between(context, compiling_roots(context, function), [(event.scope, event.statement)], owner)
    return change is not None


def _made_in_loop(context: Context, event: AttrEvent) -> bool:
    """Say whether each round of a loop binds the object anew of which it sets an attribute."""
    first = event.node.value
    while isinstance(first, ast.Attribute):
        first = first.value
    around = [b for b, _ in context.bodies.paths(event.scope).get(event.node, ()) if isinstance(b, ast.For | ast.While)]
    return isinstance(first, ast.Name) and any(
        not isinstance(name.ctx, ast.Load) and any(inside(name, loop) for loop in around)
        for name in context.bodies.names(event.scope).get(first.id, ())
    )


def _set_by_method(context: Context, function: FunctionFacts, event: AttrEvent) -> bool:
    """Say whether a method or function that sets an attribute is called between two calls of compiled methods of one
    object."""
    setter = event.scope.function
    param = event.scope.module.values.get(event.node.value)
    if setter is None or not isinstance(param, Param) or param.function is not setter or not setter.name:
        return False
    if any(module.source.mentions(b"clear_cache") for module in context.project.modules):
        return False
    roots = [root for root in compiling_roots(context, function) if not in_test(root.scope)]
    for caller in context.bodies.named(setter.name):
        scope, target = caller.scope, _changed(context, caller, setter, param)
        if target is None or in_test(scope) or scope.function in context.traced:
            continue
        if all(
            constant(one) is not None
            for one in (*caller.node.args, *(k.value for k in caller.node.keywords))
            if one is not target
        ):
            continue  # which may set the same again
        if not _kept_object(context, caller, target):
            continue
        owner = ast.unparse(target)
        for root in roots:
            if not _is_of(context, target, scope, setter.owner or root.function.owner):
                continue
            calls = running_calls(context, scope, owner, _attribute(context, root), root.function.owner)
            if calls and stands_between(context, root, scope, caller.node, calls, caller.node):
                return True
            if calls and scope.function is not None and _repeated(context, scope.function, target):
                return True
    return False


def _changed(context: Context, caller: CallEvent, setter: FunctionFacts, param: Param) -> ast.expr | None:
    """Return the object that a call gives a method or function which sets an attribute of it; None if unknown."""
    func = caller.node.func
    if param is setter.self_param:
        return func.value if isinstance(func, ast.Attribute) else None
    if setter.owner is not None or caller.value.starred or not isinstance(func, ast.Name):
        return None
    if not any(one.function is setter for one in context.flow.calls.callables(
        context.flow.here(caller.value.callee, caller.scope))):  # fmt: skip
        return None
    names = [k.value for k in caller.node.keywords if k.arg == param.name]
    place = list(setter.params).index(param.name)
    given = [*caller.node.args[place : place + 1], *names]
    return given[0] if len(given) == 1 and isinstance(given[0], ast.Name | ast.Attribute) else None


def _is_of(context: Context, node: ast.expr, scope: Scope, owner: ClassFacts | None) -> bool:
    """Say whether an expression is an object of a class, on every way."""
    value = scope.module.values.get(node)
    if value is None or owner is None:
        return False
    here = context.flow.here(value, scope)
    found = context.flow.classes.class_of(context.flow.resolve(here))
    classes = {found} if found is not None else {
        context.flow.classes.class_of(source) for source in context.sources.originals(here)
    }  # fmt: skip
    return bool(classes) and all(cls is not None and owner in context.flow.classes.mro(cls)[0] for cls in classes)


def _attribute(context: Context, root: Root) -> str:
    """Return the attribute under which objects have a method that is compiled; empty if it is not known."""
    if root.decorator:
        return root.function.name
    for event in context.bodies.calls.get(root.scope, ()):
        if event.node is root.node and isinstance(event.statement, ast.Assign):
            target = event.statement.targets[0]
            return target.attr if isinstance(target, ast.Attribute) else ""
    return ""


def _names(context: Context, function: FunctionFacts) -> list[tuple[str, ClassFacts | None]]:
    """Return the attributes under which objects have the compiled code that runs a function, with their classes."""
    return [(_attribute(context, root), root.function.owner) for root in compiling_roots(context, function)]


def _kept_object(context: Context, caller: CallEvent, owner: ast.expr) -> bool:
    """Say whether what a method is called on is the same object in every round of the loops around, and behind it."""
    first = owner
    while isinstance(first, ast.Attribute):
        first = first.value
    if not isinstance(first, ast.Name):
        return False
    bound = [
        n
        for n in context.bodies.nodes(caller.scope)
        if isinstance(n, ast.Name) and n.id == first.id and isinstance(n.ctx, ast.Store)
    ]
    return len(bound) < 2 and not any(inside(n, loop) for n in bound for loop in caller.loops)


def _repeated(context: Context, function: FunctionFacts, owner: ast.expr) -> bool:
    """Say whether a function is called in a loop with one object for a parameter."""
    held = function.scope.module.values.get(owner)
    if not isinstance(held, Param) or held.function is not function:
        return False
    for caller in context.flow.sites.callers(function):
        loops = [loop for loop in caller.loops if isinstance(loop, ast.For | ast.While)]
        if not loops or in_test(caller.scope) or caller.value.starred:
            continue
        names = list(function.params)
        place = names.index(held.name)
        nodes = [k.value for k in caller.node.keywords if k.arg == held.name]
        if isinstance(caller.node.func, ast.Name):
            nodes += caller.node.args[place : place + 1]
        elif held is function.self_param and isinstance(caller.node.func, ast.Attribute):
            nodes.append(caller.node.func.value)
        bound = {n.id for n in ast.walk(loops[-1]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if any(isinstance(node, ast.Name) and node.id not in bound for node in nodes):
            return True
    return False


def _between(context: Context, function: FunctionFacts, event: AttrEvent) -> bool:
    """Say whether an assignment goes on from the old value, or stands beside calls of the compiled function.

    Others, as in ``with_loss(...)``, may well come before the first call.
    """
    statement = event.statement
    if isinstance(statement, ast.AugAssign):
        return True
    if _goes_on(getattr(statement, "value", None), event.node.attr):
        # what is brought into another form once, before anything runs: `if isinstance(self.scale, float)`
        writer = event.scope.function
        once = context.bodies.of_asked_type(event.node, statement, event.scope)
        return not once and (writer is None or not _FITTING.search(writer.name))
    return _beside_calls(context, function, event)


_FITTING = pattern(r"^_*(fit|calibrate|prepare|set_?up|build|configure|initiali[sz]e)(_|$)")
_LIMITS = frozenset({"max", "min", "clip", "maximum", "minimum", "float", "int", "round"})


def _goes_on(value: ast.expr | None, attribute: str) -> bool:
    """Say whether arithmetic makes a new value of the old one, within limits as in ``max(least, self.rate * 0.9)``."""
    if isinstance(value, ast.Call) and last_word(value.func) in _LIMITS:
        return any(_goes_on(part, attribute) for part in value.args)
    return isinstance(value, ast.BinOp) and any(
        isinstance(n, ast.Attribute) and n.attr == attribute for n in ast.walk(value)
    )


def _beside_calls(context: Context, function: FunctionFacts, event: AttrEvent) -> bool:
    calls = [e.node.lineno for e in context.flow.sites.callers(function) if e.scope is event.scope]
    return bool(calls) and min(calls) < event.node.lineno < max(calls)


def _amid_calls(context: Context, function: FunctionFacts, event: AttrEvent, roots: list[Root]) -> bool:
    """Say whether an assignment stands between calls of the function, or in a loop with one, in the body that compiles
    it before."""
    made = [root.node for root in roots if root.scope is event.scope]
    if any(getattr(node, "lineno", event.node.lineno) < event.node.lineno for node in made):
        if _beside_calls(context, function, event):
            return True
    calls = [e for e in context.flow.sites.callers(function) if e.scope is event.scope]
    loops = (b for b, _ in context.bodies.paths(event.scope).get(event.node, ()) if isinstance(b, ast.For | ast.While))
    return any(
        any(inside(call.node, loop) for call in calls) and not any(inside(node, loop) for node in made)
        for loop in loops
    )


def _mentions(node: ast.expr, function: FunctionFacts) -> bool:
    return any((isinstance(n, ast.Name) and n.id == function.name) or n is function.node for n in ast.walk(node))


def _binds(node: ast.AST, name: str) -> bool:
    """Say whether a statement binds a name, one of several, or an item of what it holds."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = [*node.targets]
    elif isinstance(node, ast.AugAssign | ast.For) or (isinstance(node, ast.AnnAssign) and node.value is not None):
        targets = [node.target]
    while targets:
        target = targets.pop()
        if isinstance(target, ast.Tuple | ast.List):
            targets += target.elts
            continue
        inner = target.value if isinstance(target, ast.Subscript | ast.Starred) else target
        if isinstance(inner, ast.Name) and inner.id == name:
            return True
    return False


RULE = lint_rule(
    "NNX807",
    "stale-global",
    "compiled code reads a variable or attribute that changes between calls",
    why="""\
The value at the first call is a constant of the compiled code. Later values are not seen, until a call with other
shapes compiles anew and takes whatever value there is by then.
""",
    source="JAX tutorial, section on purity (`shift`, `config`); measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
import jax

scale = 1.0


@jax.jit
def scaled(x):
    return x * scale


scaled(2.0)
scale = 2.0
scaled(2.0)
""",
        """\
import jax


class Scaler:
    def __init__(self):
        self.scale = 1.0
        self.apply = jax.jit(self._apply)

    def _apply(self, x):
        return x * self.scale

    def double(self):
        self.scale = 2 * self.scale
""",
    ),
    clean=(
        """\
import jax


class Scaler:
    def __init__(self, scale):
        self.scale = scale
        self.apply = jax.jit(self._apply)

    def _apply(self, x):
        return x * self.scale
""",
        """\
import jax

scale = 1.0
scale = 2.0


@jax.jit
def scaled(x):
    return x * scale


scaled(2.0)
""",
    ),
)
