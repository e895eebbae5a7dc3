"""Every use of ``nnx.split_rngs`` in a project, and the objects that each one splits."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Frame
from codemods.nnx.rng.chains import SPLIT, Step, chain, decorators
from codemods.nnx.rng.filters import scalar_only
from codemods.nnx.rng.layouts import Layouts, Shape, Shapes
from codemods.nnx.values import Call, Class, Const, Function, Mapping, Param, Ref, Star, Value


@dataclass(frozen=True, eq=False)
class Split:
    """One place where streams are split.

    Attributes:
        options: the call that says how: ``nnx.split_rngs(splits=4)``, also behind a name, or the immediate call.
        node: the decorator, or the call that wraps a function or splits an object at once.
        scope: where ``node`` stands.
        decorated: the function, if ``node`` is a decorator.
        immediate: the event of a call that splits an object at once: a ``with`` block, or for ``restore_rngs``.
        shapes: the streams of everything that is split, and what else it may be.
    """

    options: CallEvent
    node: ast.expr
    scope: Scope
    shapes: Shapes
    decorated: FunctionFacts | None = None
    immediate: CallEvent | None = None


@dataclass(eq=False)
class _Use:
    """The calls that go through one application of a split, with the transforms inside of it."""

    calls: list[tuple[CallEvent, list[Step], list[Step]]] = field(default_factory=list)


class Splits:
    """Finds the splits of a project."""

    def __init__(self, flow: Flow, layouts: Layouts) -> None:
        self.flow = flow
        self.layouts = layouts
        self._options = self._collect()
        self._uses: dict[tuple[object, object], _Use] | None = None

    def _collect(self) -> dict[Value, CallEvent]:
        found: dict[Value, CallEvent] = {}
        for event in self.flow.project.calls():
            if not any(keyword.arg == "splits" for keyword in event.node.keywords):
                continue
            if self.flow.calls.name(event) == SPLIT:
                found[event.value] = event
        return found

    def all(self) -> Iterator[Split]:
        """Yield every split whose filter does not leave out split streams already."""
        if not self._options:
            return
        for options, event in self._options.items():
            only = event.value.keyword("only")
            if only is not None and scalar_only(self.flow.here(only, event.scope)):
                continue
            if event.value.args:
                shapes = self.layouts.of(self.flow.here(event.value.args[0], event.scope))
                yield Split(event, event.node, event.scope, shapes, immediate=event)
            else:
                yield from self._decorated(options, event)
                yield from self._inline(options, event)

    def _decorated(self, options: Value, event: CallEvent) -> Iterator[Split]:
        for function in self.flow.project.functions():
            outer = function.scope.parent
            if not function.decorators or outer is None:
                continue
            for node, value in zip(_decorator_list(function), function.decorators, strict=True):
                if self.flow.resolve(self.flow.here(value, outer)).value is options:
                    yield Split(event, node, outer, self._function_shapes(options, function), decorated=function)

    def _inline(self, options: Value, event: CallEvent) -> Iterator[Split]:
        for other in self.flow.project.calls():
            if other.value.args and not isinstance(other.value.callee, Ref):
                callee = self.flow.resolve(self.flow.here(other.value.callee, other.scope))
                if callee.value is options:
                    yield Split(event, other.node, other.scope, self._wrapped_shapes(other))

    # -- what is split --------------------------------------------------------------------------------

    def _function_shapes(self, options: Value, function: FunctionFacts) -> Shapes:
        steps = decorators(self.flow, function)
        if function.owner is not None:
            frames = self.flow.sites.entries(function)
            shapes: set[Shape] = set()
            for frame in frames:
                shapes |= self._frame_shapes(function, frame)
            return frozenset(shapes) if frames else self._open_shapes(function, steps)
        use = self._by_application().get((options, function))
        return self._call_shapes(use, function, steps) if use else self._open_shapes(function, steps)

    def _wrapped_shapes(self, application: CallEvent) -> Shapes:
        steps, inner = chain(self.flow, self.flow.here(application.value, application.scope))
        function = inner.value.facts if isinstance(inner.value, Function) else None
        use = self._by_application().get((application.value, None))
        if use is not None:
            return self._call_shapes(use, function, steps)
        return self._open_shapes(function, steps) if function is not None else frozenset()

    def _frame_shapes(self, function: FunctionFacts, frame: Frame) -> Shapes:
        """Return the streams of the arguments of a method; an instance that is being made holds none yet."""
        shapes: set[Shape] = set()
        if frame.receiver is not None and function.name != "__init__":
            shapes |= self.layouts.of(frame.receiver)
        names = [p for p in function.params.values() if p is not function.self_param]
        for index, argument in enumerate(frame.args):
            shapes |= self._argument(argument, names[index] if index < len(names) else None)
        for name, argument in frame.keywords.items():
            shapes |= self._argument(argument, function.params.get(name))
        return frozenset(shapes)

    def _call_shapes(self, use: _Use, function: FunctionFacts | None, steps: list[Step]) -> Shapes:
        shapes: set[Shape] = set()
        for event, outer, inner in use.calls:
            call = self.flow.here(event.value, event.scope)
            arguments = [
                *self._bound_before([*outer, *inner]),
                *(self.flow.with_value(call, a) for a in event.value.args),
            ]
            names = list(function.params.values()) if function is not None else []
            for index, argument in enumerate(arguments):
                if isinstance(argument.value, Star):
                    shapes |= self.layouts.of(self.flow.with_value(argument, argument.value.value))
                    continue
                found = self._argument(argument, names[index] if index < len(names) else None)
                shapes |= _settled(found, inner, self.flow, index)
            for name, value in event.value.keywords:
                parameter = function.params.get(name) if function is not None and name is not None else None
                shapes |= self._argument(self.flow.with_value(call, value), parameter)
        return frozenset(shapes)

    def _bound_before(self, steps: list[Step]) -> list[Bound]:
        """Return the arguments that ``functools.partial`` and ``nnx.cached_partial`` bind."""
        return [
            self.flow.with_value(step.options, value)
            for step in steps
            if step.name.endswith("partial") and step.applied is not None and step.options is not None
            for value in step.applied.args[1:]
        ]

    def _open_shapes(self, function: FunctionFacts, steps: list[Step]) -> Shapes:
        """Return what the parameters of a function that nothing in the project calls may hold."""
        shapes: set[Shape] = set()
        for index, param in enumerate(function.params.values()):
            if param is function.self_param and function.name == "__init__":
                continue
            found = self.layouts.of(self.flow.here(param, function.scope))
            shapes |= _settled(found, steps, self.flow, index)
        return frozenset(shapes)

    def _argument(self, argument: Bound, param: Param | None) -> Shapes:
        """Return the streams of an argument; one of which nothing is known is data if it is used as data."""
        shapes = self.layouts.of(argument)
        if Shape.UNKNOWN in shapes and param is not None and not self.layouts.object_like(param):
            shapes -= {Shape.UNKNOWN}
        return shapes

    def _by_application(self) -> dict[tuple[object, object], _Use]:
        """Group the calls of the project by the splits that they go through."""
        if self._uses is None:
            self._uses = {}
            for event in self.flow.project.calls():
                if event.value in self._options:
                    continue
                steps, inner = chain(self.flow, self.flow.here(event.value.callee, event.scope))
                facts = inner.value.facts if isinstance(inner.value, Function | Class) else None
                for index, step in enumerate(steps):
                    if step.name == SPLIT:
                        for key in ((step.transform, facts), (step.applied, None)):
                            use = self._uses.setdefault(key, _Use())
                            use.calls.append((event, steps[:index], steps[index + 1 :]))
        return self._uses


def _decorator_list(function: FunctionFacts) -> list[ast.expr]:
    return [] if isinstance(function.node, ast.Lambda) else function.node.decorator_list


def _settled(shapes: Shapes, steps: list[Step], flow: Flow, index: int) -> Shapes:
    """Take an object for one with scalar streams if its axes say that only its streams are mapped."""
    if Shape.UNKNOWN not in shapes:
        return shapes
    for step in steps:
        axes = step.option("in_axes")
        if axes is None:
            continue
        axes = flow.containers.item(flow.resolve(axes), Bound(Const(index)))
        if isinstance(axes.value, Call) and flow.calls.callee_name(axes) == "flax.nnx.StateAxes" and axes.value.args:
            mapping = flow.follow(axes, axes.value.args[0])
            if isinstance(mapping.value, Mapping) and _rest(flow, mapping, mapping.value):
                return shapes - {Shape.UNKNOWN} | {Shape.SCALAR}
    return shapes


def _rest(flow: Flow, place: Bound, mapping: Mapping) -> bool:
    """Say whether nothing but streams is mapped: the parameters are broadcast or carried, or left to other axes."""
    for key, axis in mapping.items:
        if isinstance(flow.follow(place, axis).value, Const) and flow.follow(place, axis).value != Const(None):
            name = flow.follow(place, key).value if key is not None else None
            streams = isinstance(name, Ref) and name.name in {"flax.nnx.RngState", "flax.nnx.RngKey"}
            if not streams and not (isinstance(name, Const) and isinstance(name.value, str)):
                return False
    return True
