"""Copy files of checkpoints from, to and within stores that are reached over a network.

Where fsspec has a driver for a store (``gcsfs``, ``s3fs``, …), the store copies files within it by itself, tells sizes
and checksums without reading, and takes large files in pieces. Without one TensorStore reads and writes them whole.
"""

from __future__ import annotations

import pathlib
import threading
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.files import Folder, LocalFolder, RemoteFolder, access_hint
from nnxmigrate.checkpoint.hashing import joined
from nnxmigrate.checkpoint.transfer import PIECE, Progress, Transferred

WORKERS = 8  # files in work at the same time
_WHOLE = 64 << 20  # bytes of whole files in memory at the same time, or one file
_CHECKSUMS = ("crc32c", "md5Hash", "ETag", "etag", "md5")


@dataclass(frozen=True)
class ObjectPair:
    """A file and its copy, at least one of them in a store.

    Attributes:
        source: the folder of the file.
        destination: the folder of the copy.
        path: the file's path in the one.
        copy: the copy's path in the other.
    """

    source: Folder
    destination: Folder
    path: str
    copy: str

    @property
    def size(self) -> int | None:
        """Bytes of the file; None if the store was not asked."""
        return self.source.size(self.path)


class ObjectTransfer:
    """The copying of some files from, to or within a store, and the proof that the copies are right."""

    def __init__(self, check: bool, resume: bool, progress: Progress) -> None:
        """Prepare.

        Args:
            check: whether copies are compared with what was read, or their checksums with each other.
            resume: whether an earlier run may have copied some.
            progress: told about every file or piece.
        """
        self._check = check
        self._resume = resume
        self._progress = progress
        self._memory = _Budget(_WHOLE)
        self._lock = threading.Lock()
        self.within = 0  # bytes that the store copied by itself
        self.done = Transferred()

    def copy(self, pairs: Iterable[ObjectPair]) -> None:
        """Copy files, a bounded number at a time.

        Raises:
            CheckpointError: if one cannot be read or written, or the copy differs.
        """
        with ThreadPoolExecutor(WORKERS) as pool:
            waiting: deque[Future[None]] = deque()
            try:
                for pair in pairs:
                    waiting.append(pool.submit(self._one, pair))
                    while len(waiting) >= 2 * WORKERS:
                        waiting.popleft().result()
                while waiting:
                    waiting.popleft().result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _one(self, pair: ObjectPair) -> None:
        try:
            self._copy(pair)
        except CheckpointError:
            raise
        except Exception as error:  # drivers of stores raise what they like
            scheme = next(one.scheme for one in (pair.destination, pair.source) if isinstance(one, RemoteFolder))
            said = f"copying {pair.source}/{pair.path} failed: {_said(error)}"
            raise CheckpointError(said, access_hint(scheme)) from error

    def _copy(self, pair: ObjectPair) -> None:
        size = pair.size
        if self._resume and _same_checksums(pair, strict=True):
            self._count(size or 0, resumed=True)
            return
        shared = _shared(pair)
        if shared is not None:
            shared.cp_file(_address(pair.source, pair.path), _address(pair.destination, pair.copy))
            with self._lock:
                self.within += size or 0
            if self._check and not _same_checksums(pair, strict=False):
                raise CheckpointError(f"verification failed: {pair.destination}/{pair.copy} has another checksum")
            self._count(size or 0, compared=self._check)
        elif isinstance(pair.destination, LocalFolder):
            self._download(pair, size)
        else:
            self._upload(pair, size)

    def _download(self, pair: ObjectPair, size: int | None) -> None:
        assert isinstance(pair.destination, LocalFolder)
        path = pair.destination.path / pair.copy
        path.parent.mkdir(parents=True, exist_ok=True)
        sums = []
        with open(path, "wb") as file:
            for content in pair.source.pieces(pair.path, PIECE):
                file.write(content)
                sums.append(joined(0, content))
                self._count(len(content))
        if self._check:
            self._compare(pair, path, sums)

    def _compare(self, pair: ObjectPair, path: pathlib.Path, sums: list[int]) -> None:
        with open(path, "rb") as file:
            for wanted in sums:
                content = file.read(PIECE)
                if joined(0, content) != wanted:
                    raise CheckpointError(f"verification failed: {pair.copy} differs from what was read")
                self.done.compared += len(content)

    def _upload(self, pair: ObjectPair, size: int | None) -> None:
        assert isinstance(pair.destination, RemoteFolder)
        driver = pair.destination.driver
        if driver is None or (size is not None and size <= PIECE):
            with self._memory.reserved(size if size is not None else _WHOLE):
                content = pair.source.read(pair.path) or b""
                pair.destination.write(pair.copy, content)
                self._count(len(content))
                if self._check:
                    self._read_back(pair, [joined(0, content[at : at + PIECE]) for at in range(0, len(content), PIECE)])
            return
        sums = []
        with driver.open(_address(pair.destination, pair.copy), "wb", block_size=PIECE) as file:
            for content in pair.source.pieces(pair.path, PIECE):
                file.write(content)
                sums.append(joined(0, content))
                self._count(len(content))
        if self._check:
            self._read_back(pair, sums)

    def _read_back(self, pair: ObjectPair, sums: list[int]) -> None:
        at = -1
        for at, content in enumerate(pair.destination.pieces(pair.copy, PIECE)):
            if at >= len(sums) or joined(0, content) != sums[at]:
                raise CheckpointError(f"verification failed: {pair.copy} differs from what was written")
            with self._lock:
                self.done.compared += len(content)
        if at + 1 != len(sums):
            raise CheckpointError(f"verification failed: {pair.copy} is shorter than what was written")

    def _count(self, size: int, resumed: bool = False, compared: bool = False) -> None:
        with self._lock:
            if resumed:
                self.done.resumed += size
            else:
                self.done.copied += size
            if compared:
                self.done.compared += size
        self._progress(size)


class _Budget:
    """Memory that several threads share."""

    def __init__(self, total: int) -> None:
        self._total = self._free = total
        self._condition = threading.Condition()

    def reserved(self, size: int) -> _Reserved:
        """Wait until so much is free, or all of it for more than that; free again at the end of a ``with``."""
        return _Reserved(self, min(size, self._total))

    def take(self, size: int) -> None:
        with self._condition:
            self._condition.wait_for(lambda: self._free >= size)
            self._free -= size

    def give(self, size: int) -> None:
        with self._condition:
            self._free += size
            self._condition.notify_all()


@dataclass
class _Reserved:
    budget: _Budget
    size: int

    def __enter__(self) -> None:
        self.budget.take(self.size)

    def __exit__(self, *error: object) -> None:
        self.budget.give(self.size)


def _shared(pair: ObjectPair) -> Any:
    """Return the driver of the store in which both files are, if there is one."""
    one, two = pair.source, pair.destination
    if isinstance(one, RemoteFolder) and isinstance(two, RemoteFolder) and one.scheme == two.scheme:
        return one.driver
    return None


def _same_checksums(pair: ObjectPair, strict: bool) -> bool:
    """Compare sizes and checksums as their stores give them.

    Args:
        pair: the file and its copy.
        strict: whether something must prove that they are equal; else nothing must prove that they are not.
    """
    one, two = pair.source.facts(pair.path), pair.destination.facts(pair.copy, fresh=True)
    if one is None or two is None:
        return False
    if one.get("size") != two.get("size"):
        return False
    found = [(one[name], two[name]) for name in _CHECKSUMS if one.get(name) and two.get(name)]
    if not found:
        return not strict
    return bool(found[0][0] == found[0][1])


def _address(folder: Folder, path: str) -> str:
    return f"{folder}/{path}"


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
