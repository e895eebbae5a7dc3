"""Keys that a step splits, and leaves out of the record that it returns; part of NNX897."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.places import callers_of, foreign, in_test
from codemods.nnx.lint.record_copies import copied, fields
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Param

_KEY = pattern(r"(^|_)(rng|key|prng|rng_key|prng_key|seed)$")


def keys_left_out(context: Context) -> Iterator[tuple[CallEvent, ast.Name, str]]:
    """Yield the splits of a record's key whose new key nobody reads, though the function returns a new record, with
    the variable and the key.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, "split"):
        function, statement = event.scope.function, event.statement
        key = event.value.argument(0, "key")
        if name != "jax.random.split" or function is None or in_test(event.scope):
            continue
        if not isinstance(key, Attr) or not isinstance(key.base, Param) or key.base.function is not function:
            continue
        if not isinstance(statement, ast.Assign) or statement.value is not event.node or not _KEY.search(key.name):
            continue
        target = statement.targets[0]
        first = target.elts[0] if isinstance(target, ast.Tuple) and len(target.elts) > 1 else None
        if not isinstance(first, ast.Name) or first.id.startswith("_") or _read(event, first.id):
            continue
        given = [fields(copy) for copy in copied(context, function, key.base)]
        if given and all(one is not None and one and key.name not in one for one in given):
            if not any(_gives_key(caller, key.name) for caller in callers_of(context, function)):
                yield event, first, key.name


def _gives_key(caller: CallEvent, name: str) -> bool:
    """Say whether the code around a call puts keys into records itself: ``state._replace(key=key)``."""
    return any(
        isinstance(n, ast.Call)
        and any(keyword.arg == name for keyword in n.keywords)
        and (last_word(n.func) in {"replace", "_replace"} or bool(caller.loops))
        for n in ast.walk(caller.scope.node)
    )


def _read(event: CallEvent, name: str) -> bool:
    """Say whether a variable is read, or stands in a place where another one may be meant."""
    assert event.scope.function is not None
    nodes = [n for n in ast.walk(event.scope.function.node) if isinstance(n, ast.Name) and n.id == name]
    return any(isinstance(n.ctx, ast.Load) for n in nodes) or sum(isinstance(n.ctx, ast.Store) for n in nodes) != 1
