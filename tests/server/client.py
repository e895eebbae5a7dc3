"""An editor for tests: the real client of pygls, speaking with the real server in its own process."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

LIMIT = 60


class Editor:
    """An editor with texts open.

    Args:
        root: the folder that it works in.
        encodings: the encodings that it offers, by preference; None to say nothing.
        folders: the folders below it that are open; None if there are none.
        watches: whether it tells what changes on the disk.
    """

    def __init__(
        self,
        root: Path,
        encodings: Sequence[str] | None = None,
        folders: Sequence[str] | None = (".",),
        watches: bool = True,
    ) -> None:
        self.root = root
        self.encodings = encodings
        self.folders = folders
        self.watches = watches
        self.client = LanguageClient("test", "1")
        self.found: dict[str, list[lsp.Diagnostic]] = {}
        self.progress: list[Any] = []
        self.messages: list[str] = []
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self._news: dict[str, asyncio.Event] = {}
        self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._published(params))
        self.client.feature(lsp.PROGRESS)(lambda params: self.progress.append(params))
        self.client.feature(lsp.WINDOW_WORK_DONE_PROGRESS_CREATE)(lambda params: None)
        self.client.feature(lsp.WINDOW_SHOW_MESSAGE)(lambda params: self.messages.append(params.message))
        self.client.feature(lsp.CLIENT_REGISTER_CAPABILITY)(lambda params: self._registered(params))
        self.watched: list[Any] = []

    def _registered(self, params: lsp.RegistrationParams) -> None:
        self.watched += params.registrations

    def _published(self, params: lsp.PublishDiagnosticsParams) -> None:
        self.found[params.uri] = list(params.diagnostics)
        if params.version in (None, self.versions.get(params.uri)):
            self._event(params.uri).set()

    def _event(self, uri: str) -> asyncio.Event:
        return self._news.setdefault(uri, asyncio.Event())

    async def start(self, command: Sequence[str]) -> lsp.InitializeResult:
        """Start the server and greet it."""
        await self.client.start_io(sys.executable, *command, cwd=str(self.root))
        general = lsp.GeneralClientCapabilities(position_encodings=list(self.encodings)) if self.encodings else None
        capabilities = lsp.ClientCapabilities(
            general=general,
            window=lsp.WindowClientCapabilities(work_done_progress=True),
            workspace=lsp.WorkspaceClientCapabilities(
                workspace_edit=lsp.WorkspaceEditClientCapabilities(
                    document_changes=True, resource_operations=[lsp.ResourceOperationKind.Create]
                ),
                did_change_watched_files=lsp.DidChangeWatchedFilesClientCapabilities(self.watches),
                file_operations=lsp.FileOperationClientCapabilities(did_create=True, did_rename=True, did_delete=True),
            ),
        )
        folders = None if self.folders is None else [self.folder(name) for name in self.folders]
        greeting = lsp.InitializeParams(
            capabilities, process_id=None, root_uri=folders[0].uri if folders else None, workspace_folders=folders
        )
        answer = await self.client.initialize_async(greeting)
        self.client.initialized(lsp.InitializedParams())
        return answer

    async def stop(self) -> None:
        """Take leave of the server."""
        await self.client.shutdown_async(None)
        self.client.exit(None)
        stop: Any = self.client.stop  # it has no types
        await stop()

    def uri(self, name: str) -> str:
        """Return the address of a file, or of a text that has no file yet."""
        return name if name.startswith("untitled:") else (self.root / name).as_uri()

    def folder(self, name: str) -> lsp.WorkspaceFolder:
        """Return an open folder."""
        return lsp.WorkspaceFolder((self.root / name).resolve().as_uri(), name)

    async def open(self, name: str, text: str | None = None) -> list[lsp.Diagnostic]:
        """Open a file, with another text than its own if one is given, and return what is found."""
        uri = self.uri(name)
        self.texts[uri] = (self.root / name).read_bytes().decode() if text is None else text
        self.versions[uri] = 1
        item = lsp.TextDocumentItem(uri, "python", 1, self.texts[uri])
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self.news(uri)

    async def type(self, name: str, text: str) -> list[lsp.Diagnostic]:
        """Replace the whole text and return what is found then."""
        self.say(name, text)
        return await self.news(self.uri(name))

    def say(self, name: str, text: str) -> None:
        """Replace the whole text without waiting."""
        uri = self.uri(name)
        self._event(uri).clear()
        self.versions[uri] += 1
        self.texts[uri] = text
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def insert(self, name: str, line: int, character: int, text: str) -> list[lsp.Diagnostic]:
        """Type a text at a place, tell only that, and return what is found then."""
        uri = self.uri(name)
        self._event(uri).clear()
        self.versions[uri] += 1
        here = lsp.Position(line, character)
        change = lsp.TextDocumentContentChangePartial(lsp.Range(here, here), text)
        self.texts[uri] = edited(self.texts[uri], [lsp.TextEdit(change.range, text)])
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(self.versions[uri], uri), [change])
        )
        return await self.news(uri)

    async def news(self, uri: str) -> list[lsp.Diagnostic]:
        """Wait for diagnostics and return them."""
        await asyncio.wait_for(self._event(uri).wait(), LIMIT)
        self._event(uri).clear()
        return self.found[uri]

    async def actions(self, uri: str, where: lsp.Range, only: list[str] | None = None) -> list[lsp.CodeAction]:
        """Return what is offered at a place."""
        context = lsp.CodeActionContext([], only=only)
        offered = await self.client.text_document_code_action_async(
            lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), where, context)
        )
        return [one for one in offered or [] if isinstance(one, lsp.CodeAction)]

    async def hover(self, uri: str, line: int, character: int) -> str:
        """Return what is shown at a place."""
        answer = await self.client.text_document_hover_async(
            lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(line, character))
        )
        return answer.contents.value if answer and isinstance(answer.contents, lsp.MarkupContent) else ""

    def applied(self, edit: lsp.WorkspaceEdit | None, units: str = "utf-16") -> dict[str, str]:
        """Return the texts after an edit, by the names of their files; versions must be those of the open texts."""
        assert edit is not None
        assert edit.document_changes is not None
        result: dict[str, str] = {}
        for change in edit.document_changes:
            if isinstance(change, lsp.CreateFile):
                self.texts[change.uri] = ""
                continue
            assert isinstance(change, lsp.TextDocumentEdit)
            uri = change.text_document.uri
            assert change.text_document.version == self.versions.get(uri)
            text = self.texts.get(uri)
            if text is None:
                text = Path(uri.removeprefix("file://")).read_text()
            result[uri.rpartition("/")[2]] = edited(text, list(change.edits), units)
        return result


def edited(text: str, edits: Sequence[Any], units: str = "utf-16") -> str:
    """Return a text after edits, whose columns count units of an encoding."""
    codec, width = {"utf-16": ("utf-16-le", 2), "utf-8": ("utf-8", 1), "utf-32": ("utf-32-le", 4)}[units]
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)

    def offset(position: lsp.Position) -> int:
        line = lines[position.line] if position.line < len(lines) else ""
        head = line.encode(codec)[: position.character * width].decode(codec)
        return sum(map(len, lines[: position.line])) + len(head)

    spans = sorted(((offset(e.range.start), offset(e.range.end), e.new_text) for e in edits), reverse=True)
    for start, end, new in spans:
        text = text[:start] + new + text[end:]
    return text


def session(
    root: Path,
    scenario: Callable[[Editor], Awaitable[None]],
    encodings: Sequence[str] | None = None,
    command: Sequence[str] = ("-m", "nnxmigrate", "server"),
    folders: Sequence[str] | None = (".",),
    watches: bool = True,
) -> None:
    """Run a scenario with an editor, see :class:`Editor`; the command is what Python runs as the server."""

    async def run() -> None:
        editor = Editor(root, encodings, folders, watches)
        await editor.start(command)
        try:
            await scenario(editor)
        finally:
            await editor.stop()

    asyncio.run(asyncio.wait_for(run(), 3 * LIMIT))
