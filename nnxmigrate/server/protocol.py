"""Speaking with the editor: what it says about its texts goes to the workspaces, what is found comes back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import threading
import traceback
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import unquote

import click
from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from codemods.nnx.analyse import Stopped
from codemods.nnx.findings import Finding
from codemods.nnx.rule import Kind
from nnxmigrate.files.discovery import NOTEBOOK, PYTHON
from nnxmigrate.files.document import Document, Unreadable
from nnxmigrate.files.roots import project_root
from nnxmigrate.links import rule_url
from nnxmigrate.server.actions import FIX_ALL, Editor, actions, fix_all
from nnxmigrate.server.cells import OpenNotebook, open_notebook
from nnxmigrate.server.hover import code_at, explained, known
from nnxmigrate.server.places import Places
from nnxmigrate.server.texts import Texts
from nnxmigrate.server.workspace import Checked, Workspace, unsaved
from nnxmigrate.version import __version__

#: Seconds between the last key and the analysis, for the text that is edited and for the others that are open.
SOON, LATER = 0.15, 0.6
#: Seconds after which the editor is told that something takes its time.
PATIENCE = 1.0
#: Bytes of stack for the thread that analyses: syntax may be nested thousands of times.
_STACK = 256 * 1024 * 1024
_WATCHED = ("**/*.py", "**/*.pyi", "**/*.ipynb", "**/pyproject.toml", "**/*requirements*.txt", "**/*.lock")
_UNTITLED = "untitled:"
_LINE = re.compile(r"line (\d+): ")


class _Known(NamedTuple):
    """The last check of an open file.

    Attributes:
        checked: what it found.
        versions: the versions of the editor's texts then.
        neighbours: the files that were analysed with it.
    """

    checked: Checked
    versions: Mapping[str, int | None]
    neighbours: Collection[str]


class Session:
    """One editor's session.

    Args:
        server: the connection.
    """

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._roots: dict[str, Workspace] = {}
        self._texts = Texts()
        self._open: dict[str, str] = {}  # path: address
        self._places: dict[str, Workspace] = {}  # of what is open
        self._known: dict[str, _Known] = {}
        self._shown: dict[str, Checked] = {}  # what the editor shows, perhaps not all that there is
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stops: dict[str, threading.Event] = {}
        self._complaint = ""
        threading.stack_size(_STACK)
        self._thread = ThreadPoolExecutor(1, "analysis")  # one after the other: they share what is known

    # -- texts --------------------------------------------------------------------------------------

    def opened(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """Take a text that the editor opened."""
        self._texts.open(params.text_document)
        self._took(params.text_document.uri)

    def typed(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Take what was typed into a text."""
        self._texts.change(params.text_document, params.content_changes, self._encoding())
        self._took(params.text_document.uri)

    def saved(self, params: lsp.DidSaveTextDocumentParams) -> None:
        """Look around when a file is saved: not every editor tells what changes beside it."""
        path = self._path(params.text_document.uri)
        if path in self._open:
            self._do(self._places[path].reload)
            self._schedule(path, SOON)

    def closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """Forget a text that the editor closed."""
        self._left(params.text_document.uri)
        self._texts.close(params.text_document.uri)

    def _took(self, uri: str) -> None:
        path = self._path(uri)
        if path is not None:
            self._overlay(path, uri, unsaved(self._texts[uri].source))

    def opened_notebook(self, params: lsp.DidOpenNotebookDocumentParams) -> None:
        """Take a notebook that the editor opened."""
        for item in params.cell_text_documents:
            self._texts.open(item)
        self._took_notebook(params.notebook_document.uri)

    def typed_notebook(self, params: lsp.DidChangeNotebookDocumentParams) -> None:
        """Take what was changed in a notebook: cells, or their texts."""
        cells = params.change.cells
        if cells and cells.structure:
            for item in cells.structure.did_open or ():
                self._texts.open(item)
            for gone in cells.structure.did_close or ():
                self._texts.close(gone.uri)
                self._publish(gone.uri, [])
        for change in (cells and cells.text_content) or ():
            self._texts.change(change.document, change.changes, self._encoding())
        self._took_notebook(params.notebook_document.uri)

    def closed_notebook(self, params: lsp.DidCloseNotebookDocumentParams) -> None:
        """Forget a notebook that the editor closed."""
        self._left(params.notebook_document.uri)
        for cell in params.cell_text_documents:
            self._texts.close(cell.uri)

    def _took_notebook(self, uri: str) -> None:
        path = self._path(uri, ".ipynb")
        notebook = self._server.workspace.get_notebook_document(notebook_uri=uri)
        if path is None or notebook is None:
            return
        cells = []
        for number, cell in enumerate(notebook.cells, 1):
            if cell.kind == lsp.NotebookCellKind.Code and cell.document in self._texts:
                text = self._texts[cell.document]
                if text.language in (None, "python"):
                    cells.append((cell.document, number, text.source))
        try:
            self._overlay(path, uri, open_notebook(cells))
        except Unreadable:
            self._left(uri)

    def _overlay(self, path: str, uri: str, document: Document) -> None:
        self._open[path] = uri
        workspace = self._places[path] = self._workspace(path)
        self._do(workspace.overlay, path, document)
        self._schedule(path, SOON)

    def _do(self, change: Callable[..., None], *given: object) -> None:
        """Change a workspace, after what is under way; a wrong configuration is told when it is asked for findings."""

        def run() -> None:
            with contextlib.suppress(click.UsageError):
                change(*given)

        self._thread.submit(run)

    def _left(self, uri: str) -> None:
        path = self._path(uri, ".ipynb")
        if path is None or path not in self._open:
            path = self._path(uri)
        if path is None or path not in self._open:
            return
        self._stop(path)
        del self._open[path]
        known_before = self._known.pop(path, None)
        self._shown.pop(path, None)
        self._do(self._places.pop(path).overlay, path, None)
        for address in _addresses(uri, known_before.checked.document if known_before else None):
            self._publish(address, [])

    def changed_on_disk(self, changes: list[lsp.FileEvent]) -> None:
        """Read what changed beside the editor."""
        paths = [path for path in (self._path(change.uri) for change in changes) if path is not None]
        for workspace in self._roots.values():
            below = [path for path in paths if path.startswith(workspace.root.rstrip(os.sep) + os.sep)]
            if below:
                self._do(workspace.refresh, below)
        for path in self._open:
            self._schedule(path, LATER)

    def moved(self) -> None:
        """Look around after files or folders were made, renamed or deleted in the editor."""
        for workspace in self._roots.values():
            self._do(workspace.reload)
        for path in self._open:
            self._schedule(path, LATER)

    def folders_changed(self) -> None:
        """Find every open text its place among the folders that the editor has now."""
        self._roots.clear()
        for path, uri in list(self._open.items()):
            self._took_notebook(uri) if path.endswith(NOTEBOOK) and uri not in self._texts else self._took(uri)

    def _folders(self) -> list[str]:
        workspace = self._server.workspace
        roots = [*workspace.folders] or ([workspace.root_uri] if workspace.root_uri else [])
        return [path for path in map(_file, roots) if path is not None]

    def _workspace(self, path: str) -> Workspace:
        around = [root for root in self._folders() if path.startswith(root.rstrip(os.sep) + os.sep)]
        root = max(around, key=len, default=None)
        if root is None and not os.path.basename(path).startswith(_UNTITLED):
            root = project_root(os.path.dirname(path))
        if root is not None:
            return self._roots.setdefault(root, Workspace(root))
        return self._roots.setdefault(path, Workspace(os.path.dirname(path), lone=True))

    def _path(self, uri: str, suffix: str = ".py") -> str | None:
        """Return the file that an address means, also of a text that has none yet; None for anything else."""
        if not uri.startswith(_UNTITLED):
            return _file(uri)
        name = unquote(uri.removeprefix(_UNTITLED))
        if not name.endswith((*PYTHON, *NOTEBOOK)):
            name += suffix
        folder = next(iter(self._folders()), os.getcwd())
        return os.path.join(folder, name if os.path.isabs(name) else _UNTITLED + name.replace("/", "_"))

    # -- checks -------------------------------------------------------------------------------------

    def _stop(self, path: str) -> None:
        if path in self._stops:
            self._stops.pop(path).set()
        if path in self._tasks:
            self._tasks.pop(path).cancel()

    def _schedule(self, path: str, delay: float) -> None:
        self._stop(path)
        stop = self._stops[path] = threading.Event()
        self._tasks[path] = asyncio.ensure_future(self._check(path, delay, stop))

    async def _check(self, path: str, delay: float, stop: threading.Event) -> None:
        await asyncio.sleep(delay)
        workspace, uri = self._places[path], self._open[path]
        versions = self._texts.versions()

        def look() -> Checked | None:
            try:
                return workspace.early(path, stop.is_set)
            except Stopped:
                return None

        def run() -> tuple[Checked | None, list[str]]:
            try:
                return workspace.check(path, stop.is_set), workspace.neighbours(path)
            except Stopped:
                return None, []

        try:
            early = await asyncio.wrap_future(self._thread.submit(look))
            if early is not None and not stop.is_set():
                self._show(path, uri, early, versions)
            checked, neighbours = await self._patiently(asyncio.wrap_future(self._thread.submit(run)), stop)
        except click.UsageError as error:
            self._complain(error.format_message())
            return
        except Exception:
            self._log(traceback.format_exc())
            return
        self._complaint = ""
        if checked is None or stop.is_set():
            return
        before = self._known.get(path)
        self._known[path] = _Known(checked, versions, neighbours)
        self._show(path, uri, checked, versions)
        if before is None or before.checked.document.text != checked.document.text:
            for other in {*neighbours, *(before.neighbours if before else ())}:
                if other in self._open and (other not in self._tasks or self._tasks[other].done()):
                    self._schedule(other, LATER)

    async def _patiently(self, work: asyncio.Future[Any], stop: threading.Event) -> Any:
        """Wait for an analysis; tell the editor if it takes long, and let the user cancel it."""
        done, _ = await asyncio.wait([work], timeout=PATIENCE)
        window = self._server.client_capabilities.window
        if done or window is None or not window.work_done_progress:
            return await work
        token = str(uuid.uuid4())
        progress = self._server.work_done_progress
        await progress.create_async(token)
        progress.begin(
            token, lsp.WorkDoneProgressBegin("nnxmigrate", cancellable=True, message="analysing the project")
        )
        try:
            while not done:
                done, _ = await asyncio.wait([work], timeout=0.2)
                if progress.tokens[token].cancelled():
                    stop.set()
            return await work
        finally:
            progress.end(token, lsp.WorkDoneProgressEnd())

    def _complain(self, message: str) -> None:
        if message != self._complaint:  # once, not at every key
            self._complaint = message
            self._server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"nnxmigrate: {message}"))

    def _log(self, words: str) -> None:
        self._server.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, words))

    async def _latest(self, path: str) -> _Known | None:
        """Return the last check of a file, after those that are under way."""
        while path in self._tasks and not self._tasks[path].done():
            await asyncio.wait([self._tasks[path]])
        return self._known.get(path)

    # -- what is shown ------------------------------------------------------------------------------

    def _show(self, path: str, uri: str, checked: Checked, versions: Mapping[str, int | None]) -> None:
        self._shown[path] = checked
        shown: dict[str, list[lsp.Diagnostic]] = {address: [] for address in _addresses(uri, checked.document)}
        for address, _, diagnostic in self._diagnostics(uri, checked):
            shown.setdefault(address, []).append(diagnostic)
        for address, some in shown.items():
            self._publish(address, some, versions.get(address))

    def _diagnostics(self, uri: str, checked: Checked) -> Iterator[tuple[str, Finding | None, lsp.Diagnostic]]:
        places = Places(checked.document, uri, self._encoding())
        for finding in checked.findings:
            address, place = places.range(finding.start, finding.end)
            rule, url = known().get(finding.code), rule_url(finding.code)
            suggested = rule is not None and rule.kind is Kind.SUGGESTED
            yield (
                address,
                finding,
                lsp.Diagnostic(
                    place,
                    finding.message + (f"\n{finding.help}" if finding.help else ""),
                    lsp.DiagnosticSeverity.Information if suggested else lsp.DiagnosticSeverity.Warning,
                    code=finding.code,
                    code_description=lsp.CodeDescription(url) if url else None,
                    source="nnxmigrate",
                    tags=[lsp.DiagnosticTag.Deprecated] if suggested else None,
                    related_information=[
                        lsp.DiagnosticRelatedInformation(lsp.Location(*places.range(one.start, one.end)), one.message)
                        for one in finding.related
                    ]
                    or None,
                ),
            )
        for problem in checked.problems:
            found = _LINE.search(problem)
            starts = checked.document.line_starts
            offset = starts[min(int(found[1]), len(starts)) - 1] if found else 0
            address, place = places.range(offset, offset)
            severity = lsp.DiagnosticSeverity.Information
            yield address, None, lsp.Diagnostic(place, f"not analysed: {problem}", severity, source="nnxmigrate")

    def _publish(self, uri: str, diagnostics: list[lsp.Diagnostic], version: int | None = None) -> None:
        self._server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics, version))

    def _encoding(self) -> str:
        return str(getattr(self._server.workspace.position_encoding, "value", self._server.workspace.position_encoding))

    # -- requests -----------------------------------------------------------------------------------

    async def offered(self, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        """Return what can be done at a place."""
        path = self._file_of(params.text_document.uri)
        latest = await self._latest(path) if path is not None else None
        if path is None or latest is None or path not in self._open:
            return []
        editor = self._editor(latest)
        workspace = self._places[path]
        wanted = params.context.only
        hit = [
            (finding, shown)
            for address, finding, shown in self._diagnostics(self._open[path], latest.checked)
            if finding is not None and address == params.text_document.uri and _meet(shown.range, params.range)
        ]

        def run() -> list[lsp.CodeAction]:
            made = [*actions(path, latest.checked, hit, workspace, editor)] if _asked("quickfix", wanted) else []
            if wanted and _asked(FIX_ALL, wanted):
                made += fix_all(path, latest.checked, workspace, editor)
            return made

        return await asyncio.wrap_future(self._thread.submit(run))

    async def explanation(self, params: lsp.HoverParams) -> lsp.Hover | None:
        """Return what the rules say about a place."""
        uri = params.text_document.uri
        path = self._file_of(uri)
        if path is not None and path not in self._shown:
            await self._latest(path)
        if path is None or path not in self._shown or uri not in self._texts:
            return None
        here = lsp.Range(params.position, params.position)
        codes = {
            finding.code: shown.range
            for address, finding, shown in self._diagnostics(self._open[path], self._shown[path])
            if finding is not None and address == uri and _meet(shown.range, here)
        }
        text = self._texts[uri]
        named = code_at(text.line(params.position.line), text.column(params.position, self._encoding()))
        if named:
            codes.setdefault(named, here)
        words = "\n\n---\n\n".join(filter(None, map(explained, codes)))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, words)) if words else None

    def _file_of(self, uri: str) -> str | None:
        """Return the open file that an address, perhaps that of a cell, belongs to."""
        path = self._path(uri)
        if path in self._open:
            return path
        for name, shown in self._shown.items():
            if uri in _addresses(self._open.get(name, ""), shown.document):
                return name
        return None

    def _editor(self, latest: _Known) -> Editor:
        workspace = self._server.client_capabilities.workspace
        edits = workspace.workspace_edit if workspace else None
        creates = bool(edits and lsp.ResourceOperationKind.Create in (edits.resource_operations or ()))
        addresses = dict(self._open)
        return Editor(
            self._encoding(),
            latest.versions,
            creates,
            bool(edits and edits.document_changes),
            lambda path: addresses.get(path) or uris.from_fs_path(path) or "",
        )

    async def watch(self) -> None:
        """Ask the editor to tell what changes on the disk."""
        workspace = self._server.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace else None
        if watched and watched.dynamic_registration:
            options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher(glob) for glob in _WATCHED])
            registration = lsp.Registration(str(uuid.uuid4()), lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            with contextlib.suppress(Exception):  # an editor that refuses tells when a file is saved all the same
                await self._server.client_register_capability_async(lsp.RegistrationParams([registration]))

    def end(self) -> None:
        """Stop all work."""
        for path in list(self._tasks):
            self._stop(path)
        self._thread.shutdown(wait=False, cancel_futures=True)


def _file(uri: str) -> str | None:
    """Return the file that an address means; None if it is that of something else, as a cell."""
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return os.path.abspath(path) if path else None


def _addresses(uri: str, document: Document | None) -> list[str]:
    """Return the addresses under which a document's findings are shown."""
    return [cell.key for cell in document.cells] if isinstance(document, OpenNotebook) else [uri]


def _meet(one: lsp.Range, other: lsp.Range) -> bool:
    return _pair(one.start) <= _pair(other.end) and _pair(other.start) <= _pair(one.end)


def _pair(position: lsp.Position) -> tuple[int, int]:
    return position.line, position.character


def _asked(kind: str, wanted: Any) -> bool:
    """Say whether a kind of action is among those that the editor asks for; kinds have sub-kinds behind dots."""
    kinds = [str(getattr(one, "value", one)) for one in wanted or ()]
    return not kinds or any(kind == one or kind.startswith(f"{one}.") for one in kinds)


def create() -> LanguageServer:
    """Return a server that has not been started."""
    jupyter = lsp.NotebookDocumentFilterWithNotebook(
        notebook="jupyter-notebook", cells=[lsp.NotebookCellLanguage(language="python")]
    )
    server = LanguageServer(
        "nnxmigrate",
        __version__,
        text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental,
        notebook_document_sync=lsp.NotebookDocumentSyncOptions(notebook_selector=[jupyter], save=True),
    )
    session = Session(server)
    handlers: dict[str, Callable[[Any], Any]] = {
        lsp.TEXT_DOCUMENT_DID_OPEN: lambda params: session.opened(params),
        lsp.TEXT_DOCUMENT_DID_CHANGE: lambda params: session.typed(params),
        lsp.TEXT_DOCUMENT_DID_SAVE: lambda params: session.saved(params),
        lsp.TEXT_DOCUMENT_DID_CLOSE: lambda params: session.closed(params),
        lsp.NOTEBOOK_DOCUMENT_DID_OPEN: lambda params: session.opened_notebook(params),
        lsp.NOTEBOOK_DOCUMENT_DID_CHANGE: lambda params: session.typed_notebook(params),
        lsp.NOTEBOOK_DOCUMENT_DID_CLOSE: lambda params: session.closed_notebook(params),
        lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: lambda params: session.changed_on_disk(params.changes),
        lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: lambda params: session.folders_changed(),
        lsp.SHUTDOWN: lambda params: session.end(),
    }
    for method, handler in handlers.items():
        server.feature(method)(handler)

    every = lsp.FileOperationRegistrationOptions([lsp.FileOperationFilter(lsp.FileOperationPattern("**/*"), "file")])
    for method in (
        lsp.WORKSPACE_DID_CREATE_FILES,
        lsp.WORKSPACE_DID_RENAME_FILES,
        lsp.WORKSPACE_DID_DELETE_FILES,
    ):
        server.feature(method, every)(lambda params: session.moved())

    async def initialized(params: lsp.InitializedParams) -> None:
        await session.watch()

    async def offered(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return await session.offered(params)

    async def explanation(params: lsp.HoverParams) -> lsp.Hover | None:
        return await session.explanation(params)

    server.feature(lsp.INITIALIZED)(initialized)
    server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, FIX_ALL]))(
        offered
    )
    server.feature(lsp.TEXT_DOCUMENT_HOVER)(explanation)
    return server
