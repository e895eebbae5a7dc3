"""What the user asks for beyond the usual: renames, what to leave out, keep or allow to be missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.tree import Path, dotted


@dataclass(frozen=True)
class Wishes:
    """What the user asked for beyond the usual.

    Attributes:
        renames: new names by old ones; each a leaf or a node with all below it, keys joined by dots.
        drop: patterns of stored leaves that are left out.
        keep: patterns of stored RNG streams that stay, whatever they look like.
        allow_missing: patterns of the new program's leaves that are initialised if they are not stored.
        split: whether an optimizer checkpoint becomes a model and an optimizer item.
    """

    renames: Mapping[str, str] = field(default_factory=dict)
    drop: Sequence[str] = ()
    allow_missing: Sequence[str] = ()
    split: bool = False
    keep: Sequence[str] = ()


#: Nothing beyond the usual.
USUAL = Wishes()


def shared_out(wishes: Wishes, trees: Mapping[str, tuple[Collection[Path], Collection[Path]]]) -> dict[str, Wishes]:
    """Return what of some wishes concerns each of several trees, by their names.

    A wish that concerns none of them is everybody's, so that it is refused.

    Args:
        wishes: the wishes.
        trees: by name, the paths of what is stored in a tree and of what the new program has in its place.
    """

    def own(patterns: Iterable[str], at: int, name: str) -> list[str]:
        holders = {one: {other for other, both in trees.items() if _any_below(both[at], one)} for one in patterns}
        return [one for one, names in holders.items() if name in names or not names]

    return {
        name: replace(
            wishes,
            renames={old: wishes.renames[old] for old in own(wishes.renames, 0, name)},
            drop=own(wishes.drop, 0, name),
            keep=own(wishes.keep, 0, name),
            allow_missing=own(wishes.allow_missing, 1, name),
        )
        for name in trees
    }


def _any_below(paths: Iterable[Path], pattern: str) -> bool:
    return any(matches(path, [pattern]) for path in paths)


def matches(path: Path, patterns: Iterable[str]) -> bool:
    """Say whether the leaf at ``path``, or a node above it, has one of the ``patterns`` as its name, or matches it."""
    names = list(_nodes(path))
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _nodes(path: Path) -> dict[str, Path]:
    """Return the leaf at ``path`` and the nodes above it by their names, in which keys with dots show no seam."""
    return {dotted(path[:depth]): path[:depth] for depth in range(1, len(path) + 1)}


def renamer(
    renames: Mapping[str, str], leaves: Collection[Path], wanted: Iterable[Path] = ()
) -> Callable[[Path], Path]:
    """Return the function that gives a stored path its new one; the longest matching old name wins.

    Args:
        renames: new names by old ones.
        leaves: the paths of the stored leaves.
        wanted: the paths that the new program has, of which new names are taken first.

    Raises:
        CheckpointError: if an old name is none of a stored leaf or node.
    """
    if not renames:
        return lambda path: path
    stored = {name for path in leaves for name in _nodes(path)}
    for old in renames:
        if old not in stored:
            raise CheckpointError(f"--rename {old}=…: the checkpoint holds no such leaf or node")
    known: dict[str, Path] = {}
    for path in (*wanted, *leaves):
        for name, node in _nodes(path).items():
            known.setdefault(name, node)
    places = {old: _place(new, known) for old, new in renames.items()}

    def renamed(path: Path) -> Path:
        for name, node in reversed(_nodes(path).items()):
            if name in places:
                return places[name] + path[len(node) :]
        return path

    return renamed


def _place(name: str, known: Mapping[str, Path]) -> Path:
    """Return the path that a new name stands for: below the deepest node that is known, each dot parts two keys."""
    ends = [at for at, letter in enumerate(name) if letter == "."]
    for end in (len(name), *reversed(ends)):
        if name[:end] in known:
            return (*known[name[:end]], *(name[end + 1 :].split(".") if end < len(name) else ()))
    return tuple(name.split("."))


def require_used(option: str, patterns: Iterable[str], leaves: Iterable[Path], of: str = "stored leaf") -> None:
    for pattern in patterns:
        if not any(matches(path, [pattern]) for path in leaves):
            raise CheckpointError(f"{option} {pattern}: no {of} matches")
