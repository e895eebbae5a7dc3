"""The files of a project with the editor's unsaved texts over them, and the findings in one of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from codemods.nnx.edits import Edit, merged, spliced
from codemods.nnx.findings import Finding, Fix, Safety
from codemods.nnx.options import Options
from codemods.nnx.source import Source
from codemods.nnx.walk import walk
from nnxmigrate.analysing import analysed
from nnxmigrate.cli.common import Choices
from nnxmigrate.files.discovery import NOTEBOOK, PYTHON, discover
from nnxmigrate.files.document import Document, PlainDocument, Unreadable
from nnxmigrate.files.imports import ImportGraph, Module, module_names
from nnxmigrate.fixing import ABSENT, choose
from nnxmigrate.project import Project, concerned, read_document
from nnxmigrate.server.early import Carried, alone
from nnxmigrate.suppress import sift, unused

Texts = Mapping[str, str]

#: Bytes of a project, and processor seconds of its last check, from which on something is said early.
LARGE, SLOW = 300_000, 0.4


@dataclass(frozen=True)
class Checked:
    """What an analysis says about one file.

    Attributes:
        document: the text that the findings are about.
        findings: what was found, in order of the places.
        problems: why the file could not be read or analysed.
        others: the texts of the files that are analysed with it, as they were.
    """

    document: Document
    findings: Sequence[Finding] = ()
    problems: Sequence[str] = ()
    others: Mapping[str, Document] = field(default_factory=dict)


class Workspace:
    """One project. It is not safe to use it from several threads at once.

    Args:
        root: the project's folder.
        lone: whether no folder is a project: the texts of the editor are all that there is.
    """

    def __init__(self, root: str, lone: bool = False) -> None:
        self.root = root
        self._lone = lone
        self._stamps: dict[str, tuple[int, int]] = {}  # of the files that belong to the project
        self._real: frozenset[str] | None = None  # the same files without links
        self._overlays: dict[str, Document] = {}
        self._raw: dict[str, bytes] = {}
        self._documents: dict[str, Document] = {}
        self._sources: dict[str, Source] = {}
        self._versions: dict[str, tuple[str, tuple[str, ...], bool, tuple[tuple[str, str], ...]]] = {}
        self._graph: ImportGraph | None = None
        self._modules: Mapping[str, Module] = {}
        self._groups: dict[str, list[str]] | None = None
        self._loaded = False
        self._carried: dict[str, Carried] = {}
        self._hasty: set[str] = set()  # what was said something early about since its last check
        self._seconds: dict[str, float] = {}  # of the last check in each group, by its first file

    # -- files --------------------------------------------------------------------------------------

    def load(self) -> None:
        """Read the project's files, once.

        Raises:
            click.UsageError: if the configuration is wrong; the next time they are looked for again.
        """
        if not self._loaded:
            self.reload()

    def reload(self) -> None:
        """Look which files the project has, and read those that changed.

        Raises:
            click.UsageError: if the configuration is wrong.
        """
        self._versions.clear()
        stamps: dict[str, tuple[int, int]] = {}
        if not self._lone:
            exclude, base = Choices([self.root], {}).exclude()
            for one in discover([self.root], exclude=exclude, base=base):
                path = os.path.abspath(one.path)
                stamp = _stamp(path) if one.problem is None else None
                if stamp is not None:
                    stamps[path] = stamp
        before, self._stamps, self._real, self._loaded = self._stamps, stamps, None, True
        for path in {*before, *stamps} - self._overlays.keys():
            if before.get(path) != stamps.get(path):
                self._take(path, _read(path) if path in stamps else None)
        for path, document in self._overlays.items():
            self._take(path, document.raw if self._belongs(path) else None)

    def _belongs(self, path: str) -> bool:
        """Say whether a file that an editor has open is one of the project, and none that it leaves out."""
        if path in self._stamps or self._lone or not path.endswith(PYTHON + NOTEBOOK) or not os.path.exists(path):
            return True
        if self._real is None:
            self._real = frozenset(map(os.path.realpath, self._stamps))
        return os.path.realpath(path) in self._real

    def files(self) -> Mapping[str, bytes]:
        """Return the files that were read, by path."""
        return self._raw

    def overlay(self, path: str, document: Document | None) -> None:
        """Take an unsaved text for a file's own from now on; with None, its own again.

        Raises:
            click.UsageError: if the configuration is wrong.
        """
        known = path in self._overlays
        if document is None:
            self._overlays.pop(path, None)
            self.refresh([path])
            if path not in self._stamps:
                self._take(path, None)
            return
        self._overlays[path] = document
        if not self._loaded:
            return  # it will be, when something is asked
        if not known and path not in self._stamps:
            self.reload()
        elif path in self._raw or self._belongs(path):
            self._take(path, document.raw)

    def refresh(self, paths: Iterable[str]) -> None:
        """Read files again that changed on the disk, appeared or are gone.

        Raises:
            click.UsageError: if the configuration is wrong.
        """
        for path in paths:
            self._stamps.pop(path, None)  # its time may have stayed
        if self._loaded:
            self.reload()

    def _take(self, path: str, raw: bytes | None) -> None:
        old = self._raw.get(path)
        self._documents.pop(path, None)
        if raw == old:
            return
        if raw is None:
            self._raw.pop(path, None)
        else:
            self._raw[path] = raw
        if (raw is None) != (old is None):
            self._graph = None
        elif self._graph is not None:
            before = self._graph.imported(path)
            self._graph.forget(path)
            if self._graph.imported(path) == before and concerned(raw or b"", True) == concerned(old or b"", True):
                return
        self._groups = None

    def changed_on_disk(self, paths: Iterable[str]) -> list[str]:
        """Return those of the files whose text is not that of the disk although no editor has them open."""
        return [path for path in paths if path not in self._overlays and _read(path) != self._raw.get(path)]

    def document(self, path: str) -> Document:
        """Return the text of a file.

        Raises:
            Unreadable: if it has none.
        """
        if path in self._overlays:
            return self._overlays[path]
        if path not in self._documents:
            if path not in self._raw:
                raise Unreadable("there is no such file")
            self._documents[path] = read_document(path, self._raw[path])
        return self._documents[path]

    # -- analysis -----------------------------------------------------------------------------------

    def early(self, path: str, stop: Callable[[], bool] | None = None) -> Checked | None:
        """Say at once about an edited file what can be said before :meth:`check` is through.

        What rules find in the file alone is new, of most of them where it was edited since the last check; what else
        that found is moved with the text.

        Args:
            path: the file.
            stop: asked now and then whether the result is still wanted.

        Returns:
            The findings; those that were moved without their fixes. None if the check will not take long.

        Raises:
            Stopped: if the result was not wanted.
            click.UsageError: if the configuration is wrong.
        """
        self.load()
        group = self._group(path)
        size = sum(len(self._raw[name]) for name in group)
        if len(group) < 2 or size < LARGE or self._seconds.get(group[0], SLOW) < SLOW:
            return None
        try:
            document = self.document(path)
        except Unreadable:
            return None
        before = self._carried.get(path)
        if before is not None and before.text == document.text and path not in self._hasty:
            return None  # it is not this file that changed
        self._hasty.add(path)
        choices = Choices([_folder(path)], {})
        documents = {} if path in self._versions else dict(self._readable(group))
        analysis = alone(self._source(path, document), self._options(path, documents, choices), stop)
        problems = [failure.message for failure in analysis.failures]
        if problems:
            return Checked(document, problems=problems)
        found = before.joined(document.text, analysis.findings) if before else analysis.findings
        loud = before.to(document.text).loud if before else ()
        kept = sift(found, {path: document}, choices.per_file()).kept
        return Checked(document, sorted([*kept, *loud], key=lambda one: (one.start, one.code)))

    def check(self, path: str, stop: Callable[[], bool] | None = None) -> Checked:
        """Analyse one file among those that it shares objects with.

        Args:
            path: the file.
            stop: asked now and then whether the result is still wanted.

        Raises:
            Stopped: if it was not.
            click.UsageError: if the configuration is wrong.
        """
        self.load()
        began = time.thread_time()
        try:
            document = self.document(path)
        except Unreadable as error:
            return Checked(ABSENT, problems=[str(error)])
        group = self._group(path)
        if not group:
            return Checked(document)
        documents = dict(self._readable(group))
        choices = Choices([_folder(path)], {})
        options = self._options(path, documents, choices)
        sources = [self._source(name, documents[name]) for name in sorted(documents)]
        edited = self._source(path, document)
        whole = _parses(edited)  # of what does not, nothing but that is to be said
        analysis = analysed(sources if whole else [edited], options, documents.keys() - {path}, stop)
        per_file = choices.per_file()
        sifted = sift(analysis.findings, {path: document}, per_file)
        idle = unused(sifted.suppressions, options)
        loud = [one for one in idle if whole and not (per_file and per_file.silences(path, one.code))]
        findings = sorted([*sifted.kept, *loud], key=lambda one: (one.start, one.code))
        problems = [failure.message for failure in analysis.failures if failure.path == path]
        if whole:
            self._carried[path] = Carried(document.text, tuple(analysis.findings), tuple(loud))
            self._hasty.discard(path)
            self._seconds[group[0]] = time.thread_time() - began
        return Checked(document, findings, problems, documents)

    def neighbours(self, path: str) -> list[str]:
        """Return the files that are analysed together with a file."""
        return [other for other in self._group(path) if other != path]

    def _group(self, path: str) -> list[str]:
        """Return the files that share objects with a file, itself among them; none if it holds no NNX code."""
        if self._graph is None:
            names = list(self._raw)
            self._modules = module_names(names)
            self._graph = ImportGraph(self._modules, self._raw)
            self._sources.clear()  # modules may have other names now
            self._groups = None
        if self._groups is None:
            marked = [name for name, raw in self._raw.items() if concerned(raw, lint=True)]
            wanted = self._graph.connected(marked)
            components = self._graph.components([name for name in self._raw if name in wanted])
            self._groups = {name: group for group in components for name in group}
        return self._groups.get(path, [])

    def _readable(self, group: Sequence[str]) -> Iterable[tuple[str, Document]]:
        for name in group:
            try:
                yield name, self.document(name)
            except Unreadable:
                continue

    def _source(self, name: str, document: Document) -> Source:
        known = self._sources.get(name)
        if known is None or known.data != document.text:
            module = self._modules[name]
            known = Source(
                name,
                document.text,
                module.name,
                module.package,
                document.notebook,
                document.cell_lines,
                document.failed_lines,
            )
            self._sources[name] = known
        return known

    def _options(self, path: str, documents: Mapping[str, Document], choices: Choices) -> Options:
        """Return what the project's configuration, pins and code ask for."""
        if path not in self._versions:
            from nnxmigrate.versions.jax_pins import newest_jax
            from nnxmigrate.versions.parts import parts

            project = Project({name: name for name in documents}, documents)
            for chosen, part in parts(project, *choices.versions()):
                jax = () if choices.versions()[1] is not None else newest_jax({name: name for name in part.documents})
                self._versions |= dict.fromkeys(part.paths, (chosen.origin, chosen.targets, chosen.settled, jax))
        origin, targets, settled, jax = self._versions[path]
        return replace(choices.options(lint=True), origin=origin, targets=targets, settled=settled, jax=jax)

    # -- fixes --------------------------------------------------------------------------------------

    def together(self, findings: Iterable[Finding], checked: Checked, unsafe: bool = False) -> dict[str, list[Edit]]:
        """Return the edits that fix as many of the findings as can be fixed at once, by file.

        The result is proved: every file still parses.

        Args:
            findings: findings of one check.
            checked: the check.
            unsafe: whether unsafe fixes are taken.

        Returns:
            The edits by file; none if nothing can be fixed, or a file has changed since.
        """

        def allowed(fix: Fix) -> bool:
            return unsafe or fix.safety is Safety.SAFE

        choice = choose(findings, checked.others, allowed)
        paths = [path for path in choice.edits if path in checked.others]
        if any(self._raw.get(path) != checked.others[path].raw for path in paths) or self.changed_on_disk(paths):
            return {}
        for path, edits in choice.edits.items():
            try:
                Source(path, spliced(checked.others.get(path, ABSENT).text, edits)).tree  # noqa: B018 - must parse
            except (SyntaxError, ValueError, RecursionError):
                return {}
        return {path: merged(edits) for path, edits in choice.edits.items()}


def unsaved(text: str) -> Document:
    """Return the document of a text that an editor holds: it is UTF-8 whatever its cookie says."""
    data = text.encode("utf-8", "replace")
    return PlainDocument(data, data)


def _parses(source: Source) -> bool:
    try:
        return source.once(walk) is not None
    except Exception:  # the analysis says which
        return False


def _folder(path: str) -> str:
    """Return the nearest folder around a file that exists: the file may be no more than a text in the editor yet."""
    folder = os.path.dirname(path)
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def _stamp(path: str) -> tuple[int, int] | None:
    """Return what changes if a file does; None if it cannot be read."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _read(path: str) -> bytes | None:
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
