"""What is assumed of callers, and answers that are kept together with what they stand on.

An answer that was found while a caller of one function was assumed mostly says nothing about that function, and then
holds under all other assumptions too. So every question notes of which functions it asked whether a caller is assumed,
and its answer serves again wherever the same is assumed of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from codemods.nnx.facts import FunctionFacts
from codemods.nnx.frames import Frame

K = TypeVar("K")
V = TypeVar("V")

NOTHING: frozenset[object] = frozenset()
#: Stand for functions: whether anything is assumed, and all that is assumed.
ANYTHING = "anything"
EVERYTHING = "everything"
#: Stands for what is not known for good: callers that are being found, containers that may be changed elsewhere.
DOUBT = "doubt"
_EVERYTHING: frozenset[object] = frozenset((EVERYTHING,))
_DOUBT: frozenset[object] = frozenset((DOUBT,))
_MANY = 40  # from how many functions on an answer is taken to stand on all that is assumed


class Assumptions:
    """The activations that are taken for the open ones of their functions at present.

    Attributes:
        frames: the activation of each function of which one is assumed; further words stand for several of them.
        asked: the functions that the present question has asked about; None while nobody wants to know.
        all: the activations, as one key.
        settled: whether nothing is provisional any more.
    """

    def __init__(self) -> None:
        self.frames: dict[object, object] = {}
        self.asked: frozenset[object] | None = None
        self.all: frozenset[Frame] = frozenset()
        self.settled = False
        self._sets: dict[frozenset[object], frozenset[object]] = {}
        self._parts: dict[frozenset[object], frozenset[object]] = {}  # what is assumed of sets of functions

    def frame(self, function: FunctionFacts) -> Frame | None:
        """Return the activation that is assumed of a function."""
        if self.asked is not None and function not in self.asked:
            self.stand_on(frozenset((function,)))
        frame = self.frames.get(function)
        return frame if isinstance(frame, Frame) else None

    def any(self) -> bool:
        """Say whether anything is assumed."""
        if self.asked is not None and ANYTHING not in self.asked:
            self.stand_on(frozenset((ANYTHING,)))
        return bool(self.frames)

    def of(self, functions: frozenset[object]) -> frozenset[object]:
        """Return what is assumed of some functions."""
        if not self.frames or not functions:
            return NOTHING
        found = self._parts.get(functions)
        if found is None:
            found = frozenset([frame for function, frame in self.frames.items() if function in functions])
            self._parts[functions] = found
        return found

    def doubt(self) -> None:
        """Note that the present question depends on what may be otherwise later, if it may."""
        if not self.settled and self.asked is not None and DOUBT not in self.asked:
            self.stand_on(_DOUBT)

    def stand_on_all(self) -> None:
        """Note that the present question depends on all that is assumed, such as on how much that is."""
        if self.asked is not None:
            self.asked = _EVERYTHING

    def stand_on(self, functions: frozenset[object]) -> None:
        """Note what an answer stands on that the present question makes use of."""
        asked = self.asked
        if asked is None or asked is functions or functions <= asked or EVERYTHING in asked:
            return
        both = asked | functions
        self.asked = both if len(both) < _MANY and EVERYTHING not in both else _EVERYTHING

    def begin(self) -> frozenset[object] | None:
        """Begin a question; return what :meth:`end` takes."""
        outer = self.asked
        self.asked = NOTHING
        return outer

    def end(self, outer: frozenset[object] | None) -> frozenset[object]:
        """End a question; return what its answer stands on, which the one around it stands on too."""
        mine = self.asked
        assert mine is not None
        if mine:
            mine = self._sets.setdefault(mine, mine)
        self.asked = outer
        if outer is not None and mine:
            self.stand_on(mine)
        return mine

    def noting(self, ask: Callable[[], V]) -> tuple[V, frozenset[object]]:
        """Return the answer that a function finds to a question, and what that stands on."""
        around = self.begin()
        try:
            answer = ask()
        finally:
            asked = self.end(around)
        return answer, asked

    @contextmanager
    def assuming(self, function: FunctionFacts, frame: Frame) -> Iterator[None]:
        """Take an activation for the open one of its function."""
        saved, outer = (self.frames, self.all, self._parts), self.asked
        real = {one: made for one, made in self.frames.items() if isinstance(made, Frame)} | {function: frame}
        self.all = frozenset(real.values())
        self._parts = {}
        self.frames = {**real, ANYTHING: ANYTHING, EVERYTHING: self.all}
        if outer is not None:
            self.asked = NOTHING
        try:
            yield
        finally:
            mine = self.asked
            self.frames, self.all, self._parts = saved
            self.asked = outer
            if outer is not None and mine:
                self.stand_on(mine - {function, ANYTHING})  # that much is known here, whatever is assumed outside

    @contextmanager
    def none(self) -> Iterator[None]:
        """Assume nothing: what is found stands on nothing that is assumed outside."""
        saved = self.frames, self.all, self._parts, self.asked
        self.frames, self.all, self._parts, self.asked = {}, frozenset(), {}, None if self.settled else NOTHING
        try:
            yield
        finally:
            doubtful = self.asked is not None and not self.asked.isdisjoint((DOUBT, EVERYTHING))
            self.frames, self.all, self._parts, self.asked = saved
            if doubtful:
                self.doubt()


class Answer(Generic[V]):
    """An answer with what it stands on.

    Attributes:
        value: the answer.
    """

    __slots__ = ("_asked", "_frames", "_more", "_other", "value")

    def __init__(
        self, value: V, asked: frozenset[object], frames: frozenset[object], other: Answer[V] | None = None
    ) -> None:
        self.value = value
        self._asked = asked
        self._frames = frames  # what was assumed of the functions that were asked about
        self._more: dict[frozenset[object], Answer[V]] | None = None  # those that asked about the same ones
        self._other = other  # one that asked about other functions

    def under(self, assumptions: Assumptions) -> Answer[V] | None:
        """Return the one of several answers that holds under assumptions, on which the present question then stands."""
        answer: Answer[V] | None = self
        while answer is not None:
            if not answer._asked:
                return answer
            frames = assumptions.of(answer._asked)
            held: Answer[V] | None = None
            if frames == answer._frames:
                held = answer
            elif answer._more is not None:
                held = answer._more.get(frames)
            if held is not None:
                assumptions.stand_on(answer._asked)
                return held
            answer = answer._other
        return None

    def steady(self) -> Answer[V] | None:
        """Return those of several answers that are not provisional; None if all are."""
        rest = self._other.steady() if self._other is not None else None
        if not self._asked.isdisjoint((DOUBT, EVERYTHING)):
            return rest
        self._other = rest
        return self

    def add(self, value: V, asked: frozenset[object], frames: frozenset[object]) -> Answer[V]:
        """Note another answer to the same question; return what stands for all of them."""
        alike: Answer[V] | None = self
        while alike is not None and alike._asked != asked:
            alike = alike._other
        new = Answer(value, asked, frames, self if alike is None else None)
        if alike is None:
            return new
        if alike._more is None:
            alike._more = {}
        alike._more[frames] = new
        return self


class Answers(Generic[K, V]):
    """The settled answers to one kind of question."""

    __slots__ = ("_assumptions", "_kept")

    def __init__(self, assumptions: Assumptions) -> None:
        self._assumptions = assumptions
        self._kept: dict[K, Answer[V]] = {}

    def find(self, key: K) -> Answer[V] | None:
        """Return the answer that holds under what is assumed at present, which the present question then stands on."""
        answer = self._kept.get(key)
        return answer.under(self._assumptions) if answer is not None else None

    def forget(self) -> None:
        """Drop the answers that are provisional."""
        self._kept = {key: left for key, answer in self._kept.items() if (left := answer.steady()) is not None}

    def keep(self, key: K, value: V, asked: frozenset[object]) -> None:
        """Keep an answer that stands on what is assumed of some functions at present."""
        frames, known = self._assumptions.of(asked), self._kept.get(key)
        self._kept[key] = Answer(value, asked, frames) if known is None else known.add(value, asked, frames)
