"""Where ``nnx.List`` or ``nnx.Dict`` can stand for a list or dict, as code for Flax 0.12 alone has it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TypeGuard

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.nodes import children, last_word
from codemods.nnx.source import Source
from codemods.nnx.v012.attributes import DATA, Attribute, Store
from codemods.nnx.values import Call, Each, Param, Ref

#: Builtins that take any sequence or mapping.
_TAKING = frozenset({"all", "any", "dict", "enumerate", "iter", "len", "list", "map", "reversed", "tuple", "zip"})
#: Assertions of tests that count or look for elements.
_COUNTING = frozenset({"assertLen", "assertEmpty", "assertNotEmpty", "assertTrue"})
#: What the containers can do as lists and dicts can.
_METHODS = {
    "List": frozenset({"append", "insert", "extend", "pop", "clear", "reverse", "index", "count"}),
    "Dict": frozenset({"items", "keys", "values", "get", "pop", "update", "setdefault", "clear"}),
}
_MOVING = frozenset({"insert", "pop", "reverse", "update", "setdefault"})
#: Classes that the new containers belong to.
_EVERY = frozenset({"Module", "Pytree", "Object", "List", "Dict", "MutableSequence", "MutableMapping"})
#: Functions for which the new containers are modules of their own.
_WALKING = frozenset({"iter_children", "iter_graph", "iter_modules", "tabulate"})


class Containers:
    """Answers which container an attribute may hold instead of a marked list or dict."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow: Flow = context.flow
        self._parents: dict[Source, dict[ast.AST, ast.AST]] = {}

    def name(self, attribute: Attribute) -> str:
        """Return ``List`` or ``Dict`` if no use of an attribute tells them from lists and dicts, else ``data``.

        A list in a list, an annotation as a list, and what only lists have (``+``, ``sort``, ``isinstance``, being
        handed to other code) keep the list.
        """
        direct = [store for store in attribute.stores if not store.filling]
        if not direct or set(self.context.options.targets) != {"0.12"} or self._walked:
            return "data"
        names = {self._made(store, attribute) for store in direct}
        name = names.pop()
        if names or any(attribute.name in cls.fields for cls in self.flow.classes.mro(attribute.owner)[0]):
            return "data"
        uses = self._uses.get(attribute.name, ())
        if not all(self._harmless(use, name) or self._elsewhere(use, attribute.owner) for use in uses):
            return "data"
        # each place of the new containers is data or static for good
        return "data" if any(self._moves(use) for use in uses) and self._mixed(attribute) else name

    def _moves(self, use: AttrEvent) -> bool:
        """Say whether a use puts something in the place of an element, or moves elements to other places."""
        parent = self._parent(use.scope.module.source, use.node)
        if isinstance(parent, ast.Subscript):
            return parent.value is use.node and not isinstance(parent.ctx, ast.Load)
        return isinstance(parent, ast.Attribute) and parent.attr in _MOVING

    def _mixed(self, attribute: Attribute) -> bool:
        """Say whether not all elements of a list or dict are known to be data."""
        for store in attribute.stores:
            bound = self.flow.here(store.value, store.event.scope)
            if store.filling and not isinstance(store.value, Each):
                held: tuple[Bound, ...] = (bound,)
            else:
                base = store.value.base if isinstance(store.value, Each) else store.value
                held = self.flow.containers.elements(self.flow.here(base, store.event.scope))
            if not all(self.context.kinds.of(one) & DATA for one in held):
                return True
        return False

    def _made(self, store: Store, attribute: Attribute) -> str:
        """Return what may stand for the list or dict that one assignment writes out."""
        statement = store.event.statement
        node = None
        if isinstance(statement, ast.Assign) and not isinstance(statement, ast.AnnAssign):  # a plain list by name
            node = statement.value if len(statement.targets) == 1 else None
        if not _lists(node) and not isinstance(node, ast.Dict):
            return "data"
        assert node is not None
        if not self._suits(node, store, attribute):
            return "data"
        return "Dict" if isinstance(node, ast.Dict) else "List"

    def _suits(self, node: ast.expr, store: Store, attribute: Attribute) -> bool:
        """Say whether everything that gets into a container is data by itself or a function."""
        scope = store.event.scope
        if isinstance(node, ast.Dict):
            keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
            named = all(isinstance(key, str) and not hasattr(dict, key) for key in keys)
            return (
                bool(keys)
                and named
                and all(self._plain(value, scope) for value in node.values)
                and not any(other.filling for other in attribute.stores)
            )
        if not all(self._plain(element, scope) for element in _elements(node)):
            return False
        return all(self._data(other) for other in attribute.stores if other.filling)

    def _data(self, store: Store) -> bool:
        return bool(self.context.kinds.of(self.flow.here(store.value, store.event.scope)) & DATA)

    def _plain(self, node: ast.expr, scope: Scope) -> bool:
        """Say whether an element is data by itself or a function."""
        value = scope.module.values.get(node)
        if value is None:
            return False
        bound = self.flow.here(value, scope)
        if self.context.kinds.of(bound) & DATA:
            return True
        found = self.flow.resolve(bound).value
        return isinstance(node, ast.Lambda) or (isinstance(found, Ref) and found.name.startswith(("flax.", "jax.")))

    @cached_property
    def _walked(self) -> bool:
        """Whether code goes through all modules of a model, and not only looks for those of a class."""
        for call in self.context.project.calls():
            function = call.node.func
            if isinstance(function, ast.Attribute) and function.attr in _WALKING:
                parent = self._parent(call.scope.module.source, call.node)
                if not isinstance(parent, ast.For | ast.comprehension) or not self._picks(call, parent):
                    return True
        return False

    def _picks(self, call: CallEvent, loop: ast.For | ast.comprehension) -> bool:
        """Say whether a loop over modules does nothing but with those of a class, which ``isinstance`` tells."""
        if isinstance(loop, ast.For):
            conditions = [loop.body[0].test] if len(loop.body) == 1 and isinstance(loop.body[0], ast.If) else []
            if conditions and isinstance(loop.body[0], ast.If) and loop.body[0].orelse:
                return False
        else:
            conditions = loop.ifs
        names = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
        tests = [test for one in conditions for test in (one.values if _all(one) else [one])]
        return any(
            isinstance(test, ast.Call)
            and isinstance(test.func, ast.Name)
            and test.func.id == "isinstance"
            and isinstance(test.args[0], ast.Name)
            and test.args[0].id in names
            and not self._any_module(test.args[1], call.scope)
            for test in tests
        )

    def _any_module(self, node: ast.expr, scope: Scope) -> bool:
        """Say whether a class is that of all modules, so that the new containers are of it too."""
        return any(last_word(part) in _EVERY for part in ast.walk(node) if isinstance(part, ast.expr))

    @cached_property
    def _uses(self) -> dict[str, list[AttrEvent]]:
        found: dict[str, list[AttrEvent]] = {}
        for event in self.context.project.attributes():
            found.setdefault(event.node.attr, []).append(event)
        return found

    def _elsewhere(self, use: AttrEvent, owner: ClassFacts) -> bool:
        """Say whether an attribute of this name is certainly that of an object which is no ``owner``."""
        base = use.base
        if isinstance(base, Param) and base is base.function.self_param and base.function.owner is not None:
            return not self._related(base.function.owner, owner)
        sources = self.context.sources.of(self.flow.here(base, use.scope))
        classes = [self.flow.classes.class_of(source) for source in sources]
        return bool(classes) and all(
            not self._related(cls, owner)
            if cls is not None
            else isinstance(source.value, Call) and self.flow.calls.callee_name(source).startswith("flax.")
            for cls, source in zip(classes, sources, strict=True)
        )

    def _related(self, cls: ClassFacts, owner: ClassFacts) -> bool:
        """Say whether an object may be of both classes."""
        return any(owner in self.flow.classes.mro(heir)[0] for heir in (cls, *self.flow.classes.heirs(cls)))

    def _harmless(self, use: AttrEvent, name: str) -> bool:
        """Say whether a use is the same for a list and an ``nnx.List``."""
        source, node = use.scope.module.source, use.node
        if isinstance(node.ctx, ast.Store):
            return True
        parent = self._parent(source, node)
        if isinstance(parent, ast.For | ast.comprehension):
            return parent.iter is node
        if isinstance(parent, ast.Assign):
            return all(isinstance(target, ast.Tuple | ast.List) for target in parent.targets)
        if isinstance(parent, ast.Call):
            if isinstance(parent.func, ast.Attribute):
                return parent.func.attr in _COUNTING and bool(parent.args) and parent.args[0] is node
            return isinstance(parent.func, ast.Name) and parent.func.id in _TAKING
        if isinstance(parent, ast.Subscript):
            read = isinstance(parent.ctx, ast.Load)
            return parent.value is node and (read or not isinstance(parent.slice, ast.Slice))
        if isinstance(parent, ast.Attribute):
            return parent.attr in _METHODS.get(name, frozenset()) and isinstance(self._parent(source, parent), ast.Call)
        if isinstance(parent, ast.Compare):
            return all(isinstance(operator, ast.In | ast.NotIn) for operator in parent.ops) and parent.left is not node
        if isinstance(parent, ast.If | ast.IfExp | ast.While):
            return parent.test is node
        return isinstance(parent, ast.Starred) or (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not))

    def _parent(self, source: Source, node: ast.AST) -> ast.AST | None:
        if source not in self._parents:
            self._parents[source] = {child: parent for parent in source.nodes for child in children(parent)}
        return self._parents[source].get(node)


def _lists(node: ast.expr | None) -> bool:
    """Say whether an expression writes a list out: a display, a comprehension, their sums and repetitions."""
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Mult):
            return _lists(node.left) != _lists(node.right)
        return isinstance(node.op, ast.Add) and _lists(node.left) and _lists(node.right)
    return isinstance(node, ast.List | ast.ListComp)


def _elements(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the elements of a list that is written out."""
    if isinstance(node, ast.BinOp):
        for side in (node.left, node.right):
            if _lists(side):
                yield from _elements(side)
    elif isinstance(node, ast.ListComp):
        yield node.elt
    elif isinstance(node, ast.List):
        for element in node.elts:
            if isinstance(element, ast.Starred) and _lists(element.value):
                yield from _elements(element.value)
            else:
                yield element


def _all(node: ast.expr) -> TypeGuard[ast.BoolOp]:
    return isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And)
