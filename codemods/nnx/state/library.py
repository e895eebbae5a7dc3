"""What the functions and classes of Flax, JAX and Python do with abstract objects."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope
from codemods.nnx.kinds import Kind, result_kind
from codemods.nnx.known import CALLS_BODY, OPERANDS
from codemods.nnx.pytree.functions import tree_function
from codemods.nnx.state.containers import Containers
from codemods.nnx.state.copies import copying
from codemods.nnx.state.events import MERGE, Invoke, Log
from codemods.nnx.state.heap import ANY, KEYWORD, Share, Thing, is_container
from codemods.nnx.state.methods import STREAMS
from codemods.nnx.state.relevance import defaults, handed_on
from codemods.nnx.state.statements import VALUE
from codemods.nnx.values import Call

if TYPE_CHECKING:
    from codemods.nnx.state.execution import Execution

Args = list[set[Thing]]
Keywords = dict[str, set[Thing]]

#: Functions whose result holds the very objects that they are given, or views of them.
_SAME = frozenset(
    {
        "builtins.sorted", "builtins.reversed", "builtins.iter", "builtins.next", "copy.copy",
        "optax.LookaheadParams", "optax.LookaheadParams.init_synced",
        "typing.cast",
        "flax.nnx.variables",  # live in 0.10 already
        "flax.nnx.State", "flax.nnx.State.from_flat_path", "flax.nnx.State.merge",
        "flax.nnx.filter_state", "flax.nnx.merge_state", "flax.nnx.split_state",
        "flax.nnx.to_flat_state", "flax.nnx.from_flat_state", "flax.nnx.FlatState", "jax.block_until_ready",
        "flax.nnx.data", "contextlib.nullcontext", "contextlib.closing",
        "flax.traverse_util.flatten_dict", "flax.traverse_util.unflatten_dict", "flax.nnx.List", "flax.nnx.Dict",
        "jax.tree.leaves", "jax.tree_util.tree_leaves", "jax.tree.flatten", "jax.tree_util.tree_flatten",
    }
)  # fmt: skip
#: Functions that lay arrays out over devices: the result is a copy with the same values.
_LAYING = frozenset({"jax.lax.with_sharding_constraint", "jax.device_put", "jax.sharding.reshard"})
_CLONES = frozenset({"flax.nnx.clone", "copy.deepcopy"})
#: Functions that only ask about an object, not about its Variables.
_ASKING = frozenset({"builtins.isinstance", "builtins.hasattr", "builtins.type", "builtins.len", "builtins.id"})
#: Functions that ask as `is` does.
_TELLING = frozenset({"operator.is_", "operator.is_not"})
_FEW = 4  # how many elements of a display are mapped one by one
_MAKING = frozenset({Kind.OPTIMIZER, Kind.MODULE, Kind.METRIC, Kind.RNGS, Kind.STREAM, Kind.VARIABLE})


class Library:
    """Runs calls that do not enter the project's code."""

    def __init__(self, execution: Execution) -> None:
        self.run = execution
        self.scope = execution.scope  # where the call stands that runs
        self.containers = Containers(execution)
        #: copies with the values of other objects, and how many changes there had been when they were made
        self._laid: dict[Thing, tuple[set[Thing], int]] = {}
        self._applied: set[Thing] = set()  # objects that GraphDef.apply merged

    def call(self, name: str, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing]:
        """Run a call of a foreign function or class, by its full name."""
        run = self.run
        known = self._FLAX.get(name)
        if known is not None:
            return known(self, node, args, keywords)
        contained = self.containers.call(name, node, args, keywords)
        if contained is not None:
            return contained
        everything = {thing for things in (*args, *keywords.values()) for thing in things}
        if name == "copy.copy":
            if any(thing.given and thing.kind is None for thing in everything):
                return {self._later(name, node, args, keywords)}
            return {self._shallow(thing) for thing in everything}
        if name in {"builtins.max", "builtins.min", "builtins.next", "builtins.sum"}:
            return run.elements(everything) if len(args) == 1 else everything
        if name == "builtins.setattr" and len(node.args) == 3:
            return self._setattr(node, args)
        if name == "builtins.vars" or name in _SAME:
            return everything
        if name == "builtins.map" and any(thing.called for things in args[:1] for thing in things):
            return {self._over(node, args)}
        if name in {"flax.nnx.cached_partial", "functools.partial"} and args:
            value = self.scope.module.values.get(node.args[0])
            named = next((thing.named for thing in args[0] if thing.named), None)
            partial = (run.flow.here(value, self.scope), args[1:]) if value is not None else None
            held = {f"argument {index}": things for index, things in enumerate(args[1:]) if things}
            held |= {f"{KEYWORD}{key}": things for key, things in keywords.items() if things}
            return {Thing(partial=partial, named=named, fields=held)} if partial or named else set()
        if name in _TELLING:
            if len(args) > 1:
                run.told_apart(args[0], args[1], node)
            return set()
        if name in _ASKING or not (everything or name.startswith("flax.nnx.")):
            return set()
        if name.startswith("flax.nnx.") and not args and not keywords:
            return {Thing(kind=result_kind(name), name=name.rpartition(".")[2])}
        body = CALLS_BODY.get(name)
        if body is not None:
            return self._body(name, node, args, keywords)
        kind = result_kind(name)
        if kind in _MAKING:
            return {self._object(name, kind, node, args, keywords)}
        run.read(everything, node)
        tree = tree_function(name)
        if tree is not None and tree.maps and len(args) > 1:
            return self._mapped(name, node, args)
        if name in _CLONES:
            return self._cloned(name, node, args, keywords)
        if name in _LAYING:
            made = Thing()
            self._laid[made] = (args[0] if args else set(), run.mutations)
            return {made}
        if tree is not None or kind in {Kind.STATE, None}:
            return {Thing()} if not name.startswith(("builtins.", "numpy.", "jax.numpy.")) else set()
        return set()

    def again(self, name: str, scope: Scope, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing]:
        """Run a call that stands in another function."""
        mine, self.scope = self.scope, scope
        try:
            return self.call(name, node, args, keywords)
        finally:
            self.scope = mine

    def mentioned(self, named: tuple[str, ast.expr, Scope], args: Args) -> set[Thing]:
        """Call a function of Flax that was handed on as a value; a copy is to be made where it is mentioned."""
        name, node, scope = named
        source = args[0] if len(args) == 1 else set()
        mine, self.scope = self.scope, scope
        try:
            state = self._state(node, source, None)
        finally:
            self.scope = mine
        if name == "flax.nnx.state":
            return {state}
        return {Thing(fields={"0": {Thing(kind=Kind.GRAPHDEF)}, "1": {state}}, display=True)}

    def defaults(self, cls: ClassFacts) -> Iterator[tuple[str, set[Thing]]]:
        """Yield the fields of a dataclass whose default is a function that shares Variables."""
        for name, node in defaults(cls):
            full = self.shares(node, cls.scope)
            if full:
                yield name, {Thing(named=(full, node, cls.scope))}

    def shares(self, node: ast.expr, scope: Scope) -> str:
        """Return the full name of a function that shares Variables; empty for anything else."""
        return handed_on(self.run.flow, node, scope)

    def _over(self, node: ast.Call, args: Args) -> Thing:
        """Map functions over containers; what they make of each of the few elements of a display is told apart."""
        whole = next(iter(args[1])) if len(args) == 2 and len(args[1]) == 1 else None
        keys = list(whole.fields) if whole is not None and whole.display else []
        if whole is None or not 1 < len(keys) <= _FEW or not all(key.isdigit() for key in keys):
            return Thing(fields={ANY: self._each(node, args[0], [self.run.elements(things) for things in args[1:]])})
        made = Thing(display=True)
        for key in keys:
            made.hold(key, self._each(node, args[0], [self.run.item({whole}, key)]))
        return made

    def _each(self, node: ast.Call, functions: set[Thing], given: Args) -> set[Thing]:
        """Call functions with each element of what they are mapped over."""
        return self.run.calls.invoke("__call__", node, {thing for thing in functions if thing.called}, given, {})

    def _mapped(self, name: str, node: ast.Call, args: Args) -> set[Thing]:
        """Run the function that JAX calls with the leaves of trees.

        Without ``is_leaf`` these are arrays, and objects in containers. With it they are Variables, which a function
        may change or hand on as they are.
        """
        leaves = any(keyword.arg == "is_leaf" for keyword in node.keywords)
        given = [self._leaves(things, leaves) for things in args[1:]]
        functions = args[0]
        if not any(given):
            return {Thing()}
        call = self.scope.module.values.get(node)
        if isinstance(call, Call) and not any(thing.called for thing in functions):
            callees = self.run.flow.calls.callables(self.run.flow.here(call.args[0], self.scope))
            functions = {Thing(function=callee.function) for callee in callees if not callee.on_instance}
        if name.endswith("_path"):
            given = [set(), *given]
        found = self._each(node, functions, given) if functions else set()
        if any(thing.function is not None and _unwraps(thing.function) for thing in functions):
            found = set()
        kinds = {thing.kind for thing in args[1]}
        return {Thing(kinds.pop() if len(kinds) == 1 and found else None, fields={ANY: found} if found else {})}

    def _leaves(self, things: set[Thing], leaves: bool) -> set[Thing]:
        """Return what may be a leaf of trees."""
        found = {part for thing in things if is_container(thing) for part in self.run.elements({thing})}
        found |= {part for thing in found if is_container(thing) for part in self.run.elements({thing})}
        if not leaves:
            return {thing for thing in found if thing.kind is Kind.MODULE}
        return found | self.run.elements({thing for thing in things if thing.kind in {Kind.STATE, None}})

    def _later(self, name: str, node: ast.Call, args: Args, keywords: Keywords) -> Thing:
        """Return what stands for a result that depends on what the caller gives."""
        return self.run.log.invoked(Invoke(node, name, set(), args, keywords, Thing(given=True), self.scope))

    def _update(self, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing]:
        if any(isinstance(a, ast.Starred) for a in node.args[:1]):  # nnx.update(*pair)
            states = {thing for thing in args[0] if thing.kind is Kind.STATE}
            args = [args[0] - states, states, *args[1:]]
        for things in (*args[1:], *keywords.values()):
            self.run.read(things, node)
        given = {thing for things in (*args[1:], *keywords.values()) for thing in things}
        for source, mutations in [self._laid[thing] for thing in given if thing in self._laid]:
            if mutations == self.run.mutations:  # the values are still those of what was laid out
                given |= source
        parts = self.run.summaries.updated(self.scope, node)
        for things in args[:1]:
            self.run.mutate(things, node, given=given, parts=parts)
            self.run.overwritten(things)
        return set()

    def _reseed(self, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing]:
        self.run.mutate({t for things in args[:1] for t in things}, node, others_only=True)
        return set()

    def _pop(self, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing]:
        self.run.mutate({t for things in args[:1] for t in things}, node, others_only=True)
        return {Thing(kind=Kind.STATE)}

    def _setattr(self, node: ast.Call, args: Args) -> set[Thing]:
        name = node.args[1]
        key = str(name.value) if isinstance(name, ast.Constant) else ANY
        if key in VALUE:
            self.run.mutate(args[0], node)
        else:
            self.run.put(args[0], key, args[2])
        return set()

    def _graph(self, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing]:
        """Return the nodes of a graph, each with its path."""
        inside = {part for thing in (args[0] if args else ()) for part in thing.inside()}
        inside |= {Thing(parent=thing, given=thing.given, key=ANY) for thing in (args[0] if args else ())}
        return {Thing(fields={ANY: {Thing(fields={"1": inside}, display=True)}})}

    def _body(self, name: str, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing]:
        """Run the functions that a loop or a condition runs; those of JAX get copies."""
        run = self.run
        running = CALLS_BODY[name]
        given = args[running.first :] or [things for word, things in keywords.items() if word in OPERANDS]
        operands = [*([set()] if running.counted else []), *given]
        found: set[Thing] = set()
        for things in given:
            run.read(things, node)
        if not name.startswith("flax.nnx.") or name == "flax.nnx.eval_shape":
            return {Thing()}
        call = self.scope.module.values.get(node)
        if call is not None and isinstance(call, Call):
            for body in run.flow.calls.bodies(run.flow.here(call, self.scope), running):
                for callee in run.flow.calls.callables(body):
                    mine = self._holder(node, callee.function.name) if callee.on_instance else set()
                    skipped = [set[Thing]()] if callee.on_instance and not mine else []
                    found |= run.calls.enter(node, callee.function, [*skipped, *operands], {}, mine)
        return found | {thing for things in given for thing in things}

    def _holder(self, node: ast.Call, method: str) -> set[Thing]:
        """Return the object whose method a call is given to run, as in ``fori_loop(0, n, self.body, x)``."""
        if self.scope is not self.run.scope:
            return set()
        given = [*node.args, *(k.value for k in node.keywords)]
        bases = [one.value for one in given if isinstance(one, ast.Attribute) and one.attr == method]
        return self.run.expressions.value(bases[0]) if bases else set()

    def _cloned(self, name: str, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing]:
        things = args[0] if args else set()
        if any(thing.given for thing in things):
            later = self._later(name, node, args, keywords)
            if len(things) == 1:
                only = next(iter(things))
                later.kind, later.cls, later.name = only.kind, only.cls, only.name
            return {later}
        return {self.copied(thing) for thing in things} or {Thing()}

    def _object(self, name: str, kind: Kind | None, node: ast.Call, args: Args, keywords: Keywords) -> Thing:
        made = Thing(kind=kind, name=name.rpartition(".")[2])
        streams = keywords.get("rngs", set()) | {t for things in args for t in things if t.kind in STREAMS}
        self.run.mutate(streams, node, others_only=True)  # initial values are drawn
        if kind is Kind.OPTIMIZER:
            model = args[0] if args else keywords.get("model", set())
            made.steps |= model
            made.hold("model", model)
        elif kind is Kind.MODULE:
            for index, things in enumerate(args):
                made.hold(str(index), {t for t in things if t.kind not in STREAMS})
            if args:
                made.hold("layers", {Thing(fields=dict(made.fields))})
        return made

    def _shallow(self, thing: Thing) -> Thing:
        """Return a copy with the same fields; that of an NNX object or a state has the same Variables."""
        if thing.kind is not None:
            return thing
        fields = {key: set(things) for key, things in thing.fields.items()}
        return replace(thing, fields=fields, holders=set())

    def copied(self, thing: Thing) -> Thing:
        """Return an independent copy with the same structure."""
        copies: dict[Thing, Thing] = {}
        for part in thing.inside():
            copies[part] = Thing(part.kind, part.cls, part.name, key=part.key)
        for part, copy in copies.items():
            for key, values in part.fields.items():
                copy.hold(key, {copies.get(value, value) for value in values})
            copy.steps = frozenset(copies.get(v, v) for v in part.steps)
        return copies[thing]

    def _states(self, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing]:
        filters = node.args[1:]
        source = args[0] if args else set()
        if len(filters) < 2:
            return {self._state(node, source, filters[0] if filters else None)}
        parts = {str(i): {self._state(node, source, f, i)} for i, f in enumerate(filters)}
        return {Thing(fields=parts, display=True)}

    def _split(self, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing]:
        filters: list[ast.expr | None] = [*node.args[1:]] or [None]
        source = args[0] if args else set()
        whole = Thing(fields={"0": {Thing(kind=Kind.GRAPHDEF)}}, display=True)
        if any(isinstance(f, ast.Starred) for f in filters):
            whole.hold(ANY, {self._state(node, source, None)})
        else:
            for index, chosen in enumerate(filters, 1):
                whole.hold(str(index), {self._state(node, source, chosen, index)})
        return {whole}

    def _state(self, node: ast.expr, source: set[Thing], chosen: ast.expr | None, part: int = 0) -> Thing:
        """Return a state that shares the Variables of objects."""
        state = Thing(kind=Kind.STATE)
        value = self.scope.module.values.get(chosen) if chosen is not None else None
        params = False
        if value is not None:
            resolved = self.run.flow.resolve(self.run.flow.here(value, self.scope)).value
            params = getattr(resolved, "name", "") == "flax.nnx.Param"
        if source:
            self.run.share(Share(node, self.scope, False, set(source), {state}, params, part=part))
        return state

    def _merge(self, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing]:
        run = self.run
        states = {thing for things in args[1:] for thing in things}
        if any(isinstance(a, ast.Starred) for a in node.args[:1]):  # nnx.merge(*nnx.split(model))
            states |= args[0]
        states = {thing for state in states for thing in ([state] if state.kind else self._parts(state))}
        states -= {thing for thing in states if thing.kind is Kind.GRAPHDEF}
        run.read(states, node)
        made = Thing(kind=Kind.MODULE)
        log = run.log
        split = self._split_of_unknown(states)
        if split or any(thing.given for thing in states):
            made = self._later(MERGE, node, args, keywords)
            if split:
                run.renewed({made})
            run.log = Log()
        given = set(states)
        for share in reversed(run.heap.shares):  # what a transform handed on, back to what was split
            if share.handed and share.second & given:
                given |= share.first
        for share in run.heap.shares:
            if share.second & given and len(share.first) == 1 and not share.handed:
                self._like(made, next(iter(share.first)))
        if states and not copying(self.scope, node):
            run.share(Share(node, self.scope, True, states, {made}))
        run.log = log
        return {made}

    def applied(self, node: ast.Call, graphdef: set[Thing], args: Args) -> set[Thing]:
        """Merge states as ``graphdef.apply(*states)`` does; a call of the result then gives a state, too."""
        made = self._merge(node, [graphdef, *args], {})
        self._applied |= made
        return made

    def returned(self, node: ast.Call, receiver: set[Thing], found: set[Thing]) -> set[Thing]:
        """Return what a call gives: of what ``GraphDef.apply`` merged, the new parts besides the result."""
        if self._applied.isdisjoint(receiver):
            return found
        parts = Thing(fields={"0": {Thing(kind=Kind.GRAPHDEF)}, "1": {self._state(node, receiver, None)}}, display=True)
        return {Thing(fields={"0": found, "1": {parts}}, display=True)}

    def _split_of_unknown(self, states: set[Thing]) -> bool:
        """Say whether states were split here from an object of which only the caller knows what it is."""
        shares = self.run.heap.shares
        return any(share.second & states and any(thing.unknown for thing in share.first) for share in shares)

    def _parts(self, thing: Thing) -> set[Thing]:
        """Return the states in a container of them."""
        inner = {v for values in thing.fields.values() for v in values if v.kind is Kind.STATE}
        return inner or {thing}

    def _like(self, made: Thing, original: Thing) -> None:
        """Give a merged object the structure of what was split."""
        if made.given:
            made.kind, made.cls, made.name = original.kind, original.cls, original.name
            return
        copy = self.copied(original)
        made.kind, made.cls, made.name, made.steps = copy.kind, copy.cls, copy.name, copy.steps
        for key, things in copy.fields.items():
            made.hold(key, things)

    _FLAX: ClassVar[dict[str, Callable[[Library, ast.Call, Args, Keywords], set[Thing]]]] = {
        "flax.nnx.state": _states,
        "flax.nnx.split": _split,
        MERGE: _merge,
        "flax.nnx.update": _update,
        "flax.nnx.reseed": _reseed,
        "flax.nnx.pop": _pop,
        "flax.nnx.iter_graph": _graph,
    }


def _unwraps(function: FunctionFacts) -> bool:
    """Say whether a function returns values of Variables, as ``v.value if isinstance(v, nnx.Variable) else v``."""
    body = function.node.body
    every = [body] if isinstance(body, ast.expr) else [r.value for r in _returns(body) if r.value is not None]
    parts = [part for result in every for part in ast.walk(result)]
    return any(isinstance(part, ast.Attribute) and part.attr in VALUE for part in parts)


def _returns(body: list[ast.stmt]) -> Iterator[ast.Return]:
    """Yield the return statements in a body."""
    for statement in body:
        yield from (part for part in ast.walk(statement) if isinstance(part, ast.Return))
