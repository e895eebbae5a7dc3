"""What the attributes of instances hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.flow.calls import Callee
from codemods.nnx.frames import Bound, Frame, Moment, Part
from codemods.nnx.known import REPLACING
from codemods.nnx.values import (
    Attr,
    Call,
    Choice,
    Class,
    Const,
    Function,
    Mapping,
    ModuleRef,
    Param,
    Ref,
    Sequence,
    Star,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from codemods.nnx.flow.flow import Flow

_MOCKS = frozenset({"Mock", "MagicMock", "AsyncMock", "NonCallableMock", "NonCallableMagicMock", "create_autospec"})

#: Functions that make classes of records, and classes whose fields are the keywords that they are made with.
_RECORDS = frozenset({"collections.namedtuple", "typing.NamedTuple", "dataclasses.make_dataclass"})
NAMED_TUPLES = frozenset({"collections.namedtuple", "typing.NamedTuple"})
_NAMESPACES = frozenset({"types.SimpleNamespace", "argparse.Namespace"})

_RECORD_WORDS = tuple(name.rpartition(".")[2].encode() for name in sorted(_RECORDS | _NAMESPACES))
_REMAKING = frozenset({"_replace", "_make"})  # methods of named tuples that give others

_LINKS = 4  # how many objects of one class an attribute is followed through, from one to the next

_CONSTRUCTORS = frozenset({"__init__", "__post_init__"})


class Fields:
    """Finds the values that the project stores in attributes of the instances of its classes."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._own_stores: dict[str, list[AttrEvent]] | None = None
        self._outer_stores: dict[str, list[AttrEvent]] | None = None
        self._by_setattr: dict[object, list[CallEvent]] | None = None
        self._owners: dict[AttrEvent | CallEvent, tuple[ClassFacts | None, bool]] = {}
        self._records: bool | None = None
        self._pending = 0  # how many owners are being looked for
        self._from_outside: dict[tuple[ClassFacts, str], tuple[Bound, ...]] = {}

    def field(self, instance: Bound, name: str) -> list[Bound]:
        """Return the values that an attribute of an instance may have; empty if nothing is known."""
        cls = self.flow.classes.class_of(instance)
        if cls is None:
            record = self.record(instance)
            if record is not None:
                return [record[name]] if name in record else []
            return self._of_several(instance, name)
        value = instance.value
        if isinstance(value, Part):
            of = self.flow.with_value(value.of, Attr(value.of.value, name))
            return [self.flow.part(value.site, of, instance.frame)]
        if isinstance(value, Call) and not isinstance(self.flow.follow(instance, value.callee).value, Class):
            return self._replaced(instance, value, name)
        if self._linked(cls, instance):
            return []
        found = self._stored(cls, instance, name)
        if (
            not found
            and self.flow.classes.method(cls, "__init__") is None
            and name in self.flow.classes.dataclass_fields(cls)
        ):
            passed = self._passed(instance, name, cls)
            if passed is None:
                return []
            found.append(passed)
        if not found:
            method = self.flow.classes.method(cls, name)
            if method is not None:
                if method.is_property and len(method.returns) == 1:
                    return [self._property(method, instance)]
                return []
            for parent in self.flow.classes.mro(cls)[0]:
                if name in parent.scope.env:
                    return [Bound(parent.scope.env[name], self.flow.open_frame(parent.scope.parent))]
        found += self.stores_from_outside(cls, name)
        return found

    def _stored(self, cls: ClassFacts, instance: Bound, name: str) -> list[Bound]:
        """Return what the methods of a class, or of the next of its parents that does so, store in an attribute."""
        for parent in self.flow.classes.mro(cls)[0]:
            if parent.stores.get(name):
                return [
                    Bound(stored, self._activation(cls, instance, function), instance.stale)
                    for function, stored in parent.stores[name]
                ]
        return []

    def _of_several(self, instance: Bound, name: str) -> list[Bound]:
        """Return what an attribute may be where one of several classes is called; empty unless each of them stores it.

        So it is where a name is bound to a class more than once, as by the cells of a notebook.
        """
        value = instance.value
        if not isinstance(value, Call):
            return []
        callee = self.flow.follow(instance, value.callee)
        if not isinstance(callee.value, Choice):
            return []
        found: list[Bound] = []
        for option in callee.value.options:
            way = self.flow.follow(callee, option).value
            if not isinstance(way, Class):
                return []
            stored = self._stored(way.facts, instance, name)
            if not stored:
                return []
            found += [*stored, *self.stores_from_outside(way.facts, name)]
        return found

    def record(self, instance: Bound) -> dict[str, Bound] | None:
        """Return the fields of a named tuple or namespace whose class is made by a call; None if it is none."""
        call = instance.value
        if not isinstance(call, Call):
            return None
        callee = self.flow.follow(instance, call.callee)
        if isinstance(callee.value, Attr) and callee.value.name in _REMAKING:
            return self._remade(instance, call, callee, callee.value)
        if call.starred:
            return None
        names: list[str] = []
        if self.flow.calls.callee_name(instance) not in _NAMESPACES:
            found = self._record_names(callee)
            if found is None or len(found) < len(call.args):
                return None
            names = found
        elif call.args:
            return None
        pairs = [*zip(names, call.args, strict=False), *call.keywords]
        return {name: self.flow.with_value(instance, value) for name, value in pairs if name is not None}

    def _record_names(self, maker: Bound) -> list[str] | None:
        """Return the fields of a class that a call makes; None if it is none or they are not all known."""
        if not isinstance(maker.value, Call) or self.flow.calls.callee_name(maker) not in _RECORDS:
            return None
        given = maker.value.argument(1, "field_names")
        return self._field_names(self.flow.follow(maker, given)) if given is not None else None

    def _remade(self, instance: Bound, call: Call, callee: Bound, method: Attr) -> dict[str, Bound] | None:
        """Return the fields of ``record._replace(a=...)`` and ``Record._make((...))``."""
        key = ("record", instance)
        if self.flow.questions.under_way(key):
            return None  # a record that is replaced in a loop
        with self.flow.questions.asking(key):
            base = self.flow.follow(callee, method.base)
            if method.name == "_make":
                names = self._record_names(base)
                given = self.flow.follow(instance, call.args[0]) if len(call.args) == 1 else None
                items = given.value.items if given is not None and isinstance(given.value, Sequence) else ()
                if names is None or given is None or any(isinstance(item, Star) for item in items):
                    return None
                pairs = zip(names, items, strict=False)
                return {name: self.flow.with_value(given, item) for name, item in pairs}
            held = self.record(base)
        if held is None or call.args or any(name is None for name, _ in call.keywords):
            return None
        return held | {name: self.flow.with_value(instance, value) for name, value in call.keywords if name in held}

    def names(self, instance: Bound) -> list[str]:
        """Return the names of the fields of a named tuple, in order; nothing if it is none that is known."""
        cls = self.flow.classes.class_of(instance)
        if cls is not None:
            named = self.flow.classes.mro(cls)[1] & NAMED_TUPLES
            return self.flow.classes.dataclass_fields(cls) if named else []
        return [*(self.record(instance) or ())]

    def recorded(self, made: Bound, name: str) -> tuple[Bound | None, Bound | None]:
        """Return what a field of a record holds, or of which record it is left: ``old._replace(other=...)``.

        Args:
            made: what may be a record.
            name: the field.
        """
        record, call = self.record(made), made.value
        if record is not None or not isinstance(call, Call):
            return (record or {}).get(name), None
        callee = self.flow.follow(made, call.callee)
        if not isinstance(callee.value, Attr) or callee.value.name != "_replace":
            return None, None
        given = call.keyword(name)
        if given is not None:
            return self.flow.with_value(made, given), None
        return None, self.flow.follow(callee, callee.value.base)

    @property
    def records(self) -> bool:
        """Whether the project mentions what makes records, or classes of them, by a call."""
        if self._records is None:
            self._records = any(
                module.source.mentions(word) for module in self.flow.project.modules for word in _RECORD_WORDS
            )
        return self._records

    def _field_names(self, given: Bound) -> list[str] | None:
        """Return the names in ``["a", "b"]``, ``"a b"`` or ``[("a", int), "b"]``; None if they are not all known."""
        value = given.value
        if isinstance(value, Const) and isinstance(value.value, str):
            return value.value.replace(",", " ").split()
        if not isinstance(value, Sequence):
            return None
        names: list[str] = []
        for item in value.items:
            one = self.flow.follow(given, item)
            if isinstance(one.value, Sequence) and one.value.items:
                one = self.flow.follow(one, one.value.items[0])
            if not isinstance(one.value, Const) or not isinstance(one.value.value, str):
                return None
            names.append(one.value.value)
        return names

    def _property(self, method: FunctionFacts, instance: Bound) -> Bound:
        """Return the value of a property; each read of one that makes an object gives another."""
        held = Bound(method.returns[0], self.flow.frame(method, None, (), {}, None, instance), instance.stale)
        made = self.flow.resolve(held)
        frame = made.frame
        while frame is not None and frame.function is not method:
            frame = frame.caller
        fresh = frame is not None and isinstance(made.value, Call | Part | Unknown) and not method.is_cached
        return self.flow.at(held, frozenset({Moment(None)})) if fresh else held

    def stores(self) -> dict[str, list[AttrEvent]]:
        """Return every assignment of an attribute in the project, by the attribute's name."""
        if self._own_stores is None:
            self._own_stores = {}
            for event in self.flow.project.attributes():
                if event.context == "store":
                    self._own_stores.setdefault(event.node.attr, []).append(event)
        return self._own_stores

    def stores_from_outside(self, cls: ClassFacts, name: str) -> tuple[Bound, ...]:
        """Return what other code assigns to an attribute of objects that may be of a class."""
        if self._outer_stores is None:
            self._outer_stores = {}
            for event in self.flow.project.attributes():
                if (
                    event.context == "store"
                    and not (isinstance(event.base, Param) and event.base is event.base.function.self_param)
                    and not self._mock(event)
                ):
                    self._outer_stores.setdefault(event.node.attr, []).append(event)
        key = cls, name
        if key not in self._from_outside:
            found = tuple(self._stored_outside(cls, name))
            if self._pending:  # what is under way counts as unknown, for now
                return found
            self._from_outside[key] = found
        return self._from_outside[key]

    def _stored_outside(self, cls: ClassFacts, name: str) -> Iterator[Bound]:
        assert self._outer_stores is not None
        for event in self._outer_stores.get(name, ()):
            owner, possible = self._owner(event, event.base, event.scope)
            related = owner is not None and (
                cls in self.flow.classes.mro(owner)[0] or owner in self.flow.classes.mro(cls)[0]
            )
            if event.stored is not None and (related or (owner is None and possible)):
                yield self.flow.here(event.stored, event.scope)
        for call in self._setters().get(name, ()):
            owner, possible = self._owner(call, call.value.args[0], call.scope)
            if owner in self.flow.classes.mro(cls)[0] or (owner is None and possible):
                yield self.flow.here(call.value.args[2], call.scope)

    def _setters(self) -> dict[object, list[CallEvent]]:
        """Return every ``setattr`` with a literal name, by that name, and what a frozen class uses for it."""
        if self._by_setattr is None:
            self._by_setattr = {}
            for word in ("setattr", "__setattr__"):
                for call in self.flow.sites.calls_of(word):
                    named = call.value.args[1] if len(call.value.args) == 3 else None
                    if isinstance(named, Const) and isinstance(named.value, str):
                        self._by_setattr.setdefault(named.value, []).append(call)
        return self._by_setattr

    def _mock(self, event: AttrEvent) -> bool:
        """Say whether a test puts a stand-in into an attribute, which tells nothing of what it holds else."""
        made = event.stored
        if not isinstance(made, Call):
            return False
        last = getattr(made.node.func, "attr", getattr(made.node.func, "id", ""))
        if last not in _MOCKS:
            return False
        name = self.flow.calls.callee_name(self.flow.here(made, event.scope))
        return name.startswith(("unittest.mock.", "mock."))

    def _owner(self, event: AttrEvent | CallEvent, base: Value, scope: Scope) -> tuple[ClassFacts | None, bool]:
        """Return the class of the object that a store changes, or None and whether it could be of any class.

        It is asked for at every read of an attribute of that name, and found once.
        """
        if event not in self._owners:
            self._owners[event] = None, True  # for questions that come back here
            self._pending += 1
            try:
                instance = self.flow.here(base, scope)
                owner = self.flow.classes.class_of(self.flow.resolve(instance))
                self._owners[event] = owner, owner is None and self._may_be_instance(instance)
            finally:
                self._pending -= 1
        return self._owners[event]

    def _may_be_instance(self, instance: Bound) -> bool:
        """Say whether the object of a store, whose class is not known, could be of a class of the project."""
        base = self.flow.resolve(instance)
        return not isinstance(base.value, Ref | ModuleRef | Const | Sequence | Mapping | Class | Function) and not (
            isinstance(base.value, Call) and bool(self.flow.calls.callee_name(base))
        )

    def _replaced(self, instance: Bound, value: Call, name: str) -> list[Bound]:
        """Return a field of ``dataclasses.replace(x, ...)`` or ``x.replace(...)``."""
        given = value.keyword(name)
        if given is not None:
            return [self.flow.with_value(instance, given)]
        callee = self.flow.follow(instance, value.callee)
        if isinstance(callee.value, Attr):
            return [Bound(Attr(callee.value.base, name), callee.frame)]
        if isinstance(callee.value, Part):  # a method of the copy that a transform hands on
            method = self.flow.resolve(callee.value.of)
            if not isinstance(method.value, Attr) or method.value.name not in REPLACING:
                return []  # as `apply_gradients` in a compiled function
            kept = self.flow.follow(method, Attr(method.value.base, name))
            return [self.flow.part(callee.value.site, kept, callee.frame)]
        return [self.flow.with_value(instance, Attr(value.args[0], name))] if value.args else []

    def _passed(self, instance: Bound, name: str, cls: ClassFacts) -> Bound | None:
        """Return what a generated constructor was given for a field."""
        value = instance.value
        if not isinstance(value, Call):
            return None
        given = value.argument(self.flow.classes.dataclass_fields(cls).index(name), name)
        if given is not None:
            return self.flow.with_value(instance, given)
        for parent in self.flow.classes.mro(cls)[0]:
            if name in parent.scope.env:
                return Bound(parent.scope.env[name], self.flow.open_frame(parent.scope.parent))
        return None

    def constructed(self, frame: Frame) -> Frame:
        """Return the activation of a constructor by the call that made its instance, where an assumption tells that."""
        assert frame.receiver is not None
        instance = self.flow.resolve(frame.receiver)
        if frame.function.name not in _CONSTRUCTORS or not isinstance(instance.value, Call):
            return frame
        cls = self.flow.classes.class_of(instance)
        return self._activation(cls, instance, frame.function) if cls is not None else frame

    def _linked(self, cls: ClassFacts, instance: Bound) -> bool:
        """Say whether an instance is known only as what one of its class was given by one of its class, and so on.

        Where fields of nodes may come from any field of other nodes, the ways multiply with every link.
        """
        frame, links = instance.frame, 0
        while frame is not None and frame.receiver is not None and links < _LINKS:
            links += frame.site is None and frame.function.owner is cls
            frame = frame.receiver.frame
        return links >= _LINKS

    def _activation(self, cls: ClassFacts, instance: Bound, function: FunctionFacts) -> Frame:
        """Return the activation of a method in which an instance stored a field."""
        value = instance.value
        instance = Bound(
            value, instance.frame, self.flow.identity.stale(instance)
        )  # what does not matter makes no other instance
        if function.name not in _CONSTRUCTORS:
            return self.flow.frame(function, None, (), {}, self.flow.open_frame(function.scope.parent), instance)
        init = self.flow.classes.method(cls, "__init__")
        closure = self.flow.open_frame(function.scope.parent)
        if not isinstance(value, Call) or init is None:
            return self.flow.frame(function, None, (), {}, closure, instance)
        frame = self.flow.calls.enter(Callee(init, self.flow.open_frame(init.scope.parent), instance), instance)
        seen = {init}
        while frame.function is not function:
            event = self.flow.classes.super_constructor(frame.function)
            target = self.flow.calls.callables(Bound(event.value.callee, frame)) if event is not None else []
            if event is None or not target or target[0].function in seen:
                return self.flow.frame(function, None, (), {}, closure, instance)
            seen.add(target[0].function)
            frame = self.flow.calls.enter(Callee(target[0].function, None, instance), Bound(event.value, frame))
        return frame
