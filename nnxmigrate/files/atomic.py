"""Writing several files so that either all change or none."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol


class WriteFailed(Exception):
    """Files could not be written; all are as they were, but for those that could not be changed back.

    Attributes:
        path: the file that could not be written.
        unrestored: files that hold their new bytes, because bringing back the old ones failed too.
    """

    def __init__(self, path: str, reason: str, unrestored: Sequence[str] = ()) -> None:
        left = f"; {', '.join(unrestored)} had been changed and could not be changed back" if unrestored else ""
        super().__init__(reason + left)
        self.path = path
        self.unrestored = tuple(unrestored)


class Writer(Protocol):
    """Where changed files go."""

    def refusal(self, path: str) -> str | None:
        """Return why a file must not be replaced; None if it may be."""

    def write(self, contents: Mapping[str, bytes], read: Mapping[str, bytes | None]) -> None:
        """Replace or create all these files, or none.

        Args:
            contents: new bytes by path.
            read: the bytes that the new ones were made from; None for a file that did not exist.

        Raises:
            WriteFailed: if one of them cannot be written, or holds something else than what was read.
        """


class Disk:
    """The files themselves."""

    def refusal(self, path: str) -> str | None:
        """See :func:`why_not_writable`."""
        return why_not_writable(path)

    def write(self, contents: Mapping[str, bytes], read: Mapping[str, bytes | None]) -> None:
        """See :func:`write_all`."""
        write_all(contents, read)


def why_not_writable(path: str) -> str | None:
    """Return why a file must not be replaced; None if it may be.

    Renaming a new file over a read-only one would succeed, but its owner did not mean that.
    """
    real = os.path.realpath(path)
    if not os.path.exists(real):
        folder = os.path.dirname(real)
        return None if os.access(folder, os.W_OK) else f"its folder {folder} cannot be written"
    if not os.access(real, os.W_OK):
        return "it is read-only"
    if not os.access(os.path.dirname(real), os.W_OK):
        return f"its folder {os.path.dirname(real)} cannot be written"
    return None


def write_all(contents: Mapping[str, bytes], read: Mapping[str, bytes | None] | None = None) -> None:
    """Replace or create files; all of them, or after a failure none.

    Each file's new bytes are written beside it and renamed over it, so that no reader ever sees half a file.
    Symbolic links stay and their targets are replaced; permissions are kept.

    Args:
        contents: new bytes by path.
        read: the bytes that a file must still hold, by path, None if it must not exist. Files that are not named
            here may hold anything.

    Raises:
        WriteFailed: if one of them cannot be written, or does not hold what was read. The files are then as they were.
    """
    read = read or {}
    staged: list[tuple[str, str, str]] = []
    replaced: list[tuple[str, str, bytes | None]] = []
    path = ""
    try:
        for path, data in contents.items():
            real = os.path.realpath(path)
            staged.append((path, real, _stage(real, data)))
        before: dict[str, bytes | None] = {}
        for path in contents:
            before[path] = _read(os.path.realpath(path))
            if path in read and before[path] != read[path]:
                raise WriteFailed(path, "it changed while nnxmigrate ran")
        while staged:
            path, real, temporary = staged[0]
            os.replace(temporary, real)
            replaced.append((path, real, before[path]))
            staged.pop(0)
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error), _undo(replaced)) from error
    finally:
        for _, _, temporary in staged:
            _discard(temporary)


def _stage(real: str, data: bytes) -> str:
    """Write the new bytes into a temporary file beside the real one and return its path."""
    handle, temporary = tempfile.mkstemp(prefix=".nnxmigrate-", dir=os.path.dirname(real) or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(real))
    except OSError:
        os.unlink(temporary)
        raise
    return temporary


def _mode(real: str) -> int:
    """Return the permissions of a file, or those that a new file gets."""
    if os.path.exists(real):
        return stat.S_IMODE(os.stat(real).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _read(real: str) -> bytes | None:
    if not os.path.exists(real):
        return None
    with open(real, "rb") as file:
        return file.read()


def _undo(replaced: Iterable[tuple[str, str, bytes | None]]) -> list[str]:
    """Bring back the old bytes of as many files as possible; return the paths of the others."""
    unrestored = []
    for path, real, before in replaced:
        temporary = ""
        try:
            if before is None:
                os.unlink(real)
            else:
                temporary = _stage(real, before)
                os.replace(temporary, real)
        except OSError:
            unrestored.append(path)
            if temporary:
                _discard(temporary)
    return unrestored


def _discard(temporary: str) -> None:
    """Remove a temporary file. One that stays harms nobody, and must not hide what went wrong."""
    with contextlib.suppress(OSError):
        os.unlink(temporary)
