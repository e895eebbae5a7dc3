"""What a stored tree holds: named leaves with shapes and dtypes, read from metadata alone."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Path = tuple[str, ...]
"""Keys from the root to a leaf, all as strings, the way Orbax stores them."""

DICT_KEY = 2
SEQUENCE_KEY = 1


def is_below(path: Path, node: Path) -> bool:
    """Say whether a path is a node, or leads below it."""
    return path[: len(node)] == node


def dotted(path: Path) -> str:
    """Return the name under which Orbax stores the leaf at ``path``."""
    return ".".join(path)


def leaf_of(key: str, names: Container[str]) -> str:
    """Return which leaf's a file or a key of a database is; empty if it is none's.

    Args:
        key: the path of a file, or a key: the name of a leaf, a slash, and what is stored of it.
        names: the names of leaves, in which there may be slashes too.
    """
    end = key.rfind("/")
    while end > 0 and key[:end] not in names:
        end = key.rfind("/", 0, end)
    return key[: max(end, 0)]


@dataclass(frozen=True)
class Leaf:
    """One leaf of a tree.

    Attributes:
        path: where it stands in the tree.
        key_types: for every key of the path whether it is a sequence's or a dict's, in Orbax's numbers.
        kind: what Orbax says it was: ``jax.Array``, ``np.ndarray``, ``scalar``, ``string``, ``None``, ``Dict``, …
        shape: lengths of its dimensions as stored (of a key: those of its data); None if it is no array.
        dtype: NumPy's name of its stored type (``uint32`` for a key); None if it is no array.
        key_impl: the PRNG implementation of a typed key; None for other arrays.
        chunks: lengths of a stored chunk; None where unknown.
        codec: how a stored chunk is compressed, such as ``zstd``; empty if it is not, None where unknown.
    """

    path: Path
    key_types: tuple[int, ...]
    kind: str
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    key_impl: str | None = None
    chunks: tuple[int, ...] | None = None
    codec: str | None = None

    @property
    def name(self) -> str:
        """The name under which Orbax stores it."""
        return dotted(self.path)

    @property
    def is_string(self) -> bool:
        """Whether it is a stored string, which Orbax restores into a target by ``PyTreeRestore`` alone."""
        return self.kind == "string"

    @property
    def nbytes(self) -> int:
        """Size of its values in memory, in bytes."""
        return 0 if self.shape is None or self.dtype is None else array_nbytes(self.shape, self.dtype)

    @property
    def described(self) -> str:
        """Its type and shape for people, such as ``float32[2, 4]`` or ``key<threefry2x32>[]``."""
        if self.shape is None:
            return self.kind
        if self.key_impl:
            return f"key<{self.key_impl}>{list(self.shape[:-1])}"
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class StoredTree:
    """The tree of one Orbax item.

    Attributes:
        leaves: arrays, numbers and strings by path, in stored order.
        empty: leaves without content, such as ``None`` and ``{}``.
        ocdbt: whether all leaves share one OCDBT database; else each has a folder.
        zarr3: whether arrays are stored in version 3 of the Zarr format.
        keys_known: whether the checkpoint says which arrays are typed keys.
        dense: whether every chunk of every array must be there.
        metadata: the content of ``_METADATA``.
        shardings: the content of ``_sharding``, by leaf name; None if that file is missing.
        array_metadatas: the content of each ``array_metadatas/process_N``, by file name.
    """

    leaves: Mapping[Path, Leaf]
    empty: Mapping[Path, Leaf]
    ocdbt: bool
    zarr3: bool
    keys_known: bool
    dense: bool
    metadata: Mapping[str, Any] = field(repr=False)
    shardings: Mapping[str, str] | None = field(repr=False)
    array_metadatas: Mapping[str, Any] = field(repr=False)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names under which Orbax stores the leaves."""
        return frozenset(leaf.name for leaf in self.leaves.values())

    @property
    def nbytes(self) -> int:
        """Size of all values in memory, in bytes."""
        return sum(leaf.nbytes for leaf in self.leaves.values())


def array_nbytes(shape: Iterable[int], dtype: str) -> int:
    """Return the size in bytes of an array of a dtype named as NumPy and ml_dtypes name them."""
    match = re.search(r"\d+", dtype)
    bits = int(match[0]) if match else 8
    for length in shape:
        bits *= length
    return (bits + 7) // 8
