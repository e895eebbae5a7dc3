"""Between the analysis, which counts bytes of a text, and editors, which count lines and units of an encoding."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

from lsprotocol import types as lsp

from codemods.nnx.edits import Edit
from nnxmigrate.files.document import Document
from nnxmigrate.server.cells import Cell, OpenNotebook

#: How many units of each encoding a character takes.
UNITS: Mapping[str, Callable[[str], int]] = {
    "utf-16": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "utf-8": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "utf-32": len,
}


class Places:
    """The places of one document.

    Args:
        document: the text.
        uri: the document's address.
        encoding: the encoding whose units columns count: ``utf-16``, ``utf-8`` or ``utf-32``.
    """

    def __init__(self, document: Document, uri: str, encoding: str = "utf-16") -> None:
        self._document = document
        self._uri = uri
        self._units = UNITS[encoding]

    def range(self, start: int, end: int) -> tuple[str, lsp.Range]:
        """Return the address and the range of bytes of the text; a range over several cells ends with the first."""
        cell = self._cell(start)
        if cell is not None:
            end = max(start, min(end, cell.end))
        return cell.key if cell else self._uri, lsp.Range(self._position(start, cell), self._position(end, cell))

    def edits(self, edits: Sequence[Edit]) -> dict[str, list[lsp.TextEdit]]:
        """Return edits by address, as they can be made in the document.

        Raises:
            EditRefused: if the document cannot take one.
        """
        found: dict[str, list[lsp.TextEdit]] = {}
        for wanted in edits:
            edit = self._document.admit(wanted)
            uri, place = self.range(edit.start, edit.end)
            found.setdefault(uri, []).append(lsp.TextEdit(place, edit.text.decode("utf-8")))
        return found

    def offset(self, line: int, character: int, uri: str = "") -> int:
        """Return the byte at a position, in a notebook of the cell with that address."""
        cells = self._document.cells if isinstance(self._document, OpenNotebook) else ()
        cell = next((one for one in cells if one.key == uri), None)
        first = self._line_of(cell.start) if cell else 0
        number = min(first + line, len(self._document.line_starts) - 1)
        begin = self._document.line_starts[number]
        text = self._text(begin, number, cell)
        length = 0
        for index, char in enumerate(text):
            if length >= character:
                return begin + len(text[:index].encode("utf-8", "replace"))
            length += self._units(char)
        return begin + len(text.encode("utf-8", "replace"))

    def _cell(self, offset: int) -> Cell | None:
        return self._document.cell_at(offset) if isinstance(self._document, OpenNotebook) else None

    def _line_of(self, offset: int) -> int:
        return bisect_right(self._document.line_starts, offset) - 1

    def _position(self, offset: int, cell: Cell | None) -> lsp.Position:
        line = self._line_of(offset)
        begin = self._document.line_starts[line]
        if cell is None:
            head = self._document.text[begin:offset]
        else:  # the cell's own text: a magic is masked in the document's
            head = cell.text[max(begin - cell.start, 0) : offset - cell.start]
            line -= self._line_of(cell.start)
        return lsp.Position(line, self._units(head.decode("utf-8", "replace")))

    def _text(self, begin: int, number: int, cell: Cell | None) -> str:
        """Return the text of a line without its end."""
        starts = self._document.line_starts
        end = starts[number + 1] if number + 1 < len(starts) else len(self._document.text)
        data = self._document.text[begin:end] if cell is None else cell.text[begin - cell.start : end - cell.start]
        return data.rstrip(b"\r\n").decode("utf-8", "replace")
