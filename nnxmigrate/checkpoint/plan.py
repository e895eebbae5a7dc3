"""The plan of a conversion: what becomes of each leaf of a stored tree."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nnxmigrate.checkpoint.errors import MisfitError
from nnxmigrate.checkpoint.filters import Filter
from nnxmigrate.checkpoint.misfit import Misfit
from nnxmigrate.checkpoint.nodes import MODEL
from nnxmigrate.checkpoint.rng import Stream
from nnxmigrate.checkpoint.target import Layout, TargetLeaf
from nnxmigrate.checkpoint.tree import Leaf, Path, dotted

_NOTHING_NEW = "the new program has no RNG state to put in its place: load what else is stored, and not this"
_MADE_ANEW = (
    "a model has RNG state when it is made, the same from the same seeds: load what else is stored, and not this"
)
_NO_MODEL = (
    "with --model the new program's RNG state is put in its place; or load what else is stored, and not this: "
    "a model has RNG state when it is made"
)


@dataclass(frozen=True)
class Kept:
    """A stored leaf that goes into the new checkpoint, bytes untouched.

    Attributes:
        leaf: the leaf as stored.
        path: its path in the new checkpoint.
        key_impl: the PRNG implementation with which it is marked there if it is a key.
        part: the item it goes to when an optimizer checkpoint is split, else empty.
    """

    leaf: Leaf
    path: Path
    key_impl: str | None
    part: str = ""

    @property
    def renamed(self) -> bool:
        """Whether it moves within the tree."""
        return self.path != self.leaf.path

    @property
    def name(self) -> str:
        """Its name in the new checkpoint."""
        return dotted(self.path)


@dataclass(frozen=True)
class Plan:
    """What becomes of every leaf.

    Attributes:
        layout: the layout of the checkpoint, old and new.
        kept: stored leaves that stay.
        empty: places without content (``None``, ``{}``) that stay.
        dropped: stored leaves that do not.
        added: leaves that the new program computes.
        emptied: stored places without content that the new program does not have.
        opened: places without content that only the new program has.
        elsewhere: names of other items that hold missing leaves.
        mounted: whether the model was compared with a part of the tree alone, that below an optimizer's ``model``.
        missing: leaves of the new program that are neither stored nor computed.
        unexpected: stored leaves that the new program does not have.
        reshaped: leaves that have another shape in the new program, stored and wanted.
        streams: the RNG streams found in the checkpoint.
        notes: what the user should know, a line each.
        compared: whether the tree was compared with the new program's.
        part_of: what gives the Variables that are stored, if those are a part of the program's state and complete.
        lost: those of the dropped leaves that are of streams of the program's own, which it does not have any more.
        item: the name of its item where a step has several that are converted, for what is said; else empty.
        within: the key of the new program's tree below which it has what this item holds; empty if it is all of it.
    """

    layout: Layout
    kept: tuple[Kept, ...]
    empty: tuple[Kept, ...]
    dropped: tuple[Leaf, ...]
    added: tuple[TargetLeaf, ...]
    missing: tuple[TargetLeaf, ...]
    unexpected: tuple[Leaf, ...]
    reshaped: tuple[tuple[Leaf, TargetLeaf], ...]
    streams: tuple[Stream, ...]
    notes: tuple[str, ...]
    compared: bool
    emptied: tuple[Leaf, ...] = ()
    opened: tuple[TargetLeaf, ...] = ()
    elsewhere: tuple[str, ...] = ()
    mount: Path = ()
    part_of: Filter | None = None
    lost: tuple[Leaf, ...] = ()
    item: str = ""
    within: str = ""

    @property
    def mounted(self) -> bool:
        """Whether the new program's tree stands below a key of the checkpoint's."""
        return bool(self.mount)

    @property
    def problems(self) -> int:
        """How many leaves stand against a conversion."""
        return len(self.missing) + len(self.unexpected) + len(self.reshaped)

    @property
    def parts(self) -> tuple[str, ...]:
        """The items that the checkpoint is split into; one empty name if it is not."""
        return tuple(sorted({kept.part for kept in self.kept})) or ("",)

    @property
    def needless(self) -> bool:
        """Whether the checkpoint is already what the new program expects."""
        if self.parts != ("",) or any(kept.renamed or kept.key_impl != kept.leaf.key_impl for kept in self.kept):
            return False
        return not (self.dropped or self.added or self.emptied or self.opened)

    @property
    def only_rng(self) -> bool:
        """Whether nothing but RNG state is put in or left out, so that a partial restore would do."""
        moved = any(kept.renamed or kept.key_impl != kept.leaf.key_impl for kept in self.kept)
        of_streams = {leaf.path for stream in self.streams for leaf in stream.leaves}
        strange = any(leaf.path not in of_streams for leaf in self.dropped) or not all(leaf.rng for leaf in self.added)
        return not (moved or strange or self.problems or self.parts != ("",))

    @property
    def kept_streams(self) -> tuple[Path, ...]:
        """The nodes of the RNG streams that stay, by their new paths."""
        stay = {one.leaf.path: one.path for one in self.kept}
        keys = [(stream, stay.get(stream.key.path)) for stream in self.streams]
        tails = {stream.path: len(stream.key.path) - len(stream.path) for stream in self.streams}
        return tuple(path[: len(path) - tails[stream.path]] for stream, path in keys if path)

    def part(self, name: str) -> Plan:
        """Return the plan for one of the :attr:`parts`; RNG state belongs to the model."""
        own = tuple(kept for kept in self.kept if kept.part == name)
        empty = tuple(kept for kept in self.empty if kept.part == name)
        added, opened = (
            tuple(leaf for leaf in leaves if not name or (leaf.path[0] == MODEL) == (name == MODEL))
            for leaves in (self.added, self.opened)
        )
        if name == MODEL:  # its leaves move up to the root of their own item
            own, empty = (tuple(replace(kept, path=kept.path[1:]) for kept in many) for many in (own, empty))
            added, opened = (
                tuple(replace(leaf, path=leaf.path[1:], key_types=leaf.key_types[1:]) for leaf in leaves)
                for leaves in (added, opened)
            )
        return replace(self, kept=own, empty=empty, added=added, opened=opened)

    @property
    def _rng_alone(self) -> bool:
        """Whether nothing is stored but RNG state that does not stay, while no other item has the rest."""
        if self.kept or self.lost or not self.missing or self.unexpected or self.reshaped or self.elsewhere:
            return False
        of_streams = {leaf.path for stream in self.streams for leaf in stream.leaves}
        return bool(self.dropped) and all(leaf.path in of_streams for leaf in self.dropped)

    def require_fit(self) -> None:
        """Refuse a checkpoint that does not fit the new program.

        Raises:
            MisfitError: naming the leaves that stand against it, and the way out; or if nothing would be left.
        """
        of = f"item {self.item}: " if self.item else ""
        if not (self.kept or self.added) and self.dropped:
            raise MisfitError(
                f"{of}nothing would be left: all that is stored is left out, such as {self.dropped[0].name}",
                _NOTHING_NEW if self.compared else _NO_MODEL,
            )
        if self._rng_alone:
            raise MisfitError(
                f"{of}RNG state alone is stored, and none of it goes on, such as {self.dropped[0].name}", _MADE_ANEW
            )
        if self.problems:
            raise Misfit(
                missing=self.missing,
                unexpected=self.unexpected,
                reshaped=self.reshaped,
                streams=self.streams,
                layout=self.layout,
                elsewhere=self.elsewhere,
                lost=self.lost,
                of=of,
                kept=tuple(kept.leaf.path for kept in self.kept),
                rng=tuple(leaf for leaf in self.added if leaf.rng),
            ).error()
