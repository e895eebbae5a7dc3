"""NNX898: attention that decodes without a cache."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Const, Mapping, Ref

_ATTENTION = "flax.nnx.MultiHeadAttention"
_STORES = (b".decode = ", b"setattr(")


def _check(context: Context) -> Iterator[Finding]:
    layers = [e for e, name in foreign(context, "MultiHeadAttention", everywhere=True) if name == _ATTENTION]
    if not layers:
        return
    texts = [module.source.data for module in context.project.modules]
    if any(b"cached_key" in text for text in texts):
        return
    if any(b"init_cache" in text for text in texts) and not _never_reached(context):
        return
    stored = any(word in text for text in texts for word in _STORES)
    for event, node in _decoding(context, layers, stored):
        if (
            event.scope.module in context.asked
            and not in_test(event.scope)
            and not context.bodies.guarded(event.node, event.scope)
        ):
            yield finding(
                RULE.code,
                event.scope,
                node,
                "nothing makes the cache that decoding needs: init_cache is never called",
                "call init_cache(shape) of the layer before the first token",
            )


def _never_reached(context: Context) -> bool:
    """Say whether init_cache is called by methods alone that nobody names, of models that the project runs."""
    functions: set[FunctionFacts] = set()
    for event in context.bodies.named("init_cache"):
        function = event.scope.function
        if function is None or function.owner is None or function.name.startswith("__"):
            return False
        functions.add(function)
    inside = {id(node) for function in functions for node in ast.walk(function.node)}
    names = {"init_cache", *(function.name for function in functions)}
    for module in context.project.modules:
        source = module.source
        named = [*((n, n.attr) for n in source.of_type(ast.Attribute)), *((n, n.id) for n in source.of_type(ast.Name))]
        if any(name in names and id(node) not in inside for node, name in named):
            return False
        words = [one.value for one in source.of_type(ast.Constant) if isinstance(one.value, str)]
        if any(name in word.replace(".", " ").split() for word in words for name in names):
            return False  # getattr(model, "init_cache")
    owners = {function.owner for function in functions}
    return bool(owners) and any(
        (event.scope.function is None or event.scope.function.owner is None)
        and not isinstance(event.value.callee, Ref)
        and owner_class(context, event.value.callee, event.scope) in owners
        for event in context.project.calls()
    )


def _decoding(context: Context, layers: list[CallEvent], stored: bool) -> Iterator[tuple[CallEvent, ast.expr]]:
    """Yield where a layer is told to decode: when it is called, when it is made, or by ``set_attributes``."""
    off, told = stored, [(event, node) for event in layers if (node := _told(context, event)) is not None]
    for event in context.project.calls():
        node = keyword(event.node, "decode")
        if node is None or event in layers:
            continue
        name = last_word(event.node.func)
        if name == "set_attributes":
            off |= constant(node) is not True
            told.append((event, node))
            continue
        layer = owner_class(context, event.value.callee, event.scope) == _ATTENTION
        off |= (layer and constant(node) is not True) or (constant(node) is False and not name[:1].isupper())
        if layer and _may_be_true(context, node, event):
            yield event, node
    for event, node in () if off else told:
        if _may_be_true(context, node, event):
            yield event, node


def _told(context: Context, event: CallEvent) -> ast.expr | None:
    """Return the argument ``decode`` of a layer, also in a dict that it is given: ``dict(decode=True)``."""
    node = keyword(event.node, "decode")
    for one in event.node.keywords if node is None else ():
        given = written(context, one.value, event.scope) if one.arg is None else None
        value = event.scope.module.values.get(one.value) if one.arg is None else None
        given = value.node if isinstance(value, Mapping) and isinstance(value.node, ast.Dict) else given
        if isinstance(given, ast.Call) and last_word(given.func) == "dict":
            node = node or keyword(given, "decode")
        elif isinstance(given, ast.Dict):
            found = (v for k, v in zip(given.keys, given.values, strict=True) if constant(k) == "decode")
            node = node or next(found, None)
    return node


def _may_be_true(context: Context, node: ast.expr, event: CallEvent) -> bool:
    """Say whether somebody gives True for an argument."""
    if isinstance(node, ast.Constant):
        return node.value is True
    value = event.scope.module.values.get(node)
    if not isinstance(node, ast.Name | ast.Attribute) or value is None:
        return False
    return any(one.value == Const(True) for one in context.sources.of(context.flow.here(value, event.scope)))


RULE = lint_rule(
    "NNX898",
    "decode-without-cache",
    "attention with decode=True in a project that never calls init_cache",
    why="""\
`nnx.MultiHeadAttention(..., decode=True)` keeps keys and values of the tokens before, in arrays that `init_cache` makes
for a batch and a length. Without it the first call raises a ValueError.
""",
    source="measured on Flax 0.10.7 and 0.12.8: ValueError",
    check=_check,
    bad=(
        """\
from flax import nnx


class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(2, 8, decode=True, rngs=rngs)

    def __call__(self, x):
        return self.attention(x)
""",
    ),
    clean=(
        """\
from flax import nnx


class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(2, 8, decode=True, rngs=rngs)

    def start(self, shape):
        self.attention.init_cache(shape)

    def __call__(self, x):
        return self.attention(x)
""",
    ),
    severity="error",
)
