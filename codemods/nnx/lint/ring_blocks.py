"""Blocks written into a ring of which their size is no divisor: the last one does not go round; part of NNX847."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.places import foreign, in_test, literal
from codemods.nnx.lint.syntax import argument

_PLACES = {"dynamic_update_slice": "start_indices", "dynamic_update_slice_in_dim": "start_index"}


def ring_blocks(context: Context) -> Iterator[tuple[CallEvent, int, int]]:
    """Yield the blocks that are written at ``place``, which goes on to ``(place + block) % length``.

    With each comes the size of the block and the length, where these are known and the last block goes past the end.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, *_PLACES):
        if not name.startswith("jax.lax.") or in_test(event.scope):
            continue
        given = argument(event.node, 2, _PLACES[name.removeprefix("jax.lax.")])
        place = given.elts[0] if isinstance(given, ast.Tuple | ast.List) and given.elts else given
        text = ast.unparse(place) if place is not None and not isinstance(place, ast.Constant) else ""
        for node in context.bodies.nodes(event.scope) if text else ():
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mod):
                continue
            added = node.left
            if not isinstance(added, ast.BinOp) or not isinstance(added.op, ast.Add):
                continue
            sides = [added.left, added.right]
            if text not in map(ast.unparse, sides):
                continue
            step = next((one for one in sides if ast.unparse(one) != text), None)
            size = literal(context, step, event.scope) if step is not None else None
            length = literal(context, node.right, event.scope)
            if type(size) is int and type(length) is int and 1 < size < length and length % size:
                yield event, size, length
                break
