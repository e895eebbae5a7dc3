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
_NO_SIGNS: tuple[object, ...] = (None,)
_MANY = 40  # from how many functions on an answer is taken to stand on all that is assumed


class Assumptions:
    """The activations that are taken for the open ones of their functions at present.

    Attributes:
        frames: the activation of each function of which one is assumed; further words stand for several of them.
        asked: the functions that the present question has asked about; None while nobody wants to know.
        all: the activations, as one key.
        parts: what is assumed of sets of functions that were asked for.
        signs: what one of may have to be assumed for an answer to hold.
        settled: whether nothing is provisional any more.
    """

    def __init__(self) -> None:
        self.frames: dict[object, object] = {}
        self.asked: frozenset[object] | None = None
        self.all: frozenset[Frame] = frozenset()
        self.settled = False
        self._sets: dict[frozenset[object], frozenset[object]] = {}
        self.parts: dict[frozenset[object], frozenset[object]] = {}
        self.signs: tuple[object, ...] = _NO_SIGNS

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
        found = self.parts.get(functions)
        if found is None:
            # few are assumed, and many are asked about
            held = [made for function, made in self.frames.items() if function in functions]
            found = frozenset(held) if held else NOTHING
            self.parts[functions] = found = self._sets.setdefault(found, found)
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

    def assuming(self, function: FunctionFacts, frame: Frame) -> Assuming:
        """Take an activation for the open one of its function."""
        return Assuming(self, function, frame)

    @contextmanager
    def none(self) -> Iterator[None]:
        """Assume nothing: what is found stands on nothing that is assumed outside."""
        saved = self.frames, self.all, self.parts, self.signs, self.asked
        self.frames, self.all, self.parts, self.signs = {}, frozenset(), {}, _NO_SIGNS
        self.asked = None if self.settled else NOTHING
        try:
            yield
        finally:
            doubtful = self.asked is not None and not self.asked.isdisjoint((DOUBT, EVERYTHING))
            self.frames, self.all, self.parts, self.signs, self.asked = saved
            if doubtful:
                self.doubt()


class Assuming:
    """An activation that is taken for the open one of its function, for a ``with`` statement."""

    __slots__ = ("_asked", "_assumptions", "_frame", "_function", "_saved")

    def __init__(self, assumptions: Assumptions, function: FunctionFacts, frame: Frame) -> None:
        self._assumptions = assumptions
        self._function = function
        self._frame = frame

    def __enter__(self) -> None:
        mine = self._assumptions
        self._saved, self._asked = (mine.frames, mine.all, mine.parts, mine.signs), mine.asked
        if mine.frames:
            real = {one: made for one, made in mine.frames.items() if isinstance(made, Frame)}
            real[self._function] = self._frame
            mine.all = frozenset(real.values())
        else:
            real, mine.all = {self._function: self._frame}, frozenset((self._frame,))
        mine.parts = {}
        mine.frames = {**real, ANYTHING: ANYTHING, EVERYTHING: mine.all}
        mine.signs = (*reversed(real.values()), None, ANYTHING, mine.all)  # the newest is asked about most
        if self._asked is not None:
            mine.asked = NOTHING

    def __exit__(self, *_: object) -> None:
        mine = self._assumptions
        asked = mine.asked
        mine.frames, mine.all, mine.parts, mine.signs = self._saved
        mine.asked = self._asked
        if self._asked is not None and asked:
            # that much is known here, whatever is assumed outside
            mine.stand_on(asked - {self._function, ANYTHING})


class Answer(Generic[V]):
    """An answer with what it stands on.

    Attributes:
        asked: the functions that were asked about.
        value: the answer.
    """

    __slots__ = ("_frames", "_others", "asked", "value")

    def __init__(self, value: V, asked: frozenset[object], frames: frozenset[object]) -> None:
        self.value = value
        self.asked = asked
        self._frames = frames  # what was assumed of the functions that were asked about
        # others to the same question by what must be assumed: mostly one, or several by what they stand on
        self._others: dict[object, Answer[V] | _Several[V]] | None = None

    def under(self, assumptions: Assumptions) -> Answer[V] | None:
        """Return the one of several answers that holds under assumptions, on which the present question then stands."""
        if not self.asked:
            return self
        if self._holds(assumptions):
            return self
        if self._others is not None:
            for sign in assumptions.signs:
                others = self._others.get(sign)
                if others is None:
                    continue
                if isinstance(others, Answer):
                    if others._holds(assumptions):
                        return others
                    continue
                for asked, answers in others.items():
                    frames = assumptions.parts.get(asked)
                    if frames is None:
                        frames = assumptions.of(asked)
                    answer = answers.get(frames)
                    if answer is not None:
                        assumptions.stand_on(asked)
                        return answer
        return None

    def _holds(self, assumptions: Assumptions) -> bool:
        frames = assumptions.parts.get(self.asked)
        if frames is None:
            frames = assumptions.of(self.asked)
        if frames is not self._frames and frames != self._frames:
            return False
        assumptions.stand_on(self.asked)
        return True

    def _sign(self) -> object:
        """Return something that is assumed wherever the answer holds; None if that may be nothing."""
        sign: object = None
        for one in self._frames:
            if one is not ANYTHING:
                return one
            sign = one
        return sign

    def steady(self) -> Answer[V] | None:
        """Return those of several answers that are not provisional; None if all are."""
        every = [self]
        for others in (self._others or {}).values():
            if isinstance(others, Answer):
                every.append(others)
            else:
                every += [one for answers in others.values() for one in answers.values()]
        left = [answer for answer in every if answer.asked.isdisjoint((DOUBT, EVERYTHING))]
        if not left:
            return None
        if len(left) < len(every):
            left[0]._others = None
            for answer in left[1:]:
                left[0].add(answer)
        return left[0]

    def add(self, other: Answer[V]) -> Answer[V]:
        """Note another answer to the same question; return what stands for all of them."""
        if not other.asked:
            return other
        if self._others is None:
            self._others = {}
        sign = other._sign()
        known = self._others.get(sign)
        if known is None:
            self._others[sign] = other
            return self
        if isinstance(known, Answer):
            known = self._others[sign] = {known.asked: {known._frames: known}}
        known.setdefault(other.asked, {}).setdefault(other._frames, other)
        return self


#: Answers by what was asked about, and by what was assumed of that.
_Several = dict[frozenset[object], dict[frozenset[object], Answer[V]]]


class Answers(Generic[K, V]):
    """The settled answers to one kind of question.

    Attributes:
        kept: the answers to each, by one that stands for all of them.
    """

    __slots__ = ("_assumptions", "kept")

    def __init__(self, assumptions: Assumptions) -> None:
        self._assumptions = assumptions
        self.kept: dict[K, Answer[V]] = {}

    def find(self, key: K) -> Answer[V] | None:
        """Return the answer that holds under what is assumed at present, which the present question then stands on."""
        answer = self.kept.get(key)
        return answer if answer is None or not answer.asked else answer.under(self._assumptions)

    def forget(self) -> None:
        """Drop the answers that are provisional."""
        self.kept = {key: left for key, answer in self.kept.items() if (left := answer.steady()) is not None}

    def keep(self, key: K, value: V, asked: frozenset[object]) -> None:
        """Keep an answer that stands on what is assumed of some functions at present."""
        new, known = Answer(value, asked, self._assumptions.of(asked)), self.kept.get(key)
        self.kept[key] = new if known is None else known.add(new)
