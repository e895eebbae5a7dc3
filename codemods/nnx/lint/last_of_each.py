"""The last step of every sequence, taken at the ends of all of them in each row; part of NNX980."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import argument, constant, entry_word
from codemods.nnx.patterns import pattern

_LENGTHS = pattern(r"(\w+_)?(lengths|lens|seq_?lens)")
_STEPS = pattern(
    r"h|hs|hidden(s|_states)?|last_hidden_state|outs?|outputs?|ys|states|features|feats|enc(oded|odings)?|embeddings|embs?"
    r"|logits|x|hiddens|seq(uence)?_out(put)?|(\w+_)(hidden|outputs?|states|features|logits)"
)
_ENDS = pattern(rb"- 1\b", needs=(b"- 1",))


def last_of_each(context: Context) -> Iterator[tuple[Scope, ast.Subscript, ast.expr]]:
    """Yield ``h[:, lengths - 1]``, with what counts the steps of every row.

    Args:
        context: the analysis.
    """
    modules = {module for module in context.asked.modules if module.source.matches(_ENDS)}
    for scope, node in each(context, ast.Subscript) if modules else ():
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if scope.module not in modules or len(parts) not in (2, 3) or not isinstance(node.ctx, ast.Load):
            continue
        if any(ast.unparse(one) != ":" for one in (parts[0], *parts[2:])) or in_test(scope):
            continue
        counted = _counted(context, parts[1], scope)
        if counted is not None and _STEPS.fullmatch(entry_word(node.value)):
            yield scope, node, counted


def _counted(context: Context, index: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the lengths of ``lengths - 1``, of which there is one for each row."""
    made = bound_once(context, scope, index) if isinstance(index, ast.Name) else index
    if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Sub) or constant(made.right) != 1:
        return None
    lengths = made.left
    if isinstance(lengths, ast.Name | ast.Attribute | ast.Subscript) and _LENGTHS.fullmatch(entry_word(lengths)):
        return lengths
    counts = bound_once(context, scope, lengths) if isinstance(lengths, ast.Name) else lengths
    if not isinstance(counts, ast.Call) or not isinstance(counts.func, ast.Attribute) or counts.func.attr != "sum":
        return None
    method = "mask" in ast.unparse(counts.func.value)
    axis = argument(counts, 0 if method else 1, "axis")
    return lengths if "mask" in ast.unparse(counts) and constant(axis) in (1, -1) else None
