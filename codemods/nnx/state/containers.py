"""What Python's containers hold: those that are made empty, filled by functions, joined or copied with changes."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from codemods.nnx.state.heap import ANY, Thing, is_container
from codemods.nnx.state.statements import VALUE

if TYPE_CHECKING:
    from codemods.nnx.state.execution import Execution

Args = list[set[Thing]]
Keywords = dict[str, set[Thing]]

#: Classes whose instances hold what they are made from.
_CLASSES = frozenset(
    {
        "builtins.list", "builtins.tuple", "builtins.dict", "builtins.set", "builtins.frozenset",
        "collections.deque", "collections.OrderedDict", "collections.UserDict", "collections.UserList",
        "collections.ChainMap", "types.SimpleNamespace", "types.MappingProxyType", "itertools.cycle",
        "itertools.islice", "weakref.WeakValueDictionary", "queue.Queue", "queue.LifoQueue", "queue.PriorityQueue",
        "queue.SimpleQueue", "flax.core.freeze", "flax.core.unfreeze", "flax.core.FrozenDict",
        "flax.core.frozen_dict.freeze", "flax.core.frozen_dict.unfreeze", "flax.core.frozen_dict.FrozenDict",
    }
)  # fmt: skip
_MAPPINGS = frozenset({"builtins.dict", "collections.OrderedDict", "collections.UserDict"})
#: Functions that put their second argument into the first.
_PUTTING = frozenset(
    {"heapq.heappush", "heapq.heappushpop", "heapq.heapreplace", "bisect.insort", "bisect.insort_left",
     "bisect.insort_right"}
)  # fmt: skip
_TAKING = frozenset({"heapq.heappop", "heapq.heappushpop", "heapq.heapreplace"})
#: Functions whose result holds what their containers hold, by the position of the first of them.
_JOINING = {
    "itertools.chain": 0, "itertools.chain.from_iterable": 0, "heapq.nsmallest": 1, "heapq.nlargest": 1,
    "builtins.filter": 1, "itertools.takewhile": 1, "itertools.dropwhile": 1, "heapq.merge": 0,
}  # fmt: skip


class Containers:
    """Runs functions and operators of Python on containers."""

    def __init__(self, execution: Execution) -> None:
        self.run = execution

    def call(self, name: str, node: ast.Call, args: Args, keywords: Keywords) -> set[Thing] | None:
        """Run a function by its full name; None if it is none of containers."""
        run = self.run
        if name in _CLASSES:
            return self._made(name, args, keywords)
        if name == "collections.defaultdict":
            return {thing for things in args[1:] for thing in things} or {Thing()}
        if name in {"builtins.zip", "itertools.zip_longest"}:
            parts = {str(index): run.elements(things) for index, things in enumerate(args)}
            return {Thing(fields={ANY: {Thing(fields=parts, display=True)}})}
        if name == "builtins.enumerate" and args:
            pair = Thing(fields={"0": set(), "1": run.elements(args[0])}, display=True)
            return {Thing(fields={ANY: {pair}})}
        if name == "builtins.dict.fromkeys":
            return {Thing(fields={ANY: {thing for things in args[1:] for thing in things}})}
        if name in _JOINING:
            joined = {thing for things in args[_JOINING[name] :] for thing in run.elements(things)}
            return {Thing(fields={ANY: run.elements(joined) if name.endswith("from_iterable") else joined})}
        if name in _PUTTING and len(args) > 1:
            run.put(args[0], ANY, args[1])
            return run.elements(args[0]) if name in _TAKING else set()
        if name in _TAKING and args:
            return run.elements(args[0])
        if name == "builtins.getattr" and len(node.args) > 1:
            return self._attribute(node, args)
        if name in {"dataclasses.replace", "copy.replace"} and args:
            return {with_fields(thing, keywords) for thing in args[0]}
        return None

    def joined(self, node: ast.BinOp, left: set[Thing], right: set[Thing]) -> set[Thing] | None:
        """Return what ``+``, ``*`` or ``|`` make of containers; None if neither operand is one."""
        if not isinstance(node.op, ast.Add | ast.Mult) or not any(map(is_container, left | right)):
            return None
        return {Thing(fields={ANY: self.run.elements({t for t in left | right if t.fields})})}

    def _made(self, name: str, args: Args, keywords: Keywords) -> set[Thing]:
        run = self.run
        given = {thing for things in args for thing in things}
        if keywords:
            made = Thing(fields={ANY: run.elements(given)} if given else {})
            for key, things in keywords.items():
                made.hold(ANY if key == "**" else key, run.elements(things) if key == "**" else things)
            return {made}
        if name in _MAPPINGS:
            pairs = {
                pair for pair in run.elements({t for t in given if ANY in t.fields}) if set(pair.fields) == {"0", "1"}
            }
            if pairs:
                given.add(Thing(fields={ANY: run.item(pairs, "1")}))
        return given or {Thing()}

    def _attribute(self, node: ast.Call, args: Args) -> set[Thing]:
        name, default = node.args[1], args[2] if len(args) > 2 else set()
        if not isinstance(name, ast.Constant):
            return args[0] | default
        if name.value in VALUE:
            self.run.read(args[0], node)
            return default
        methods = self.run.flow.classes.method
        bound = {
            thing for thing in args[0] if thing.cls is not None and methods(thing.cls, str(name.value)) is not None
        }
        return self.run.attribute(args[0], str(name.value)) | default | bound


def with_fields(thing: Thing, fields: Keywords) -> Thing:
    """Return a copy of an object with other values of some fields."""
    held = {key: set(things) for key, things in (thing.fields | fields).items()}
    return replace(thing, fields=held, holders=set())
