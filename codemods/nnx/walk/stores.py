"""What a walk notes where something is bound, changed or iterated over."""

from __future__ import annotations

import ast

from codemods.nnx.facts import AttrEvent, ItemStore
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Choice,
    Comprehension,
    Const,
    Each,
    Free,
    Item,
    Loop,
    Mapping,
    Ref,
    Sequence,
    Unknown,
    Value,
    element_at,
)
from codemods.nnx.walk.names import Names

# methods that put a value into the container they are called on, with the position of that value
FILLING = {"append": 0, "add": 0, "insert": 1, "setdefault": 1}
# how many arguments they take at most: what is given more is no container of Python
MOST = {"append": 1, "add": 1, "insert": 2, "setdefault": 2}
# methods that change a container in another way
CHANGING = frozenset({"clear", "extend", "pop", "popitem", "remove", "reverse", "sort", "update"})
_DISPLAYS = (Sequence, Mapping, Comprehension, Changed, Loop, Choice, Const, Unknown, Call)


class Stores(Names):
    """Binds targets, and notes changes of containers and attributes."""

    def store(self, target: ast.expr, value: Value) -> None:
        """Bind a target to a value; an unpacked target binds its parts."""
        if isinstance(target, ast.Name):
            self.facts.values[target] = value
            self.bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self.unpack(target.elts, value)
        elif isinstance(target, ast.Attribute):
            base = self.value(target.value)
            self.attribute_event(target, base, "store", value)
        elif isinstance(target, ast.Subscript):
            self.value(target.slice)
            base = self.value(target.value)
            if self.statement is not None:
                self.facts.item_stores.append(ItemStore(target, base, self.scope, self.statement))
            self.change(target.value, Changed(target, base, value))
        elif isinstance(target, ast.Starred):
            self.store(target.value, Unknown(target))

    def unpack(self, targets: list[ast.expr], value: Value) -> None:
        starred = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), len(targets))
        for index, target in enumerate(targets):
            if index < starred:
                self.store(target, element_at(value, index, len(targets)) or Item(value, Const(index)))
            elif index == starred:
                self.facts.values[target] = _between(value, target, index, len(targets) - index - 1)
                self.store(target, Unknown(target))
            else:
                self.store(target, Item(value, Const(index - len(targets))))

    def change(self, container: ast.expr, value: Value) -> None:
        """Note that a container that a name or attribute holds was changed in place."""
        if isinstance(container, ast.Name):
            before = self.env.get(container.id)
            if before is None or not isinstance(before, _DISPLAYS):
                self.note_mutation(container)
            if before is not None:
                for name in [n for n, other in self.env.items() if other is before]:
                    self.bind(name, value)
            elif container.id in self.scope.globals:
                self.bind(container.id, value)
            else:
                self.outer_scope(container.id).bindings.setdefault(container.id, []).append(value)
        else:
            self.note_mutation(container)
            base = self.facts.values.get(container.value) if isinstance(container, ast.Attribute) else None
            if isinstance(container, ast.Attribute) and base is not None:
                self.attribute_event(container, base, "store", value)

    def note_mutation(self, container: ast.expr) -> None:
        """Note that a container is changed that other names may hold too."""
        held = self.facts.values.get(container)
        if held is not None:
            self.facts.mutated.append((held, self.scope))

    def attribute_event(self, node: ast.Attribute, base: Value, context: str, stored: Value | None = None) -> None:
        assert self.statement is not None
        self.facts.attributes.append(
            AttrEvent(node, base, self.scope, self.snapshot(), self.statement, context, stored)
        )
        function = self.scope.function
        if stored is None or function is None or function.owner is None or base is not function.self_param:
            return
        function.owner.stores.setdefault(node.attr, []).append((function, stored))

    def iterate(self, target: ast.expr, iterated: Value, loop: ast.AST) -> None:
        """Bind the target of a loop to what one round gets, through enumerate, zip and dict views."""
        self.store(target, self.element(iterated, loop))

    def element(self, iterated: Value, loop: ast.AST) -> Value:
        if isinstance(iterated, Call) and not iterated.starred:
            callee = iterated.callee
            if isinstance(callee, Free | Ref):
                name = callee.name
                if name == "enumerate" and iterated.args:
                    return Sequence(loop, (Unknown(loop), self.element(iterated.args[0], loop)))
                if name == "zip" and iterated.args:
                    return Sequence(loop, tuple(self.element(a, loop) for a in iterated.args))
                if name in {"list", "tuple", "iter", "tqdm"} and iterated.args:
                    return self.element(iterated.args[0], loop)
                if name in {"reversed", "sorted"} and iterated.args:  # the elements, in an order of its own
                    return self.element(iterated.args[0], iterated.node)
            if isinstance(callee, Attr) and not iterated.args:
                key = Each(callee.base, loop)
                if callee.name == "items":
                    return Sequence(loop, (key, Item(callee.base, key)))
                if callee.name == "values":
                    return Item(callee.base, key)
                if callee.name == "keys":
                    return key
        return Each(iterated, loop)


def _between(whole: Value, target: ast.expr, before: int, after: int) -> Value:
    """Return the items of a display that a starred target takes; of anything else the whole."""
    if not isinstance(whole, Sequence):
        return whole
    return Sequence(target, whole.items[before : len(whole.items) - after])
