"""What a conversion has done so far, kept beside its result, so that an interrupted one goes on where it ended."""

from __future__ import annotations

import contextlib
import json
import pathlib
import threading
from typing import IO, Any

NAME = ".nnxmigrate-journal"


class Journal:
    """Finished pieces and verified files, a line each.

    A line is written after what it says was done. Lines of a machine that lost power may be ahead of its disk; what
    was not yet verified is therefore read and compared again, and copied again if it differs.

    Attributes:
        resumed: whether an earlier run left something.
        begun: whether anything was noted.
    """

    def __init__(self, path: pathlib.Path | None, of: str = "") -> None:
        """Open or begin a journal.

        Args:
            path: where it is; None to remember nothing.
            of: what is converted, and from which state of the source; a journal of something else is not used.
        """
        self._sums: dict[tuple[str, int, int], int] = {}
        self._verified: set[str] = set()
        self._file: IO[str] | None = None
        self._lock = threading.Lock()
        self.resumed = False
        self.begun = False
        if path is None:
            return
        if path.exists():
            self._load(path, of)
        self._file = open(path, "a" if self.resumed else "w", encoding="utf-8")  # noqa: SIM115
        self._write({"of": of})

    def close(self) -> None:
        """Write no more."""
        if self._file:
            self._file.close()
            self._file = None

    def sum_of(self, name: str, start: int, stop: int) -> int | None:
        """Return the hash of a piece that was copied; None if it was not."""
        return self._sums.get((name, start, stop))

    def was_verified(self, name: str) -> bool:
        """Say whether an earlier run has read a copy back and found it right."""
        return name in self._verified

    def copied(self, name: str, start: int, stop: int, found: int) -> None:
        """Note a piece that was copied."""
        self.begun = True
        self._write({"copied": name, "start": start, "stop": stop, "sum": found})

    def verified(self, name: str) -> None:
        """Note a file whose copy was read back and is on the disk."""
        self._write({"verified": name})

    def _write(self, line: dict[str, Any]) -> None:
        with self._lock:
            if self._file:
                self._file.write(json.dumps(line) + "\n")
                self._file.flush()

    def _load(self, path: pathlib.Path, of: str) -> None:
        lines = []
        for text in path.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):  # the last line of a killed run may be torn
                lines.append(json.loads(text))
        if not lines or lines[0].get("of") != of:
            return
        self.resumed = True
        for line in lines[1:]:
            if "copied" in line:
                self._sums[line["copied"], line["start"], line["stop"]] = line["sum"]
                self.begun = True
            elif "verified" in line:
                self._verified.add(line["verified"])


def known_files(path: pathlib.Path, of: str) -> set[str]:
    """Return the files of which the journal at ``path`` has pieces, if it is one of the conversion ``of``."""
    if not belongs_to(path, of):
        return set()
    found = set()
    for text in path.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(ValueError):
            found.add(json.loads(text).get("copied"))
    return found - {None}


def belongs_to(path: pathlib.Path, of: str) -> bool:
    """Say whether the journal at ``path`` is one of the conversion ``of``."""
    try:
        with open(path, encoding="utf-8") as file:
            return bool(json.loads(file.readline()).get("of") == of)
    except (OSError, ValueError, AttributeError):
        return False
