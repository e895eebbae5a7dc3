"""Jupyter notebooks: all code cells as one text; edits go into the JSON string literals, nowhere else."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from codemods.nnx.edits import Edit, merged
from nnxmigrate.files.document import Document, EditRefused, Mask, Spot, Unreadable
from nnxmigrate.files.json_literals import Literal, literals
from nnxmigrate.files.magics import NotPython, masked
from nnxmigrate.files.python import BOM
from nnxmigrate.files.recovery import recovered

_FIRST_INDENT = re.compile(r"(\s*)\Z")


class Piece(NamedTuple):
    """A JSON string literal of a code cell and the range of the text that it holds.

    Attributes:
        start: offset of its first byte in the text.
        end: offset behind its last byte.
        cell: index of its cell.
        literal: where it stands in the file.
    """

    start: int
    end: int
    cell: int
    literal: Literal


@dataclass(frozen=True, eq=False)
class Notebook(Document):
    """A notebook.

    Attributes:
        pieces: the literals that make up the text, ascending. Between cells the text has a line end of its own.
        json: the file as a string, without byte order mark.
        errors: the names of the errors in the stored outputs, by the index of their cells.
        faulty: what is wrong with a cell that is not Python, or nothing; the notebook is not changed then.
    """

    pieces: Sequence[Piece] = field(default=())
    json: str = ""
    errors: Mapping[int, str] = field(default_factory=dict)
    faulty: str = ""

    notebook = True

    @property
    def cell_lines(self) -> tuple[int, ...]:
        """The lines in which the cells begin."""
        starts = {piece.cell: piece.start for piece in reversed(self.pieces)}
        return tuple(sorted(self.text.count(b"\n", 0, start) + 1 for start in starts.values()))

    @property
    def failed_lines(self) -> tuple[tuple[int, str], ...]:
        """The first lines of the cells whose stored output is an error, each with the name of that."""
        starts = {piece.cell: piece.start for piece in reversed(self.pieces)}
        lines = {cell: self.text.count(b"\n", 0, start) + 1 for cell, start in starts.items() if cell in self.errors}
        return tuple(sorted((line, self.errors[cell]) for cell, line in lines.items()))

    def spot(self, offset: int) -> Spot:
        """Return the cell and the line and column in it."""
        piece = self.pieces[self._piece_at(offset)]
        start = next(other.start for other in self.pieces if other.cell == piece.cell)
        line, column = self.line_and_column(offset)
        file_line = bisect_left(self._line_ends, piece.literal.start) + 1
        return Spot(line - self.line_and_column(start)[0] + 1, column, piece.cell + 1, file_line)

    @cached_property
    def _line_ends(self) -> list[int]:
        """Where the lines of the file end; outputs make it long, so that it must not be gone through per finding."""
        return [match.start() for match in re.finditer("\n", self.json)]

    def admit(self, edit: Edit) -> Edit:
        """Refuse also what reaches from one cell into another, or would write the mark of an indented cell's lines."""
        if self.faulty:
            raise EditRefused(self.faulty)
        edit = super().admit(edit)
        if b"\f" in edit.text:
            raise EditRefused("all lines of the cell are indented")
        cells = {self.pieces[self._piece_at(place)].cell for place in (edit.start, edit.end)}
        if len(cells) > 1:
            raise EditRefused("the change would reach from one cell into another")
        return edit

    def render(self, edits: Sequence[Edit]) -> bytes:
        """Change only the string literals that hold the edited lines."""
        groups: list[tuple[int, int, list[Edit]]] = []  # first piece, last piece, edits
        for edit in merged(edits):
            first = self._piece_at(edit.start)
            last = max(first, self._piece_at(edit.end - 1)) if edit.end > edit.start else first
            previous = groups[-1][1] if groups else -2
            if previous >= first or (previous == first - 1 and self._share_cell(previous, first)):
                groups[-1] = (groups[-1][0], max(last, groups[-1][1]), [*groups[-1][2], edit])
            else:
                groups.append((first, last, [edit]))
        parts: list[str] = []
        position = 0
        for first, last, group in groups:
            begin, end, text = self._replacement(first, last, group)
            parts += (self.json[position:begin], text)
            position = end
        new = "".join((*parts, self.json[position:])).encode("utf-8")
        return BOM + new if self.raw.startswith(BOM) else new

    def _piece_at(self, offset: int) -> int:
        """Return the index of the literal that holds the byte, the earlier one at the line end between cells."""
        return max(bisect_right(self.pieces, offset, key=lambda piece: piece.start) - 1, 0)

    def _replacement(self, first: int, last: int, edits: Sequence[Edit]) -> tuple[int, int, str]:
        """Return what replaces the literals ``first`` to ``last``: begin and end in the JSON text, and new text."""
        parts: list[str] = []
        position = (first, 0)  # a literal and an index in its body
        for edit in edits:
            parts += (self._bodies(position, self._cut(first, last, edit.start)), self._escaped(edit.text))
            position = self._cut(first, last, edit.end)
        parts.append(self._bodies(position, (last, len(self.pieces[last].literal.body))))
        body = "".join(parts)
        if not body and self._share_cell(last, last + 1):  # no line is left of these: write the next one with them
            last += 1
            body = self.pieces[last].literal.body
        elif not body and self._share_cell(first - 1, first):
            first -= 1
            body = self.pieces[first].literal.body
        begin, end = self.pieces[first].literal.start, self.pieces[last].literal.end
        if isinstance(self.pieces[first].literal.key[-1], str):  # the whole cell is one string
            return begin, end, body
        lines = re.findall(r"(?:[^\\]|\\.)*?\\n|(?:[^\\]|\\.)+\Z", body, re.DOTALL)
        return begin, end, f'"{self._separator(first)}"'.join(lines)

    def _cut(self, first: int, last: int, offset: int) -> tuple[int, int]:
        """Return the literal and the index in its body where a byte of the text begins."""
        number = min(max(self._piece_at(offset), first), last)
        piece = self.pieces[number]
        return number, piece.literal.cut(min(offset, piece.end) - piece.start)

    def _bodies(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        """Return the bodies of the literals from one place to another, joined."""
        bodies = [self.pieces[number].literal.body for number in range(start[0], end[0] + 1)]
        bodies[-1] = bodies[-1][: end[1]]
        bodies[0] = bodies[0][start[1] :]
        return "".join(bodies)

    def _share_cell(self, one: int, other: int) -> bool:
        """Say whether two literals exist and belong to the same cell."""
        return one >= 0 and other < len(self.pieces) and self.pieces[one].cell == self.pieces[other].cell

    def _escaped(self, text: bytes) -> str:
        return json.dumps(text.decode("utf-8"), ensure_ascii=self.json.isascii())[1:-1]

    def _separator(self, number: int) -> str:
        """Return what stands between two literals of the cell: a comma, and the file's own layout."""
        piece = self.pieces[number]
        for one, other in ((number, number + 1), (number - 1, number)):
            if self._share_cell(one, other):
                return self.json[self.pieces[one].literal.end + 1 : self.pieces[other].literal.start - 1]
        before = _FIRST_INDENT.search(self.json, 0, piece.literal.start - 1)
        return "," + (before.group(1) if before else "")


def read_notebook(raw: bytes, lenient: bool = False) -> Notebook:
    """Return the document of a notebook.

    Args:
        raw: the bytes of the file.
        lenient: whether statements that are no Python may be left out; the notebook says so then, and refuses edits.

    Raises:
        Unreadable: if it is no notebook of format 4, no Python notebook, or a cell is no Python.
    """
    body = raw[len(BOM) :] if raw.startswith(BOM) else raw
    try:
        text = body.decode("utf-8")
        content = json.loads(text)
    except ValueError as error:
        raise Unreadable(f"not a notebook: {error}") from error
    cells = content.get("cells") if isinstance(content, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("not a notebook of format 4: it has no list of cells; convert it with `jupyter nbconvert`")
    language = _language(content)
    if language != "python":
        raise Unreadable(f"a notebook in the language {language!r}, not Python")
    return _assembled(raw, text, _code_literals(text, cells), _errors(cells), lenient)


def _errors(cells: Sequence[object]) -> dict[int, str]:
    """Return the name of the error in the stored output of each cell that has one."""
    found: dict[int, str] = {}
    for number, cell in enumerate(cells):
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        for output in outputs if isinstance(outputs, list) else ():
            name = output.get("ename") if isinstance(output, dict) and output.get("output_type") == "error" else None
            if isinstance(name, str):
                found[number] = name
    return found


def _language(content: dict[str, object]) -> str:
    """Return the notebook's language; Python if it says none, or gives a version or the shell of it."""
    node: object = content
    for key in ("metadata", "kernelspec", "language"):
        node = node.get(key) if isinstance(node, dict) else None
    language = node.lower() if isinstance(node, str) else "python"
    return "python" if _PYTHON.fullmatch(language) else language


_PYTHON = re.compile(r"\s*(i?python\s*[\d.]*)?\s*")


def _code_literals(text: str, cells: Sequence[object]) -> dict[int, list[Literal]]:
    """Return the literals of each code cell's source, by the cell's index."""
    code = {n for n, cell in enumerate(cells) if isinstance(cell, dict) and cell.get("cell_type") == "code"}
    found: dict[int, list[Literal]] = {}
    for literal in literals(text, _of_source):
        match literal.key:
            case ("cells", int(cell), "source") | ("cells", int(cell), "source", int()) if cell in code:
                found.setdefault(cell, []).append(literal)
    return found


def _of_source(key: Sequence[str | int]) -> bool:
    """Say whether a string is one of a cell's source: outputs hold many more."""
    return 3 <= len(key) <= 4 and key[0] == "cells" and key[2] == "source"


def _assembled(
    raw: bytes, text: str, code: dict[int, list[Literal]], errors: Mapping[int, str], lenient: bool
) -> Notebook:
    faulty = ""
    parts: list[bytes] = []
    pieces: list[Piece] = []
    masks: list[Mask] = []
    offset = 0
    for cell, found in code.items():
        begin = offset
        try:
            lines = [literal.value.encode("utf-8") for literal in found]
            python, hidden = masked(b"".join(lines))
        except UnicodeEncodeError as error:
            raise Unreadable(f"cell {cell + 1} holds half of a surrogate pair") from error
        except NotPython as error:
            if not lenient:
                raise Unreadable(f"cell {cell + 1} is not Python: {error}") from error
            faulty = faulty or f"cell {cell + 1} is not Python: {error}"
            python, hidden = recovered(b"".join(lines))
        for line, literal in zip(lines, found, strict=True):
            pieces.append(Piece(offset, offset + len(line), cell, literal))
            offset += len(line)
        masks += (mask.shifted(begin) for mask in hidden)
        parts.append(python + b"\n")
        offset += 1
    joined = b"".join(parts)
    return Notebook(raw, joined, tuple(_resuming(masks, pieces)), tuple(pieces), text, errors, faulty)


def _resuming(masks: Sequence[Mask], pieces: Sequence[Piece]) -> list[Mask]:
    """Let insertions before a cell that is no Python at all go to the next cell."""
    starts = {piece.start: piece.cell for piece in reversed(pieces)}
    ends = {piece.cell: piece.end for piece in pieces}
    firsts = {piece.cell: piece.start for piece in reversed(pieces)}
    result = []
    for mask in masks:
        cell = starts.get(mask.start)
        if cell is not None and firsts[cell] == mask.start and ends[cell] == mask.end and mask.resume is None:
            following = [start for other, start in firsts.items() if start > mask.start]
            mask = replace(mask, resume=min(following, default=None))
        result.append(mask)
    return result
