"""The project's classes: what they derive from, and which of them a value is an instance of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.frames import Bound, Indexed, Moment, Part, Round, slices
from codemods.nnx.known import REPLACING
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Choice,
    Class,
    Const,
    Free,
    Item,
    Loop,
    Param,
    Ref,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from codemods.nnx.flow.flow import Flow


_NAMED_TUPLE = "collections.namedtuple"
_COPIES = 12  # how many copies deep a method is followed


class Classes:
    """Answers questions about the project's classes."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._mro: dict[ClassFacts, tuple[tuple[ClassFacts, ...], frozenset[str]]] = {}
        self._heirs: dict[ClassFacts, tuple[ClassFacts, ...]] | None = None
        self._annotated: dict[Param, tuple[Bound, ...]] = {}

    def class_attribute(self, cls: ClassFacts, name: str) -> Bound | None:
        """Return a value that a class's body gives to an attribute, read from the class itself."""
        for parent in self.mro(cls)[0]:
            if name in parent.methods:
                return None
            if name in parent.scope.env:
                assigned = any(e.node.attr == name for e in self.flow.fields.stores().get(name, ()))
                stale = frozenset({Moment(None)}) if assigned else frozenset()
                return Bound(parent.scope.env[name], self.flow.open_frame(parent.scope.parent), stale)
        return None

    def mro(self, cls: ClassFacts) -> tuple[tuple[ClassFacts, ...], frozenset[str]]:
        """Return a class with the project's classes it derives from, and the names of its foreign bases."""
        known = self._mro.get(cls)
        if known is not None:
            return known
        self._mro[cls] = ((cls,), frozenset())  # ends cycles
        classes: dict[ClassFacts, None] = {cls: None}
        foreign: set[str] = set()
        outer = self.flow.open_frame(cls.scope.parent)
        bases = [self.flow.resolve(Bound(base, outer)).value for base in cls.bases]
        while bases:
            resolved = bases.pop(0)
            while isinstance(resolved, Indexed | Item):  # Generic[T]
                resolved = resolved.base
            if isinstance(resolved, Choice):  # it may derive from each
                bases = [self.flow.resolve(Bound(way, outer)).value for way in resolved.options] + bases
            elif isinstance(resolved, Class):
                parents, names = self.mro(resolved.facts)
                classes.update(dict.fromkeys(parents))
                foreign |= names
            elif isinstance(resolved, Ref):
                foreign.add(resolved.name)
            elif isinstance(resolved, Call):  # class Pair(namedtuple("Pair", "one two"))
                maker = self.flow.resolve(Bound(resolved.callee, outer)).value
                foreign |= {"", maker.name} if isinstance(maker, Ref) and maker.name == _NAMED_TUPLE else {""}
        result = (tuple(classes), frozenset(foreign))
        self._mro[cls] = result
        return result

    def heirs(self, cls: ClassFacts) -> tuple[ClassFacts, ...]:
        """Return a class and the project's classes that derive from it."""
        if self._heirs is None:
            heirs: dict[ClassFacts, dict[ClassFacts, None]] = {}
            for heir in self.flow.project.classes():
                for parent in self.mro(heir)[0]:
                    heirs.setdefault(parent, {})[heir] = None
            self._heirs = {parent: tuple(found) for parent, found in heirs.items()}
        return self._heirs.get(cls, ())

    def method(self, cls: ClassFacts, name: str) -> FunctionFacts | None:
        """Return the method of a class or its project's parents."""
        return next((c.methods[name] for c in self.mro(cls)[0] if name in c.methods), None)

    def class_of(self, bound: Bound) -> ClassFacts | None:
        """Return the project's class that a value is an instance of."""
        value = bound.value
        if isinstance(value, Changed):
            first = self.flow.unchanged(bound)
            return None if isinstance(first.value, Changed) else self.class_of(first)
        if isinstance(value, Part):
            return self._class_of_original(bound, self.flow.resolve(value.of))
        if isinstance(value, Call):
            callee = self.flow.follow(bound, value.callee)
            if isinstance(callee.value, Class):
                return callee.value.facts
            if isinstance(callee.value, Ref) and callee.value.name == "dataclasses.replace" and value.args:
                return self._class_of_original(bound, self.flow.follow(bound, value.args[0]))
            method = self.uncopied(callee)
            if isinstance(method.value, Attr) and method.value.name in REPLACING and value.keywords:
                return self._class_of_original(bound, Bound(method.value.base, method.frame))
            if isinstance(method.value, Attr) and method.value.name in {"create", "apply_gradients"}:
                return self._train_state(bound, method, method.value)
            return None
        if isinstance(value, Param):
            if value is value.function.self_param:
                return value.function.owner
            for kind in self.annotated(value):
                if isinstance(kind.value, Class):
                    return kind.value.facts
        if isinstance(value, Indexed) and slices(value):
            return None
        if isinstance(value, Choice | Loop | Indexed | Round):
            key = ("class", bound)
            if self.flow.questions.under_way(key):
                return None
            known = self.flow.answers.classes.find(bound)
            if known is not None:
                return known.value
            if self.flow.questions.tired():  # ways within ways within ways, as of a long chain of conditions
                return None
            with self.flow.questions.asking(key) as question:
                if isinstance(value, Indexed | Round):
                    ways = list(self.flow.containers.elements(self.flow.with_value(bound, value.base)))
                else:
                    options = value.options if isinstance(value, Choice) else (value.before,)
                    ways = [self.flow.with_value(bound, o) for o in options if not is_none(o)]
                classes: set[ClassFacts | None] = set()
                for way in ways:
                    classes.add(self.class_of(self.flow.resolve(way)))
                    if len(classes) > 1:
                        break
            cls = classes.pop() if len(classes) == 1 else None
            if question.stands_on is not None:
                self.flow.answers.classes.keep(bound, cls, question.stands_on)
            return cls
        return None

    def _class_of_original(self, bound: Bound, original: Bound) -> ClassFacts | None:
        """Return the class of what a copy was made of, which in a loop or a recursion may be the copy itself."""
        key = ("class", bound)
        if self.flow.questions.under_way(key):
            return None
        with self.flow.questions.asking(key):
            return self.class_of(original)

    def uncopied(self, callee: Bound) -> Bound:
        """Return a method of what a transform got, given that of the copy that the function inside sees."""
        for _ in range(_COPIES):
            if not isinstance(callee.value, Part):
                break
            callee = self.flow.resolve(callee.value.of)
        return callee

    def _train_state(self, bound: Bound, callee: Bound, called: Attr) -> ClassFacts | None:
        """Return the class of ``State.create(...)`` and ``state.apply_gradients(...)``, if these methods are Flax's."""
        base = self.flow.follow(callee, called.base)
        cls = base.value.facts if isinstance(base.value, Class) else None
        if called.name != "create" and cls is None:
            cls = self._class_of_original(bound, base)
        if cls is None or self.method(cls, called.name) is not None:
            return None
        return cls if any(name.endswith(".TrainState") for name in self.mro(cls)[1]) else None

    def annotated(self, param: Param) -> tuple[Bound, ...]:
        """Return the classes that a parameter's annotation names: project's classes or foreign names."""
        if param not in self._annotated:
            node = param.function.annotations.get(param.name)
            scope = param.function.scope.parent
            self._annotated[param] = () if node is None or scope is None else tuple(self.named(node, scope))
        return self._annotated[param]

    def named(self, node: ast.expr, scope: Scope) -> Iterator[Bound]:
        """Yield the classes that an annotation expression names; optional and union members count too."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                inner = ast.parse(node.value.strip(), mode="eval").body
            except SyntaxError:
                return
            yield from self.named(inner, scope)
        elif isinstance(node, ast.BinOp):
            yield from self.named(node.left, scope)
            yield from self.named(node.right, scope)
        elif isinstance(node, ast.Subscript):
            outer = list(self.named(node.value, scope))
            names = {b.value.name.rpartition(".")[2] for b in outer if isinstance(b.value, Ref)}
            if names & {"Optional", "Union", "Annotated", "Final", "ClassVar"}:
                members = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                for member in members:
                    yield from self.named(member, scope)
            else:
                yield from outer
        elif isinstance(node, ast.Name | ast.Attribute):
            found = self.flow.resolve(self.flow.here(self.spelled(node, scope), scope))
            if isinstance(found.value, Class | Ref):
                yield found

    def spelled(self, node: ast.expr, scope: Scope) -> Value:
        """Return the value of a dotted name as a scope sees it from inside functions."""
        if isinstance(node, ast.Attribute):
            return Attr(self.spelled(node.value, scope), node.attr)
        if not isinstance(node, ast.Name):
            return Unknown(node)
        outer: Scope | None = scope
        while outer is not None:
            if node.id in outer.bindings or outer.parent is None:
                return Free(outer, node.id)
            outer = outer.parent
        return Unknown(node)

    def dataclass_fields(self, cls: ClassFacts) -> list[str]:
        """Return the names of the fields that the generated constructor of a class takes, in order."""
        names: dict[str, None] = {}
        for parent in reversed(self.mro(cls)[0]):
            names.update(dict.fromkeys(parent.fields))
        return list(names)

    def super_constructor(self, init: FunctionFacts) -> CallEvent | None:
        """Return the call of ``super().__init__`` in a constructor."""
        for event in init.scope.module.calls_in(init.scope):
            callee = event.value.callee
            if isinstance(callee, Attr) and callee.name == "__init__":
                return event
        return None

    def own_arguments(self, init: FunctionFacts, event: CallEvent) -> int:
        """Return where the arguments of a parent's constructor begin: behind ``self`` in ``Base.__init__(self, x)``.

        Args:
            init: a constructor.
            event: the call of its parent's in it.
        """
        given = event.value.args
        return 1 if given and given[0] is init.self_param else 0


def is_none(value: Value) -> bool:
    """Say whether a value is the constant ``None``."""
    return isinstance(value, Const) and value.value is None
