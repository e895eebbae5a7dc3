"""Where optimizers are made, and which of them a value may be."""

from __future__ import annotations

from dataclasses import dataclass

from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Indexed, Part, Round
from codemods.nnx.values import Attr, Call, Changed, Choice, Class, Item, Loop, Param, Ref, Value

OLD = "flax.nnx.Optimizer"
COMPATIBLE = "flax.nnx.ModelAndOptimizer"


@dataclass(frozen=True, eq=False)
class Constructor:
    """A call that makes an optimizer.

    Attributes:
        event: the call.
        kind: the class that is called: :data:`OLD`, :data:`COMPATIBLE` or, for a subclass, the one it derives from.
        cls: the project's subclass.
        partial: the ``functools.partial`` that holds some of the arguments.
    """

    event: CallEvent
    kind: str
    cls: ClassFacts | None = None
    partial: Call | None = None


class Origins:
    """Finds the constructors of a project's optimizers and follows values back to them."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.constructors: dict[Value, Constructor] = {}
        for event in flow.project.calls():
            constructor = self._constructor(event)
            if constructor is not None:
                self.constructors[event.value] = constructor
        self._known: dict[object, frozenset[Constructor | Param]] = {}
        self._running: set[object] = set()
        self._level = 0

    def _constructor(self, event: CallEvent) -> Constructor | None:
        call = self.flow.here(event.value, event.scope)
        callee = self.flow.follow(call, event.value.callee)
        return self._made_by(event, callee)

    def _made_by(self, event: CallEvent, callee: Bound) -> Constructor | None:
        value = callee.value
        while isinstance(value, Indexed | Item):  # nnx.Optimizer[Model](...)
            value = value.base
        if isinstance(value, Ref):
            return Constructor(event, value.name) if value.name in {OLD, COMPATIBLE} else None
        if isinstance(value, Class):
            kind = self.optimizer_base(value.facts)
            return Constructor(event, kind, value.facts) if kind else None
        if isinstance(value, Call) and value.args and self.flow.wrapper_name(callee, value) == "functools.partial":
            inner = self._made_by(event, self.flow.follow(callee, value.args[0]))
            return Constructor(event, inner.kind, inner.cls, value) if inner else None
        if isinstance(value, Choice):
            made = [self._made_by(event, self.flow.follow(callee, o)) for o in value.options]
            return made[0] if made and all(made) else None
        return None

    def optimizer_base(self, cls: ClassFacts) -> str:
        """Return the class of Flax that a project's class derives its optimizer from; empty if it is none."""
        names = self.flow.mro(cls)[1]
        return OLD if OLD in names else COMPATIBLE if COMPATIBLE in names else ""

    def of(self, bound: Bound) -> frozenset[Constructor | Param]:
        """Return the constructors that a value may come from.

        A parameter stands for an optimizer from outside the project that an annotation promises.
        """
        bound = self.flow.resolve(bound)
        key = (bound, self.flow.assumptions)
        if key in self._known:
            return self._known[key]
        if key in self._running:
            return frozenset()
        outermost = not self._running
        self._running.add(key)
        found = frozenset(self._followed(bound))
        self._running.discard(key)
        if outermost:
            self._known[key] = found
        return found

    def _followed(self, bound: Bound) -> set[Constructor | Param]:
        """Follow what depends on an argument, such as a merged graph definition, into every caller."""
        param = self.flow.open_param(bound)
        if isinstance(bound.value, Param) or self._level > 4 or param is None:
            return self._of(bound)
        found: set[Constructor | Param] = set()
        settled = bool(frames := self.flow.settlements(param))
        self._level += 1
        for frame in frames:
            with self.flow.assuming(param.function, frame):
                settled = settled and not isinstance(self.flow.resolve(bound).value, Indexed)
                found |= self.of(bound)
        self._level -= 1
        # what is taken out of something unknown could be anything that is in it
        return found if settled else found | self._of(bound)

    def _of(self, bound: Bound) -> set[Constructor | Param]:
        flow, value = self.flow, bound.value
        found: set[Constructor | Param] = set()
        if value in self.constructors:
            found.add(self.constructors[value])
        elif isinstance(value, Param):
            found |= self._param(bound, value)
        elif isinstance(value, Choice):
            for option in value.options:
                found |= self.of(flow.with_value(bound, option))
        elif isinstance(value, Loop):
            for way in (value.before, value.again):
                if way is not None:
                    found |= self.of(flow.with_value(bound, way))
        elif isinstance(value, Changed):
            found |= self.of(flow.with_value(bound, value.before))
        elif isinstance(value, Indexed | Item | Round):
            for element in flow.elements(flow.with_value(bound, value.base)):
                found |= self.of(element)
        elif isinstance(value, Part):
            found |= self.of(value.of)
        elif isinstance(value, Attr):
            for field in flow.field(flow.with_value(bound, value.base), value.name):
                found |= self.of(field)
        elif isinstance(value, Call):
            # results that differ from way to way
            for callee, frame in flow.invoked(bound) if not flow.callee_name(bound) else []:
                if not callee.gradient:
                    for result in callee.function.returns:
                        found |= self.of(Bound(result, frame))
        return found

    def _param(self, bound: Bound, value: Param) -> set[Constructor | Param]:
        found: set[Constructor | Param] = set()
        frame = bound.frame
        if value is value.function.self_param:
            return found
        if frame is not None and frame.site is None:
            for entry in self.flow.entries(value.function):
                argument = self.flow.argument(entry, value.name)
                if argument is not None:
                    found |= self.of(argument)
        if not found:
            for kind in self.flow.annotated(value):
                if isinstance(kind.value, Ref) and kind.value.name == OLD:
                    found.add(value)
                elif isinstance(kind.value, Class) and self.optimizer_base(kind.value.facts) == OLD:
                    found.add(value)
        return found

    def contained(self, bound: Bound, depth: int = 0) -> frozenset[Constructor | Param]:
        """Return the constructors of a value and of what a container or object holds."""
        found = set(self.of(bound))
        if depth < 3 and not found:
            for element in self.flow.elements(bound):
                found |= self.contained(element, depth + 1)
            resolved = self.flow.resolve(bound)
            for name in self.fields(resolved):
                for field in self.flow.field(resolved, name):
                    found |= self.of(field)
        return frozenset(found)

    def fields(self, instance: Bound) -> list[str]:
        """Return the names of the attributes of an instance of a project's class."""
        cls = self.flow.class_of(instance)
        if cls is None:
            return []
        names: dict[str, None] = {}
        for parent in self.flow.mro(cls)[0]:
            names.update(dict.fromkeys(parent.fields))
            names.update(dict.fromkeys(parent.stores))
        return list(names)
