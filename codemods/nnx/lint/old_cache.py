"""Caches of attention that every round of decoding begins with anew; part of NNX798."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant, inside, keyword, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_CACHE = pattern(r"(^|_)(kv_?)?cache$")
_TIME = pattern(r"^(t|ts|time|step|timestep|time_step|pos|position)$|_(t|step|pos)$")


def old_caches(context: Context) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield what gets the new cache and is not read, where the next round is given the old one, with its name.

    Args:
        context: the analysis.
    """
    if not any(module.source.mentions(b"cache") for module in context.asked.modules):
        return
    for event in context.bodies.unpacked:
        scope, loop = event.scope, event.loops[-1] if event.loops else None
        if scope.module not in context.asked or not isinstance(loop, ast.For | ast.While) or in_test(scope):
            continue
        target = event.statement.targets[0]  # type: ignore[attr-defined]
        for place, old in _gives(context, event):
            new = target.elts[place] if place < len(target.elts) else None
            if not isinstance(new, ast.Name) or any(isinstance(one, ast.Starred) for one in target.elts):
                continue
            if _read(scope, new.id) or not _begun_before(context, scope, old, loop):
                continue
            if _goes_on(event, loop) and not context.bodies.guarded(event.node, scope):
                yield scope, new, old
                break


def _gives(context: Context, event: CallEvent) -> Iterator[tuple[int, str]]:
    """Yield the caches that a call is given and gives anew, with the place of the new one in its result."""
    direct = _mutated(event.node, event.loops[-1])
    if direct:
        yield 1, direct
        return
    given: list[tuple[int | str, ast.expr]] = [*enumerate(event.node.args)]
    given += [(word.arg, word.value) for word in event.node.keywords if word.arg is not None]
    caches = [(place, one.id) for place, one in given if isinstance(one, ast.Name) and _CACHE.search(one.id)]
    if not caches or event.value.starred:
        return
    for callee in context.flow.calls.callables(context.flow.here(event.value.callee, event.scope)):
        params = [name for name, one in callee.function.params.items() if one is not callee.function.self_param]
        for place, name in caches:
            param = params[place] if isinstance(place, int) and place < len(params) else str(place)
            if param in params:
                for one in _returned(context, callee.function, param):
                    yield one, name


def _mutated(call: ast.Call, loop: ast.AST | None = None) -> str:
    """Return what a model of Linen has its cache of, where it gives a new one; empty for other calls.

    Args:
        call: the call.
        loop: a loop around it, in which the variables may be put together.
    """
    if last_word(call.func) not in {"apply", "apply_fn"} or not call.args:
        return ""
    names = constant(keyword(call, "mutable"))
    if names != "cache" and not (isinstance(names, list | tuple) and "cache" in names):
        return ""
    first = call.args[0]
    if isinstance(first, ast.Name):
        made = [n for n in ast.walk(loop) if _binds(n, first.id)] if loop is not None else []
        if not made:
            return first.id  # all variables, the cache among them
        first = made[0].value if len(made) == 1 and isinstance(made[0], ast.Assign) else first
    if not isinstance(first, ast.Dict):
        return ""
    for key, value in zip(first.keys, first.values, strict=True):
        if constant(key) == "cache":
            held = value.value if isinstance(value, ast.Subscript) else value
            return ast.unparse(held) if isinstance(held, ast.Name | ast.Attribute) else ""
    return ""


def _binds(node: ast.AST, name: str) -> bool:
    """Say whether a statement binds a variable."""
    return isinstance(node, ast.Assign) and any(name in names_in(target) for target in node.targets)


def _returned(context: Context, function: FunctionFacts, name: str) -> Iterator[int]:
    """Yield the places in the result of a function where it returns what it made of a cache."""
    nodes = context.bodies.nodes(function.scope)
    found = [n.value for n in nodes if isinstance(n, ast.Return)]
    if len(found) != 1 or not isinstance(found[0], ast.Tuple):
        return
    made = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and _cache_of(node.value):
                made.add(target.id)
            if _mutated(node.value) == name and isinstance(target, ast.Tuple) and isinstance(target.elts[-1], ast.Name):
                made.add(target.elts[-1].id)
    changed = any(not isinstance(n.ctx, ast.Load) for n in context.bodies.names(function.scope).get(name, ()))
    for place, one in enumerate(found[0].elts):
        held = one.value if isinstance(one, ast.Subscript) and constant(one.slice) == "cache" else one
        if _cache_of(held) or (
            isinstance(held, ast.Name)
            and (held.id in made or (held.id == name and changed) or (held is one and _follows(held.id, name)))
        ):
            yield place


def _cache_of(node: ast.expr) -> bool:
    """Say whether an expression is the cache of an object of NNX: ``nnx.state(model, nnx.Cache)``."""
    return (
        isinstance(node, ast.Call)
        and last_word(node.func) in {"state", "pop"}
        and [last_word(one) for one in node.args[1:]] == ["Cache"]
    )


def _follows(new: str, name: str) -> bool:
    word = re.escape(name.strip("_"))
    return bool(re.fullmatch(f"(new|next|updated|upd)_?{word}|{word}_?(new|next|updated|upd|after)", new))


def _read(scope: Scope, name: str) -> bool:
    """Say whether a variable is read anywhere in a body, also by the functions in it."""
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in ast.walk(scope.node))


def _begun_before(context: Context, scope: Scope, old: str, loop: ast.For | ast.While) -> bool:
    """Say whether a cache is made before a loop, which does nothing else with it than to give it to the model."""
    found = [n for n in ast.walk(loop) if isinstance(n, ast.Name | ast.Attribute) and ast.unparse(n) == old]
    if len(found) != 1:
        return False
    if "." in old:
        return True
    stores = context.bodies.stores(scope, old)
    begun = stores or (scope.function is not None and old in scope.function.params)
    return bool(begun) and all(one.lineno < loop.lineno for one in stores)


def _goes_on(event: CallEvent, loop: ast.For | ast.While) -> bool:
    """Say whether a loop takes one token after another: it counts them, or makes the next one of what it was given."""
    rounds = names_in(loop.target) if isinstance(loop, ast.For) else frozenset()
    if rounds & names_in(event.node.func):
        return False  # each layer has a cache of its own
    if any(map(_TIME.search, rounds)):
        return True
    if isinstance(loop, ast.For) and last_word(getattr(loop.iter, "func", loop.iter)) not in {"range", "trange"}:
        return False
    given = frozenset().union(*(names_in(one) for one in (*event.node.args, *event.node.keywords)))
    made = names_in(event.statement.targets[0])  # type: ignore[attr-defined]
    statements = [n for n in ast.walk(loop) if isinstance(n, ast.Assign) and n is not event.statement]
    before = frozenset[str]()
    while made != before:
        before = made
        for one in statements:
            if names_in(one.value) & made:
                made = made.union(*(names_in(target) for target in one.targets))
    return bool(given & made) and all(not inside(event.node, one) for one in statements)
