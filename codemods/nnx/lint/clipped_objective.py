"""NNX985: the clipped objective of PPO with the greater of its two parts, where the smaller one is wanted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.own_ratio import around_one
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_HOMES = ("jax.numpy.", "numpy.", "jax.lax.")
_CLIPPING = frozenset({"clip", "clamp"})
_GREATER, _SMALLER = "the greater of both parts", "the smaller of both negatives"
_TURNED = pattern(r"neg|minus|cost|loss")
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "maximum", "minimum", "max", "min"):
        if not name.startswith(_HOMES) or len(event.node.args) != 2 or in_test(event.scope):
            continue
        scope = event.scope
        parts = [_product(context, scope, node) for node in event.node.args]
        one, two = parts
        if one is None or two is None or one[0] != two[0] or not _clipped_and_not(context, scope, one[1], two[1]):
            continue
        greater = last_word(event.node.func) in {"maximum", "max"}
        # the greater of costs is right: there the advantages are those of a cost, and nothing turns the sign
        if greater is (one[0] > 0) and greater is _negated(context, scope, event):
            yield finding(
                RULE.code,
                scope,
                event.node,
                f"the clipped objective takes {_GREATER if greater else _SMALLER}: nothing holds the policy back "
                "beyond the clipped range",
                "take the smaller one, and its negative as the loss: -jnp.minimum(ratio * adv, clipped * adv).mean()",
            )


def _negated(context: Context, scope: Scope, event: CallEvent, depth: int = 0) -> bool:
    """Say whether the sign of what a call gives is turned, in its statement or where its variable is read."""
    parents = around(context, scope)
    node: ast.AST | None = event.node
    turned = False
    while node is not None and not isinstance(node, ast.stmt):
        outer = parents.get(node)
        if isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.USub):
            turned = not turned
        if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Sub) and outer.right is node:
            turned = not turned
        node = outer
    statement = event.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if isinstance(target, ast.Name):
        turned ^= any(
            isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub) and target.id in names_in(n.operand)
            for n in context.bodies.nodes(scope)
        )
    if isinstance(statement, ast.Return) and scope.function is not None and statement.value is event.node:
        callers = context.flow.sites.callers(scope.function) if depth < _DEPTH else []
        turned ^= any(_negated(context, caller.scope, caller, depth + 1) for caller in callers)
    return turned


def _product(context: Context, scope: Scope, node: ast.expr) -> tuple[int, list[ast.expr]] | None:
    """Return the sign and the two factors of a product; None for anything else."""
    made = node if isinstance(node, ast.BinOp | ast.UnaryOp) else made_by(context, node, scope)
    if made is None:
        return None
    sign, factors = _signed(made)
    if len(factors) != 2:
        return None
    for factor in factors:
        whole = made_by(context, factor, scope) if isinstance(factor, ast.Name) else None
        if isinstance(whole, ast.UnaryOp) and isinstance(whole.op, ast.USub):
            sign = -sign
        elif isinstance(factor, ast.Name) and _TURNED.search(factor.id.lower()):
            return None
    return sign, factors


def _signed(node: ast.expr) -> tuple[int, list[ast.expr]]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, factors = _signed(node.operand)
        return -sign, factors
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        (one, first), (two, second) = _signed(node.left), _signed(node.right)
        return one * two, [*first, *second]
    return 1, [node]


def _clipped_and_not(context: Context, scope: Scope, one: list[ast.expr], two: list[ast.expr]) -> bool:
    """Say whether one product has a ratio clipped around 1, and the other the ratio itself beside the same factor."""
    texts = [[ast.unparse(factor) for factor in factors] for factors in (one, two)]
    common = set(texts[0]) & set(texts[1])
    if len(common) != 1:
        return False
    for plain, clipped in ((one, two), (two, one)):
        ratio = next(factor for factor in plain if ast.unparse(factor) not in common)
        cut = next(factor for factor in clipped if ast.unparse(factor) not in common)
        call = cut if isinstance(cut, ast.Call) else made_by(context, cut, scope)
        if not isinstance(call, ast.Call) or last_word(call.func) not in _CLIPPING or not around_one(call):
            continue
        given = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
        if ast.unparse(ratio) in map(ast.unparse, given):
            return True
    return False


_BAD = """\
import jax.numpy as jnp


def ppo_loss(log_prob, old_log_prob, advantages, eps=0.2):
    ratio = jnp.exp(log_prob - old_log_prob)
    clipped = jnp.clip(ratio, 1 - eps, 1 + eps)
    return -jnp.mean(jnp.maximum(ratio * advantages, clipped * advantages))
"""

RULE = lint_rule(
    "NNX985",
    "greater-objective",
    "the clipped objective of PPO with the greater of its two parts",
    why="""\
PPO takes the smaller of `ratio * advantage` and `clipped * advantage`, so that nothing is won by a ratio beyond the
clipped range. With the greater one, or the smaller one of the negatives, the gradient goes on exactly there.
""",
    source="Schulman et al. 2017, equation 7; measured: a gradient beyond the clipped range",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("maximum", "minimum"),
        _BAD.replace("-jnp.mean", "jnp.mean").replace("ratio * ", "-ratio * ").replace("clipped * ", "-clipped * "),
    ),
)
