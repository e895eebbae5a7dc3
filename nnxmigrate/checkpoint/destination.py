"""A local destination that is absent or complete at every moment."""

from __future__ import annotations

import errno
import fnmatch
import os
import pathlib
import shutil
import uuid
from types import TracebackType

from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.files import RemoteFolder, is_remote
from nnxmigrate.checkpoint.journal import NAME as JOURNAL
from nnxmigrate.checkpoint.journal import Journal, belongs_to, known_files
from nnxmigrate.checkpoint.layout import MARK

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_MARK = ".nnxmigrate-tmp-"


def require_free(destination: str, source: str) -> None:
    """Refuse a destination that is taken, or that lies in the source.

    Args:
        destination: path or URL of the new checkpoint.
        source: path or URL of the old one.

    Raises:
        CheckpointError: saying why; also if its store does not answer.
    """
    if is_remote(destination) or is_remote(source):
        inside = f"{destination}/".startswith(f"{source.rstrip('/')}/")
    else:
        inside = f"{os.path.realpath(destination)}/".startswith(f"{os.path.realpath(source)}/")
    if inside:
        raise CheckpointError(
            f"{destination} is the source, or lies in it; the source is never changed", "name another destination"
        )
    if is_remote(destination):
        there = list(RemoteFolder(destination).walk())
        taken = bool(there) and MARK not in there  # what an interrupted conversion left may be gone on with
    else:
        taken = os.path.lexists(destination)
    if taken:
        raise CheckpointError(f"{destination} exists already", "remove it, or name another destination")
    if not is_remote(destination):
        _require_writable(pathlib.Path(destination).parent)


def require_findable(destination: str) -> None:
    """Refuse a destination below which Orbax would not find the types of keys.

    It looks for their files by a pattern that begins with the whole path, in which ``[…]`` stands for one character.

    Raises:
        CheckpointError: naming the folder.
    """
    if is_remote(destination):
        return
    for name in pathlib.PurePath(destination).parts:
        if not fnmatch.fnmatchcase(name, name):
            raise CheckpointError(
                f"{destination}: Orbax takes {name!r} for a pattern and finds no key types below it, so keys would "
                "come back as numbers",
                "name a destination without [ ] in its path",
            )


def _require_writable(folder: pathlib.Path) -> None:
    """Refuse to write below a folder that cannot be made or written to."""
    while not os.path.lexists(folder):
        folder = folder.parent
    if not folder.is_dir():
        raise CheckpointError(f"{folder} is a file, so nothing can be written below it", "name another destination")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CheckpointError(f"{folder}: no permission to write there", "name another destination")


class Destination:
    """A folder that is built under a temporary name beside its place and moved there in one step.

    As a context manager it makes the temporary folder and, unless :meth:`commit` was called, removes it again.
    The folder stays locked while its process lives, so what killed processes left behind is recognised. If its journal
    is of the same conversion, this run goes on with it; else it is removed.

    Attributes:
        path: the final place.
        building: the temporary folder.
        swept: the temporary folders of killed runs that were removed.
        journal: what was done so far; set on entry.
    """

    journal: Journal

    def __init__(self, path: pathlib.Path, of: str = "") -> None:
        """Name a destination.

        Args:
            path: the final place.
            of: what is converted, and from which state of the source; empty if it shall not be resumed.
        """
        self.path = path
        self.building = path.with_name(f"{path.name}{_MARK}{uuid.uuid4().hex[:8]}")
        self.swept: tuple[str, ...] = ()
        self._of = of
        self._lock: int | None = None

    def __enter__(self) -> Destination:
        """Make the temporary folder.

        Raises:
            CheckpointError: if the final place is taken or its parent cannot be written to.
        """
        if os.path.lexists(self.path):
            raise CheckpointError(f"{self.path} exists already", "remove it, or name another destination")
        for folder in self._left_behind():
            if self._lock is None and self._of and belongs_to(folder / JOURNAL, self._of):
                self._lock = _locked(folder)
                self.building = folder if self._lock is not None else self.building
        self.swept = tuple(
            sorted(folder.name for folder in self._left_behind() if folder != self.building and _remove_if_dead(folder))
        )
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.building.mkdir(exist_ok=self._lock is not None)
        except OSError as error:
            raise CheckpointError(
                f"{self.path.parent}: cannot be written to: {error.strerror}", "name another destination"
            ) from error
        if self._lock is None:
            self._lock = _locked(self.building)
        self.journal = Journal(self.building / JOURNAL if self._of else None, self._of)
        if self.journal.resumed:
            self._clear_unfinished()
        return self

    def _clear_unfinished(self) -> None:
        """Remove what an interrupted run wrote after it had copied; its copies stay."""
        known = set().union(*(known_files(file, self._of) for file in self.building.glob(f"{JOURNAL}*")))
        for top, _, names in os.walk(self.building):
            for name in names:
                file = pathlib.Path(top, name)
                if file.relative_to(self.building).as_posix() not in known and not name.startswith(JOURNAL):
                    file.unlink()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.journal.close()
        stopped = isinstance(error, KeyboardInterrupt) and self.journal.begun
        if self.building.exists() and not stopped:
            shutil.rmtree(self.building, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)

    def commit(self) -> None:
        """Bring everything to the disk and move the folder to its place.

        Raises:
            CheckpointError: if somebody else took the place meanwhile.
        """
        self.journal.close()
        for journal in self.building.glob(f"{JOURNAL}*"):
            journal.unlink()
        for folder, _, names in os.walk(self.building):
            for name in names:
                file = os.path.join(folder, name)
                if os.stat(file).st_nlink == 1:  # a hard link's content is on the disk already
                    _sync(file)
            _sync(folder)
        try:
            os.rename(self.building, self.path)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR):
                raise CheckpointError(f"{self.path} was made by another run meanwhile; it stays as it is") from error
            raise
        _sync(str(self.path.parent))

    def _left_behind(self) -> list[pathlib.Path]:
        head = f"{self.path.name}{_MARK}"
        if not self.path.parent.is_dir():
            return []
        return [folder for folder in self.path.parent.iterdir() if folder.name.startswith(head) and folder.is_dir()]


def _locked(folder: pathlib.Path) -> int | None:
    """Lock a folder until its descriptor is closed; None if it is locked already or cannot be."""
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_if_dead(folder: pathlib.Path) -> bool:
    descriptor = _locked(folder)
    if descriptor is None:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    os.close(descriptor)
    return True


def _sync(path: str) -> None:
    if os.name == "nt" and os.path.isdir(path):
        return  # folders cannot be opened there
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
