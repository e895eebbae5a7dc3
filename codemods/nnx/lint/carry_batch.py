"""First carries of recurrent cells that are made for a batch without features; part of NNX874."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call

_WORDS = ("LSTMCell", "OptimizedLSTMCell", "GRUCell", "MGUCell", "SimpleCell")
_CELLS = {f"flax.{home}.{word}": place for home, place in (("nnx", 0), ("linen", 1)) for word in _WORDS}
_BATCH = pattern(r"^(batch|batch_?size|bsz|n(um)?_?(batch|envs)|batch_dim)$", re.I)
_CELL = pattern(r"(cell|lstm|gru|rnn|core|recurrent)", re.I)
_SCANS = frozenset({"jax.lax.scan", "flax.nnx.scan", "flax.linen.scan"})

_MESSAGE = "the last number of this shape is that of the features: the carry has no batch, and a round gives it one"


def of_batches(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the shapes with a batch alone for which cells make the carry of a scan, with what is wrong and the way out.

    In a loop of Python such a carry of zeros is made larger by the first step, and nothing is wrong.

    Args:
        context: the analysis.
    """
    for event in context.bodies.named("initialize_carry"):
        callee = event.value.callee
        if event.scope.module not in context.asked or not isinstance(callee, Attr) or in_test(event.scope):
            continue
        if event.value.starred or context.bodies.guarded(event.node, event.scope):
            continue
        if event.scope.module.source.mentions(b"vmap"):
            continue  # one sequence at a time has no batch
        made = list(context.sources.originals(context.flow.here(callee.base, event.scope)))
        names = {context.flow.calls.callee_name(one) if isinstance(one.value, Call) else "" for one in made}
        places = {_CELLS.get(name) for name in names}
        place = places.pop() if len(places) == 1 else None
        node = argument(event.node, place, "input_shape") if place is not None else None
        if not isinstance(node, ast.Tuple) or len(node.elts) != 1 or not _BATCH.search(last_word(node.elts[0])):
            continue
        if context.shared(_scanned):
            text = ast.unparse(node.elts[0])
            yield event, node, _MESSAGE, f"write ({text}, features of the input)"


def _scanned(context: Context) -> bool:
    """Say whether the project's cells run in scans alone."""
    if not any(context.flow.calls.name(event) in _SCANS for event in context.bodies.named("scan")):
        return False
    return not any(
        isinstance(inner, ast.Call) and _CELL.search(last_word(inner.func))
        for _, loop in each(context, ast.For)
        for inner in ast.walk(loop)
    )
