"""Decide leaf by leaf what becomes of a stored tree: kept, renamed, dropped or initialised anew."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from nnxmigrate.checkpoint.errors import CheckpointError, MisfitError
from nnxmigrate.checkpoint.rng import Stream, find_streams
from nnxmigrate.checkpoint.tree import DICT_KEY, Leaf, Path, StoredTree, dotted

_SHOWN = 12  # leaves named in a refusal before "and N more"


class Layout(enum.Enum):
    """How an NNX state was turned into a tree before it was saved."""

    STATE = "nnx.State"  # saved as it is: the path of a Variable's content ends in ``value``
    PURE = "pure dict"  # through nnx.to_pure_dict: it does not


@dataclass(frozen=True)
class TargetLeaf(Leaf):
    """A leaf that the new program has.

    Attributes:
        rng: whether it belongs to the program's RNG state.
        origin: its path in :attr:`Layout.STATE`, whatever layout it is given in.
    """

    rng: bool = False
    origin: Path = ()


Target = Mapping[Layout, Mapping[Path, TargetLeaf]]
"""The tree of the new program, in every layout in which it may have been saved."""


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
        empty: leaves without content that stay.
        dropped: stored leaves that do not.
        added: leaves that the new program computes.
        missing: leaves of the new program that are neither stored nor computed.
        unexpected: stored leaves that the new program does not have.
        reshaped: leaves that have another shape in the new program, stored and wanted.
        streams: the RNG streams found in the checkpoint.
        notes: what the user should know, a line each.
        compared: whether the tree was compared with the new program's.
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
        old = {(leaf.path, leaf.described) for leaf in self.dropped}
        return old == {(leaf.path, leaf.described) for leaf in self.added}

    def part(self, name: str) -> Plan:
        """Return the plan for one of the :attr:`parts`; RNG state belongs to the model."""
        own = tuple(kept for kept in self.kept if kept.part == name)
        empty = tuple(kept for kept in self.empty if kept.part == name)
        added = self.added if name != OPTIMIZER else ()
        if name == MODEL:  # its leaves move up to the root of their own item
            own, empty = (tuple(replace(kept, path=kept.path[1:]) for kept in many) for many in (own, empty))
            added = tuple(replace(leaf, path=leaf.path[1:], key_types=leaf.key_types[1:]) for leaf in added)
        return replace(self, kept=own, empty=empty, added=added)

    def require_fit(self) -> None:
        """Refuse a checkpoint that does not fit the new program.

        Raises:
            MisfitError: naming the leaves that stand against it, and the way out.
        """
        if not self.problems:
            return
        lines = ["the checkpoint does not fit the model"]
        lines += _listed("missing in the checkpoint", [f"{leaf.name}: {leaf.described}" for leaf in self.missing])
        lines += _listed("unknown to the model", [f"{leaf.name}: {leaf.described}" for leaf in self.unexpected])
        lines += _listed(
            "of another shape",
            [f"{old.name}: stored {old.described}, model {new.described}" for old, new in self.reshaped],
        )
        raise MisfitError("\n".join(lines), self._way_out())

    def _way_out(self) -> str:
        renames = suggested_renames(self.unexpected, self.missing)
        if renames:
            return "perhaps: " + " ".join(f"--rename {old}={new}" for old, new in renames.items())
        ways = []
        if self.missing:
            ways.append("--allow-missing PATTERN initialises leaves anew")
        if self.unexpected:
            ways.append("--drop PATTERN leaves stored ones out")
        if self.missing and self.unexpected:
            ways.append("--rename OLD=NEW moves them")
        if self.reshaped:
            ways.append("the model must be built with the sizes it was trained with")
        return "; ".join(ways)


@dataclass(frozen=True)
class Wishes:
    """What the user asked for beyond the usual.

    Attributes:
        renames: new names by old ones; each a leaf or a node with all below it, keys joined by dots.
        drop: patterns of stored leaves that are left out.
        allow_missing: patterns of the new program's leaves that are initialised if they are not stored.
        split: whether an optimizer checkpoint becomes a model and an optimizer item.
    """

    renames: Mapping[str, str] = field(default_factory=dict)
    drop: Sequence[str] = ()
    allow_missing: Sequence[str] = ()
    split: bool = False


MODEL = "model"
OPTIMIZER = "optimizer"
_OPTIMIZER_CHILDREN = {MODEL, "opt_state", "step"}


def holds_optimizer(leaves: Iterable[Path]) -> bool:
    """Say whether a tree is the state of an ``nnx.Optimizer`` of 0.10, which holds its model too."""
    return {path[0] for path in leaves if path} == _OPTIMIZER_CHILDREN


def make_plan(tree: StoredTree, target: Target | None, wishes: Wishes = Wishes()) -> Plan:
    """Decide what becomes of every leaf of ``tree``.

    Args:
        tree: the stored tree.
        target: the new program's tree; None to drop the RNG state and keep all else unseen.
        wishes: renames and exceptions that the user asked for.

    Returns:
        The plan with the fewest leaves that stand against it; see :meth:`Plan.require_fit`.

    Raises:
        CheckpointError: if a wish concerns no leaf, or two leaves would have the same name.
    """
    optimizer = holds_optimizer(tree.leaves)
    if wishes.split and not optimizer:
        raise CheckpointError("only the checkpoint of an nnx.Optimizer (model, opt_state, step) can be split")
    if target is None:
        if wishes.allow_missing:
            raise CheckpointError("--allow-missing needs --model: without it nothing can be initialised")
        plans = [_plan_as(tree, _layout_of(tree), None, (), wishes)]
    else:
        mounts: list[Path] = [(), (MODEL,)] if optimizer else [()]
        plans = [_plan_as(tree, layout, target[layout], mount, wishes) for mount in mounts for layout in Layout]
    return min(plans, key=lambda plan: plan.problems)


def suggested_renames(unexpected: Iterable[Leaf], missing: Iterable[Leaf]) -> dict[str, str]:
    """Guess renames: nodes that went and nodes that came whose leaves agree in names, types and shapes.

    Returns:
        New names by old ones; only nodes with a single possible partner.
    """
    gone, come = ({leaf.path: leaf.described for leaf in leaves} for leaves in (unexpected, missing))
    partners: dict[Path, set[Path]] = {}
    for old in gone:
        for new in come:
            tail = _common_tail(old, new)
            if tail:
                partners.setdefault(old[: len(old) - tail], set()).add(new[: len(new) - tail])
    found: dict[str, str] = {}
    for old, candidates in partners.items():
        fitting = [new for new in candidates if old and new and _below(gone, old) == _below(come, new)]
        if len(fitting) == 1:
            found[dotted(old)] = dotted(fitting[0])
    return found


def _plan_as(
    tree: StoredTree, layout: Layout, wanted: Mapping[Path, TargetLeaf] | None, mount: Path, wishes: Wishes
) -> Plan:
    """Plan under the assumption that the target was saved in ``layout`` and stands below ``mount``."""
    if wanted is not None:
        wanted = {(*mount, *path): _mounted(leaf, mount) for path, leaf in wanted.items()}
    streams = find_streams(tree.leaves)
    of_streams = {leaf.path: stream for stream in streams for leaf in stream.leaves}
    renamed = _renamer(wishes.renames, tree.leaves)
    kept: list[Kept] = []
    dropped: list[Leaf] = []
    unexpected: list[Leaf] = []
    reshaped: list[tuple[Leaf, TargetLeaf]] = []
    notes: list[str] = []
    for path, leaf in tree.leaves.items():
        new_path = renamed(path)
        partner = (wanted or {}).get(new_path)
        if matches(path, wishes.drop):
            dropped.append(leaf)
        elif partner and not partner.rng:  # an ordinary leaf of the new program stays, whatever it looks like
            kept.append(Kept(leaf, new_path, leaf.key_impl or partner.key_impl, _part(path, wishes)))
            if leaf.shape != partner.shape:
                reshaped.append((leaf, partner))
            else:
                notes += _type_notes(leaf, partner)
        elif partner or path in of_streams:
            dropped.append(leaf)
            stream = of_streams.get(path)
            if stream and not stream.certain and leaf is stream.key:
                notes.append(f"{dotted(stream.path)}: taken for an RNG stream by its shape; no key type is recorded")
        elif wanted is None or path[: len(mount)] != mount:
            kept.append(Kept(leaf, new_path, leaf.key_impl, _part(path, wishes)))
        else:
            unexpected.append(leaf)
    empty = tuple(Kept(leaf, renamed(path), None, _part(path, wishes)) for path, leaf in tree.empty.items())
    _require_distinct((*kept, *empty))
    _require_used("--drop", wishes.drop, tree.leaves)
    held = {one.path for one in kept}
    absent = [leaf for path, leaf in (wanted or {}).items() if path not in held and not leaf.rng]
    allowed = [leaf for leaf in absent if matches(leaf.path, wishes.allow_missing)]
    if mount:
        notes.append("opt_state and step are kept as stored; the model alone was compared")
    return Plan(
        layout=layout,
        kept=tuple(kept),
        empty=empty,
        dropped=tuple(dropped),
        added=(*(leaf for leaf in (wanted or {}).values() if leaf.rng), *allowed),
        missing=tuple(leaf for leaf in absent if leaf not in allowed),
        unexpected=tuple(unexpected),
        reshaped=tuple(reshaped),
        streams=tuple(streams),
        notes=tuple(notes),
        compared=wanted is not None,
    )


def matches(path: Path, patterns: Iterable[str]) -> bool:
    """Say whether the leaf at ``path``, or a node above it, matches one of the shell-like ``patterns``."""
    names = [dotted(path[:depth]) for depth in range(1, len(path) + 1)]
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _layout_of(tree: StoredTree) -> Layout:
    """Judge the layout by the paths alone: most leaves of an nnx.State end in ``value``."""
    ends = sum(path[-1:] == ("value",) for path in tree.leaves)
    return Layout.STATE if 2 * ends > len(tree.leaves) else Layout.PURE


def _type_notes(leaf: Leaf, partner: TargetLeaf) -> Iterator[str]:
    if partner.key_impl and not leaf.key_impl:
        yield f"{leaf.name}: stored without its key type; marked as key<{partner.key_impl}> as in the model"
    elif (leaf.dtype, leaf.key_impl) != (partner.dtype, partner.key_impl):
        yield f"{leaf.name}: stored {leaf.described}, model {partner.described}; kept as stored"


def _renamer(renames: Mapping[str, str], leaves: Iterable[Path]) -> Callable[[Path], Path]:
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


def _require_distinct(kept: Iterable[Kept]) -> None:
    seen: dict[Path, Kept] = {}
    for one in kept:
        other = seen.setdefault(one.path, one)
        if other is not one:
            raise CheckpointError(f"{other.leaf.name} and {one.leaf.name} would both become {one.name}")


def _require_used(option: str, patterns: Iterable[str], leaves: Iterable[Path]) -> None:
    for pattern in patterns:
        if not any(matches(path, [pattern]) for path in leaves):
            raise CheckpointError(f"{option} {pattern}: no stored leaf matches")


def _part(path: Path, wishes: Wishes) -> str:
    if not wishes.split:
        return ""
    return MODEL if path[0] == MODEL else OPTIMIZER


def _mounted(leaf: TargetLeaf, mount: Path) -> TargetLeaf:
    if not mount:
        return leaf
    return replace(leaf, path=(*mount, *leaf.path), key_types=(*(DICT_KEY for _ in mount), *leaf.key_types))


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    shown = [f"    {line}" for line in lines[:_SHOWN]]
    more = [f"    and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return [f"  {title} ({len(lines)}):", *shown, *more]


def _common_tail(one: Path, two: Path) -> int:
    length = 0
    while length < min(len(one), len(two)) and one[-1 - length] == two[-1 - length]:
        length += 1
    return length


def _below(leaves: Mapping[Path, str], node: Path) -> dict[Path, str]:
    return {path[len(node) :]: described for path, described in leaves.items() if path[: len(node)] == node}
