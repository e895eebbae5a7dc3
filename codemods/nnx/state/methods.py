"""What methods of objects do whose class is not the project's."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemods.nnx.kinds import Kind
from codemods.nnx.state.containers import with_fields
from codemods.nnx.state.heap import ANY, Thing

if TYPE_CHECKING:
    from codemods.nnx.state.execution import Execution

Args = list[set[Thing]]
Keywords = dict[str, set[Thing]]

STREAMS = frozenset({Kind.RNGS, Kind.STREAM})
#: Layers that change Variables when they are called.
_STATEFUL = frozenset({"BatchNorm", "Dropout", "MultiHeadAttention", "SpectralNorm", "WeightNorm", "RNN", "ToNNX"})
_VIEWS = frozenset(
    {"items", "values", "keys", "get", "flat_state", "filter", "split", "raw_mapping", "merge", "copy", "_asdict"}
)
_FILLING = frozenset(
    {"append", "add", "insert", "extend", "setdefault", "appendleft", "extendleft", "put", "put_nowait"}
)
_EMPTYING = frozenset({"pop", "popleft", "popitem", "get_nowait"})
_RENEWING = frozenset({"replace", "_replace", "apply_gradients"})
#: Methods of tests that ask as `is` does.
_TELLING = frozenset({"assertIs", "assertIsNot"})
_SETTING = frozenset({"set_value", "copy_from", "update_from_state", "copy_from_state"})


class Methods:
    """Runs methods of objects of Flax, of containers and of what is not known."""

    def __init__(self, execution: Execution) -> None:
        self.run = execution

    def call(self, name: str, node: ast.Call, receiver: set[Thing], args: Args, keywords: Keywords) -> set[Thing]:
        """Run a method of objects."""
        run = self.run
        found: set[Thing] = set()
        if name in _TELLING:
            one, two = _first_two(args, keywords)
            run.told_apart(one, two, node)
            return found
        given = {thing for things in (*args, *keywords.values()) for thing in things}
        for thing in receiver:
            if thing.kind in STREAMS:
                self._drawn(name, thing, node)
                if name in {"fork", "split"}:
                    found.add(Thing(kind=thing.kind))
            elif name == "update" and thing.kind in {Kind.OPTIMIZER, Kind.METRIC}:
                changed = {thing, *thing.steps}
                if thing.kind is Kind.OPTIMIZER and len(args) > 1:
                    changed |= args[0]
                run.mutate(changed, node)
            elif name == "update" and thing.kind is None and node in run.summaries.unpacked:
                run.read({thing, *given}, node)  # optax's, which gives updates and its new state, and changes nothing
            elif name == "update" and any(part.kind is Kind.GRADIENT for part in given):
                steps = {step for part in given for step in part.steps}
                run.mutate({thing, *steps}, node)
            elif name == "update" and thing.kind is None:
                run.put({thing}, ANY, run.elements(given))
            elif (name == "reset" and thing.kind is Kind.METRIC) or (
                name in _SETTING and thing.kind in {None, Kind.VARIABLE}
            ):
                run.mutate({thing}, node)
            elif name in _FILLING and thing.kind is None:
                last = args[-1] if args else set()
                run.put({thing}, ANY, run.elements(last) if name in {"extend", "extendleft"} else last)
                if name == "setdefault":
                    found |= run.elements({thing})
            elif name in _EMPTYING and thing.kind is None:
                found |= run.elements({thing})
            elif name in _RENEWING and (thing.cls is not None or name == "_replace"):
                found.add(with_fields(thing, keywords))
            elif name in _VIEWS and thing.kind in {None, Kind.STATE}:
                found |= self._view(name, thing, node)
            elif name == "__call__":
                run.read({thing} | given, node)
                self._called(thing, node)
                found.add(Thing())
            elif not self._asserts(name, thing):
                run.read({thing}, node)
        if not receiver or name not in {*_VIEWS, *_FILLING, "update", "__call__"}:
            run.read(given, node)
        return found

    def _asserts(self, name: str, thing: Thing) -> bool:
        """Say whether a method is one of a test's, such as ``assertTrue``, which looks at its arguments only."""
        if thing.cls is None or thing.kind is not None or not name.startswith(("assert", "fail", "skip", "subTest")):
            return False
        return any(base.rpartition(".")[2].endswith("TestCase") for base in self.run.flow.classes.mro(thing.cls)[1])

    def _drawn(self, name: str, thing: Thing, node: ast.Call) -> None:
        """Note that a stream gives a key, which counts."""
        if name not in _VIEWS:
            self.run.read({thing}, node)
            self.run.mutate({thing}, node, others_only=True)

    def _view(self, name: str, thing: Thing, node: ast.Call) -> set[Thing]:
        if name == "copy" and (thing.kind is not None or thing.parent is not None):
            self.run.read({thing}, node)  # of a Variable; that of a dict holds the same objects
            return {Thing()}
        if name == "get" and not node.args and thing.kind is None:  # of a queue
            return self.run.elements({thing})
        if name == "get" and node.args:
            return self.run.item({thing}, self.run.expressions.key(node.args[0]))
        if name == "items":
            inner = self.run.elements({thing})
            return {Thing(fields={ANY: {Thing(fields={"0": set(), "1": inner})}})}
        if name == "values":
            return {Thing(fields={ANY: self.run.elements({thing})})}
        return {thing}

    def _called(self, thing: Thing, node: ast.Call) -> None:
        """Note what calling a module of Flax changes."""
        for part in thing.inside():
            if part.name in _STATEFUL:
                self.run.mutate({part}, node, others_only=True)
            elif part.cls is not None and part is not thing and part.kind is Kind.MODULE:
                inner = self.run.flow.classes.method(part.cls, "__call__")
                if inner is not None:
                    self.run.calls.enter(node, inner, [], {}, {part})


def _first_two(args: Args, keywords: Keywords) -> list[set[Thing]]:
    """Return what is compared, which has the names ``expr1`` and ``expr2``."""
    return [*args, *(keywords[word] for word in ("expr1", "expr2") if word in keywords), set(), set()][:2]
