"""What a file looks like to the analysis, whatever its format."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from codemods.nnx.edits import Edit, spliced

_LINE = re.compile(rb"\r\n|\r|\n")
_WHOLE_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


class Unreadable(Exception):
    """The file holds no text that can be analysed; the message says why."""


class EditRefused(Exception):
    """An edit cannot be carried over into the file; the message says why."""


class Spot(NamedTuple):
    """A place in a file as people name it.

    Attributes:
        line: 1-based line, in a notebook counted within the cell.
        column: 1-based column in characters.
        cell: 1-based number of the notebook's cell, among all its cells; None outside notebooks.
        file_line: 1-based line of the file itself, which differs from ``line`` in notebooks.
    """

    line: int
    column: int
    cell: int | None
    file_line: int


@dataclass(frozen=True)
class Mask:
    """A range of the text that stands for something that is not Python and must not change.

    Attributes:
        start: offset of its first byte.
        end: offset behind its last byte.
        resume: where something is inserted that was meant for ``start``, or for a place further in if ``resume`` is
            behind it; None if nothing can be.
    """

    start: int
    end: int
    resume: int | None = None

    def shifted(self, by: int) -> Mask:
        """Return the mask in a text in which ``by`` bytes stand before this one's."""
        return Mask(self.start + by, self.end + by, None if self.resume is None else self.resume + by)


@dataclass(frozen=True, eq=False)
class Document:
    """A file and the Python text in it.

    Attributes:
        raw: the bytes of the file.
        text: the Python text in UTF-8, which the analysis reads. Masked parts have their own length, so that
            offsets count the real bytes.
        masks: the parts of the text that are not Python, ascending.
    """

    raw: bytes
    text: bytes
    masks: Sequence[Mask] = field(default=())

    #: Whether the text is made of a notebook's cells.
    notebook = False

    @property
    def cell_lines(self) -> tuple[int, ...]:
        """The lines of the text in which a notebook's code cells begin, ascending."""
        return ()

    @property
    def failed_lines(self) -> tuple[tuple[int, str], ...]:
        """The first lines of the cells whose stored output is an error, each with the name of that."""
        return ()

    def render(self, edits: Sequence[Edit]) -> bytes:
        """Return the bytes of the file with edits of its text made; all other bytes stay.

        Raises:
            EditRefused: if the file cannot hold the new text.
        """
        raise NotImplementedError

    def admit(self, edit: Edit) -> Edit:
        """Return the edit as it can be made in the file: an insertion may have to move behind a masked part.

        Raises:
            EditRefused: if the edit touches something that is not Python.
        """
        for mask in self.masks:
            if mask.start <= edit.start == edit.end < mask.end:
                if mask.resume is None or mask.resume < edit.start:
                    raise EditRefused("the place is not Python code")
                edit = replace(edit, start=mask.resume, end=mask.resume)
            elif edit.start < mask.end and mask.start < edit.end:
                raise EditRefused("the statement holds something that is not Python code")
        return edit

    def spot(self, offset: int) -> Spot:
        """Return the place of a byte of the text."""
        line, column = self.line_and_column(offset)
        return Spot(line, column, None, line)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line of the text and the 1-based column, in characters, of a byte."""
        line = bisect_right(self.line_starts, offset)
        head = self.text[self.line_starts[line - 1] : offset]
        return line, len(head.decode("utf-8", "replace")) + 1

    def line(self, number: int) -> str:
        """Return a 1-based line of the text without its end."""
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return self.text[self.line_starts[number - 1] : end].decode("utf-8", "replace").rstrip("\r\n")

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset of the first byte of every line of the text."""
        return [0, *(match.end() for match in _LINE.finditer(self.text))]


class PlainDocument(Document):
    """A UTF-8 file whose bytes are the text, perhaps with a byte order mark or with masked parts."""

    def render(self, edits: Sequence[Edit]) -> bytes:
        """Splice the edits into the bytes of the file."""
        shift = len(self.raw) - len(self.text)
        return spliced(self.raw, (replace(edit, start=edit.start + shift, end=edit.end + shift) for edit in edits))


def lines_of(text: bytes) -> list[bytes]:
    """Return the lines of a text, each with its line end."""
    return _WHOLE_LINE.findall(text)


def commented(line: bytes) -> bytes:
    """Return a comment as long as the line, with its line end."""
    body = line.rstrip(b"\r\n")
    return b"#" * bool(body) + b" " * (len(body) - 1) + line[len(body) :]
