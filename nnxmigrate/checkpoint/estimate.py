"""How much a conversion copies, whether there is room for it, and about how long it takes."""

from __future__ import annotations

import os
import pathlib
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass

from nnxmigrate.checkpoint.errors import CheckpointError

_PROBE = 32 << 20  # bytes that are read to see how fast the source is
_PROBE_SECONDS = 0.3
_RESERVE = 16 << 20  # bytes for the index, metadata and new RNG state


@dataclass(frozen=True)
class Estimate:
    """What a conversion will cost.

    Attributes:
        files: how many files are copied.
        nbytes: their size.
        free: bytes that are free at the destination; None where nobody knows.
        seconds: about how long it takes; None where nothing was measured.
    """

    files: int
    nbytes: int
    free: int | None
    seconds: float | None


def estimate(
    files: Iterable[tuple[pathlib.Path, int]], destination: pathlib.Path, verify: bool, measured: bool = True
) -> Estimate:
    """Estimate what copying local files costs: the source is read for a moment, nothing is written.

    Args:
        files: the files and how much of each is copied.
        destination: where they go.
        verify: whether the copies are read again.
        measured: whether the source is read for a moment; else nobody knows how long it takes.
    """
    found = list(files)
    total = sum(size for _, size in found)
    large = measured and found and total > _PROBE
    speed = _read_speed(max(found, key=lambda file: file[1])[0]) if large else None
    passes = 3 if verify else 2  # read, write, and read again
    seconds = total * passes / speed if speed else None
    return Estimate(len(found), total, _free(destination), seconds)


def require_space(found: Estimate, destination: str) -> None:
    """Refuse to begin what cannot end.

    Raises:
        CheckpointError: if the destination has too little room.
    """
    if found.free is not None and found.nbytes + _RESERVE > found.free:
        raise CheckpointError(
            f"{destination}: {found.nbytes:,} bytes will be written, but only {found.free:,} are free there",
            "name a destination with more room, or share the data through hard links with --link",
        )


def _free(destination: pathlib.Path) -> int | None:
    place = destination
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        return shutil.disk_usage(place).free
    except OSError:
        return None


def _read_speed(path: pathlib.Path) -> float | None:
    """Return how many bytes a second can be read from a file, as far as a moment tells."""
    start = time.perf_counter()
    done = 0
    with open(path, "rb", buffering=0) as file:
        while done < _PROBE and time.perf_counter() - start < _PROBE_SECONDS:
            content = os.read(file.fileno(), 4 << 20)
            if not content:
                break
            done += len(content)
    passed = time.perf_counter() - start
    return done / passed if done and passed > 0 else None
