"""Decide leaf by leaf what becomes of a stored tree: kept, renamed, dropped or initialised anew."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from nnxmigrate.checkpoint.errors import CheckpointError, MisfitError
from nnxmigrate.checkpoint.rng import Stream, find_streams, layer_streams
from nnxmigrate.checkpoint.shared import SameValue, Shared, shared_streams
from nnxmigrate.checkpoint.target import Layout, Target, TargetLeaf
from nnxmigrate.checkpoint.tree import Leaf, Path, StoredTree, dotted, is_below

_SHOWN = 12  # leaves named in a refusal before "and N more"


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
        part_of: the classes of the Variables that are stored, if it is a part of the program's state and complete.
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
    part_of: tuple[str, ...] = ()

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
        if self.elsewhere:
            items = ", ".join(self.elsewhere)
            return f"missing leaves are stored in {items}: leave --item out, or name all items that share the state"
        nodes = _kept_below(self.unexpected, self.missing)
        nodes = _with_streams(nodes, self.streams) or nodes
        if nodes:
            places = " and ".join(map(dotted, nodes))
            tree = nested_all(nodes, MODEL)
            return f"the model is stored below {places}: let the factory return the tree that was saved, with {tree}"
        parts = _parts_below(self.unexpected, self.missing)
        if parts:
            return (
                f"the model's state is stored in parts, below {' and '.join(parts)}: let the factory return the tree "
                f"that was saved, made of what nnx.split gives"
            )
        renames = suggested_renames(self.unexpected, self.missing)
        if renames:
            return "perhaps: " + " ".join(f"--rename {old}={new}" for old, new in renames.items())
        ways = []
        if self.reshaped:
            ways.append("build the model with the sizes it was trained with")
        elif self.missing and self.unexpected:  # the values are there: no way that would lose them
            ways.append("is it the model that was trained? --rename OLD=NEW moves stored leaves to where they are now")
        elif self.missing:
            ways.append(
                f"if the program really has more now: --allow-missing PATTERN gives leaves new initial values; "
                f"nothing is stored for {_named(self.missing)}"
            )
        elif self.unexpected:
            if all(self._beside(leaf) for leaf in self.unexpected):
                ways.append(f"let the factory return the tree that was saved, with {_named(self.unexpected)} in it")
            ways.append(
                f"if the program really has fewer now: --drop PATTERN leaves stored leaves out; "
                f"the values of {_named(self.unexpected)} will be lost"
            )
        return "; ".join(ways)

    def _beside(self, leaf: Leaf) -> bool:
        """Say whether a leaf is in no Variable, so that it stood beside what NNX saved, as a step's number does."""
        return len(leaf.path) == 1 or (self.layout is Layout.STATE and leaf.path[-1] != "value")


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


MODEL = "model"
OPTIMIZER = "optimizer"
OPT_STATE = "opt_state"


def holds_optimizer(leaves: Mapping[Path, Leaf]) -> bool:
    """Say whether a tree is the state of an ``nnx.Optimizer`` of 0.10, which holds its model too.

    It has a ``model`` and a ``step``, an unsigned number in a Variable as those of the model are. Transformations
    without state have no ``opt_state``, and classes derived from ``nnx.Optimizer`` may have more. A dict of a model and
    the number of a step that the program counted is none.
    """
    model = [path for path in leaves if path[0] == MODEL and len(path) > 1]
    steps = [leaf for path, leaf in leaves.items() if path in (("step",), ("step", "value"))]
    counted = any(step.shape == () and str(step.dtype).startswith("uint") for step in steps)
    bare = ("step",) in leaves and all(path[-1] == "value" for path in model)
    return counted and not bare and bool(model)


def make_plan(
    tree: StoredTree, target: Target | None, wishes: Wishes = Wishes(), same: SameValue | None = None
) -> Plan:
    """Decide what becomes of every leaf of ``tree``.

    Args:
        tree: the stored tree.
        target: the new program's tree; None to drop the RNG state and keep all else unseen.
        wishes: renames and exceptions that the user asked for.
        same: says whether a stored leaf holds what the new program computes for one of its own; asked only where that
            tells which stored stream is the program's.

    Returns:
        The plan with the fewest leaves that stand against it; see :meth:`Plan.require_fit`.

    Raises:
        CheckpointError: if a wish concerns no leaf, or two leaves would have the same name.
    """
    _require_nested(tree)
    optimizer = holds_optimizer(tree.leaves)
    if wishes.split and not optimizer:
        raise CheckpointError("only the checkpoint of an nnx.Optimizer of 0.10 (with model and step) can be split")
    if target is None:
        if wishes.allow_missing:
            raise CheckpointError("--allow-missing needs --model: without it nothing can be initialised")
        plans = [_plan_as(tree, _layout_of(tree), None, (), wishes, same)]
    else:
        mounts: list[Path] = [(), (MODEL,)] if optimizer else [()]
        plans = [_plan_as(tree, layout, target[layout], mount, wishes, same) for mount in mounts for layout in Layout]
        if all(plan.problems for plan in plans):
            plans += [
                _plan_as(tree, layout, target[layout], mount, wishes, same)
                for layout in Layout
                for mount in _mounts(tree, target[layout])
            ]
        nodes = {plan.mount for plan in plans}
        known = [(*node, *path) for node in nodes for leaves in target.values() for path in leaves]
        _require_used("--allow-missing", wishes.allow_missing, known, "leaf of the model")
    return min(plans, key=lambda plan: plan.problems)


def _require_nested(tree: StoredTree) -> None:
    """Refuse RNG state under names in which the keys were joined by the program.

    Raises:
        CheckpointError: naming a stream.
    """
    for separator in "/.":
        apart = {
            tuple(key for name in path for key in name.split(separator)): leaf for path, leaf in tree.leaves.items()
        }
        if any(separator in name for path in tree.leaves for name in path) and len(apart) == len(tree.leaves):
            known = {stream.key.path for stream in find_streams(tree.leaves)}
            leaves = {path: replace(leaf, path=path) for path, leaf in apart.items()}
            keys = (apart[stream.key.path] for stream in find_streams(leaves))
            joined = [key.name for key in keys if key.path not in known]
            if joined:
                raise CheckpointError(
                    f"the program joined the names of its state by {separator!r}, as in {joined[0]}; such trees are "
                    "not converted",
                    "load it as it is, leave out the names of RNG state, and the model keeps the one it was made with",
                )


def _mounts(tree: StoredTree, wanted: Mapping[Path, TargetLeaf]) -> list[Path]:
    """Return the only node, if there is one, below which a checkpoint has all leaves of the new program.

    So are those of dicts in which a program saved its model beside other things. Of several, it is the only one with
    RNG state, if the model has some.
    """
    found = _nodes_above(tree.leaves, [path for path, leaf in wanted.items() if not (leaf.rng or leaf.empty)])
    if len(found) > 1 and any(leaf.rng for leaf in wanted.values()):
        found = _with_streams(found, find_streams(tree.leaves))
    return found if len(found) == 1 and found != [()] else []


def _with_streams(nodes: Iterable[Path], streams: Iterable[Stream]) -> list[Path]:
    """Return the nodes below which there is RNG state.

    Averages of a model's parameters and what an optimizer remembers of each have the names of the model, but none.
    """
    return [node for node in nodes if any(is_below(stream.path, node) for stream in streams)]


def _nodes_above(stored: Collection[Path], wanted: Collection[Path]) -> list[Path]:
    """Return the nodes below which all wanted paths are stored."""
    first = next(iter(wanted), ())
    nodes = {path[: -len(first)] for path in stored if first and path[-len(first) :] == first}
    return sorted((node for node in nodes if all((*node, *path) in stored for path in wanted)), key=str)


def suggested_renames(unexpected: Iterable[Leaf], missing: Iterable[Leaf]) -> dict[str, str]:
    """Guess renames: nodes that went and nodes that came whose leaves agree in names, types and shapes.

    Returns:
        New names by old ones; only nodes with a single possible partner.
    """
    gone, come = ({leaf.path: leaf.described for leaf in leaves} for leaves in (unexpected, missing))
    partners: dict[Path, set[Path]] = {}
    for old in gone:
        tails = {new: _common_tail(old, new) for new in come}
        longest = max(tails.values(), default=0)  # `model.layers.0` is no other layer than `layers.0`
        for new, tail in tails.items():
            if tail and tail == longest:
                partners.setdefault(old[: len(old) - tail], set()).add(new[: len(new) - tail])
    found: dict[str, str] = {}
    for old, candidates in partners.items():
        fitting = [new for new in candidates if old and new and _below(gone, old) == _below(come, new)]
        if len(fitting) == 1:
            found[dotted(old)] = dotted(fitting[0])
    return found


def _kept_below(unexpected: Iterable[Leaf], missing: Iterable[Leaf]) -> list[Path]:
    """Return the nodes below which a checkpoint holds all that is missing."""
    stored, wanted = ({_bare(leaf.path) for leaf in leaves} for leaves in (unexpected, missing))
    return _nodes_above(stored, wanted)


def _parts_below(unexpected: Iterable[Leaf], missing: Iterable[Leaf]) -> list[str]:
    """Return the keys, more than one, below which the missing leaves are stored, each below one of them alone."""
    held: dict[str, set[tuple[Path, str]]] = {}
    for leaf in unexpected:
        held.setdefault(leaf.path[0], set()).add((_bare(leaf.path[1:]), leaf.described))
    wanted = {(_bare(leaf.path), leaf.described) for leaf in missing}
    parts = {key: own & wanted for key, own in held.items() if own & wanted}
    whole = set().union(*parts.values()) == wanted and sum(map(len, parts.values())) == len(wanted)
    return list(parts) if whole and len(parts) > 1 else []


def _bare(path: Path) -> Path:
    """Return a path as a pure dict has it, which does not name the value of a Variable."""
    return path[:-1] if path[-1:] == ("value",) else path


def nested_all(nodes: Iterable[Path], inner: str) -> str:
    """Return the dicts that put the same at several nodes of a tree, none below another, as Python."""
    tree: dict[str, list[Path]] = {}
    for node in nodes:
        if not node:
            return inner
        tree.setdefault(node[0], []).append(node[1:])
    return "{" + ", ".join(f"{key!r}: {nested_all(rest, inner)}" for key, rest in tree.items()) + "}"


def nested(node: Path, inner: str) -> str:
    """Return the dicts that put something at a node of a tree, as Python.

    Args:
        node: the node.
        inner: what is put there.
    """
    return nested_all([node], inner)


def _plan_as(
    tree: StoredTree,
    layout: Layout,
    wanted: Mapping[Path, TargetLeaf] | None,
    mount: Path,
    wishes: Wishes,
    same: SameValue | None,
) -> Plan:
    """Plan under the assumption that the target was saved in ``layout`` and stands below ``mount``."""
    if wanted is not None:
        above = next((leaf.key_types for path, leaf in tree.leaves.items() if is_below(path, mount)), ())
        wanted = {(*mount, *path): _mounted(leaf, mount, above[: len(mount)]) for path, leaf in wanted.items()}
    streams = find_streams(tree.leaves)
    of_streams = {leaf.path: stream for stream in streams for leaf in stream.leaves}
    renamed = _renamer(wishes.renames, tree.leaves)
    places = {path: leaf for path, leaf in (wanted or {}).items() if leaf.empty}
    if wanted is not None:
        wanted = {path: leaf for path, leaf in wanted.items() if not leaf.empty}
    unseen = [stream for stream in streams if wanted is None or not is_below(stream.path, mount)]
    staying = _staying(tree, streams, unseen, wanted or {}, renamed, wishes)
    homeless = [stream for stream in streams if stream.path not in staying and stream not in unseen]
    shared = _shared(tree, homeless, wanted or {}, renamed, wishes, same)
    _require_kept(streams, {*staying, *shared.places}, wishes)
    kept: list[Kept] = []
    dropped: list[Leaf] = []
    unexpected: list[Leaf] = []
    reshaped: list[tuple[Leaf, TargetLeaf]] = []
    notes: list[str] = list(shared.notes)
    for path, leaf in tree.leaves.items():
        new_path = renamed(path)
        partner = (wanted or {}).get(new_path)
        own = shared.places.get(of_streams[path].path) if path in of_streams else None
        if matches(path, wishes.drop):
            dropped.append(leaf)
        elif own is not None:
            node = of_streams[path].path
            place = (*own, *path[len(node) :])
            key_impl = leaf.key_impl or (wanted or {})[place].key_impl
            kept.append(Kept(leaf, place, key_impl, _part(path, wishes)))
        elif path in of_streams and of_streams[path].path in staying:
            kept.append(
                Kept(leaf, new_path, leaf.key_impl or (partner.key_impl if partner else None), _part(path, wishes))
            )
            if partner and partner.key_impl and not leaf.key_impl:
                notes += _type_notes(leaf, partner)
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
        elif wanted is None or not is_below(path, mount):
            kept.append(Kept(leaf, new_path, leaf.key_impl, _part(path, wishes)))
        else:
            unexpected.append(leaf)
    empty = [Kept(leaf, renamed(path), None, _part(path, wishes)) for path, leaf in tree.empty.items()]
    emptied = [one.leaf for one in empty if not _has_place(one.path, wanted, places, mount, tree)]
    if emptied:
        notes.append(_emptied_note(emptied, wanted is not None))
    gone = {leaf.path for leaf in emptied}
    empty = [one for one in empty if one.leaf.path not in gone]
    there = {one.path for one in empty}
    opened = [leaf for path, leaf in places.items() if path not in there]
    _require_distinct((*kept, *empty))
    notes += _stay_notes(unseen, staying, wishes, mount if wanted is not None else None)
    _require_used("--drop", wishes.drop, tree.leaves)
    held = {one.path for one in kept}
    absent = [leaf for path, leaf in (wanted or {}).items() if path not in held and not leaf.rng]
    allowed = [leaf for leaf in absent if matches(leaf.path, wishes.allow_missing)]
    if mount:
        beside = "opt_state and step are" if holds_optimizer(tree.leaves) else f"what is not below {dotted(mount)} is"
        notes.append(f"{beside} kept as stored; the model alone was compared")
        if mount == (MODEL,) and _masks(tree, (wanted or {}).values()):
            notes.append(
                "opt_state holds some parameters only, as that of optax.masked does; Flax 0.12 wants a place for each "
                "of the others too, which is made if the factory returns the optimizer"
            )
    return Plan(
        layout=layout,
        kept=tuple(kept),
        empty=tuple(empty),
        dropped=tuple(dropped),
        added=(*(leaf for path, leaf in (wanted or {}).items() if leaf.rng and path not in held), *allowed),
        missing=tuple(leaf for leaf in absent if leaf not in allowed),
        unexpected=tuple(unexpected),
        reshaped=tuple(reshaped),
        streams=tuple(streams),
        notes=tuple(notes),
        compared=wanted is not None,
        emptied=tuple(emptied),
        opened=tuple(opened),
        mount=mount,
    )


def _staying(
    tree: StoredTree,
    streams: Sequence[Stream],
    unseen: Sequence[Stream],
    wanted: Mapping[Path, TargetLeaf],
    renamed: Callable[[Path], Path],
    wishes: Wishes,
) -> set[Path]:
    """Return the streams that stay as stored: those that the new program has at the same path, of the same type.

    Of those that it does not see, without a model or beside it, all stay that are not proven to be a layer's.
    """
    gone = layer_streams(tree.leaves, streams) if unseen else ()
    stay = {s.path for s in unseen if s.path not in gone or matches(s.key.path, wishes.keep)}
    seen = (s for s in streams if s not in unseen)
    return stay | {s.path for s in seen if all(_same(leaf, wanted.get(renamed(leaf.path))) for leaf in s.leaves)}


def _shared(
    tree: StoredTree,
    streams: Sequence[Stream],
    wanted: Mapping[Path, TargetLeaf],
    renamed: Callable[[Path], Path],
    wishes: Wishes,
    same: SameValue | None,
) -> Shared:
    """Find the program's own streams among those without a place at their path, of which the user said nothing."""
    free = [
        stream
        for stream in streams
        if all(renamed(leaf.path) == leaf.path and not matches(leaf.path, wishes.drop) for leaf in stream.leaves)
    ]
    there = {renamed(path) for path in tree.leaves}
    return shared_streams(free, there, wanted, same)


def _require_kept(streams: Sequence[Stream], staying: set[Path], wishes: Wishes) -> None:
    """Refuse to lose a stream that the user wants to keep.

    Raises:
        CheckpointError: if there is no such stream, or the new program has none there.
    """
    for pattern in wishes.keep:
        chosen = [stream for stream in streams if matches(stream.key.path, [pattern])]
        if not chosen:
            raise CheckpointError(f"--keep {pattern}: no stored RNG stream matches")
        lost = [stream for stream in chosen if stream.path not in staying]
        if lost:
            raise CheckpointError(f"--keep {pattern}: the model has no such RNG stream at {dotted(lost[0].path)}")


def _same(leaf: Leaf, partner: TargetLeaf | None) -> bool:
    if partner is None or not partner.rng:
        return False
    implementation = leaf.key_impl or partner.key_impl  # one that was saved as numbers is marked again
    return (leaf.shape, leaf.dtype, implementation) == (partner.shape, partner.dtype, partner.key_impl)


def _has_place(
    path: Path,
    wanted: Mapping[Path, TargetLeaf] | None,
    places: Mapping[Path, TargetLeaf],
    mount: Path,
    tree: StoredTree,
) -> bool:
    """Say whether a ``None`` or empty container belongs into the new checkpoint; restoring compares them."""
    if wanted is not None and is_below(path, mount):
        return path in places
    return not _absent_parameter(path, tree)


def _masks(tree: StoredTree, wanted: Iterable[TargetLeaf]) -> bool:
    """Say whether an optimizer holds something of some parameters only, in the state of a wrapped transformation."""
    names = {_bare(leaf.path[1:]) for leaf in wanted if leaf.variable == "Param"}
    held: dict[Path, set[Path]] = {}
    for path in tree.leaves:
        if path[0] == OPT_STATE and "inner_state" in path:
            for length in range(1, len(path)):
                if _bare(path[length:]) in names:
                    held.setdefault(path[:length], set()).add(_bare(path[length:]))
    return any(own < names for own in held.values())


_PARAMETERS = {"kernel", "bias", "scale"}


def _absent_parameter(path: Path, tree: StoredTree) -> bool:
    """Say whether a stored ``None`` is the place of a parameter that a layer was told to leave out.

    Layers of Flax 0.10.0 and 0.10.1 hold ``nnx.Param(None)`` there, later ones nothing at all.
    """
    found = tree.empty.get(path)
    names = path[:-1] if path[-1:] == ("value",) else path
    if found is None or found.kind != "None" or names[-1:] == () or names[-1] not in _PARAMETERS:
        return False
    node = names[:-1]
    siblings = {
        other[len(node)] for other in (*tree.leaves, *tree.empty) if other[: len(node)] == node and other != node
    }
    return siblings <= _PARAMETERS | {"mean", "var", "lora_a", "lora_b"}


def _emptied_note(emptied: Sequence[Leaf], compared: bool) -> str:
    names = _named(emptied)
    if compared:
        return f"{names}: stored without content, and the model has nothing there; left out"
    return f"{names}: stored without content; layers have nothing there since Flax 0.10.2, so it is left out"


def _stay_notes(
    streams: Sequence[Stream], staying: set[Path], wishes: Wishes, mount: Path | None = None
) -> Iterator[str]:
    """Say what becomes of streams that the model does not see; without a model, ``mount`` is None."""
    left = [one for one in streams if one.path not in staying and not matches(one.key.path, wishes.drop)]
    if left and mount is None:
        yield "layers' streams are left out; if the program itself draws from one, --model lets it go on where it was"
    elif left:
        yield (
            f"layers' streams that are not below {dotted(mount or ())} are left out too, such as "
            f"{dotted(left[0].path)}; if another model stands there, let the factory return the tree that was saved, "
            "with both"
        )
    for stream in streams:
        if stream.path in staying and not matches(stream.key.path, wishes.keep):
            name = dotted(stream.path)
            yield f"{name}: an RNG stream that is no layer's of 0.10, so it stays; --drop is for layers of your own"


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


def _require_used(option: str, patterns: Iterable[str], leaves: Iterable[Path], of: str = "stored leaf") -> None:
    for pattern in patterns:
        if not any(matches(path, [pattern]) for path in leaves):
            raise CheckpointError(f"{option} {pattern}: no {of} matches")


def _part(path: Path, wishes: Wishes) -> str:
    if not wishes.split:
        return ""
    return MODEL if path[0] == MODEL else OPTIMIZER


def _mounted(leaf: TargetLeaf, mount: Path, above: tuple[int, ...]) -> TargetLeaf:
    if not mount:
        return leaf
    return replace(leaf, path=(*mount, *leaf.path), key_types=(*above, *leaf.key_types))


def _named(leaves: Sequence[Leaf]) -> str:
    more = f" and {len(leaves) - 3} more" if len(leaves) > 3 else ""
    return ", ".join(leaf.name for leaf in leaves[:3]) + more


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
