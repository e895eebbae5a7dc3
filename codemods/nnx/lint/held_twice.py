"""States that hold one tree of arrays under two names, which no call can take the memory of; part of NNX856."""

from __future__ import annotations

import ast
import re

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.frames import Bound
from codemods.nnx.lint.names import last
from codemods.nnx.lint.shared_parts import MAKING, is_record, named_arrays
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Const, Item, Mapping, Param, Value

_READ = pattern(r"load|restore|read|from_bytes|device_get", re.I)  # what may give arrays of NumPy
# functions that give new arrays, or trees of them
_SPACES = ("jax.numpy.", "jax.random.", "jax.nn.", "jax.tree.", "jax.tree_util.")


def held_twice(context: Context, event: CallEvent, value: Value) -> tuple[str, str, ast.AST] | None:
    """Return two names of one tree of arrays in a state, and what made the state, as the first call is given it.

    Args:
        context: the analysis.
        event: a call that donates the state.
        value: the state.
    """
    bound = context.flow.here(value, event.scope)
    sources = context.sources.originals(bound)
    if any(isinstance(one.value, Changed) for one in (context.flow.resolve(bound), *sources)):
        return None
    for source in sources:
        if source.frame is not None and source.frame.function in context.traced:
            continue  # compiled functions return every array in memory of its own
        entries = _entries(context, source)
        for place, (name, one) in enumerate(entries):
            for other, two in entries[place + 1 :]:
                same = one == two and _arrays(context, source, one, (name, other))
                if same and not _assigned(event, {name, other}):
                    assert isinstance(source.value, Call | Mapping)
                    return name, other, source.value.node
    return None


def _assigned(event: CallEvent, names: set[str]) -> bool:
    """Say whether a module assigns to an entry or attribute of one of some names, which may give it a copy.

    The entries of dicts that other functions have written out are others.
    """
    module = event.scope.module
    stores = [one for one in module.item_stores if one.scope is event.scope or not isinstance(one.base, Mapping)]
    return any(constant(one.node.slice) in names for one in stores) or any(
        one.stored is not None and one.node.attr in names for one in module.attributes
    )


def _entries(context: Context, source: Bound) -> list[tuple[str, Value]]:
    """Return what a dict or record was made with, by its names."""
    value = source.value
    if isinstance(value, Mapping):
        return [(k.value, v) for k, v in value.items if isinstance(k, Const) and isinstance(k.value, str)]
    if not isinstance(value, Call) or value.starred:
        return []
    named = [(name, one) for name, one in value.keywords if name is not None]
    if isinstance(value.callee, Attr) and value.callee.name in MAKING:
        return named
    cls = context.flow.classes.class_of(source)
    return [*zip(cls.fields, value.args, strict=False), *named] if cls is not None and is_record(context, cls) else []


def _arrays(context: Context, source: Bound, value: Value, names: tuple[str, str]) -> bool:
    """Say whether what a state holds is arrays, and nothing that is copied to the device anew for each argument."""
    if not isinstance(value, Attr | Call | Item | Mapping | Param):
        return False
    found = context.flow.follow(source, value)
    parts = [found]
    if isinstance(found.value, Mapping):
        parts = [context.flow.follow(found, one) for _, one in found.value.items]
    called = [context.flow.calls.callee_name(one) for one in parts if isinstance(one.value, Call)]
    if any(name.startswith("numpy.") or _READ.search(last(name)) for name in called):
        return False  # arrays of NumPy, which are copied
    if any(named_arrays(name) for name in names):
        return True
    made = any(name.startswith(_SPACES) for name in called)
    return made or (isinstance(found.value, Call) and last_word(found.value.node.func) == "init")
