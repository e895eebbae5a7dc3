"""Whether a value is a part of a tree of arrays, and so goes with it when the tree is donated."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, Scope
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Loop, Mapping, Param, Sequence, Value

#: What trees of arrays are called; other parts of a state are functions, numbers and texts.
_ARRAYS = pattern(r"(^|_)(params?|parameters|weights|variables|opt_state|batch_stats)(_|$)")
#: Functions that make a state out of trees of arrays, which they do not copy.
MAKING = frozenset({"create"})


def shares(part: Value, whole: Value) -> bool:
    """Say whether a value is a part of a tree of arrays, or what a state was made with; of a loop, in the first round.

    Args:
        part: what may be a part, such as ``params`` or what ``state.params`` was.
        whole: the tree.
    """
    if isinstance(whole, Loop):
        whole = whole.before
    if isinstance(whole, Mapping):
        return not isinstance(part, Const) and part in _entries(whole)
    if not isinstance(whole, Attr | Call | Item | Param):
        return False
    inner, named = _unpacked(part), False
    while isinstance(inner, Attr | Item):
        named = named or bool(_ARRAYS.search(_name(inner)))
        inner = inner.base
        if inner == whole and named:
            return True
    return isinstance(whole, Call) and part in _taken(whole) and not isinstance(part, Const)


def in_record(context: Context, part: Value, made: Value, scope: Scope) -> bool:
    """Say whether a record, which keeps what it is given, was made with a tree of arrays: ``State(params, ...)``.

    Args:
        context: the analysis.
        part: what may be one of its fields.
        made: the record.
        scope: the body that both stand in.
    """
    if not isinstance(made, Call) or made.starred or isinstance(part, Const):
        return False
    cls = context.flow.classes.class_of(context.flow.here(made, scope))
    if cls is None or not is_record(context, cls):
        return False
    given = [*zip(cls.fields, made.args, strict=False), *((name or "", value) for name, value in made.keywords)]
    return any(value == part and _ARRAYS.search(name) for name, value in given)


def is_record(context: Context, cls: ClassFacts) -> bool:
    """Say whether a class keeps what its constructor is given as it is."""
    own = {"__init__", "__new__", "__post_init__"}
    return not any(own & one.methods.keys() for one in context.flow.classes.mro(cls)[0])


def named_arrays(name: str) -> bool:
    """Say whether a name is that of a tree of arrays."""
    return _ARRAYS.search(name) is not None


def arrays_of(value: Value) -> Value | None:
    """Return the record or state of which a value is a tree of arrays: that of ``state.params``; None for another.

    Args:
        value: the value.
    """
    return value.base if isinstance(value, Attr | Item) and _ARRAYS.search(_name(value)) else None


def _unpacked(part: Value) -> Value:
    """Return what a variable got in ``average, best = state.params, 0.0``."""
    if isinstance(part, Item) and isinstance(part.base, Sequence) and isinstance(part.index, Const):
        place, items = part.index.value, part.base.items
        return items[place] if isinstance(place, int) and 0 <= place < len(items) else part
    return part


def _entries(whole: Mapping) -> list[Value]:
    """Return the trees of arrays in a dict."""
    named = ((key.value, value) for key, value in whole.items if isinstance(key, Const))
    return [value for key, value in named if isinstance(key, str) and _ARRAYS.search(key)]


def _name(value: Attr | Item) -> str:
    if isinstance(value, Attr):
        return value.name
    key = value.index.value if isinstance(value.index, Const) else None
    return key if isinstance(key, str) else ""


def _taken(made: Call) -> list[Value]:
    """Return the trees of arrays that a state is made with."""
    if not isinstance(made.callee, Attr) or made.callee.name not in MAKING or made.starred:
        return []
    given = [value for name, value in made.keywords if name is not None and _ARRAYS.search(name)]
    return [*given, *(v for one in given if isinstance(one, Mapping) for _, v in one.items)]
