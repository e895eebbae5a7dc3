"""Which files git tracks: its patterns of what to ignore do not speak of these.

The index is read as it is and no git is run: a folder from anywhere may tell git in its configuration what to start.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

_ENTRY = 62  # bytes before the name of an entry, with the hash of 20 bytes
_EXTENDED = 0x4000


class Tracked:
    """The files that the index of one repository names.

    Args:
        top: the top folder of the repository.
    """

    def __init__(self, top: str) -> None:
        self.top = top

    def file(self, path: str) -> bool:
        """Say whether a file is tracked.

        Args:
            path: its real path.
        """
        return self._below(path) in self._names

    def folder(self, path: str) -> bool:
        """Say whether a folder holds a file that is tracked.

        Args:
            path: its real path.
        """
        return self._below(path) in self._folders

    def _below(self, path: str) -> str:
        return os.path.relpath(path, self.top).replace(os.sep, "/")

    @cached_property
    def _names(self) -> frozenset[str]:
        try:
            return frozenset(_names(_index(self.top)))
        except (OSError, ValueError, IndexError):  # none, or of a form that is not known
            return frozenset()

    @cached_property
    def _folders(self) -> frozenset[str]:
        found: set[str] = set()
        for name in self._names:
            while (name := name.rpartition("/")[0]) and name not in found:
                found.add(name)
        return frozenset(found)


def tracked_around(folder: str) -> Tracked | None:
    """Return what is tracked by the repository that a folder is in; None if it is in none.

    Args:
        folder: the real path of the folder.
    """
    current = folder
    while not os.path.exists(os.path.join(current, ".git")):
        parent = os.path.dirname(current)
        if parent == current:
            return None
        current = parent
    return Tracked(current)


def _index(top: str) -> bytes:
    """Return the index of a repository; that of a worktree or submodule is where its ``.git`` file says."""
    place = Path(top, ".git")
    if place.is_file():
        link = place.read_text(encoding="utf-8", errors="surrogateescape").partition("gitdir:")[2].strip()
        place = Path(top, link)
    return (place / "index").read_bytes()


def _names(data: bytes) -> list[str]:
    """Return the names in an index of version 2, 3 or 4."""
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in {2, 3, 4}:
        raise ValueError("no index of git")
    names: list[str] = []
    place, name = 12, b""
    for _ in range(count):
        flags = int.from_bytes(data[place + 60 : place + 62], "big")
        start = place + _ENTRY + (2 if version > 2 and flags & _EXTENDED else 0)
        if version == 4:  # what the name shares with the one before is left out
            dropped, start = _number(data, start)
            end = data.index(b"\0", start)
            name = name[: len(name) - dropped] + data[start:end]
            place = end + 1
        else:
            end = data.index(b"\0", start)
            name = data[start:end]
            place += (end - place + 8) // 8 * 8
        names.append(name.decode("utf-8", "surrogateescape"))
    return names


def _number(data: bytes, place: int) -> tuple[int, int]:
    """Return a number of variable length, and where it ends."""
    byte = data[place]
    value = byte & 0x7F
    while byte & 0x80:
        place += 1
        byte = data[place]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, place + 1
