"""Adding comments that silence findings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from codemods.nnx.edits import Edit
from nnxmigrate.comments import layout
from nnxmigrate.files.document import Document, EditRefused, Unreadable
from nnxmigrate.outcome import Diagnostic
from nnxmigrate.project import read_document

_LIST = re.compile(r"#\s*nnx:\s*ignore\s*\[(?P<codes>[^\]]*)\]")


def ignored(document: Document, found: Sequence[Diagnostic]) -> tuple[bytes, int, list[Diagnostic]]:
    """Return a file with a comment for every finding.

    Args:
        document: the file.
        found: its findings.

    Returns:
        The new bytes, how many findings have a comment now, and those that can have none: in the middle of a string,
        or before a backslash.
    """
    by_line: dict[int, list[Diagnostic]] = {}
    for one in found:
        by_line.setdefault(_line(document, one), []).append(one)
    done, refused = 0, []
    for line in sorted(by_line, reverse=True):
        codes = sorted({one.code for one in by_line[line]})
        new = _with_comment(document, line, codes)
        if new is None:
            refused += by_line[line]
        else:
            document = new
            done += len(by_line[line])
    return document.raw, done, refused


def _line(document: Document, one: Diagnostic) -> int:
    """Return the line of the text that a finding begins in."""
    if one.start.cell is None:
        return one.start.line
    for number, start in enumerate(document.line_starts, 1):
        spot = document.spot(start)
        if (spot.cell, spot.line) == (one.start.cell, one.start.line):
            return number
    return 1


def _with_comment(document: Document, line: int, codes: Sequence[str]) -> Document | None:
    """Return the document with codes silenced in a line; None if no comment can stand there."""
    text = document.line(line)
    start = document.line_starts[line - 1]
    comment = next((one for one in layout(document).comments if one.line == line), None)
    match = _LIST.search(comment.text) if comment else None
    if comment is not None and match is not None:
        all_codes = list(dict.fromkeys([*(one.strip() for one in match["codes"].split(",") if one.strip()), *codes]))
        head = start + len(text[: comment.column].encode()) + len(comment.text[: match.start("codes")].encode())
        edit = Edit(head, head + len(match["codes"].encode()), ", ".join(all_codes).encode())
    else:
        end = start + len(text.encode())
        edit = Edit(end, end, f"  # nnx: ignore[{', '.join(codes)}]".encode())
    try:
        new = read_document("x.ipynb" if document.notebook else "x.py", document.render([document.admit(edit)]))
    except (EditRefused, Unreadable):
        return None
    silent = [one for one in layout(new).comments if one.line == line and "nnx: ignore[" in one.text]
    return new if silent else None
