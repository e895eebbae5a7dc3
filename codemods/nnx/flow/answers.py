"""The answers that value flow has found."""

from __future__ import annotations

from codemods.nnx.facts import ClassFacts
from codemods.nnx.flow.assumptions import Answers, Assumptions
from codemods.nnx.frames import Bound
from codemods.nnx.values import Param


class Known:
    """Settled answers; what is provisional among them is dropped when more is known.

    Attributes:
        resolved: where each value was made.
        same: whether two values are the same object.
        classes: the project's class that a value is an instance of.
        elements: what a container may hold.
        opened: the parameter that a value depends on and whose argument is not settled.
        closed: of values for which no such parameter was found when the way to them was long already, how long it was
            at the shortest: none is found at the end of a longer one.
    """

    __slots__ = ("classes", "closed", "elements", "opened", "resolved", "same")

    def __init__(self, assumptions: Assumptions) -> None:
        self.resolved: Answers[Bound, Bound] = Answers(assumptions)
        self.same: Answers[tuple[Bound, Bound], bool] = Answers(assumptions)
        self.classes: Answers[Bound, ClassFacts | None] = Answers(assumptions)
        self.elements: Answers[Bound, tuple[Bound, ...]] = Answers(assumptions)
        self.opened: Answers[Bound, Param | None] = Answers(assumptions)
        self.closed: Answers[Bound, int] = Answers(assumptions)

    def forget(self) -> None:
        """Drop the answers that are provisional."""
        for answers in (self.resolved, self.same, self.classes, self.elements, self.opened, self.closed):
            answers.forget()
