"""NNX712: attention that is not told whether it decodes, or hides the keys of its cache while it does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Mapping, Value

# where a project speaks of these, the mode may be set from somewhere else
_ELSEWHERE = (b"set_attributes", b".decode", b"nnx.view", b"set_mode", b"setattr")


def _check(context: Context) -> Iterator[Finding]:
    yield from _causal(context)
    made = [
        event
        for event, name in foreign(context, "MultiHeadAttention")
        if name == ATTENTION and keyword(event.node, "decode") is None and _all_known(context, event)
    ]
    if not made or any(word in m.source.data for m in context.project.modules for word in _ELSEWHERE):
        return
    yield from _handed_on(context, made)
    for event in made:
        statement, function = event.statement, event.scope.function
        if in_test(event.scope) or not isinstance(statement, ast.Assign) or statement.value is not event.node:
            continue
        if len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        word = last_word(target)
        for call in context.bodies.named(word) if word else ():
            func, callee = call.node.func, call.value.callee
            if call.value.starred or keyword(call.node, "decode") is not None or not call.node.args:
                continue
            if isinstance(target, ast.Name):
                same = isinstance(func, ast.Name) and call.scope is event.scope and callee is event.value
            else:
                outer, owner = call.scope.function, function.owner if function is not None else None
                same = (
                    isinstance(callee, Attr)
                    and outer is not None
                    and owner is not None
                    and outer.owner is owner
                    and callee.base is outer.self_param
                    and len(owner.stores.get(word, ())) == 1
                )
            if same and not context.bodies.guarded(call.node, call.scope):
                yield _untold(call, event)


def _all_known(context: Context, event: CallEvent) -> bool:
    """Say whether all arguments of a call are known, and those of ``**options`` do not tell whether to decode."""
    if not event.value.starred:
        return True
    if any(isinstance(arg, ast.Starred) for arg in event.node.args):
        return False
    for name, value in event.value.keywords:
        if name is not None or _handed_in(context, event, value):
            continue
        if not _given_once(context, event):
            return False
        found = context.flow.resolve(context.flow.here(value, event.scope)).value
        if isinstance(found, Call):  # dict(num_heads=4)
            if context.flow.calls.callee_name(context.flow.here(found, event.scope)) != "builtins.dict":
                return False
            keys: list[object] = [key for key, _ in found.keywords]
            if found.args:
                return False
        elif isinstance(found, Mapping):
            keys = [key.value if isinstance(key, Const) else None for key, _ in found.items]
        else:
            return False
        if None in keys or "decode" in keys:
            return False
    return True


def _handed_in(context: Context, event: CallEvent, value: Value) -> bool:
    """Say whether options that a call unpacks are a parameter alone, and no caller tells by them whether to decode."""
    function = event.scope.function
    unpacked = [part.value for part in event.node.keywords if part.arg is None]
    names = [n.id for part in unpacked for n in ast.walk(part) if isinstance(n, ast.Name)]
    if function is None or any(isinstance(n, ast.Call) for part in unpacked for n in ast.walk(part)):
        return False
    read = context.bodies.names(event.scope)
    if not names or any(name not in function.params or len(read.get(name, ())) != 1 for name in names):
        return False
    found = [one.value for one in context.sources.originals(context.flow.here(value, event.scope))]
    return bool(found) and all(one == Const(None) or _silent(one) for one in found)


def _silent(options: Value) -> bool:
    """Say whether a dict has none but known keys, and not the one that tells whether to decode."""
    if not isinstance(options, Mapping):
        return False
    return all(isinstance(key, Const) and key.value != "decode" for key, _ in options.items)


def _given_once(context: Context, event: CallEvent) -> bool:
    """Say whether the variables that a call unpacks are bound once in their function, and named nowhere else."""
    for part in event.node.keywords:
        if part.arg is None and isinstance(part.value, ast.Name):
            names = context.bodies.names(event.scope).get(part.value.id, ())
            if event.scope.function is None or len(names) != 2:
                return False
    return True


def _handed_on(context: Context, made: list[CallEvent]) -> Iterator[Finding]:
    """Find the calls of attention that a function of the project makes and gives, in an attribute of one class."""
    given = {event.value: event for event in made if isinstance(event.statement, ast.Return)}
    if not given:
        return
    for call in context.asked.calls():
        callee, function = call.value.callee, call.scope.function
        if not isinstance(callee, Attr) or function is None or callee.base is not function.self_param:
            continue
        if not call.node.args or call.value.starred or keyword(call.node, "decode") is not None:
            continue
        sources = {one.value for one in context.sources.originals(context.flow.here(callee, call.scope))}
        if sources and sources <= given.keys() and not context.bodies.guarded(call.node, call.scope):
            event = next(given[one] for one in given if one in sources)
            yield _untold(call, event)


def _untold(call: CallEvent, made: CallEvent) -> Finding:
    return finding(
        RULE.code,
        call.scope,
        call.node,
        "the attention is not told whether it decodes, neither here nor where it is made",
        "make it with decode=False, or with decode=True and a cache",
        related=[(made.node, "made here")] if call.scope.module is made.scope.module else [],
    )


def _causal(context: Context) -> Iterator[Finding]:
    """Yield the calls with ``is_causal`` that decode one token after the other: of the cache they see its first."""
    calls = [event for module in context.asked.modules if module.source.mentions(b"is_causal") for event in module.calls
             if constant(keyword(event.node, "is_causal")) is True]  # fmt: skip
    if not calls or not any(module.source.mentions(b"init_cache") for module in context.project.modules):
        return
    for event in calls:
        if in_test(event.scope) or owner_class(context, event.value.callee, event.scope) != ATTENTION:
            continue
        if _decodes(context, event) and not reached_in_mode(context, event.node, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "with is_causal=True a token that is decoded sees the first place of the cache alone: it counts as the"
                " first of a sequence",
                "write is_causal=not decode: the cache is masked already",
            )


def _decodes(context: Context, event: CallEvent) -> bool:
    """Say whether a call of attention may decode: as it says itself, or as its layer is made or switched."""
    mode = keyword(event.node, "decode")
    if mode is not None and not isinstance(mode, ast.Constant):
        return context.shared(told)
    if mode is not None:
        return constant(mode) is True
    made = context.sources.originals(context.flow.here(event.value.callee, event.scope))
    calls = [one.value for one in made if isinstance(one.value, Call)]
    if calls and all(call.keyword("decode") == Const(False) for call in calls) and not context.shared(_switched):
        return False
    return context.shared(told) or any(call.keyword("decode") == Const(True) for call in calls)


def told(context: Context) -> bool:
    """Say whether the project tells a model to decode: ``model(x, decode=True)``, ``model.set_attributes(...)``."""
    return any(
        constant(keyword(event.node, "decode")) is True and not last_word(event.node.func)[:1].isupper()
        for event in context.project.calls()
        if event.node.keywords
    )


def _switched(context: Context) -> bool:
    """Say whether the project may set the mode of layers after they were made."""
    return any(word in m.source.data for m in context.project.modules for word in _ELSEWHERE)


def reached_in_mode(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is reached only if something about decoding holds."""
    blocks = [block for block, arm in context.bodies.paths(scope).get(node, ()) if arm != "test"]
    tests = [b.test for b in (*blocks, *context.bodies.behind(node, scope)) if hasattr(b, "test")]
    return any(_MODES.search(name) for test in tests for name in (ast.unparse(test),))


#: The name of the layer of attention with a cache.
ATTENTION = "flax.nnx.MultiHeadAttention"
_MODES = pattern(r"decod|cache|step|train|prefill", re.I)


RULE = lint_rule(
    "NNX712",
    "attention-mode",
    "nnx.MultiHeadAttention is called without being told whether it decodes, or with is_causal while it does",
    why="""\
`nnx.MultiHeadAttention` wants `decode=` as an argument of its constructor or of the call: there is no default, and
without it every call raises a ValueError. In training it is False. While it decodes, `is_causal` must be False: the one
token of a call counts as the first of a sequence, and all but the first of the cached keys are hidden from it.
""",
    source="measured on Flax 0.10.7 and 0.12.8: ValueError; https://github.com/google/flax/issues/5591",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx


class Block(nnx.Module):
    def __init__(self, dim: int, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(num_heads=4, in_features=dim, rngs=rngs)

    def __call__(self, x):
        return x + self.attention(x)
""",
    ),
    clean=(
        """\
from flax import nnx


class Block(nnx.Module):
    def __init__(self, dim: int, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(num_heads=4, in_features=dim, decode=False, rngs=rngs)
        self.cross = nnx.MultiHeadAttention(num_heads=4, in_features=dim, rngs=rngs)

    def __call__(self, x, other):
        return self.cross(x + self.attention(x), other, decode=False)
""",
    ),
)
