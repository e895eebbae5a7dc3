"""Writing several files so that either all change or none."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from typing import Protocol


class WriteFailed(Exception):
    """Nothing was written.

    Attributes:
        path: the file that could not be written.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path


class Writer(Protocol):
    """Where changed files go."""

    def refusal(self, path: str) -> str | None:
        """Return why a file must not be replaced; None if it may be."""

    def write(self, contents: Mapping[str, bytes]) -> None:
        """Replace or create all these files, or none.

        Raises:
            WriteFailed: if one of them cannot be written.
        """


class Disk:
    """The files themselves."""

    def refusal(self, path: str) -> str | None:
        """See :func:`why_not_writable`."""
        return why_not_writable(path)

    def write(self, contents: Mapping[str, bytes]) -> None:
        """See :func:`write_all`."""
        write_all(contents)


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


def write_all(contents: Mapping[str, bytes]) -> None:
    """Replace or create files; all of them, or after a failure none.

    Each file's new bytes are written beside it and renamed over it, so that no reader ever sees half a file.
    Symbolic links stay and their targets are replaced; permissions are kept.

    Args:
        contents: new bytes by path.

    Raises:
        WriteFailed: if one of them cannot be written. The files are then as they were.
    """
    staged: list[tuple[str, str, str]] = []
    replaced: list[tuple[str, bytes | None]] = []
    path = ""
    try:
        for path, data in contents.items():
            real = os.path.realpath(path)
            staged.append((path, real, _stage(real, data)))
        while staged:
            path, real, temporary = staged[0]
            before = _read(real)
            os.replace(temporary, real)
            replaced.append((real, before))
            staged.pop(0)
    except OSError as error:
        _undo(replaced)
        raise WriteFailed(path, error.strerror or str(error)) from error
    finally:
        for _, _, temporary in staged:
            os.unlink(temporary)


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


def _undo(replaced: list[tuple[str, bytes | None]]) -> None:
    for real, before in replaced:
        if before is None:
            os.unlink(real)
        else:
            os.replace(_stage(real, before), real)
