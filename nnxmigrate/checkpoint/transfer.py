"""Copy files fast: no decoding, no buffers of the process where the system can do without, hard links on request."""

from __future__ import annotations

import errno
import os
import pathlib
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass

Progress = Callable[[int], None]
"""Called with the number of bytes that were just dealt with."""

_PIECE = 64 << 20  # bytes copied between two calls of the progress
_UNSUPPORTED = {errno.EOPNOTSUPP, getattr(errno, "ENOTSUP", errno.EOPNOTSUPP), errno.ENOSYS}
_NO_LINK = {*_UNSUPPORTED, errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EACCES}
_NO_RANGE = {*_UNSUPPORTED, errno.EXDEV, errno.EINVAL, errno.EPERM}


@dataclass
class Transferred:
    """What was done.

    Attributes:
        copied: bytes that were copied.
        linked: bytes that are shared with the source through hard links.
    """

    copied: int = 0
    linked: int = 0


def transfer(
    pairs: Iterable[tuple[pathlib.Path, pathlib.Path]], link: bool, progress: Progress = lambda count: None
) -> Transferred:
    """Copy files, or share them through hard links where the file system can.

    Args:
        pairs: sources and destinations; folders of the latter are made.
        link: whether hard links are tried. Only for files that nobody rewrites in place.
        progress: told about every piece.

    Raises:
        OSError: if a file cannot be read or written, or the disk is full.
    """
    done = Transferred()
    for source, destination in pairs:
        destination.parent.mkdir(parents=True, exist_ok=True)
        size = source.stat().st_size
        if link and _linked(source, destination):
            done.linked += size
            progress(size)
        else:
            _copy(source, destination, progress)
            done.copied += size
    return done


def _linked(source: pathlib.Path, destination: pathlib.Path) -> bool:
    try:
        os.link(source, destination)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        return False
    return True


def _copy(source: pathlib.Path, destination: pathlib.Path, progress: Progress) -> None:
    with open(source, "rb") as read, open(destination, "xb") as write:
        if hasattr(os, "copy_file_range"):
            try:
                while count := os.copy_file_range(read.fileno(), write.fileno(), _PIECE):
                    progress(count)
                if write.seek(0, os.SEEK_END) == os.fstat(read.fileno()).st_size:
                    return
            except OSError as error:
                if error.errno not in _NO_RANGE:
                    raise
            read.seek(write.seek(0, os.SEEK_END))  # some file systems know the call but copy nothing
        before = write.tell()
        shutil.copyfileobj(read, write, 1 << 20)
        progress(write.tell() - before)
