"""What a checkpoint's tree is made of, and whether its layout changes from 0.10 to 0.11."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind
from codemods.nnx.optimizer.migrate import optimizer_findings
from codemods.nnx.rng.analysis import rng_analysis
from codemods.nnx.values import Attr, Call, Comprehension, Const, Item, Mapping, Ref, Sequence, Value

_DEPTH = 9  # how many containers and functions deep a tree is looked into

STREAMS = "streams"
OPTIMIZER = "optimizer"

_STATES = frozenset({"flax.nnx.state", "flax.nnx.variables"})
_STREAM_TYPES = frozenset({"flax.nnx.RngState", "flax.nnx.RngKey", "flax.nnx.RngCount"})
# functions that return the tree of an argument, with the same paths
_SAME_TREE = frozenset(
    {
        "flax.nnx.to_pure_dict", "flax.nnx.pure", "flax.nnx.eval_shape", "jax.eval_shape", "jax.tree.map",
        "jax.tree_map", "jax.tree_util.tree_map", "jax.device_get", "jax.device_put", "flax.nnx.clone",
        "flax.serialization.to_state_dict", "flax.traverse_util.flatten_dict",
    }
)  # fmt: skip


class Trees:
    """Answers what in a tree has moved since 0.10."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow: Flow = context.flow

    def moved(self, bound: Bound) -> frozenset[str]:
        """Return :data:`STREAMS` and :data:`OPTIMIZER` as far as a value holds them."""
        if not self.context.shared(_takes_states):
            return frozenset()  # what a tree is made of is dear to find out
        found: set[str] = set()
        seen = {bound}  # what is a part of several others is looked into once
        level = [bound]
        for _ in range(_DEPTH):
            inner: list[Bound] = []
            for source in (source for one in level for source in self.context.sources.originals(one)):
                found |= self._itself(source)
                inner += self._inside(source)
            level = [one for one in dict.fromkeys(inner) if one not in seen]
            seen.update(level)
            if len(found) == len((STREAMS, OPTIMIZER)) or not level:
                break
        return frozenset(found)

    def _itself(self, source: Bound) -> frozenset[str]:
        """Return what a state, or a part of one, holds."""
        flow, value = self.flow, source.value
        if isinstance(value, Item | Indexed):
            index = value.index if isinstance(value, Item) else value.index.value
            base = flow.resolve(flow.with_value(source, value.base))
            if isinstance(base.value, Call) and isinstance(index, Const) and isinstance(index.value, int):
                return self._part(base, base.value, index.value)
        elif isinstance(value, Call) and value.args and flow.calls.callee_name(source) in _STATES:
            return self._of_object(flow.with_value(source, value.args[0]), source, value.args[1:], None)
        return frozenset()

    def _inside(self, source: Bound) -> list[Bound]:
        """Return the trees that a container holds, or that a function returns as they are."""
        flow, value = self.flow, source.value
        if isinstance(value, Sequence | Mapping):
            return [*flow.containers.elements(source)]
        if isinstance(value, Comprehension):
            return [flow.with_value(source, value.element)]
        if not isinstance(value, Call):
            return []
        name = flow.calls.callee_name(source)
        if name in _STATES and value.args:
            return []
        if name in _SAME_TREE or name.startswith("orbax.checkpoint.args."):
            return [flow.with_value(source, v) for v in value.given]
        if isinstance(value.callee, Attr) and value.callee.name == "to_pure_dict":
            return [flow.with_value(source, value.callee.base)]
        return []

    def _part(self, base: Bound, call: Call, index: int) -> frozenset[str]:
        """Return what a part of ``nnx.split`` or of ``nnx.state`` with several filters holds."""
        name = self.flow.calls.callee_name(base)
        if name not in _STATES and name != "flax.nnx.split":
            return frozenset()
        position = index - 1 if name == "flax.nnx.split" else index
        if position < 0 or not call.args:
            return frozenset()
        return self._of_object(self.flow.with_value(base, call.args[0]), base, call.args[1:], position)

    def _of_object(
        self, instance: Bound, place: Bound, filters: tuple[Value, ...], position: int | None
    ) -> frozenset[str]:
        """Return what has moved in the state of an object, or in the part that one of several filters takes."""
        found = set()
        resolved = [self.flow.follow(place, f) for f in filters]
        if _takes_streams(self.flow, resolved, position) and self.object_moved(instance):
            found.add(STREAMS)
        if not filters and Kind.OPTIMIZER in self.context.kinds.of(instance) and self._loses_model(instance):
            found.add(OPTIMIZER)
        return frozenset(found)

    def object_moved(self, instance: Bound) -> bool:
        """Say whether an object holds layers whose streams moved; an optimizer held its model in 0.10."""
        forks = rng_analysis(self.context).forks
        for source in self.context.sources.originals(instance):
            if forks.held(source):
                return True
            value = source.value
            inside: list[Bound] = []
            if isinstance(value, Call) and self.flow.calls.callee_name(source) == "flax.nnx.Optimizer":
                inside = [self.flow.with_value(source, model) for model in value.args[:1]]
            elif isinstance(value, Sequence | Mapping):
                inside = list(self.flow.containers.elements(source))
            if any(self.object_moved(element) for element in inside):
                return True
        return False

    def _loses_model(self, instance: Bound) -> bool:
        """Say whether an optimizer is, and stays, a ``nnx.Optimizer``; the compatible class keeps the old tree."""
        if any(found.code == "NNX103" for found in optimizer_findings(self.context)):
            return False
        sources = self.context.sources.originals(instance)
        return any(self.flow.calls.callee_name(source) == "flax.nnx.Optimizer" for source in sources)


def _takes_states(context: Context) -> bool:
    """Say whether a project takes the state of anything."""
    names = {*_STATES, "flax.nnx.split"}
    words = {name.rpartition(".")[2] for name in names}
    return any(context.flow.calls.name(event) in names for event in context.bodies.named(*words))


def _takes_streams(flow: Flow, filters: list[Bound], position: int | None) -> bool:
    """Say whether the part that a filter takes has streams in it; without filters there is one part with everything."""
    if not filters:
        return True
    index = position if position is not None else 0
    if index >= len(filters):
        return False
    if any(_matches_streams(flow, before) for before in filters[:index]):
        return False
    return _matches_streams(flow, filters[index])


def _matches_streams(flow: Flow, filter_: Bound) -> bool:
    """Say whether a filter takes streams, as far as it can be read."""
    value = filter_.value
    if isinstance(value, Ref):
        return value.name in {*_STREAM_TYPES, "flax.nnx.Variable"}
    if isinstance(value, Sequence):
        return any(_matches_streams(flow, flow.follow(filter_, one)) for one in value.items)
    if isinstance(value, Call) and value.args:
        inner = [flow.follow(filter_, one) for one in value.args]
        name = flow.calls.callee_name(filter_)
        if name == "flax.nnx.Not":
            negated = inner[0].value
            return not (isinstance(negated, Ref) and negated.name in {*_STREAM_TYPES, "flax.nnx.Variable"})
        if name in {"flax.nnx.Any", "flax.nnx.All"}:
            chosen = any if name == "flax.nnx.Any" else all
            return chosen(_matches_streams(flow, one) for one in inner)
        return name == "flax.nnx.Everything"
    return value in {Const(Ellipsis), Const(True)} if isinstance(value, Const) else False
