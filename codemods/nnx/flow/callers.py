"""Who calls whom: the calls that reach a function, and what they settle about its parameters."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.flow.assumptions import DOUBT, EVERYTHING
from codemods.nnx.flow.calls import Callee
from codemods.nnx.frames import Bound, Frame, Indexed, Part, Round
from codemods.nnx.spellings import original
from codemods.nnx.values import (
    Attr,
    Call,
    Choice,
    Class,
    Item,
    Loop,
    Param,
    Value,
)

if TYPE_CHECKING:
    from codemods.nnx.flow.flow import Flow

# what may depend on an argument
_DEPENDING = (Param, Attr, Indexed, Round, Item, Part, Choice, Loop, Call)


class CallSites:
    """Finds the calls of the project that reach a function or make an instance of a class."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._callers: dict[FunctionFacts, list[CallEvent]] | None = None
        self._constructions: dict[ClassFacts, list[CallEvent]] | None = None
        self._entries: dict[FunctionFacts, tuple[list[Frame], bool]] = {}  # and whether they are provisional
        self._received: dict[FunctionFacts, list[Frame]] = {}
        self._sites: dict[str, list[CallEvent]] | None = None
        self._entering: set[FunctionFacts] = set()  # those whose activations are being found
        self._indexing = False  # whether callers are still being found

    def calls_of(self, name: str) -> list[CallEvent]:
        """Return every call in the project of something that is written with a last name."""
        if self._sites is None:
            self._sites = {}
            for event in self.flow.project.calls():
                called = event.node.func
                last = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                if isinstance(called, ast.Name):
                    last = original(event.scope.module.source, last)
                self._sites.setdefault(last, []).append(event)
        return self._sites.get(name, [])

    def _index(self) -> None:
        """Follow every call once, each in a question of its own: whoever asks first has not to pay for the others.

        Answers that lack callers would look like whole ones, so that those that ask for some meanwhile are dropped.
        """
        self._callers = {}
        self._constructions = {}
        with self.flow.provisional(), self.flow.apart():
            self._indexing = True
            for event in self.flow.project.calls():
                with self.flow.questions.one_question():
                    self._enter(event, self._callers, self._constructions)
            self._indexing = False

    def _enter(
        self,
        event: CallEvent,
        callers: dict[FunctionFacts, list[CallEvent]],
        constructions: dict[ClassFacts, list[CallEvent]],
    ) -> None:
        written = event.value.callee
        if isinstance(written, Attr) and written.name not in self.flow.calls.members:
            return  # a method of nothing that the project has
        call = self.flow.here(event.value, event.scope)
        callee = self._prepared(self.flow.follow(call, written))[0]
        if isinstance(callee.value, Class):
            constructions.setdefault(callee.value.facts, []).append(event)
            init = self.flow.classes.method(callee.value.facts, "__init__")
            if init is not None:
                callers.setdefault(init, []).append(event)
            return
        for function in dict.fromkeys(reached.function for reached in self.flow.calls.reached(call)):
            callers.setdefault(function, []).append(event)

    def forget(self) -> None:
        """Drop the activations found so far that are provisional."""
        self._entries = {function: known for function, known in self._entries.items() if not known[1]}

    def callers(self, function: FunctionFacts) -> list[CallEvent]:
        """Return every call in the project that reaches a function."""
        if self._callers is None:
            self._index()
        assert self._callers is not None
        if self._indexing:
            self.flow.assumptions.doubt()
        return self._callers.get(function, [])

    def constructions(self, cls: ClassFacts) -> list[CallEvent]:
        """Return every call that makes an instance of a class or of a class derived from it."""
        if self._constructions is None:
            self._index()
        assert self._constructions is not None
        if self._indexing:
            self.flow.assumptions.doubt()
        return [event for heir in self.flow.classes.heirs(cls) for event in self._constructions.get(heir, ())]

    def entries(self, function: FunctionFacts) -> list[Frame]:
        """Return the activations of a function that the project's calls make, whatever is assumed of the callers."""
        known = self._entries.get(function)
        if known is None:
            if function in self._entering:  # it hands itself parts of what it is given
                self.flow.assumptions.stand_on_all()
                return []
            self._entering.add(function)
            try:
                found, asked = self.flow.assumptions.noting(lambda: self._all_entered(function))
            finally:
                self._entering.discard(function)
            known = self._entries[function] = found, not asked.isdisjoint((DOUBT, EVERYTHING))
        elif known[1]:
            self.flow.assumptions.doubt()
        return known[0]

    def _all_entered(self, function: FunctionFacts) -> list[Frame]:
        events = self.callers(function)
        with self.flow.apart():
            return [frame for event in events for frame in self._entered(event, function)]

    def _entered(self, event: CallEvent, function: FunctionFacts) -> list[Frame]:
        call = self.flow.here(event.value, event.scope)
        with self.flow.questions.one_question():
            callee, args, keywords = self._prepared(self.flow.follow(call, event.value.callee))
            if isinstance(callee.value, Class):
                made = Callee(function, self.flow.open_frame(function.scope.parent), call, args, keywords)
                return [self.flow.calls.enter(made, call)]
            return [frame for invoked, frame in self.flow.calls.invoked(call) if invoked.function is function]

    def _prepared(self, callee: Bound) -> tuple[Bound, tuple[Bound, ...], tuple[tuple[str, Bound], ...]]:
        """Return a class to which ``functools.partial`` gave arguments, and these; what else is called as it is."""
        value = callee.value
        if not isinstance(value, Call) or not value.args or self.flow.calls.callee_name(callee) != "functools.partial":
            return callee, (), ()
        inner = self.flow.follow(callee, value.args[0])
        if not isinstance(inner.value, Class) or value.starred:
            return callee, (), ()
        args = tuple(self.flow.with_value(callee, one) for one in value.args[1:])
        return inner, args, tuple((k, self.flow.with_value(callee, v)) for k, v in value.keywords if k is not None)

    def received(self, function: FunctionFacts) -> list[Frame]:
        """Return activations of a method by the instances that the project makes of its class."""
        if function.owner is None:
            return []
        known = self._received.get(function)
        if known is None:
            closure = self.flow.open_frame(function.scope.parent)
            known = self._received[function] = [
                self.flow.frame(function, None, (), {}, closure, self.flow.here(event.value, event.scope))
                for event in self.constructions(function.owner)
            ]
        return known

    def open_param(self, bound: Bound, depth: int = 0) -> Param | None:
        """Return the parameter on which a value depends and whose argument is not settled; None if there is none."""
        if depth > 20 or not isinstance(bound.value, _DEPENDING):
            return None
        known, closed = self.flow.answers.opened, self.flow.answers.closed
        answer = known.find(bound)
        if answer is not None:
            return answer.value
        near = closed.find(bound)
        if near is not None and depth >= near.value:
            return None
        param, asked = self.flow.assumptions.noting(lambda: self._open_param(bound, depth))
        if param is not None or depth < 10:
            known.keep(bound, param, asked)
        else:  # the depth may have hidden one further in
            closed.keep(bound, depth, asked)
        return param

    def _open_param(self, bound: Bound, depth: int) -> Param | None:
        value = bound.value
        if isinstance(value, Param):
            frame = bound.frame
            if frame is not None and frame.site is None and not frame.args and not frame.keywords:
                if frame.receiver is not None and value is not frame.function.self_param:
                    inner = self.open_param(self.flow.resolve(frame.receiver), depth + 1)
                    if inner is not None:
                        return inner
                settled = self.flow.assumptions.frame(value.function)
                if settled is None or (settled.site is None and value is not value.function.self_param):
                    return value
            return None
        if isinstance(value, Attr | Indexed | Round | Item):
            return self.open_param(self.flow.follow(bound, value.base), depth + 1)
        if isinstance(value, Part):
            return self.open_param(self.flow.resolve(value.of), depth + 1)
        if isinstance(value, Choice):
            ways: tuple[Value, ...] = value.options
        elif isinstance(value, Loop):
            ways = (value.before,)
        elif isinstance(value, Call):
            ways = (value.callee,) if self.flow.calls.opaque(bound) else (value.callee, *value.args[:1])
        else:
            return None
        for way in ways:
            found = self.open_param(self.flow.follow(bound, way), depth + 1)
            if found is not None:
                return found
        return None

    def settlements(self, param: Param) -> list[Frame]:
        """Return the activations that the project makes of the function of an open parameter."""
        function = param.function
        return self.received(function) if param is function.self_param else self.entries(function)
