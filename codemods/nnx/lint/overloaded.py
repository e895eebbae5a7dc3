"""Which classes overload the operators of arithmetic."""

from __future__ import annotations

from collections.abc import Iterable

from codemods.nnx.facts import ClassFacts

_OPERATORS = frozenset(
    f"__{side}{word}__"
    for side in ("", "r")
    for word in ("add", "sub", "mul", "truediv", "floordiv", "pow", "matmul", "mod")
) | {"__array_ufunc__", "__array_priority__"}


def overloads(classes: Iterable[ClassFacts]) -> bool:
    """Say whether one of some classes overloads an operator of arithmetic."""
    return any(not _OPERATORS.isdisjoint((*cls.methods, *cls.scope.bindings)) for cls in classes)
