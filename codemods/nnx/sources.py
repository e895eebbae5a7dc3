"""All places a value may come from, over every way through the project."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from codemods.nnx.flow import Flow
from codemods.nnx.flow.assumptions import Answers
from codemods.nnx.frames import Bound, Frame, Indexed, Part, Round, slices
from codemods.nnx.ordered import OrderedSet
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Choice,
    Class,
    Comprehension,
    Const,
    Function,
    Item,
    Loop,
    Mapping,
    Param,
    Ref,
    Sequence,
    Unknown,
    Value,
)

_DEPTH = 40  # how many values one is followed through: fields of objects that hold each other have no end
_STEPS = 1_000  # how many places one question may visit
_HASTE = 100  # how many once the project has had its share of steps
_COPIES = 50  # how many copies of copies are followed
_LEVELS = 4  # how many callers up an argument is followed where a value cannot be told without it

# what is a source itself, wherever it stands
_SOURCES = (Const, Sequence, Mapping, Comprehension, Function, Class, Ref, Unknown)


class _Useless(Exception):
    """A source was found that makes the whole answer useless."""


class Sources:
    """Answers where values may come from; the counterpart of :meth:`Flow.same`, which says what must be."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._known: Answers[Bound, OrderedSet[Bound]] = Answers(flow.assumptions)
        self._running: set[object] = set()
        self._steps = 0
        self._cut = 0  # how often an answer was cut short: by itself, or after too many steps
        self._level = 0
        self._serves: Callable[[Value], bool] | None = None  # what every source must be for the answer to be of use

    def all_of(self, bound: Bound, serves: Callable[[Value], bool]) -> OrderedSet[Bound] | None:
        """Return the values that a value may be, or None if one of them does not serve: no others are looked for then.

        Args:
            bound: the value.
            serves: says of a source whether it is of use, by what stands there alone.
        """
        outer, self._serves = self._serves, serves
        try:
            return self.of(bound)
        except _Useless:
            return None
        finally:
            self._serves = outer

    def _serve(self, found: Iterable[Bound]) -> None:
        if self._serves is not None and not all(self._serves(one.value) for one in found):
            raise _Useless

    def of(self, bound: Bound) -> OrderedSet[Bound]:
        """Return the values that a value may be: calls, displays, functions, parameters that no call fills.

        What ``nnx.merge`` or ``nnx.clone`` makes is a :class:`Part`.
        """
        bound = self.flow.resolve(bound)
        if isinstance(bound.value, _SOURCES):
            self._serve((bound,))
            return OrderedSet((bound,))
        known = self._known.find(bound)
        if known is not None:
            self._serve(known.value)
            return known.value
        key = (bound, self.flow.assumptions.all)
        if key in self._running:
            self._cut += 1
            return OrderedSet()
        outermost = not self._running
        self._steps = 1 if outermost else self._steps + 1
        limit = _HASTE if self.flow.questions.hasty else _STEPS
        if self._steps == limit + 1:
            self.flow.questions.unanswered += 1
        if self._steps > limit or len(self._running) > _DEPTH:
            self._cut += 1
            self._serve((bound,))
            return OrderedSet((bound,))
        cut = self._cut
        self._running.add(key)
        around = self.flow.assumptions.begin()
        try:
            with self.flow.questions.one_question():
                found = OrderedSet(self._followed(bound))
        except RecursionError:  # the field of a field of a field ... of one that holds its like
            if not outermost:
                raise
            self.flow.questions.unanswered += 1
            found = OrderedSet((bound,))
        finally:
            self._running.discard(key)
            asked = self.flow.assumptions.end(around)
        if outermost or (self._cut == cut and self.flow.questions.at_rest):
            self._known.keep(bound, found, asked)
        if bound in found:
            self._serve((bound,))  # the others were seen where they were found
        return found

    def _followed(self, bound: Bound) -> dict[Bound, None]:
        """Follow what depends on an argument, such as a merged graph definition, into every caller."""
        if isinstance(bound.value, Part) or (isinstance(bound.value, Call) and self.flow.calls.makes(bound)):
            return {bound: None}
        param = self.flow.sites.open_param(bound)
        if isinstance(bound.value, Param | Choice | Loop) or param is None or self._entered(bound):
            return self._of(bound)
        if self._level > _LEVELS:
            self.flow.assumptions.stand_on_all()  # with less assumed it would be followed
            return self._of(bound)
        if self._own(bound.value, param):
            found = self._of(bound)
            if found.keys() != {bound}:
                return found
        found = {}
        frames = self.flow.sites.settlements(param)
        settled = bool(frames)
        root = self._root(bound)
        unmoved = False  # whether there is a caller that leaves the value as it is
        self._level += 1
        try:
            for frame in frames:
                with self.flow.assuming(param.function, frame):
                    now = self.flow.resolve(bound)
                    settled = settled and not isinstance(now.value, Indexed)
                    # a part of one object is asked about once, however many callers leave that as it is
                    if now != bound or root is None or (isinstance(root, Param) and not unmoved):
                        found |= dict.fromkeys(self.of(now))
                    unmoved = unmoved or now == bound
            if unmoved and isinstance(root, Call):  # what is in an object may depend on callers in turn
                found |= self._of(bound)
        finally:
            self._level -= 1
        # what is taken out of something unknown could be anything that is in it
        return found if settled else found | self._of(bound)

    def _entered(self, bound: Bound) -> bool:
        """Say whether a call runs the same functions for all callers: some of the project, or none of it.

        What depends on the callers is then followed from what these functions return, and only where that does.
        """
        value = bound.value
        while isinstance(value, Item | Indexed):  # a part of what a call gives
            bound = self.flow.follow(bound, value.base)
            value = bound.value
        if not isinstance(value, Call) or self.flow.calls.callee_name(bound):
            return False
        callee = self.flow.follow(bound, value.callee)
        if isinstance(callee.value, Call):
            return False  # a transform or a partial application, which holds arguments
        param = self.flow.sites.open_param(callee)
        if param is None or self._own(callee.value, param):
            return True
        # a method of nothing that the project has, or that a library has functions for
        return isinstance(callee.value, Attr) and callee.value.name not in self.flow.calls.members

    def _root(self, bound: Bound) -> Param | Call | None:
        """Return what a value is a part of, if it would be another value were it another object; else None."""
        value = bound.value
        if not isinstance(value, Attr | Indexed | Item | Round):
            return None
        while isinstance(value, Attr | Indexed | Item | Round):
            bound = self.flow.follow(bound, value.base)
            value = bound.value
        if isinstance(value, Param) or (isinstance(value, Call) and self.flow.calls.makes(bound)):
            return value
        return None

    def _own(self, value: Value, param: Param) -> bool:
        """Say whether a value is an attribute of the instance of a class that nothing of the project derives from.

        What any of its instances holds is what its methods put there: there is no need to go through the instances.
        """
        return (
            isinstance(value, Attr)
            and value.base is param
            and param is param.function.self_param
            and param.function.owner is not None
            and self.flow.classes.heirs(param.function.owner) == (param.function.owner,)
        )

    def _of(self, bound: Bound) -> dict[Bound, None]:
        flow, value = self.flow, bound.value
        found: dict[Bound, None] = {}
        if isinstance(value, Param):
            found = self._param(bound, value)
        elif isinstance(value, Choice | Loop):
            ways: tuple[Value | None, ...] = value.options if isinstance(value, Choice) else (value.before, value.again)
            for way in ways:
                if way is not None:
                    found |= dict.fromkeys(self.of(flow.with_value(bound, way)))
        elif isinstance(value, Changed):
            found |= dict.fromkeys(self.of(flow.with_value(bound, value.before)))
        elif isinstance(value, Indexed | Item | Round):
            base = flow.with_value(bound, value.base)
            if isinstance(value, Round) and flow.containers.is_mapping(base):
                return {bound: None}  # a key
            if not isinstance(value, Round) and slices(value):
                return {bound: None}  # a list again, and none of its elements
            if self._is_gradient(base, value):
                return {bound: None}
            picked = self._picked(base, value)
            for element in picked or flow.containers.elements(base) or self._layers(base, value):
                found |= dict.fromkeys(self.of(element))
        elif isinstance(value, Attr):
            for field in flow.fields.field(flow.with_value(bound, value.base), value.name):
                found |= dict.fromkeys(self.of(field))
            if not found and flow.fields.records:
                for field in self._recorded(flow.with_value(bound, value.base), value.name):
                    found |= dict.fromkeys(self.of(field))
        elif isinstance(value, Call) and not flow.calls.callee_name(bound):
            # results that differ from way to way
            for callee, frame in flow.calls.invoked(bound):
                if not callee.gradient:
                    for result in callee.function.returns:
                        found |= dict.fromkeys(self.of(Bound(result, frame)))
        return found or {bound: None}

    def given(self, base: Bound, name: str) -> list[Bound]:
        """Return what a field of a record may have got where the record was made, if it may be one of several."""
        flow, record = self.flow, self.flow.resolve(base)
        cls = flow.classes.class_of(record) if isinstance(record.value, Choice | Loop | Indexed | Round) else None
        if cls is None or flow.classes.method(cls, "__init__") or name not in flow.classes.dataclass_fields(cls):
            return []
        made = [source for source in self._containers(record) if isinstance(source.value, Call)]
        return [field for source in made for field in flow.fields.field(source, name)]

    def _recorded(self, base: Bound, name: str) -> dict[Bound, None]:
        """Return what a field may be of a record whose class a call makes, if it may be one of several."""
        flow = self.flow
        if flow.classes.class_of(flow.resolve(base)) is not None:
            return {}
        found: dict[Bound, None] = {}
        seen: set[Bound] = set()
        pending = [base]
        while pending and len(seen) < _COPIES:
            for made in self._containers(pending.pop()):
                if made in seen:
                    continue
                seen.add(made)
                held, before = flow.fields.recorded(made, name)
                if held is not None:
                    found[held] = None
                if before is not None:
                    pending.append(before)
        return found

    def _is_gradient(self, base: Bound, value: Indexed | Item | Round) -> bool:
        """Say whether a part of what a gradient function gives is the gradient, not what its function returned."""
        made = self.flow.resolve(base)
        if isinstance(value, Round) or not isinstance(made.value, Call):
            return False
        index = self.flow.resolve(value.index) if isinstance(value, Indexed) else Bound(value.index)
        if not isinstance(index.value, Const) or index.value.value != int(self.flow.calls.gives_value(made)):
            return False
        return any(callee.gradient for callee, _ in self.flow.calls.invoked(made))

    def _picked(self, base: Bound, value: Indexed | Item | Round) -> list[Bound]:
        """Return what stands under a constant key in all displays that a container may be; empty if one is unknown."""
        flow, resolved = self.flow, self.flow.resolve(base)
        if isinstance(value, Round) or not isinstance(
            resolved.value, Round | Param | Indexed | Attr | Call | Choice | Loop
        ):
            return []
        index = flow.resolve(value.index) if isinstance(value, Indexed) else Bound(value.index)
        if not isinstance(index.value, Const):
            return []
        found: list[Bound] = []
        for way in self._containers(resolved):
            item = flow.containers.item(way, index) if isinstance(way.value, Mapping | Sequence) else None
            if item is None or (isinstance(item.value, Indexed) and item.value.base is way.value):
                return []  # what stands there is not known
            found.append(item)
        return found

    def _containers(self, bound: Bound) -> OrderedSet[Bound]:
        """Return what a container may be, of which nothing is asked."""
        outer, self._serves = self._serves, None
        try:
            return self.originals(bound)
        finally:
            self._serves = outer

    def _layers(self, base: Bound, value: Indexed | Item | Round) -> list[Bound]:
        """Return what ``nnx.Sequential(...).layers[0]`` may be: the layer that it was given."""
        flow, resolved = self.flow, self.flow.resolve(base)
        index = flow.resolve(value.index).value if isinstance(value, Indexed) else getattr(value, "index", None)
        number = index.value if isinstance(index, Const) else None
        if not isinstance(resolved.value, Attr) or resolved.value.name != "layers" or not isinstance(number, int):
            return []
        found: list[Bound] = []
        for made in self._containers(flow.with_value(resolved, resolved.value.base)):
            call = made.value
            if not isinstance(call, Call) or flow.calls.callee_name(made) != "flax.nnx.Sequential" or call.starred:
                continue
            if -len(call.args) <= number < len(call.args):
                found.append(flow.with_value(made, call.args[number]))
        return found

    def _param(self, bound: Bound, value: Param) -> dict[Bound, None]:
        found: dict[Bound, None] = {}
        frame: Frame | None = bound.frame
        if value is not value.function.self_param and frame is not None and frame.site is None:
            for entry in self.flow.sites.entries(value.function):
                argument = self.flow.argument(entry, value.name)
                if argument is not None:
                    found |= dict.fromkeys(self.of(argument))
        return found

    def originals(self, bound: Bound) -> OrderedSet[Bound]:
        """Return the sources with copies replaced by what they are copies of."""
        found: dict[Bound, None] = {}
        seen: set[Value] = set()
        pending = [bound]
        while pending:
            for source in self.of(pending.pop()):
                if not isinstance(source.value, Part):
                    found[source] = None
                elif source.value not in seen and len(seen) < _COPIES:
                    seen.add(source.value)
                    pending.append(source.value.of)
        return OrderedSet(found)
