"""Where optimizers are made, and which of them a value may be."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.sources import Sources
from codemods.nnx.values import Attr, Call, Changed, Choice, Class, Item, Mapping, Param, Ref, Sequence, Value

OLD = "flax.nnx.Optimizer"
COMPATIBLE = "flax.nnx.ModelAndOptimizer"
_INSIDE = 300  # how many values in one are looked at for optimizers


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

    def __init__(self, flow: Flow, sources: Sources) -> None:
        self.flow = flow
        self.sources = sources
        self.constructors: dict[Value, Constructor] = {}
        self.may = flow.may.made_by({"Optimizer", "ModelAndOptimizer"})
        for event in flow.project.calls():
            if not self.may.may_make(event.value.callee):
                continue
            constructor = self._constructor(event)
            if constructor is not None:
                self.constructors[event.value] = constructor

    def _constructor(self, event: CallEvent) -> Constructor | None:
        call = self.flow.here(event.value, event.scope)
        callee = self.flow.follow(call, event.value.callee)
        return self._made_by(event, callee)

    def _made_by(self, event: CallEvent, callee: Bound, depth: int = 0) -> Constructor | None:
        value = callee.value
        table = self.table(callee)
        if table:
            return self._listed(event, table, depth)
        while isinstance(value, Indexed | Item):  # nnx.Optimizer[Model](...)
            value = value.base
        if isinstance(value, Ref):
            return Constructor(event, value.name) if value.name in {OLD, COMPATIBLE} else None
        if isinstance(value, Class):
            kind = self.optimizer_base(value.facts)
            return Constructor(event, kind, value.facts) if kind else None
        if (
            isinstance(value, Call)
            and value.args
            and self.flow.calls.wrapper_name(callee, value) == "functools.partial"
        ):
            inner = self._made_by(event, self.flow.follow(callee, value.args[0]), depth + 1)
            return Constructor(event, inner.kind, inner.cls, value) if inner else None
        ways: list[Bound] = []
        if isinstance(value, Choice):
            ways = [self.flow.follow(callee, option) for option in value.options]
        elif isinstance(value, Round):  # for make in (nnx.Optimizer, Own): make(...)
            ways = [
                self.flow.resolve(way)
                for way in self.flow.containers.elements(self.flow.with_value(callee, value.base))
            ]
        elif isinstance(value, Param) and depth < 3:
            return self._given(event, callee, value, depth)
        made = [self._made_by(event, way, depth + 1) for way in ways if depth < 5]
        return made[0] if made and all(made) else None

    def table(self, item: Bound) -> tuple[Bound, ...]:
        """Return what a dict, list or tuple holds that an item is taken of; nothing for what is none of these."""
        value = item.value
        base: Value | None = value.base if isinstance(value, Indexed | Item) else None
        if isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name == "get":
            base = value.callee.base
        if base is None:
            return ()
        held = self.flow.follow(item, base)
        return self.flow.containers.elements(held) if isinstance(held.value, Mapping | Sequence | Changed) else ()

    def chosen(self, event: CallEvent) -> bool:
        """Say whether the class that is called is an item of a table."""
        node, module = event.node.func, event.scope.module
        if isinstance(node, ast.Subscript | ast.Call):
            value = module.values.get(node)
            if isinstance(value, Call):
                return bool(self.table(self.flow.here(value, event.scope)))
            held = module.values.get(node.value) if isinstance(node, ast.Subscript) else None
            found = self.flow.resolve(self.flow.here(held, event.scope)).value if held is not None else None
            return isinstance(found, Mapping | Sequence | Changed)
        return bool(self.table(self.flow.follow(self.flow.here(event.value, event.scope), event.value.callee)))

    def _listed(self, event: CallEvent, table: tuple[Bound, ...], depth: int) -> Constructor | None:
        """Return what an item of a table makes whose every item is the class itself, or one partial of it."""
        made = [self._made_by(event, self.flow.resolve(way), depth + 1) for way in table] if depth < 5 else []
        first = made[0] if made else None
        if first is None or any(
            one is None or one.kind != first.kind or one.cls is not None or one.partial is not first.partial
            for one in made
        ):
            return None
        return first

    def _given(self, event: CallEvent, callee: Bound, param: Param, depth: int) -> Constructor | None:
        """Return what a parameter makes that is the class itself, or one partial of it, whoever calls the function."""
        ways = list(self.sources.of(callee) - {callee})
        default, outer = param.function.defaults.get(param.name), param.function.scope.parent
        if not ways and default is not None and outer is not None:
            ways = [self.flow.resolve(self.flow.here(default, outer))]
        made = [self._made_by(event, way, depth + 1) for way in ways]
        first = made[0] if made else None
        if first is None or any(one is None or one.kind != first.kind or one.cls is not None for one in made):
            return None
        return first if all(one is not None and one.partial is first.partial for one in made) else None

    def optimizer_base(self, cls: ClassFacts) -> str:
        """Return the class of Flax that a project's class derives its optimizer from; empty if it is none.

        Of both, as in ``nnx.ModelAndOptimizer if hasattr(...) else nnx.Optimizer``, it has the one that is new.
        """
        names = self.flow.classes.mro(cls)[1]
        return COMPATIBLE if COMPATIBLE in names else OLD if OLD in names else ""

    def of(self, bound: Bound) -> frozenset[Constructor | Param]:
        """Return the constructors that a value may come from.

        A parameter stands for an optimizer from outside the project that an annotation promises.
        """
        found: set[Constructor | Param] = set()
        if not self.may.may_be(bound.value):
            return frozenset()
        for source in self.sources.originals(bound):
            value = source.value
            if value in self.constructors:
                found.add(self.constructors[value])
            elif isinstance(value, Param) and self._promised(value):
                found.add(value)
        return frozenset(found)

    def _promised(self, param: Param) -> bool:
        """Say whether an annotation promises an optimizer."""
        for kind in self.flow.classes.annotated(param):
            if isinstance(kind.value, Ref) and kind.value.name == OLD:
                return True
            if isinstance(kind.value, Class) and self.optimizer_base(kind.value.facts) == OLD:
                return True
        return False

    def contained(self, bound: Bound) -> frozenset[Constructor | Param]:
        """Return the constructors of a value and of what a container or object holds."""
        found: set[Constructor | Param] = set()
        seen: set[Bound] = set()
        todo = [(bound, 0)]
        while todo:
            inner, depth = todo.pop()
            if not self.may.may_hold(inner.value):
                continue
            resolved = self.flow.resolve(inner)
            if resolved in seen or len(seen) > _INSIDE:
                continue
            seen.add(resolved)
            mine = self.of(resolved)
            found |= mine
            if depth < 3 and not mine:
                todo += [(element, depth + 1) for element in self.flow.containers.elements(resolved)]
                for name in self.fields(resolved):
                    if self.may.field_may_be(name):
                        for field in self.flow.fields.field(resolved, name):
                            found |= self.of(field)
        return frozenset(found)

    def fields(self, instance: Bound) -> list[str]:
        """Return the names of the attributes of an instance of a project's class."""
        cls = self.flow.classes.class_of(instance)
        if cls is None:
            return []
        names: dict[str, None] = {}
        for parent in self.flow.classes.mro(cls)[0]:
            names.update(dict.fromkeys(parent.fields))
            names.update(dict.fromkeys(parent.stores))
        return list(names)
