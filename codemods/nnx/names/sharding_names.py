"""Which Variables carry names of mesh axes, and from where on."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind, class_kind
from codemods.nnx.v012.variables import Variables
from codemods.nnx.values import Attr, Call, Value
from codemods.nnx.variables.leaves import Leaves

_BOXES = frozenset({"flax.nnx.with_partitioning", "flax.nnx.spmd.with_partitioning"})
_METADATA = frozenset({"flax.nnx.with_metadata", "flax.nnx.variablelib.with_metadata"})
_LAYER_VARIABLES = frozenset({"kernel", "bias", "scale", "embedding"})


class Annotated:
    """Answers whether ``variable.sharding`` is metadata up to Flax 0.10; arrays have such an attribute too."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow = context.flow
        self.variables = Variables(context)
        self.leaves = Leaves(context)

    def is_variable(self, value: Value, scope: Scope) -> bool:
        """Say whether a value is a Variable or a leaf of a state, on every way."""
        return self.variables.is_variable(value, scope) or self.leaves.is_leaf(value, scope)

    def is_leaf(self, value: Value, scope: Scope) -> bool:
        """Say whether a value is a leaf of a state; those of 0.10 had the attribute as metadata only."""
        return self.leaves.is_leaf(value, scope)

    def made_with(self, value: Value, scope: Scope) -> tuple[bool, bool]:
        """Say whether a Variable is made with names of mesh axes on every way, and on some."""
        named = [self._named(made) for made in self.context.sources.originals(self.flow.here(value, scope))]
        return bool(named) and all(named), any(named)

    def made_by(self, value: Value, scope: Scope) -> frozenset[Value]:
        """Return the expressions that make a Variable."""
        return frozenset(made.value for made in self.context.sources.originals(self.flow.here(value, scope)))

    def _named(self, made: Bound) -> bool:
        value = made.value
        if isinstance(value, Call):
            if value.keyword("sharding") is not None:
                return True
            return bool(value.args) and self._every(self.flow.with_value(made, value.args[0]), self._boxed)
        if isinstance(value, Attr) and value.name in _LAYER_VARIABLES:
            layers = self.context.sources.originals(self.flow.with_value(made, value.base))
            return bool(layers) and all(self._layer(layer, value.name) for layer in layers)
        return False

    def _layer(self, layer: Bound, name: str) -> bool:
        """Say whether a layer of the library gets an initializer that names mesh axes."""
        if not isinstance(layer.value, Call) or class_kind(self.flow.calls.callee_name(layer)) is not Kind.MODULE:
            return False
        init = layer.value.keyword(f"{name}_init")
        return init is not None and self._every(self.flow.with_value(layer, init), self._names_axes)

    def _boxed(self, bound: Bound) -> bool:
        """Say whether a value comes out of an initializer that names mesh axes."""
        return isinstance(bound.value, Call) and self._every(
            self.flow.with_value(bound, bound.value.callee), self._names_axes
        )

    def _names_axes(self, bound: Bound) -> bool:
        if not isinstance(bound.value, Call):
            return False
        name = self.flow.calls.callee_name(bound)
        return name in _BOXES or (name in _METADATA and bound.value.keyword("sharding") is not None)

    def _every(self, bound: Bound, test: object) -> bool:
        found = self.context.sources.of(bound)
        return bool(found) and all(test(one) for one in found)  # type: ignore[operator]


def behind(store: AttrEvent, read: AttrEvent) -> bool:
    """Say whether a read always runs after an assignment in the same scope, or in ``__init__``."""
    if store.scope is not read.scope:
        function = store.scope.function
        return (
            function is not None
            and function.name == "__init__"
            and not isinstance(function.node, ast.Lambda)
            and store.statement in function.node.body
            and read.scope.function is not None
            and read.scope.module is store.scope.module
        )
    for outer in ast.walk(store.scope.node):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(outer, field, None)
            if isinstance(block, list) and store.statement in block:
                later = block[block.index(store.statement) + 1 :]
                return any(s.lineno <= read.node.lineno <= (s.end_lineno or s.lineno) for s in later)
    return False


def ahead(store: AttrEvent, read: AttrEvent) -> bool:
    """Say whether a read has always run before an assignment in the same scope."""
    if store.scope is not read.scope or read.node.lineno >= store.node.lineno:
        return False
    return not any(
        isinstance(node, ast.For | ast.While | ast.AsyncFor)
        and node.lineno <= read.node.lineno
        and store.node.lineno <= (node.end_lineno or node.lineno)
        for node in ast.walk(store.scope.node)
    )
