"""A notebook that is open in an editor, which sends its cells one by one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from codemods.nnx.edits import Edit
from nnxmigrate.files.document import Document, EditRefused, Mask, Spot, Unreadable, commented
from nnxmigrate.files.magics import NotPython, masked


class Cell(NamedTuple):
    """A code cell.

    Attributes:
        key: what the editor calls it.
        number: its 1-based number among all cells.
        start: offset of its first byte in the text.
        text: its own text, with magics.
    """

    key: str
    number: int
    start: int
    text: bytes

    @property
    def end(self) -> int:
        """Offset behind its last byte."""
        return self.start + len(self.text)


@dataclass(frozen=True, eq=False)
class OpenNotebook(Document):
    """The code cells as one text, each followed by a line end."""

    cells: Sequence[Cell] = field(default=())

    notebook = True

    @property
    def cell_lines(self) -> tuple[int, ...]:
        """The lines in which the cells begin."""
        return tuple(self.line_and_column(cell.start)[0] for cell in self.cells)

    def cell_at(self, offset: int) -> Cell:
        """Return the cell that holds a byte, the earlier one at the line end between cells."""
        return self.cells[max(bisect_right(self.cells, offset, key=lambda cell: cell.start) - 1, 0)]

    def spot(self, offset: int) -> Spot:
        """Return the cell and the line and column in it."""
        cell = self.cell_at(offset)
        line, column = self.line_and_column(offset)
        first = self.line_and_column(cell.start)[0]
        return Spot(line - first + 1, column, cell.number, line)

    def admit(self, edit: Edit) -> Edit:
        """Refuse also what reaches from one cell into another."""
        edit = super().admit(edit)
        if self.cell_at(edit.start) is not self.cell_at(edit.end):
            raise EditRefused("the change would reach from one cell into another")
        return edit


def open_notebook(cells: Sequence[tuple[str, int, str]]) -> OpenNotebook:
    """Return the document of an open notebook; a cell that is no Python counts as empty until it is.

    Args:
        cells: for every code cell the editor's name for it, its 1-based number and its text.

    Raises:
        Unreadable: if it has no code cell.
    """
    if not cells:
        raise Unreadable("it has no code cell")
    made: list[Cell] = []
    masks: list[Mask] = []
    parts: list[bytes] = []
    offset = 0
    for key, number, text in cells:
        own = text.encode("utf-8", "replace")
        try:
            python, hidden = masked(own)
        except NotPython:
            python = b"".join(commented(line) for line in own.splitlines(keepends=True))
            hidden = [Mask(0, len(own))]
        made.append(Cell(key, number, offset, own))
        masks += (mask.shifted(offset) for mask in hidden)
        parts.append(python + b"\n")
        offset += len(own) + 1
    joined = b"".join(parts)
    return OpenNotebook(joined, joined, tuple(masks), cells=tuple(made))
