"""The files beside those that are named where no project is around them, as in a folder of scripts."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from codemods.nnx.known import foreign
from nnxmigrate.files.imports import BELOW_FLAX, Import, imports


def beside(files: Sequence[str], packages: Sequence[str], suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield the files that others import, directly or not, and those near them that import them in turn.

    Of a project all is read. Without one nobody knows where the code ends: a folder of downloads must not be read from
    top to bottom. So only the folders of the files, and those around packages, are searched for what imports them.

    Args:
        files: the files.
        packages: folders of packages whose files are known.
        suffixes: the ends of names of files that may import the others.
    """
    named, known = [*map(os.path.abspath, files)], tuple(os.path.abspath(package) + os.sep for package in packages)
    below: dict[str, list[str]] = {}  # what each file imports

    def imported(path: str) -> list[str]:
        if path not in below:
            below[path] = list(dict.fromkeys(_imported(path)))
        return below[path]

    reached = _closure(named, imported)
    folders = [*map(os.path.dirname, named), *map(_outside, map(os.path.dirname, named)), *map(_outside, known)]
    candidates = [path for folder in dict.fromkeys(folders) for path in _files(folder, suffixes)]
    grown = True
    while grown:
        found = [path for path in candidates if path not in reached and _imports_one(imported(path), reached, known)]
        reached |= _closure(found, imported)
        grown = bool(found)
    yield from (path for path in reached if path not in named and not path.startswith(known))


def _imports_one(imported: Iterable[str], reached: Container[str], known: tuple[str, ...]) -> bool:
    return any(path in reached or path.startswith(known) for path in imported)


def _closure(start: Iterable[str], imported: Callable[[str], Iterable[str]]) -> dict[str, None]:
    """Return files with all that they import, directly or not."""
    reached = dict.fromkeys(start)
    waiting = list(reached)
    while waiting:
        for path in imported(waiting.pop()):
            if path not in reached:
                reached[path] = None
                waiting.append(path)
    return reached


def _outside(folder: str) -> str:
    """Return the folder around the outermost package that a folder belongs to; itself if it is no package."""
    folder = folder.rstrip(os.sep)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return folder


def _files(folder: str, suffixes: tuple[str, ...]) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(suffixes)]


def _imported(path: str) -> Iterator[str]:
    """Yield the files beside a file that it imports, which need not exist any more when they are read."""
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except OSError:
        return
    for wanted in imports(data):
        yield from _found(os.path.dirname(path), wanted)


def _found(folder: str, wanted: Import) -> Iterator[str]:
    """Yield the files that an import in a file of a folder runs."""
    if wanted.level:
        for _ in range(wanted.level - 1):
            folder = os.path.dirname(folder)
        yield from _way(folder, wanted.name)
    elif not foreign(wanted.name) and wanted.name.partition(".")[0] not in BELOW_FLAX:
        yield from _way(folder, wanted.name)  # as in a script
        outer = _outside(folder)
        if outer != folder:
            yield from _way(outer, wanted.name)


def _way(folder: str, name: str) -> Iterator[str]:
    """Yield the packages on the way to a module, and the module."""
    for part in name.split(".") if name else ():
        module = os.path.join(folder, part + ".py")
        if os.path.isfile(module):
            yield module
            return
        folder = os.path.join(folder, part)
        if not os.path.isdir(folder):
            return
        package = os.path.join(folder, "__init__.py")
        if os.path.isfile(package):
            yield package
