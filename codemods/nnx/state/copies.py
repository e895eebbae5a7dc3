"""Edits that make a call return an independent copy."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Fix
from codemods.nnx.imports import spell
from codemods.nnx.nodes import last_word
from codemods.nnx.rewrite import RewriteError, add_keyword
from codemods.nnx.source import Source
from codemods.nnx.values import Attr, Call, Ref, Value


def wrapped(context: Context, scope: Scope, node: ast.expr) -> Fix | None:
    """Return a fix that puts ``nnx.clone(...)`` around an expression, which is valid on all versions."""
    clone = spell(context.flow, scope, "clone")
    if clone is None:
        return None
    source = scope.module.source
    start, end = source.span(node)
    edits = (Edit(start, start, f"{clone.text}(".encode()), Edit(end, end, b")"), *clone.edits)
    return Fix(tuple((source.path, edit) for edit in edits))


def snapshot(context: Context, scope: Scope, node: ast.expr) -> Fix | None:
    """Return a fix for ``nnx.state(model)`` or ``nnx.split(model)``: a copy of the state, or the split of a copy."""
    value = scope.module.values.get(node)
    if isinstance(node, ast.Name | ast.Attribute):
        return _handed_on(context, scope, node)
    if not isinstance(node, ast.Call) or not isinstance(value, Call) or not node.args:
        return None
    if isinstance(node.args[0], ast.Starred):
        return None
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    return wrapped(context, scope, node.args[0] if name == "flax.nnx.split" else node)


def _handed_on(context: Context, scope: Scope, node: ast.Name | ast.Attribute) -> Fix | None:
    """Return a fix for ``nnx.state`` as a value: a function that returns a copy.

    Where it stands in a call of ``map`` it gets one argument; elsewhere nobody knows how many there will be.
    """
    clone = spell(context.flow, scope, "clone")
    value = scope.module.values.get(node)
    if clone is None or value is None:
        return None
    mapped = any(
        event.node.args[:1] == [node]
        and len(event.node.args) == 2
        and last_word(event.node.func) in {"map", "tree_map"}
        for event in scope.module.calls
    )
    resolved = context.flow.resolve(context.flow.here(value, scope)).value
    source = scope.module.source
    text = source.text(node)
    if isinstance(resolved, Ref) and resolved.name == "flax.nnx.split":
        new = f"lambda node: {text}({clone.text}(node))" if mapped else ""
        new = new or f"lambda node, *filters: {text}({clone.text}(node), *filters)"
    else:
        new = f"lambda node: {clone.text}({text}(node))" if mapped else ""
        new = new or f"lambda *args: {clone.text}({text}(*args))"
    start, end = source.span(node)
    return Fix(tuple((source.path, edit) for edit in (Edit(start, end, new.encode()), *clone.edits)))


def applies(node: ast.AST) -> bool:
    """Say whether a call may be ``graphdef.apply(state)``, going by its name."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "apply"


def applying(context: Context, scope: Scope, node: ast.expr) -> Fix | None:
    """Return a fix that gives the states copies wherever ``graphdef.apply``, which is handed on here, is called."""
    clone = spell(context.flow, scope, "clone")
    if clone is None:
        return None
    source = scope.module.source
    start, end = source.span(node)
    # bound here and now: the name of the graph definition may be another one's when the function is called
    opening, closing = "(lambda *states, apply=", f": apply(*map({clone.text}, states)))"
    inside = source.data[:start].rstrip()[-1:] in {b"(", b",", b"="} and b"\n" not in source.data[start:end]
    if inside:
        opening, closing = opening[1:], closing[:-1]
    edits = (Edit(start, start, opening.encode()), Edit(end, end, closing.encode()), *clone.edits)
    return Fix(tuple((source.path, edit) for edit in edits))


def each(context: Context, scope: Scope, nodes: list[ast.expr]) -> Fix | None:
    """Return a fix that puts ``nnx.clone(...)`` around each of several expressions; None if one is starred."""
    if any(isinstance(node, ast.Starred) for node in nodes):
        return None
    called = {given: event for event in scope.module.calls if applies(event.node) for given in event.node.args}
    parts = [_named(context, called[node], node) or wrapped(context, scope, node) for node in nodes]
    edits = dict.fromkeys(edit for part in parts if part is not None for edit in part.edits)
    return Fix(tuple(edits)) if edits and all(part is not None for part in parts) else None


def by_name(event: CallEvent, node: ast.expr) -> Value | None:
    """Return the state that a text names in ``train_state.apply("params", "other")``; None for anything else."""
    callee = event.value.callee
    if not applies(event.node) or not isinstance(callee, Attr) or not isinstance(node, ast.Constant):
        return None
    return Attr(callee.base, node.value) if isinstance(node.value, str) else None


def _named(context: Context, event: CallEvent, node: ast.expr) -> Fix | None:
    """Return a fix that gives ``train_state.apply`` a copy of the state that a text names."""
    state, clone = by_name(event, node), spell(context.flow, event.scope, "clone")
    holder = event.node.func.value if isinstance(event.node.func, ast.Attribute) else None
    if not isinstance(state, Attr) or clone is None or not isinstance(holder, ast.Name | ast.Attribute):
        return None
    source = event.scope.module.source
    text = f"{clone.text}({source.text(holder)}.{state.name})"
    return Fix(tuple((source.path, edit) for edit in (Edit(*source.span(node), text.encode()), *clone.edits)))


def merged(context: Context, scope: Scope, node: ast.expr) -> Fix | None:
    """Return a fix for ``nnx.merge``: ``nnx.clone(x)`` for ``nnx.merge(*nnx.split(x))``, else ``copy=True``.

    Flax below 0.11.2 does not know ``copy``; where such a version is asked for, the merged object is cloned.
    ``graphdef.apply`` knows it nowhere, so that its states are cloned.
    """
    assert isinstance(node, ast.Call)
    if applies(node):
        return each(context, scope, node.args)
    whole = _whole(context, scope, node)
    source = scope.module.source
    if whole is not None:
        clone = spell(context.flow, scope, "clone")
        if clone is None:
            return None
        start, end = source.span(node)
        first, last = source.span(whole)
        edits = [Edit(start, first, f"{clone.text}(".encode()), Edit(last, end, b")"), *clone.edits]
        return Fix(tuple((source.path, edit) for edit in edits))
    if "0.10" in context.options.targets or any(keyword.arg is None for keyword in node.keywords):
        return wrapped(context, scope, node)
    try:
        return Fix(((source.path, add_keyword(source, node, "copy", "True")),))
    except RewriteError:
        return wrapped(context, scope, node)


def copying(scope: Scope, node: ast.Call) -> bool:
    """Say whether a call of ``nnx.merge`` asks for a copy, be it by a dict of options that is unpacked.

    Args:
        scope: where the call stands.
        node: the call.
    """
    names = {keyword.arg for keyword in node.keywords}
    return "copy" in names or (None in names and scope.module.source.once(_filled))


def _filled(source: Source) -> bool:
    """Say whether a module puts an entry of the name ``copy`` into a dict."""
    if not source.mentions(b"copy"):
        return False
    keys = [key for made in source.of_type(ast.Dict) for key in made.keys]
    keys += [part.slice for part in source.of_type(ast.Subscript) if isinstance(part.ctx, ast.Store)]
    named = [call for call in source.of_type(ast.Call) if last_word(call.func) in {"dict", "update"}]
    return any(isinstance(key, ast.Constant) and key.value == "copy" for key in keys) or any(
        keyword.arg == "copy" for call in named for keyword in call.keywords
    )


def _whole(context: Context, scope: Scope, node: ast.Call) -> ast.expr | None:
    """Return ``x`` of ``nnx.merge(*nnx.split(x))``."""
    if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.Starred):
        return None
    inner = node.args[0].value
    value = scope.module.values.get(inner)
    if not isinstance(inner, ast.Call) or not isinstance(value, Call) or len(inner.args) != 1 or inner.keywords:
        return None
    if context.flow.calls.callee_name(context.flow.here(value, scope)) != "flax.nnx.split":
        return None
    return None if isinstance(inner.args[0], ast.Starred) else inner.args[0]


def cloned(context: Context) -> set[ast.expr]:
    """Return what is given to ``nnx.clone``, which copies what it gets: nothing else can reach it."""
    return {
        event.node.args[0]
        for event in context.project.calls()
        if event.node.args and context.flow.calls.name(event) == "flax.nnx.clone"
    }
