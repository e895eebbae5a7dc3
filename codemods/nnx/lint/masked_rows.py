"""Rows of a softmax that a mask leaves nothing of, repaired only behind a product with them; part of NNX870."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, formula_of, in_test, written
from codemods.nnx.lint.syntax import constant, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_DEPTH = 4  # of how many operations an expression is looked through
_PRODUCTS = frozenset({"einsum", "matmul", "dot"})


def masked_rows(context: Context) -> Iterator[tuple[CallEvent, ast.expr, ast.expr]]:
    """Yield what puts zeros for such rows, with the product that has them and what the weights are multiplied with.

    Zeros behind the softmax itself are right: the gradient of what is masked is zero again.

    Args:
        context: the analysis.
    """
    if not any(module.source.mentions(b"softmax") for module in context.asked.modules):
        return
    for event, name in foreign(context, "where"):
        scope = event.scope
        if name != "jax.numpy.where" or len(event.node.args) != 3 or scope.function is None or in_test(scope):
            continue
        guard, product, zero = event.node.args
        if constant(zero) not in (0, 0.0) or not _asks(context, guard, scope):
            continue
        asked = _read(context, guard, scope)
        for left, right in _products(context, product, scope, 0):
            mask = _mask(context, left, scope)
            read = _read(context, mask, scope) if mask is not None else _given(context, left, scope)
            if asked & read:
                yield event, product, right
                break


def _products(context: Context, node: ast.expr, scope: Scope, depth: int) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield both sides of the products of matrices that an expression is computed of, also by variables."""
    made = written(context, node, scope)
    sides = _sides(made)
    if sides is not None:
        yield sides
    parts: list[ast.expr] = []
    if isinstance(made, ast.BinOp) and depth < _DEPTH:
        parts = [made.left, made.right]
    elif isinstance(made, ast.UnaryOp) and depth < _DEPTH:
        parts = [made.operand]
    for one in parts:
        yield from _products(context, one, scope, depth + 1)


def _given(context: Context, node: ast.expr, scope: Scope) -> set[str]:
    """Return the variables that a call gives for what the mask is made of in a function that pools by a softmax."""
    made = written(context, node, scope)
    value = scope.module.values.get(made)
    if not isinstance(made, ast.Call) or not isinstance(value, Call) or value.starred or made.keywords:
        return set()
    here = context.flow.here(value, scope)
    if context.flow.calls.callee_name(here):
        return set()
    found: set[str] = set()
    for callee, _ in context.flow.calls.invoked(here):
        function = callee.function
        result = formula_of(context, function)
        sides = _sides(result) if result is not None else None
        mask = _mask(context, sides[0], function.scope) if sides is not None else None
        read = _read(context, mask, function.scope) if mask is not None else set()
        names = list(function.params)[int(callee.receiver is not None) :]
        if callee.args or mask is None:
            return set()
        found |= {
            one.id for name, one in zip(names, made.args, strict=False) if name in read and isinstance(one, ast.Name)
        }
    return found


def _sides(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return the two that a product of matrices is made of."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if isinstance(node, ast.Call) and last_word(node.func) in _PRODUCTS and len(node.args) >= 2:
        return node.args[-2], node.args[-1]
    return None


def _mask(context: Context, weights: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the mask of ``softmax(where(mask, scores, -inf))``."""
    made = written(context, weights, scope)
    value = scope.module.values.get(made)
    if not isinstance(made, ast.Call) or last_word(made.func) != "softmax" or not made.args or value is None:
        return None
    if last(context.flow.calls.callee_name(context.flow.here(value, scope))) != "softmax":
        return None
    inner = written(context, made.args[0], scope)
    if not isinstance(inner, ast.Call) or last_word(inner.func) != "where" or len(inner.args) != 3:
        return None
    return inner.args[0] if minus_infinity(inner.args[2]) else None


def minus_infinity(node: ast.expr) -> bool:
    """Say whether an expression is minus infinity."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = node.operand
        text = constant(inner.args[0]) if isinstance(inner, ast.Call) and len(inner.args) == 1 else None
        return last_word(inner) in {"inf", "Inf"} or (isinstance(inner, ast.Call) and text == "inf")
    return isinstance(node, ast.Call) and len(node.args) == 1 and constant(node.args[0]) == "-inf"


def _asks(context: Context, guard: ast.expr, scope: Scope) -> bool:
    """Say whether a condition asks whether anything is left of a row: ``mask.any(-1)``, ``lengths > 0``."""
    nodes = [part for one in (guard, written(context, guard, scope)) for part in ast.walk(one)]
    return any(
        (isinstance(one, ast.Call) and last_word(one.func) == "any")
        or (isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.Gt) and constant(one.comparators[0]) == 0)
        for one in nodes
    )


def _read(context: Context, node: ast.expr, scope: Scope) -> set[str]:
    """Return the variables that an expression reads, or that the variable is made of which it is."""
    found = {*names_in(node)}
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found |= names_in(written(context, part, scope))
    return found - {"jnp", "jax", "np"}
