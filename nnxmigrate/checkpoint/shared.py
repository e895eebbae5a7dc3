"""Streams of the program's own that Flax 0.10 stored below a layer.

A layer of 0.10 holds the very ``nnx.Rngs`` that it was made with. If the program holds that object too, it is stored
once, at the first of its paths; that is the layer's if its name sorts before. Since 0.11 a layer has a stream of its
own, and the program's is expected at the program's path. Its key and count are stored, and must not begin anew.

A stream's key never changes, only its count does. So the stored stream whose key the new program makes at a place is
the one that belongs there, if the program is made from the seeds of the training. From other seeds no key is the same,
and what is left is an ``nnx.Rngs`` of the same names that stands nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nnxmigrate.checkpoint.rng import Stream, own_streams
from nnxmigrate.checkpoint.target import TargetLeaf
from nnxmigrate.checkpoint.tree import Leaf, Path, dotted

_SHOWN = 6  # streams of which a note says where they were stored

SameValue = Callable[[Leaf, TargetLeaf], bool]
"""Says whether a stored leaf holds what the new program computes for one of its own."""


@dataclass(frozen=True)
class Shared:
    """Which stored streams go on at other places.

    Attributes:
        places: by node of a stored stream, the node of the new program at which it goes on.
        notes: what the user should know, a line each.
    """

    places: Mapping[Path, Path]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Wanted:
    """A stream of the new program for which nothing is stored at its path."""

    path: Path
    tag: str
    key: TargetLeaf
    count: TargetLeaf


_Names = Mapping[Path, frozenset[str]]
"""Names of the streams by the node that holds them."""


def shared_streams(
    streams: Sequence[Stream],
    stored: Collection[Path],
    wanted: Mapping[Path, TargetLeaf],
    same: SameValue | None = None,
    unproven: Collection[Path] = (),
) -> Shared:
    """Find the streams of the new program that are stored elsewhere.

    Args:
        streams: the stored streams that have no place at their own path.
        stored: the paths of the new program at which something is stored.
        wanted: the leaves of the new program.
        same: compares values; None where they cannot be read.
        unproven: the nodes of those streams that may be data; only their values show what they are.
    """
    absent = _absent_streams(stored, wanted)
    held = _names((stream.path, stream.path[-1]) for stream in streams if stream.path)
    hoped = _names((one.path, one.tag) for one in absent)
    able = [
        (stream, one)
        for one in absent
        for stream in streams
        if stream.path and stream.path[-1] == one.tag and _fits(stream, one) and _before(stream.path, one.path)
    ]
    whole = [
        (stream, one)
        for stream, one in able
        if one.path[-1] == one.tag and hoped[one.path[:-1]] == held[stream.path[:-1]] and stream.path not in unproven
    ]
    pairs = {(stream.path, one.path) for stream, one in able if same and same(stream.key, one.key)}
    pairs = pairs or {(stream.path, one.path) for stream, one in whole}
    found = _nearest(pairs)
    notes = [f"{dotted(new)}: stored once, with a layer, as {dotted(old)}; it goes on" for old, new in found.items()]
    if len(notes) > _SHOWN:
        notes[_SHOWN:] = [f"{len(notes) - _SHOWN} more streams go on that were stored once, with a layer"]
    for place in sorted({new for _, new in pairs if new not in found.values()}):
        some = " or ".join(sorted(dotted(old) for old, new in pairs if new == place and old not in found))
        if some:
            notes.append(f"{dotted(place)}: begins anew; if it is stored as {some}, --rename OLD=NEW says so")
    told = {new[:-1] for new in (*found.values(), *(new for _, new in pairs))}
    notes += _other_names([one for one in absent if one.path[:-1] not in told], held, hoped)
    return Shared(found, tuple(notes))


def _other_names(absent: Sequence[_Wanted], held: _Names, hoped: _Names) -> list[str]:
    """Say where an ``nnx.Rngs`` of the program's begins anew for its streams have other names than any that is stored.

    So it is where the model is made from other names than the training was, as if ``--rngs`` is forgotten.
    """
    notes = []
    for node in sorted({one.path[:-1] for one in absent} - {()}):
        others = {names for place, names in held.items() if names != hoped[node] and _before(place, node)}
        if others:
            stored = " or ".join(sorted(", ".join(sorted(names)) for names in others))
            own = ", ".join(sorted(hoped[node]))
            notes.append(
                f"{dotted(node)}: begins anew, with {own}; stored are streams of other names, {stored}: if they are "
                "those of the training's nnx.Rngs, let --rngs name them too, and they go on"
            )
    return notes


def _absent_streams(stored: Collection[Path], wanted: Mapping[Path, TargetLeaf]) -> list[_Wanted]:
    """Return the program's own streams of which nothing is stored at their paths."""
    found: dict[Path, dict[str, TargetLeaf]] = {}
    for path, leaf in wanted.items():
        tail = 2 if path[-1:] == ("value",) else 1
        if leaf.rng and path not in stored and len(path) > tail and path[-tail] in ("key", "count"):
            found.setdefault(path[:-tail], {})[path[-tail]] = leaf
    return [
        _Wanted(path, found[path]["key"].tag or path[-1], found[path]["key"], found[path]["count"])
        for path in sorted(own_streams(wanted, found))
        if len(found[path]) == 2
    ]


def _names(streams: Iterable[tuple[Path, str]]) -> _Names:
    found: dict[Path, frozenset[str]] = {}
    for path, name in streams:
        found[path[:-1]] = found.get(path[:-1], frozenset()) | {name}
    return found


def _fits(stream: Stream, one: _Wanted) -> bool:
    for leaf, wanted in ((stream.key, one.key), (stream.count, one.count)):
        if leaf.shape != wanted.shape or leaf.path[len(stream.path) :] != wanted.path[len(one.path) :]:
            return False
    return stream.key.key_impl in (None, one.key.key_impl)


def _before(stored: Path, wanted: Path) -> bool:
    """Say whether Flax 0.10 meets a path before another, and so stores at it what both lead to.

    Attributes and keys are met in the order of their names, what stands in a list in that of the list.
    """
    for one, other in zip(stored, wanted, strict=False):
        if one != other:
            numbers = one.isdigit() and other.isdigit() and int(one) < int(other)
            return one < other or numbers
    return False


def _nearest(pairs: Iterable[tuple[Path, Path]]) -> dict[Path, Path]:
    """Return the pairs of which each is the only one so near to the other, once those found before are settled."""
    left = set(pairs)
    found: dict[Path, Path] = {}
    while True:
        news = {
            old: new
            for old, new in sorted(left)
            if _only_nearest(new, [other for other, place in left if place == new]) == old
            and _only_nearest(old, [place for other, place in left if other == old]) == new
        }
        if not news:
            return found
        found |= news
        settled = set(news.values())
        left = {(old, new) for old, new in left if old not in news and new not in settled}


def _only_nearest(path: Path, others: Sequence[Path]) -> Path | None:
    """Return the one of some paths that has most in common with a path at its head; None if there are several."""
    lengths = {other: _common(path, other) for other in others}
    best = [other for other, length in lengths.items() if length == max(lengths.values())]
    return best[0] if len(best) == 1 else None


def _common(one: Path, other: Path) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length
