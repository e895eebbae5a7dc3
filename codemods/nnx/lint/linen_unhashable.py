"""Modules of Linen without a hash, since a field of theirs is a list, dict or set; part of NNX826."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.frames import Bound
from codemods.nnx.lint.linen.modules import classes_of, has_linen, is_plain, modules_at
from codemods.nnx.lint.listed_data import listed
from codemods.nnx.values import Call, Value

_OWN = frozenset({"__hash__", "__eq__", "__init__", "__new__", "__post_init__"})


def unhashable_field(context: Context, bound: Bound) -> str:
    """Return the field of a module of Linen that has no hash, whichever module it is; empty if none is known.

    Args:
        context: the analysis.
        bound: the value, not yet followed.
    """
    if not has_linen(context):
        return ""
    modules = modules_at(context, bound)
    classes = classes_of(context, modules)
    if not modules or len(classes) != 1 or not _by_fields(context, classes[0]):
        return ""
    names = [_listed(context, one, classes[0]) for one in modules]
    return names[0] if all(names) else ""


def _by_fields(context: Context, cls: ClassFacts) -> bool:
    """Say whether the hash of a module is that of its own fields alone, which the constructor takes as they are."""
    parents = context.flow.classes.mro(cls)[0]
    return is_plain(context, cls) and len(parents) == 1 and _OWN.isdisjoint(cls.scope.bindings)


def _listed(context: Context, made: Bound, cls: ClassFacts) -> str:
    """Return a field for which the constructor is given a list, dict or set for certain."""
    value = made.value
    if not isinstance(value, Call) or value.starred or any(key is None for key, _ in value.keywords):
        return ""
    given: list[tuple[str | None, Value]] = [*zip(cls.fields, value.args, strict=False), *value.keywords]
    for name, one in given:
        if name in cls.fields and _hashed(cls, name) and listed(context, context.flow.with_value(made, one)):
            return name
    return ""


def _hashed(cls: ClassFacts, name: str) -> bool:
    """Say whether a field goes into the hash, as all do that have no options."""
    annotation = ast.unparse(cls.fields[name])
    plain = "InitVar" not in annotation and "ClassVar" not in annotation
    return plain and not isinstance(cls.scope.env.get(name), Call)
