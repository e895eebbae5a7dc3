"""Read and write blocks of files, through the system's cache or, where that is possible, past it.

Through the cache, the system is told to begin with writing at once, which it would put off until memory runs short: the
disk works while the next blocks are read and hashed. What is read back soon is still in the cache.

Past the cache a copied block is on the disk when it is written, costs no memory, and what is read back is what the disk
holds. That needs Linux, a file system on a block device, and places and lengths that are multiples of a page;
everything else goes through the cache, which is told to forget what will be read back.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import pathlib
import sys
from functools import cache
from typing import Any

from nnxmigrate.checkpoint.errors import CheckpointError

BLOCK = 1 << 20  # bytes of a file that are in memory
PAGE = 4096  # bytes of which places and lengths are multiples past the cache
_WRITE = 2  # SYNC_FILE_RANGE_WRITE: begin to write, do not wait
_REFUSED = {errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS}


def new_block() -> mmap.mmap:
    """Return memory for a block that begins where a page does."""
    return mmap.mmap(-1, BLOCK)


class File:
    """A file of which blocks are read or written at places, through a descriptor of its own."""

    def __init__(self, path: pathlib.Path, write: bool = False, past_cache: bool = False) -> None:
        """Open a file.

        Args:
            path: where it is.
            write: whether it is written to; it is there already.
            past_cache: whether the system's cache is passed by, where that is possible.
        """
        self._path = path
        self._descriptor = os.open(path, (os.O_RDWR if write else os.O_RDONLY) | getattr(os, "O_BINARY", 0))
        self._direct: int | None = None
        self._past_cache = past_cache
        if past_cache and has_blocks(self._descriptor):
            self._direct = _opened_directly(path, write)

    def __enter__(self) -> File:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._descriptor)
        if self._direct is not None:
            os.close(self._direct)

    def forget(self, start: int, length: int) -> None:
        """Let the system's cache forget a part of the file that is on the disk, if it is read through the cache."""
        if self._past_cache and self._direct is None and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._descriptor, start, length, os.POSIX_FADV_DONTNEED)

    def begin_writing(self, start: int, length: int) -> None:
        """Let the system bring a part of the file to the disk from now on, if it was written through the cache."""
        begin = _sync_file_range()
        if self._direct is None and begin is not None:  # it is a hint: whoever must be sure syncs
            begin(self._descriptor, start, length, _WRITE)

    def read(self, view: memoryview, offset: int) -> None:
        """Fill ``view`` with what stands at ``offset``.

        Raises:
            CheckpointError: if the file ends before.
        """
        done = 0
        if self._direct is not None and offset % PAGE == 0 and len(view) % PAGE == 0:
            done = max(0, self._directly(os.preadv, view, offset))
        while done < len(view):
            count = _preadv(self._descriptor, view[done:], offset + done)
            if not count:
                raise CheckpointError(
                    f"{self._path} became shorter while it was read: {offset + done:,} bytes are left"
                )
            done += count

    def write(self, view: memoryview, offset: int) -> None:
        """Write ``view`` at ``offset``."""
        done = 0
        if self._direct is not None and offset % PAGE == 0 and len(view) % PAGE == 0:
            done = max(0, self._directly(os.pwritev, view, offset))
        while done < len(view):
            done += _pwrite(self._descriptor, view[done:], offset + done)

    def _directly(self, do: object, view: memoryview, offset: int) -> int:
        """Read or write past the cache; 0 if the file system turns out not to do that."""
        assert self._direct is not None
        try:
            return int(do(self._direct, [view], offset))  # type: ignore[operator]
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
            os.close(self._direct)
            self._direct = None
            return 0


def has_blocks(file: int | pathlib.Path) -> bool:
    """Say whether a file is on a block device; file systems of networks, memory and users' programs have none."""
    return hasattr(os, "preadv") and hasattr(os, "major") and os.major(os.stat(file).st_dev) != 0


@cache
def _sync_file_range() -> Any:
    """Return the system call of this name, which Python does not have; None where there is none."""
    try:
        call = ctypes.CDLL(None).sync_file_range if sys.platform == "linux" else None
    except (OSError, AttributeError):
        return None
    if call is not None:
        call.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return call


def _opened_directly(path: pathlib.Path, write: bool) -> int | None:
    if not hasattr(os, "O_DIRECT"):
        return None
    try:
        return os.open(path, (os.O_RDWR if write else os.O_RDONLY) | os.O_DIRECT)
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
        return None


def _preadv(file: int, view: memoryview, offset: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(file, [view], offset)
    os.lseek(file, offset, os.SEEK_SET)
    content = os.read(file, len(view))
    view[: len(content)] = content
    return len(content)


def _pwrite(file: int, view: memoryview, offset: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(file, view, offset)
    os.lseek(file, offset, os.SEEK_SET)
    return os.write(file, view)
