"""Entropies of probabilities that are zero since their logits are minus infinity; part of NNX976."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.masked_rows import minus_infinity
from codemods.nnx.lint.opposed_signs import same_probability
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.nodes import last_word

# what takes care of NaN, or hides it
_CAREFUL = frozenset({"where", "nan_to_num", "nansum", "nanmean", "select", "xlogy", "entr", "isnan", "isfinite"})


def masked_entropies(context: Context) -> Iterator[tuple[Scope, ast.BinOp, ast.expr]]:
    """Yield the products of a probability and its logarithm that are NaN where a mask put minus infinity.

    Args:
        context: the analysis.

    Yields:
        The body, the product, and the masked logits.
    """
    if not any(module.source.mentions(b"inf") for module in context.asked.modules):
        return
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Mult) or not scope.module.source.mentions(b"inf") or in_test(scope):
            continue
        for one, other in ((node.left, node.right), (node.right, node.left)):
            chance = written(context, one, scope)
            if not isinstance(chance, ast.Call) or not same_probability(context, one, other, scope):
                continue
            logarithm = written(context, other, scope)
            soft = chance if last_word(chance.func) == "softmax" else logarithm
            given = soft.args[0] if isinstance(soft, ast.Call) and soft.args else None
            logits = written(context, given, scope) if given is not None else None
            if logits is not None and _hidden(logits) and not _taken_care_of(context, node, scope):
                yield scope, node, logits


def _hidden(node: ast.expr) -> bool:
    """Say whether an expression puts minus infinity where a mask hides: ``jnp.where(mask, logits, -jnp.inf)``."""
    if not isinstance(node, ast.Call) or last_word(node.func) != "where" or len(node.args) != 3:
        return False
    return any(minus_infinity(one) for one in node.args[1:])


def _taken_care_of(context: Context, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether something around a product, or done with a variable that holds it, leaves NaN out."""
    above = around(context, scope)
    whole: ast.AST | None = node
    while whole is not None and not isinstance(whole, ast.stmt):
        if isinstance(whole, ast.Call) and last_word(whole.func) in _CAREFUL:
            return True
        whole = above.get(whole)
    names = {t.id for t in whole.targets if isinstance(t, ast.Name)} if isinstance(whole, ast.Assign) else set()
    return any(
        isinstance(n, ast.Call)
        and last_word(n.func) in _CAREFUL
        and any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(n))
        for n in context.bodies.nodes(scope)
    )
