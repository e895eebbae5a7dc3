"""What a run came to."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from codemods.nnx.findings import Safety
from nnxmigrate.files.document import Spot


class Status(enum.Enum):
    """How a file ended."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FINDINGS = "with findings"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True)
class Replacement:
    """A part of a fix: the text between two places of a file becomes another text."""

    path: str
    start: Spot
    end: Spot
    text: str


@dataclass(frozen=True)
class RelatedPlace:
    """Another place of the file that a finding is about too, with what it has to do with it."""

    start: Spot
    end: Spot
    message: str

    @property
    def where(self) -> str:
        """Its cell, if it is in one, and its line, in words."""
        cell = f"cell {self.start.cell}, " if self.start.cell else ""
        return f"{cell}line {self.start.line}"


@dataclass(frozen=True)
class Diagnostic:
    """A finding as people and programs read it.

    Attributes:
        code: the rule's code.
        path: the file's name in reports.
        start: where it begins.
        end: where it ends.
        message: what is wrong.
        help: the way out; may be empty.
        line: the text of the line where it begins.
        safety: the safety of its fix; None if it has none that can be made.
        replacements: the fix.
        beside: whether no later run can see it, since it showed beside others that are fixed now.
        related: other places of the file that have to do with it.
    """

    code: str
    path: str
    start: Spot
    end: Spot
    message: str
    help: str
    line: str
    safety: Safety | None = None
    replacements: tuple[Replacement, ...] = ()
    beside: bool = False
    related: tuple[RelatedPlace, ...] = ()

    @property
    def place(self) -> str:
        """``path:line:column``, in notebooks ``path:cell N:line:column``."""
        cell = f"cell {self.start.cell}:" if self.start.cell else ""
        return f"{self.path}:{cell}{self.start.line}:{self.start.column}"


@dataclass(frozen=True)
class FileOutcome:
    """How one file ended.

    Attributes:
        path: its name in reports.
        status: how it ended.
        reason: why it was skipped or failed.
        internal: whether it failed by a defect of this program.
        before: its bytes; empty unless it changed.
        after: its new bytes; empty unless it changed.
        created: whether the run made it.
    """

    path: str
    status: Status
    reason: str = ""
    internal: bool = False
    before: bytes = b""
    after: bytes = b""
    created: bool = False


@dataclass(frozen=True)
class Outcome:
    """Everything that a run has to tell.

    Attributes:
        files: all files, in the order in which they were found.
        left: findings that remain, in order of the files and of their places. Where files were written the places
            are those in the new text.
        fixed: findings that were fixed, or would be, with their places in the old text.
        written: whether changes were written.
        notes: what else the reader should know.
        threshold: how bad a finding must be to count in the exit status: ``hint``, ``info``, ``warning``, ``error`` or
            ``never``.
        unanswered: how many questions of the analysis were cut short.
        flax: the versions that code was taken from and to, in words, by part of the project.
    """

    files: Sequence[FileOutcome]
    left: Sequence[Diagnostic] = field(default=())
    fixed: Sequence[Diagnostic] = field(default=())
    written: bool = True
    flax: Sequence[str] = field(default=())
    threshold: str = "info"
    notes: Sequence[str] = field(default=())
    unanswered: int = 0

    @property
    def told(self) -> tuple[str, ...]:
        """What the reader should know besides the findings, a line each."""
        if not self.unanswered:
            return tuple(self.notes)
        questions = f"{self.unanswered} question{'s' if self.unanswered > 1 else ''}"
        # what is not known is passed over without a word
        return (
            *self.notes,
            f"Cut short: {questions} about where values come from, which branch too much; what they ask counts as"
            " not known.",
        )

    @cached_property
    def by_status(self) -> Mapping[Status, list[FileOutcome]]:
        """The files of every status."""
        return {status: [file for file in self.files if file.status is status] for status in Status}

    @property
    def exit_code(self) -> int:
        """0 if nothing is left to do, 1 if findings are left or changes are not written, 2 after a failure."""
        if self.by_status[Status.FAILED]:
            return 2
        if self.threshold == "never":
            return 0
        if self.threshold in {"hint", "info"} and not self.written and self.by_status[Status.CHANGED]:
            return 1
        counted = [*self.left, *(() if self.written else self.fixed)]
        if not counted:
            return 0
        from nnxmigrate.rules import at_least

        return int(any(at_least(one.code, self.threshold) for one in counted))


def joined(outcomes: Sequence[Outcome], order: Sequence[str]) -> Outcome:
    """Return what several runs over parts of one project came to.

    Args:
        outcomes: one for every part.
        order: the names of all files in the order in which they are reported.
    """
    if len(outcomes) == 1:
        return outcomes[0]
    place = {path: number for number, path in enumerate(order)}

    def by_file(item: FileOutcome | Diagnostic) -> int:
        return place.get(item.path, len(place))

    return Outcome(
        sorted((file for outcome in outcomes for file in outcome.files), key=by_file),
        sorted((one for outcome in outcomes for one in outcome.left), key=by_file),
        sorted((one for outcome in outcomes for one in outcome.fixed), key=by_file),
        all(outcome.written for outcome in outcomes),
        flax=[line for outcome in outcomes for line in outcome.flax],
        notes=[line for outcome in outcomes for line in outcome.notes],
        unanswered=sum(outcome.unanswered for outcome in outcomes),
    )
