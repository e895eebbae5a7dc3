"""What the index of an OCDBT database refers to, read through TensorStore; no value outside of the index is read."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import unquote

from nnxmigrate.checkpoint.files import Folder
from nnxmigrate.checkpoint.tree import leaf_of

Content = bytes | tuple[str, int, int]
"""A value that stands in the index itself, or the file, offset and length where it is."""


def contents(folder: Folder) -> dict[str, Content]:
    """Return all keys of the newest version of the database in ``folder``, and where their values are.

    Raises:
        ValueError: if the database is damaged.
    """
    return {key: content for _, key, content in _walk(folder) if key is not None and content is not None}


def references(folder: Folder) -> Iterator[tuple[str, int]]:
    """Give the data files that the newest version refers to, nodes of the index included, and where references end.

    Raises:
        ValueError: if the database is damaged.
    """
    for node, _, content in _walk(folder):
        place = node or content
        if isinstance(place, tuple):
            yield place[0], place[1] + place[2]


def ranges(folder: Folder, names: Collection[str]) -> dict[str, list[tuple[int, int]]]:
    """Return the parts of the data files that hold the values of some leaves, and all nodes of the index, by file.

    Args:
        folder: where the database is.
        names: the leaves; a key belongs to the one that it begins with.

    Raises:
        ValueError: if the database is damaged.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    for node, key, content in _walk(folder):
        place = node if key is None else content if leaf_of(key, names) else None
        if isinstance(place, tuple):
            found.setdefault(place[0], []).append((place[1], place[1] + place[2]))
    return found


def _walk(folder: Folder) -> Iterator[tuple[tuple[str, int, int] | None, str | None, Content | None]]:
    """Give every node of the index as its place, and every key with its content."""
    import tensorstore

    base = tensorstore.KvStore.open(folder.spec).result()
    manifest = tensorstore.ocdbt.dump(base).result()
    versions = manifest.get("versions") or []
    pending: list[tuple[bytes, Any]] = [(b"", versions[-1]["root"].get("location"))] if versions else []
    while pending:
        prefix, location = pending.pop()
        if location is None:  # an empty tree
            continue
        yield _place(location), None, None
        for entry in tensorstore.ocdbt.dump(base, location).result()["entries"]:
            if "location" in entry:
                pending.append((prefix + _bytes(entry.get("subtree_common_prefix", b"")), entry["location"]))
                continue
            key = prefix + _bytes(entry["key"])
            if "indirect_value" in entry:
                yield None, key.decode(), _place(entry["indirect_value"])
            else:
                yield None, key.decode(), entry["inline_value"]


def _bytes(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()


def _place(location: str) -> tuple[str, int, int]:
    """Split a reference such as ``value:ocdbt.process_0/:d/0a1b:100:20`` into the file, its offset and its length."""
    file, offset, length = location.partition(":")[2].rsplit(":", 2)
    folder, _, name = file.rpartition(":")
    return unquote(folder) + unquote(name), int(offset), int(length)
