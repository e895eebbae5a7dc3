"""Which fields of the trees of a project are parts of their structure: those are compared, and hold no leaves."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.lint.field_options import static
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import argument, constant, keyword
from codemods.nnx.values import Class, Ref

_REGISTER = "jax.tree_util.register_dataclass"
_WORDS = (b"meta_fields", b"pytree_node", b"static", b"tree_flatten")


def structure_fields(context: Context) -> dict[ClassFacts, frozenset[str]]:
    """Return the fields that registrations, marks or a method ``tree_flatten`` put into the structure of trees.

    Args:
        context: the analysis.
    """
    if not any(word in module.source.data for module in context.project.modules for word in _WORDS):
        return {}
    found: dict[ClassFacts, set[str]] = {}
    for cls, name in (*_registered(context), *_marked(context), *_flattened(context)):
        found.setdefault(cls, set()).add(name)
    return {cls: frozenset(names) for cls, names in found.items()}


def _registered(context: Context) -> Iterator[tuple[ClassFacts, str]]:
    """Yield the fields that ``register_dataclass(..., meta_fields=[...])`` names."""
    for event, name in foreign(context, "register_dataclass", "partial", everywhere=True):
        given = argument(event.node, 2, "meta_fields")
        if not isinstance(given, ast.List | ast.Tuple):
            continue
        cls = registered_class(context, event, name)
        words = [constant(one) for one in given.elts]
        if cls is not None:
            yield from ((cls, word) for word in words if isinstance(word, str))


def registered_class(context: Context, event: CallEvent, name: str) -> ClassFacts | None:
    """Return the class that a call of ``register_dataclass`` registers, or ``@partial(register_dataclass, ...)``.

    Args:
        context: the analysis.
        event: the call.
        name: the full name of what it calls.

    Returns:
        None for other calls.
    """
    if not event.value.args or event.value.starred or name not in {_REGISTER, "functools.partial"}:
        return None
    first = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
    if name == _REGISTER:
        return first.facts if isinstance(first, Class) else None
    if len(event.value.args) != 1 or not isinstance(first, Ref) or first.name != _REGISTER:
        return None
    every = (cls for cls in context.project.classes() if cls.scope.module is event.scope.module)
    return next((cls for cls in every if event.node in cls.node.decorator_list), None)


def _marked(context: Context) -> Iterator[tuple[ClassFacts, str]]:
    """Yield the fields of dataclasses whose options leave them out of the leaves."""
    for cls in context.project.classes():
        for one in cls.node.body:
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and isinstance(one.value, ast.Call):
                if static(one.value) and keyword(one.value, "compare") is None:
                    yield cls, one.target.id


def _flattened(context: Context) -> Iterator[tuple[ClassFacts, str]]:
    """Yield the attributes in the second thing that ``tree_flatten`` gives."""
    for cls in context.project.classes():
        method = cls.methods.get("tree_flatten")
        for _, structure in flattened(context, method) if method is not None and method.params else ():
            own = next(iter(method.params)) if method is not None else ""
            parts = structure.elts if isinstance(structure, ast.Tuple | ast.List) else [structure]
            if isinstance(structure, ast.Dict):
                parts = structure.values
            for part in parts:
                if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == own:
                    yield cls, part.attr


def flattened(context: Context, function: FunctionFacts) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the expressions for the children and the structure in what a function that flattens a tree returns; what
    a variable holds that is bound once is looked up.

    Args:
        context: the analysis.
        function: the function.
    """
    if isinstance(function.node, ast.Lambda):
        returned: list[ast.expr | None] = [function.node.body]
    else:
        returned = [node.value for node in context.bodies.nodes(function.scope) if isinstance(node, ast.Return)]
    for value in returned:
        if isinstance(value, ast.Tuple) and len(value.elts) == 2:
            children, structure = (_held(context, function, one) for one in value.elts)
            yield children, structure


def _held(context: Context, function: FunctionFacts, node: ast.expr) -> ast.expr:
    made = bound_once(context, function.scope, node) if isinstance(node, ast.Name) else None
    return made if made is not None else node
