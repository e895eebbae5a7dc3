"""Value flow through a project: what a value is, where it comes from, whether two are the same object.

Values are followed on demand through assignments, unpacking, calls and their results, closures, fields of the project's
classes, containers, imports, ``nnx.split``/``nnx.merge`` and the transforms of NNX and JAX.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.frames import Bound, Frame, Indexed, Moment, Part, Round
from codemods.nnx.known import CALLS_BODY, COPIES, GRADIENTS, TRANSPARENT, UNTRACED, canonical
from codemods.nnx.project import Project, enclosing_function
from codemods.nnx.values import (
    Assigned,
    Attr,
    Call,
    Changed,
    Choice,
    Class,
    Comprehension,
    Const,
    Each,
    Either,
    Free,
    Function,
    Item,
    Loop,
    Mapping,
    ModuleRef,
    Param,
    Ref,
    Sequence,
    Star,
    Unknown,
    Value,
)

_DEPTH = 40  # how many steps one value is followed; deeper ones count as unknown
_STEPS = 2_000  # how many steps one question may take in all: fields that refer to each other multiply the ways
_HASTE = 100  # how many it may take once the project has had its share
_SHARE = 200_000, 20  # steps of a project, and more for each of its calls, before the analysis makes haste


@dataclass(frozen=True, slots=True, eq=False)
class Callee:
    """A function that a call may reach.

    Attributes:
        closure: the activation that defined it.
        receiver: the instance or class a method is bound to.
        args: arguments bound before by ``functools.partial`` or ``nnx.cached_partial``.
        gradient: whether the call gives gradients of the function instead of its result.
        traced: whether the function is traced, so that it works on copies of its arguments.
    """

    function: FunctionFacts
    closure: Frame | None
    receiver: Bound | None = None
    args: tuple[Bound, ...] = ()
    keywords: tuple[tuple[str, Bound], ...] = ()
    gradient: bool = False
    traced: bool = False


@dataclass(slots=True)
class _Question:
    """A question under way; ``settled`` says in the end whether its answer holds everywhere."""

    settled: bool = False


class Flow:
    """Answers questions about the values of one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._open: dict[FunctionFacts, Frame] = {}
        self._frames: dict[tuple[object, ...], Frame] = {}
        self._parts: dict[tuple[object, ...], Part] = {}
        self._indexed: dict[tuple[Value, Bound], Indexed] = {}
        self._choices: dict[tuple[Scope, str], Value] = {}
        self._assumed: dict[FunctionFacts, Frame] = {}
        self._active: dict[object, int] = {}  # questions under way, with the depth at which each was asked
        self._depth = 0
        self._steps = 0
        self._held = False  # whether the questions asked now are parts of a larger one
        self._limit = _STEPS
        self._left = _SHARE[0] + _SHARE[1] * sum(len(module.calls) for module in project.modules)
        self._cycle = _DEPTH * 2  # the least depth that an answer under way was cut short by
        self._identical: dict[tuple[Bound, Bound], bool] = {}
        self._memo: dict[Bound, Bound] = {}
        self._classes: dict[Bound, ClassFacts | None] = {}
        self._callers: dict[FunctionFacts, list[CallEvent]] | None = None
        self._constructions: dict[ClassFacts, list[CallEvent]] | None = None
        self._outer_stores: dict[str, list[AttrEvent]] | None = None
        self._mro: dict[ClassFacts, tuple[tuple[ClassFacts, ...], frozenset[str]]] = {}
        self._loose: frozenset[str] | None = None
        self._sites: dict[str, list[CallEvent]] | None = None
        self._own_stores: dict[str, list[AttrEvent]] | None = None
        self._attr_moments: dict[tuple[ClassFacts, bool, str], tuple[FunctionFacts | None, bool] | None] = {}
        self._owners: dict[AttrEvent | CallEvent, tuple[ClassFacts | None, bool]] = {}
        self._unsteady: set[Value] = set()
        self._unsteady_names: set[str] = set()
        self._annotated: dict[Param, tuple[Bound, ...]] = {}

    # -- frames -----------------------------------------------------------------------------------

    def open_frame(self, scope: Scope | None) -> Frame | None:
        """Return the activation of the function around a scope whose caller is not known."""
        function = enclosing_function(scope)
        if function is None:
            return None
        frame = self._open.get(function)
        if frame is None:
            frame = Frame(function, closure=self.open_frame(function.scope.parent))
            self._open[function] = frame
        return frame

    def here(self, value: Value, scope: Scope) -> Bound:
        """Return a value of a scope in an activation whose caller is not known."""
        return Bound(value, self.open_frame(scope))

    def _frame(
        self,
        function: FunctionFacts,
        site: Value | None,
        args: tuple[Bound, ...],
        keywords: dict[str, Bound],
        closure: Frame | None,
        receiver: Bound | None,
        partial: bool = False,
        caller: Frame | None = None,
    ) -> Frame:
        key = (function, site, args, tuple(keywords.items()), closure, receiver, caller)
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = Frame(function, site, args, keywords, closure, receiver, partial, caller)
        return frame

    def part(self, site: Value, of: Bound, frame: Frame | None) -> Bound:
        """Return the copy of a value that ``site`` makes; the same object for the same copy."""
        if isinstance(of.value, Const | Ref | ModuleRef | Class | Function):
            return of
        key = (site, of, frame)
        if key not in self._parts:
            self._parts[key] = Part(site, of)
        return Bound(self._parts[key], frame)

    @contextmanager
    def assuming(self, function: FunctionFacts, frame: Frame) -> Iterator[None]:
        """Take the open frame of a function for one made by a known call."""
        saved = self._assumed, self._memo, self._identical, self._classes
        self._assumed = {**self._assumed, function: frame}
        self._memo, self._identical, self._classes = {}, {}, {}
        try:
            yield
        finally:
            self._assumed, self._memo, self._identical, self._classes = saved

    @property
    def assumptions(self) -> frozenset[Frame]:
        """The frames that are taken for open ones at present."""
        return frozenset(self._assumed.values())

    def assumed(self, function: FunctionFacts) -> Frame | None:
        """Return the frame that is taken for a function's open one."""
        return self._assumed.get(function)

    # -- resolving --------------------------------------------------------------------------------

    def resolve(self, bound: Bound) -> Bound:
        """Follow a value to where it was made, as far as that is the same on every way."""
        known = self._memo.get(bound)
        if known is not None:
            return known
        if self._depth == 0 and not self._held:
            self._steps = 0
        if self._tired():
            return bound
        if bound in self._active:
            self._cycle = min(self._cycle, self._active[bound])
            return bound
        with self._asking(bound) as question:
            result = self._step(bound)
        if question.settled:
            self._memo[bound] = result
        return result

    def _tired(self) -> bool:
        """Count a step, and say whether the question under way has had its share of them."""
        self._steps += 1
        self._left -= 1
        if self._left == 0:
            self._limit = _HASTE
        return self._depth > _DEPTH or self._steps > self._limit

    @contextmanager
    def one_question(self) -> Iterator[None]:
        """Take all questions asked inside for one, which may take a limited number of steps in all."""
        if self._held or self._depth:
            yield
            return
        self._held, self._steps = True, 0
        try:
            yield
        finally:
            self._held = False

    @contextmanager
    def _asking(self, key: object) -> Iterator[_Question]:
        """Note that a question is under way, so that one that comes back to it is cut short.

        An answer that was cut short by a question further out holds only within that one, and must not be kept.
        """
        question = _Question()
        outer, depth = self._cycle, self._depth
        self._cycle = _DEPTH * 2
        self._active[key] = depth
        self._depth += 1
        try:
            yield question
        finally:
            self._depth = depth
            del self._active[key]
            question.settled = self._cycle >= depth
            self._cycle = outer if question.settled else min(outer, self._cycle)

    def _step(self, bound: Bound) -> Bound:
        value = bound.value
        if isinstance(
            value, Const | Ref | Sequence | Mapping | Comprehension | Function | Class | Unknown | Changed | Part
        ):
            return bound
        if isinstance(value, Param):
            return self._param(bound, value)
        if isinstance(value, Free):
            return self._free(bound, value)
        if isinstance(value, Attr):
            return self._attr(bound, value)
        if isinstance(value, Call):
            return self._call(bound, value)
        if isinstance(value, Item):
            return self._item(bound, value)
        if isinstance(value, Each):
            return self._each(bound, value)
        if isinstance(value, Indexed):
            return self.item(self.follow(bound, value.base), self.resolve(value.index))
        if isinstance(value, Round):
            return self._round(bound, value)
        if isinstance(value, ModuleRef):
            return self._module(bound, value)
        if isinstance(value, Choice):
            return self._choice(bound, value)
        if isinstance(value, Loop):
            return self._loop(bound, value)
        if isinstance(value, Assigned):
            return self.resolve(Bound(value.value, self.open_frame(value.scope), bound.stale))
        return bound

    def with_value(self, bound: Bound, value: Value) -> Bound:
        """Return another value of the same activation."""
        return Bound(value, bound.frame, bound.stale)

    def follow(self, bound: Bound, value: Value) -> Bound:
        """Resolve another value of the same activation."""
        return self.resolve(self.with_value(bound, value))

    def _module(self, bound: Bound, value: ModuleRef) -> Bound:
        module = self.project.find(value.name, value.importer)
        if module is None:
            return Bound(Ref(canonical(value.name)))
        return Bound(ModuleRef(module.name))

    def _param(self, bound: Bound, value: Param) -> Bound:
        frame = bound.frame
        if frame is None or frame.function is not value.function:
            return bound
        if frame.site is None:
            assumed = self._assumed.get(value.function)
            if assumed is not None and assumed is not frame:
                frame = assumed
        argument = self.argument(frame, value.name)
        if argument is not None:
            return self.resolve(Bound(argument.value, argument.frame, argument.stale | bound.stale))
        function = value.function
        if function.binding == "class" and value is next(iter(function.params.values()), None) and function.owner:
            return Bound(Class(function.owner))
        if frame is not bound.frame:
            return Bound(value, frame, bound.stale)
        return bound

    def argument(self, frame: Frame, name: str) -> Bound | None:
        """Return what a parameter gets in an activation, or None if that is not known."""
        function = frame.function
        names = list(function.params)
        if frame.receiver is not None and names and function.binding in {"instance", "class"}:
            if name == names[0]:
                return frame.receiver
            names = names[1:]
            positional = function.positional - 1
        else:
            positional = function.positional
        if frame.site is None and not frame.args and not frame.keywords:
            return None
        if name in frame.keywords:
            return frame.keywords[name]
        if name in names:
            index = names.index(name)
            if index < min(positional, len(frame.args)):
                return frame.args[index]
        if not frame.partial and name in function.defaults:
            return Bound(function.defaults[name], frame.closure)
        return None

    def _free(self, bound: Bound, value: Free) -> Bound:
        scope = value.scope
        bindings = scope.bindings.get(value.name)
        if not bindings:
            return self._global(scope, value.name) or bound
        function = enclosing_function(scope)
        frame = bound.frame
        while frame is not None and frame.function is not function:
            frame = frame.closure
        if frame is None:
            frame = self.open_frame(scope)
        held = self.binding(scope, value.name)
        return self.resolve(Bound(held, frame, bound.stale | self._variable_moment(scope, value.name, held, bound)))

    def binding(self, scope: Scope, name: str) -> Value:
        """Return the value of a variable as an inner function sees it: any of those it is bound to."""
        key = (scope, name)
        if key not in self._choices:
            values = tuple(dict.fromkeys(scope.bindings[name]))
            objects = [v for v in values if not (isinstance(v, Const) and v.value is None)]
            final = scope.env.get(name)
            if len(values) == 1:
                held = values[0]
            elif len(objects) > 1 and (name in scope.rebound or name in scope.remote):
                held = Either(scope.node, values)
            else:
                held = final if isinstance(final, Choice) else Choice(scope.node, values)
            self._choices[key] = held
        return self._choices[key]

    def _variable_moment(self, scope: Scope, name: str, held: Value, read: Bound) -> frozenset[Moment]:
        """Return when a variable was read, if what is assigned to it may differ from time to time."""
        writers = scope.remote.get(name)
        if scope.parent is None and self._assigned_from_outside(scope.module, name):
            return frozenset({Moment(None)})
        if writers is None and name not in scope.rebound:
            return frozenset()
        if isinstance(held, Function | Class | Const | Ref | ModuleRef | Either):
            return frozenset()
        reader = read.frame.function if read.frame is not None else None
        if writers is None:
            return frozenset({Moment(None, reader)})
        if len(writers) == 1 and self._runs_once(writers[0]):
            return frozenset()
        if len(set(writers)) > 1 or reader is writers[0]:
            return frozenset({Moment(None, reader)})
        return frozenset({Moment(writers[0], reader, isinstance(held, Assigned) and isinstance(held.value, Param))})

    def _assigned_from_outside(self, module: ModuleFacts, name: str) -> bool:
        """Say whether some code assigns an attribute of a module of the project."""
        for event in self._stores().get(name, ()):
            base = self.resolve(self.here(event.base, event.scope)).value
            if isinstance(base, ModuleRef) and self.project.find(base.name, base.importer) is module:
                return True
        return False

    def _calls_of(self, name: str) -> list[CallEvent]:
        """Return every call in the project of something that is written with a last name."""
        if self._sites is None:
            self._sites = {}
            for event in self.project.calls():
                called = event.node.func
                last = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                self._sites.setdefault(last, []).append(event)
        return self._sites.get(name, [])

    def _runs_once(self, function: FunctionFacts, depth: int = 0) -> bool:
        """Say whether a function runs once at most, going by the calls of its name in the whole project."""
        sites = self._calls_of(function.name)
        if len(sites) != 1 or sites[0].loops or depth > 5:
            return False
        around = enclosing_function(sites[0].scope)
        if around is None:
            return True
        return around is not function and self._runs_once(around, depth + 1)

    def _global(self, scope: Scope, name: str) -> Bound | None:
        """Return what a name that no statement binds refers to: a star import or a builtin."""
        module = scope.module
        for star in module.stars:
            source = self.project.find(star, module.name)
            if source is not None:
                if source is not module and name in source.scope.bindings:
                    return self.export(source, name)
            elif canonical(star) == "flax.nnx":
                return Bound(Ref(f"flax.nnx.{name}"))
        return Bound(Ref(f"builtins.{name}")) if scope.parent is None else None

    def export(self, module: ModuleFacts, name: str) -> Bound | None:
        """Resolve a global of a project's module, also one that it imports or a submodule; None if there is none."""
        if name in module.scope.env:
            final = module.scope.env[name]
            if isinstance(final, Attr) and isinstance(final.base, ModuleRef) and final.name == name:
                # `from . import name` inside the package itself
                target = self.project.find(final.base.name, final.base.importer)
                if target is module:
                    inner = self.project.find(f"{module.name}.{name}")
                    return Bound(ModuleRef(inner.name)) if inner else None
            held = self.binding(module.scope, name)
            return self.resolve(Bound(held, None, self._variable_moment(module.scope, name, held, Bound(held))))
        inner = self.project.find(f"{module.name}.{name}")
        if inner is not None:
            return Bound(ModuleRef(inner.name))
        if module.stars:
            found = self._global(module.scope, name)
            if found is not None and not (isinstance(found.value, Ref) and found.value.name.startswith("builtins.")):
                return found
        return None

    def _in_folder(self, value: Attr) -> Bound | None:
        """Return the project's module that a dotted name means whose folders are no packages."""
        names, base = [value.name], value.base
        while isinstance(base, Attr):
            names.append(base.name)
            base = base.base
        if not isinstance(base, ModuleRef):
            return None
        module = self.project.find(".".join([base.name, *reversed(names)]), base.importer)
        return Bound(ModuleRef(module.name)) if module is not None else None

    def unchanged(self, bound: Bound) -> Bound:
        """Return an object before changes that were noted as if it were a container, such as ``meter.add(x)``."""
        seen: set[Value] = set()
        while isinstance(bound.value, Changed) and bound.value not in seen:  # a loop changes what it changed before
            seen.add(bound.value)
            bound = self.follow(bound, bound.value.before)
        return bound

    def _attr(self, bound: Bound, value: Attr) -> Bound:
        base = self.unchanged(self.follow(bound, value.base))
        inner = base.value
        if isinstance(inner, Ref):
            return self._in_folder(value) or Bound(Ref(canonical(f"{inner.name}.{value.name}")))
        if isinstance(inner, ModuleRef):
            module = self.project.find(inner.name, inner.importer)
            found = self.export(module, value.name) if module is not None else None
            if found is None and module is not None and inner.name == module.name and isinstance(value.base, ModuleRef):
                other = self.project.find(f"{value.base.name}.{value.name}", value.base.importer)
                found = Bound(ModuleRef(other.name)) if other is not None else None
            return found or self.with_value(bound, value)
        if isinstance(inner, Part):
            return self.part(inner.site, self.follow(inner.of, Attr(inner.of.value, value.name)), base.frame)
        if isinstance(inner, Class):
            held = self._class_attribute(inner.facts, value.name)
            return self.resolve(held) if held is not None else Bound(Attr(inner, value.name), base.frame, base.stale)
        fields = [f for f in self.field(base, value.name) if not _nothing(f.value)]
        moments = self._attribute_moment(base, value.name, bound) if fields else frozenset()
        if fields:
            first = self.resolve(self._at(fields[0], moments))
            if len(fields) == 1 or all(self.same(first, self._at(other, moments)) for other in fields[1:]):
                return first
        return Bound(Attr(inner, value.name), base.frame, base.stale | moments)

    def _at(self, bound: Bound, moments: frozenset[Moment]) -> Bound:
        return Bound(bound.value, bound.frame, bound.stale | moments) if moments else bound

    def _class_attribute(self, cls: ClassFacts, name: str) -> Bound | None:
        """Return a value that a class's body gives to an attribute, read from the class itself."""
        for parent in self.mro(cls)[0]:
            if name in parent.methods:
                return None
            if name in parent.scope.env:
                assigned = any(e.node.attr == name for e in self._stores().get(name, ()))
                stale = frozenset({Moment(None)}) if assigned else frozenset()
                return Bound(parent.scope.env[name], self.open_frame(parent.scope.parent), stale)
        return None

    def _attribute_moment(self, instance: Bound, name: str, read: Bound) -> frozenset[Moment]:
        """Return when an attribute was read, if it may hold different objects at different times."""
        cls = self.class_of(instance)
        if cls is None:
            return frozenset()
        made = isinstance(instance.value, Call)
        key = (cls, made, name)
        if key not in self._attr_moments:
            self._attr_moments[key] = self._assigns_anew(cls, name, made)
        anew = self._attr_moments[key]
        reader = read.frame.function if read.frame is not None else None
        if anew is None or (anew[0] is not None and anew[0] is reader):
            return frozenset()
        return frozenset({Moment(anew[0], reader, anew[1])})

    def _assigns_anew(self, cls: ClassFacts, name: str, made: bool) -> tuple[FunctionFacts | None, bool] | None:
        """Return the function that assigns an attribute whenever it runs, None in its place if there are several.

        Returns:
            None if the attribute keeps the object that it got first. Else the function, and whether an argument of it
            is what is assigned.
        """
        family = set(self.mro(cls)[0])
        if not made:
            family |= {c for c in self.project.classes() if cls in self.mro(c)[0]}
        outer = list(self._stores_from_outside(cls, name))
        events = [
            event
            for event in self._stores().get(name, ())
            if isinstance(event.base, Param) and event.base.function.owner in family
            if not (isinstance(event.stored, Const) and event.stored.value is None)
            if event.stored is None or not isinstance(event.stored, Changed)
        ]
        if made:
            events = [e for e in events if self._constructed(cls, e.base)]
        if not events and not outer:
            return None
        writers = {e.base.function for e in events if isinstance(e.base, Param)}
        if outer or len(writers) > 1:
            return None, False
        writer = writers.pop()
        if not _exclusive(writer.node, [e.node for e in events]):
            return None, False
        if writer.name in {"__init__", "__post_init__"} or self._runs_once(writer):
            return None
        first = min(e.node.lineno for e in events)
        if any(
            e.context == "load" and e.node.attr == name and e.scope is writer.scope and e.node.lineno < first
            for e in writer.scope.module.attributes
        ):
            return None, False
        given = any(isinstance(e.stored, Param) for e in events)
        return writer, given

    def _constructed(self, cls: ClassFacts, instance: Value) -> bool:
        """Say whether a store is no part of a constructor that an instance of a class never runs."""
        assert isinstance(instance, Param)
        function = instance.function
        init = self.method(cls, "__init__")
        seen: set[FunctionFacts] = set()
        while function.name == "__init__" and init is not None and init is not function and init not in seen:
            seen.add(init)
            event = self.super_constructor(init)
            if event is None or init.owner is None:
                return False
            init = next((p.methods["__init__"] for p in self.mro(init.owner)[0][1:] if "__init__" in p.methods), None)
        return init is function or function.name != "__init__"

    def _item(self, bound: Bound, value: Item) -> Bound:
        base = self.follow(bound, value.base)
        index = self.follow(bound, value.index)
        found = self.item(base, index)
        site = value.base
        while isinstance(site, Item):
            site = site.base
        return self.returned(found, site)

    def item(self, base: Bound, index: Bound) -> Bound:
        """Resolve ``base[index]``."""
        inner = base.value
        if isinstance(inner, Part):
            return self.part(inner.site, self.item(self.resolve(inner.of), index), base.frame)
        if isinstance(index.value, Const):
            key = index.value.value
            moments = frozenset({Moment(None)}) if inner in self._unsteady else frozenset()
            if (
                isinstance(inner, Sequence)
                and isinstance(key, int)
                and not any(isinstance(i, Star) for i in inner.items)
            ) and -len(inner.items) <= key < len(inner.items):
                return self.resolve(self._at(self.with_value(base, inner.items[key]), moments))
            if isinstance(inner, Mapping):
                for name, element in inner.items:
                    if isinstance(name, Const) and name.value == key:
                        return self.resolve(self._at(self.with_value(base, element), moments))
            if isinstance(inner, Call) and self.callee_name(base) == "flax.nnx.split" and isinstance(key, int):
                return Bound(Item(inner, index.value), base.frame, base.stale)
        if isinstance(inner, Comprehension) and inner.key is not None:
            return Bound(Item(inner, index.value), base.frame, base.stale)
        if isinstance(inner, Changed):
            filled = self._stored(base, inner, index)
            if filled is not None:
                return filled
        cls = self.class_of(base)
        if cls is not None and isinstance(index.value, Const) and isinstance(index.value.value, int):
            names = self.dataclass_fields(cls)
            if "typing.NamedTuple" in self.mro(cls)[1] and index.value.value < len(names):
                return self.resolve(Bound(Attr(inner, names[index.value.value]), base.frame, base.stale))
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
                return self.follow(base, changed.value)
            return self.item(self.follow(base, changed.before), index)
        return None

    def _each(self, bound: Bound, value: Each) -> Bound:
        return self._round(bound, Round(value.base, value.loop, bound.frame))

    def _round(self, bound: Bound, value: Round) -> Bound:
        base = self.follow(bound, value.base)
        if isinstance(base.value, Part):
            inner = base.value
            of = self.follow(inner.of, Round(inner.of.value, value.loop, value.frame))
            return self.part(inner.site, of, base.frame)
        return Bound(Round(base.value, value.loop, value.frame), base.frame, base.stale | bound.stale)

    def _choice(self, bound: Bound, value: Choice) -> Bound:
        options = [o for o in value.options if not (isinstance(o, Const) and o.value is None)]
        if not options:
            return Bound(Const(None))
        first = self.follow(bound, options[0])
        if len(options) == 1:
            return first
        if all(self.same(first, self.with_value(bound, other)) for other in options[1:]):
            return first
        return bound

    def _loop(self, bound: Bound, value: Loop) -> Bound:
        before = self.follow(bound, value.before)
        if value.again is None or value.again is value:
            return before
        key = ("loop", bound)
        if key in self._active:
            self._cycle = min(self._cycle, self._active[key])
            return bound
        with self._asking(key):
            again = self.resolve(self.older(bound, value.again, value.node))
        if isinstance(value.before, Const) and value.before.value is None:
            return again if again.value is not value else bound
        if again.value is value:
            return before
        if again.value is before.value and again.frame is before.frame and self._stale(again) == self._stale(before):
            return before
        return bound

    # -- calls ------------------------------------------------------------------------------------

    def callee_name(self, bound: Bound) -> str:
        """Return the full name of the foreign function that a call calls; empty if it is not foreign."""
        if not isinstance(bound.value, Call):
            return ""
        callee = self.follow(bound, bound.value.callee).value
        return callee.name if isinstance(callee, Ref) else ""

    def _call(self, bound: Bound, value: Call) -> Bound:
        callee = self.follow(bound, value.callee)
        if isinstance(callee.value, Ref):
            return self._foreign(bound, value, callee.value.name)
        if isinstance(callee.value, Class):
            return bound
        if isinstance(callee.value, Attr) and callee.value.name == "replace" and value.keywords:
            return bound
        callees = self.callables(callee)
        if len(callees) != 1 or callees[0].gradient:
            return bound
        returned = callees[0].function.returns
        if callees[0].function.generator or not returned:
            return bound
        frame = self.enter(callees[0], bound)
        results = [Bound(r, frame) for r in returned if not (isinstance(r, Const) and r.value is None)]
        if not results:
            return bound
        first = self.resolve(results[0])
        if all(self.same(first, other) for other in results[1:]):
            first = self.returned(first, value)
            return Bound(first.value, first.frame, first.stale | bound.stale) if bound.stale else first
        return bound

    def returned(self, result: Bound, site: Value) -> Bound:
        """Return what a result of a call is to the caller: an argument that a traced function returns is itself."""
        return self.resolve(result.value.of) if isinstance(result.value, Part) and result.value.site is site else result

    def _foreign(self, bound: Bound, value: Call, name: str) -> Bound:
        """Resolve the result of a call of a foreign function that returns or copies its argument."""
        if name in COPIES and value.args:
            return self.part(value, self.follow(bound, value.args[0]), bound.frame)
        if name == "flax.nnx.merge" and value.args:
            whole = self.split_object(self.follow(bound, value.args[0]))
            return self.part(value, whole, bound.frame) if whole is not None else bound
        if name in {"builtins.getattr"} and len(value.args) >= 2:
            attribute = self.follow(bound, value.args[1]).value
            if isinstance(attribute, Const) and isinstance(attribute.value, str):
                return self.follow(bound, Attr(value.args[0], attribute.value))
        if name in {"flax.nnx.data", "flax.nnx.List"} and len(value.args) == 1 and not value.keywords:
            return self.follow(bound, value.args[0])
        if name in {"typing.cast"} and len(value.args) == 2:
            return self.follow(bound, value.args[1])
        if name in {"builtins.list", "builtins.tuple", "builtins.dict"} and len(value.args) == 1 and not value.keywords:
            return self.follow(bound, value.args[0])
        if name == "builtins.dict" and value.keywords and not value.args and not value.starred:
            items = tuple((Const(k), v) for k, v in value.keywords)
            return Bound(Mapping(value.node, items), bound.frame, bound.stale)
        body = CALLS_BODY.get(name)
        if body is not None and name.endswith(("eval_shape",)):
            for invoked, frame in self.invoked(bound):
                if len(invoked.function.returns) == 1:
                    return self.resolve(Bound(invoked.function.returns[0], frame))
        return bound

    def split_object(self, graphdef: Bound) -> Bound | None:
        """Return the object that was split into a graph definition, given that definition."""
        value = graphdef.value
        if isinstance(value, Part):
            return self.split_object(self.resolve(value.of))
        if isinstance(value, Indexed | Item):
            base = self.with_value(graphdef, value.base)
            index = value.index.value if isinstance(value, Item) and isinstance(value.index, Const) else None
            if isinstance(value, Indexed) and isinstance(value.index.value, Const):
                index = value.index.value.value
            if index == 0 and isinstance(base.value, Call) and self.callee_name(base) == "flax.nnx.split":
                return self.follow(base, base.value.args[0]) if base.value.args else None
        if isinstance(value, Call) and self.callee_name(graphdef) == "flax.nnx.graphdef" and value.args:
            return self.follow(graphdef, value.args[0])
        if isinstance(value, Loop):
            return self.split_object(self.follow(graphdef, value.before))
        return None

    def callables(self, callee: Bound, depth: int = 0) -> list[Callee]:
        """Return the project's functions that calling a value may reach."""
        if depth > 12:
            return []
        callee = self.resolve(callee)
        value = callee.value
        if isinstance(value, Function):
            return [Callee(value.facts, callee.frame)]
        if isinstance(value, Choice):
            return [c for o in value.options for c in self.callables(self.with_value(callee, o), depth + 1)]
        if isinstance(value, Attr):
            return self._method(callee, value)
        if isinstance(value, Call):
            return self._wrapped(callee, value, depth)
        cls = self.class_of(callee)
        if cls is not None:
            method = self.method(cls, "__call__")
            return [Callee(method, None, callee)] if method is not None else []
        return []

    def _method(self, callee: Bound, value: Attr) -> list[Callee]:
        base = Bound(value.base, callee.frame, callee.stale)
        if isinstance(value.base, Class):
            method = self.method(value.base.facts, value.name)
            if method is None:
                return []
            return [Callee(method, None, base if method.binding == "class" else None)]
        owner = self._super(base)
        if owner is not None:
            cls, receiver = owner
            for parent in self.mro(cls)[0][1:]:
                if value.name in parent.methods:
                    return [Callee(parent.methods[value.name], None, receiver)]
            return []
        cls_of = self.class_of(base)
        method = self.method(cls_of, value.name) if cls_of is not None else None
        return [Callee(method, self.open_frame(method.scope.parent), base)] if method is not None else []

    def _super(self, bound: Bound) -> tuple[ClassFacts, Bound] | None:
        """Return the class whose parents ``super()`` means, and the instance."""
        if not isinstance(bound.value, Call) or self.callee_name(bound) != "builtins.super":
            return None
        frame = bound.frame
        while frame is not None and frame.function.owner is None:
            frame = frame.closure
        if frame is None or frame.function.owner is None or not frame.function.params:
            return None
        return frame.function.owner, Bound(next(iter(frame.function.params.values())), frame)

    def _wrapped(self, callee: Bound, value: Call, depth: int) -> list[Callee]:
        """Return the functions behind a transform, a partial application, a decorator or a callable object."""
        name = self.wrapper_name(callee, value)
        if name in TRANSPARENT | GRADIENTS and value.args:
            inner = self.callables(self.with_value(callee, value.args[0]), depth + 1)
            bound_args: tuple[Bound, ...] = ()
            bound_keywords: tuple[tuple[str, Bound], ...] = ()
            if name in {"functools.partial", "flax.nnx.cached_partial", "functools.partialmethod"}:
                bound_args = tuple(self.with_value(callee, a) for a in value.args[1:])
                bound_keywords = tuple((k, self.with_value(callee, v)) for k, v in value.keywords if k is not None)
            return [
                Callee(
                    c.function,
                    c.closure,
                    c.receiver,
                    (*c.args, *bound_args),
                    (*c.keywords, *bound_keywords),
                    c.gradient or name in GRADIENTS,
                    c.traced or name not in UNTRACED,
                )
                for c in inner
            ]
        if len(value.node.args) != len(value.args):  # written as a decorator that is not known: taken as transparent
            return self.callables(self.with_value(callee, value.args[0]), depth + 1)
        cls = self.class_of(callee)
        method = self.method(cls, "__call__") if cls is not None else None
        return [Callee(method, None, callee)] if method is not None else []

    def wrapper_name(self, bound: Bound, value: Call) -> str:
        """Return the name of the transform that a call applies, also one with its options given before."""
        callee = self.follow(bound, value.callee)
        if isinstance(callee.value, Ref):
            return callee.value.name
        if isinstance(callee.value, Call):
            inner = self.follow(callee, callee.value.callee)
            if isinstance(inner.value, Ref):
                if inner.value.name == "functools.partial" and callee.value.args:
                    first = self.follow(callee, callee.value.args[0])
                    return first.value.name if isinstance(first.value, Ref) else ""
                if not callee.value.args:  # @nnx.jit(static_argnames=...)
                    return inner.value.name
        return ""

    def enter(self, callee: Callee, call: Bound) -> Frame:
        """Return the activation that a call makes of a function."""
        value = call.value
        assert isinstance(value, Call)
        args = [*callee.args, *(self.with_value(call, a) for a in value.args if not isinstance(a, Star))]
        keywords = dict(callee.keywords)
        keywords |= {k: self.with_value(call, v) for k, v in value.keywords if k is not None}
        receiver = callee.receiver
        if callee.traced or self._traced_method(callee.function):
            args = [self.part(value, self.resolve(a), call.frame) for a in args]
            keywords = {k: self.part(value, self.resolve(a), call.frame) for k, a in keywords.items()}
            if receiver is not None and callee.function.binding == "instance":
                receiver = self.part(value, self.resolve(receiver), call.frame)
        closure, starred = callee.closure, value.starred
        return self._frame(callee.function, value, tuple(args), keywords, closure, receiver, starred, call.frame)

    def _traced_method(self, function: FunctionFacts) -> bool:
        """Say whether a decorator traces a method; those of functions are part of the value that is called."""
        outer = function.scope.parent
        if function.owner is None or outer is None:
            return False
        for decorator in function.decorators:
            bound = self.resolve(self.here(decorator, outer))
            name = bound.value.name if isinstance(bound.value, Ref) else ""
            if isinstance(bound.value, Call):
                name = self.callee_name(bound)
                if name == "functools.partial" and bound.value.args:
                    first = self.follow(bound, bound.value.args[0]).value
                    name = first.name if isinstance(first, Ref) else ""
            if name in TRANSPARENT - UNTRACED:
                return True
        return False

    def invoked(self, call: Bound) -> list[tuple[Callee, Frame]]:
        """Return the project's functions that a call reaches, each with its activation."""
        value = call.value
        assert isinstance(value, Call)
        name = self.callee_name(call)
        body = CALLS_BODY.get(name)
        if body is not None:
            positions, first, counted = body
            operands = tuple(self.with_value(call, a) for a in value.args[first:])
            if counted:
                operands = (self.with_value(call, Unknown(value.node)), *operands)
            elif name == "jax.lax.scan":
                operands = (*operands[:1], self.with_value(call, Unknown(value.node)))
            bodies = [self.with_value(call, value.args[p]) for p in positions if p < len(value.args)]
            return [(callee, self._body_frame(callee, call, operands)) for b in bodies for callee in self.callables(b)]
        return [(callee, self.enter(callee, call)) for callee in self.callables(self.with_value(call, value.callee))]

    def _body_frame(self, callee: Callee, call: Bound, operands: tuple[Bound, ...]) -> Frame:
        """Return the activation of a function that a foreign one calls with operands."""
        args, keywords = (*callee.args, *operands), dict(callee.keywords)
        receiver, closure = callee.receiver, callee.closure
        return self._frame(callee.function, call.value, args, keywords, closure, receiver, caller=call.frame)

    # -- classes ----------------------------------------------------------------------------------

    def mro(self, cls: ClassFacts) -> tuple[tuple[ClassFacts, ...], frozenset[str]]:
        """Return a class with the project's classes it derives from, and the names of its foreign bases."""
        known = self._mro.get(cls)
        if known is not None:
            return known
        self._mro[cls] = ((cls,), frozenset())  # ends cycles
        classes: dict[ClassFacts, None] = {cls: None}
        foreign: set[str] = set()
        outer = self.open_frame(cls.scope.parent)
        for base in cls.bases:
            resolved = self.resolve(Bound(base, outer)).value
            while isinstance(resolved, Indexed | Item):  # Generic[T]
                resolved = resolved.base
            if isinstance(resolved, Class):
                parents, names = self.mro(resolved.facts)
                classes.update(dict.fromkeys(parents))
                foreign |= names
            elif isinstance(resolved, Ref):
                foreign.add(resolved.name)
            elif isinstance(resolved, Call):
                foreign.add("")
        result = (tuple(classes), frozenset(foreign))
        self._mro[cls] = result
        return result

    def method(self, cls: ClassFacts, name: str) -> FunctionFacts | None:
        """Return the method of a class or its project's parents."""
        return next((c.methods[name] for c in self.mro(cls)[0] if name in c.methods), None)

    def class_of(self, bound: Bound) -> ClassFacts | None:
        """Return the project's class that a value is an instance of."""
        value = bound.value
        if isinstance(value, Changed):
            first = self.unchanged(bound)
            return None if isinstance(first.value, Changed) else self.class_of(first)
        if isinstance(value, Part):
            return self.class_of(self.resolve(value.of))
        if isinstance(value, Call):
            callee = self.follow(bound, value.callee)
            if isinstance(callee.value, Class):
                return callee.value.facts
            if isinstance(callee.value, Ref) and callee.value.name == "dataclasses.replace" and value.args:
                return self.class_of(self.follow(bound, value.args[0]))
            if isinstance(callee.value, Attr) and callee.value.name == "replace" and value.keywords:
                return self.class_of(Bound(callee.value.base, callee.frame))
            return None
        if isinstance(value, Param):
            if value is value.function.self_param:
                return value.function.owner
            for kind in self.annotated(value):
                if isinstance(kind.value, Class):
                    return kind.value.facts
        if isinstance(value, Choice | Loop | Indexed | Round):
            key = ("class", bound)
            if key in self._active:
                self._cycle = min(self._cycle, self._active[key])
                return None
            if bound in self._classes:
                return self._classes[bound]
            with self._asking(key) as question:
                if isinstance(value, Indexed | Round):
                    ways = list(self.elements(self.with_value(bound, value.base)))
                else:
                    options = value.options if isinstance(value, Choice) else (value.before,)
                    ways = [self.with_value(bound, o) for o in options if not _nothing(o)]
                classes = {self.class_of(self.resolve(w)) for w in ways}
            cls = classes.pop() if len(classes) == 1 else None
            if question.settled:
                self._classes[bound] = cls
            return cls
        return None

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
            found = self.resolve(self.here(self.spelled(node, scope), scope))
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

    def field(self, instance: Bound, name: str) -> list[Bound]:
        """Return the values that an attribute of an instance may have; empty if nothing is known."""
        cls = self.class_of(instance)
        if cls is None:
            return []
        found: list[Bound] = []
        value = instance.value
        if isinstance(value, Part):
            of = self.with_value(value.of, Attr(value.of.value, name))
            return [self.part(value.site, of, instance.frame)]
        if isinstance(value, Call) and not isinstance(self.follow(instance, value.callee).value, Class):
            return self._replaced(instance, value, name)
        for parent in self.mro(cls)[0]:
            for function, stored in parent.stores.get(name, ()):
                found.append(Bound(stored, self._activation(cls, instance, function), instance.stale))
            if found:
                break
        if not found and self.method(cls, "__init__") is None and name in self.dataclass_fields(cls):
            passed = self._passed(instance, name, cls)
            if passed is None:
                return []
            found.append(passed)
        if not found:
            method = self.method(cls, name)
            if method is not None:
                if method.is_property and len(method.returns) == 1:
                    return [self._property(method, instance)]
                return []
            for parent in self.mro(cls)[0]:
                if name in parent.scope.env:
                    return [Bound(parent.scope.env[name], self.open_frame(parent.scope.parent))]
        found += list(self._stores_from_outside(cls, name))
        return found

    def _property(self, method: FunctionFacts, instance: Bound) -> Bound:
        """Return the value of a property; each read of one that makes an object gives another."""
        held = Bound(method.returns[0], self._frame(method, None, (), {}, None, instance), instance.stale)
        made = self.resolve(held)
        frame = made.frame
        while frame is not None and frame.function is not method:
            frame = frame.caller
        fresh = frame is not None and isinstance(made.value, Call | Part | Unknown) and not method.is_cached
        return self._at(held, frozenset({Moment(None)})) if fresh else held

    def _stores(self) -> dict[str, list[AttrEvent]]:
        """Return every assignment of an attribute in the project, by the attribute's name."""
        if self._own_stores is None:
            self._own_stores = {}
            for event in self.project.attributes():
                if event.context == "store":
                    self._own_stores.setdefault(event.node.attr, []).append(event)
        return self._own_stores

    def _stores_from_outside(self, cls: ClassFacts, name: str) -> Iterator[Bound]:
        """Yield what other code assigns to an attribute of objects that may be of a class."""
        if self._outer_stores is None:
            self._outer_stores = {}
            for event in self.project.attributes():
                if event.context == "store" and not (
                    isinstance(event.base, Param) and event.base is event.base.function.self_param
                ):
                    self._outer_stores.setdefault(event.node.attr, []).append(event)
        for event in self._outer_stores.get(name, ()):
            owner, possible = self._owner(event, event.base, event.scope)
            related = owner is not None and (cls in self.mro(owner)[0] or owner in self.mro(cls)[0])
            if event.stored is not None and (related or (owner is None and possible)):
                yield self.here(event.stored, event.scope)
        for call in self._calls_of("setattr"):
            if len(call.value.args) == 3 and call.value.args[1] == Const(name):
                owner, possible = self._owner(call, call.value.args[0], call.scope)
                if owner in self.mro(cls)[0] or (owner is None and possible):
                    yield self.here(call.value.args[2], call.scope)

    def _owner(self, event: AttrEvent | CallEvent, base: Value, scope: Scope) -> tuple[ClassFacts | None, bool]:
        """Return the class of the object that a store changes, or None and whether it could be of any class.

        It is asked for at every read of an attribute of that name, and found once.
        """
        if event not in self._owners:
            self._owners[event] = None, True  # for questions that come back here
            instance = self.here(base, scope)
            owner = self.class_of(self.resolve(instance))
            self._owners[event] = owner, owner is None and self._may_be_instance(instance)
        return self._owners[event]

    def _may_be_instance(self, instance: Bound) -> bool:
        """Say whether the object of a store, whose class is not known, could be of a class of the project."""
        base = self.resolve(instance)
        return not isinstance(base.value, Ref | ModuleRef | Const | Sequence | Mapping | Class | Function) and not (
            isinstance(base.value, Call) and bool(self.callee_name(base))
        )

    def _replaced(self, instance: Bound, value: Call, name: str) -> list[Bound]:
        """Return a field of ``dataclasses.replace(x, ...)`` or ``x.replace(...)``."""
        given = value.keyword(name)
        if given is not None:
            return [self.with_value(instance, given)]
        callee = self.follow(instance, value.callee)
        if isinstance(callee.value, Attr):
            return [Bound(Attr(callee.value.base, name), callee.frame)]
        return [self.with_value(instance, Attr(value.args[0], name))]

    def _passed(self, instance: Bound, name: str, cls: ClassFacts) -> Bound | None:
        """Return what a generated constructor was given for a field."""
        value = instance.value
        if not isinstance(value, Call):
            return None
        given = value.argument(self.dataclass_fields(cls).index(name), name)
        if given is not None:
            return self.with_value(instance, given)
        for parent in self.mro(cls)[0]:
            if name in parent.scope.env:
                return Bound(parent.scope.env[name], self.open_frame(parent.scope.parent))
        return None

    def _activation(self, cls: ClassFacts, instance: Bound, function: FunctionFacts) -> Frame:
        """Return the activation of a method in which an instance stored a field."""
        value = instance.value
        instance = Bound(value, instance.frame, self._stale(instance))  # what does not matter makes no other instance
        if function.name not in {"__init__", "__post_init__"}:
            return self._frame(function, None, (), {}, self.open_frame(function.scope.parent), instance)
        init = self.method(cls, "__init__")
        closure = self.open_frame(function.scope.parent)
        if not isinstance(value, Call) or init is None:
            return self._frame(function, None, (), {}, closure, instance)
        frame = self.enter(Callee(init, self.open_frame(init.scope.parent), instance), instance)
        seen = {init}
        while frame.function is not function:
            event = self.super_constructor(frame.function)
            target = self.callables(Bound(event.value.callee, frame)) if event is not None else []
            if event is None or not target or target[0].function in seen:
                return self._frame(function, None, (), {}, closure, instance)
            seen.add(target[0].function)
            frame = self.enter(Callee(target[0].function, None, instance), Bound(event.value, frame))
        return frame

    def super_constructor(self, init: FunctionFacts) -> CallEvent | None:
        """Return the call of ``super().__init__`` in a constructor."""
        for event in init.scope.module.calls:
            callee = event.value.callee
            if event.scope is init.scope and isinstance(callee, Attr) and callee.name == "__init__":
                return event
        return None

    # -- who calls whom ---------------------------------------------------------------------------

    def _index(self) -> None:
        self._callers = {}
        self._constructions = {}
        for event in self.project.calls():
            call = self.here(event.value, event.scope)
            callee = self.follow(call, event.value.callee)
            if isinstance(callee.value, Class):
                self._constructions.setdefault(callee.value.facts, []).append(event)
                init = self.method(callee.value.facts, "__init__")
                if init is not None:
                    self._callers.setdefault(init, []).append(event)
                continue
            for invoked, _ in self.invoked(call):
                known = self._callers.setdefault(invoked.function, [])
                if event not in known:
                    known.append(event)

    def callers(self, function: FunctionFacts) -> list[CallEvent]:
        """Return every call in the project that reaches a function."""
        if self._callers is None:
            self._index()
        assert self._callers is not None
        return self._callers.get(function, [])

    def constructions(self, cls: ClassFacts) -> list[CallEvent]:
        """Return every call that makes an instance of a class or of a class derived from it."""
        if self._constructions is None:
            self._index()
        assert self._constructions is not None
        return [e for c, events in self._constructions.items() if cls in self.mro(c)[0] for e in events]

    def entries(self, function: FunctionFacts) -> list[Frame]:
        """Return the activations of a function that the project's calls make."""
        frames: list[Frame] = []
        for event in self.callers(function):
            call = self.here(event.value, event.scope)
            callee = self.follow(call, event.value.callee)
            if isinstance(callee.value, Class):
                frames.append(self.enter(Callee(function, self.open_frame(function.scope.parent), call), call))
                continue
            frames += [frame for invoked, frame in self.invoked(call) if invoked.function is function]
        return frames

    def received(self, function: FunctionFacts) -> list[Frame]:
        """Return activations of a method by the instances that the project makes of its class."""
        if function.owner is None:
            return []
        closure = self.open_frame(function.scope.parent)
        return [
            self._frame(function, None, (), {}, closure, self.here(event.value, event.scope))
            for event in self.constructions(function.owner)
        ]

    # -- open ends ------------------------------------------------------------------------------------

    def open_param(self, bound: Bound, depth: int = 0) -> Param | None:
        """Return the parameter on which a value depends and whose argument is not settled; None if there is none."""
        value = bound.value
        if depth > 20:
            return None
        if isinstance(value, Param):
            frame = bound.frame
            if frame is not None and frame.site is None and not frame.args and not frame.keywords:
                if frame.receiver is not None and value is not frame.function.self_param:
                    inner = self.open_param(self.resolve(frame.receiver), depth + 1)
                    if inner is not None:
                        return inner
                settled = self.assumed(value.function)
                if settled is None or (settled.site is None and value is not value.function.self_param):
                    return value
            return None
        if isinstance(value, Attr | Indexed | Round | Item):
            return self.open_param(self.follow(bound, value.base), depth + 1)
        if isinstance(value, Part):
            return self.open_param(self.resolve(value.of), depth + 1)
        if isinstance(value, Choice):
            ways: tuple[Value, ...] = value.options
        elif isinstance(value, Loop):
            ways = (value.before,)
        elif isinstance(value, Call):
            ways = (value.callee, *value.args[:1])
        else:
            return None
        for way in ways:
            found = self.open_param(self.follow(bound, way), depth + 1)
            if found is not None:
                return found
        return None

    def settlements(self, param: Param) -> list[Frame]:
        """Return the activations that the project makes of the function of an open parameter."""
        function = param.function
        return self.received(function) if param is function.self_param else self.entries(function)

    # -- identity ---------------------------------------------------------------------------------

    def same(self, one: Bound, two: Bound) -> bool:
        """Say whether two values are provably the same object."""
        one, two = self.resolve(one), self.resolve(two)
        a, b = one.value, two.value
        if a == b and one.frame is two.frame:
            return self._stale(one) == self._stale(two) and self._stable(one)
        if isinstance(a, Const) and isinstance(b, Const):
            return type(a.value) is type(b.value) and a.value == b.value
        if isinstance(a, Ref) and isinstance(b, Ref):
            return a == b
        key = (one, two)
        if key in self._identical:
            return self._identical[key]
        if key in self._active:
            self._cycle = min(self._cycle, self._active[key])
            return True
        if self._depth == 0 and not self._held:
            self._steps = 0
        if self._tired():
            return False
        with self._asking(key) as question:
            answer = self._same(one, two)
        if question.settled:
            self._identical[key] = answer
        return answer

    def _same(self, one: Bound, two: Bound) -> bool:
        a, b = one.value, two.value
        if isinstance(a, Attr) and isinstance(b, Attr):
            bases = self.with_value(one, a.base), self.with_value(two, b.base)
            return a.name == b.name and self._stable(one) and self.same(*bases)
        if isinstance(a, Indexed) and isinstance(b, Indexed):
            return self.same(self.with_value(one, a.base), self.with_value(two, b.base)) and self.same(a.index, b.index)
        if isinstance(a, Round) and isinstance(b, Round):
            return (
                a.loop is b.loop
                and a.frame is b.frame
                and self._stale(one) == self._stale(two)
                and self.same(self.with_value(one, a.base), self.with_value(two, b.base))
            )
        if isinstance(a, Part) and isinstance(b, Part):
            return a.site is b.site and one.frame is two.frame and self.same(a.of, b.of)
        if (
            isinstance(a, Choice)
            and isinstance(b, Choice)
            and a.node is b.node
            and len(a.options) == len(b.options)
            and not isinstance(a, Either)
        ):
            pairs = zip(a.options, b.options, strict=True)
            if all(self.same(self.with_value(one, x), self.with_value(two, y)) for x, y in pairs):
                return True
        if isinstance(a, Loop) and isinstance(b, Loop) and a.node is b.node and a.again and b.again:
            return self.same(self.with_value(one, a.before), self.with_value(two, b.before)) and self.same(
                self.older(one, a.again, a.node), self.older(two, b.again, b.node)
            )
        for x, y in ((one, two), (two, one)):
            if isinstance(x.value, Choice):
                return all(self.same(self.with_value(x, o), y) for o in x.value.options)
            if isinstance(x.value, Loop) and x.value.again is not None:
                return self.same(self.with_value(x, x.value.before), y) and self.same(
                    self.older(x, x.value.again, x.value.node), y
                )
        return False

    def older(self, bound: Bound, value: Value, loop: ast.AST) -> Bound:
        """Return a value of the round before the current one of a loop."""
        return Bound(value, bound.frame, bound.stale | {loop})

    def _stale(self, bound: Bound) -> frozenset[ast.AST | Moment]:
        """Return the loops of earlier rounds that matter for a value: those around a place that it was made at."""
        if not bound.stale:
            return bound.stale
        lines = self._lines(bound)
        return frozenset(s for s in bound.stale if self._matters(s, bound, lines))

    def _matters(self, since: ast.AST | Moment, bound: Bound, lines: set[int]) -> bool:
        if not isinstance(since, Moment):
            return any(since.lineno <= line <= since.end_lineno for line in lines)  # type: ignore[attr-defined]
        if since.writer is None or since.given:
            return True
        frame = bound.frame
        while frame is not None:
            if frame.function is since.writer:
                return True
            frame = frame.caller
        return False

    def _lines(self, bound: Bound) -> set[int]:
        """Return the lines of the expression that made a value and of the calls that led there."""
        lines = {_line(getattr(bound.value, "node", None) or getattr(bound.value, "loop", None))}
        frames, seen = [bound.frame], set()
        while frames:
            frame = frames.pop()
            if frame is None or frame in seen:
                continue
            seen.add(frame)
            if isinstance(frame.site, Call):
                lines.add(_line(frame.site.node))
            elif frame.receiver is not None:
                lines.add(_line(getattr(frame.receiver.value, "node", None)))
                frames.append(frame.receiver.frame)
            frames.append(frame.caller)
        return lines - {0}

    def distrust(self, containers: set[Value]) -> None:
        """Take the elements of displays that are changed through other names for different ones at each read."""
        if not containers <= self._unsteady:
            self._unsteady |= containers
            self._unsteady_names = {c.name for c in self._unsteady if isinstance(c, Attr)}
            self._memo = {}

    def current(self, bound: Bound) -> bool:
        """Say whether a value is the last one that was made at its place."""
        return not self._stale(bound) and self._stable(bound)

    def steady(self, container: Bound) -> bool:
        """Say whether a container is changed only where the values of the text show it."""
        value = container.value
        return value not in self._unsteady and not (isinstance(value, Attr) and value.name in self._unsteady_names)

    def _stable(self, bound: Bound) -> bool:
        """Say whether reading a value twice gives the same object: no attribute on the way is assigned again."""
        value = bound.value
        if (
            isinstance(value, Either)
            or not self.steady(bound)
            or any(isinstance(s, Moment) and s.writer is None for s in bound.stale)
        ):
            return False
        if isinstance(value, Attr):
            base = self.resolve(self.with_value(bound, value.base))
            if self.class_of(base) is not None:
                lasting = not self._attribute_moment(base, value.name, bound)
            else:
                lasting = value.name not in self._reassigned()
            return lasting and self._stable(base)
        if isinstance(value, Indexed | Round | Item | Each):
            return self._stable(self.with_value(bound, value.base))
        return self._stable(value.of) if isinstance(value, Part) else True

    def _reassigned(self) -> frozenset[str]:
        """Return the names of attributes that are assigned anywhere but by constructors to their own object."""
        if self._loose is None:
            self._loose = frozenset(
                event.node.attr
                for event in self.project.attributes()
                if event.context == "store"
                and not (
                    isinstance(event.base, Param)
                    and event.base is event.base.function.self_param
                    and event.base.function.name in {"__init__", "__post_init__", "setup"}
                )
            )
        return self._loose

    def elements(self, container: Bound, seen: set[Bound] | None = None) -> Iterator[Bound]:
        """Yield the values that a container may hold."""
        seen = set() if seen is None else seen
        container = self.resolve(container)
        if container in seen or len(seen) > 200:
            return
        seen.add(container)
        value = container.value
        if isinstance(value, Sequence):
            for item in value.items:
                if isinstance(item, Star):
                    yield from self.elements(self.with_value(container, item.value), seen)
                else:
                    yield self.with_value(container, item)
        elif isinstance(value, Mapping):
            for key, item in value.items:
                if key is None:
                    yield from self.elements(self.with_value(container, item), seen)
                else:
                    yield self.with_value(container, item)
        elif isinstance(value, Comprehension):
            yield self.with_value(container, value.element)
        elif isinstance(value, Changed):
            yield from self.elements(self.with_value(container, value.before), seen)
            yield self.with_value(container, value.value)
        elif isinstance(value, Choice):
            for option in value.options:
                yield from self.elements(self.with_value(container, option), seen)
        elif isinstance(value, Loop):
            for way in (value.before, value.again):
                if way is not None:
                    yield from self.elements(self.with_value(container, way), seen)
        elif isinstance(value, Part):
            for element in self.elements(value.of, seen):
                yield self.part(value.site, element, container.frame)
        elif isinstance(value, Param) and container.frame is not None and container.frame.site is None:
            for frame in self.entries(value.function):
                argument = self.argument(frame, value.name)
                if argument is not None:
                    yield from self.elements(argument, seen)
        elif isinstance(value, Attr):
            for field in self.field(Bound(value.base, container.frame, container.stale), value.name):
                yield from self.elements(field, seen)
        elif isinstance(value, Call):
            for invoked, frame in self.invoked(container) if not self.callee_name(container) else []:
                for result in invoked.function.returns:
                    yield from self.elements(Bound(result, frame), seen)
        elif isinstance(value, Indexed | Round):
            for inner in self.elements(self.with_value(container, value.base), seen):
                yield from self.elements(inner, seen)


def _nothing(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


def _exclusive(function: ast.AST, nodes: list[ast.AST]) -> bool:
    """Say whether at most one of some nodes of a function runs, and that once."""
    ways = [_way(function, node) for node in nodes]
    if any(way is None for way in ways):
        return False
    for index, one in enumerate(ways):
        for other in ways[:index]:
            assert one is not None
            assert other is not None
            fork = next((a, b) for a, b in zip(one, other, strict=False) if a != b)
            if fork[0][0] is not fork[1][0] or not isinstance(fork[0][0], ast.If | ast.IfExp):
                return False
    return True


def _way(function: ast.AST, wanted: ast.AST) -> list[tuple[ast.AST, str]] | None:
    """Return the branches that lead to a node, outermost first; None if it lies in a loop."""
    for name, value in ast.iter_fields(function):
        children = value if isinstance(value, list) else [value]
        for child in children:
            if child is wanted:
                return [(function, name), (child, "")]
            if isinstance(child, ast.AST):
                below = _way(child, wanted)
                if below is not None:
                    return [(function, name), *below] if not isinstance(function, _LOOPS) else None
    return None


_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def _line(node: ast.AST | None) -> int:
    """Return the line of a node, also of the loop of a comprehension; 0 if it has none."""
    if isinstance(node, ast.comprehension):
        node = node.target
    return getattr(node, "lineno", 0)
