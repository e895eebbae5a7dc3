"""Module names, and which files may share objects because one imports the other."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from codemods.nnx.known import foreign, named_so
from nnxmigrate.files.roots import common_folder, project_root

#: What else Flax itself is built on. It cannot know NNX: imports of these are not followed either.
BELOW_FLAX = frozenset(["msgpack", "ml_dtypes", "rich", "scipy", "tensorstore", "treescope"])

_IMPORT = re.compile(
    rb"""[ \t]*"?[ \t]*  # a notebook's lines stand in quotes
    (?:from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import\b[ \t]*(\([^)]*\)|[^\r\n\#;]*)|import[ \t]+([^\r\n\#;]*))""",
    re.VERBOSE,
)
_NAME = re.compile(rb"[\w.]+")
_COMMENT = re.compile(rb"#[^\r\n]*")


class Import(NamedTuple):
    """An import of one module.

    Attributes:
        level: number of leading dots.
        name: dotted name; for ``from a import b`` there is one import for ``a`` and one for ``a.b``.
    """

    level: int
    name: str


class Module(NamedTuple):
    """A file's dotted name, and whether it is the ``__init__`` of a package."""

    name: str
    package: bool


def module_names(paths: Sequence[str]) -> dict[str, Module]:
    """Return a unique module name for every Python file.

    A name is the way to the file from the project's root, whether or not the folders between are packages:
    ``src/lab/optim.py`` is ``src.lab.optim``. An import is looked up from the importing file's own folder outwards,
    so ``import lab.optim`` finds it from anywhere below ``src``, and ``import steps`` in a script finds the
    ``steps.py`` beside it; the folders of packages are passed over, as no import looks there. The root is the folder
    with a ``pyproject.toml``, ``setup.py`` or ``.git`` above all the files; without one, the folder above their common
    folder and above the package that this folder belongs to.

    Args:
        paths: the files.
    """
    absolute = {path: os.path.abspath(path) for path in paths}
    root = _root({os.path.dirname(path) for path in absolute.values()})
    return {path: _module(os.path.relpath(full, root) if root else full) for path, full in absolute.items()}


def _root(folders: set[str]) -> str:
    common = common_folder(folders)
    if common is None:
        return ""
    root = project_root(common)
    if root is not None:
        return root
    while os.path.exists(os.path.join(common, "__init__.py")):
        common = os.path.dirname(common)
    return os.path.dirname(common)


def _module(path: str) -> Module:
    stem, suffix = os.path.splitext(path)
    parts = [part.replace(".", "-") for part in re.split(r"[\\/]", stem) if part]
    if suffix != ".py":  # cannot be imported, and must not hide the module of that name
        return Module(".".join(parts) + suffix.replace(".", "-"), False)
    package = parts[-1] == "__init__"
    return Module(".".join(parts[:-1] if package else parts), package)


def imports(data: bytes) -> Iterator[Import]:
    """Yield the imports that a Python file or a notebook seems to make; a docstring's may be among them.

    Args:
        data: the bytes of the file.
    """
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    position = data.find(b"import")
    while position >= 0:
        found = _IMPORT.match(data, data.rfind(b"\n", 0, position) + 1)
        if found is None:
            position = data.find(b"import", position + 6)
            continue
        yield from _parsed(found)
        position = data.find(b"import", max(found.end(), position + 6))


@lru_cache(2048)
def _imports(data: bytes) -> frozenset[Import]:
    """Return the imports of a file, whose graph is asked for several times in one run."""
    return frozenset(imports(data))


def _parsed(found: re.Match[bytes]) -> Iterator[Import]:
    dots, module, names, plain = found.groups()
    if plain is not None:
        for part in plain.split(b","):
            name = _NAME.search(part)
            if name:
                yield Import(0, name.group().decode())
        return
    base = module.decode()
    yield Import(len(dots), base)
    for part in _COMMENT.sub(b"", names).strip(b"()").split(b","):
        name = _NAME.search(part)
        if name:
            yield Import(len(dots), f"{base}.{name.group().decode()}".lstrip("."))


class ImportGraph:
    """Which files import which.

    Args:
        modules: the modules of Python files by path.
        contents: the bytes of all files, notebooks too.
    """

    def __init__(self, modules: Mapping[str, Module], contents: Mapping[str, bytes]) -> None:
        self._modules = modules
        self._by_name = {module.name: path for path, module in modules.items()}
        self._packages = {module.name for module in modules.values() if module.package}
        self._by_tail: dict[str, list[str]] = {}
        for name in self._by_name:
            self._by_tail.setdefault(name.rpartition(".")[2], []).append(name)
        self._contents = contents
        self._below: dict[str, set[str]] = {}

    def imported(self, path: str) -> set[str]:
        """Return the files of the project that a file imports."""
        if path not in self._below:
            found = (self._find(path, wanted) for wanted in _imports(self._contents[path]))
            self._below[path] = {other for other in found if other is not None and other != path}
        return self._below[path]

    def forget(self, path: str) -> None:
        """Look again what a file imports when it is asked for next: its contents changed."""
        self._below.pop(path, None)

    def connected(self, start: Iterable[str]) -> set[str]:
        """Return the files that can get hold of an object made in ``start``.

        These are the files that import one of them, directly or not, and what all those import in turn.
        """
        above: dict[str, set[str]] = {}
        for path in self._contents:
            for other in self.imported(path):
                above.setdefault(other, set()).add(path)
        reached = _closure(start, lambda path: above.get(path, set()))
        return _closure(reached, self.imported)

    def components(self, paths: Sequence[str]) -> list[list[str]]:
        """Return the groups of files among which no import crosses, each in the order of ``paths``."""
        wanted = set(paths)
        near: dict[str, set[str]] = {path: set() for path in paths}
        for path in paths:
            for other in self.imported(path) & wanted:
                near[path].add(other)
                near[other].add(path)
        groups: list[list[str]] = []
        done: set[str] = set()
        for path in paths:
            if path not in done:
                group = _closure((path,), near.__getitem__)
                done |= group
                groups.append([member for member in paths if member in group] if len(group) > 1 else [path])
        return groups

    def _find(self, importer: str, wanted: Import) -> str | None:
        """Return the file that an import means; None if it is not the project's."""
        module = self._modules.get(importer)
        if wanted.level:
            if module is None:
                return None
            parts = module.name.split(".")
            above = wanted.level - module.package
            base = parts[: len(parts) - above] if above else parts
            return self._by_name.get(".".join((*base, wanted.name)) if wanted.name else ".".join(base))
        if wanted.name in self._by_name:
            return self._by_name[wanted.name]
        if foreign(wanted.name) or wanted.name.partition(".")[0] in BELOW_FLAX:
            return None
        folder = module.name if module is not None else ""
        while folder:
            folder = folder.rpartition(".")[0]
            if folder in self._packages:
                continue  # a script beside may import so, a module of a package may not
            path = self._by_name.get(f"{folder}.{wanted.name}")
            if path is not None:
                return path
        similar = self._by_tail.get(wanted.name.rpartition(".")[2], ())
        ends = named_so(wanted.name, similar, self._packages.__contains__)
        return self._by_name[ends[0]] if len(ends) == 1 else None


def _closure(start: Iterable[str], following: Callable[[str], set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(start)
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting.extend(following(path) - reached)
    return reached
