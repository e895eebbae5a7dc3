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
    """Say whether the leaf at ``path``, or a node above it, matches one of the shell-like ``patterns``."""
    names = [dotted(path[:depth]) for depth in range(1, len(path) + 1)]
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def renamer(renames: Mapping[str, str], leaves: Iterable[Path]) -> Callable[[Path], Path]:
    """Return the function that gives a stored path its new one; the longest matching old name wins."""
    table = {tuple(old.split(".")): tuple(new.split(".")) for old, new in renames.items()}
    for old in table:
        if not any(path[: len(old)] == old for path in leaves):
            raise CheckpointError(f"--rename {dotted(old)}=…: the checkpoint holds no such leaf or node")

    def renamed(path: Path) -> Path:
        for depth in range(len(path), 0, -1):
            if path[:depth] in table:
                return table[path[:depth]] + path[depth:]
        return path

    return renamed


def require_used(option: str, patterns: Iterable[str], leaves: Iterable[Path], of: str = "stored leaf") -> None:
    for pattern in patterns:
        if not any(matches(path, [pattern]) for path in leaves):
            raise CheckpointError(f"{option} {pattern}: no {of} matches")
