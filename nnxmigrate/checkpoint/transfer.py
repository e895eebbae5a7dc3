"""Copy files fast and in bounded memory: in pieces, several at a time, hashed on their way, resumed where they ended.

What is read is hashed once, by CRC-32 over pieces of :data:`PIECE` bytes; reading the copy and hashing it again then
proves that it holds what was read. Without that, the system copies by itself and nothing passes through this process.
"""

from __future__ import annotations

import errno
import os
import pathlib
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.journal import Journal

Progress = Callable[[int], None]
"""Called with the number of bytes that were just dealt with."""

PIECE = 8 << 20  # bytes of a file that are dealt with at once
WORKERS = 4  # pieces in work at the same time
_BLOCK = 512 << 10  # bytes of a piece that are in memory
_SMALL = 64  # files below a piece that are dealt with in one go
_UNSUPPORTED = {errno.EOPNOTSUPP, getattr(errno, "ENOTSUP", errno.EOPNOTSUPP), errno.ENOSYS}
_NO_LINK = {*_UNSUPPORTED, errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EACCES}
_NO_RANGE = {*_UNSUPPORTED, errno.EXDEV, errno.EINVAL, errno.EPERM}


@dataclass
class Transferred:
    """What was done, in bytes.

    Attributes:
        copied: copied.
        linked: shared with the source through hard links.
        resumed: copied already by a run that was interrupted.
        compared: read back from the copy and found equal to what was read from the source.
    """

    copied: int = 0
    linked: int = 0
    resumed: int = 0
    compared: int = 0

    def add(self, other: Transferred) -> None:
        """Count what was done elsewhere too."""
        self.copied += other.copied
        self.linked += other.linked
        self.resumed += other.resumed
        self.compared += other.compared


@dataclass(frozen=True)
class Pair:
    """A file and its copy.

    Attributes:
        source: the file.
        destination: the copy.
        size: bytes of the file.
        link: whether a hard link may be made; only for files that nobody rewrites in place.
    """

    source: pathlib.Path
    destination: pathlib.Path
    size: int
    link: bool = False


def pair(source: pathlib.Path, destination: pathlib.Path, link: bool = False) -> Pair:
    """Return a file and its copy with the file's size."""
    return Pair(source, destination, source.stat().st_size, link)


@dataclass(frozen=True)
class _Piece:
    pair: Pair
    start: int
    stop: int


class Transfer:
    """The copying of some files, and the proof that the copies are right."""

    def __init__(
        self, root: pathlib.Path, journal: Journal, check: bool, progress: Progress = lambda count: None
    ) -> None:
        """Prepare.

        Args:
            root: the folder below which the copies are; names in the journal are relative to it.
            journal: what was done so far; filled in.
            check: whether :meth:`verify` will be called, for which what is read must be hashed.
            progress: told about every piece, copied or verified.
        """
        self._root = root
        self._journal = journal
        self._check = check
        self._progress = progress
        self._buffers = threading.local()
        self._copied: list[Pair] = []
        self._sums: dict[tuple[str, int], int] = {}
        self.done = Transferred()

    def copy(self, pairs: Iterable[Pair]) -> None:
        """Copy files, or share them through hard links where they may be and the file system can.

        Raises:
            OSError: if a file cannot be read or written, or the disk is full.
            CheckpointError: if a file changes while it is read.
        """
        pieces: list[_Piece] = []
        for one in pairs:
            one.destination.parent.mkdir(parents=True, exist_ok=True)
            if one.link and _linked(one):
                self.done.linked += one.size
                self._progress(one.size)
                continue
            self._copied.append(one)
            with open(one.destination, "ab") as file:  # exists from now on, also if it is empty
                if file.tell() < one.size and self._check:
                    os.truncate(one.destination, one.size)
            pieces += _pieces(one) if self._check else [_Piece(one, 0, one.size)]
        self._each(pieces, self._copy_piece)

    def tell(self, progress: Progress) -> None:
        """Report to somebody else from now on."""
        self._progress = progress

    def sync(self) -> None:
        """Bring the copies to the disk, so that what is noted as verified outlives the machine."""
        self._each([_Piece(one, 0, 0) for one in self._copied], _sync_piece)

    def verify(self) -> None:
        """Read every copy once and compare its hashes with those of what was read from the source.

        Raises:
            CheckpointError: naming the first copy that differs.
        """
        pieces = [piece for one in self._copied for piece in _pieces(one) if not self._verified(piece)]
        self._each(pieces, self._verify_piece)
        for one in self._copied:
            self._journal.verified(self._name(one))

    def _each(self, pieces: Iterable[_Piece], work: Callable[[_Piece], None]) -> None:
        """Do something with pieces, a bounded number at a time; small ones together."""

        def together(group: list[_Piece]) -> None:
            for piece in group:
                work(piece)

        with ThreadPoolExecutor(WORKERS) as pool:
            waiting: deque[Future[None]] = deque()
            try:
                for group in _groups(pieces):
                    waiting.append(pool.submit(together, group))
                    while len(waiting) >= 2 * WORKERS:
                        waiting.popleft().result()
                while waiting:
                    waiting.popleft().result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _copy_piece(self, piece: _Piece) -> None:
        size = piece.stop - piece.start
        if not self._check:
            _copy_whole(piece.pair, self._progress)
            self.done.copied += size
            return
        name = self._name(piece.pair)
        known = self._journal.sum_of(name, piece.start, piece.stop)
        if known is not None:
            self._sums[name, piece.start] = known
            self.done.resumed += size
            self._progress(size)
            return
        with open(piece.pair.destination, "r+b", buffering=0) as write:
            found = self._hashed(piece.pair.source, piece, write.fileno())
        self._sums[name, piece.start] = found
        self._journal.copied(name, piece.start, piece.stop, found)
        self.done.copied += size
        self._progress(size)

    def _verify_piece(self, piece: _Piece) -> None:
        name = self._name(piece.pair)
        wanted = self._sums[name, piece.start]
        if self._hashed(piece.pair.destination, piece) != wanted:
            again = self._journal.sum_of(name, piece.start, piece.stop)
            if again is None or not self._mended(piece, wanted):
                where = f"bytes {piece.start:,} to {piece.stop:,}"
                raise CheckpointError(
                    f"verification failed: {name}: {where} of the copy differ from what was read from the source",
                    "the disk or the memory is at fault; nothing was left behind",
                )
        self.done.compared += piece.stop - piece.start
        self._progress(piece.stop - piece.start)

    def _mended(self, piece: _Piece, wanted: int) -> bool:
        """Copy a piece again that an interrupted run had written but the machine has lost."""
        if not self._journal.resumed:
            return False
        with open(piece.pair.destination, "r+b", buffering=0) as write:
            found = self._hashed(piece.pair.source, piece, write.fileno())
            os.fsync(write.fileno())
        return found == wanted == self._hashed(piece.pair.destination, piece)

    def _verified(self, piece: _Piece) -> bool:
        if not self._journal.was_verified(self._name(piece.pair)):
            return False
        self._progress(piece.stop - piece.start)
        return True

    def _name(self, one: Pair) -> str:
        return one.destination.relative_to(self._root).as_posix()

    def _hashed(self, path: pathlib.Path, piece: _Piece, write: int | None = None) -> int:
        """Return the hash of a piece of a file; write what is read to the same place of another file if one is given.

        It passes in blocks that stay in the processor's cache between reading, hashing and writing.
        """
        buffer = getattr(self._buffers, "held", None)
        if buffer is None:
            buffer = self._buffers.held = bytearray(_BLOCK)
        found = 0
        with open(path, "rb", buffering=0) as file:
            for start in range(piece.start, piece.stop, _BLOCK):
                view = memoryview(buffer)[: min(_BLOCK, piece.stop - start)]
                _read_at(file.fileno(), view, start, path)
                found = zlib.crc32(view, found)
                if write is not None:
                    _write_at(write, view, start)
        return found


def _pieces(one: Pair) -> Iterator[_Piece]:
    for start in range(0, one.size, PIECE):
        yield _Piece(one, start, min(start + PIECE, one.size))


def _groups(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    group: list[_Piece] = []
    size = 0
    for piece in pieces:
        group.append(piece)
        size += piece.stop - piece.start
        if size >= PIECE or len(group) == _SMALL:
            yield group
            group, size = [], 0
    if group:
        yield group


def _linked(one: Pair) -> bool:
    try:
        os.link(one.source, one.destination)
    except FileExistsError:
        return os.path.samefile(one.source, one.destination)  # an interrupted run made it
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        return False
    return True


def _copy_whole(one: Pair, progress: Progress) -> None:
    """Let the system copy a file."""
    with open(one.source, "rb") as read, open(one.destination, "wb") as write:
        if hasattr(os, "copy_file_range"):
            try:
                while count := os.copy_file_range(read.fileno(), write.fileno(), PIECE):
                    progress(count)
                if write.seek(0, os.SEEK_END) == os.fstat(read.fileno()).st_size:
                    return
            except OSError as error:
                if error.errno not in _NO_RANGE:
                    raise
            read.seek(write.seek(0, os.SEEK_END))  # some file systems know the call but copy nothing
        while content := read.read(1 << 20):
            write.write(content)
            progress(len(content))


def _read_at(file: int, view: memoryview, offset: int, path: pathlib.Path) -> None:
    done = 0
    while done < len(view):
        count = _preadv(file, view[done:], offset + done)
        if not count:
            raise CheckpointError(f"{path} became shorter while it was read: {offset + done:,} bytes are left")
        done += count


def _write_at(file: int, view: memoryview, offset: int) -> None:
    done = 0
    while done < len(view):
        done += _pwrite(file, view[done:], offset + done)


def _preadv(file: int, view: memoryview, offset: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(file, [view], offset)
    os.lseek(file, offset, os.SEEK_SET)  # every piece has a descriptor of its own
    content = os.read(file, len(view))
    view[: len(content)] = content
    return len(content)


def _pwrite(file: int, view: memoryview, offset: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(file, view, offset)
    os.lseek(file, offset, os.SEEK_SET)
    return os.write(file, view)


def _sync_piece(piece: _Piece) -> None:
    with open(piece.pair.destination, "r+b", buffering=0) as file:
        os.fsync(file.fileno())
