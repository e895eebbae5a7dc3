"""Comments that silence findings: ``# nnx: ignore[NNX101]``, ``# nnx: ignore`` and ``# nnx: ignore-file``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from codemods.nnx.findings import Finding
from codemods.nnx.options import Options
from nnxmigrate.comments import Comment, layout
from nnxmigrate.files.document import Document
from nnxmigrate.perfile import PerFile

_WORTH_READING = re.compile(rb"#\s*nnx:\s*ignore")
_COMMENT = re.compile(
    r"#\s*nnx:\s*ignore(?P<file>-file)?(?![-\w])"
    r"(?:\s*\[(?P<codes>[^\]]*\w[^\]]*)\]|(?P<bad>\s*[:(\[][^#]*|\s+[A-Z]{2,4}\d[^#]*))?"
)


@dataclass(eq=False)
class Suppression:
    """A comment that silences findings.

    Attributes:
        path: the source's path.
        line: its line.
        start: offset of its first byte.
        end: offset behind its last byte.
        codes: codes or prefixes; empty for all.
        malformed: whether it means to name codes in a way that is not read; it silences nothing then.
        whole_file: whether it speaks about the whole file.
        used: the codes, as written, that silenced something.
    """

    path: str
    line: int
    start: int
    end: int
    codes: tuple[str, ...]
    whole_file: bool
    malformed: bool = False
    used: set[str] = field(default_factory=set)

    def silences(self, code: str, lines: range) -> bool:
        """Say whether it speaks about a finding, and note that it was needed."""
        if self.malformed or (not self.whole_file and self.line not in lines):
            return False
        hit = {written for written in self.codes or ("",) if code.startswith(written)}
        self.used |= hit
        return bool(hit)


class Sifted(NamedTuple):
    """Findings, divided by what the comments say."""

    kept: list[Finding]
    silenced: list[Finding]
    suppressions: list[Suppression]


def sift(findings: Sequence[Finding], documents: Mapping[str, Document], per_file: PerFile | None = None) -> Sifted:
    """Divide findings into those to report and those that a comment, or the configuration, silences.

    A comment silences the findings whose place covers its line, ``ignore-file`` all of its file.
    """
    suppressions = [found for path, document in documents.items() for found in _suppressions(path, document)]
    by_path: dict[str, list[Suppression]] = {}
    for suppression in suppressions:
        by_path.setdefault(suppression.path, []).append(suppression)
    kept: list[Finding] = []
    silenced: list[Finding] = []
    for finding in findings:
        candidates = by_path.get(finding.path, [])
        hits = [one.silences(finding.code, _lines(finding, documents[finding.path])) for one in candidates]
        hits += [per_file is not None and per_file.silences(finding.path, finding.code)]
        (silenced if any(hits) else kept).append(finding)
    return Sifted(kept, silenced, suppressions)


def codes_in(line: str) -> tuple[str, ...] | None:
    """Return the codes that a comment in a line silences, empty for all; None if there is no such comment."""
    from nnxmigrate.rules import code_of

    match = _COMMENT.search(line)
    if match is None or match["file"] or match["bad"]:
        return None
    return tuple(code_of(code.strip()) for code in (match["codes"] or "").split(",") if code.strip())


def unused(suppressions: Sequence[Suppression], options: Options) -> Iterator[Finding]:
    """Yield a finding for every suppression, or code in one, that silenced nothing.

    Args:
        suppressions: those of a :class:`Sifted`.
        options: what the run looked for; codes that it did not look for may well be needed in another run.

    A comment that names this rule too, as ``# nnx: ignore[NNX101, NNX001]``, may be needless; ``ignore-file[NNX001]``
    says that of all in the file.
    """
    if not suppressions:
        return  # and import no rules
    from nnxmigrate.rules import UNUSED, known, looked_for

    if any(UNUSED.code.startswith(prefix) for prefix in options.ignore):
        return
    silent = {one.path for one in suppressions if one.whole_file and UNUSED.code in one.codes}
    for one in suppressions:
        if one.path in silent or UNUSED.code in one.codes:
            continue
        if one.malformed:
            help_text = "name codes in brackets, as `# nnx: ignore[NNX101, NNX102]`, or none"
            yield Finding(UNUSED.code, one.path, one.start, one.end, "this comment silences nothing", help_text)
            continue
        unknown = [code for code in one.codes if not known(code)]
        idle = [code for code in one.codes if code not in one.used and looked_for(code, options)]
        if unknown:
            message = f"there is no rule {', '.join(unknown)}"
        elif idle:
            message = f"{', '.join(idle)} is not found here"
        elif not one.codes and not one.used and not options.select and not options.ignore:
            message = "nothing is found here"
        else:
            continue
        yield Finding(UNUSED.code, one.path, one.start, one.end, message, "remove the comment or the code")


def _suppressions(path: str, document: Document) -> Iterator[Suppression]:
    if not _WORTH_READING.search(document.text):
        return
    from nnxmigrate.rules import code_of

    for comment in layout(document).comments:
        match = _COMMENT.search(comment.text)
        if match:
            codes = tuple(code_of(code.strip()) for code in (match["codes"] or "").split(",") if code.strip())
            start = _offset(document, comment) + len(comment.text[: match.start()].encode())
            end = start + len(match.group().encode())
            yield Suppression(path, comment.line, start, end, codes, bool(match["file"]), bool(match["bad"]))


def _offset(document: Document, comment: Comment) -> int:
    line = document.line(comment.line)
    return document.line_starts[comment.line - 1] + len(line[: comment.column].encode())


def _lines(finding: Finding, document: Document) -> range:
    first, _ = document.line_and_column(finding.start)
    last, _ = document.line_and_column(max(finding.end - 1, finding.start))
    return range(first, last + 1)
