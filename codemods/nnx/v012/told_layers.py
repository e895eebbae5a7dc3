"""Layers of the library that declarations tell: an annotated parameter, the attribute that keeps it, a tested name.

Where a layer comes from is often not in sight: code that goes over the layers of any model hands them to a class with
``def __init__(self, base: nnx.Linear)``. What the code declares holds there.
"""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, Scope
from codemods.nnx.kinds import Kind, result_kind
from codemods.nnx.v012.told import tested
from codemods.nnx.values import Attr, Call, Param, Ref, Value

_DENSE = frozenset({"kernel", "bias"})
# the parameters of layers; `bias` and `scale` may be None, of which no code asks for the value
_PARAMETERS = {
    **dict.fromkeys(("Linear", "LinearGeneral", "Conv", "ConvTranspose", "Einsum"), _DENSE),
    "Embed": frozenset({"embedding"}),
    **dict.fromkeys(("LayerNorm", "RMSNorm", "GroupNorm", "InstanceNorm"), frozenset({"scale", "bias"})),
    "BatchNorm": frozenset({"scale", "bias", "mean", "var"}),
}
_ALL = frozenset[str]().union(*_PARAMETERS.values())


class ToldLayers:
    """Answers which layer of the library a value is declared to be."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow = context.flow

    def parameter(self, value: Value, node: ast.expr, scope: Scope) -> bool:
        """Say whether a value is a parameter of a layer: ``base.kernel``.

        Args:
            value: the value.
            node: the code that gives it.
            scope: the scope of that code.
        """
        if not isinstance(value, Attr) or value.name not in _ALL or not isinstance(node, ast.Attribute):
            return False
        found = self.layers(value.base, node.value, scope)
        if not found or not all(value.name in _PARAMETERS.get(name, ()) for name in found):
            return False
        return not any(self._replaces(cls, value.name, found) for cls in self.context.project.classes())

    def _replaces(self, cls: ClassFacts, name: str, layers: frozenset[str]) -> bool:
        """Say whether a class that derives from a layer keeps something of its own under the name of a parameter."""
        if name not in cls.stores and name not in cls.methods and name not in cls.scope.env:
            return False
        return any(base.removeprefix("flax.nnx.") in layers for base in self.flow.classes.mro(cls)[1])

    def layers(self, value: Value, node: ast.expr, scope: Scope) -> frozenset[str]:
        """Return the layers that a value may be as it is declared, by their names in ``flax.nnx``; empty if unknown."""
        found = self._declared(value)
        if not found and isinstance(node, ast.Name) and scope.module.source.mentions(b"isinstance("):
            for tests in tested(scope.module.source, node):
                found |= self._named(tests, scope)
        return found

    def _declared(self, value: Value) -> frozenset[str]:
        if isinstance(value, Param):
            return self._annotated(value)
        if not isinstance(value, Attr) or not isinstance(value.base, Param):
            return frozenset()
        own = value.base.function
        if value.base is not own.self_param or own.owner is None:
            return frozenset()
        found: set[str] = set()
        for cls in self._family(own.owner):
            for method, stored in cls.stores.get(value.name, ()):
                names = self._annotated(stored) if isinstance(stored, Param) else self._made(stored, method.scope)
                if not names:
                    return frozenset()
                found |= names
        return frozenset(found)

    def _family(self, cls: ClassFacts) -> dict[ClassFacts, None]:
        """Return a class with those that it derives from and those that derive from it."""
        return dict.fromkeys((*self.flow.classes.mro(cls)[0], *self.flow.classes.heirs(cls)))

    def _annotated(self, param: Param) -> frozenset[str]:
        """Return the layers that a parameter is declared to be, if it is never bound again."""
        if len(param.function.scope.bindings.get(param.name, ())) > 1:
            return frozenset()
        names = [self._layer(one.value) for one in self.flow.classes.annotated(param)]
        return frozenset(names) if all(names) else frozenset()

    def _made(self, value: Value, scope: Scope) -> frozenset[str]:
        """Return the layer that a constructor makes."""
        found = self.flow.resolve(self.flow.here(value, scope))
        name = self.flow.calls.callee_name(found) if isinstance(found.value, Call) else ""
        layer = name.removeprefix("flax.nnx.") if result_kind(name) is Kind.MODULE else ""
        return frozenset({layer}) if layer in _PARAMETERS else frozenset()

    def _named(self, cls: ast.expr, scope: Scope) -> frozenset[str]:
        """Return the layers that the second argument of ``isinstance`` names."""
        classes = cls.elts if isinstance(cls, ast.Tuple) else [cls]
        values = [scope.module.values.get(one) for one in classes]
        names = [self._layer(self.flow.resolve(self.flow.here(one, scope)).value) if one else "" for one in values]
        return frozenset(names) if all(names) else frozenset()

    def _layer(self, value: Value) -> str:
        """Return the name of a class, if it is one of these layers."""
        name = value.name.removeprefix("flax.nnx.") if isinstance(value, Ref) else ""
        return name if name in _PARAMETERS else ""
