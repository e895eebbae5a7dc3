"""NNX941: generalized advantages that are summed up across the end of an episode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.advantage_terms import (
    DISCOUNT,
    ENDING,
    LAMBDA,
    assigned_names,
    factors,
    formulas,
    goes_on,
    is_rate,
    root_name,
    spread,
    sums,
    words_of,
)
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.syntax import constant, entry_word, names_in, operands
from codemods.nnx.nodes import last_word

_CHOOSING = frozenset({"where", "select", "cond", "select_n"})


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in sums(context):
        carried = _carried(context, node, scope)
        if carried is None or not _ends_in(context, carried, node, scope):
            continue
        if not _reset(context, carried, node, scope):
            text = ast.unparse(carried)
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{text}` of the next episode is added behind the end of one: only the value is left out there",
                f"leave it out too: delta + gamma * lam * (1 - done) * {text}",
            )


def _carried(context: Context, node: ast.BinOp, scope: Scope) -> ast.expr | None:
    """Return the sum of the later steps that ``delta + gamma * lam * later`` goes on with."""
    terms = operands(node, ast.Add)
    if not 2 <= len(terms) <= 4:
        return None
    found = [one for one in (_later(context, term, scope) for term in terms) if one is not None]
    return found[0] if len(found) == 1 and goes_on(context, found[0], node, scope) else None


def _later(context: Context, term: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the one factor of a product with a discount and a lambda that is neither."""
    parts = [inner for part in factors(term) for inner in spread(context, part, scope, 0)]
    if not 3 <= len(parts) <= 4:
        return None
    rates = [one for one in parts if is_rate(context, one, scope)]
    rest = [one for one in parts if one not in rates]
    words = [entry_word(one) for one in rates]
    by_name = any(map(DISCOUNT.search, words)), any(map(LAMBDA.search, words))
    if len(rest) != 1 or len(rates) < 2 or not any(by_name):
        return None
    if not all(by_name) and not any(isinstance(constant(one), float) for one in rates):
        return None
    return rest[0] if isinstance(rest[0], ast.Name | ast.Attribute | ast.Subscript) else None


def _ends_in(context: Context, carried: ast.expr, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether the other terms of a sum leave something out at the end of an episode, and the carry does not."""
    if any(isinstance(n, ast.Name | ast.Attribute) and ENDING.search(last_word(n)) for n in ast.walk(carried)):
        return False
    for term in operands(node, ast.Add):
        if _later(context, term, scope) is not None:
            continue
        for formula, home in formulas(context, term, scope, 0):
            if isinstance(formula, ast.BinOp) and isinstance(formula.op, ast.Add | ast.Sub):
                if any(map(ENDING.search, words_of(context, formula, home))) or _by_discount(context, formula, home):
                    return True
    return False


def _by_discount(context: Context, term: ast.expr, scope: Scope) -> bool:
    """Say whether an error has the discount of a record's step beside the one of all steps."""
    for node in ast.walk(term):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            parts = factors(node)
            if any(isinstance(one, ast.Attribute) and one.attr == "discount" and not is_rate(context, one, scope)
                   for one in parts) and any(is_rate(context, one, scope) for one in parts):  # fmt: skip
                return True
    return False


def _reset(context: Context, carried: ast.expr, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether a function sets the sum to zero at an end in any other way."""
    names = {root_name(carried)} | assigned_names(context, node, scope)
    above, own = around(context, scope), set(ast.walk(node))
    for one in context.bodies.nodes(scope):
        parts: list[ast.expr] = []
        if isinstance(one, ast.BinOp):
            if not isinstance(one.op, ast.Mult) or isinstance(above.get(one), ast.BinOp) or one in own:
                continue
            parts = factors(one)
        elif isinstance(one, ast.Call) and last_word(one.func) in _CHOOSING:
            parts = [*one.args, *(word.value for word in one.keywords)]
        elif isinstance(one, ast.IfExp):
            parts = [one.test, one.body, one.orelse]
        elif isinstance(one, ast.If):
            stored = {n.id for inner in one.body for n in ast.walk(inner) if isinstance(n, ast.Name)}
            if stored & names and any(map(ENDING.search, words_of(context, one.test, scope))):
                return True
        if any(names_in(part) & names for part in parts):
            if any(map(ENDING.search, (word for part in parts for word in words_of(context, part, scope) - names))):
                return True
    return False


_BAD = """\
import jax
import jax.numpy as jnp


def advantages(rewards, values, dones, gamma=0.99, lam=0.95):
    def step(gae, now):
        reward, value, next_value, done = now
        delta = reward + gamma * (1.0 - done) * next_value - value
        gae = delta + gamma * lam * gae
        return gae, gae

    steps = rewards, values[:-1], values[1:], dones
    return jax.lax.scan(step, jnp.zeros(()), steps, reverse=True)[1]
"""
RULE = lint_rule(
    "NNX941",
    "advantage-across-episodes",
    "generalized advantages that are summed up across the end of an episode",
    why="""\
Where an episode ends, nothing of the next one belongs to it: neither the value of the state that comes next, nor the
advantages that were summed up from there. A recursion that leaves out the value alone, and goes on with
`gamma * lam * gae`, judges the last actions of an episode by the rewards of the next.
""",
    source="Schulman et al. 2016, equation 16; measured: rewards of the second episode change advantages of the first",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("gamma * lam * gae", "gamma * lam * (1.0 - done) * gae"),),
)
