"""Errors of generalized advantages that take the value behind the end of an episode; part of NNX932."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.advantage_terms import (
    DISCOUNT,
    ENDING,
    LAMBDA,
    factors,
    filled_params,
    formulas,
    goes_on,
    gone_over,
    is_rate,
    spread,
    stores_of,
    sums,
    unpacks,
    words_of,
)
from codemods.nnx.lint.around import around
from codemods.nnx.lint.syntax import entry_word, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern


def values_across(context: Context) -> Iterator[tuple[Scope, ast.BinOp, str]]:
    """Yield the errors of which generalized advantages are summed up that take the value behind the end of an episode.

    The sum itself leaves the later steps out there: ``delta + gamma * lam * (1 - done) * gae``.

    Args:
        context: the analysis.

    Yields:
        Where the error stands, its formula, and the value.
    """
    for scope, node in sums(context):
        terms = operands(node, ast.Add)
        if len(terms) != 2:
            continue
        for error, later in (terms, terms[::-1]):
            carried = _flagged(context, later, scope)
            if carried is None or not goes_on(context, carried, node, scope):
                continue
            for formula, home in formulas(context, error, scope, 0):
                value = _next_value(context, formula, home)
                if value is not None and not _flags_elsewhere(later, scope):
                    yield home, value[0], ast.unparse(value[1])


def _flagged(context: Context, term: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the sum of the later steps, of a product that leaves it out at the end of an episode."""
    parts = [inner for part in factors(term) for inner in spread(context, part, scope, 0)]
    words = [entry_word(one) for one in parts]
    if not any(map(LAMBDA.search, words)) or not any(map(DISCOUNT.search, words)):
        return None
    flags = [one for one in parts if any(map(_STRICT_END.search, words_of(context, one, scope)))]
    rest = [one for one in parts if one not in flags and not is_rate(context, one, scope)]
    rates = [entry_word(one) for one in parts if one not in flags and one not in rest]
    if len(flags) != 1 or len(rest) != 1 or not any(map(LAMBDA.search, rates)) or not any(map(DISCOUNT.search, rates)):
        return None
    return rest[0] if isinstance(rest[0], ast.Name | ast.Subscript) else None


def _next_value(context: Context, formula: ast.expr, scope: Scope) -> tuple[ast.BinOp, ast.expr] | None:
    """Return ``reward + gamma * later - value`` and its later value, if that is the next entry, and nothing else."""
    if not isinstance(formula, ast.BinOp) or not isinstance(formula.op, ast.Sub):
        return None
    terms = operands(formula.left, ast.Add)
    products = [operands(one, ast.Mult) for one in terms]
    found = [one for one in products if len(one) == 2 and any(DISCOUNT.search(entry_word(part)) for part in one)]
    if len(terms) != 2 or len(found) != 1:
        return None
    rates = [one for one in found[0] if is_rate(context, one, scope)]
    rest = [one for one in found[0] if one not in rates]
    if len(rates) != 1 or len(rest) != 1 or any(map(ENDING.search, words_of(context, formula, scope))):
        return None
    return (formula, rest[0]) if _next_entry(context, rest[0], scope) else None


def _next_entry(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a value is the one of the next step: ``values[t + 1]``, ``values[1:]``, or a part of a carry."""
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.slice).endswith(" + 1") or ast.unparse(node.slice).split(",")[0] == "1:"
    if not isinstance(node, ast.Name):
        return False
    first = [*filled_params(scope)][:1]
    if any(unpacks(one, param, node.id) for one in context.bodies.nodes(scope) for param in first):
        return True
    above = around(context, scope)
    chosen = [above.get(store) for store in stores_of(context, node, scope)]
    if len(chosen) > 1 and all(isinstance(one, ast.Assign) and len(one.targets) == 1 for one in chosen):
        given_ones = [one.value for one in chosen if isinstance(one, ast.Assign)]
        entries = [one for one in given_ones if isinstance(one, ast.Subscript) and _next_entry(context, one, scope)]
        return bool(entries) and all(isinstance(one, ast.Name) or one in entries for one in given_ones)
    given = gone_over(context, node, scope)
    return given is not None and not isinstance(given[0], ast.Name) and _next_entry(context, given[0], given[1])


def _flags_elsewhere(term: ast.expr, scope: Scope) -> bool:
    """Say whether the function, or those around it, reads flags of ends in another formula than a product."""
    outer = scope
    while outer.parent is not None and outer.parent.function is not None:
        outer = outer.parent
    inside_term = set(ast.walk(term))
    named = {n.id for n in inside_term if isinstance(n, ast.Name)}
    allowed: set[ast.AST] = set(inside_term)
    for one in ast.walk(outer.node):
        if isinstance(one, ast.Assign) and len(one.targets) == 1:
            target = one.targets[0]
            if isinstance(target, ast.Name) and (target.id in named or ENDING.search(target.id)):
                allowed |= set(ast.walk(one.value))
        if isinstance(one, ast.Tuple | ast.List):
            allowed |= {part for part in one.elts if isinstance(part, ast.Name | ast.Attribute | ast.Subscript)}
            allowed |= {part.value for part in one.elts if isinstance(part, ast.Subscript)}
    return any(
        isinstance(one, ast.Name | ast.Attribute) and isinstance(one.ctx, ast.Load) and ENDING.search(last_word(one))
        for one in ast.walk(outer.node)
        if one not in allowed
    )


_STRICT_END = pattern(
    r"(^|_)(dones?|terminals?|terminated|terminations?|non_?terminals?|nonterm|not_?dones?|nextnonterminal)(_|$)", re.I
)
