"""What a model is made of: its parts by their paths, where all of them are known."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import class_kind
from codemods.nnx.lint.owners import plain_module
from codemods.nnx.nodes import last_word
from codemods.nnx.values import (
    Attr,
    Call,
    Class,
    Comprehension,
    Const,
    Function,
    Mapping,
    Param,
    Ref,
    Sequence,
    Unknown,
)

_DEPTH = 5
_MOST = 200  # parts of one model
_CONTAINERS = frozenset({"flax.nnx.List", "flax.nnx.Dict", "flax.nnx.Sequential", "flax.nnx.data", "flax.nnx.ToData"})
_PLAIN = ("flax.nnx.", "jax.", "numpy.", "optax.", "math.", "functools.", "builtins.", "dataclasses.", "typing.", "re.")
_NUMBERS = frozenset({"int", "float", "str", "bool", "dtype", "Dtype", "Array", "Rngs", "Callable", "tuple", "Mesh"})
_SETTINGS = frozenset({"config", "cfg", "conf", "args", "hparams", "params", "settings", "options", "hps", "c"})
_BUILTINS = frozenset({"len", "int", "float", "max", "min", "tuple", "range", "sum", "str", "bool", "abs", "round"})


class Unclear(Exception):
    """A part of a model may be anything."""


class ModelPart(NamedTuple):
    """A module or Variable within a model.

    Attributes:
        path: the attributes and keys that lead to it; of the elements of a list none.
        made: the call that made it.
        name: the full name of its class if that is one of NNX; empty for one of the project.
    """

    path: tuple[str, ...]
    made: Bound
    name: str


def model_parts(context: Context, model: Bound) -> list[ModelPart] | None:
    """Return the modules and Variables within a model of the project.

    Args:
        context: the analysis.
        model: the model, as ``context.sources.originals`` gives it.

    Returns:
        The parts, outer ones first; None if something in it may be anything, as a model of another library.
    """
    try:
        return list(_within(context, model, (), 0))
    except Unclear:
        return None


def _within(context: Context, made: Bound, path: tuple[str, ...], depth: int) -> Iterator[ModelPart]:
    cls = context.flow.classes.class_of(made)
    if cls is None or depth > _DEPTH or not plain_module(context, cls):
        raise Unclear
    parents = context.flow.classes.mro(cls)[0]
    names = {
        name: None for parent in parents for name in (*parent.stores, *context.flow.classes.dataclass_fields(parent))
    }
    if any(_sets_by_name(parent) for parent in parents):
        raise Unclear
    found = 0
    for name in names:
        for held in context.flow.fields.field(made, name):
            for one in context.sources.originals(held):
                for part in _part(context, one, (*path, name), depth):
                    yield part
                    found += 1
                    if found > _MOST:
                        raise Unclear


def _sets_by_name(cls: ClassFacts) -> bool:
    nodes = (node for node in ast.walk(cls.node) if isinstance(node, ast.Name | ast.Attribute))
    return any(last_word(node) in _BY_NAME for node in nodes)


_BY_NAME = frozenset({"setattr", "__setattr__", "__dict__", "vars", "exec"})


def _part(context: Context, made: Bound, path: tuple[str, ...], depth: int) -> Iterator[ModelPart]:
    """Yield the parts that a value is or holds."""
    value = made.value
    if depth > _DEPTH:
        raise Unclear
    if isinstance(value, Const | Function | Ref | Class):
        return
    if isinstance(value, Unknown):
        if not isinstance(
            value.node, ast.BinOp | ast.Compare | ast.JoinedStr | ast.BoolOp | ast.UnaryOp | ast.Constant
        ):
            raise Unclear
        return
    if isinstance(value, Param):
        if _annotated(value) not in _NUMBERS and value.name not in {"rngs", *_SETTINGS}:
            raise Unclear
        return
    if isinstance(value, Attr):
        root = value
        while isinstance(root.base, Attr):
            root = root.base
        if not isinstance(root.base, Param) or root.base.name not in _SETTINGS:
            raise Unclear
        return
    if isinstance(value, Sequence | Comprehension | Mapping):
        yield from _elements(context, made, path, depth)
        return
    if not isinstance(value, Call):
        raise Unclear
    name = context.flow.calls.callee_name(made)
    if name in _CONTAINERS:
        yield ModelPart(path, made, name)
        for given in value.given:
            inner = getattr(given, "value", given) if type(given).__name__ == "Star" else given
            yield from _part(context, context.flow.follow(made, inner), path, depth + 1)
    elif name.startswith("flax.nnx.") and class_kind(name) is not None:
        yield ModelPart(path, made, name)
    elif name.startswith(_PLAIN):
        return
    elif (cls := context.flow.classes.class_of(made)) is not None:
        if "flax.nnx.Module" in context.flow.classes.mro(cls)[1]:
            yield ModelPart(path, made, "")
            yield from _within(context, made, path, depth + 1)
    elif name or not (isinstance(value.node.func, ast.Name) and value.node.func.id in _BUILTINS):
        raise Unclear


def _elements(context: Context, made: Bound, path: tuple[str, ...], depth: int) -> Iterator[ModelPart]:
    value = made.value
    if isinstance(value, Mapping):
        for key, held in value.items:
            name = context.flow.follow(made, key).value if key is not None else None
            if not isinstance(name, Const):
                raise Unclear
            inner = (*path, name.value) if isinstance(name.value, str) else path
            yield from _part(context, context.flow.follow(made, held), inner, depth + 1)
        return
    if isinstance(value, Comprehension) and value.key is not None:
        raise Unclear
    for one in context.flow.containers.elements(made):
        yield from _part(context, context.flow.resolve(one), path, depth + 1)


def _annotated(param: Param) -> str:
    """Return the last word of a parameter's annotation."""
    node: ast.expr | None = param.function.annotations.get(param.name)
    if isinstance(node, ast.BinOp):
        node = node.left  # int | None
    if isinstance(node, ast.Subscript):
        node = node.value
    return getattr(node, "attr", "") or getattr(node, "id", "")
