"""Where results are kept: a folder with one file for each, which whoever runs at the same time may share."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from typing import Any

from nnxmigrate.version import __version__

#: The folder's name beside a project.
NAME = ".nnxmigrate_cache"

#: The most results of one kind that are kept; the least recently used give way.
ENTRIES = 400

#: The most editions of the program whose results are kept.
EDITIONS = 4

_TAG = """Signature: 8a477f597d28d172789f06886806bc55
# This file is a cache directory tag created by nnxmigrate.
# For information about cache directory tags see https://bford.info/cachedir/
"""


class Cache:
    """Results by key, of this edition of the program.

    A file appears in one step, so that a reader sees all of it or none, whoever else writes or is killed. What cannot
    be read or written is not kept, and costs nothing but time.

    Args:
        folder: where results are kept; made when the first one is.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._edition: str | None = None

    def find(self, *key: bytes | str) -> Any:
        """Return what is kept under a key; None if nothing is."""
        from nnxmigrate.cache import codec

        path = self._path(key)
        try:
            with open(path, "rb") as file:
                value = codec.load(file.read())
            os.utime(path)
        except (OSError, ValueError):
            return None
        return value

    def keep(self, value: object, *key: bytes | str) -> None:
        """Keep a value under a key."""
        from nnxmigrate.cache import codec

        path = self._path(key)
        fresh = f"{path}.{os.getpid()}"
        try:
            data = codec.dump(value)
            self._prepare(os.path.dirname(path))
            with open(fresh, "wb") as file:
                file.write(data)
            os.replace(fresh, path)
        except (OSError, codec.Unknown):
            self._discard([fresh])
        else:
            self._prune(os.path.dirname(path))

    def _path(self, key: Iterable[bytes | str]) -> str:
        if self._edition is None:
            self._edition = edition()
        return os.path.join(self.folder, self._edition, f"{digest(key)}.json")

    def _prepare(self, folder: str) -> None:
        """Make the folder, and files that keep it out of backups and of git."""
        if os.path.isdir(folder):
            return
        os.makedirs(folder, exist_ok=True)  # another run may make it at the same time
        for name, text in (("CACHEDIR.TAG", _TAG), (".gitignore", "*\n")):
            path = os.path.join(self.folder, name)
            if not os.path.exists(path):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
        editions = [entry for entry in os.scandir(self.folder) if entry.is_dir()]
        for old in sorted(editions, key=lambda entry: -entry.stat().st_mtime)[EDITIONS:]:
            self._discard(entry.path for entry in os.scandir(old.path))
            os.rmdir(old.path)

    def _prune(self, folder: str) -> None:
        try:
            with os.scandir(folder) as entries:
                files = [(entry.stat().st_mtime, entry.path) for entry in entries]
        except OSError:  # another run tidies up
            return
        if len(files) > ENTRIES:
            self._discard(path for _, path in sorted(files)[: len(files) - ENTRIES * 3 // 4])

    def _discard(self, paths: Iterable[str]) -> None:
        for path in paths:
            try:
                os.unlink(path)
            except OSError:  # it is gone, or was never made
                continue


def digest(parts: Iterable[bytes | str]) -> str:
    """Return a hash of texts; it tells apart what is divided differently."""
    found = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        found.update(b"%d:" % len(data))
        found.update(data)
    return found.hexdigest()


def edition() -> str:
    """Return a name for everything but the project and the options that results depend on.

    These are this program, its own rules and those that users added, the interpreter, and LibCST, which writes edits.
    """
    from nnxmigrate import own_rules

    parts = [__version__, sys.implementation.name, repr(sys.version_info[:3]), *_libcst()]
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if os.path.basename(here) not in ("site-packages", "dist-packages"):  # a checkout, which changes between versions
        parts += _state(os.path.join(here, "nnxmigrate"))
        parts += _state(os.path.join(here, "codemods"))
    for place in own_rules.files():
        parts += _state(place)
    return digest(parts)[:16]


def _libcst() -> list[str]:
    """Return the name of LibCST's installation, which holds its version."""
    for place in sys.path:
        if place and os.path.isdir(os.path.join(place, "libcst")):
            return sorted(name for name in os.listdir(place) if name.startswith("libcst-"))
    return []


def _state(place: str) -> list[str]:
    """Return names, sizes and times of a Python file, or of all below a folder."""
    found: list[str] = []
    for path in _python(place) if os.path.isdir(place) else (place,):
        status = os.stat(path)
        found += (path, f"{status.st_size} {status.st_mtime_ns}")
    return found


def _python(folder: str) -> Iterable[str]:
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (os.path.join(top, name) for name in sorted(names) if name.endswith(".py"))
