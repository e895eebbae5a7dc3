"""Value flow through a project: what a value is, where it comes from, whether two are the same object.

Values are followed on demand through assignments, unpacking, calls and their results, closures, fields of the project's
classes, containers, imports, ``nnx.split``/``nnx.merge`` and the transforms of NNX and JAX.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.flow.answers import Known
from codemods.nnx.flow.assumptions import Assuming, Assumptions
from codemods.nnx.flow.callers import CallSites
from codemods.nnx.flow.calls import Calls
from codemods.nnx.flow.classes import Classes, is_none
from codemods.nnx.flow.containers import Containers
from codemods.nnx.flow.fields import Fields
from codemods.nnx.flow.identity import Identity
from codemods.nnx.flow.moments import Moments
from codemods.nnx.flow.questions import Questions
from codemods.nnx.flow.variables import Variables
from codemods.nnx.frames import Bound, Frame, Indexed, Moment, Part, Round, both
from codemods.nnx.known import canonical
from codemods.nnx.may import May
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
    Unknown,
    Value,
)

#: Makes a value in an activation without a call of its constructor: hundreds of thousands are made.
_bound = tuple.__new__
# what is already where it was made
_MADE = frozenset({Const, Ref, Sequence, Mapping, Comprehension, Function, Class, Unknown, Changed, Part})


_COPIES = 20  # how many copies of copies are told apart
_MAKING = frozenset({"flax.nnx.merge", "flax.nnx.clone", "copy.deepcopy"})  # what makes new objects, in tuples as well


class Flow:
    """Answers questions about the values of one project: itself where a value comes from, its parts the others.

    Attributes:
        project: the modules.
        sites: who calls a function, and with what.
        moments: when a variable or attribute was read that holds different objects at different times.
        identity: whether two values are the same object.
        fields: what attributes of instances hold.
        classes: what a value is an instance of, parents and methods.
        calls: what a call reaches, and what it gives.
        containers: items and elements.
        variables: what names refer to.
        questions: how far a question may go.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.assumptions = Assumptions()
        self.sites = CallSites(self)
        self.moments = Moments(self)
        self.identity = Identity(self)
        self.fields = Fields(self)
        self.classes = Classes(self)
        self.calls = Calls(self)
        self.containers = Containers(self)
        self.variables = Variables(self)
        self._open: dict[Scope | None, Frame | None] = {}
        self._frames: dict[tuple[object, ...], Frame] = {}
        self._parts: dict[tuple[object, ...], Part] = {}
        self._may: May | None = None
        self.questions = Questions(project, self.assumptions)
        self.answers = Known(self.assumptions)
        self._resolved = self.answers.resolved
        self.library: dict[Value, Bound] = {}  # what globals, and attributes of them, are that stand for library names
        self._follow = self._steps()

    @property
    def may(self) -> May:
        """What may flow where; asked before anything that is dear to follow."""
        if self._may is None:
            self._may = May(self.project)
        return self._may

    # -- frames -------------------------------------------------------------------------------------

    def open_frame(self, scope: Scope | None) -> Frame | None:
        """Return the activation of the function around a scope whose caller is not known."""
        if scope in self._open:
            return self._open[scope]
        function = enclosing_function(scope)
        frame = None
        if function is not None and function.scope is not scope:
            frame = self.open_frame(function.scope)
        elif function is not None:
            frame = Frame(function, closure=self.open_frame(function.scope.parent))
        self._open[scope] = frame
        return frame

    def here(self, value: Value, scope: Scope) -> Bound:
        """Return a value of a scope in an activation whose caller is not known."""
        return Bound(value, self.open_frame(scope))

    def frame(
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
        if isinstance(of.value, Part) and of.value.depth >= _COPIES:
            return of  # a function that copies what it is given and hands it to itself has no end
        key = (site, of, frame)
        if key not in self._parts:
            self._parts[key] = Part(site, of)
        return Bound(self._parts[key], frame)

    def assuming(self, function: FunctionFacts, frame: Frame) -> Assuming:
        """Take the open frame of a function for one made by a known call."""
        return self.assumptions.assuming(function, frame)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Ask what holds everywhere in the midst of another question, and of what that assumes."""
        with self.assumptions.none(), self.questions.apart():
            yield

    @contextmanager
    def provisional(self) -> Iterator[None]:
        """Learn something that answers may depend on; what was found meanwhile and does is dropped in the end."""
        settled, self.assumptions.settled = self.assumptions.settled, False
        try:
            yield
        finally:
            self.assumptions.settled = settled
            self.forget()

    def forget(self) -> None:
        """Drop the answers found so far that are provisional, after more was learnt."""
        self.answers.forget()
        self.sites.forget()

    # -- resolving ----------------------------------------------------------------------------------

    def resolve(self, bound: Bound) -> Bound:
        """Follow a value to where it was made, as far as that is the same on every way."""
        value = bound[0]
        kind = type(value)
        if kind in _MADE:
            return bound
        # no calls up to here: this is asked more often than all else together
        shared = (kind is Attr or kind is Free) and value.of_global  # type: ignore[attr-defined]
        if shared:
            library = self.library.get(value)
            if library is not None:
                return library
        known = self._resolved.kept.get(bound)
        if known is not None:
            if known.asked:
                known = known.under(self.assumptions)
            if known is not None:
                return known.value
        if self.questions.tired() or self.questions.under_way(bound):
            return bound
        outer = self.questions.begin(bound)
        try:
            step = self._follow.get(kind)
            result = step(bound, value) if step is not None else bound
        finally:
            asked = self.questions.end(bound, outer)
        if asked is not None:
            # a library name is the same in every activation and at every time
            if shared and type(result.value) is Ref and not asked:
                self.library[value] = result
            else:
                self._resolved.keep(bound, result, asked)
        return result

    def _steps(self) -> dict[type[Value], Callable[[Bound, Any], Bound]]:
        """Return how a value of each kind is followed one step."""
        return {
            Param: self._param,
            Free: self.variables.free,
            Attr: self._attr,
            Call: self.calls.result,
            Item: self._item,
            Each: self._each,
            Indexed: self._indexed,
            Round: self._round,
            ModuleRef: self._module,
            Choice: self._choice,
            Either: self._choice,
            Loop: self._loop,
            Assigned: self._assigned,
        }

    def with_value(self, bound: Bound, value: Value) -> Bound:
        """Return another value of the same activation."""
        return _bound(Bound, (value, bound.frame, bound.stale))

    def follow(self, bound: Bound, value: Value) -> Bound:
        """Resolve another value of the same activation."""
        return self.resolve(_bound(Bound, (value, bound.frame, bound.stale)))

    def _indexed(self, bound: Bound, value: Indexed) -> Bound:
        return self.containers.item(self.follow(bound, value.base), self.resolve(value.index))

    def _assigned(self, bound: Bound, value: Assigned) -> Bound:
        return self.resolve(Bound(value.value, self.open_frame(value.scope), bound.stale))

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
            assumed = self.assumptions.frame(value.function)
            if assumed is not None and assumed is not frame:
                frame = assumed
            elif frame.receiver is not None and self.assumptions.any():
                frame = self.fields.constructed(frame)
        argument = self.argument(frame, value.name)
        if argument is not None:
            return self.resolve(Bound(argument.value, argument.frame, both(argument.stale, bound.stale)))
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
            found = self.variables.export(module, value.name) if module is not None else None
            if found is None and module is not None and inner.name == module.name and isinstance(value.base, ModuleRef):
                other = self.project.find(f"{value.base.name}.{value.name}", value.base.importer)
                found = Bound(ModuleRef(other.name)) if other is not None else None
            return found or self.with_value(bound, value)
        if isinstance(inner, Part):
            return self.part(inner.site, self.follow(inner.of, Attr(inner.of.value, value.name)), base.frame)
        if isinstance(inner, Class):
            held = self.classes.class_attribute(inner.facts, value.name)
            return self.resolve(held) if held is not None else Bound(Attr(inner, value.name), base.frame, base.stale)
        fields = [f for f in self.fields.field(base, value.name) if not is_none(f.value)]
        moments = self.moments.of_attribute(base, value.name, bound) if fields else frozenset()
        if fields:
            first = self.resolve(self.at(fields[0], moments))
            if len(fields) == 1 or all(self.identity.same(first, self.at(other, moments)) for other in fields[1:]):
                return first
        return Bound(Attr(inner, value.name), base.frame, both(base.stale, moments))

    def at(self, bound: Bound, moments: frozenset[Moment]) -> Bound:
        return Bound(bound.value, bound.frame, both(bound.stale, moments)) if moments else bound

    def _item(self, bound: Bound, value: Item) -> Bound:
        base = self.follow(bound, value.base)
        index = self.follow(bound, value.index)
        found = self.containers.item(base, index)
        site = value.base
        while isinstance(site, Item):
            site = site.base
        if isinstance(found.value, Part) and self.calls.callee_name(self.with_value(bound, site)) in _MAKING:
            return found  # what is made at this very place is no argument that came back
        return self.calls.returned(found, site)

    def _each(self, bound: Bound, value: Each) -> Bound:
        return self._round(bound, Round(value.base, value.loop, bound.frame))

    def _round(self, bound: Bound, value: Round) -> Bound:
        base = self.follow(bound, value.base)
        if isinstance(base.value, Part):
            inner = base.value
            of = self.follow(inner.of, Round(inner.of.value, value.loop, value.frame))
            return self.part(inner.site, of, base.frame)
        return Bound(Round(base.value, value.loop, value.frame), base.frame, both(base.stale, bound.stale))

    def _choice(self, bound: Bound, value: Choice) -> Bound:
        options = [o for o in value.options if not (isinstance(o, Const) and o.value is None)]
        if not options:
            return Bound(Const(None))
        first = self.follow(bound, options[0])
        if len(options) == 1:
            return first
        if all(self.identity.same(first, self.with_value(bound, other)) for other in options[1:]):
            return first
        return bound

    def _loop(self, bound: Bound, value: Loop) -> Bound:
        before = self.follow(bound, value.before)
        if value.again is None or value.again is value:
            return before
        key = ("loop", bound)
        if self.questions.under_way(key):
            return bound
        with self.questions.asking(key):
            again = self.resolve(self.older(bound, value.again, value.node))
        if isinstance(value.before, Const) and value.before.value is None:
            return again if again.value is not value else bound
        if again.value is value:
            return before
        if (
            again.value is before.value
            and again.frame is before.frame
            and self.identity.stale(again) == self.identity.stale(before)
        ):
            return before
        return bound

    def older(self, bound: Bound, value: Value, loop: ast.AST) -> Bound:
        """Return a value of the round before the current one of a loop."""
        return Bound(value, bound.frame, bound.stale | {loop})
