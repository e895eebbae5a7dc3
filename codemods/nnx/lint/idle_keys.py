"""Keys that are split and handed on, and from which nothing draws; part of NNX830."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.lint.keys import Use
from codemods.nnx.lint.names import last
from codemods.nnx.lint.unread import given_names
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Class, Item, Value

_DEEP = 10  # through how many functions and splits a key is followed
_WRAPPERS = frozenset(
    f"{how}{what}" for how in ("", "filter_") for what in ("vmap", "jit", "pmap", "grad", "value_and_grad")
)


def idle(context: Context, use: Use) -> bool:
    """Say whether a key is split, and all of its parts are only split again or given to functions and models of the
    project that do not look at them.

    Args:
        context: the analysis.
        use: a use of the key.
    """
    return not use.helper and last(use.name) == "split" and _split_idle(context, use.event, _DEEP)


def _split_idle(context: Context, event: CallEvent, depth: int) -> bool:
    """Say whether nothing draws with what a call splits a key into; of what nobody reads other rules tell."""
    scope = event.scope
    names = given_names(event.statement, event.node)
    if getattr(event.statement, "value", None) is not event.node:
        return _read_idly(context, scope, event.node, depth)
    if not names or names & {*scope.globals, *scope.remote}:
        return False
    values = scope.module.values
    reads = [
        node
        for node in _visible(scope.node, names)
        if isinstance(node.ctx, ast.Load) and not _of_another(values.get(node), event.node)
        if node not in event.node.args  # what the next round splits
    ]
    return (bool(reads) or depth < _DEEP) and all(_read_idly(context, scope, read, depth) for read in reads)


def _of_another(value: Value | None, call: ast.Call | None = None) -> bool:
    """Say whether a value is, or is a part of, what another call gives."""
    while isinstance(value, Item):
        value = value.base
    return isinstance(value, Call) and value.node is not call


def _visible(node: ast.AST, names: frozenset[str]) -> Iterator[ast.Name]:
    """Yield the variables of a body, also in inner functions that have none of these names themselves."""
    for child in ast.iter_child_nodes(node):
        own: set[str] = set()
        if isinstance(child, ast.Name) and child.id in names:
            yield child
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            own = {n.arg for n in ast.walk(child.args) if isinstance(n, ast.arg)}
            own |= {n.id for n in ast.walk(child) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        yield from _visible(child, names - own)


def _read_idly(context: Context, scope: Scope, node: ast.expr, depth: int) -> bool:
    """Say whether a key, or a part of it, is an argument of a call that draws nothing with it."""
    if depth == 0:
        return False
    for event in context.bodies.calls.get(scope, ()):
        for place, given in enumerate(event.node.args):
            part = given.value if isinstance(given, ast.Subscript) else given
            if part is not node or event.value.starred:
                continue
            if place == 0 and context.flow.calls.name(event) == "jax.random.split":
                return _split_idle(context, event, depth - 1)
            functions = _called(context, event, place)
            return bool(functions) and all(_ignores(context, one, place, bound, depth - 1) for one, bound in functions)
    return False


def _called(context: Context, event: CallEvent, place: int) -> list[tuple[FunctionFacts, int]]:
    """Return the functions of the project that a call runs, with the number of arguments that they have already; of an
    object that is not known, those of all models that the file knows and that may be called in this way."""
    called: ast.expr = event.node.func
    while isinstance(called, ast.Call) and last_word(called.func) in _WRAPPERS and called.args:
        called = called.args[0]
    value = event.scope.module.values.get(called)
    callees = context.flow.calls.callables(context.flow.here(value, event.scope)) if value is not None else []
    if callees:
        if any(one.args or one.keywords for one in callees):
            return []
        bound = [one.receiver is not None and one.function.binding in {"instance", "class"} for one in callees]
        return [(one.function, int(taken)) for one, taken in zip(callees, bound, strict=True)]
    if not isinstance(called, ast.Name):
        return []
    methods = [cls.methods["__call__"] for cls in _classes(context, event.scope) if "__call__" in cls.methods]
    takes = len(event.node.args) + 1
    return [(method, 1) for method in methods if len(method.params) == takes and place + 1 < takes]


def _classes(context: Context, scope: Scope) -> list[ClassFacts]:
    """Return the classes of the project that the text of a file makes objects of."""
    found: dict[ClassFacts, None] = {}
    for event in scope.module.calls:
        value = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
        if isinstance(value, Class):
            found[value.facts] = None
    return list(found)


def _ignores(context: Context, function: FunctionFacts, place: int, bound: int, depth: int) -> bool:
    """Say whether a function draws nothing with one of its arguments."""
    params = list(function.params)[bound : function.positional]
    if isinstance(function.node, ast.Lambda) or place >= len(params):
        return False
    values = function.scope.module.values
    reads = [
        node
        for node in _visible(function.node, frozenset({params[place]}))
        if isinstance(node.ctx, ast.Load) and not _of_another(values.get(node))
    ]
    return all(_read_idly(context, function.scope, read, depth) for read in reads)
