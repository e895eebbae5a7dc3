"""What the functions and objects of Flax do with abstract objects."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from codemods.nnx.kinds import Kind, result_kind
from codemods.nnx.pytree.functions import tree_function
from codemods.nnx.state.heap import ANY, Share, Thing

if TYPE_CHECKING:
    from codemods.nnx.state.execute import Execution

Args = list[set[Thing]]
Keywords = dict[str, set[Thing]]

#: Functions whose result holds the very objects that they are given, or views of them.
_SAME = frozenset(
    {
        "builtins.list", "builtins.tuple", "builtins.dict", "builtins.sorted", "builtins.reversed", "builtins.iter",
        "builtins.next", "builtins.zip", "builtins.enumerate", "builtins.set", "copy.copy",
        "optax.LookaheadParams", "optax.LookaheadParams.init_synced",
        "typing.cast",
        "flax.nnx.variables",  # live in 0.10 already
        "flax.nnx.State", "flax.nnx.filter_state", "flax.nnx.merge_state", "flax.nnx.split_state",
        "flax.nnx.to_flat_state", "flax.nnx.from_flat_state", "flax.nnx.FlatState", "jax.block_until_ready",
        "builtins.getattr", "types.SimpleNamespace", "collections.OrderedDict", "flax.nnx.data",
        "flax.traverse_util.flatten_dict", "flax.traverse_util.unflatten_dict", "flax.nnx.List", "flax.nnx.Dict",
        "jax.tree.leaves", "jax.tree_util.tree_leaves", "jax.tree.flatten", "jax.tree_util.tree_flatten",
    }
)  # fmt: skip
_CLONES = frozenset({"flax.nnx.clone", "copy.deepcopy"})
#: Layers that change Variables when they are called.
_STATEFUL = frozenset({"BatchNorm", "Dropout", "MultiHeadAttention", "SpectralNorm", "WeightNorm", "RNN", "ToNNX"})
_VIEWS = frozenset({"items", "values", "keys", "get", "flat_state", "filter", "split", "raw_mapping", "merge", "copy"})
_FILLING = frozenset({"append", "add", "insert", "extend", "setdefault", "appendleft", "put"})
_EMPTYING = frozenset({"pop", "popleft", "popitem"})


class Library:
    """Runs calls that do not enter the project's code."""

    def __init__(self, execution: Execution) -> None:
        self.run = execution

    def call(self, name: str, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing]:
        """Run a call of a foreign function or class, by its full name."""
        everything = {thing for things in (*args, *keywords.values()) for thing in things}
        run = self.run
        if name == "flax.nnx.state":
            return self._states(node, args)
        if name == "flax.nnx.split":
            return self._split(node, args)
        if name == "flax.nnx.merge":
            return self._merge(node, args, keywords)
        if name == "flax.nnx.update":
            for things in (*args[1:], *keywords.values()):
                run.read(things, node)
            self._overwrite(args[:1], node)
            return set()
        if name == "flax.nnx.reseed":
            run.mutate({t for things in args[:1] for t in things}, node, others_only=True)
            return set()
        if name == "copy.copy":
            return {self._shallow(thing) for thing in everything}
        if name in _SAME:
            return everything if len(everything) != 1 or name != "builtins.next" else run.elements(everything)
        if name in {"flax.nnx.cached_partial", "functools.partial"} and args:
            value = run.scope.module.values.get(node.args[0])
            return {Thing(partial=(run.flow.here(value, run.scope), args[1:]))} if value is not None else set()
        if name in {"builtins.isinstance", "builtins.hasattr", "builtins.type", "builtins.len", "builtins.id"}:
            return set()
        if name.startswith("flax.nnx.") and not args and not keywords:
            return {Thing(kind=result_kind(name), name=name.rpartition(".")[2])}
        kind = result_kind(name)
        if kind in {Kind.OPTIMIZER, Kind.MODULE, Kind.METRIC, Kind.RNGS, Kind.STREAM, Kind.VARIABLE}:
            return {self._object(name, kind, args, keywords)}
        run.read(everything, node)
        if name in _CLONES:
            return {self.copied(thing) for thing in everything} or {Thing()}
        if tree_function(name) is not None or kind in {Kind.STATE, None}:
            return {Thing()} if not name.startswith(("builtins.", "numpy.", "jax.numpy.")) else set()
        return set()

    def _object(self, name: str, kind: Kind | None, args: Args, keywords: Keywords) -> Thing:
        made = Thing(kind=kind, name=name.rpartition(".")[2])
        if kind is Kind.OPTIMIZER:
            model = args[0] if args else keywords.get("model", set())
            made.steps |= model
            made.fields["model"] = set(model)
        elif kind is Kind.MODULE:
            for index, things in enumerate(args):
                made.fields[str(index)] = {t for t in things if t.kind not in {Kind.RNGS, Kind.STREAM}}
            if args:
                made.fields["layers"] = {Thing(fields=dict(made.fields))}
        return made

    def _shallow(self, thing: Thing) -> Thing:
        """Return a copy with the same fields; that of an NNX object or a state has the same Variables."""
        if thing.kind is not None:
            return thing
        fields = {key: set(things) for key, things in thing.fields.items()}
        return replace(thing, parent=thing.parent, fields=fields)

    def copied(self, thing: Thing) -> Thing:
        """Return an independent copy with the same structure."""
        copies: dict[Thing, Thing] = {}
        for part in thing.inside():
            copies[part] = Thing(part.kind, part.cls, part.name)
        for part, copy in copies.items():
            copy.fields = {key: {copies.get(v, v) for v in values} for key, values in part.fields.items()}
            copy.steps = {copies.get(v, v) for v in part.steps}
        return copies[thing]

    def _states(self, node: ast.Call, args: Args) -> set[Thing]:
        filters = node.args[1:]
        source = args[0] if args else set()
        if len(filters) < 2:
            return {self._state(node, source, filters[0] if filters else None)}
        parts = {str(i): {self._state(node, source, f)} for i, f in enumerate(filters)}
        return {Thing(fields=parts, display=True)}

    def _split(self, node: ast.Call, args: Args) -> set[Thing]:
        filters: list[ast.expr | None] = [*node.args[1:]] or [None]
        source = args[0] if args else set()
        whole = Thing(fields={"0": {Thing(kind=Kind.GRAPHDEF)}}, display=True)
        if any(isinstance(f, ast.Starred) for f in filters):
            whole.fields[ANY] = {self._state(node, source, None)}
        else:
            for index, chosen in enumerate(filters, 1):
                whole.fields[str(index)] = {self._state(node, source, chosen)}
        return {whole}

    def _state(self, node: ast.Call, source: set[Thing], chosen: ast.expr | None) -> Thing:
        """Return a state that shares the Variables of objects."""
        state = Thing(kind=Kind.STATE)
        value = self.run.scope.module.values.get(chosen) if chosen is not None else None
        params = False
        if value is not None:
            resolved = self.run.flow.resolve(self.run.flow.here(value, self.run.scope)).value
            params = getattr(resolved, "name", "") == "flax.nnx.Param"
        if source:
            self.run.heap.shares.append(Share(node, self.run.scope, False, set(source), {state}, params))
        return state

    def _merge(self, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing]:
        made = Thing()
        states = {thing for things in args[1:] for thing in things}
        if any(isinstance(a, ast.Starred) for a in node.args[:1]):  # nnx.merge(*nnx.split(model))
            states |= self.run.elements(args[0])
        states = {thing for state in states for thing in ([state] if state.kind else self._parts(state))}
        made.kind = Kind.MODULE
        given = set(states)
        for share in reversed(self.run.heap.shares):  # what a transform handed on, back to what was split
            if share.handed and share.second & given:
                given |= share.first
        for share in self.run.heap.shares:
            if share.second & given and len(share.first) == 1 and not share.handed:
                self._like(made, next(iter(share.first)))
        if "copy" not in keywords and states and not any(k.arg == "copy" for k in node.keywords):
            self.run.heap.shares.append(Share(node, self.run.scope, True, states, {made}))
        return {made}

    def _parts(self, thing: Thing) -> set[Thing]:
        """Return the states in a container of them."""
        inner = {v for values in thing.fields.values() for v in values if v.kind is Kind.STATE}
        return inner or {thing}

    def _like(self, made: Thing, original: Thing) -> None:
        """Give a merged object the structure of what was split."""
        copy = self.copied(original)
        made.kind, made.cls, made.name, made.fields, made.steps = (
            copy.kind,
            copy.cls,
            copy.name,
            copy.fields,
            copy.steps,
        )

    def _overwrite(self, targets: Args, node: ast.AST) -> None:
        for things in targets:
            self.run.mutate(things, node)
            self.run.heap.overwritten(things)

    # -- methods ----------------------------------------------------------------------------------

    def method(self, name: str, node: ast.Call, receiver: set[Thing], args: Args, keywords: Keywords) -> set[Thing]:
        """Run a method of an object whose class is not the project's."""
        run = self.run
        found: set[Thing] = set()
        given = {thing for things in (*args, *keywords.values()) for thing in things}
        for thing in receiver:
            if name == "update" and thing.kind in {Kind.OPTIMIZER, Kind.METRIC}:
                changed = {thing, *thing.steps}
                if thing.kind is Kind.OPTIMIZER and len(args) > 1:
                    changed |= args[0]
                run.mutate(changed, node)
            elif name == "update" and any(part.kind is Kind.GRADIENT for part in given):
                steps = {step for part in given for step in part.steps}
                run.mutate({thing, *steps}, node)
            elif name == "update" and thing.kind is None:
                run.put({thing}, ANY, run.elements(given))
            elif name == "reset" and thing.kind is Kind.METRIC:
                run.mutate({thing}, node)
            elif name in _FILLING and thing.kind is None:
                last = args[-1] if args else set()
                run.put({thing}, ANY, run.elements(last) if name == "extend" else last)
            elif name in _EMPTYING and thing.kind is None:
                found |= run.elements({thing})
            elif name in _VIEWS and thing.kind in {None, Kind.STATE}:
                found |= self._view(name, thing, node)
            elif name == "__call__":
                run.read({thing} | given, node)
                self._called(thing, node)
                found.add(Thing(parent=None))
            else:
                run.read({thing}, node)
        if not receiver or name not in {*_VIEWS, *_FILLING, "update", "__call__"}:
            run.read(given, node)
        return found

    def _view(self, name: str, thing: Thing, node: ast.Call) -> set[Thing]:
        if name == "copy" and (thing.kind is not None or thing.parent is not None):
            self.run.read({thing}, node)  # of a Variable; that of a dict holds the same objects
            return {Thing()}
        if name == "get" and node.args:
            return self.run.item({thing}, self.run.key(node.args[0]))
        if name == "items":
            inner = self.run.elements({thing})
            return {Thing(fields={ANY: {Thing(fields={"0": set(), "1": inner})}})}
        if name == "values":
            return {Thing(fields={ANY: self.run.elements({thing})})}
        return {thing}

    def _called(self, thing: Thing, node: ast.AST) -> None:
        """Note what calling a module of Flax changes."""
        for part in thing.inside():
            if part.name in _STATEFUL or part.kind in {Kind.RNGS, Kind.STREAM}:
                self.run.mutate({part}, node, others_only=True)
            elif part.cls is not None and part is not thing and part.kind is Kind.MODULE:
                inner = self.run.flow.method(part.cls, "__call__")
                if inner is not None:
                    self.run.enter(inner, [], {}, {part})
