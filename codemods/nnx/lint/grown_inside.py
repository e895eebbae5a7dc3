"""Compiled code that returns an argument of its own made longer, which a loop gives it again; part of NNX919."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.applied import skipped
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import constant
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Choice,
    Class,
    Comprehension,
    Const,
    Each,
    Function,
    Item,
    Loop,
    Mapping,
    Sequence,
    Unknown,
    Value,
)

_JOINING = frozenset({"append", "concatenate", "concat", "vstack", "hstack"})
_HOMES = ("jax.numpy.", "jax.lax.", "numpy.")
_EVERY = object()  # a key that is not known, such as the number of a layer
_DEPTH = 12
Path = tuple[object, ...]


def fed_back(context: Context, root: Root, event: CallEvent, loop: ast.AST) -> ast.expr | None:
    """Return an argument of a call in a loop that the compiled function returns longer than it was, and gets again.

    Args:
        context: the analysis.
        root: the application of the transform that compiles the function.
        event: the call.
        loop: a loop around it.
    """
    if root.partial or event.value.starred:
        return None
    for name, value, node in arguments_of(root, event):
        path = returned_at(event, value, loop, node)
        if path is not None and name not in root.static and _Longer(context, root.function, name).returned(path):
            return node
    return None


def arguments_of(root: Root, event: CallEvent) -> list[tuple[str, Value, ast.expr]]:
    """Return what a call of a compiled function gives its parameters: their names, the values, the expressions.

    Args:
        root: the application of the transform that compiles the function.
        event: the call, which unpacks nothing.
    """
    params = list(root.function.params)[skipped(root) :]
    given = [*zip(params, event.value.args, event.node.args, strict=False)]
    for keyword, (name, value) in zip(event.node.keywords, event.value.keywords, strict=True):
        if name in root.function.params:
            given.append((str(name), value, keyword.value))
    return given


def returned_at(event: CallEvent, value: Value, loop: ast.AST, node: ast.expr) -> Path | None:
    """Return where an argument stands in the result of the same call, in the round before; None if it does not.

    Args:
        event: the call.
        value: the argument.
        loop: the loop around the call.
        node: the expression of the argument.
    """
    again: Value | None = None
    if isinstance(value, Loop) and value.node is loop:
        again = value.again
    elif isinstance(value, Attr) and isinstance(event.statement, ast.Assign):  # self.cache = step(self.cache)
        return _stored_at(event.statement, event.node, ast.unparse(node))
    keys: list[object] = []
    while isinstance(again, Item) and isinstance(again.index, Const):
        keys.insert(0, again.index.value)
        again = again.base
    return tuple(keys) if again is event.value else None


def _stored_at(statement: ast.Assign, call: ast.Call, text: str) -> Path | None:
    """Return which part of a call's result an assignment puts where the argument was read."""
    if statement.value is not call or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if ast.unparse(target) == text:
        return ()
    if isinstance(target, ast.Tuple):
        return next(((place,) for place, one in enumerate(target.elts) if ast.unparse(one) == text), None)
    return None


class _Longer:
    """Tells whether a function returns one of its parameters, or a part of it, longer than it was."""

    def __init__(self, context: Context, function: FunctionFacts, name: str) -> None:
        self._context = context
        self._flow = context.flow
        self._function = function
        self._param = function.params[name]

    def returned(self, path: Path) -> bool:
        """Say whether what every return gives at a place is longer than the parameter, or has such a part."""
        if self._function.generator or not self._function.returns:
            return False
        scope = self._function.scope
        for value in self._function.returns:
            for key in path:
                value = Item(value, Const(key))
            if not self._grown(self._flow.here(value, scope), (), 0):
                return False
        return True

    def _grown(self, bound: Bound, path: Path, depth: int) -> bool:
        """Say whether a value at a place of the result is made of what the parameter has at the same place."""
        if depth > _DEPTH:
            return False
        found = self._flow.resolve(bound)
        if isinstance(found.value, _CONTAINERS):
            parts = _parts(found, path)
            return any(self._grown(self._flow.with_value(found, one), key, depth + 1) for one, key in parts)
        return self._made(found, path, depth)

    def _made(self, found: Bound, path: Path, depth: int) -> bool:
        value = found.value
        if isinstance(value, Choice):
            ways = [self._flow.with_value(found, one) for one in value.options]
            return all(self._grown(one, path, depth + 1) for one in ways)
        if not isinstance(value, Call):
            return False
        name = self._flow.calls.callee_name(found)
        if name.startswith(_HOMES) and last(name) in _JOINING:
            return any(self._place(part) == path for part in self._joined(found, value, last(name)))
        if name in {"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"}:
            return self._mapped(found, value, path, depth)
        if isinstance(value.callee, Attr) and value.callee.name in {"replace", "_replace"} and value.keywords:
            return any(
                self._grown(self._flow.with_value(found, one), (*path, key), depth + 1) for key, one in value.keywords
            )
        if name == "dataclasses.replace" or isinstance(self._flow.follow(found, value.callee).value, Class):
            return any(
                self._grown(self._flow.with_value(found, one), (*path, key), depth + 1)
                for key, one in self._fields(found, value)
            )
        ways = [Bound(one, frame) for callee, frame in self._flow.calls.invoked(found) if not callee.gradient
                for one in callee.function.returns]  # fmt: skip
        return bool(ways) and all(self._grown(one, path, depth + 1) for one in ways)

    def _fields(self, found: Bound, call: Call) -> Iterator[tuple[str, Value]]:
        """Yield what a constructor of a record gets, by the names of the fields."""
        made = self._flow.follow(found, call.callee).value
        if isinstance(made, Class) and "__init__" not in made.facts.methods:
            yield from zip(made.facts.fields, call.args, strict=False)
        yield from ((name, one) for name, one in call.keywords if name)

    def _joined(self, found: Bound, call: Call, word: str) -> Iterator[Bound]:
        """Yield the arrays that are joined."""
        first = self._flow.follow(found, call.args[0]) if call.args else None
        if word == "append":
            yield from (self._flow.with_value(found, one) for one in call.args[:2])
        elif first is not None and isinstance(first.value, Sequence):
            yield from (self._flow.with_value(first, one) for one in first.value.items)

    def _mapped(self, found: Bound, call: Call, path: Path, depth: int) -> bool:
        """Say whether ``tree.map`` joins the leaves of the parameter with others."""
        if len(call.args) < 2 or depth > _DEPTH:
            return False
        mapped = self._flow.follow(found, call.args[0]).value
        if not isinstance(mapped, Function) or len(mapped.facts.returns) != 1:
            return False
        made = self._flow.resolve(self._flow.here(mapped.facts.returns[0], mapped.facts.scope))
        if not isinstance(made.value, Call):
            return False
        name = self._flow.calls.callee_name(made)
        if not name.startswith(_HOMES) or last(name) not in _JOINING:
            return False
        leaves = {id(self._flow.resolve(one).value) for one in self._joined(made, made.value, last(name))}
        for param, tree in zip(mapped.facts.params.values(), call.args[1:], strict=False):
            if id(param) in leaves and self._place(self._flow.with_value(found, tree)) == path:
                return True
        return False

    def _place(self, bound: Bound) -> Path | None:
        """Return at which place of the parameter a value stands as a whole; None if it does not."""
        found = self._flow.resolve(bound)
        value = found.value
        keys: list[object] = []
        for _ in range(_DEPTH):
            if value is self._param:
                return tuple(reversed(keys))
            if isinstance(value, Changed) and isinstance(value.node, ast.Subscript):
                value = value.before  # another entry is changed
                continue
            if isinstance(value, Loop):
                value = value.before
                continue
            if isinstance(value, Attr):
                keys.append(value.name)
            elif isinstance(value, Item | Indexed):
                index = value.index.value if isinstance(value, Indexed) else value.index
                inner = value.base
                if isinstance(index, Const) and isinstance(inner, Round | Each):
                    source = self._source(found, inner, index.value)
                    if source is not None:  # of enumerate(cache) and zip(layers, cache)
                        keys.append(_EVERY)
                        value = self._flow.resolve(source).value
                        continue
                if isinstance(index, Unknown | Sequence) and not isinstance(getattr(index, "node", None), ast.Name):
                    return None  # a slice
                keys.append(index.value if isinstance(index, Const) else _EVERY)
            elif isinstance(value, Round | Each):
                keys.append(_EVERY)
            else:
                return None
            value = self._flow.follow(found, value.base).value
        return None

    def _source(self, found: Bound, inner: Round | Each, place: object) -> Bound | None:
        """Return what a loop goes through beside others, by its place."""
        through = self._flow.follow(found, inner.base)
        value = through.value
        if not isinstance(value, Call) or not isinstance(place, int):
            return None
        word = last(self._flow.calls.callee_name(through))
        if word == "enumerate" and place == 1 and value.args:
            return self._flow.with_value(through, value.args[0])
        if word == "zip" and 0 <= place < len(value.args):
            return self._flow.with_value(through, value.args[place])
        return None


_CONTAINERS = (Mapping, Sequence, Comprehension, Changed, Loop)


def _parts(found: Bound, path: Path) -> Iterator[tuple[Value, Path]]:
    """Yield what a container holds, each with its place."""
    value = found.value
    if isinstance(value, Mapping):
        yield from ((one, (*path, key.value)) for key, one in value.items if isinstance(key, Const))
    elif isinstance(value, Sequence):
        yield from ((one, (*path, place)) for place, one in enumerate(value.items))
    elif isinstance(value, Comprehension):
        yield value.element, (*path, _EVERY)
    elif isinstance(value, Changed):
        key: object = _EVERY
        if isinstance(value.node, ast.Subscript):
            index = constant(value.node.slice)
            key = _EVERY if index is None else index
        yield value.value, (*path, key)
        yield value.before, path
    elif isinstance(value, Loop) and value.again is not None:
        yield value.again, path
