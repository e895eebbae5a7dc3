"""NNX856: an array read after it was donated."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.applied import calls_of, option, skipped
from codemods.nnx.lint.begun import begun, made_first, same_first
from codemods.nnx.lint.conditions import apart
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.donated_again import donated_again
from codemods.nnx.lint.donated_clone import clone_given, clone_read, model_read
from codemods.nnx.lint.held_twice import held_twice
from codemods.nnx.lint.host_batches import from_host
from codemods.nnx.lint.kept_result import kept_result
from codemods.nnx.lint.keys import binds, varies
from codemods.nnx.lint.missing_update import used_untrained
from codemods.nnx.lint.names import STATIC_ATTRIBUTES
from codemods.nnx.lint.places import NNX_OBJECTS, compiled_roots, in_test, kinds_of, shown
from codemods.nnx.lint.same_arrays import second_name
from codemods.nnx.lint.shared_parts import arrays_of, in_record, shares
from codemods.nnx.lint.syntax import constant, innermost_loop, inside, several
from codemods.nnx.lint.traced import Root
from codemods.nnx.patterns import pattern
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Attr, Call, Const, Free, Item, Loop, Mapping, Param, Value

# beside what arrays tell of themselves, what objects of several arrays hold of other things by custom
_METADATA = STATIC_ATTRIBUTES | {"is_deleted", "delete", "weak_type", "device", "devices", "attrs", "metadata",
                                 "apply_fn", "tx"}  # fmt: skip


#: Functions of these names give numbers, for which no donated memory is of use: JAX leaves it as it is.
_EVALUATION = pattern(r"(^|_)(eval\w*|valid\w*|metrics?|(val|test)_(step|epoch|batch|loss|fn|iter\w*))(_|$)")


def _check(context: Context) -> Iterator[Finding]:
    for event, again in donated_again(context):
        yield finding(
            RULE.code,
            event.scope,
            again,
            f"`{again.id}` is donated in every round, and is the same in each: its memory is gone after the first",
            f"go on with the result: {again.id}, ... = {ast.unparse(event.node.func)}({again.id}, ...)",
        )
    for root in compiled_roots(context):
        donated = _donated(root) if not _EVALUATION.search(root.function.name) else frozenset()
        for event in calls_of(context, root) if donated else ():
            if in_test(event.scope) or enclosing_function(event.scope) in context.traced:
                continue  # within compiled code nothing is donated
            shared = False  # two donated arguments are told of once
            for node, value in _given(event, root.function, donated, root.transform):
                twin = None if shared else _twin(context, root, event, node, value)
                if twin is not None:
                    shared = True
                    yield twin
                elif not shared:
                    yield from _lost(context, root, event, node, value)
            for outer, node, value in _handed_on(context, root, event, donated):
                if outer.scope.module in context.asked:
                    yield from _lost_later(context, root, outer, node, value)


def _twin(context: Context, root: Root, event: CallEvent, node: ast.expr, value: Value) -> Finding | None:
    """Return what is wrong with a donated model of which the same call is given a clone, or with a donated state of a
    model that is run afterwards."""
    text = event.scope.module.source.text
    clone = clone_given(context, event, node, value) if root.transform == "flax.nnx.jit" else None
    if clone is not None:
        return finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{text(node)}` is donated to {shown(root.function)}, and `{text(clone)}` in the same call shares its "
            "arrays, since nnx.clone copies none",
            "copy the arrays: nnx.merge(graphdef, jax.tree.map(jnp.copy, state)) of its split",
        )
    run = model_read(context, event, value)
    if run is None or any(used is run[0] for _, _, _, used in context.shared(used_untrained)):
        return None  # NNX812 tells of it
    model, made = run
    return finding(
        RULE.code,
        event.scope,
        model,
        f"`{text(model)}` shares its arrays with `{text(node)}`, which was donated to {shown(root.function)} in line "
        f"{event.node.lineno}",
        f"put the new state back before: nnx.update({text(model)}, ...)",
        related=[(made, "the state that was split off"), (event.node, "donated here")],
    )


def _lost(context: Context, root: Root, event: CallEvent, node: ast.expr, value: Value) -> Iterator[Finding]:
    """Yield what is wrong with a variable that a call donates."""
    clone = clone_read(context, event, node, value) if root.transform == "flax.nnx.jit" else None
    if clone is not None:
        text = event.scope.module.source.text
        yield finding(
            RULE.code,
            event.scope,
            clone,
            f"`{text(clone)}` shares its arrays with `{text(node)}`, since nnx.clone copies none, and they were "
            f"donated to {shown(root.function)} in line {event.node.lineno}",
            "copy the arrays: nnx.merge(graphdef, jax.tree.map(jnp.copy, state)) of its split",
            related=[(event.node, "donated here")],
        )
        return
    if _twice(event, node, value):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{event.scope.module.source.text(node)}` is donated to {shown(root.function)}, and given "
            "to it a second time in the same call, as a whole or in part",
            "give a copy for one of the two, or do not donate it",
        )
        return
    second = second_name(event, node, value)
    if second is not None and not _object(context, root, event, value):
        text = event.scope.module.source.text
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{text(node)}` is donated to {shown(root.function)}, and `{text(second)}` in the same call "
            "may be the same arrays",
            "keep a copy: jax.tree.map(jnp.copy, ...)",
        )
        return
    double = held_twice(context, event, value) if not _object(context, root, event, value) else None
    if double is not None:
        name, other, made = double
        here = context.bodies.module_scope(made) is event.scope.module.scope
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{event.scope.module.source.text(node)}` is donated to {shown(root.function)}, and holds the same arrays "
            f"as `{name}` and as `{other}`: no memory can be given away twice",
            "make the state with a copy: jax.tree.map(jnp.copy, ...)",
            related=[(made, "made here")] if here else [],
        )
        return
    yield from _lost_later(context, root, event, node, value)


def _lost_later(context: Context, root: Root, event: CallEvent, node: ast.expr, value: Value) -> Iterator[Finding]:
    """Yield where a variable that a call donates, or hands on to one that does, is kept or read again."""
    kept = kept_result(context, event, node)
    if kept is not None and not _object(context, root, event, value):
        yield finding(
            RULE.code,
            event.scope,
            kept,
            f"what is kept here is donated to {shown(root.function)} in the next round: its memory is gone",
            "keep a copy: jax.tree.map(jnp.copy, ...)",
            related=[(event.node, "donated here")],
        )
        return
    if from_host(context, value, event.scope):
        return
    read = _read_again(context, event, node, value)
    if read is not None and not _object(context, root, event, value):
        yield finding(
            RULE.code,
            event.scope,
            read,
            f"{_what(event, node, read)} was donated to {shown(root.function)} in line "
            f"{event.node.lineno}: its memory is gone",
            "assign the result to the same name, or copy what is needed before the call",
            related=[(event.node, "donated here")],
        )


def _object(context: Context, root: Root, event: CallEvent, value: Value) -> bool:
    """Say whether a donated argument is an object of NNX, which gets new arrays, or may be one that nothing tells."""
    kinds = kinds_of(context, value, event.scope)
    if kinds or not root.transform.startswith("flax.nnx."):
        return bool(kinds & NNX_OBJECTS)
    found = context.flow.resolve(context.flow.here(value, event.scope)).value
    return isinstance(found, Param | Attr | Free)


def _handed_on(
    context: Context, root: Root, event: CallEvent, donated: frozenset[str]
) -> Iterator[tuple[CallEvent, ast.expr, Value]]:
    """Yield the calls of a function that always donates what it gets for a parameter, each with what it gives."""
    function = event.scope.function
    if function is None or function.generator or function.decorators or function in context.traced:
        return
    around = context.bodies.paths(event.scope).get(event.node, ())
    if any(not isinstance(block, ast.For | ast.While | ast.With) for block, _ in around):
        return
    if context.bodies.behind(event.node, event.scope):
        return
    names: set[str] = set()
    for _, value in _given(event, root.function, donated, root.transform):
        first = value.before if isinstance(value, Loop) else value
        if isinstance(first, Param) and first.function is function and first is not function.self_param:
            names.add(first.name)
    for outer in context.flow.sites.callers(function) if names else ():
        if not in_test(outer.scope) and outer.scope.function not in context.traced and outer.node is not event.node:
            for node, value in _given(outer, function, frozenset(names)):
                yield outer, node, value


def _what(event: CallEvent, node: ast.expr, read: ast.expr) -> str:
    """Return what was donated, and by which other name it is read."""
    text = event.scope.module.source.text
    other = isinstance(read, ast.Name) and isinstance(node, ast.Name) and read.id != node.id
    other = other or (isinstance(read, ast.Attribute) and isinstance(node, ast.Attribute) and read.attr != node.attr)
    return f"`{text(read)}`, which shares arrays with `{text(node)}`," if other else f"`{text(node)}`"


def _donated(root: Root) -> frozenset[str]:
    """Return the parameters that a compiled function takes the memory of."""
    params = list(root.function.params)
    found: set[str] = set()
    numbers = constant(option(root, "donate_argnums"))
    for number in several(numbers):
        index = number + skipped(root) if isinstance(number, int) else -1
        if 0 <= index < len(params):
            found.add(params[index])
    names = constant(option(root, "donate_argnames"))
    found |= {name for name in several(names) if isinstance(name, str)}
    return frozenset(found & set(params))


def _given(
    event: CallEvent, function: FunctionFacts, donated: frozenset[str], transform: str = ""
) -> Iterator[tuple[ast.expr, Value]]:
    """Yield the variables that a call gives for donated parameters; `jax.pmap` donates none that are given by name."""
    params = list(function.params)
    if function.binding in {"instance", "class"} and isinstance(event.node.func, ast.Attribute):
        params = params[1:]
    # behind `*values` it is not known for which parameter an argument is
    first = next((i for i, one in enumerate(event.node.args) if isinstance(one, ast.Starred)), len(event.node.args))
    pairs = [*zip(params, event.node.args[:first], event.value.args, strict=False)]
    values = dict(event.value.keywords)
    if transform != "jax.pmap":
        pairs += [(k.arg, k.value, values[k.arg]) for k in event.node.keywords if k.arg in values and k.arg]
    for name, node, value in pairs:
        if name in donated and (isinstance(node, ast.Name | ast.Attribute) or _entry(node)):
            yield node, value


def _entry(node: ast.AST) -> bool:
    """Say whether an expression is an entry of a variable, by its name: ``state["params"]``."""
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant)


def _key(node: ast.AST) -> str:
    """Return what an attribute or an entry is called; an entry by another name than a constant may be any."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return ast.dump(node.slice) if isinstance(node, ast.Subscript) else ""


def _binds(node: ast.AST, place: ast.Attribute | ast.Subscript) -> bool:
    """Say whether a node may bind an attribute or an entry anew."""
    if isinstance(node, ast.Name):
        return isinstance(place.value, ast.Name) and node.id == place.value.id and not isinstance(node.ctx, ast.Load)
    if type(node) is not type(place) or isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    return _key(node) == _key(place) or (isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant))


def _twice(event: CallEvent, node: ast.expr, value: Value) -> bool:
    """Say whether a call gives the same variable for two parameters."""
    pairs = [*zip(event.node.args, event.value.args, strict=False)]
    pairs += [(k.value, v) for k, (_, v) in zip(event.node.keywords, event.value.keywords, strict=True)]
    same = [one for one, other in pairs if other == value and ast.dump(one) == ast.dump(node)]
    if len(same) > 1 and not isinstance(value, Const):
        return True
    # a part that has another name: of attributes and entries it is not known what they hold by now
    return any(isinstance(one, ast.Name) and shares(other, value) for one, other in pairs)


def _read_again(context: Context, event: CallEvent, node: ast.expr, value: Value) -> ast.expr | None:
    """Return the next place that reads what a call took; the call itself if it is repeated with it."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        return _attribute_read(context, event, node)
    if isinstance(value, Const) or (isinstance(value, Free) and value.scope is not event.scope):
        return None
    loop = innermost_loop(event)
    paths = context.bodies.paths(event.scope)
    here = paths.get(event.node, ())
    bound = loop is not None and isinstance(node, ast.Name) and binds(loop, node.id)
    if loop is not None and not bound and not isinstance(value, Loop) and not varies(value, loop):
        if not any(isinstance(outer, ast.If) and inside(outer, loop) for outer, _ in here):
            return node if not _leaves(loop, event) else None
    values = event.scope.module.values
    end = event.statement.end_lineno or 0
    if isinstance(event.statement, ast.For | ast.While | ast.If | ast.With | ast.Return):
        return None
    reads = [
        n
        for n in context.bodies.nodes(event.scope)
        if isinstance(n, ast.Name)
        and isinstance(n.ctx, ast.Load)
        and n.lineno > end
        and (
            (values.get(n) == value and (not isinstance(value, Loop) or inside(n, value.node)))
            or _other_name(context, event, n, node, value, values.get(n))
        )  # behind the loop it may be another one
    ]
    harmless = _harmless(context, event) if reads else set()
    for one in sorted(reads, key=lambda n: (n.lineno, n.col_offset)):
        if one not in harmless and not apart(here, paths.get(one, ()), event.scope.node):
            return one
    return None


def _other_name(
    context: Context, event: CallEvent, read: ast.Name, given: ast.expr, value: Value, found: Value | None
) -> bool:
    """Say whether another variable has kept what the first round of a loop donates."""
    if not isinstance(given, ast.Name) or read.id == given.id:
        return False
    if found == value:
        return False  # it was given what the variable holds, and behind a loop that is what its last call gave
    if found is not None and shares(found, value):
        return True
    if not isinstance(value, Loop):
        return False
    bound_anew = isinstance(found, Loop) and found.node is value.node  # later in the round
    if isinstance(found, Loop) and bound_anew:
        found = found.before
    if found is not None and (inside(read, value.node) or not bound_anew):
        if shares(found, value) or in_record(context, found, value.before, event.scope):
            return True
    if isinstance(value.before, Call | Item | Mapping | Param) and found is value.before:
        return True
    return isinstance(found, Item | Param) and same_first(context, given, read, event.scope)


def _leaves(loop: ast.For | ast.While, event: CallEvent) -> bool:
    """Say whether the loop ends with the call's block."""
    return any(isinstance(s, ast.Break | ast.Return | ast.Raise) and s.lineno >= event.node.lineno for s in loop.body)


_ABOUT = frozenset({"isinstance", "type", "id"})  # functions that look at no array's numbers


def _harmless(context: Context, event: CallEvent) -> set[ast.AST]:
    """Return the names of which only the shape or the like is read, or that are compared with None or deleted."""
    found: set[ast.AST] = set()
    for node in context.bodies.nodes(event.scope):
        if isinstance(node, ast.Compare) and all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            found.update((node.left, *node.comparators))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ABOUT:
            found.update(node.args)
        if isinstance(node, ast.Attribute) and node.attr in _METADATA:
            found.add(node.value)
            inner = node.value
            while isinstance(inner, ast.Subscript):  # params["kernel"].shape
                inner = inner.value
            found.add(inner)
    return found


def _attribute_read(context: Context, event: CallEvent, node: ast.Attribute | ast.Subscript) -> ast.expr | None:
    """Return the next read of an attribute or entry in the same block, if nothing may have bound it anew before."""
    text = ast.dump(node.value)
    paths = context.bodies.paths(event.scope)
    here = paths.get(event.node, ())
    copied = _copied(context, event, node)
    if copied is not None:
        return copied
    if _again(context, event, node):
        return node
    kept = _kept_first(context, event, node)
    if kept is not None:
        return kept
    end = (event.statement.end_lineno or 0, event.statement.end_col_offset or 0)
    if isinstance(event.statement, ast.Return) or any(_binds(n, node) for n in ast.walk(event.statement)):
        return None
    later = sorted(
        (n for n in context.bodies.nodes(event.scope) if (getattr(n, "lineno", 0), getattr(n, "col_offset", 0)) > end),
        key=lambda n: (n.lineno, n.col_offset),  # type: ignore[attr-defined]
    )
    writers = [n.lineno for n in later if _binds(n, node)]  # type: ignore[attr-defined]
    harmless = _harmless(context, event)
    for one in later:
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and ast.dump(one.func.value) == text:
            return None  # a method of the object may have bound it anew
        if isinstance(node, ast.Subscript) and isinstance(one, ast.Call) and _given_away(one, text):
            return None
        if _same_place(one, node):
            assert isinstance(one, ast.Attribute | ast.Subscript)
            if not isinstance(one.ctx, ast.Load) or (writers and min(writers) <= one.lineno):
                return None
            if one not in harmless and paths.get(one, ())[: len(here)] == here:
                return one
    return None


def _kept_first(context: Context, event: CallEvent, node: ast.Attribute | ast.Subscript) -> ast.expr | None:
    """Return the next read of another attribute or entry that has kept what the first call donates."""
    if not any(_binds(n, node) for n in ast.walk(event.statement)):
        return None
    harmless = _harmless(context, event)
    return next(
        (
            one
            for one in context.bodies.nodes(event.scope)
            if isinstance(one, type(node))
            and isinstance(one.ctx, ast.Load)
            and one.lineno > (event.statement.end_lineno or 0)
            and _key(one) != _key(node)
            and ast.dump(one.value) == ast.dump(node.value)
            and one not in harmless
            and (same_first(context, node, one, event.scope) or _part_first(context, node, one, event.scope))
        ),
        None,
    )


def _part_first(context: Context, node: ast.expr, other: ast.expr, scope: Scope) -> bool:
    """Say whether an attribute has kept a part of another one, as the constructor made both."""
    if not isinstance(node, ast.Attribute):
        return False
    part = begun(context, other, scope)
    whole = arrays_of(part.value) if part is not None else None
    first = whole.base if isinstance(whole, Attr) and whole.name == node.attr else None
    if not isinstance(first, Param) or first is not first.function.self_param or first.function.name != "__init__":
        return False
    stores = [one for one in context.flow.fields.stores().get(node.attr, ()) if one.scope is first.function.scope]
    value = scope.module.values.get(node)
    return len(stores) == 1 and isinstance(value, Attr) and made_first(context, value, node) is not None


def _same_place(node: ast.AST, place: ast.Attribute | ast.Subscript) -> bool:
    """Say whether a node is the same attribute or entry of the same variable, whatever is done with it."""
    return (
        isinstance(node, ast.Attribute | ast.Subscript)
        and type(node) is type(place)
        and _key(node) == _key(place)
        and ast.dump(node.value) == ast.dump(place.value)
    )


def _given_away(call: ast.Call, text: str) -> bool:
    return any(ast.dump(one) == text for one in (*call.args, *(k.value for k in call.keywords)))


def _copied(context: Context, event: CallEvent, node: ast.Attribute | ast.Subscript) -> ast.expr | None:
    """Return the next read of a variable that the same block has given the attribute's value just before."""
    paths = context.bodies.paths(event.scope)
    here = paths.get(event.node, ())
    nodes = context.bodies.nodes(event.scope)
    wanted = ast.dump(node)
    for one in nodes:
        if not isinstance(one, ast.Assign) or one.lineno >= event.statement.lineno or ast.dump(one.value) != wanted:
            continue
        target = one.targets[0]
        if len(one.targets) > 1 or not isinstance(target, ast.Name) or paths.get(one, ()) != here:
            continue
        between = [n for n in nodes if one.lineno < getattr(n, "lineno", 0) < event.statement.lineno]
        if any(_binds(n, node) or isinstance(n, ast.Call | ast.If | ast.For | ast.While) for n in between):
            continue  # a call may bind it anew
        names = [n for n in nodes if isinstance(n, ast.Name) and n.id == target.id and n is not target]
        if any(not isinstance(n.ctx, ast.Load) for n in names):
            continue
        harmless = _harmless(context, event)
        end = event.statement.end_lineno or 0
        read = [n for n in names if n.lineno > end and n not in harmless and paths.get(n, ())[: len(here)] == here]
        if read and not isinstance(event.statement, ast.Return):
            return min(read, key=lambda n: (n.lineno, n.col_offset))
    return None


def _again(context: Context, event: CallEvent, node: ast.Attribute | ast.Subscript) -> bool:
    """Say whether a loop donates an attribute in every round, and nothing in it may bind the attribute anew."""
    loop = innermost_loop(event)
    base = node.value
    if loop is None or not isinstance(base, ast.Name) or binds(loop, base.id) or _leaves(loop, event):
        return False
    here = context.bodies.paths(event.scope).get(event.node, ())
    if any(isinstance(block, ast.If | ast.Try | ast.Match) and inside(block, loop) for block, _ in here):
        return False
    inner = list(ast.walk(loop))
    if any(_binds(one, node) for one in inner):
        return False
    called = {one.func.value for one in inner if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)}
    if isinstance(event.node.func, ast.Attribute):
        called.discard(event.node.func.value)
    read = {one.value for one in inner if isinstance(one, ast.Attribute | ast.Subscript)} - called
    # the object is not given away, and none of its methods is called but the one that donates
    return all(one in read for one in inner if isinstance(one, ast.Name) and one.id == base.id)


RULE = lint_rule(
    "NNX856",
    "donated-read",
    "an array is read after it was donated to a compiled function",
    why="""\
`donate_argnums` hands the memory of an argument to the result. Whoever reads the argument afterwards, or gives it
again in the next round, gets "Array has been deleted". On backends that do not support donation nothing is raised,
so that the error shows up only elsewhere. The same holds for what a loop keeps of its rounds, in a variable for the
best parameters, an attribute, a list or a record: the next round donates it.
""",
    source="jax issues 9237, 9635 and 9675; measured on Flax 0.10.7 and 0.12.8: the buffer has been deleted or donated",
    check=_check,
    bad=(
        """\
from functools import partial

import jax


@partial(jax.jit, donate_argnums=0)
def step(params, x):
    return params + x


def train(params, batches):
    for batch in batches:
        new = step(params, batch)
    return new
""",
    ),
    clean=(
        """\
from functools import partial

import jax


@partial(jax.jit, donate_argnums=0)
def step(params, x):
    return params + x


def train(params, batches):
    for batch in batches:
        params = step(params, batch)
    return params
""",
    ),
)
