"""Which fixes are made together, and where places move when they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from codemods.nnx.edits import Edit, OverlapError, merged
from codemods.nnx.findings import Finding, Fix
from nnxmigrate.files.document import Document, EditRefused, PlainDocument

Edits = Mapping[str, Sequence[Edit]]

#: What stands for a file that a fix creates.
ABSENT = PlainDocument(b"", b"")


@dataclass
class Choice:
    """Fixes that can be made at the same time.

    Attributes:
        edits: their edits by file.
        fixes: the fixes.
        postponed: fixes that overlap an earlier one.
        refused: why other fixes cannot be made at all.
    """

    edits: dict[str, list[Edit]] = field(default_factory=dict)
    fixes: set[Fix] = field(default_factory=set)
    postponed: set[Fix] = field(default_factory=set)
    refused: dict[Fix, str] = field(default_factory=dict)


def choose(
    findings: Iterable[Finding],
    documents: Mapping[str, Document],
    allowed: Callable[[Fix], bool],
    context: Collection[str] = (),
) -> Choice:
    """Take the allowed fixes of findings, in their order; a fix that overlaps an earlier one has to wait.

    Args:
        findings: what the analysis found.
        documents: all files.
        allowed: whether a fix may be made.
        context: files that may not be changed.
    """
    choice = Choice()
    for finding in findings:
        fix = finding.fix
        if fix is None or fix in choice.fixes or fix in choice.postponed or fix in choice.refused or not allowed(fix):
            continue
        try:
            added = _admitted(fix, documents, context)
            together = {path: merged([*choice.edits.get(path, ()), *edits]) for path, edits in added.items()}
        except EditRefused as error:
            choice.refused[fix] = str(error)
        except OverlapError:
            choice.postponed.add(fix)
        else:
            choice.edits.update(together)
            choice.fixes.add(fix)
    return choice


def _admitted(fix: Fix, documents: Mapping[str, Document], context: Collection[str]) -> dict[str, list[Edit]]:
    """Return the edits of a fix by file, as the files can take them."""
    added: dict[str, list[Edit]] = {}
    for path, edit in fix.edits:
        if path in context or (path not in documents and os.path.lexists(path)):
            raise EditRefused(f"{path} would have to change and is not among the files given")
        added.setdefault(path, []).append(documents.get(path, ABSENT).admit(edit))
    return added


def moved(offset: int, edits: Sequence[Edit]) -> int:
    """Return where a byte is after edits have been made; the start of the new text if it was replaced.

    Args:
        offset: its place before.
        edits: disjoint edits, ascending.
    """
    shift = 0
    for edit in edits:
        if edit.end <= offset:
            shift += len(edit.text) - (edit.end - edit.start)
        elif edit.start <= offset:
            return edit.start + shift
    return offset + shift
