"""Whether a value is a part of a tree of arrays, and so goes with it when the tree is donated."""

from __future__ import annotations

from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Loop, Mapping, Value

#: What trees of arrays are called; other parts of a state are functions, numbers and texts.
_ARRAYS = pattern(r"(^|_)(params?|parameters|weights|variables|opt_state|batch_stats)(_|$)")
#: Functions that make a state out of trees of arrays, which they do not copy.
_MAKING = frozenset({"create"})


def shares(part: Value, whole: Value) -> bool:
    """Say whether a value is a part of a tree of arrays, or what a state was made with; of a loop, in the first round.

    Args:
        part: what may be a part, such as ``params`` or what ``state.params`` was.
        whole: the tree.
    """
    if isinstance(whole, Loop):
        whole = whole.before
    if not isinstance(whole, Attr | Call | Item):
        return False
    inner, named = part, False
    while isinstance(inner, Attr | Item):
        named = named or bool(_ARRAYS.search(_name(inner)))
        inner = inner.base
        if inner == whole and named:
            return True
    return isinstance(whole, Call) and part in _taken(whole) and not isinstance(part, Const)


def _name(value: Attr | Item) -> str:
    if isinstance(value, Attr):
        return value.name
    key = value.index.value if isinstance(value.index, Const) else None
    return key if isinstance(key, str) else ""


def _taken(made: Call) -> list[Value]:
    """Return the trees of arrays that a state is made with."""
    if not isinstance(made.callee, Attr) or made.callee.name not in _MAKING or made.starred:
        return []
    given = [value for name, value in made.keywords if name is not None and _ARRAYS.search(name)]
    return [*given, *(v for one in given if isinstance(one, Mapping) for _, v in one.items)]
