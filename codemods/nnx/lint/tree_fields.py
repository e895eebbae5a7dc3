"""Fields of trees that are leaves, though no array can stand in them; part of NNX879."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.lint.field_options import static
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Class, Ref

_REGISTER = "jax.tree_util.register_dataclass"
_DECORATORS = frozenset({"flax.struct.dataclass", _REGISTER})
_LEAFLESS = frozenset({"str", "Callable"})


def untraceable_field(context: Context, cls: ClassFacts) -> str:
    """Return the first field of a registered dataclass that is a leaf, and a text or function by its annotation."""
    if not isinstance(cls.node, ast.ClassDef):
        return ""
    wrong = [
        statement.target.id
        for statement in cls.node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and _leafless(statement.annotation)
        and not (isinstance(statement.value, ast.Call) and not _leaf(context, cls, statement.value))
    ]
    if not wrong or any(module.source.mentions(b"Partial") for module in context.project.modules):
        return ""  # jax.tree_util.Partial is a function and a tree
    data = _data_fields(context, cls)
    if data is None:
        return ""
    return next((name for name in wrong if not data or name in data), "")


def _leaf(context: Context, cls: ClassFacts, made: ast.Call) -> bool:
    """Say whether a call describes a field that is a leaf for certain; one of the project may make it structure."""
    if static(made) or any(keyword.arg is None for keyword in made.keywords):
        return False
    value = cls.scope.module.values.get(made)
    if value is None:
        return False
    return last(context.flow.calls.callee_name(context.flow.here(value, cls.scope))) == "field"


def _data_fields(context: Context, cls: ClassFacts) -> tuple[str, ...] | None:
    """Return the leaves of a registered class; empty for all that are not marked, None if it is not known to be one."""
    scope = cls.scope.parent
    for decorator in cls.decorators if scope is not None else ():
        assert scope is not None
        one = context.flow.resolve(context.flow.here(decorator, scope)).value
        if isinstance(one, Ref) and one.name in _DECORATORS:
            return ()
    for event, name in foreign(context, "register_dataclass", everywhere=True):
        if name != _REGISTER or not event.value.args or event.value.starred:
            continue
        given = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
        if not isinstance(given, Class) or given.facts is not cls or isinstance(event.value.args[0], Call):
            continue
        node = argument(event.node, 1, "data_fields")
        names = constant(node)
        if node is None:
            return ()
        return tuple(map(str, names)) if isinstance(names, list | tuple) and names else None
    return None


def _leafless(note: ast.expr) -> bool:
    """Say whether an annotation means a text or a function."""
    if isinstance(note, ast.Subscript):
        return last_word(note.value) == "Callable"
    return isinstance(note, ast.Name | ast.Attribute) and last_word(note) in _LEAFLESS
