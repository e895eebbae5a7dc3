"""What shape the random streams in an object have on Flax 0.11: scalar, or with an axis of their own."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property

from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Frame, Part
from codemods.nnx.kinds import Kind, class_kind
from codemods.nnx.known import CALLS_BODY
from codemods.nnx.patterns import pattern
from codemods.nnx.rng.chains import MAPS, SPLIT, Step, chain, decorators
from codemods.nnx.rng.filters import covers
from codemods.nnx.rng.layers import inherited, layer
from codemods.nnx.rng.plain import Plain
from codemods.nnx.sources import Sources
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Class,
    Comprehension,
    Const,
    Free,
    Function,
    Mapping,
    ModuleRef,
    Param,
    Ref,
    Sequence,
    Value,
)


class Shape(enum.Enum):
    """The shape of the streams in an object."""

    SCALAR = "scalar"
    VECTOR = "vector"  # with the axis of the transform in which the object was made
    UNKNOWN = "unknown"


Shapes = frozenset[Shape]
_NONE: Shapes = frozenset()
_SCALAR: Shapes = frozenset({Shape.SCALAR})
_VECTOR: Shapes = frozenset({Shape.VECTOR})
_UNKNOWN: Shapes = frozenset({Shape.UNKNOWN})

# How the code around runs: the steps of the innermost transform that maps it; empty outside of all; None if not known.
Ambient = tuple[Step, ...] | None

_CONTAINERS = frozenset(f"flax.nnx.{name}" for name in ("Sequential", "List", "Dict", "Pytree"))
_ARRAY_ATTRIBUTES = frozenset(
    {"shape", "ndim", "dtype", "size", "T", "mT", "at", "real", "imag", "reshape", "astype", "sum", "mean", "max",
     "min", "std", "var", "transpose", "swapaxes", "squeeze", "ravel", "flatten", "copy", "any", "all", "item",
     "tolist", "dot"}
)  # fmt: skip
_RNGS = (Ref("flax.nnx.Rngs"), Ref("flax.nnx.RngStream"))
_RNGS_NAME = pattern(r"(^|_)(rngs?|streams?)$")
_STEPS = 2_000  # how many values one question may look into: a recursion over objects makes ever new ones


class Layouts:
    """Answers what streams an object holds, from where and under which transforms it is made."""

    def __init__(self, flow: Flow, sources: Sources) -> None:
        self.flow = flow
        self.sources = sources
        self.plain = Plain(flow)
        self._known: dict[Bound, Shapes] = {}
        self._asked: dict[tuple[Bound, tuple[tuple[ClassFacts, Ambient], ...]], Shapes] = {}  # within one question
        self._depth = 0
        self._steps = 0
        self._assumed: dict[ClassFacts, tuple[Ambient, Bound]] = {}

    @cached_property
    def events(self) -> dict[Call, CallEvent]:
        """The event of every call of the project."""
        return {event.value: event for event in self.flow.project.calls()}

    @cached_property
    def lifted(self) -> dict[ClassFacts, list[tuple[CallEvent, list[Step]]]]:
        """Calls that make instances of a class under transforms, as ``nnx.vmap(Block)(rngs)``."""
        found: dict[ClassFacts, list[tuple[CallEvent, list[Step]]]] = {}
        for event in self.flow.project.calls():
            called = event.value.callee
            if isinstance(called, Attr) and (
                isinstance(called.base, ModuleRef) or called.name not in self.flow.calls.members
            ):
                continue
            steps, inner = chain(self.flow, self.flow.here(called, event.scope))
            if steps and isinstance(inner.value, Class):
                found.setdefault(inner.value.facts, []).append((event, steps))
        return found

    def of(self, bound: Bound) -> Shapes:
        """Return the shapes of the streams that a value may hold; empty if it holds none."""
        if bound in self._known and not self._assumed:
            return self._known[bound]
        key = (bound, tuple((cls, ambient) for cls, (ambient, _) in self._assumed.items()))
        if key in self._asked:
            return self._asked[key]
        self._steps = self._steps + 1 if self._depth else 0
        if self._steps == _STEPS:
            self.flow.questions.unanswered += 1
        if self._depth > 40 or self._steps >= _STEPS:
            return _NONE
        self._asked[key] = _NONE  # what holds itself adds nothing
        self._depth += 1
        found = self._together(self._source(source) for source in self.sources.of(bound))
        self._depth -= 1
        self._asked[key] = found
        if self._depth == 0:
            if not self._assumed and self._steps < _STEPS:
                self._settle(bound, found)
            self._asked.clear()
        return found

    def _settle(self, bound: Bound, found: Shapes) -> None:
        """Keep the answer to a whole question."""
        self._known[bound] = found

    def _together(self, ways: Iterable[Shapes]) -> Shapes:
        """Return what there is in any of several ways, or parts."""
        return frozenset(shape for shapes in ways for shape in shapes)

    def _source(self, source: Bound) -> Shapes:
        value = source.value
        if isinstance(value, Const | Function | Class | Ref | ModuleRef) or self.plain.data(source):
            return _NONE
        if isinstance(value, Part):
            return self.of(value.of)
        if isinstance(value, Sequence | Mapping | Comprehension | Changed):
            return self._together(self.of(element) for element in self.flow.containers.elements(source))
        if isinstance(value, Call):
            return self._made(source, value)
        if isinstance(value, Param):
            return self._param(source, value)
        return _UNKNOWN

    # -- what makes an object -------------------------------------------------------------------------

    def _made(self, source: Bound, value: Call) -> Shapes:
        flow = self.flow
        library = layer(flow, source)
        if library is not None:
            cells = [v for k in ("cell", "forward_rnn", "backward_rnn") if (v := value.keyword(k)) is not None]
            own = self._forked(library.stream, library.rngs, source.frame)
            if library.name in {"flax.nnx.Dropout", "flax.nnx.MultiHeadAttention"}:
                return own
            inside = (self.of(flow.with_value(source, v)) for v in (*value.args[:2], *cells))
            return self._together(itertools.chain((own,), inside))
        callee = flow.follow(source, value.callee)
        if isinstance(callee.value, Ref):
            return self._foreign(source, value, callee.value.name)
        if isinstance(callee.value, Class):
            return self._instance(callee.value.facts, source)
        if isinstance(callee.value, Attr) and callee.value.name in {"fork", "split"}:
            base = self.of(Bound(callee.value.base, callee.frame))
            return _VECTOR if base and (value.args or value.keywords) else base
        steps, inner = chain(flow, callee)
        if steps and isinstance(inner.value, Class):
            cls = inner.value.facts
            ambient = self._mapped(steps, source, self._scope(source))
            if ambient is None:
                return self._instance(cls, source)
            with self._assuming(cls, ambient, source):
                return self._class(cls)
        return _UNKNOWN

    def _foreign(self, source: Bound, value: Call, name: str) -> Shapes:
        if name in {"flax.nnx.Rngs", "flax.nnx.RngStream"}:
            around = self.ambients(source.frame)
            return frozenset(Shape.UNKNOWN if a is None else Shape.VECTOR if a else Shape.SCALAR for a in around)
        if name in _CONTAINERS:
            held = value.given
            return self._together(self.of(self.flow.with_value(source, v)) for v in held)
        if name.startswith("flax.nnx."):
            last = name.rpartition(".")[2]
            return _NONE if last[:1].isupper() and name.count(".") == 2 and last != "Module" else _UNKNOWN
        return _UNKNOWN

    def _forked(self, stream: str | None, rngs: Bound | None, frame: Frame | None) -> Shapes:
        """Return the shape of a stream that a layer forks where it is made."""
        found: set[Shape] = set()
        for ambient in self.ambients(frame):
            if ambient is None:
                found.add(Shape.UNKNOWN)
            elif not ambient:
                given = self.of(rngs) if rngs is not None else _SCALAR
                found |= _VECTOR if given == _VECTOR else _SCALAR
            else:
                found.add(self._split(ambient, stream))
        return frozenset(found)

    def _split(self, ambient: tuple[Step, ...], stream: str | None) -> Shape:
        """Return the shape of a stream forked inside a map: an axis, unless the split leaves that stream out."""
        splits = [step for step in ambient if step.name == SPLIT]
        verdicts = {covers(self.flow, step.option("only"), stream) for step in splits}
        if None in verdicts:
            return Shape.UNKNOWN
        return Shape.SCALAR if False in verdicts else Shape.VECTOR

    # -- classes of the project -----------------------------------------------------------------------

    def _instance(self, cls: ClassFacts, made: Bound) -> Shapes:
        """Return the streams of an instance that a direct call of its class makes."""
        fields = (value for name in self._fields(cls) for value in self.flow.fields.field(made, name))
        return self._together(itertools.chain((self._bases(cls, made.frame),), map(self.of, fields)))

    def _class(self, cls: ClassFacts) -> Shapes:
        """Return the streams of any instance of a class."""
        init = self.flow.classes.method(cls, "__init__")
        own = self._bases(cls, self.flow.open_frame(init.scope) if init else None)
        held = (
            self.of(Bound(stored, self.flow.open_frame(function.scope)))
            for parent in self.flow.classes.mro(cls)[0]
            for stores in parent.stores.values()
            for function, stored in stores
        )
        return self._together(itertools.chain((own,), held))

    def _fields(self, cls: ClassFacts) -> list[str]:
        names: dict[str, None] = {}
        for parent in self.flow.classes.mro(cls)[0]:
            names.update(dict.fromkeys(parent.stores))
            names.update(dict.fromkeys(parent.fields))
        return list(names)

    def _bases(self, cls: ClassFacts, frame: Frame | None) -> Shapes:
        """Return the streams that the foreign base classes of a class hold."""
        library = inherited(self.flow, cls)
        if library is not None:
            return (
                self._forked(None, None, frame)
                if library != "flax.nnx.Dropout"
                else self._forked("dropout", None, frame)
            )
        known = ("flax.nnx", "typing", "abc", "builtins", "dataclasses", "collections", "enum")
        strangers = [name for name in self.flow.classes.mro(cls)[1] if not name.startswith(known)]
        return _UNKNOWN if strangers else _NONE

    def any_instance(self, cls: ClassFacts) -> Shapes:
        """Return the streams of the instances of a class that the project makes."""
        found: set[Shape] = set()
        direct = self.flow.sites.constructions(cls)
        for event in direct:
            found |= self._instance(cls, self.flow.here(event.value, event.scope))
        lifted = self.lifted.get(cls, [])
        for event, steps in lifted:
            made = self.flow.here(event.value, event.scope)
            ambient = self._mapped(steps, made, event.scope)
            with self._assuming(cls, ambient, made):
                found |= self._class(cls)
        return frozenset(found) if direct or lifted else self._class(cls)

    @contextmanager
    def _assuming(self, cls: ClassFacts, ambient: Ambient, made: Bound) -> Iterator[None]:
        saved = self._assumed
        self._assumed = {**saved, cls: (ambient, made)}
        try:
            yield
        finally:
            self._assumed = saved

    # -- parameters -----------------------------------------------------------------------------------

    def _param(self, source: Bound, value: Param) -> Shapes:
        function = value.function
        if value is function.self_param and function.owner is not None:
            return self.any_instance(function.owner)
        if function.owner in self._assumed and function.name == "__init__":
            _, made = self._assumed[function.owner]
            assert isinstance(made.value, Call)
            names = list(function.params)[1:]
            given = made.value.argument(names.index(value.name), value.name) if value.name in names else None
            if given is not None:
                return self.of(self.flow.with_value(made, given))
        for named in self.flow.classes.annotated(value):
            if isinstance(named.value, Class):
                return self.any_instance(named.value.facts)
        if self.rngs_like(value):
            return _SCALAR
        classes = (found.value for found in self.flow.classes.annotated(value))
        module = any(isinstance(cls, Ref) and class_kind(cls.name) is Kind.MODULE for cls in classes)
        return _UNKNOWN if module or self.object_like(value) else _NONE

    def rngs_like(self, param: Param) -> bool:
        """Say whether a parameter is annotated as, used as or called like a Rngs."""
        if _RNGS_NAME.search(param.name) or any(b.value in _RNGS for b in self.flow.classes.annotated(param)):
            return True
        return any(event.value.keyword("rngs") is param for event in param.function.scope.module.calls)

    def object_like(self, param: Param) -> bool:
        """Say whether a parameter is called, or has attributes that no array has."""
        module = param.function.scope.module
        for event in module.calls:
            if _means(event.value.callee, param):
                return True
        return any(e.node.attr not in _ARRAY_ATTRIBUTES and _means(e.base, param) for e in module.attributes)

    # -- transforms around a place --------------------------------------------------------------------

    def ambients(self, frame: Frame | None, depth: int = 0) -> set[Ambient]:
        """Return how the code of an activation runs: once for each way in which it may be reached."""
        if frame is None:
            return {()}
        if depth > 12:
            return {None}
        function = frame.function
        if function.owner in self._assumed and function.name == "__init__":
            return {self._assumed[function.owner][0]}
        if function.owner is not None:
            own = self._mapped(decorators(self.flow, function), None, function.scope)
            if own:
                return {own}
        if isinstance(frame.site, Call) and frame.site in self.events:
            return self._around(self.events[frame.site], depth)
        return self._callers(function, frame, depth)

    def _callers(self, function: FunctionFacts, frame: Frame, depth: int) -> set[Ambient]:
        found: set[Ambient] = set()
        for event in self.flow.sites.callers(function):
            found |= self._around(event, depth)
        if function.owner is not None and function.name == "__init__":
            for event, steps in self.lifted.get(function.owner, []):
                found |= self._lift(steps, event, depth)
        if found:
            return found
        own = self._mapped(decorators(self.flow, function), None, function.scope)
        if own:
            return {own}
        if frame.closure is not None and not function.params:
            return self.ambients(frame.closure, depth + 1)
        return {None} if any(self.rngs_like(p) for p in function.params.values()) else {()}

    def _around(self, event: CallEvent, depth: int) -> set[Ambient]:
        steps, _ = chain(self.flow, self.flow.here(event.value.callee, event.scope))
        return self._lift(steps, event, depth)

    def _lift(self, steps: list[Step], event: CallEvent, depth: int) -> set[Ambient]:
        if self.flow.calls.name(event) in CALLS_BODY:
            return self.ambients(self.flow.open_frame(event.scope), depth + 1)
        mapped = self._mapped(steps, self.flow.here(event.value, event.scope), event.scope)
        return {mapped} if mapped else self.ambients(self.flow.open_frame(event.scope), depth + 1)

    def _mapped(self, steps: list[Step], made: Bound | None, scope: Scope | None) -> tuple[Step, ...] | None:
        """Return the steps that give what is made an axis, with the splits around them; None if none does."""
        if not any(step.name in MAPS for step in steps):
            return None
        kept = tuple(step for step in steps if step.name in MAPS or step.name == SPLIT)
        return (*kept, *self._blocks(made, scope)) if made is not None and scope is not None else kept

    def _blocks(self, made: Bound, scope: Scope) -> Iterator[Step]:
        """Yield the splits of a ``with`` block or statement that stands in the same scope."""
        for event in scope.module.calls:
            if event.scope is scope and event.node.args and any(k.arg == "splits" for k in event.node.keywords):
                call = self.flow.here(event.value, event.scope)
                if self.flow.calls.callee_name(call) == SPLIT and isinstance(made.value, Call):
                    split = self.flow.follow(call, event.value.args[0])
                    if any(self.flow.identity.same(split, self.flow.with_value(made, a)) for a in made.value.args):
                        yield Step(SPLIT, event.value, event.value, call)

    def _scope(self, source: Bound) -> Scope | None:
        event = self.events.get(source.value) if isinstance(source.value, Call) else None
        return event.scope if event is not None else None


def _means(value: Value, param: Param) -> bool:
    """Say whether a value is a parameter, as its function or one inside of it sees it."""
    return value is param or (
        isinstance(value, Free) and value.scope is param.function.scope and value.name == param.name
    )
