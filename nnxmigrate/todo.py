"""Comments that mark where hand work remains: ``# TODO(nnxmigrate): NNX123 what is wrong``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding
from nnxmigrate.comments import Layout, layout
from nnxmigrate.files.document import Document, EditRefused

PREFIX = "# TODO(nnxmigrate): "
_MARK = re.compile(rb"#[ \t]*TODO\(nnxmigrate\)")


def marks(findings: Iterable[Finding], documents: Mapping[str, Document]) -> dict[str, list[Edit]]:
    """Return the edits that leave exactly one comment above each statement with a finding, and none elsewhere.

    Args:
        findings: what is left to do.
        documents: the files that may be changed.
    """
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    edits: dict[str, list[Edit]] = {}
    for path, document in documents.items():
        if path in by_path or _MARK.search(document.text):
            changes = _edits(document, by_path.get(path, []))
            if changes:
                edits[path] = changes
    return edits


def _edits(document: Document, findings: Iterable[Finding]) -> list[Edit]:
    lines = layout(document)
    wanted: dict[int, list[str]] = {}
    for finding in findings:
        line = lines.statement(document.line_and_column(finding.start)[0])
        text = f"{PREFIX}{finding.code} {finding.message}"
        if text not in wanted.setdefault(line, []):
            wanted[line].append(text)
    edits = []
    present = _present(lines)
    for line in sorted(wanted.keys() | present.keys()):
        old = present.get(line, [])
        if [text for _, text in old] != wanted.get(line, []):
            edits += [_removed(document, number) for number, _ in old]
            edits += _inserted(document, line, wanted.get(line, []))
    return edits


def _present(lines: Layout) -> dict[int, list[tuple[int, str]]]:
    """Return the marks that are there, each with its line, by the line of the statement below them."""
    found: dict[int, list[tuple[int, str]]] = {}
    for comment in lines.comments:
        if comment.alone and _MARK.match(comment.text.encode()):
            below = next((line for line in lines.logical if line > comment.line), 0)
            found.setdefault(below, []).append((comment.line, comment.text))
    return found


def _removed(document: Document, line: int) -> Edit:
    starts = [*document.line_starts, len(document.text)]
    return Edit(starts[line - 1], starts[line], b"")


def _inserted(document: Document, line: int, texts: list[str]) -> list[Edit]:
    """Return the insertion of comments above a line, in its indentation; none where the file cannot take them."""
    if not texts:
        return []
    start = document.line_starts[line - 1]
    code = document.line(line)
    indent = code[: len(code) - len(code.lstrip())]
    end = re.search(rb"\r\n|\r|\n", document.text)
    newline = end.group().decode() if end else "\n"
    edit = Edit(start, start, "".join(f"{indent}{text}{newline}" for text in texts).encode())
    try:
        return [document.admit(edit)]
    except EditRefused:
        return []
