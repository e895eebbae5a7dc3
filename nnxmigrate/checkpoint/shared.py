"""Streams of the program's own that Flax 0.10 stored below a layer.

A layer of 0.10 holds the very ``nnx.Rngs`` that it was made with. If the program holds that object too, it is stored
once, at the first of its paths; that is the layer's if its name sorts before. Since 0.11 a layer has a stream of its
own, and the program's is expected at the program's path. Its key and count are stored, and must not begin anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from nnxmigrate.checkpoint.rng import Stream
from nnxmigrate.checkpoint.tree import Leaf, Path


class _Wanted(Protocol):
    """What is to be known of a leaf of the new program."""

    @property
    def shape(self) -> tuple[int, ...] | None: ...

    @property
    def rng(self) -> bool: ...

    @property
    def key_impl(self) -> str | None: ...


def shared_streams(
    leaves: Mapping[Path, Leaf],
    streams: Sequence[Stream],
    wanted: Mapping[Path, _Wanted],
    renamed: Callable[[Path], Path],
) -> dict[Path, Path]:
    """Return for stored streams the nodes of the new program at which they go on.

    A stored stream and one of the program's that is not stored belong together if they have the same name and type
    and each is the only one so near to the other, since what shares an object mostly stands in one module.

    Args:
        leaves: the stored tree.
        streams: the stored streams that have no place at their own path.
        wanted: the leaves of the new program.
        renamed: gives a stored path the one that the user wants.
    """
    held = {renamed(path) for path in leaves}
    pairs: list[tuple[Path, Path]] = []
    for stream in streams:
        if len(stream.path) < 2 or any(renamed(leaf.path) != leaf.path for leaf in stream.leaves):
            continue
        key, count = (leaf.path[len(stream.path) :] for leaf in stream.leaves)
        for path in wanted:
            node = path[: -len(key)]
            places = (*node, *key), (*node, *count)
            if path[-len(key) :] != key or node[-1:] != stream.path[-1:] or held.intersection(places):
                continue
            if all(_fits(leaf, wanted.get(place)) for leaf, place in zip(stream.leaves, places, strict=True)):
                pairs.append((stream.path, node))
    return {
        stored: node
        for stored, node in pairs
        if _nearest(stored, [n for s, n in pairs if s == stored]) == node
        and _nearest(node, [s for s, n in pairs if n == node]) == stored
    }


def _nearest(path: Path, others: Sequence[Path]) -> Path | None:
    """Return the one of some paths that has most in common with a path; None if there are several."""
    found = {other: _common(path, other) for other in others}
    best = [other for other, length in found.items() if length == max(found.values())]
    return best[0] if len(best) == 1 else None


def _common(one: Path, other: Path) -> int:
    """Return how many names two paths have in common at their heads."""
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


def _fits(leaf: Leaf, wanted: _Wanted | None) -> bool:
    if wanted is None or not wanted.rng or leaf.shape != wanted.shape:
        return False
    return leaf.key_impl is None or leaf.key_impl == wanted.key_impl
