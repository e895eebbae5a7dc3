"""Copy files fast and in bounded memory: in pieces, several at a time, hashed on their way, resumed where they ended.

What is read is hashed once, in pieces of :data:`PIECE` bytes; when the copy is on the disk, reading and hashing it
again proves that it holds what was read. Copies that fit into memory are read as the system gives them, which is mostly
from its cache; larger ones, or all if that is asked for, are written and read past the cache, from the disk.
Without verification, the system copies by itself and nothing passes through this process.
"""

from __future__ import annotations

import errno
import os
import pathlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from nnxmigrate.checkpoint.blocks import BLOCK, PAGE, File, has_blocks, new_block
from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.hashing import joined
from nnxmigrate.checkpoint.journal import Journal
from nnxmigrate.checkpoint.memory import available

Progress = Callable[[int], None]
"""Called with the number of bytes that were just dealt with."""

PIECE = 8 << 20  # bytes of a file that are dealt with at once
WORKERS = 8  # pieces in work at the same time, each with a block in memory
_CACHED = 0.5  # the share of free memory that copies may take as long as they are read back from there
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
        ranges: the parts that are copied, first and last place of each, in order; None for all of it. The rest of the
            copy is a hole, which takes no room.
    """

    source: pathlib.Path
    destination: pathlib.Path
    size: int
    link: bool = False
    ranges: tuple[tuple[int, int], ...] | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes are copied."""
        return self.size if self.ranges is None else sum(stop - start for start, stop in self.ranges)


def pair(
    source: pathlib.Path,
    destination: pathlib.Path,
    link: bool = False,
    ranges: Iterable[tuple[int, int]] | None = None,
) -> Pair:
    """Return a file and its copy with the file's size; ``ranges`` may overlap, and grow to whole pages."""
    size = source.stat().st_size
    return Pair(source, destination, size, link and ranges is None, None if ranges is None else _merged(ranges, size))


def _merged(ranges: Iterable[tuple[int, int]], size: int) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        start, stop = start // PAGE * PAGE, min(-(-stop // PAGE) * PAGE, size)
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return tuple(found)


@dataclass(frozen=True)
class _Piece:
    pair: Pair
    start: int
    stop: int


class Transfer:
    """The copying of some files, and the proof that the copies are right."""

    def __init__(
        self,
        root: pathlib.Path,
        journal: Journal,
        check: bool,
        progress: Progress = lambda count: None,
        *,
        from_disk: bool = False,
    ) -> None:
        """Prepare.

        Args:
            root: the folder below which the copies are; names in the journal are relative to it.
            journal: what was done so far; filled in.
            check: whether :meth:`verify` will be called, for which what is read must be hashed.
            progress: told about every piece, copied or verified.
            from_disk: whether copies are read back past the system's cache however small they are.
        """
        self._past_cache = from_disk
        self._root = root
        self._journal = journal
        self._check = check
        self._progress = progress
        self._held = threading.local()
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
        pairs = list(pairs)
        if sum(one.nbytes for one in pairs if not one.link) > available() * _CACHED:
            self._past_cache = True
        for one in pairs:
            one.destination.parent.mkdir(parents=True, exist_ok=True)
            if one.link and _linked(one):
                self.done.linked += one.size
                self._progress(one.size)
                continue
            self._copied.append(one)
            with open(one.destination, "ab") as file:  # exists from now on, also if it is empty
                if file.tell() < one.size and (self._check or one.ranges is not None):
                    os.truncate(one.destination, one.size)
            pieces += _pieces(one) if self._check or one.ranges is not None else [_Piece(one, 0, one.size)]
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

        workers = self._workers()
        with ThreadPoolExecutor(workers) as pool:
            waiting: deque[Future[None]] = deque()
            try:
                for group in _groups(pieces):
                    waiting.append(pool.submit(together, group))
                    while len(waiting) >= 2 * workers:
                        waiting.popleft().result()
                while waiting:
                    waiting.popleft().result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _workers(self) -> int:
        """Return how many pieces are dealt with at once.

        What goes through the cache of a machine's own disk waits for nothing: more threads than processors are in each
        other's way. What waits for a disk or a network gains from many requests.
        """
        if self._past_cache or not self._check or not has_blocks(self._root):
            return WORKERS
        return min(WORKERS, (os.cpu_count() or 1) + 1)

    def _copy_piece(self, piece: _Piece) -> None:
        size = piece.stop - piece.start
        if not self._check and piece.pair.ranges is None:
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
        found = self._hashed(piece.pair.source, piece, piece.pair.destination)
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
        found = self._hashed(piece.pair.source, piece, piece.pair.destination)
        _sync_piece(piece)
        return found == wanted == self._hashed(piece.pair.destination, piece)

    def _verified(self, piece: _Piece) -> bool:
        if not self._journal.was_verified(self._name(piece.pair)):
            return False
        self._progress(piece.stop - piece.start)
        return True

    def _name(self, one: Pair) -> str:
        return one.destination.relative_to(self._root).as_posix()

    def _hashed(self, path: pathlib.Path, piece: _Piece, copy: pathlib.Path | None = None) -> int:
        """Return the hash of a piece of a file; write what is read to the same place of a copy if one is given.

        It passes in blocks that stay in the processor's cache between reading, hashing and writing. A source is read
        through the system's cache, where it may be already; a large copy may be written and read past it.
        """
        memory = getattr(self._held, "of_thread", None)
        if memory is None:
            memory = self._held.of_thread = new_block()
        large = piece.stop - piece.start >= BLOCK
        past_cache = large and self._past_cache
        found = 0
        with ExitStack() as stack:
            read = stack.enter_context(File(path, past_cache=copy is None and past_cache))
            write = stack.enter_context(File(copy, write=True, past_cache=past_cache)) if copy is not None else None
            if write is None:
                read.forget(piece.start, piece.stop - piece.start)
            for start in range(piece.start, piece.stop, BLOCK):
                view = memoryview(memory)[: min(BLOCK, piece.stop - start)]
                read.read(view, start)
                found = joined(found, view)
                if write is not None:
                    write.write(view, start)
            if write is not None and large:
                write.begin_writing(piece.start, piece.stop - piece.start)
        return found


def _pieces(one: Pair) -> Iterator[_Piece]:
    for first, last in ((0, one.size),) if one.ranges is None else one.ranges:
        for start in range(first, last, PIECE):
            yield _Piece(one, start, min(start + PIECE, last))


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


def _sync_piece(piece: _Piece) -> None:
    with open(piece.pair.destination, "r+b", buffering=0) as file:
        os.fsync(file.fileno())
