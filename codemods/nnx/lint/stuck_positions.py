"""NNX957: positions that begin at zero in every call, of a model that decodes one token after the other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.attention_mode import ATTENTION, reached_in_mode, told
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import each, foreign, in_test
from codemods.nnx.lint.stuck_embeddings import stuck_embeddings
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Unknown, Value

_SAME = frozenset({"broadcast_to", "expand_dims", "reshape", "tile", "asarray"})


def _check(context: Context) -> Iterator[Finding]:
    for scope, node, table in stuck_embeddings(context):
        yield finding(
            RULE.code,
            scope,
            node,
            "the keys of these tokens go into the cache where it ends, and their positions begin at 0 every time",
            "add how many are in the cache: jnp.arange(...) + cache_index, or take the positions as an argument",
            related=[(table, "looked up here")] if table is not node else [],
        )
    words = (b"init_cache", b"cache", b"past")
    if not any(word in module.source.data for module in context.project.modules for word in words):
        return
    stateful = any(module.source.mentions(b"init_cache") for module in context.project.modules)
    if stateful:
        yield from _sliced(context)
    for event, name in foreign(context, "arange"):
        function = event.scope.function
        if not name.endswith("numpy.arange") or function is None or function.owner is None or in_test(event.scope):
            continue
        if not _from_zero(event) or reached_in_mode(context, event.node, event.scope):
            continue
        user = next(_looked_up(context, event), None)
        if user is not None and ((stateful and _decodes(context, function)) or _continues(context, function)):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "while the model decodes, each call has one token, and its position is 0 every time",
                "add how many are in the cache: jnp.arange(...) + cache_index, or take the positions as an argument",
                related=[(user, "looked up here")],
            )


def _sliced(context: Context) -> Iterator[Finding]:
    """Yield the first rows of a table of positions, as many as there are tokens: ``self.pos[:tokens.shape[1]]``."""
    for scope, node in each(context, ast.Subscript):
        function = scope.function
        if function is None or function.owner is None or in_test(scope) or not isinstance(node.ctx, ast.Load):
            continue
        whole = node.value
        while isinstance(whole, ast.Attribute) and whole.attr in {"value", "T"}:
            whole = whole.value
        if not isinstance(whole, ast.Attribute) or not isinstance(whole.value, ast.Name):
            continue
        if not _POSITIONS.search(whole.attr) or scope.module.values.get(whole.value) is not function.self_param:
            continue
        parts = elements(node.slice)
        cuts = [one for one in parts if isinstance(one, ast.Slice) and one.lower is None]
        ends = [one.upper for one in cuts if one.upper is not None]
        value = scope.module.values.get(ends[0]) if len(ends) == 1 else None
        if value is None or not _length(value) or reached_in_mode(context, node, scope):
            continue
        if _decodes(context, function):
            yield finding(
                RULE.code,
                scope,
                node,
                "while the model decodes, each call has one token, and its position is 0 every time",
                "begin where the cache ends, or take the positions as an argument",
            )


_POSITIONS = pattern(r"(^|_)(pos|wpe|position)", re.I)


def _length(size: Value) -> bool:
    """Say whether a value is how many tokens an argument has: ``tokens.shape[1]``."""
    if not isinstance(size, Item):
        return False
    index = size.index.node if isinstance(size.index, Unknown) else None
    if size.index != Const(1) and not (isinstance(index, ast.expr) and constant(index) in (-1, -2)):
        return False
    return isinstance(size.base, Attr) and size.base.name == "shape"


def _from_zero(event: CallEvent) -> bool:
    """Say whether the numbers are those of the positions of an argument: ``jnp.arange(tokens.shape[1])``."""
    args = event.value.args
    if event.value.starred or not args or (len(args) > 1 and args[0] != Const(0)) or len(args) > 2:
        return False
    return _length(args[-1])


def _looked_up(context: Context, event: CallEvent) -> Iterator[ast.expr]:
    """Yield the tables in which the positions are looked up as they are."""
    for other in event.scope.module.calls_in(event.scope):
        if not other.value.args or not _same(other.value.args[0], event.value):
            continue
        if reached_in_mode(context, other.node, other.scope):
            continue
        if owner_class(context, other.value.callee, other.scope) == "flax.nnx.Embed":
            yield other.node


def _same(value: Value, positions: Call) -> bool:
    """Say whether a value is an array of positions, with more axes at most."""
    while value != positions:
        if isinstance(value, Item):
            value = value.base
        elif isinstance(value, Call) and last_word(value.node.func) in _SAME and value.args:
            value = value.args[0]
        else:
            return False
    return True


def _decodes(context: Context, function: FunctionFacts) -> bool:
    """Say whether a method hands on that it decodes, or its own attention always does."""
    calls = function.scope.module.calls_in(function.scope)
    if context.shared(told) and any(_handed_on(event, function) for event in calls):
        return True
    owner = function.owner
    assert owner is not None
    classes = [owner]
    for cls in classes:
        for method in cls.methods.values():
            for event in context.bodies.calls.get(method.scope, ()):
                if context.flow.calls.name(event) == ATTENTION:
                    if constant(keyword(event.node, "decode")) is True:
                        return True
                elif method.name == "__init__" and len(classes) < _CLASSES:
                    made = context.flow.classes.class_of(context.flow.here(event.value, event.scope))
                    classes += [made] if made is not None and made not in classes else []
    return False


def _continues(context: Context, function: FunctionFacts) -> bool:
    """Say whether a method gets a cache to which the keys and values of its tokens are added at the end."""
    if not any(_CACHE.search(name) for name in function.params) or "prefill" in function.name:
        return False
    return any(
        _CACHE.search(_first_word(event.node)) and (event.scope is function.scope or _handed_cache(function))
        for event, name in foreign(context, "concatenate", "append", everywhere=True)
        if name.startswith("jax.numpy.")
    )


_CACHE = pattern(r"(^|_)(kv|cached?|past|prev)(_|$)|kv_?cache", re.I)


def _first_word(call: ast.Call) -> str:
    """Return the name of what stands first in a concatenation: ``cache`` of ``[cache["k"], k]``."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.List | ast.Tuple):
        first = first.elts[0] if first.elts else None
    while isinstance(first, ast.Subscript | ast.Attribute):
        first = first.value
    return first.id if isinstance(first, ast.Name) else ""


def _handed_cache(function: FunctionFacts) -> bool:
    """Say whether a method gives its layers parts of the cache that it gets."""
    named = {name for name in function.params if _CACHE.search(name)}
    return any(
        isinstance(n, ast.Name) and n.id in named
        for call in ast.walk(function.node)
        if isinstance(call, ast.Call | ast.For | ast.comprehension)
        for n in ast.walk(call if isinstance(call, ast.Call) else call.iter)
    )


_CLASSES = 20  # of which a model is made


def _handed_on(event: CallEvent, function: FunctionFacts) -> bool:
    mode = event.value.keyword("decode")
    return mode is not None and mode in function.params.values()


_BAD = """\
import jax.numpy as jnp
from flax import nnx


class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.tokens = nnx.Embed(50, 16, rngs=rngs)
        self.places = nnx.Embed(32, 16, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(2, 16, decode=False, rngs=rngs)
        self.head = nnx.Linear(16, 50, rngs=rngs)

    def __call__(self, tokens, start=0, decode=False):
        x = self.tokens(tokens) + self.places(jnp.arange(tokens.shape[1]))
        return self.head(self.attention(x, decode=decode))


model = Decoder(nnx.Rngs(0))
model.attention.init_cache((1, 8, 16))
for step in range(3):
    logits = model(jnp.ones((1, 1), int), start=step, decode=True)
"""

RULE = lint_rule(
    "NNX957",
    "stuck-positions",
    "positions that begin at zero in every call of a model that decodes with a cache",
    why="""\
While it decodes, `nnx.MultiHeadAttention` gets one token a call and finds those before it in its cache. Positions that
are counted from the shape of the tokens are 0 in every such call: all tokens get the embedding of the first position,
and the logits are not those of the whole sequence. They have to begin where the cache ends. The same is so of plain
functions that write the keys of new tokens to a cache, at a place that they count.
""",
    source="issues on cached decoding, as pytorch/executorch 20105; measured: logits differ from those of a full call",
    check=_check,
    severity="error",
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.arange(tokens.shape[1])", "start + jnp.arange(tokens.shape[1])"),),
)
