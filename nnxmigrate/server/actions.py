"""What an editor can offer to do about findings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lsprotocol import types as lsp

from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding, Safety
from nnxmigrate.files.discovery import NOTEBOOK
from nnxmigrate.files.document import EditRefused
from nnxmigrate.fixing import ABSENT
from nnxmigrate.server.cells import OpenNotebook
from nnxmigrate.server.ignoring import ignoring
from nnxmigrate.server.places import Places
from nnxmigrate.server.workspace import Checked, Workspace

FIX_ALL = "source.fixAll.nnxmigrate"


class Editor(NamedTuple):
    """What is known about the editor.

    Attributes:
        encoding: the encoding whose units its columns count.
        versions: the versions of open texts by address, as the analysis saw them.
        creates: whether it makes files as part of an edit.
        versioned: whether it checks the versions of what an edit changes.
        uri: the address of a file.
    """

    encoding: str
    versions: Mapping[str, int | None]
    creates: bool
    versioned: bool
    uri: Callable[[str], str]

    def edit(self, edits: Mapping[str, Sequence[Edit]], checked: Checked) -> lsp.WorkspaceEdit | None:
        """Return edits of files as one edit of the workspace, all or nothing; None if it cannot be made."""
        changes: dict[str, list[lsp.TextEdit]] = {}
        made: list[str] = []
        for path, some in edits.items():
            document = checked.others.get(path)
            if document is None:
                if not (self.creates and self.versioned) or os.path.lexists(path):
                    return None
                made.append(self.uri(path))
            elif path.endswith(NOTEBOOK) and not isinstance(document, OpenNotebook):
                return None  # its cells have no addresses unless it is open
            try:
                for uri, texts in Places(document or ABSENT, self.uri(path), self.encoding).edits(some).items():
                    changes.setdefault(uri, []).extend(texts)
            except EditRefused:
                return None
        if not self.versioned:
            return lsp.WorkspaceEdit(changes=changes)
        parts: list[lsp.TextDocumentEdit | lsp.CreateFile | lsp.RenameFile | lsp.DeleteFile] = []
        parts += [lsp.CreateFile(uri, options=lsp.CreateFileOptions(overwrite=False)) for uri in made]
        for uri, texts in changes.items():
            identifier = lsp.OptionalVersionedTextDocumentIdentifier(uri, self.versions.get(uri))
            parts.append(lsp.TextDocumentEdit(identifier, list(texts)))
        return lsp.WorkspaceEdit(document_changes=parts)


def actions(
    path: str,
    checked: Checked,
    hit: Sequence[tuple[Finding, lsp.Diagnostic]],
    workspace: Workspace,
    editor: Editor,
) -> Iterator[lsp.CodeAction]:
    """Yield what can be done about the findings at a place.

    Args:
        path: the file.
        checked: its findings.
        hit: the findings at the place, with what the editor shows of them.
        workspace: the project.
        editor: the editor.
    """
    for finding, shown in hit:
        fix = finding.fix
        if fix is not None:
            edits = workspace.together([finding], checked, unsafe=True)
            edit = editor.edit(edits, checked) if edits else None
            if edit is not None:
                title = _title(finding) + ("" if fix.safety is Safety.SAFE else " (may change what the program does)")
                yield lsp.CodeAction(
                    title, lsp.CodeActionKind.QuickFix, [shown], is_preferred=fix.safety is Safety.SAFE, edit=edit
                )
    for code in dict.fromkeys(finding.code for finding, _ in hit):
        alike = [one for one in checked.findings if one.code == code and one.fix is not None]
        if len({one.fix for one in alike}) > 1:
            yield from _all(
                alike, f"Fix all {code} in this file", lsp.CodeActionKind.QuickFix, checked, workspace, editor
            )
    for finding, shown in hit:
        comment = ignoring(finding, checked.document)
        if comment is not None:
            edit = editor.edit({path: [comment]}, checked)
            if edit is not None:
                title = f"Ignore {finding.code} in this line"
                yield lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, [shown], edit=edit)


def fix_all(path: str, checked: Checked, workspace: Workspace, editor: Editor) -> Iterator[lsp.CodeAction]:
    """Yield the action that makes all safe fixes that concern one file alone, as editors ask for when they save it."""
    own = [one for one in checked.findings if one.fix is not None and one.fix.paths == {path}]
    yield from _all(own, "Make all safe fixes of nnxmigrate", FIX_ALL, checked, workspace, editor)


def _all(
    findings: Sequence[Finding], title: str, kind: str, checked: Checked, workspace: Workspace, editor: Editor
) -> Iterator[lsp.CodeAction]:
    edits = workspace.together(findings, checked)
    edit = editor.edit(edits, checked) if edits else None
    if edit is not None:
        yield lsp.CodeAction(title, kind, edit=edit)


def _title(finding: Finding) -> str:
    assert finding.fix is not None
    files = len(finding.fix.paths)
    if finding.code.startswith("NNX1"):
        where = f" ({files} files)" if files > 1 else ""
        return f"Migrate this optimizer everywhere it is used{where}"
    words = finding.help or finding.message
    return f"{finding.code}: {words}" + (f" ({files} files)" if files > 1 else "")
