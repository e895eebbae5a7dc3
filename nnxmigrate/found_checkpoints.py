"""Checkpoints that lie in a project, and whether they fit the newer Flax; nothing but JSON is read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nnxmigrate.files.discovery import EXCLUDED

_KEPT = frozenset({"build", "dist", "_build"})


class FoundCheckpoint(NamedTuple):
    """A checkpoint.

    Attributes:
        path: its folder.
        need: why it has to be converted; empty if it has not.
        trouble: why that cannot be said; empty if it can.
    """

    path: Path
    need: str
    trouble: str = ""


def checkpoints(root: Path) -> Iterator[FoundCheckpoint]:
    """Yield the checkpoints of Orbax below a folder; of one with several items the outer folder, once."""
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in EXCLUDED - _KEPT)
        if "pyvenv.cfg" in files:
            names[:] = []
        elif "_CHECKPOINT_METADATA" in files or "_METADATA" in files:
            path = Path(folder)
            inner = [path / name for name in names if (path / name / "_METADATA").is_file()]
            items = [path] if "_METADATA" in files else inner
            names[:] = []
            yield _judged(path, items)


def _judged(path: Path, items: list[Path]) -> FoundCheckpoint:
    reasons: list[str] = []
    try:
        for item in items:
            reasons += _reasons(list(_paths(item / "_METADATA")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        return FoundCheckpoint(path, "", f"its _METADATA cannot be read: {error}")
    return FoundCheckpoint(path, " and ".join(dict.fromkeys(reasons)))


def _paths(metadata: Path) -> Iterator[tuple[str, ...]]:
    table = json.loads(metadata.read_bytes())["tree_metadata"]
    for leaf in table.values():
        yield tuple(str(part["key"]) for part in leaf["key_metadata"])


def _reasons(paths: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield what in the leaves of an item has another layout since Flax 0.11."""
    if any(_stream_of_010(path) for path in paths):
        yield "layers hold random streams in the layout of Flax 0.10"
    tops = {path[0] for path in paths if path}
    if {"model", "opt_state"} <= tops:
        yield "it is the state of an optimizer of Flax 0.10, with its model"


def _stream_of_010(path: tuple[str, ...]) -> bool:
    """Say whether a leaf is a stream below the name of its kind, as ``rngs/dropout/count``."""
    for number, part in enumerate(path):
        if part == "rngs" and len(path) > number + 2 and path[number + 2] in ("key", "count"):
            return True
    return False
