"""Loops over the batches of a dataset that slice the first one in every round; a part of NNX930."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant, names_in
from codemods.nnx.nodes import last_word


def first_slices(context: Context) -> Iterator[tuple[Scope, ast.Subscript, str]]:
    """Yield the slices ``x[:size]`` of loops that count batches and never read their counter, with a help.

    Args:
        context: the analysis.
    """
    for scope, loop in each(context, ast.For):
        size = "" if in_test(scope) else _batches(context, scope, loop)
        for node in _first_ones(loop, size) if size else ():
            whole = ast.unparse(node.value)
            yield scope, node, f"take that of the round: {whole}[i * {size} : (i + 1) * {size}]"


def _batches(context: Context, scope: Scope, loop: ast.For) -> str:
    """Return the size of a batch, as it is written, if a loop counts batches and never reads its counter."""
    counted = loop.iter
    if not isinstance(counted, ast.Call) or last_word(counted.func) != "range" or not isinstance(loop.target, ast.Name):
        return ""
    if any(isinstance(n, ast.Name) and n.id == loop.target.id for s in loop.body for n in ast.walk(s)):
        return ""
    ends = counted.args
    if len(ends) == 1:
        number = written(context, ends[0], scope)
        return (
            ast.unparse(number.right) if isinstance(number, ast.BinOp) and isinstance(number.op, ast.FloorDiv) else ""
        )
    return ast.unparse(ends[2]) if len(ends) == 3 and constant(ends[0]) == 0 else ""


def _first_ones(loop: ast.For, size: str) -> Iterator[ast.Subscript]:
    """Yield the parts ``x[:size]`` of arrays that the loop does not bind, the first one of each statement."""
    bound = {n.id for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for statement in loop.body:
        for node in ast.walk(statement):
            if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
                continue
            part = node.slice
            if not isinstance(part, ast.Slice) or part.step is not None or part.upper is None:
                continue
            if part.lower is not None and constant(part.lower) != 0:
                continue
            if ast.unparse(part.upper) == size and not names_in(node) & bound:
                yield node
                break
