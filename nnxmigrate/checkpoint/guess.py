"""What a tree looks like of which no model is known: the state of one object, or something else.

Names and structure only decide which code is printed to load it. What belongs to one object is stored once; so keys of
RNG state that are there twice are those of two objects that shared an ``nnx.Rngs``.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence

from nnxmigrate.checkpoint.job import ItemJob
from nnxmigrate.checkpoint.nodes import OPT_STATE, STEP, bare, holds_optimizer, joined_by
from nnxmigrate.checkpoint.plan import Plan
from nnxmigrate.checkpoint.reading import open_array
from nnxmigrate.checkpoint.rng import find_streams
from nnxmigrate.checkpoint.target import Layout
from nnxmigrate.checkpoint.tree import Leaf, Path

#: Keys under which programs put the parts of a state, and states beside each other.
_PARTS = {"params", "batch_stats", "rest", "other", "others", "model", "ema", "ema_params", "optimizer", "opt"}


class Looks(enum.Enum):
    """What was saved."""

    MODEL = "the state of a model"
    OPTIMIZER = "the state of an nnx.Optimizer of 0.10, which holds its model"
    OPT_STATE = "the state of an optimizer without its model"
    TREE = "a tree of several things"


def looks_like(one: ItemJob, plan: Plan) -> Looks:
    """Return what an item looks like of which no model is known."""
    leaves = one.tree.leaves
    if holds_optimizer(leaves):
        return Looks.OPTIMIZER
    of_variables = plan.layout is Layout.STATE and all(path[-1] == "value" for path in leaves)
    tops = {path[0] for path in leaves}
    if tops == {OPT_STATE, STEP} and of_variables:
        return Looks.OPT_STATE
    several = (
        (plan.layout is Layout.STATE and not of_variables)
        or any(OPT_STATE in path for path in leaves)
        or bool(tops & _PARTS)
        or any(joined_by(path) for path in leaves)
        or _divided(leaves)
        or _each_with_streams(plan, tops)
        or _twice(one, plan)
        or (plan.layout is Layout.PURE and not any(leaf.shape for leaf in leaves.values()))  # settings, counters
    )
    return Looks.TREE if several else Looks.MODEL


def share_a_state(items: Sequence[tuple[ItemJob, Plan]], one: ItemJob) -> bool:
    """Say whether an item looks like a part of a model of which another item holds more, or the rest.

    Programs save the results of ``nnx.split`` so, or ``nnx.state(model, nnx.Param)`` beside all of it.
    """
    if holds_optimizer(one.tree.leaves):
        return False
    own = _ordinary(one, next(plan for other, plan in items if other is one))
    for other, plan in items:
        if other is one or holds_optimizer(other.tree.leaves):
            continue
        its = _ordinary(other, plan)
        apart = own.isdisjoint(its) and {path[0] for path in own} & {path[0] for path in its}
        if apart or (own < its and not find_streams(one.tree.leaves)):
            return True
    return False


def _ordinary(one: ItemJob, plan: Plan) -> set[Path]:
    """Return the paths of an item's leaves that are of no stream."""
    return set(one.tree.leaves) - {leaf.path for stream in plan.streams for leaf in stream.leaves}


def _each_with_streams(plan: Plan, tops: Collection[str]) -> bool:
    """Say whether there is RNG state beside other leaves below every one of several keys of the tree.

    A model of 0.10 that was made with one ``nnx.Rngs`` has it below one of them; models in a dict have one each.
    """
    of_streams = {leaf.path for stream in plan.streams for leaf in stream.leaves}
    beside = {kept.leaf.path[0] for kept in plan.kept if kept.leaf.path not in of_streams}
    return len(tops) > 1 and {stream.path[0] for stream in plan.streams if len(stream.path) > 1} == beside == set(tops)


def _divided(leaves: Iterable[Path]) -> bool:
    """Say whether keys divide the Variables of the same modules among them, as filters of ``nnx.split`` do."""
    modules: dict[str, dict[Path, set[str]]] = {}
    for path in map(bare, leaves):
        if len(path) > 2:
            modules.setdefault(path[0], {}).setdefault(path[1:-1], set()).add(path[-1])
    for one, other in itertools.combinations(modules.values(), 2):
        both = one.keys() & other.keys()
        if both and all(one[module].isdisjoint(other[module]) for module in both):
            return True
    return False


def _twice(one: ItemJob, plan: Plan) -> bool:
    """Say whether the same key of a stream is stored below several keys of the tree."""
    tagged: dict[str, dict[str, list[Leaf]]] = {}
    for stream in plan.streams:
        if len(stream.path) > 1:
            tops = tagged.setdefault(stream.path[-1], {})
            tops.setdefault(stream.path[0], []).append(stream.key)
    return any(_meet(one, tops) for tops in tagged.values() if len(tops) > 1)


def _meet(one: ItemJob, tops: Mapping[str, Collection[Leaf]]) -> bool:
    """Say whether keys below different tops have the same value."""
    values = [{_value(one, leaf) for leaf in leaves} for leaves in tops.values()]
    return any(first & second for first, second in itertools.combinations(values, 2))


def _value(one: ItemJob, leaf: Leaf) -> bytes:
    try:
        stored = open_array(one.item.folder, leaf.name, one.tree.ocdbt, one.tree.zarr3).read().result()
    except ValueError:  # what cannot be read is told elsewhere
        return leaf.name.encode()
    return bytes(stored.tobytes())
