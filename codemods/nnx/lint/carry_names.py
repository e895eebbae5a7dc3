"""Parts of the carry of an LSTM under each other's names; part of NNX713."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.around import around
from codemods.nnx.patterns import pattern

_HIDDEN = pattern(r"^(h|hx|ht|h[_\d]\w*|(\w+_)?(h|hidden|hidden_state|hidden_states)(_\w+)?)$")
_CELL = pattern(r"^(c|cx|ct|c[_\d]\w*|(\w+_)?(c|cell|cell_state|cell_states|memory)(_\w+)?)$")


def exchanged_names(
    context: Context, carries: Callable[[CallEvent], bool]
) -> Iterator[tuple[CallEvent, ast.Name, ast.Name]]:
    """Yield the calls whose carry is taken apart as (hidden state, cell state), with the two names.

    Where both only come back as the carry of the next call, it does not matter how they are called.

    Args:
        context: the analysis.
        carries: says whether a call gives the carry of an LSTM first.
    """
    for event in context.bodies.unpacked:
        if event.scope.module not in context.asked or not isinstance(event.statement, ast.Assign):
            continue
        target = event.statement.targets[0]
        first = target.elts[0] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
        if not isinstance(first, ast.Tuple) or len(first.elts) != 2:
            continue
        hidden, cell = first.elts
        if not isinstance(hidden, ast.Name) or not isinstance(cell, ast.Name):
            continue
        if not _HIDDEN.search(hidden.id) or not _CELL.search(cell.id) or _CELL.search(hidden.id):
            continue
        if (_alone(context, event, hidden, cell) or _alone(context, event, cell, hidden)) and carries(event):
            yield event, hidden, cell


def _alone(context: Context, event: CallEvent, name: ast.Name, other: ast.Name) -> bool:
    """Say whether one part of the carry is read without the other."""
    above = around(context, event.scope)
    end = event.statement.end_lineno or 0
    begin: int = getattr(event.loops[-1] if event.loops else event.statement, "lineno", 0)
    stored = {n.lineno for n in context.bodies.stores(event.scope, name.id)}
    later = [line for line in stored if line > end]
    for node in context.bodies.names(event.scope).get(name.id, ()):
        if not isinstance(node.ctx, ast.Load) or node.lineno < begin or (later and node.lineno > min(later)):
            continue
        if node.lineno <= end and not event.loops:
            continue
        user = above.get(node)
        if isinstance(user, ast.Tuple | ast.List) and any(
            isinstance(one, ast.Name) and one.id == other.id for one in user.elts
        ):
            continue
        return not isinstance(user, ast.Call) or not _both(user, other)
    return False


def _both(call: ast.Call, other: ast.Name) -> bool:
    """Say whether a call gets the other part as well."""
    given = [*call.args, *(k.value for k in call.keywords)]
    return any(isinstance(one, ast.Name) and one.id == other.id for one in given)
