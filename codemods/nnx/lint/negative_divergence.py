"""The divergence from a standard normal distribution without its minus; part of NNX552."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.places import formula_of, in_test, written
from codemods.nnx.lint.templates import match
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_NAMED = pattern(r"(^|_)kld?(_|\d|$)|kl_?div|divergence", re.I)
_NEGATIVE = pattern(r"neg|minus|elbo|evidence", re.I)
# a difference from it anywhere, or a bound that grows with it: what calls it then knows of the sign
_TAKEN_AWAY = pattern(rb"(?<![A-Za-z])-[^\n]*(kl|KL|diverg)|elbo|ELBO|evidence|lower_bound|maximi[sz]|reward|ascent")
_INNER = (
    "1 + L - M**2 - exp(L)",
    "1 + 2*L - M**2 - exp(2*L)",
    "1 + log(V) - M**2 - V",
    "1 + 2*log(S) - M**2 - S**2",
)
_FORMS = tuple(
    form.format(inner)
    for inner in _INNER
    for form in ("0.5*sum({})", "0.5*mean({})", "sum(0.5*({}))", "mean(0.5*({}))", "0.5*({})")
)
_DEPTH = 3  # sums and means around it


def negative_divergences(context: Context) -> Iterator[tuple[Scope, ast.expr]]:
    """Yield what functions give for a divergence, and is never above zero.

    Args:
        context: the analysis.
    """
    for module in context.asked.modules:
        source = module.source
        if not (source.mentions(b"kl") or source.mentions(b"diverg")) or source.matches(_TAKEN_AWAY):
            continue
        for function in module.functions:
            if not _NAMED.search(function.name) or _NEGATIVE.search(source.text(function.node)):
                continue
            given = formula_of(context, function) if not in_test(function.scope) else None
            if given is not None and _negative(context, given, function.scope):
                yield function.scope, given


def _negative(context: Context, node: ast.expr, scope: Scope) -> bool:
    for _ in range(_DEPTH):
        node = written(context, node, scope)
        if any(match(form, node, lambda one: written(context, one, scope)) is not None for form in _FORMS):
            return True
        inner = array_of(node) if isinstance(node, ast.Call) and last_word(node.func) in {"mean", "sum"} else None
        if inner is None:
            return False
        node = inner
    return False
