"""Collections that are taken out of what ``apply`` gives, and that its ``mutable`` does not name; part of NNX589."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Item


def unlisted(context: Context) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield where a collection is read that no call which gives the others was told to change, with its name.

    Args:
        context: the analysis.
    """
    if not any(module.source.mentions(b"mutable") for module in context.project.modules):
        return
    for scope, node in (*each(context, ast.Subscript), *each(context, ast.Call)):
        base, word = _read(node)
        value = scope.module.values.get(base) if base is not None else None
        if base is None or value is None or in_test(scope) or context.bodies.guarded(node, scope):
            continue
        if not _may_be_updates(scope, base) or _asked_for(context, scope, word):
            continue
        made = list(context.sources.originals(context.flow.here(value, scope)))
        if made and all(_lacks(context, one, word) for one in made):
            yield scope, node, word


def _read(node: ast.expr) -> tuple[ast.expr | None, str]:
    """Return the dict and the key of ``updates["losses"]`` and of ``updates.get("losses", {})``."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        key, base = constant(node.slice), node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"get", "pop"}:
        key, base = constant(node.args[0]) if node.args else None, node.func.value
    else:
        return None, ""
    return (base, key) if isinstance(key, str) else (None, "")


def _may_be_updates(scope: Scope, base: ast.expr) -> bool:
    """Say whether a dict is a variable, or the second result of a call at once."""
    return isinstance(base, ast.Name) or (isinstance(base, ast.Subscript) and constant(base.slice) == 1)


def _asked_for(context: Context, scope: Scope, word: str) -> bool:
    """Say whether a body asks first whether there is such a collection."""
    return any(
        isinstance(node, ast.Compare)
        and constant(node.left) == word
        and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops)
        for node in context.bodies.nodes(scope)
    )


def _lacks(context: Context, made: Bound, word: str) -> bool:
    """Say whether a value is what ``apply`` gives beside its output, and certainly without a collection."""
    value = made.value
    if not isinstance(value, Item | Indexed):
        return False
    index = value.index if isinstance(value, Item) else value.index.value
    call = value.base if index == Const(1) else None
    if not isinstance(call, Call) or not isinstance(call.callee, Attr):
        return False
    if last_word(call.node.func) not in {"apply", "apply_fn"} or any(name is None for name, _ in call.keywords):
        return False
    mutable = keyword(call.node, "mutable")
    names = constant(mutable) if mutable is not None else None
    listed = [names] if isinstance(names, str) else list(names) if isinstance(names, list | tuple) else []
    return bool(listed) and all(isinstance(name, str) for name in listed) and word not in listed
