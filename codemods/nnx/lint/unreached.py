"""Code that no run reaches."""

from __future__ import annotations

import ast

from codemods.nnx.lint.syntax import exits
from codemods.nnx.nodes import last_word
from codemods.nnx.source import Source

_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def unreached(source: Source) -> list[tuple[int, int]]:
    """Return where a module has statements behind a ``return``, ``raise`` or ``exit()`` of the same block, or in an
    unfinished one.

    Args:
        source: the module.

    Returns:
        The first byte of each such part, and the one behind its last.
    """
    found: list[tuple[int, int]] = []
    exiting = source.mentions(b"exit(") or source.mentions(b"quit(")
    for node in source.nodes:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            # the cells of a notebook are run one by one
            ends = exiting and not (isinstance(node, ast.Module) and source.cell_starts)
            leaving = (isinstance(one, _LEAVING) or (ends and exits(one)) for one in block)
            place = next((i for i, leaves in enumerate(leaving) if leaves), len(block))
            if place + 1 < len(block):
                found.append((source.span(block[place + 1])[0], source.span(block[-1])[1]))
            if 0 < place < len(block) and _unfinished(block, place):
                found.append((source.span(block[0])[0], source.span(block[place])[0]))
    return found


def _unfinished(block: list[ast.stmt], place: int) -> bool:
    """Say whether a block only comes to ``raise NotImplementedError``, whatever it computes before."""
    last = block[place]
    if not isinstance(last, ast.Raise) or last.exc is None:
        return False
    raised = last.exc.func if isinstance(last.exc, ast.Call) else last.exc
    if last_word(raised) != "NotImplementedError":
        return False
    return all(map(_prepares, block[:place]))


def _prepares(statement: ast.stmt) -> bool:
    """Say whether a statement only gives variables their values, on whatever condition, or is a docstring."""
    if isinstance(statement, ast.If):
        return all(map(_prepares, (*statement.body, *statement.orelse)))
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Pass)
