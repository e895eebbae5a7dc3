"""NNX583: the operator of a linear recurrence that goes backwards, written as if it went forwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test, shown, written
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.values import Const, Item, Param, Sequence

_Place = tuple[str, object]  # a parameter, and which part of it


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "associative_scan"):
        if name != "jax.lax.associative_scan" or not event.value.args or event.value.starred or in_test(event.scope):
            continue
        if constant(keyword(event.node, "reverse")) is not True:
            continue
        callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
        if len(callees) != 1 or callees[0].args or callees[0].keywords or callees[0].receiver is not None:
            continue
        function = callees[0].function
        if _keeps_first(context, function):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"with reverse=True {shown(function)} gets the later element first, and takes it for the earlier",
                "exchange the two parameters of the function",
                related=[(function.node, "the function")] if function.scope.module is event.scope.module else [],
            )


def _keeps_first(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function gives ``(a1 * a2, b1 + a1 * b2)`` of ``(a1, b1)`` and ``(a2, b2)``."""
    params = list(function.params)
    result = function.returns[0] if len(function.returns) == 1 and not function.generator else None
    if len(params) != 2 or function.decorators or not isinstance(result, Sequence) or len(result.items) != 2:
        return False
    if not isinstance(result.node, ast.Tuple) or len(result.node.elts) != 2:
        return False
    decay, total = (written(context, one, function.scope) for one in result.node.elts)
    first, second = params
    if _factors(function, decay) != {(first, 0), (second, 0)}:
        return False
    if not isinstance(total, ast.BinOp) or not isinstance(total.op, ast.Add):
        return False
    return any(
        _place(function, alone) == (first, 1) and _factors(function, product) == {(first, 0), (second, 1)}
        for alone, product in ((total.left, total.right), (total.right, total.left))
    )


def _factors(function: FunctionFacts, node: ast.expr) -> set[_Place | None]:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return set()
    return {_place(function, node.left), _place(function, node.right)}


def _place(function: FunctionFacts, node: ast.expr) -> _Place | None:
    """Return which part of which parameter an expression is; None if it is something else."""
    value = function.scope.module.values.get(node)
    if not isinstance(value, Item) or not isinstance(value.base, Param) or not isinstance(value.index, Const):
        return None
    return (value.base.name, value.index.value) if value.base.function is function else None


RULE = lint_rule(
    "NNX583",
    "earlier-first",
    "the operator of a recurrence under associative_scan with reverse=True, for the forward order",
    why="""\
With `reverse=True` the function of `jax.lax.associative_scan` gets the later element as its first argument. Returns are
`g[t] = r[t] + d[t] * g[t + 1]`: the earlier element, which comes second, keeps its reward and discounts the other.
Written the other way round, the result is another one, and no error is raised.
""",
    source="jax pull request 29313, on the order of arguments; measured on JAX 0.10.2",
    check=_check,
    bad=(
        """\
import jax


def combine(left, right):
    discount_l, reward_l = left
    discount_r, reward_r = right
    return discount_l * discount_r, reward_l + discount_l * reward_r


def returns(rewards, discounts):
    return jax.lax.associative_scan(combine, (discounts, rewards), reverse=True)[1]
""",
    ),
    clean=(
        """\
import jax


def combine(later, earlier):
    discount_l, reward_l = later
    discount_e, reward_e = earlier
    return discount_l * discount_e, reward_e + discount_e * reward_l


def returns(rewards, discounts):
    return jax.lax.associative_scan(combine, (discounts, rewards), reverse=True)[1]
""",
    ),
)
