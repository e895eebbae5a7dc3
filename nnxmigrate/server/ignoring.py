"""Comments that silence a finding, written for the user."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding
from nnxmigrate.files.document import Document, EditRefused

_COMMENT = re.compile(r"#\s*nnx:\s*ignore\s*\[([^\]]*)\]")


def ignoring(finding: Finding, document: Document) -> Edit | None:
    """Return the edit that silences a finding in its line; None if no line of it can take a comment."""
    first, _ = document.line_and_column(finding.start)
    last, _ = document.line_and_column(max(finding.end - 1, finding.start))
    for number in _lines_that_end(document):
        if first <= number <= last:
            edit = _written(finding.code, number, document)
            try:
                return document.admit(edit)
            except EditRefused:  # a magic
                continue
    return None


def _written(code: str, number: int, document: Document) -> Edit:
    line = document.line(number)
    start = document.line_starts[number - 1]
    found = _COMMENT.search(line)
    if found is not None:
        place = start + len(line[: found.end(1)].encode())
        return Edit(place, place, f", {code}".encode() if found[1].strip() else code.encode())
    place = start + len(line.encode())
    blanks = "" if line.endswith("  ") else "  "
    return Edit(place, place, f"{blanks}# nnx: ignore[{code}]".encode())


def _lines_that_end(document: Document) -> Iterator[int]:
    """Yield the 1-based lines that end where a token ends, not within a string or before a backslash."""
    text = document.text.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    try:
        for kind, _, (line, _), _, _ in tokenize.generate_tokens(io.StringIO(text).readline):
            if kind in (tokenize.NEWLINE, tokenize.NL):
                yield line
    except (tokenize.TokenError, SyntaxError):
        return
