"""NNX651: percentiles that are given as shares, and quantiles that are given in percent."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.syntax import argument, written_number

_PERCENT = frozenset({"percentile", "nanpercentile"})
_SHARES = frozenset({"quantile", "nanquantile"})


def _check(context: Context) -> Iterator[Finding]:
    found: dict[ModuleFacts, list[tuple[CallEvent, str, list[float]]]] = {}
    for event, name in foreign(context, *_PERCENT, *_SHARES):
        if name.startswith(("jax.numpy.", "numpy.")) and not in_test(event.scope):
            node = argument(event.node, 1, "q")
            asked = [written_number(one) for one in _parts(context, node, event.scope)] if node is not None else []
            found.setdefault(event.scope.module, []).append((event, last(name), [n for n in asked if n is not None]))
    for every in found.values():
        shares = [one for one in every if one[1] in _SHARES and any(number > 1 for number in one[2])]
        percent = [one for one in every if one[1] in _PERCENT and one[2]]
        # half of one percent is asked for where 99.5 percent are asked for as well
        if all(0 <= number <= 1 for _, _, numbers in percent for number in numbers):
            shares += [one for one in percent if any(0 < number < 1 for number in one[2])]
        told: set[Scope] = set()
        for event, word, numbers in shares:
            if event.scope in told:
                continue
            told.add(event.scope)
            if word in _PERCENT:
                text = f"`{word}` counts from 0 to 100: {max(numbers):g} is less than the hundredth part"
                right = word.replace("percentile", "quantile")
            else:
                text = f"`{word}` counts from 0 to 1, and {max(numbers):g} is NaN or refused"
                right = word.replace("quantile", "percentile")
            yield finding(RULE.code, event.scope, event.node, text, f"take {right}")


def _parts(context: Context, node: ast.expr, scope: Scope) -> list[ast.expr]:
    """Return the numbers that are asked for, of which there may be a list."""
    node = written(context, node, scope)
    if isinstance(node, ast.Call) and len(node.args) == 1:  # jnp.array([...])
        node = written(context, node.args[0], scope)
    return list(node.elts) if isinstance(node, ast.List | ast.Tuple) else [node]


_BAD = """\
import jax.numpy as jnp


def interval(draws):
    return jnp.percentile(draws, 0.025), jnp.percentile(draws, 0.975)
"""

RULE = lint_rule(
    "NNX651",
    "percent-scale",
    "a percentile that is given as a share, or a quantile in percent",
    why="""\
`jnp.percentile` counts from 0 to 100 and `jnp.quantile` from 0 to 1. A percentile of 0.975 is nearly the least of all
numbers, so that intervals and thresholds collapse to it; a quantile of 97.5 is NaN.
""",
    source="jax.numpy.percentile, jax.numpy.quantile; measured: intervals of no width",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("percentile", "quantile"),),
)
