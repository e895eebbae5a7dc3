"""Generalized advantages that are summed up from the first step of an episode on; a part of NNX931."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.places import each, foreign, in_test
from codemods.nnx.lint.syntax import constant, entry_word, keyword, names_in, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_ERROR = pattern(r"(^|_)(deltas?|td_?errors?)(_|$)", re.I)
_DISCOUNT = pattern(r"(^|_)(gamma|discount)s?(_|$)", re.I)
_LAMBDA = pattern(r"(^|_)(lam|lambda|lmbda|lambd|gae_lambda)(_|$)", re.I)
_BACKWARDS = pattern(r"revers(?!e=False)|::-1|\bflip|\[-1\s*-|-\s*1\s*-\s*\w+\]|, -1, -1\)")


def forward_advantages(context: Context) -> Iterator[tuple[Scope, ast.AST, str]]:
    """Yield where ``delta + gamma * lam * carry`` is summed up forwards: the scope, the scan or assignment, and a help.

    Args:
        context: the analysis.
    """
    for event, function in forward_scans(context):
        sums = (_sum(n) for n in context.bodies.nodes(function.scope) if isinstance(n, ast.BinOp))
        carried = {name for name in sums if name is not None}
        if carried & carry_names(context, function) and not _turns(event.scope) and not _turns(function.scope):
            yield event.scope, event.node, "go backwards: jax.lax.scan(..., reverse=True)"
    for scope, loop in each(context, ast.For):
        if in_test(scope) or not isinstance(loop.iter, ast.Call) or last_word(loop.iter.func) != "range":
            continue
        if len(loop.iter.args) > 2:
            continue
        for node in loop.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and last_word(node.targets[0]):
                if _sum(node.value) == last_word(node.targets[0]) and not _turns(scope):
                    yield scope, node, "go backwards: for t in reversed(range(...))"


def forward_scans(context: Context) -> Iterator[tuple[CallEvent, FunctionFacts]]:
    """Yield the scans that begin at the first step, each with its body.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, "scan"):
        body = event.value.argument(0, "f")
        if name != "jax.lax.scan" or body is None or in_test(event.scope):
            continue
        turned = keyword(event.node, "reverse")
        if turned is not None and constant(turned) is not False:
            continue
        callees = context.flow.calls.callables(context.flow.here(body, event.scope))
        if len(callees) == 1:
            yield event, callees[0].function


def _turns(scope: Scope) -> bool:
    """Say whether a function, or one around it, speaks of going backwards."""
    node: ast.AST | None = scope.function.node if scope.function is not None else None
    outer = scope.parent
    if node is None:
        return _BACKWARDS.search(scope.module.source.data.decode(errors="ignore")) is not None
    text = ast.unparse(node)
    return _BACKWARDS.search(text) is not None or (outer is not None and outer.function is not None and _turns(outer))


def carry_names(context: Context, function: FunctionFacts) -> set[str]:
    """Return the names of the carry of a scanned function and of its parts.

    Args:
        context: the analysis.
        function: the body of the scan.
    """
    first = next(iter(function.params), "")
    found = {first}
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == first:
            found |= {name for target in node.targets for name in names_in(target)}
    return found


def _sum(node: ast.BinOp) -> str | None:
    """Return the variable that ``delta + gamma * lam * carry`` adds up."""
    terms = operands(node, ast.Add)
    if len(terms) != 2:
        return None
    for error, product in (terms, terms[::-1]):
        factors = operands(product, ast.Mult)
        words = [entry_word(factor) for factor in factors]
        if not _ERROR.search(entry_word(error)) or not any(map(_DISCOUNT.search, words)):
            continue
        if not any(map(_LAMBDA.search, words)):
            continue
        rest = [word for factor, word in zip(factors, words, strict=True)
                if isinstance(factor, ast.Name) and not _DISCOUNT.search(word) and not _LAMBDA.search(word)
                and not re.search(r"mask|done|cont|alive|term", word, re.I)]  # fmt: skip
        if len(rest) == 1:
            return rest[0]
    return None
