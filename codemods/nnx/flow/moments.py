"""When a variable or attribute is read, where it may hold different objects at different times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods.nnx.facts import AttrEvent, ClassFacts, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.flow.branches import exclusive
from codemods.nnx.frames import Bound, Moment
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import (
    Assigned,
    Call,
    Changed,
    Class,
    Const,
    Either,
    Function,
    ModuleRef,
    Param,
    Ref,
    Value,
)

if TYPE_CHECKING:
    from codemods.nnx.flow.flow import Flow


def _of_self(base: Value) -> bool:
    """Say whether a value is the instance that a method is called on, which is no module."""
    return isinstance(base, Param) and base is base.function.self_param


class Moments:
    """Says whether a variable or attribute keeps its object, and if not, when it was read."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._attr_moments: dict[tuple[ClassFacts, bool, str], tuple[FunctionFacts | None, bool] | None] = {}
        self._loose: frozenset[str] | None = None
        self._elsewhere: dict[str, list[AttrEvent]] | None = None

    def of_variable(self, scope: Scope, name: str, held: Value, read: Bound) -> frozenset[Moment]:
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
        if self._elsewhere is None:
            self._elsewhere = {}
            for found, events in self.flow.fields.stores().items():
                others = [event for event in events if not _of_self(event.base)]
                if others:
                    self._elsewhere[found] = others
        for event in self._elsewhere.get(name, ()):
            base = self.flow.resolve(self.flow.here(event.base, event.scope)).value
            if isinstance(base, ModuleRef) and self.flow.project.find(base.name, base.importer) is module:
                return True
        return False

    def _runs_once(self, function: FunctionFacts, depth: int = 0) -> bool:
        """Say whether a function runs once at most, going by the calls of its name in the whole project."""
        sites = self.flow.sites.calls_of(function.name)
        if len(sites) != 1 or sites[0].loops or depth > 5:
            return False
        around = enclosing_function(sites[0].scope)
        if around is None:
            return True
        return around is not function and self._runs_once(around, depth + 1)

    def of_attribute(self, instance: Bound, name: str, read: Bound) -> frozenset[Moment]:
        """Return when an attribute was read, if it may hold different objects at different times."""
        cls = self.flow.classes.class_of(instance)
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
        family = set(self.flow.classes.mro(cls)[0])
        if not made:
            family.update(self.flow.classes.heirs(cls))
        outer = self.flow.fields.stores_from_outside(cls, name)
        events = [
            event
            for event in self.flow.fields.stores().get(name, ())
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
        if not exclusive(writer.node, [e.node for e in events]):
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
        init = self.flow.classes.method(cls, "__init__")
        seen: set[FunctionFacts] = set()
        while function.name == "__init__" and init is not None and init is not function and init not in seen:
            seen.add(init)
            event = self.flow.classes.super_constructor(init)
            if event is None or init.owner is None:
                return False
            init = next(
                (p.methods["__init__"] for p in self.flow.classes.mro(init.owner)[0][1:] if "__init__" in p.methods),
                None,
            )
        return init is function or function.name != "__init__"

    def reassigned(self) -> frozenset[str]:
        """Return the names of attributes that are assigned anywhere but by constructors to their own object."""
        if self._loose is None:
            self._loose = frozenset(
                event.node.attr
                for event in self.flow.project.attributes()
                if event.context == "store"
                and not (
                    isinstance(event.base, Param)
                    and event.base is event.base.function.self_param
                    and event.base.function.name in {"__init__", "__post_init__", "setup"}
                )
            )
        return self._loose
