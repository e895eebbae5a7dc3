"""Comments that mark where hand work remains: ``# TODO(nnxmigrate): NNX123 what is wrong``."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding
from nnxmigrate.comments import Layout, layout
from nnxmigrate.files.document import Document, EditRefused

PREFIX = "# TODO(nnxmigrate): "
#: Ends a comment that no later run can check, since its finding showed beside others that are fixed now.
ONCE = " (remove this comment once done)"
_MARK = re.compile(rb"#[ \t]*TODO\(nnxmigrate\)")
_CODE = re.compile(r"#[ \t]*TODO\(nnxmigrate\):\s*(?P<code>\w+)\s*(?P<message>.*)")

Looked = Callable[[str], bool]
Key = tuple[str, str, int]


def marks(
    findings: Iterable[Finding],
    documents: Mapping[str, Document],
    once: Collection[Key] = (),
    looked: Looked = lambda code: True,
) -> dict[str, list[Edit]]:
    """Return the edits that leave exactly one comment above each statement with a finding, and none elsewhere.

    A comment whose finding is gone stays if this run could not have seen it.

    Args:
        findings: what is left to do.
        documents: the files that may be changed.
        once: code, path and start of those findings that no later run will see.
        looked: says whether this run looked for a rule.
    """
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    edits: dict[str, list[Edit]] = {}
    for path, document in documents.items():
        if path in by_path or _MARK.search(document.text):
            changes = _edits(document, by_path.get(path, []), once, looked)
            if changes:
                edits[path] = changes
    return edits


def standing(documents: Mapping[str, Document], findings: Iterable[Finding], looked: Looked) -> Iterator[Finding]:
    """Yield a finding for every comment that still stands and that is not explained by a finding of this run.

    Args:
        documents: the files.
        findings: what this run found.
        looked: says whether this run looked for a rule.
    """
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    for path, document in documents.items():
        if not _MARK.search(document.text):
            continue
        lines = layout(document)
        known = {(one.code, _statement(document, lines, one)) for one in by_path.get(path, [])}
        for below, comments in _present(lines).items():
            for line, text in comments:
                match = _CODE.match(text)
                if match and (match["code"], below) not in known and _stays(text, looked):
                    at = below or line
                    start = document.line_starts[at - 1]
                    code = document.line(at)
                    start += len(code[: len(code) - len(code.lstrip())].encode())
                    end = start + len(code.strip().encode())
                    message = match["message"].removesuffix(ONCE)
                    yield Finding(match["code"], path, start, end, message, "remove the comment once it is done")


def _stays(text: str, looked: Looked) -> bool:
    match = _CODE.match(text)
    return text.endswith(ONCE) or (match is not None and not looked(match["code"]))


def _statement(document: Document, lines: Layout, finding: Finding) -> int:
    return lines.statement(document.line_and_column(finding.start)[0])


def _edits(document: Document, findings: Iterable[Finding], once: Collection[Key], looked: Looked) -> list[Edit]:
    lines = layout(document)
    wanted: dict[int, list[str]] = {}
    for finding in findings:
        line = _statement(document, lines, finding)
        text = f"{PREFIX}{finding.code} {finding.message}"
        if (finding.code, finding.path, finding.start) in once:
            text += ONCE
        if text not in wanted.setdefault(line, []):
            wanted[line].append(text)
    edits = []
    present = _present(lines)
    for line in sorted(wanted.keys() | present.keys()):
        old = present.get(line, [])
        kept = [text for _, text in old if line and _stays(text, looked)]
        said = {text.removesuffix(ONCE) for text in kept}
        new = [*kept, *(text for text in wanted.get(line, []) if text.removesuffix(ONCE) not in said)]
        if [text for _, text in old] != new:
            edits += [_removed(document, number) for number, _ in old]
            edits += _inserted(document, line, new)
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
    if not texts or not line:
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
