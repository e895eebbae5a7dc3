"""Find cut-off and missing data before anything is copied, from indexes and file sizes alone."""

from __future__ import annotations

import itertools
import math
import os
import pathlib
from collections import defaultdict
from collections.abc import Iterator

from nnxmigrate.checkpoint.errors import DamagedError, unreadable
from nnxmigrate.checkpoint.files import LocalFolder
from nnxmigrate.checkpoint.frames import zstd_size
from nnxmigrate.checkpoint.index import references
from nnxmigrate.checkpoint.reading import ARRAY_KINDS
from nnxmigrate.checkpoint.tree import Leaf, StoredTree, array_nbytes


def require_complete(folder: LocalFolder, tree: StoredTree) -> None:
    """Check that all data of an item are there: every file that its index refers to, in full length.

    Without OCDBT no index tells lengths; then only the chunks' files are looked for.

    Raises:
        DamagedError: naming the first file that is missing or too short.
    """
    if tree.ocdbt:
        _require_database(folder.path)
    elif tree.dense:
        _require_chunks(folder.path, tree)


def _require_database(path: pathlib.Path) -> None:
    needed: dict[str, int] = defaultdict(int)
    try:
        for file, end in references(LocalFolder(path)):
            needed[file] = max(needed[file], end)
    except ValueError as error:
        raise unreadable(path, error) from error
    for file, end in needed.items():
        data = path / file
        if not data.is_file():
            raise DamagedError(f"{path}: damaged: the data file {file} is missing")
        size = data.stat().st_size
        if size < end:
            raise DamagedError(f"{path}: damaged: {file} is cut off: {size:,} bytes of at least {end:,}")


def _require_chunks(path: pathlib.Path, tree: StoredTree) -> None:
    for leaf in tree.leaves.values():
        for index in _chunk_indices(leaf):
            if _chunk_file(path, leaf.name, index, tree.zarr3) is None:
                name = _chunk_name(index, tree.zarr3)
                raise DamagedError(f"{path}: damaged: {leaf.name}: the chunk {name} is missing")


def require_whole_chunks(path: pathlib.Path, leaf: Leaf, name: str, zarr3: bool, source: object) -> bool:
    """Check that the chunks of an array in a folder of its own are not cut off, without decoding them.

    Args:
        path: the item's folder.
        leaf: the array.
        name: its folder's name there.
        zarr3: whether it is stored in version 3 of the Zarr format.
        source: the item of which this one is a copy, which is then as damaged; it has the array by the leaf's name.

    Returns:
        False if nothing but a decoder could say, for compressions other than Zstandard.

    Raises:
        DamagedError: naming the first chunk that is too short, or whose marks do not fit together.
    """
    if leaf.codec not in ("", "zstd") or leaf.chunks is None or leaf.dtype is None:
        return leaf.chunks is None
    wanted = array_nbytes(leaf.chunks, leaf.dtype) if "int4" not in leaf.dtype and "int2" not in leaf.dtype else None
    for index in _chunk_indices(leaf):
        file = _chunk_file(path, name, index, zarr3)
        if file is None:
            continue
        size = file.stat().st_size
        with open(file, "rb", buffering=0) as opened:
            descriptor = opened.fileno()

            def read(offset: int, count: int, descriptor: int = descriptor) -> bytes:
                os.lseek(descriptor, offset, os.SEEK_SET)
                return os.read(descriptor, count)

            found = zstd_size(read, size) if leaf.codec == "zstd" else size
        if found is None or (wanted is not None and found not in (wanted, -1)):
            chunk = file.relative_to(path / name).as_posix()
            raise DamagedError(f"{source}: damaged: a stored value cannot be read: {leaf.name}/{chunk} is cut off")
    return True


def _chunk_indices(leaf: Leaf) -> Iterator[tuple[int, ...]]:
    """Give the indices of an array's chunks; one for an array of rank 0, none for an empty one."""
    if leaf.kind not in ARRAY_KINDS or leaf.shape is None or leaf.chunks is None:
        return
    counts = [math.ceil(length / chunk) if chunk else 0 for length, chunk in zip(leaf.shape, leaf.chunks, strict=True)]
    yield from itertools.product(*(range(count) for count in counts))


def _chunk_file(path: pathlib.Path, name: str, index: tuple[int, ...], zarr3: bool) -> pathlib.Path | None:
    """Return a chunk's file; None if there is none."""
    names = (_chunk_name(index, zarr3), _chunk_name(index, zarr3, nested=True))
    return next((file for one in names if (file := path / name / one).is_file()), None)


def _chunk_name(index: tuple[int, ...], zarr3: bool, nested: bool = False) -> str:
    if zarr3:
        return "/".join(("c", *map(str, index)))
    return ("/" if nested else ".").join(map(str, index)) or "0"
