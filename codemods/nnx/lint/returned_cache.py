"""Caches that a compiled step returns as it got them, though a copy of the model filled them; part of NNX811."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.places import foreign, in_test, target_of
from codemods.nnx.lint.syntax import constant, keyword, root_of
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Item, Param, Ref, Sequence

_CACHE = pattern(r"(^|_)(kv_?)?caches?$")
_COMPILING = frozenset({"jax.jit", "jax.lax.scan"})


def returned_caches(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str]]:
    """Yield the calls of merged copies that fill a cache, which the step gives back empty, with the name of that.

    Args:
        context: the analysis.
    """
    if not any(module.source.mentions(b"nnx.Cache") for module in context.project.modules):
        return
    for event, name in foreign(context, "merge"):
        function, target = event.scope.function, target_of(event)
        if name != "flax.nnx.merge" or function is None or not isinstance(target, ast.Name) or in_test(event.scope):
            continue
        if event.value.starred or event.value.keyword("copy") != Const(True) or not _compiled(context, function):
            continue
        given = [one for one in event.value.args[1:] if isinstance(one, Param) and one.function is function]
        kept = next((one for one in given if _returned(function, one) and _is_cache(context, event, one)), None)
        call = _decoding(context, event, target.id) if kept is not None else None
        if kept is not None and call is not None:
            yield event, call, kept.name


def _compiled(context: Context, function: FunctionFacts) -> bool:
    tracing = context.traced.get(function)
    return tracing is not None and any(root.transform in _COMPILING for root in tracing.roots)


def _returned(function: FunctionFacts, param: Param) -> bool:
    """Say whether an argument comes back as a part of what a function returns."""
    if len(function.returns) != 1 or function.generator:
        return False
    returned = function.returns[0]
    parts = list(returned.items) if isinstance(returned, Sequence) else [returned]
    parts += [inner for one in parts if isinstance(one, Sequence) for inner in one.items]
    return any(part is param for part in parts)


def _is_cache(context: Context, event: CallEvent, param: Param) -> bool:
    """Say whether an argument is what nnx.split gave for nnx.Cache; by its name, if that is not seen."""
    made = list(context.sources.originals(context.flow.here(param, event.scope)))
    filters = []
    for one in made:
        value = one.value
        split = value.base if isinstance(value, Item) else None
        place = value.index.value if isinstance(value, Item) and isinstance(value.index, Const) else None
        if isinstance(split, Call) and isinstance(place, int) and 0 < place < len(split.args):
            if context.flow.calls.callee_name(context.flow.with_value(one, split)) == "flax.nnx.split":
                filters.append(context.flow.follow(one, split.args[place]).value)
    if made and len(filters) == len(made):
        return all(one == Ref("flax.nnx.Cache") for one in filters)
    return bool(_CACHE.search(param.name))


def _decoding(context: Context, event: CallEvent, model: str) -> ast.expr | None:
    """Return the call of a model, or of a method or a part of it, in a project whose attention decodes."""
    if not context.shared(_decodes):
        return None
    for call in context.bodies.calls.get(event.scope, ()):
        root = root_of(call.node.func)
        if call is event or not isinstance(root, ast.Name) or root.id != model or not call.node.args:
            continue
        if not any(constant(word) is False for word in [keyword(call.node, "decode")] if word is not None):
            return call.node
    return None


def _decodes(context: Context) -> bool:
    """Say whether an attention of the project keeps what it has seen."""
    return any(
        word.arg == "decode" and constant(word.value) is not False
        for module in context.project.modules
        for word in module.source.of_type(ast.keyword)
    )
