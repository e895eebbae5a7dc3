"""Rounds through dicts, which go through their keys: what holds traced values has keys that Python knows."""

from __future__ import annotations

import ast

from codemods.nnx.facts import Scope
from codemods.nnx.values import Attr, Call, Changed, Choice, Comprehension, Each, Free, Loop, Mapping, Ref, Value

_KEEPING = frozenset({"sorted", "list", "tuple", "iter", "reversed", "set"})
_DEPTH = 12


def keyed(value: Value, depth: int = 0) -> bool:
    """Say whether a value is a dict, or its keys in some order, whatever was put into it since.

    Args:
        value: the value.
        depth: how many values it was followed from.
    """
    if depth > _DEPTH:
        return False
    if isinstance(value, Mapping):
        return True
    if isinstance(value, Comprehension):
        return value.key is not None
    if isinstance(value, Changed):
        return isinstance(value.node, ast.DictComp) or keyed(value.before, depth + 1)
    if isinstance(value, Loop):
        return keyed(value.before, depth + 1)
    if isinstance(value, Choice):
        return any(keyed(one, depth + 1) for one in value.options)
    if not isinstance(value, Call):
        return False
    callee = value.callee
    if isinstance(callee, Free | Ref):
        word = callee.name.rpartition(".")[2]
        return word == "dict" or (word in _KEEPING and bool(value.args) and keyed(value.args[0], depth + 1))
    if isinstance(callee, Attr):
        return callee.name == "keys" or (callee.name == "copy" and keyed(callee.base, depth + 1))
    return False


def by_keys(value: Each, scope: Scope) -> bool:
    """Say whether a round goes through what something gives by ``items()`` or ``keys()``, and is a key of it.

    Args:
        value: what the round gives.
        scope: the body that it stands in.
    """
    values = scope.module.values
    whole = value.loop.iter if isinstance(value.loop, ast.For | ast.AsyncFor | ast.comprehension) else value.loop
    return any(
        isinstance(node, ast.Attribute) and node.attr in {"items", "keys"} and values.get(node.value) is value.base
        for node in ast.walk(whole)
    )
