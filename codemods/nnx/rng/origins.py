"""Which ``nnx.Rngs`` the layers of a project fork their streams from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.nnx.facts import CallEvent
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.rng.layers import SIGNATURES, Layer, layer
from codemods.nnx.rng.layouts import Layouts
from codemods.nnx.rng.reached import Reached
from codemods.nnx.sources import Sources
from codemods.nnx.values import Call, Const, Mapping, Param, Ref, Star, Value

RNGS = "flax.nnx.Rngs"


@dataclass(frozen=True, eq=False)
class Kept:
    """A layer that forks a stream of a Rngs, with the place that makes it."""

    layer: Layer
    event: CallEvent


@dataclass(eq=False)
class Origin:
    """A call of ``nnx.Rngs``.

    Attributes:
        kept: the layers that fork one of its streams.
        streams: the names that it is given; None if some are unpacked.
        default: whether it has a stream for every other name.
    """

    event: CallEvent
    kept: list[Kept]
    streams: frozenset[str] | None
    default: bool

    def source_of(self, stream: str) -> str | None:
        """Return the stream that a layer gets by a name: its own, the default one or none."""
        if self.streams is None or stream in self.streams:
            return stream
        return "default" if self.default else None


class Origins:
    """Follows the streams of layers back to the ``nnx.Rngs`` that they come from.

    Attributes:
        made: the calls of ``nnx.Rngs``.
        layers: the layers that fork a stream of some Rngs.
    """

    def __init__(self, flow: Flow, sources: Sources, layouts: Layouts, reached: Reached) -> None:
        self.flow = flow
        self.sources = sources
        self.layouts = layouts
        self.reached = reached
        self.made: dict[Value, Origin] = {}
        self.layers: list[Kept] = []
        makers = flow.may.made_by({"Rngs"}), flow.may.made_by(name.rpartition(".")[2] for name in SIGNATURES)
        for event in flow.project.calls():
            if makers[0].may_make(event.value.callee) and flow.calls.name(event) == RNGS:
                self.made[event.value] = self._origin(event)
                continue
            if not makers[1].may_make(event.value.callee):
                continue
            found = layer(flow, flow.here(event.value, event.scope))
            if found is not None and found.rngs is not None:
                self.layers.append(Kept(found, event))
        for kept in self.layers:
            assert kept.layer.rngs is not None
            for origin in self.of(kept.layer.rngs):
                origin.kept.append(kept)

    def of(self, bound: Bound) -> list[Origin]:
        """Return the calls of ``nnx.Rngs`` that a value may come from."""
        found: dict[Value, Origin] = {}
        self._collect(self.flow.resolve(bound), found, set())
        return list(found.values())

    def _collect(self, bound: Bound, found: dict[Value, Origin], seen: set[Bound]) -> None:
        if bound in seen:
            return
        seen.add(bound)
        if isinstance(bound.value, Param):
            entries = self.flow.sites.entries(bound.value.function)
            given = [self.flow.argument(entry, bound.value.name) for entry in entries]
            reaching = self._reaching(bound.value) if all(one is None for one in given) else ()
            for argument in (*given, *self._lifted(bound.value), *reaching):
                if argument is not None:
                    self._collect(self.flow.resolve(argument), found, seen)
            return
        for source in self.sources.originals(bound):
            if source.value in self.made:
                found[source.value] = self.made[source.value]
            elif isinstance(source.value, Param):
                self._collect(source, found, seen)

    def _reaching(self, param: Param) -> Iterator[Bound]:
        """Yield what a function gets by way of a base class, of a table of classes, or of ``**named``."""
        if param is param.function.self_param:
            return
        for event, given in self.reached.handed(param.function, param.name):
            value = event.scope.module.values.get(given)
            if value is not None:
                yield self.flow.here(value, event.scope)

    def _lifted(self, param: Param) -> list[Bound]:
        """Return what a constructor's parameter gets under transforms, as in ``nnx.vmap(Block)(rngs)``."""
        function = param.function
        if function.owner is None or function.name != "__init__" or param is function.self_param:
            return []
        index = list(function.params).index(param.name) - 1
        given = []
        for event, _ in self.layouts.lifted.get(function.owner, []):
            value = event.value.argument(index, param.name)
            if value is not None:
                given.append(self.flow.here(value, event.scope))
        return given

    def _origin(self, event: CallEvent) -> Origin:
        value = event.value
        names = {name for name, _ in value.keywords if name is not None}
        known, default = True, "default" in names
        for argument in [*value.args, *(given for name, given in value.keywords if name is None)]:
            keys = self._keys(argument, event)
            if keys is not None:
                names |= keys
                default = default or "default" in keys
            else:
                unpacked = argument not in value.args
                node = next((n for n, a in zip(event.node.args, value.args, strict=True) if a is argument), None)
                seed = node is not None and _is_seed(node)
                known = known and not unpacked and (seed or not self._streams_in(argument, event))
                default = default or not unpacked
        return Origin(event, [], frozenset(names) if known else None, default)

    def _keys(self, argument: Value, event: CallEvent) -> set[str] | None:
        """Return the streams that a dict names whose keys are all written out; None for anything else."""
        if isinstance(argument, Star):
            return None
        given = self.flow.resolve(self.flow.here(argument, event.scope)).value
        if not isinstance(given, Mapping) or self.flow.identity.is_distrusted(given):
            return None
        keys = {key.value if isinstance(key, Const) else None for key, _ in given.items}
        names = {key for key in keys if isinstance(key, str)}
        return names if len(names) == len(keys) else None

    def _streams_in(self, argument: Value, event: CallEvent) -> bool:
        """Say whether a positional argument may be a mapping of streams; a seed or a key is none."""
        if isinstance(argument, Star):
            return True
        value = self.flow.resolve(self.flow.here(argument, event.scope))
        if isinstance(value.value, Const):
            return False
        name = self.flow.calls.callee_name(value)
        seed = name.startswith(("jax.random.", "builtins.int", "time.", "random."))
        return not seed and not isinstance(value.value, Ref) and not (isinstance(value.value, Call) and seed)


_SEED = pattern(r"(^|_)(seeds?|keys?|prng)$")


def _is_seed(node: ast.expr) -> bool:
    """Say whether an expression is a seed or a key by how it is written, as ``args.seed`` or ``keys[0]`` are.

    What it is called decides only where nothing better is known, and only what is said, not what is changed.
    """
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, ast.BitOr)  # which also joins dictionaries
    if isinstance(node, ast.Subscript):
        index = node.slice
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            return _SEED.search(index.value.lower()) is not None
        node = node.value
    elif isinstance(node, ast.Name | ast.Attribute) and last_word(node).lower().endswith("s"):
        return False  # a dictionary of them
    return _SEED.search(last_word(node).lower()) is not None
