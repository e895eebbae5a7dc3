"""The files of a run, read, and those among them that may hold NNX code as text for the analysis."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property

from codemods.nnx.source import Source
from nnxmigrate.files.discovery import MARKDOWN, NOTEBOOK, Found
from nnxmigrate.files.document import Document, Unreadable
from nnxmigrate.files.imports import ImportGraph, module_names
from nnxmigrate.files.python import read_python
from nnxmigrate.outcome import FileOutcome, Status
from nnxmigrate.progress import tell

#: A file without these words matters only if it imports, or is imported by, one that has them.
_MIGRATED = b"nnx"
_LINTED = (b"jax", b"flax", b"optax", b"orbax")
_LINTED_WORD = re.compile(rb"\b(?:%s)\b" % b"|".join(_LINTED))


@dataclass(frozen=True)
class Project:
    """The files of a run.

    Attributes:
        paths: where every file is, by its name in reports, in the order found.
        documents: the files that the analysis reads, by name.
        troubles: files that could not be read, by name.
        context: the names of those documents that are only read to understand the others.
        unrelated: documents beside them that no import connects with those that are not context: they only show which
            versions the project is for.
    """

    paths: Mapping[str, str]
    documents: Mapping[str, Document]
    troubles: Mapping[str, FileOutcome] = field(default_factory=dict)
    context: AbstractSet[str] = frozenset()
    unrelated: Mapping[str, Document] = field(default_factory=dict)


def read_document(name: str, raw: bytes) -> Document:
    """Return the document of a file by the format that its name says; Python if it says none.

    Raises:
        Unreadable: if it is not of that format.
    """
    suffix = os.path.splitext(name)[1].lower()
    if suffix in NOTEBOOK:
        from nnxmigrate.files.notebook import read_notebook

        return read_notebook(raw)
    if suffix in MARKDOWN:
        from nnxmigrate.files.markdown import read_markdown

        return read_markdown(raw)
    return read_python(raw)


def partly_read(name: str, raw: bytes) -> Document | None:
    """Return the document of a notebook without the statements that are no Python; None if there is none.

    Lint looks at the rest. It is not changed, since these may use what would be: a migration needs all of a program.
    """
    if os.path.splitext(name)[1].lower() not in NOTEBOOK:
        return None
    from nnxmigrate.files.notebook import read_notebook

    try:
        return read_notebook(raw, lenient=True)
    except Unreadable:
        return None


def concerned(raw: bytes, lint: bool) -> bool:
    """Say whether a file matters by itself: to a migration if it mentions NNX, to lint if it mentions JAX as well."""
    if _MIGRATED in raw:
        return True
    # looking for plain bytes first costs a tenth of the expression
    return lint and any(word in raw for word in _LINTED) and _LINTED_WORD.search(raw) is not None


@dataclass(frozen=True)
class Files:
    """The files of a run, as bytes.

    Attributes:
        paths: where every file is, by its name in reports, in the order found.
        contents: the bytes of files, and of others that are only read to understand them, by name.
        troubles: files that could not be read, by name.
        context: the names of those that are only read to understand the others.
        lint: whether lint rules run, which also speak about code that uses JAX without NNX.
    """

    paths: Mapping[str, str]
    contents: Mapping[str, bytes]
    troubles: Mapping[str, FileOutcome]
    context: AbstractSet[str]
    lint: bool = False

    @cached_property
    def marked(self) -> set[str]:
        """The names of the files that matter by themselves."""
        return {name for name, data in self.contents.items() if concerned(data, self.lint)}


def read(found: Iterable[Found], lint: bool = False) -> Files:
    """Read files; one that cannot be read becomes a trouble.

    Args:
        found: the files.
        lint: whether lint rules run, which also speak about code that uses JAX without NNX.
    """
    paths: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    troubles: dict[str, FileOutcome] = {}
    context: set[str] = set()
    marked = False
    for file in found:
        if not file.context:
            paths[file.name] = file.path
        elif not marked:
            break  # nothing that context would help to understand
        else:
            context.add(file.name)
        tell(f"reading {file.name}")
        try:
            if file.problem:
                raise Unreadable(file.problem)
            with open(file.path, "rb") as stream:
                contents[file.name] = stream.read()
                marked = marked or concerned(contents[file.name], lint)
        except (OSError, Unreadable) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            status = Status.SKIPPED if os.path.islink(file.path) and not file.named else Status.FAILED
            troubles[file.name] = FileOutcome(file.name, status, reason)
    return Files(paths, contents, troubles, context, lint)


def load(found: Iterable[Found], lint: bool = False) -> Project:
    """Read files and choose those that the analysis needs; see :func:`read`."""
    return chosen(read(found, lint))


def chosen(files: Files) -> Project:
    """Return the project of files: the documents that the analysis needs."""
    names = files.marked
    if names and len(names) < len(files.contents):
        names = ImportGraph(module_names(list(files.contents)), files.contents).connected(names)
    documents: dict[str, Document] = {}
    troubles = dict(files.troubles)
    for name, data in files.contents.items():
        if name in names:
            try:
                documents[name] = read_document(name, data)
            except Unreadable as error:
                status = Status.FAILED if name in files.marked else Status.SKIPPED
                troubles[name] = FileOutcome(name, status, str(error))
                partly = partly_read(name, data) if files.lint else None
                if partly is not None:
                    documents[name] = partly
    project = Project(files.paths, documents, troubles, files.context & documents.keys())
    if not files.context:
        return project
    relevant = _relevant(project)
    unrelated = {name: document for name, document in documents.items() if name not in relevant}
    return replace(project, documents=relevant, context=files.context & relevant.keys(), unrelated=unrelated)


def _relevant(project: Project) -> dict[str, Document]:
    """Return the documents without the context that no import connects with the others."""
    kept = {name for group in groups(project.documents) if not project.context >= set(group) for name in group}
    return {name: document for name, document in project.documents.items() if name in kept}


def sources(documents: Mapping[str, Document]) -> dict[str, Source]:
    """Return the texts of documents as the analysis takes them, by name."""
    modules = module_names(list(documents))
    return {
        name: Source(
            name,
            document.text,
            modules[name].name,
            modules[name].package,
            document.notebook,
            document.cell_lines,
            document.failed_lines,
        )
        for name, document in documents.items()
    }


def groups(documents: Mapping[str, Document]) -> Sequence[Sequence[str]]:
    """Return the names of documents in groups that share nothing through imports."""
    if len(documents) < 2:
        return [list(documents)] if documents else []
    contents = {name: document.raw for name, document in documents.items()}
    return ImportGraph(module_names(list(documents)), contents).components(list(documents))
