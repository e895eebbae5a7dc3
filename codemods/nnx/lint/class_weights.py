"""Layers and Variables that the body of a class makes; a part of NNX899."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.kinds import Kind
from codemods.nnx.values import Changed


def class_weights(context: Context, cls: ClassFacts) -> Iterator[tuple[str, ast.AST]]:
    """Yield what belongs to a class of modules and no object of it: the names, and the calls that make it.

    The defaults of a dataclass become attributes of each object, and so does what a method puts under the same name.

    Args:
        context: the analysis.
        cls: a class that derives from ``nnx.Module``.
    """
    if cls.decorators:
        return
    for statement in cls.node.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        value = cls.scope.module.values.get(statement.value)
        names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
        if not names or value is None:
            continue
        if context.kinds.only(context.flow.here(value, cls.scope)) not in {Kind.MODULE, Kind.VARIABLE}:
            continue
        for name in names:
            if not _of_objects(context, cls, name) and _read(cls, name):
                yield name, statement.value


def _of_objects(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether a method of a class, or of one related to it, gives its object an attribute of its own."""
    related = (*context.flow.classes.mro(cls)[0], *context.flow.classes.heirs(cls))
    return any(not isinstance(stored, Changed) for one in related for _, stored in one.stores.get(name, ()))


def _read(cls: ClassFacts, name: str) -> bool:
    """Say whether a method reads an attribute of its object."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and method.self_param is not None
        and node.value.id == method.self_param.name
        for method in cls.methods.values()
        for node in ast.walk(method.node)
    )
