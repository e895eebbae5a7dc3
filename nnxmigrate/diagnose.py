"""From findings, which count bytes, to diagnostics, which people read."""

from __future__ import annotations

import re
from collections.abc import Mapping

from codemods.nnx.findings import Finding, Fix
from nnxmigrate.files.document import Document, EditRefused
from nnxmigrate.fixing import ABSENT
from nnxmigrate.outcome import Diagnostic, RelatedPlace, Replacement

_LINE = re.compile(r"\bline (\d+)\b(?! of \S+\.(?:py|ipynb|md)\b)")  # that of another file is no line of a cell


def diagnostic(
    finding: Finding, documents: Mapping[str, Document], refused: Mapping[Fix, str] | None = None
) -> Diagnostic:
    """Return the diagnostic of a finding.

    Args:
        finding: the finding.
        documents: the texts that its offsets, and those of its fix, refer to.
        refused: why fixes cannot be made.
    """
    document = documents[finding.path]
    reason = (refused or {}).get(finding.fix) if finding.fix else None
    help_text = "; ".join(filter(None, (finding.help, f"not fixed: {reason}" if reason else "")))
    replacements = () if reason or finding.fix is None else _replacements(finding.fix, documents)
    return Diagnostic(
        finding.code,
        finding.path,
        document.spot(finding.start),
        document.spot(finding.end),
        _placed(finding.message, document),
        _placed(help_text, document),
        document.line(document.line_and_column(finding.start)[0]),
        finding.fix.safety if finding.fix and (replacements or (not reason and drafted(finding.fix))) else None,
        replacements,
        related=tuple(
            RelatedPlace(document.spot(one.start), document.spot(one.end), one.message) for one in finding.related
        ),
    )


def _placed(text: str, document: Document) -> str:
    """Return words with their lines named as the reader counts them: in a notebook, by the cell."""
    if not document.notebook:
        return text

    def named(match: re.Match[str]) -> str:
        number = int(match[1])
        if not 0 < number <= len(document.line_starts):
            return match[0]
        spot = document.spot(document.line_starts[number - 1])
        return f"cell {spot.cell}, line {spot.line}"

    return _LINE.sub(named, text)


def drafted(fix: Fix) -> bool:
    """Say whether parts of a fix were left open, as lint leaves them unless it makes fixes."""
    return any(edit.draft for _, edit in fix.edits)


def _replacements(fix: Fix, documents: Mapping[str, Document]) -> tuple[Replacement, ...]:
    """Return the parts of a fix; none if a file cannot take them, or if some were left open."""
    if drafted(fix):
        return ()
    parts = []
    for path, wanted in fix.edits:
        document = documents.get(path, ABSENT)
        try:
            edit = document.admit(wanted)
        except EditRefused:
            return ()
        parts.append(Replacement(path, document.spot(edit.start), document.spot(edit.end), edit.text.decode("utf-8")))
    return tuple(parts)
