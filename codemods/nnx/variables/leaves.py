"""Which values are leaves of states: ``VariableState`` objects up to Flax 0.10, Variables since 0.11."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.kinds import Kind
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Each, Function, Item, Param, Value

_TREES = frozenset({Kind.STATE, Kind.GRADIENT})
_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"})
_LEAVES = frozenset({"jax.tree.leaves", "jax.tree_util.tree_leaves"})
# names under which the layers of the library keep their Variables
_NAMES = frozenset({"kernel", "bias", "scale", "embedding", "mean", "var"})


class _Mapped(NamedTuple):
    """A tree that a function is applied to, and the call that does it."""

    tree: Bound
    node: ast.Call


class Leaves:
    """Answers whether a value is a leaf of a state. Those of ``nnx.variables`` always were Variables."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow = context.flow

    def is_leaf(self, value: Value, scope: Scope) -> bool:
        """Say whether a value is surely the leaf of a state."""
        return self.leaf(self.flow.here(value, scope))

    def leaf(self, bound: Bound) -> bool:
        """Say whether a value is surely the leaf of a state."""
        bound = self.flow.resolve(bound)
        inner = bound.value
        if isinstance(inner, Param):
            trees = self._mapped.get(inner.function, ())
            return bool(trees) and all(self._is_tree(one.tree) for one in trees)
        if isinstance(inner, Attr):
            return inner.name in _NAMES and self._below_tree(self.flow.with_value(bound, inner.base))
        if isinstance(inner, Each | Round):
            return self._among_leaves(self.flow.resolve(self.flow.with_value(bound, inner.base)))
        if not isinstance(inner, Item | Indexed):
            return False
        index = inner.index.value if isinstance(inner, Indexed) else inner.index
        if not isinstance(index, Const):
            return False
        base = self.flow.with_value(bound, inner.base)
        return (index.value in _NAMES and self._below_tree(base)) or (index.value == 1 and self._in_flat_state(base))

    def mapping(self, function: FunctionFacts) -> Iterator[ast.AST]:
        """Yield the calls that apply a function to the leaves of a state, kept whole by ``is_leaf``."""
        for tree in self._mapped.get(function, ()):
            if self._is_tree(tree.tree):
                yield tree.node

    def walked(self, bound: Bound) -> tuple[Bound, ...]:
        """Return the states over all of whose leaves a value goes; none if it is not surely a leaf of one."""
        bound = self.flow.resolve(bound)
        inner = bound.value
        if not self.leaf(bound):
            return ()
        if isinstance(inner, Param):
            return tuple(one.tree for one in self._mapped.get(inner.function, ()))
        if isinstance(inner, Each | Round):
            leaves = self.flow.resolve(self.flow.with_value(bound, inner.base))
            return (self.flow.with_value(leaves, leaves.value.args[0]),) if isinstance(leaves.value, Call) else ()
        flat = self._flat_state(self.flow.with_value(bound, inner.base)) if isinstance(inner, Item | Indexed) else None
        return (flat,) if flat is not None else ()

    def _below_tree(self, bound: Bound, depth: int = 0) -> bool:
        """Say whether a value is a state, or a part of one that its keys lead to."""
        if self._is_tree(bound):
            return True
        value = self.flow.resolve(bound).value
        if depth > 8 or not isinstance(value, Attr | Item | Indexed):
            return False
        return self._below_tree(self.flow.with_value(self.flow.resolve(bound), value.base), depth + 1)

    def _is_tree(self, bound: Bound) -> bool:
        if self.context.kinds.only(bound) not in _TREES:
            return False
        names = {self.flow.calls.callee_name(s) for s in self.context.sources.of(bound) if isinstance(s.value, Call)}
        return "flax.nnx.variables" not in names

    def _in_flat_state(self, pair: Bound) -> bool:
        """Say whether a value is a pair of a path and a leaf, out of a loop over a flat state."""
        return self._flat_state(pair) is not None

    def _flat_state(self, pair: Bound) -> Bound | None:
        """Return the state out of whose flat form a value is a pair of a path and a leaf, in a loop."""
        value = pair.value
        if not isinstance(value, Each | Round):
            pair = self.flow.resolve(pair)
            value = pair.value
        if not isinstance(value, Each | Round):
            return None
        flat = self.flow.resolve(self.flow.with_value(pair, value.base))
        if not isinstance(flat.value, Call):
            return None
        if not flat.value.args:
            method = self.flow.follow(flat, flat.value.callee)
            if not isinstance(method.value, Attr) or method.value.name != "flat_state":
                return None
            tree = self.flow.with_value(method, method.value.base)
        elif self.flow.calls.callee_name(flat) == "flax.nnx.to_flat_state":
            tree = self.flow.with_value(flat, flat.value.args[0])
        else:
            return None
        return tree if self._is_tree(tree) else None

    def _among_leaves(self, leaves: Bound) -> bool:
        """Say whether a value is ``jax.tree.leaves(state, is_leaf=...)``, which keeps the leaves whole."""
        call = leaves.value
        whole = call.keyword("is_leaf") if isinstance(call, Call) else None
        if not isinstance(call, Call) or not call.args or not isinstance(whole, Function):
            return False
        words = {last_word(node) for node in ast.walk(whole.facts.node) if isinstance(node, ast.expr)}
        if words.isdisjoint({"VariableState", "Variable"}):
            return False
        return self.flow.calls.callee_name(leaves) in _LEAVES and self._is_tree(
            self.flow.with_value(leaves, call.args[0])
        )

    @cached_property
    def _mapped(self) -> dict[FunctionFacts, list[_Mapped]]:
        """The trees whose leaves, kept whole by ``is_leaf``, functions are applied to."""
        found: dict[FunctionFacts, list[_Mapped]] = {}
        for event in self.context.project.calls():
            call = event.value
            if call.starred or len(call.args) < 2 or call.keyword("is_leaf") is None:
                continue
            bound = self.flow.here(call, event.scope)
            if self.flow.calls.callee_name(bound) in _MAPS:
                for callee in self.flow.calls.callables(self.flow.with_value(bound, call.args[0])):
                    found.setdefault(callee.function, []).extend(
                        _Mapped(self.flow.with_value(bound, tree), event.node) for tree in call.args[1:]
                    )
        return found
