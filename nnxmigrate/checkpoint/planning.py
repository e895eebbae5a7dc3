"""Decide leaf by leaf what becomes of a stored tree: kept, renamed, dropped or initialised anew."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.misfit import named
from nnxmigrate.checkpoint.nodes import (
    MODEL,
    OPT_STATE,
    OPTIMIZER,
    bare,
    holds_optimizer,
    nodes_above,
    with_streams,
    with_streams_apart,
)
from nnxmigrate.checkpoint.plan import Kept, Plan
from nnxmigrate.checkpoint.rng import (
    Stream,
    find_streams,
    implementation_notes,
    layer_streams,
    lone_counts,
    unproven_streams,
)
from nnxmigrate.checkpoint.shared import SameValue, Shared, shared_streams
from nnxmigrate.checkpoint.target import Layout, Target, TargetLeaf
from nnxmigrate.checkpoint.tree import Leaf, Path, StoredTree, dotted, is_below
from nnxmigrate.checkpoint.wishes import USUAL, Wishes, matches, renamer, require_used


def make_plan(tree: StoredTree, target: Target | None, wishes: Wishes = USUAL, same: SameValue | None = None) -> Plan:
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
        raise CheckpointError(
            "only the checkpoint of an nnx.Optimizer of 0.10 (with model and step) can be split",
            "of several items, --item says which is one",
        )
    if target is None:
        if wishes.allow_missing:
            raise CheckpointError("--allow-missing needs --model: without it nothing can be initialised")
        plans = [_Planning(tree, _layout_of(tree), None, (), wishes, same).plan()]
    else:
        mounts: list[Path] = [(), (MODEL,)] if optimizer else [()]
        plans = [
            _Planning(tree, layout, target[layout], mount, wishes, same).plan() for mount in mounts for layout in Layout
        ]
        if all(plan.problems for plan in plans):
            plans += [
                _Planning(tree, layout, target[layout], mount, wishes, same).plan()
                for layout in Layout
                for mount in _mounts(tree, target[layout])
            ]
        nodes = {plan.mount for plan in plans}
        known = [(*node, *path) for node in nodes for leaves in target.values() for path in leaves]
        require_used("--allow-missing", wishes.allow_missing, known, "leaf of the model")
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
    RNG state, if the model has some. There is none where RNG state is below a key of its own: new RNG state would go to
    another place than that from which the program restores it.
    """
    found = nodes_above(tree.leaves, [path for path, leaf in wanted.items() if not (leaf.rng or leaf.empty)])
    streams = find_streams(tree.leaves)
    rng = {path: leaf for path, leaf in wanted.items() if leaf.rng}
    if len(found) > 1 and rng:
        found = with_streams(found, streams)
    if len(found) != 1 or found == [()]:
        return []
    own = {stream.path for stream in find_streams(rng)}
    parts = not with_streams(found, streams) and with_streams_apart(tree.leaves, found[0], streams, own)
    return [] if parts else found


class _Planning:
    """Planning under the assumption that the target was saved in ``layout`` and stands below ``mount``."""

    def __init__(
        self,
        tree: StoredTree,
        layout: Layout,
        target: Mapping[Path, TargetLeaf] | None,
        mount: Path,
        wishes: Wishes,
        same: SameValue | None,
    ) -> None:
        self._tree = tree
        self._layout = layout
        self._mount = mount
        self._wishes = wishes
        self._compared = target is not None
        above = next((leaf.key_types for path, leaf in tree.leaves.items() if is_below(path, mount)), ())[: len(mount)]
        every = {(*mount, *path): _mounted(leaf, mount, above) for path, leaf in (target or {}).items()}
        self._wanted = {path: leaf for path, leaf in every.items() if not leaf.empty}
        self._new = {stream.path for stream in find_streams({p: one for p, one in self._wanted.items() if one.rng})}
        self._places = {path: leaf for path, leaf in every.items() if leaf.empty}
        self._renamed = renamer(wishes.renames, tree.leaves, self._wanted)
        self._streams = find_streams(tree.leaves)
        self._unseen = [one for one in self._streams if target is None or not is_below(one.path, mount)]
        self._staying = self._streams_that_stay()
        unproven = self._unproven()
        self._shared = self._streams_of_the_program(same, unproven)
        _require_kept(self._streams, {*self._staying, *self._shared.places}, wishes)
        data = {*unproven, *self._ordinary()} - {*self._staying, *self._shared.places}
        self._streams = [stream for stream in self._streams if stream.path not in data]
        self._lone = lone_counts(tree.leaves)
        self._of_streams = {leaf.path: stream for stream in self._streams for leaf in stream.leaves}
        self._kept: list[Kept] = []
        self._dropped: list[Leaf] = []
        self._unexpected: list[Leaf] = []
        self._reshaped: list[tuple[Leaf, TargetLeaf]] = []
        self._notes: list[str] = list(self._shared.notes)

    def plan(self) -> Plan:
        """Return the plan."""
        for path, leaf in self._tree.leaves.items():
            self._place(path, leaf)
        empty, emptied = self._without_content()
        if emptied:
            self._notes.append(_emptied_note(emptied, self._compared))
        there = {one.path for one in empty}
        _require_distinct((*self._kept, *empty))
        lost = list(self._lost())
        self._notes += [_LOST.format(dotted(stream.path)) for stream in lost]
        self._notes += _stay_notes(self._unseen, self._staying, self._wishes, self._mount if self._compared else None)
        require_used("--drop", self._wishes.drop, self._tree.leaves)
        held = {one.path for one in self._kept}
        absent = [leaf for path, leaf in self._wanted.items() if path not in held and not leaf.rng]
        made = [leaf for leaf in absent if leaf.dtype]  # no string
        allowed = [leaf for leaf in made if matches(leaf.path, self._wishes.allow_missing)]
        self._notes += self._mount_notes()
        new = [leaf for path, leaf in self._wanted.items() if leaf.rng and path not in held]
        gone = {leaf.path for leaf in self._dropped if not matches(leaf.path, self._wishes.drop)}
        old = [one.key for one in self._streams if one.key.path in gone and is_below(one.path, self._mount)]
        self._notes += implementation_notes(old, [leaf for leaf in new if leaf.key_impl])
        return Plan(
            layout=self._layout,
            kept=tuple(self._kept),
            empty=tuple(empty),
            dropped=tuple(self._dropped),
            added=(*new, *allowed),
            missing=tuple(leaf for leaf in absent if leaf not in allowed),
            unexpected=tuple(self._unexpected),
            reshaped=tuple(self._reshaped),
            streams=tuple(self._streams),
            notes=tuple(self._notes),
            compared=self._compared,
            emptied=tuple(emptied),
            lost=tuple(leaf for stream in lost for leaf in stream.leaves),
            opened=tuple(leaf for path, leaf in self._places.items() if path not in there),
            mount=self._mount,
        )

    def _place(self, path: Path, leaf: Leaf) -> None:
        """Decide what becomes of one leaf."""
        new_path = self._renamed(path)
        partner = self._wanted.get(new_path)
        stream = self._of_streams.get(path)
        own = self._shared.places.get(stream.path) if stream else None
        if matches(path, self._wishes.drop):
            self._dropped.append(leaf)
        elif stream and own is not None:
            place = (*own, *path[len(stream.path) :])
            self._keep(leaf, place, self._wanted[place])
        elif stream and stream.path in self._staying:
            self._keep(leaf, new_path, partner)
            if partner and partner.key_impl and not leaf.key_impl:
                self._notes += _type_notes(leaf, partner)
        elif partner and not partner.rng:  # an ordinary leaf of the new program stays, whatever it looks like
            self._keep(leaf, new_path, partner)
            if leaf.shape != partner.shape:
                self._reshaped.append((leaf, partner))
            else:
                self._notes += _type_notes(leaf, partner)
        elif stream or path in self._lone or (partner and leaf.dtype == partner.dtype):  # half of a stream, or reshaped
            self._dropped.append(leaf)
            if stream and not stream.certain and leaf is stream.key:
                self._notes.append(
                    f"{dotted(stream.path)}: taken for an RNG stream by its shape and place; no key type is recorded"
                )
        elif not self._compared or not is_below(path, self._mount):
            self._keep(leaf, new_path, None)
        else:
            self._unexpected.append(leaf)

    def _keep(self, leaf: Leaf, path: Path, partner: TargetLeaf | None) -> None:
        key_impl = leaf.key_impl or (partner.key_impl if partner else None)
        self._kept.append(Kept(leaf, path, key_impl, _part(leaf.path, self._wishes)))

    def _without_content(self) -> tuple[list[Kept], list[Leaf]]:
        """Return the places without content that stay, and those that do not; restoring compares them."""
        stay, go = [], []
        for path, leaf in self._tree.empty.items():
            one = Kept(leaf, self._renamed(path), None, _part(path, self._wishes))
            if self._compared and is_below(one.path, self._mount):
                belongs = one.path in self._places
            else:
                belongs = not _absent_parameter(one.path, self._tree)
            if belongs:
                stay.append(one)
            else:
                go.append(leaf)
        return stay, go

    def _lost(self) -> Iterator[Stream]:
        """Give the streams that are no layer's and that the new program does not have."""
        layers = layer_streams(self._tree.leaves, self._streams)
        dropped = {leaf.path for leaf in self._dropped}
        for stream in self._streams if self._compared else ():
            place = self._renamed(stream.path)
            known = stream.path in layers or stream in self._unseen or {place, place[:-1]} & self._new
            if not known and stream.key.path in dropped and not matches(stream.key.path, self._wishes.drop):
                yield stream

    def _mount_notes(self) -> Iterator[str]:
        """Say what was not compared."""
        if self._mount:
            optimizer = holds_optimizer(self._tree.leaves)
            beside = "opt_state and step are" if optimizer else f"what is not below {dotted(self._mount)} is"
            yield f"{beside} kept as stored; the model alone was compared"
        if self._mount == (MODEL,) and _masks(self._tree, self._wanted.values()):
            yield (
                "opt_state holds some parameters only, as that of optax.masked does; Flax 0.12 wants a place for each "
                "of the others too, which is made if the factory returns the optimizer"
            )

    def _streams_that_stay(self) -> set[Path]:
        """Return the streams that stay as stored: those that the new program has at the same path, of the same type.

        Of those that it does not see, without a model or beside it, all stay that are not proven to be a layer's.
        """
        gone = layer_streams(self._tree.leaves, self._streams) if self._unseen else ()
        stay = {s.path for s in self._unseen if s.path not in gone or matches(s.key.path, self._wishes.keep)}
        seen = (s for s in self._streams if s not in self._unseen)
        return stay | {
            s.path for s in seen if all(_same(leaf, self._wanted.get(self._renamed(leaf.path))) for leaf in s.leaves)
        }

    def _unproven(self) -> set[Path]:
        """Return the streams, among those that are compared with the new program, that may be the user's data."""
        unproven = unproven_streams(self._tree.leaves, self._streams, self._new, self._renamed)
        return unproven - {stream.path for stream in self._unseen}

    def _ordinary(self) -> set[Path]:
        """Return the streams that are ordinary leaves of the new program."""
        partners = {
            stream.path: [self._wanted.get(self._renamed(leaf.path)) for leaf in stream.leaves]
            for stream in self._streams
        }
        return {path for path, both in partners.items() if all(one and not one.rng for one in both)}

    def _streams_of_the_program(self, same: SameValue | None, unproven: Collection[Path]) -> Shared:
        """Find the program's own streams among those without a place at their path, of which the user said nothing."""
        homeless = [one for one in self._streams if one.path not in self._staying and one not in self._unseen]
        free = [
            stream
            for stream in homeless
            if all(
                self._renamed(leaf.path) == leaf.path and not matches(leaf.path, self._wishes.drop)
                for leaf in stream.leaves
            )
        ]
        there = {self._renamed(path) for path in self._tree.leaves}
        return shared_streams(free, there, self._wanted, same, unproven)


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


def _masks(tree: StoredTree, wanted: Iterable[TargetLeaf]) -> bool:
    """Say whether an optimizer holds something of some parameters only, in the state of a wrapped transformation."""
    names = {bare(leaf.path[1:]) for leaf in wanted if leaf.variable == "Param"}
    held: dict[Path, set[Path]] = {}
    for path in (*tree.leaves, *tree.empty):
        if path[0] == OPT_STATE and "inner_state" in path:
            for length in range(1, len(path)):
                if bare(path[length:]) in names:
                    held.setdefault(path[:length], set()).add(bare(path[length:]))
    tops = {name[0] for name in names}
    return any(own < names and _beside(node, tree) <= tops for node, own in held.items())


def _beside(node: Path, tree: StoredTree) -> set[str]:
    """Return the names of all that stands in a node."""
    paths = (*tree.leaves, *tree.empty)
    return {path[len(node)] for path in paths if is_below(path, node) and len(path) > len(node)}


_LOST = "{}: an RNG stream that is no layer's, and the model has none there; left out; --rename OLD=NEW moves it"
_PARAMETERS = {"kernel", "bias", "scale"}


def _absent_parameter(path: Path, tree: StoredTree) -> bool:
    """Say whether a stored ``None`` is the place of a parameter that a layer was told to leave out.

    Layers of Flax 0.10.0 and 0.10.1 hold ``nnx.Param(None)`` there, later ones nothing at all.
    """
    found = tree.empty.get(path)
    names = path[:-1] if path[-1:] == ("value",) else path
    if found is None or found.kind != "None" or names[-1:] == () or names[-1] not in _PARAMETERS:
        return False
    if OPT_STATE in path and _masked(names, tree):
        return False
    node = names[:-1]
    siblings = {
        other[len(node)] for other in (*tree.leaves, *tree.empty) if other[: len(node)] == node and other != node
    }
    return siblings <= _PARAMETERS | {"mean", "var", "lora_a", "lora_b"}


def _masked(names: Path, tree: StoredTree) -> bool:
    """Say whether a place in an optimizer's memory is that of a parameter which a wrapped transformation does not see.

    The model has that parameter, as the parts of ``optax.masked`` and ``optax.multi_transform`` see some each. Without
    the model only the wrapper tells it from one that a layer was told to leave out.
    """
    model = (*names[: names.index(OPT_STATE)], MODEL)
    there = {bare(path[len(model) :]) for path in tree.leaves if is_below(path, model) and len(path) > len(model)}
    if not there:
        return "inner_state" in names
    tops = {path[0] for path in there}
    for start in range(len(model), len(names)):
        if names[start:] in there and _beside(names[:start], tree) <= tops:
            return True
    return False


def _emptied_note(emptied: Sequence[Leaf], compared: bool) -> str:
    names = named(emptied)
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


def _layout_of(tree: StoredTree) -> Layout:
    """Judge the layout by the paths alone: most leaves of an nnx.State end in ``value``."""
    ends = sum(path[-1:] == ("value",) for path in tree.leaves)
    return Layout.STATE if 2 * ends > len(tree.leaves) else Layout.PURE


def _type_notes(leaf: Leaf, partner: TargetLeaf) -> Iterator[str]:
    if partner.key_impl and not leaf.key_impl:
        yield f"{leaf.name}: stored without its key type; marked as key<{partner.key_impl}> as in the model"
    elif partner.kind == "scalar" and _family(leaf) == _family(partner):
        return  # a number of Python's has no width of its own
    elif (leaf.dtype, leaf.key_impl) != (partner.dtype, partner.key_impl):
        yield f"{leaf.name}: stored {leaf.described}, model {partner.described}; kept as stored"


def _family(leaf: Leaf) -> str:
    """Return the kind of number of a leaf, whatever its width; of typed keys none."""
    return "key" if leaf.key_impl else (leaf.dtype or "").rstrip("0123456789")


def _require_distinct(kept: Iterable[Kept]) -> None:
    seen: dict[Path, Kept] = {}
    for one in kept:
        other = seen.setdefault(one.path, one)
        if other is not one:
            raise CheckpointError(f"{other.leaf.name} and {one.leaf.name} would both become {one.name}")


def _part(path: Path, wishes: Wishes) -> str:
    if not wishes.split:
        return ""
    return MODEL if path[0] == MODEL else OPTIMIZER


def _mounted(leaf: TargetLeaf, mount: Path, above: tuple[int, ...]) -> TargetLeaf:
    if not mount:
        return leaf
    return replace(leaf, path=(*mount, *leaf.path), key_types=(*above, *leaf.key_types))
