"""Positions that begin at zero in functions that write to a cache of keys and values; part of NNX957."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.places import callers_of, each, foreign, functions_called, in_test, position, written
from codemods.nnx.lint.syntax import argument, constant, entry_word, names_in, new_axis
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Param, Value

_CACHE = pattern(r"(^|_)(kv|cached?|caches|past)(_|$)|kv_?cache", re.I)
_POSITIONS = pattern(r"(^|_)(pos|wpe|positions?|pos_?emb\w*)($|_)", re.I)
_PLACES = pattern(r"(^|_)(pos|position|index|idx|offset|len|length|cur|start|end|step)(_|$)", re.I)
_OTHER = pattern(r"layer|block|head|slot|batch|row|seq_id|request", re.I)
_WRITING = frozenset({"dynamic_update_slice", "dynamic_update_slice_in_dim", "dynamic_update_index_in_dim"})


def stuck_embeddings(context: Context) -> Iterator[tuple[Scope, ast.expr, ast.expr]]:
    """Yield the positions that begin at zero, each with where they are looked up, of tokens that go on from a cache.

    The function that looks them up, or one that calls it for a single token, writes to the cache at a place that is
    counted.

    Args:
        context: the analysis.
    """
    if not any(m.source.mentions(b"cache") or m.source.mentions(b"past") for m in context.asked.modules):
        return
    for event, name in foreign(context, "arange"):
        function, scope = event.scope.function, event.scope
        if name != "jax.numpy.arange" or function is None or in_test(scope) or _conditional(context, event.node, scope):
            continue
        args = event.value.args
        if event.value.starred or not args or len(args) > 2 or (len(args) == 2 and args[0] != Const(0)):
            continue
        tokens = _counted(args[-1])
        user = _looked_up(context, event.value, scope) if tokens is not None else None
        if tokens is not None and user is not None and _goes_on(context, function, tokens):
            yield scope, event.node, user
    for scope, node in each(context, ast.Subscript):
        parts = elements(node.slice)
        cut = parts[0] if parts else None
        if scope.function is None or not isinstance(cut, ast.Slice) or cut.lower is not None or cut.upper is None:
            continue
        if not _POSITIONS.search(_word(node.value)) or _conditional(context, node, scope) or in_test(scope):
            continue
        size = scope.module.values.get(cut.upper)
        tokens = _counted(size) if size is not None else None
        if tokens is not None and _goes_on(context, scope.function, tokens):
            yield scope, node, node


def _word(node: ast.expr) -> str:
    """Return the name of a table, also of one in a dict: ``params["wpe"]``."""
    if isinstance(node, ast.Subscript):
        key = constant(node.slice)
        return key if isinstance(key, str) else ""
    return last_word(node)


def _counted(size: Value) -> Param | None:
    """Return the argument whose second axis has a length."""
    if not isinstance(size, Item) or size.index not in (Const(1), Const(-1)) or not isinstance(size.base, Attr):
        return None
    return size.base.base if size.base.name == "shape" and isinstance(size.base.base, Param) else None


def _conditional(context: Context, node: ast.AST, scope: Scope) -> bool:
    """Say whether an expression is evaluated on a condition alone."""
    above = around(context, scope)
    outer = above.get(node)
    while outer is not None and outer is not scope.node:
        if isinstance(outer, ast.If | ast.IfExp | ast.BoolOp | ast.Match):
            return True
        outer = above.get(outer)
    return False


def _looked_up(context: Context, positions: Call, scope: Scope) -> ast.expr | None:
    """Return the table in which positions are looked up as they are."""
    values = scope.module.values
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.Subscript) and values.get(_index(node)) == positions and isinstance(node.ctx, ast.Load):
            return node
        if isinstance(node, ast.Call) and last_word(node.func) == "take" and len(node.args) > 1:
            if values.get(node.args[1]) == positions:
                return node
    return None


def _index(node: ast.Subscript) -> ast.expr:
    """Return what picks the rows of a table, also with a new axis behind it."""
    parts = elements(node.slice)
    return parts[0] if parts else node.slice


def _goes_on(context: Context, function: FunctionFacts, tokens: Param) -> bool:
    """Say whether tokens are added to a cache, at a place that is counted, where their positions are these."""
    if tokens.function is not function or "prefill" in function.name:
        return False
    if _writes(context, function.scope):
        return True
    for event in callers_of(context, function):
        given = argument(event.node, position(tokens), tokens.name)
        caller = event.scope.function
        if given is None or event.value.starred or caller is None or "prefill" in caller.name:
            continue
        if in_test(event.scope) or _conditional(context, event.node, event.scope):
            continue
        handed_on = isinstance(event.scope.module.values.get(given), Param)
        if (_single(given) or handed_on) and _writes(context, event.scope):
            return True
    return False


def _single(node: ast.expr) -> bool:
    """Say whether an expression is one token of each row: ``token[:, None]`` or ``tokens[:, -1:]``."""
    parts = elements(node.slice) if isinstance(node, ast.Subscript) else []
    if len(parts) != 2 or not isinstance(parts[0], ast.Slice):
        return False
    last = parts[1]
    if isinstance(last, ast.Slice):
        return last.lower is not None and last.upper is None and constant(last.lower) == -1
    return new_axis(last)


def _writes(context: Context, scope: Scope, depth: int = 0) -> bool:
    """Say whether a body, or a function that it calls with the cache, writes to a cache at a place that is counted."""
    for event in context.bodies.calls.get(scope, ()):
        call = event.node
        word = last_word(call.func)
        if word in _WRITING and len(call.args) >= 3 and _cached(call.args[0]):
            if _place(context, elements(call.args[2]), scope):
                return True
        elif (
            word in {"set", "add"} and isinstance(call.func, ast.Attribute) and _set_at(context, call.func.value, scope)
        ):
            return True
        elif depth == 0 and any(_cached(one) for one in (*call.args, *(word.value for word in call.keywords))):
            if any(_writes(context, inner.scope, 1) for inner in functions_called(context, event)):
                return True
    return False


def _cached(node: ast.expr) -> bool:
    """Say whether an expression is a cache, or a part of one."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        if isinstance(node, ast.Attribute) and _CACHE.search(node.attr):
            return True
        node = node.value
    return isinstance(node, ast.Name) and _CACHE.search(node.id) is not None


def _set_at(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether this is ``cache["k"].at[:, index]``, with a place that is counted."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Attribute) or node.value.attr != "at":
        return False
    return _cached(node.value.value) and _place(context, elements(node.slice), scope)


def _place(context: Context, parts: list[ast.expr], scope: Scope) -> bool:
    """Say whether one of the numbers of an index is that of a token: no loop over layers goes through it."""
    for number, one in enumerate(parts):
        if isinstance(one, ast.Slice) or (isinstance(one, ast.Name) and _looped(context, one, scope)):
            continue
        word = entry_word(written(context, one, scope))
        if _PLACES.search(word) and not _OTHER.search(word):
            return True
        if number and word in {"i", "t"} and isinstance(one, ast.Name):
            return True
    return False


def _looped(context: Context, name: ast.Name, scope: Scope) -> bool:
    """Say whether a loop binds a variable."""
    loops = (n for n in context.bodies.nodes(scope) if isinstance(n, ast.For))
    return any(name.id in names_in(loop.target) for loop in loops)
