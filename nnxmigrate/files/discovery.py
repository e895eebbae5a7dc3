"""Which files are looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nnxmigrate.files.beside import beside
from nnxmigrate.files.roots import common_folder, project_root
from nnxmigrate.files.tracked import Tracked, tracked_around

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

PYTHON = (".py", ".pyi", ".pyw")
NOTEBOOK = (".ipynb",)
MARKDOWN = (".md", ".markdown", ".mdx")

#: Folders that never hold the user's own code. A folder with a ``pyvenv.cfg`` is left out whatever its name.
EXCLUDED = frozenset(
    {".bzr", ".direnv", ".eggs", ".git", ".hg", ".hypothesis", ".ipynb_checkpoints", ".mypy_cache", ".nox"}
    | {".nnxmigrate_cache", ".pytype"}
    | {".pytest_cache", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__", "_build"}
    | {"build", "dist", "node_modules", "site-packages", "venv"}
)

_NAMED_GROUP = re.compile(r"\(\?P<\w+>")


class Found(NamedTuple):
    """A file to look at.

    Attributes:
        path: where it is.
        name: what it is called in reports: as the user typed it, relative to the working directory if below it.
        named: whether the user named it, and not only a folder that it is in.
        problem: why it cannot be read; None if it can.
        context: whether it is only read to understand the others.
    """

    path: str
    name: str
    named: bool = True
    problem: str | None = None
    context: bool = False


def discover(
    paths: Sequence[str],
    *,
    exclude: Sequence[str] = (),
    base: str = os.curdir,
    markdown: bool = False,
    forced: bool = False,
) -> Iterator[Found]:
    """Yield each file once, in order of the paths given and sorted within a folder, links behind the others.

    A file that is named is taken, unless ``exclude`` is forced; from folders come Python files and notebooks that
    neither ``.gitignore`` nor ``exclude`` leaves out. Of what git tracks ``.gitignore`` does not speak. Links to
    folders are not followed below the folders named.

    Args:
        paths: files and folders.
        exclude: patterns in the form of ``.gitignore``.
        base: the folder that these are relative to.
        markdown: whether Markdown files are taken from folders too.
        forced: whether ``exclude`` also leaves out files that are named, as hooks name all.

    The files of the project around the paths come last, as context; without a project those that share imports with
    the files named.
    """
    excluded = [(os.path.realpath(base), _Spec(exclude))] if exclude else []
    suffixes = PYTHON + NOTEBOOK + (MARKDOWN if markdown else ())
    seen: set[str] = set()
    for path in paths:
        named = not os.path.isdir(path)
        walk = None if named else _Walk(path, suffixes, excluded)
        for candidate in _links_last(walk.files()) if walk else (path,):
            real = _real(candidate)
            if named and forced and _ignored(real, excluded):
                continue
            if real not in seen:
                seen.add(real)
                problem = _problem(candidate) or (None if named else _astray(candidate, real, path))
                yield Found(candidate, display(candidate), named, problem)
        for folder, reason in walk.unread.items() if walk else ():
            if _real(folder) not in seen:
                seen.add(_real(folder))
                yield Found(folder, display(folder), named=True, problem=f"this folder cannot be read: {reason}")
    for candidate in _around(paths, excluded):
        if _real(candidate) not in seen and os.path.isfile(candidate):
            yield Found(candidate, display(candidate), named=False, context=True)


def _around(paths: Sequence[str], excluded: Sequence[tuple[str, _Spec]]) -> Iterator[str]:
    """Yield the files of the project around paths, or those beside them, and perhaps some of the paths again."""
    root = project_root(common_folder({os.path.abspath(path) for path in paths}) or os.curdir)
    if root is None:
        files = [path for path in paths if path.endswith(PYTHON + NOTEBOOK) and os.path.isfile(path)]
        packages = [path for path in paths if os.path.isfile(os.path.join(path, "__init__.py"))]
        near = beside(files, packages, PYTHON + NOTEBOOK)
        yield from (path for path in near if not _ignored(_real(path), excluded))
    elif os.path.realpath(root) not in map(os.path.realpath, paths):
        yield from _Walk(root, PYTHON + NOTEBOOK, excluded).files()


def _links_last(paths: Iterator[str]) -> Iterator[str]:
    """Yield links behind all others: a file is called by its own name, which is what git knows."""
    links = []
    for path in paths:
        if os.path.islink(path):
            links.append(path)
        else:
            yield path
    yield from links


def all_files(folder: str) -> list[str]:
    """Return the Python files and notebooks of a folder, with those that ``.gitignore`` files leave out.

    Args:
        folder: the folder.
    """
    return [*_Walk(folder, PYTHON + NOTEBOOK, (), ignoring=False).files()]


def _real(path: str) -> str:
    """Return where a path leads; the path itself if the system follows it nowhere, as a chain of a thousand links."""
    return os.path.realpath(path) if os.path.exists(path) else os.path.abspath(path)


def _astray(candidate: str, real: str, top: str) -> str | None:
    """Return why a file in a folder is not taken: a link must not make a run reach what was not named."""
    above = os.path.realpath(top).rstrip(os.sep) + os.sep
    return None if real.startswith(above) or not os.path.islink(candidate) else "a link that leads out of the folder"


def display(path: str) -> str:
    """Return the name of a path in reports."""
    name = os.path.normpath(path)
    if os.path.isabs(name):
        here = os.getcwd()
        if name.startswith(here.rstrip(os.sep) + os.sep):
            return os.path.relpath(name, here)
    return name


def _problem(path: str) -> str | None:
    if os.path.isfile(path):
        return None
    if os.path.islink(path) and not os.path.exists(path):
        return "symbolic link that leads nowhere"
    return "not a regular file" if os.path.exists(path) else "no such file or folder"


class _Walk:
    """The files below one folder."""

    def __init__(
        self, top: str, suffixes: tuple[str, ...], excluded: Sequence[tuple[str, _Spec]], ignoring: bool = True
    ) -> None:
        self.top = top
        self.suffixes = suffixes
        self.excluded = excluded
        self.ignoring = ignoring  # whether what git ignores is left out
        #: Folders that could not be read, with the reason.
        self.unread: dict[str, str] = {}

    def files(self) -> Iterator[str]:
        """Yield the paths of the files that are taken."""
        real = os.path.realpath(self.top)
        outer = list(_outer_ignores(real)) if self.ignoring else []
        if _ignored(real + os.sep, outer):  # the user names what git leaves out
            outer = []
        tracked = tracked_around(real) if self.ignoring else None
        return self._folder(self.top, real, [*self.excluded, *outer], tracked)

    def _folder(self, folder: str, real: str, specs: list[tuple[str, _Spec]], tracked: Tracked | None) -> Iterator[str]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self.unread[folder] = error.strerror or str(error)
            return
        names = {entry.name for entry in entries}
        if "pyvenv.cfg" in names and folder != self.top:
            return
        if self.ignoring and ".gitignore" in names:
            specs = [*specs, (real, _read_spec(os.path.join(folder, ".gitignore")))]
        if self.ignoring and ".git" in names:
            tracked = Tracked(real)
        for entry in entries:
            name = entry.name
            if _is_folder(entry):
                if (
                    name in EXCLUDED
                    or entry.is_symlink()
                    or self._left_out(os.path.join(real, name) + "/", specs, tracked)
                ):
                    continue
                yield from self._folder(entry.path, os.path.join(real, name), specs, tracked)
            elif name.endswith(self.suffixes) and not self._left_out(os.path.join(real, name), specs, tracked):
                yield entry.path

    def _left_out(self, path: str, specs: Sequence[tuple[str, _Spec]], tracked: Tracked | None) -> bool:
        """Say whether patterns leave a file or folder out, which of what git tracks the user's own do alone."""
        if not _ignored(path, specs):
            return False
        known = tracked is not None and (tracked.folder(path) if path.endswith("/") else tracked.file(path))
        return not known or _ignored(path, self.excluded)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _outer_ignores(folder: str) -> Iterator[tuple[str, _Spec]]:
    """Yield the ``.gitignore`` files above a folder, outermost first, up to the top of its repository."""
    above: list[str] = []
    current = folder
    while not os.path.exists(os.path.join(current, ".git")):
        parent = os.path.dirname(current)
        if parent == current:
            return
        current = parent
        above.append(current)
    exclude = os.path.join(current, ".git", "info", "exclude")
    if os.path.isfile(exclude):
        yield current, _read_spec(exclude)
    for place in reversed(above):
        ignore = os.path.join(place, ".gitignore")
        if os.path.isfile(ignore):
            yield place, _read_spec(ignore)


def _read_spec(path: str) -> _Spec:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return _Spec(file.read().splitlines())


class _Spec:
    """The patterns of one file.

    Args:
        lines: the patterns in the form of ``.gitignore``.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        from pathspec import GitIgnoreSpec

        try:
            self._spec: GitIgnoreSpec = GitIgnoreSpec.from_lines(lines)
        except (re.error, ValueError):  # a range such as [z-a], which to git matches nothing
            self._spec = GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line))
        # one expression for all: of a hundred patterns, hardly ever one speaks about a path
        patterns = (pattern.regex.pattern for pattern in self._spec.patterns if pattern.regex is not None)
        every = "|".join(f"(?:{_NAMED_GROUP.sub('(?:', pattern)})" for pattern in patterns)
        self._any = re.compile(every) if every else None

    def verdict(self, path: str) -> bool | None:
        """Say whether a path is left out; None if no pattern speaks about it."""
        if self._any is None or not self._any.search(path):
            return None
        return self._spec.check_file(path).include


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (re.error, ValueError):
        return False
    return True


def _ignored(path: str, specs: Sequence[tuple[str, _Spec]]) -> bool:
    """Say whether the innermost file of patterns that speaks about a path leaves it out."""
    for base, spec in reversed(specs):
        if path.startswith(base.rstrip(os.sep) + os.sep):
            verdict = spec.verdict(path[len(base.rstrip(os.sep)) + 1 :])
            if verdict is not None:
                return verdict
    return False
