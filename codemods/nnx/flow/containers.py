"""What containers hold: single items, and all elements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from codemods.nnx.frames import Bound, Indexed, Moment, Part, Round, slices
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Choice,
    Class,
    Comprehension,
    Const,
    Item,
    Loop,
    Mapping,
    Param,
    Sequence,
    Star,
    Value,
)

if TYPE_CHECKING:
    from codemods.nnx.flow.flow import Flow


class Containers:
    """Finds the items of displays, comprehensions and changed containers."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._indexed: dict[tuple[Value, Bound], Indexed] = {}
        self._asked: set[Bound] = set()

    def item(self, base: Bound, index: Bound) -> Bound:
        """Resolve ``base[index]``."""
        inner = base.value
        if isinstance(inner, Part):
            return self.flow.part(inner.site, self.item(self.flow.resolve(inner.of), index), base.frame)
        if isinstance(index.value, Const):
            key = index.value.value
            moments = frozenset({Moment(None)}) if self.flow.identity.is_distrusted(inner) else frozenset()
            if (
                isinstance(inner, Sequence)
                and isinstance(key, int)
                and not any(isinstance(i, Star) for i in inner.items)
            ) and -len(inner.items) <= key < len(inner.items):
                return self.flow.resolve(self.flow.at(self.flow.with_value(base, inner.items[key]), moments))
            if isinstance(inner, Mapping):
                for name, element in inner.items:
                    if isinstance(name, Const) and name.value == key:
                        return self.flow.resolve(self.flow.at(self.flow.with_value(base, element), moments))
            if (
                isinstance(inner, Call)
                and self.flow.calls.callee_name(base) == "flax.nnx.split"
                and isinstance(key, int)
            ):
                return Bound(Item(inner, index.value), base.frame, base.stale)
        if isinstance(inner, Comprehension) and inner.key is not None:
            return Bound(Item(inner, index.value), base.frame, base.stale)
        if isinstance(inner, Changed):
            filled = self._stored(base, inner, index)
            if filled is not None:
                return filled
        if isinstance(inner, Loop) and isinstance(index.value, Const) and _left_alone(inner, index.value.value):
            return self.item(self.flow.follow(base, inner.before), index)
        record = self.flow.fields.record(base) if isinstance(index.value, Const) else None
        if record is not None and isinstance(index.value, Const) and isinstance(index.value.value, int):
            held = [*record.values()]
            if -len(held) <= index.value.value < len(held):
                return self.flow.resolve(held[index.value.value])
        cls = self.flow.classes.class_of(base)
        if cls is not None and isinstance(index.value, Const) and isinstance(index.value.value, int):
            names = self.flow.fields.names(base)
            if -len(names) <= index.value.value < len(names):
                return self.flow.resolve(Bound(Attr(inner, names[index.value.value]), base.frame, base.stale))
        key = (inner, index)
        if key not in self._indexed:
            self._indexed[key] = Indexed(inner, index)
        return Bound(self._indexed[key], base.frame, base.stale)

    def _stored(self, base: Bound, changed: Changed, index: Bound) -> Bound | None:
        """Return what ``container[index] = value`` stored last under a constant key."""
        if not isinstance(index.value, Const):
            return None
        node = changed.node
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            if node.slice.value == index.value.value:
                return self.flow.follow(base, changed.value)
            if base in self._asked:
                return None  # a field that is known by this change alone: before it, it is what it is after it
            self._asked.add(base)
            try:
                return self.item(self.flow.follow(base, changed.before), index)
            finally:
                self._asked.discard(base)
        return None

    def is_mapping(self, container: Bound) -> bool:
        """Say whether a container may be a dict, so that going over it gives keys and not its elements."""
        return self._is_mapping(container, set(), 0)

    def _is_mapping(self, container: Bound, seen: set[Bound], depth: int) -> bool:
        container = self.flow.resolve(container)
        value = container.value
        if depth > 8 or container in seen or len(seen) > 200 or self.flow.questions.tired():
            return False
        seen.add(container)  # objects that hold each other lead to their like in countless ways
        if isinstance(value, Mapping) or (isinstance(value, Comprehension) and value.key is not None):
            return True
        if isinstance(value, Changed | Loop):
            return self._is_mapping(self.flow.with_value(container, value.before), seen, depth + 1)
        if isinstance(value, Choice):
            ways = [self.flow.with_value(container, way) for way in value.options]
            return any(self._is_mapping(way, seen, depth + 1) for way in ways)
        if isinstance(value, Part):
            return self._is_mapping(value.of, seen, depth + 1)
        if isinstance(value, Attr):
            fields = self.flow.fields.field(Bound(value.base, container.frame, container.stale), value.name)
            return any(self._is_mapping(field, seen, depth + 1) for field in fields)
        return isinstance(value, Call) and self.flow.calls.callee_name(container) == "builtins.dict"

    def elements(self, container: Bound) -> tuple[Bound, ...]:
        """Return the values that a container may hold."""
        container = self.flow.resolve(container)
        known = self.flow.answers.elements.find(container)
        if known is not None:
            return known.value
        found, asked = self.flow.assumptions.noting(lambda: tuple(dict.fromkeys(self._elements(container, set()))))
        if self.flow.questions.at_rest:
            self.flow.answers.elements.keep(container, found, asked)
        return found

    def _iterated(self, instance: Bound, made: Call) -> Iterator[Bound]:
        """Yield what an object of the project yields that is gone through."""
        if not isinstance(self.flow.follow(instance, made.callee).value, Class):
            return
        cls = self.flow.classes.class_of(instance)
        method = self.flow.classes.method(cls, "__iter__") if cls is not None else None
        if method is not None and method.generator and not method.delegated:
            frame = self.flow.frame(method, None, (), {}, self.flow.open_frame(method.scope.parent), instance)
            for result in method.returns:
                yield Bound(result, frame)

    def _elements(self, container: Bound, seen: set[Bound]) -> Iterator[Bound]:
        container = self.flow.resolve(container)
        if container in seen or len(seen) > 200 or self.flow.questions.tired():
            return
        known = self.flow.answers.elements.find(container)
        if known is not None:
            yield from known.value
            return
        seen.add(container)
        value = container.value
        if isinstance(value, Sequence):
            for item in value.items:
                if isinstance(item, Star):
                    yield from self._elements(self.flow.with_value(container, item.value), seen)
                else:
                    yield self.flow.with_value(container, item)
        elif isinstance(value, Mapping):
            for key, item in value.items:
                if key is None:
                    yield from self._elements(self.flow.with_value(container, item), seen)
                else:
                    yield self.flow.with_value(container, item)
        elif isinstance(value, Comprehension):
            yield self.flow.with_value(container, value.element)
        elif isinstance(value, Changed):
            yield from self._elements(self.flow.with_value(container, value.before), seen)
            yield self.flow.with_value(container, value.value)
        elif isinstance(value, Choice):
            for option in value.options:
                yield from self._elements(self.flow.with_value(container, option), seen)
        elif isinstance(value, Loop):
            for way in (value.before, value.again):
                if way is not None:
                    yield from self._elements(self.flow.with_value(container, way), seen)
        elif isinstance(value, Part):
            for element in self._elements(value.of, seen):
                yield self.flow.part(value.site, element, container.frame)
        elif isinstance(value, Param) and container.frame is not None and container.frame.site is None:
            for frame in self.flow.sites.entries(value.function):
                argument = self.flow.argument(frame, value.name)
                if argument is not None:
                    yield from self._elements(argument, seen)
        elif isinstance(value, Attr):
            for field in self.flow.fields.field(Bound(value.base, container.frame, container.stale), value.name):
                yield from self._elements(field, seen)
        elif isinstance(value, Call):
            yield from self._iterated(container, value)
            yield from (self.flow.fields.record(container) or {}).values()
            for invoked, frame in (
                self.flow.calls.invoked(container) if not self.flow.calls.callee_name(container) else []
            ):
                function = invoked.function
                for result in function.returns:
                    if invoked.gradient:
                        if self.flow.calls.gives_value(container):  # and the gradient, which is made there
                            yield Bound(result, frame)
                    elif function.generator and not any(result is one for one in function.delegated):
                        yield Bound(result, frame)
                    else:
                        yield from self._elements(Bound(result, frame), seen)
        elif isinstance(value, Indexed) and slices(value):
            yield from self._elements(self.flow.with_value(container, value.base), seen)
        elif isinstance(value, Indexed | Round):
            for inner in self._elements(self.flow.with_value(container, value.base), seen):
                yield from self._elements(inner, seen)


def _left_alone(loop: Loop, key: object) -> bool:
    """Say whether no round of a loop stores anything in a container but under other constant keys than one."""
    seen: set[int] = set()
    pending: list[Value] = [loop]
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Loop) and value.again is not None:
            pending.append(value.again)
        if isinstance(value, Changed):
            node = value.node
            if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
                return False
            if node.slice.value == key:
                return False
        if isinstance(value, Changed | Loop):
            if value is not loop:
                pending.append(value.before)
        elif isinstance(value, Choice):
            pending.extend(value.options)
        else:
            return False  # another container
    return True
