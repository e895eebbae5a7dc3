"""Find cut-off and missing data before anything is copied, from indexes and file sizes alone."""

from __future__ import annotations

import itertools
import math
import pathlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.files import LocalFolder
from nnxmigrate.checkpoint.reading import ARRAY_KINDS
from nnxmigrate.checkpoint.tree import StoredTree


def require_complete(folder: LocalFolder, tree: StoredTree) -> None:
    """Check that all data of an item are there: every file that its index refers to, in full length.

    Without OCDBT no index tells lengths; then only the chunks' files are looked for.

    Raises:
        CheckpointError: naming the first file that is missing or too short.
    """
    if tree.ocdbt:
        _require_database(folder.path)
    elif tree.dense:
        _require_chunks(folder.path, tree)


def _require_database(path: pathlib.Path) -> None:
    needed: dict[str, int] = defaultdict(int)
    try:
        for file, end in _references(path):
            needed[file] = max(needed[file], end)
    except ValueError as error:
        raise CheckpointError(f"{path}: the OCDBT database is damaged: {error}") from error
    for file, end in needed.items():
        data = path / file
        if not data.is_file():
            raise CheckpointError(f"{path}: damaged: the data file {file} is missing")
        size = data.stat().st_size
        if size < end:
            raise CheckpointError(f"{path}: damaged: {file} is cut off: {size:,} bytes of at least {end:,}")


def _references(path: pathlib.Path) -> Iterator[tuple[str, int]]:
    """Give the data files that the newest version of an OCDBT database refers to, and where the references end."""
    import tensorstore

    base = tensorstore.KvStore.open({"driver": "file", "path": f"{path}/"}).result()
    manifest = tensorstore.ocdbt.dump(base).result()
    pending: list[dict[str, Any]] = [manifest["versions"][-1]["root"]] if manifest["versions"] else []
    while pending:
        location = pending.pop().get("location")
        if location is None:  # an empty tree
            continue
        yield _place(location)
        for entry in tensorstore.ocdbt.dump(base, location).result()["entries"]:
            if "indirect_value" in entry:
                yield _place(entry["indirect_value"])
            elif "location" in entry:
                pending.append(entry)


def _place(location: str) -> tuple[str, int]:
    """Split a reference such as ``value:ocdbt.process_0/:d/0a1b:100:20`` into the file and the reference's end."""
    file, offset, length = location.partition(":")[2].rsplit(":", 2)
    folder, _, name = file.rpartition(":")
    return unquote(folder) + unquote(name), int(offset) + int(length)


def _require_chunks(path: pathlib.Path, tree: StoredTree) -> None:
    for leaf in tree.leaves.values():
        if leaf.kind not in ARRAY_KINDS or leaf.shape is None or leaf.chunks is None:
            continue
        counts = [
            math.ceil(length / chunk) if chunk else 0 for length, chunk in zip(leaf.shape, leaf.chunks, strict=True)
        ]
        for index in itertools.product(*(range(count) for count in counts)):
            file = path / leaf.name / _chunk_name(index, tree.zarr3)
            if not file.is_file() and not (path / leaf.name / _chunk_name(index, tree.zarr3, nested=True)).is_file():
                raise CheckpointError(f"{path}: damaged: {leaf.name}: the chunk {file.name} is missing")


def _chunk_name(index: tuple[int, ...], zarr3: bool, nested: bool = False) -> str:
    if zarr3:
        return "/".join(("c", *map(str, index)))
    return ("/" if nested else ".").join(map(str, index)) or "0"
