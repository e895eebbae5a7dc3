"""Ways into the stream of a layer: attributes, items of a state, keys of a flat state."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.rng.layers import inherited, layer
from codemods.nnx.values import (
    Attr,
    Call,
    Const,
    Each,
    Free,
    Item,
    Mapping,
    Param,
    Ref,
    Sequence,
    Star,
    Unknown,
    Value,
)

_STATES = frozenset({"flax.nnx.state", "flax.nnx.variables", "flax.nnx.split"})
_SAME_PATHS = frozenset({"flax.nnx.to_pure_dict", "flax.nnx.pure", "flax.nnx.eval_shape"})
_NAMED_LAYER = pattern(r"drop|att(n|ention)", re.IGNORECASE)
_DEFAULTS = {"Dropout": "dropout", "MultiHeadAttention": "dropout", "RNN": "carry", "Bidirectional": "carry"}


@dataclass(frozen=True, eq=False)
class Step:
    """A stream that is named behind ``rngs`` in a path: ``x.rngs.dropout``, ``state["x"]["rngs"]["dropout"]``.

    Attributes:
        holder: what ``rngs`` belongs to.
        rngs: the expression that ends with ``rngs``.
        node: the expression that ends with the stream.
        stream: the name of the stream.
    """

    scope: Scope
    holder: Value
    rngs: ast.expr
    node: ast.expr
    stream: str


class Holder(NamedTuple):
    """The layer that a path goes through.

    Attributes:
        streams: the streams that it may have: its own name and the default one.
        proven: whether value flow shows it; a name that says so proves nothing.
    """

    streams: frozenset[str]
    proven: bool


def steps(module: ModuleFacts) -> Iterator[Step]:
    """Yield the named streams behind ``rngs`` in a module."""
    if not module.source.mentions(b"rngs"):
        return
    inside = _Scopes(module)
    for node in module.source.nodes:
        stream = _name(node)
        if stream is None or not isinstance(node, ast.Attribute | ast.Subscript) or _name(node.value) != "rngs":
            continue
        value = module.values.get(node.value)
        if isinstance(value, Attr | Item):
            yield Step(inside.of(node), value.base, node.value, node, stream)


class Use(NamedTuple):
    """A place that takes the ``rngs`` of something for a container of streams.

    Attributes:
        holder: what ``rngs`` belongs to.
        node: the expression that goes through it, counts it or asks for a name in it.
        rngs: the expression of the ``rngs``.
        named: the name that is asked for; None where all are meant.
    """

    scope: Scope
    holder: Value
    node: ast.expr
    rngs: ast.expr
    named: str | None


def container_uses(module: ModuleFacts) -> Iterator[Use]:
    """Yield places of a module that take ``rngs`` for a container: ``"dropout" in x.rngs``, ``len(x.rngs)``."""
    if not module.source.mentions(b"rngs"):
        return
    inside = _Scopes(module)
    for node in module.source.of_type(ast.Compare, ast.Call, ast.For, ast.comprehension):
        for rngs, whole, named in _as_container(node):
            value = module.values.get(rngs)
            scope = inside.of(whole)
            value = _assigned(value) if isinstance(value, Free) else value
            if isinstance(value, Attr) and value.name == "rngs":
                yield Use(scope, value.base, whole, rngs, named)


def _assigned(value: Free) -> Value | None:
    """Return what a variable of an outer scope is bound to, if only once."""
    bound = value.scope.bindings.get(value.name, ())
    return bound[0] if len(bound) == 1 else None


def _as_container(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, str | None]]:
    """Yield what a node takes for a container, the expression that does so, and the name that it asks for."""
    if isinstance(node, ast.Compare):
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
            yield node.comparators[0], node, _text(node.left)
    elif isinstance(node, ast.For | ast.comprehension):
        yield node.iter, node.iter, None
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        if node.func.id in {"dict", "iter", "len", "list", "set", "sorted", "tuple"}:
            yield node.args[0], node, None
        elif node.func.id in {"getattr", "hasattr"} and len(node.args) > 1:
            named = _text(node.args[1])
            if named is not None:
                yield node.args[0], node, named


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _name(node: ast.AST) -> str | None:
    """Return the last part of a path."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return node.slice.value
    return None


class _Scopes:
    """The scopes of a module by their place."""

    def __init__(self, module: ModuleFacts) -> None:
        scopes = [function.scope for function in module.functions] + [cls.scope for cls in module.classes]
        self._scopes = sorted(scopes, key=lambda scope: _size(scope.node))
        self._module = module.scope

    def of(self, node: ast.expr) -> Scope:
        """Return the innermost scope around a node."""
        place = (node.lineno, node.col_offset)
        for scope in self._scopes:
            inner = scope.node
            body = inner.body if isinstance(inner.body, list) else [inner.body]  # type: ignore[attr-defined]
            last = body[-1]
            if (body[0].lineno, body[0].col_offset) <= place < (last.end_lineno, last.end_col_offset):
                return scope
        return self._module


def _size(node: ast.AST) -> int:
    return (node.end_lineno - node.lineno) * 1000 + node.end_col_offset  # type: ignore[attr-defined,no-any-return]


def holder(context: Context, scope: Scope, value: Value, node: ast.expr | None = None) -> Holder | None:
    """Return the layer that a value, or a part of a state, is; None if it is another object or not known.

    Args:
        node: the expression of the value, for the tests of its class around it.
    """
    found = held(context, scope, value)
    known = [streams for streams in found if streams]
    if known and len(known) == len(found):
        return Holder(frozenset().union(*known), True)
    if any(streams is not None for streams in found):
        return None
    tested = tested_layers(context, scope, node) if node is not None else frozenset()
    if tested:
        return Holder(tested, True)
    last = value.name if isinstance(value, Attr | Param) else value.index.value if _by_name(value) else ""  # type: ignore[attr-defined]
    return Holder(frozenset({"dropout"}), False) if _NAMED_LAYER.search(str(last)) else None


def held(context: Context, scope: Scope, value: Value) -> list[frozenset[str] | None]:
    """Return the streams of everything that a value may be; empty for what is no such layer, None if not known."""
    return [_kept(context, source) for source in context.sources.originals(context.flow.here(value, scope))]


def tested_layers(context: Context, scope: Scope, node: ast.expr) -> frozenset[str]:
    """Return the streams of the layers that ``isinstance`` tests around an expression let through."""
    text = ast.unparse(node)
    found: set[str] = set()
    for branch in scope.module.source.nodes:
        for test in _held(branch, node):
            if not _is_test(test) or ast.unparse(test.args[0]) != text:
                continue
            found |= _streams_of(context, scope, test.args[1])
    return frozenset(found)


def _held(branch: ast.AST, node: ast.expr) -> Iterator[ast.expr]:
    """Yield the tests of a branch or comprehension that hold where a node stands."""
    tests: list[ast.expr] = []
    if isinstance(branch, ast.If | ast.IfExp):
        body = branch.body if isinstance(branch.body, list) else [branch.body]
        tests = [branch.test] if _inside(node, body[0], body[-1]) else []
    elif isinstance(branch, ast.BoolOp) and isinstance(branch.op, ast.And) and _inside(node, branch, branch):
        tests = [test for test in branch.values if (test.lineno, test.col_offset) < (node.lineno, node.col_offset)]
    elif isinstance(branch, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        if _inside(node, branch, branch):
            tests = [test for generator in branch.generators for test in generator.ifs]
    for test in tests:
        yield from test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _is_test(node: ast.expr) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and len(node.args) == 2
    )


def _inside(node: ast.expr, first: ast.stmt | ast.expr, last: ast.stmt | ast.expr) -> bool:
    """Say whether a node stands between two."""
    place = (node.lineno, node.col_offset)
    return (first.lineno, first.col_offset) <= place < (last.end_lineno or 0, last.end_col_offset or 0)


def _by_name(value: Value) -> bool:
    return isinstance(value, Item) and isinstance(value.index, Const)


def _kept(context: Context, source: Bound) -> frozenset[str] | None:
    """Return the streams of a layer; empty for another known object, None if nothing is known."""
    flow = context.flow
    source = _in_sequential(context, source)
    walked = walked_layers(context, source)
    if walked:
        return walked
    value = source.value
    if isinstance(value, Call | Param):
        found = layer(flow, source)
        if found is not None:
            return frozenset({found.stream, "default"}) if found.stream is not None else frozenset()
        cls = flow.classes.class_of(source)
        base = inherited(flow, cls) if cls is not None else None
        if cls is not None and base is not None and "rngs" not in cls.stores:
            return frozenset({_DEFAULTS[base.rpartition(".")[2]], "default"})
        name = flow.calls.callee_name(source) if isinstance(value, Call) else ""
        return frozenset() if cls is not None or (name and not name.startswith("builtins.")) else None
    model = _in_model(context, source)
    if model is None:
        return None
    parts = [_in_sequential(context, s) for s in context.sources.originals(model)]
    streams = [_kept(context, s) for s in parts if isinstance(s.value, Call)]
    return streams[0] if len(streams) == 1 else None


def walked_layers(context: Context, source: Bound) -> frozenset[str]:
    """Return the streams of the layers that a walk over a model lets through, as those of one class; else empty."""
    loop = _walk(context, source)
    if loop is None:
        return frozenset()
    found: set[str] = set()
    for module in context.project.modules:
        if module.source.mentions(b"isinstance") and loop in module.source.of_type(ast.For, ast.comprehension):
            for test in _let_through(loop):
                found |= _streams_of(context, module.scope, test.args[1])
    return frozenset(found)


def _walk(context: Context, source: Bound) -> ast.For | ast.comprehension | None:
    """Return the loop over the parts of a model that a value comes from, which may be the first of a generator."""
    flow, value = context.flow, source.value
    loop: ast.AST | None = None
    if isinstance(value, Call) and value.node.args and flow.calls.callee_name(source) == "builtins.next":
        first = value.node.args[0]
        loop = first.generators[0] if isinstance(first, ast.GeneratorExp) and len(first.generators) == 1 else None
    elif isinstance(value, Indexed | Item) and isinstance(value.base, Round | Each):
        loop = value.base.loop
    walk = loop.iter if isinstance(loop, ast.For | ast.comprehension) else None
    return loop if isinstance(walk, ast.Call) and last_word(walk.func) in WALKS else None  # type: ignore[return-value]


#: Functions and methods that go over the parts of a model.
WALKS = frozenset({"iter_graph", "iter_modules", "iter_children"})


def _let_through(loop: ast.For | ast.comprehension) -> Iterator[ast.Call]:
    """Yield the tests of its class that everything passes which leaves a loop."""
    target = loop.target
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return
    tests: list[ast.expr] = []
    if isinstance(loop, ast.comprehension):
        tests = loop.ifs
    elif len(loop.body) == 1:
        only = loop.body[0]
        tests = [only.test] if isinstance(only, ast.If) and not only.orelse else []
    for test in tests:
        for part in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]:
            if _is_test(part) and ast.unparse(part.args[0]) == ast.unparse(target.elts[1]):
                yield part


def _streams_of(context: Context, scope: Scope, classes: ast.expr) -> set[str]:
    """Return the streams of the layers of Flax that a class or a tuple of classes names."""
    found: set[str] = set()
    for cls in classes.elts if isinstance(classes, ast.Tuple) else [classes]:
        value = scope.module.values.get(cls)
        named = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
        stream = _DEFAULTS.get(named.name.rpartition(".")[2]) if isinstance(named, Ref) else None
        if stream is not None:
            found |= {stream, "default"}
    return found


def _in_sequential(context: Context, source: Bound) -> Bound:
    """Return the layer that ``sequential.layers[index]`` is; any other value as it is."""
    flow, value = context.flow, source.value
    if not isinstance(value, Item | Indexed):
        return source
    position = _position(value.index if isinstance(value, Item) else value.index.value)
    layers = flow.resolve(flow.with_value(source, value.base))
    if position is None or not isinstance(layers.value, Attr):
        return source
    made = flow.resolve(flow.with_value(layers, layers.value.base))
    if layers.value.name != "layers" or flow.calls.callee_name(made) != "flax.nnx.Sequential":
        return source
    assert isinstance(made.value, Call)
    given = made.value.args
    if any(isinstance(a, Star) for a in given) or not -len(given) <= position < len(given):
        return source
    return flow.follow(made, given[position])


def _position(index: Value) -> int | None:
    """Return a number that is written out, also one below zero."""
    if isinstance(index, Const):
        return index.value if isinstance(index.value, int) else None
    node = index.node if isinstance(index, Unknown) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value if isinstance(node.operand.value, int) else None
    return None


def _in_model(context: Context, source: Bound) -> Bound | None:
    """Return the part of a model that a part of its state stands for."""
    flow = context.flow
    keys: list[object] = []
    value = source.value
    while isinstance(value, Attr | Item | Indexed):
        if isinstance(value, Attr):
            keys.append(value.name)
        else:
            index = value.index if isinstance(value, Item) else value.index.value
            if not isinstance(index, Const):
                return None
            base = flow.resolve(flow.with_value(source, value.base))
            if isinstance(index.value, int) and flow.calls.callee_name(base) == "flax.nnx.split":
                value = base.value
                break
            keys.append(index.value)
        value = flow.resolve(flow.with_value(source, value.base)).value
    place = flow.with_value(source, value)
    seen: set[Bound] = set()
    while isinstance(value, Call) and flow.calls.callee_name(place) in _SAME_PATHS and value.args:
        if place in seen:  # an attribute that is made of itself
            return None
        seen.add(place)
        place = flow.follow(place, value.args[0])
        value = place.value
        if isinstance(value, Item | Indexed):
            place = flow.resolve(flow.with_value(place, value.base))
            value = place.value
    if not isinstance(value, Call) or flow.calls.callee_name(place) not in _STATES or not value.args or not keys:
        return None
    part = value.args[0]
    for key in reversed(keys):
        container = flow.resolve(flow.with_value(place, part)).value
        named = isinstance(key, str) and not isinstance(container, Mapping | Sequence)
        part = Attr(part, str(key)) if named else Item(part, Const(key))
    return flow.with_value(place, part)


def flat_keys(module: ModuleFacts) -> Iterator[tuple[Scope, ast.Tuple, int]]:
    """Yield paths of a flat state that name a stream, with the position of the stream in them."""
    if not module.source.mentions(b"rngs"):
        return
    inside = _Scopes(module)
    for node, value in module.values.items():
        if isinstance(node, ast.Tuple) and isinstance(value, Sequence):
            names = [item.value if isinstance(item, Const) else None for item in value.items]
            if "rngs" in names[1:-2] and names[-1] in {"key", "count", "value"}:
                position = names.index("rngs", 1) + 1
                if position < len(names) - 1 and _NAMED_LAYER.search(str(names[position - 2])):
                    yield inside.of(node), node, position


def stream_tests(context: Context, module: ModuleFacts) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield tests whether a path names a stream, if only that of a layer can be meant: nothing else has its name."""
    if not any(word in module.source.data for word in _OF_STREAMS):
        return
    inside = _Scopes(module)
    for node in module.source.nodes:
        named = _asked_for(node)
        if named is not None and isinstance(node, ast.expr):
            scope = inside.of(node)
            if isinstance(node, ast.Call):
                value = module.values.get(node)
                here = context.flow.here(value, scope) if value is not None else None
                if here is None or context.flow.calls.callee_name(here) != "flax.nnx.PathContains":
                    continue
            if named in context.shared(_streams_of_layers):
                yield scope, node, named


def _asked_for(node: ast.AST) -> str | None:
    """Return the name that ``"name" in path`` and ``nnx.PathContains("name")`` ask for."""
    asked: ast.expr | None = None
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
        path = node.comparators[0]
        asked = node.left if isinstance(path, ast.Name) and path.id in _PATHS else None
    elif isinstance(node, ast.Call) and len(node.args) == 1 and last_word(node.func) == "PathContains":
        asked = node.args[0]
    return asked.value if isinstance(asked, ast.Constant) and isinstance(asked.value, str) else None


_OF_STREAMS = (b"PathContains", b"Rng", b"flat_state")
_PATHS = frozenset({"p", "path", "key_path", "keypath"})


def _streams_of_layers(context: Context) -> frozenset[str]:
    """Return the streams by which layers of the project draw, without those that something else is called by."""
    found: set[str] = set()
    for event in context.project.calls():
        source = event.scope.module.source
        if not source.mentions(b"Dropout") and not source.mentions(b"MultiHeadAttention"):
            continue
        if context.flow.calls.name(event) in _DRAWING:
            given = event.value.keyword("rng_collection")
            named = context.flow.resolve(context.flow.here(given, event.scope)).value if given is not None else None
            found |= {named.value} if isinstance(named, Const) and isinstance(named.value, str) else {"dropout"}
    for cls in context.project.classes():
        found -= {*cls.stores, *cls.fields, *cls.scope.env}
    for module in context.project.modules if found else ():
        for node in module.source.of_type(ast.Dict):
            found -= {key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    return frozenset(found)


_DRAWING = frozenset({"flax.nnx.Dropout", "flax.nnx.MultiHeadAttention"})
