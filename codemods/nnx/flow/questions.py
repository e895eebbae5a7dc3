"""The questions under way, and how far each may go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from codemods.nnx.flow.assumptions import Assumptions
from codemods.nnx.project import Project

_DEPTH = 40  # how many steps one value is followed; deeper ones count as unknown
_STEPS = 10_000  # how many steps one question may take in all: fields that refer to each other multiply the ways
_HASTE = 100  # how many it may take once the project has had its share
_POLL = 0xFF  # how many steps lie between two looks whether the analysis shall go on, less one
_SHARE = 200_000, 10  # steps of a project, and more for each of its calls, before the analysis makes haste


class Question:
    """A question under way.

    Attributes:
        stands_on: in the end, what its answer asked about what is assumed; None if it holds only within this question.
    """

    __slots__ = ("stands_on",)

    def __init__(self) -> None:
        self.stands_on: frozenset[object] | None = None


class Questions:
    """Keeps questions that come back to themselves, or that branch too much, from going on for ever."""

    def __init__(self, project: Project, assumptions: Assumptions) -> None:
        self._assumptions = assumptions
        self._poll = project.poll
        self._active: dict[object, int] = {}  # questions under way, with the depth at which each was asked
        self._depth = 0
        self._steps = 0
        self._held = False  # whether the questions asked now are parts of a larger one
        self.unanswered = 0  # how many questions ran out of steps
        self._noted = False  # whether that was counted of the one under way
        self._limit = _STEPS
        self._left = _SHARE[0] + _SHARE[1] * sum(len(module.calls) for module in project.modules)
        self._cycle = _DEPTH * 2  # the least depth that an answer under way was cut short by

    @property
    def at_rest(self) -> bool:
        """Whether no question is under way."""
        return self._depth == 0

    @property
    def hasty(self) -> bool:
        """Whether the project has had its share of steps, so that each question gets few."""
        return self._limit == _HASTE

    def tired(self) -> bool:
        """Count a step, and say whether the question under way has had its share of them."""
        if self._depth == 0 and not self._held:
            self._steps, self._noted = 0, False
        self._steps += 1
        self._left -= 1
        if self._left == 0:
            self._limit = _HASTE
        if not self._left & _POLL and self._poll is not None:
            self._poll()
        if self._steps > self._limit:
            self.unanswered += not self._noted
            self._noted = True
            return True
        return self._depth > _DEPTH

    def under_way(self, key: object) -> bool:
        """Say whether a question is under way; if so, those asked since are cut short by it."""
        depth = self._active.get(key)
        if depth is None:
            return False
        self._cycle = min(self._cycle, depth)
        return True

    def one_question(self) -> AbstractContextManager[None]:
        """Take all questions asked inside for one, which may take a limited number of steps in all."""
        return _PART if self._held or self._depth else _Held(self)

    def hold(self, held: bool) -> None:
        """Begin to take questions for one, or end that."""
        self._held = held
        if held:
            self._steps, self._noted = 0, False

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Take what is asked inside for questions of their own, whatever is under way: they take none of its steps.

        Nothing may be assumed meanwhile, and what is found holds everywhere.
        """
        saved = self._active, self._depth, self._steps, self._held, self._cycle, self._noted
        self._active, self._depth, self._steps, self._held, self._cycle, self._noted = (
            {},
            0,
            0,
            False,
            _DEPTH * 2,
            False,
        )
        try:
            yield
        finally:
            self._active, self._depth, self._steps, self._held, self._cycle, self._noted = saved

    def asking(self, key: object) -> _Asking:
        """Note that a question is under way, so that one that comes back to it is cut short.

        An answer that was cut short by a question further out holds only within that one, and must not be kept.
        """
        return _Asking(self, key)

    def begin(self, key: object) -> tuple[int, frozenset[object] | None]:
        """Note that a question is under way; return what :meth:`end` takes."""
        outer = self._cycle, self._assumptions.begin()
        self._cycle = _DEPTH * 2
        self._active[key] = self._depth
        self._depth += 1
        return outer

    def end(self, key: object, outer: tuple[int, frozenset[object] | None]) -> frozenset[object] | None:
        """Note that a question was answered.

        Returns:
            what its answer stands on among the assumptions; None if it holds only within the question further out.
        """
        depth = self._active.pop(key)
        self._depth = depth
        cycle, around = outer
        asked = self._assumptions.end(around)
        if self._cycle >= depth:
            self._cycle = cycle
            return asked
        self._cycle = min(cycle, self._cycle)
        return None


class _Held:
    """Questions that count as one, for a ``with`` statement."""

    __slots__ = ("_questions",)

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    def __enter__(self) -> None:
        self._questions.hold(True)

    def __exit__(self, *_: object) -> None:
        self._questions.hold(False)


_PART = nullcontext()  # of a question that is under way


class _Asking:
    """A question under way, for a ``with`` statement."""

    __slots__ = ("_key", "_outer", "_questions", "question")

    def __init__(self, questions: Questions, key: object) -> None:
        self._questions = questions
        self._key = key
        self.question = Question()

    def __enter__(self) -> Question:
        self._outer = self._questions.begin(self._key)
        return self.question

    def __exit__(self, *_: object) -> None:
        self.question.stands_on = self._questions.end(self._key, self._outer)
