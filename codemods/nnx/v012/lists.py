"""Where ``nnx.List`` or ``nnx.Dict`` can stand for a list or dict, as code for Flax 0.12 alone has it."""

from __future__ import annotations

import ast
from functools import cached_property

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.flow import Flow
from codemods.nnx.source import Source
from codemods.nnx.v012.attributes import DATA, Attribute, Store
from codemods.nnx.values import Ref

#: Builtins that take any sequence or mapping.
_TAKING = frozenset({"all", "any", "dict", "enumerate", "iter", "len", "list", "map", "reversed", "tuple", "zip"})
#: What the containers can do as lists and dicts can.
_METHODS = {
    "List": frozenset({"append", "insert", "extend", "pop", "clear", "reverse", "index", "count"}),
    "Dict": frozenset({"items", "keys", "values", "get", "pop", "update", "setdefault", "clear"}),
}
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
        if len(direct) != 1 or set(self.context.options.targets) != {"0.12"} or self._walked:
            return "data"
        statement = direct[0].event.statement
        node = statement.value if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        name = "List" if isinstance(node, ast.List | ast.ListComp) else "Dict" if isinstance(node, ast.Dict) else "data"
        if name == "data" or not isinstance(node, ast.List | ast.ListComp | ast.Dict):
            return "data"
        annotated = any(attribute.name in cls.fields for cls in self.flow.classes.mro(attribute.owner)[0])
        if annotated or not self._suits(node, direct[0], attribute):
            return "data"
        return name if all(self._harmless(use, name) for use in self._uses.get(attribute.name, ())) else "data"

    def _suits(self, node: ast.List | ast.ListComp | ast.Dict, store: Store, attribute: Attribute) -> bool:
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
        elements = node.elts if isinstance(node, ast.List) else [node.elt]
        if not all(self._plain(element, scope) for element in elements):
            return False
        return all(self._data(other) for other in attribute.stores if other.filling)

    def _data(self, store: Store) -> bool:
        return bool(self.context.kinds.of(self.flow.here(store.value, store.event.scope)) & DATA)

    def _plain(self, node: ast.expr, scope: Scope) -> bool:
        """Say whether an element is data by itself or a function."""
        if isinstance(node, ast.Starred):
            return False
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
        functions = (call.node.func for call in self.context.project.calls())
        return any(isinstance(f, ast.Attribute) and f.attr in _WALKING for f in functions)

    @cached_property
    def _uses(self) -> dict[str, list[tuple[Source, ast.Attribute]]]:
        found: dict[str, list[tuple[Source, ast.Attribute]]] = {}
        for event in self.context.project.attributes():
            found.setdefault(event.node.attr, []).append((event.scope.module.source, event.node))
        return found

    def _harmless(self, use: tuple[Source, ast.Attribute], name: str) -> bool:
        """Say whether a use is the same for a list and an ``nnx.List``."""
        source, node = use
        if isinstance(node.ctx, ast.Store):
            return True
        parent = self._parent(source, node)
        if isinstance(parent, ast.For | ast.comprehension):
            return parent.iter is node
        if isinstance(parent, ast.Call):
            return isinstance(parent.func, ast.Name) and parent.func.id in _TAKING
        if isinstance(parent, ast.Subscript):
            read = isinstance(parent.ctx, ast.Load)
            return parent.value is node and (read or not isinstance(parent.slice, ast.Slice))
        if isinstance(parent, ast.Attribute):
            return parent.attr in _METHODS[name] and isinstance(self._parent(source, parent), ast.Call)
        if isinstance(parent, ast.Compare):
            return all(isinstance(operator, ast.In | ast.NotIn) for operator in parent.ops) and parent.left is not node
        if isinstance(parent, ast.If | ast.IfExp | ast.While):
            return parent.test is node
        return isinstance(parent, ast.Starred) or (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not))

    def _parent(self, source: Source, node: ast.AST) -> ast.AST | None:
        if source not in self._parents:
            self._parents[source] = {
                child: parent for parent in ast.walk(source.tree) for child in ast.iter_child_nodes(parent)
            }
        return self._parents[source].get(node)
