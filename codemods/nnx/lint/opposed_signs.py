"""NNX925: two parts of a loss of which one has the wrong sign: a divergence, an entropy, or a volume."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import squared
from codemods.nnx.lint.around import around
from codemods.nnx.lint.arrays import ELEMENTWISE_LOSSES
from codemods.nnx.lint.batch_volumes import batch_volumes
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.flow_volumes import wrong_volumes
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import each, formula_of, in_test, resolved
from codemods.nnx.lint.policy_sign import turned_policies
from codemods.nnx.lint.syntax import constant, entry_word, one_of, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Unknown

_DIVERGENCE, _ERROR, _ENTROPY, _POLICY = "divergence", "error", "entropy", "policy"
_REDUCING = frozenset({"sum", "mean", "nansum", "nanmean", "average", "squeeze", "reshape", "asarray", "astype"})
_LOSSES = ELEMENTWISE_LOSSES | {"softmax_cross_entropy", "softmax_cross_entropy_with_integer_labels"}
_ADVANTAGE = pattern(r"(^|_)(adv|advs|advantages?)(_|$)", re.I)
_LOG = pattern(r"log_?p|log_?pi|(^|_)ratios?(_|$|\d)|log_?softmax", re.I)
_NEGATED = pattern(r"nll|neg|cross_entropy", re.I)
_NAMED = pattern(r"(^|_)(mse|bce|nll|recon_loss|rec_loss|reconstruction_loss)$", re.I)
_DEPTH = 10


class _Part(NamedTuple):
    """What a term of a loss is.

    Attributes:
        kind: what quantity, of which more is worse; more of an entropy is better.
        sign: 1 for the quantity itself, -1 for minus it.
    """

    kind: str
    sign: int


def _check(context: Context) -> Iterator[Finding]:
    for scope, terms in _sums(context):
        if len(terms) > 6:
            continue
        parts = [(term, part.kind, sign * part.sign) for term, sign in terms
                 if (part := _part(context, term, scope, 0)) is not None]  # fmt: skip
        for term, kind, sign in parts:
            others = {(other, s) for _, other, s in parts}
            if kind == _DIVERGENCE and (_ERROR, -sign) in others and (_ERROR, sign) not in others:
                words = f"`{ast.unparse(term)}` is minus the divergence: the loss is least where it is greatest"
                help = "the divergence is -0.5 * sum(1 + logvar - mean**2 - exp(logvar)), and is added to the error"
            elif kind == _ENTROPY and (_POLICY, sign) in others and (_POLICY, -sign) not in others:
                if any(function.scope is scope for function, _ in context.shared(turned_policies)):
                    continue  # the entropy is right, and NNX986 tells of the policy
                words = f"the loss grows with the entropy, `{ast.unparse(term)}`: the policy is fined for trying"
                help = "take the entropy off the loss: policy_loss - weight * entropy"
            else:
                continue
            yield finding(RULE.code, scope, term, words, help)
    for scope, volume, density in wrong_volumes(context):
        if isinstance(volume, ast.BinOp):  # of several changes, each of which is right
            words = f"`{ast.unparse(density)}` has the volume with the sign of the other direction"
            help = "add the logarithm of the change from the data to the noise: base + logdet"
            yield finding(RULE.code, scope, density, words, help)
            continue
        yield finding(
            RULE.code,
            scope,
            volume,
            f"`{ast.unparse(volume)}` is the volume of the other direction: the density does not add up to one",
            "return the logarithm of what this function multiplies by: minus the sum, where it divides by exp",
            related=[(density, "added here")],
        )
    for scope, summed, home, density in batch_volumes(context):
        yield finding(
            RULE.code,
            scope,
            summed,
            f"without an axis `{ast.unparse(summed)}` is the volume of all examples together, and each density adds it",
            "take that of each example: jnp.sum(..., axis=-1)",
            related=[(density, "added here")] if home.module is scope.module else [],
        )


def _sums(context: Context) -> Iterator[tuple[Scope, list[tuple[ast.expr, int]]]]:
    """Yield the sums in functions, as their terms with their signs."""
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Add | ast.Sub) or scope.function is None or in_test(scope):
            continue
        outer = around(context, scope).get(node)
        if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Add | ast.Sub):
            continue
        if _divergence(context, node, scope) is None:
            yield scope, list(_terms(node, 1))
    for scope, added in each(context, ast.AugAssign):  # loss += kl
        if not isinstance(added.op, ast.Add | ast.Sub) or not isinstance(added.target, ast.Name) or in_test(scope):
            continue
        names = context.bodies.names(scope).get(added.target.id, ())
        before = [
            n.value
            for n in context.bodies.nodes(scope)
            if isinstance(n, ast.Assign) and len(n.targets) == 1 and n.targets[0] in names and n.lineno < added.lineno
        ]
        if len(before) == 1:
            yield scope, [*_terms(before[0], 1), *_terms(added.value, 1 if isinstance(added.op, ast.Add) else -1)]


def _terms(node: ast.expr, sign: int) -> Iterator[tuple[ast.expr, int]]:
    """Yield the terms of a sum with their signs."""
    waiting = [(node, sign)]
    while waiting:  # thousands of terms are as many levels
        one, sign = waiting.pop()
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add | ast.Sub):
            waiting += [(one.right, sign if isinstance(one.op, ast.Add) else -sign), (one.left, sign)]
        elif isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.USub):
            waiting.append((one.operand, -sign))
        else:
            yield one, sign


def _part(context: Context, node: ast.expr, scope: Scope, depth: int) -> _Part | None:
    """Return what a term is; None if that is not known."""
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _turned(_part(context, node.operand, scope, depth + 1), -1)
    if isinstance(node, ast.Name):
        made = _made(context, node, scope)
        if made is node:
            return _Part(_ERROR, 1) if _NAMED.search(node.id) else None
        return _part(context, made, scope, depth + 1)
    if isinstance(node, ast.Subscript):
        return _part(context, node.value, scope, depth + 1)
    if isinstance(node, ast.Call):
        return _called(context, node, scope, depth)
    if not isinstance(node, ast.BinOp):
        return None
    if isinstance(node.op, ast.Mult):
        return _product(context, node, scope, depth)
    if isinstance(node.op, ast.Div):
        return _part(context, node.left, scope, depth + 1)
    if isinstance(node.op, ast.Pow):
        return _Part(_ERROR, 1) if constant(node.right) == 2 and _difference(context, node.left, scope) else None
    return _divergence(context, node, scope)


def _turned(part: _Part | None, sign: int) -> _Part | None:
    return _Part(part.kind, part.sign * sign) if part is not None else None


def _called(context: Context, node: ast.Call, scope: Scope, depth: int) -> _Part | None:
    """Return what a call gives."""
    word, inner = last_word(node.func), node.func.value if isinstance(node.func, ast.Attribute) else None
    value = scope.module.values.get(node)
    name = context.flow.calls.callee_name(context.flow.here(value, scope)) if isinstance(value, Call) else ""
    if name:
        if name.startswith("optax.") and word in _LOSSES:
            return _Part(_ERROR, 1)
        if not name.startswith("jax.") or not node.args:
            return None
        if word in {"minimum", "maximum"} and len(node.args) == 2:
            first, second = (_part(context, one, scope, depth + 1) for one in node.args)
            return first if first == second else None
        if word == "where" and len(node.args) == 3 and constant(node.args[2]) == 0:
            return _part(context, node.args[1], scope, depth + 1)
        if word in {"square", "abs"}:
            return _Part(_ERROR, 1) if _difference(context, node.args[0], scope) else None
        return _part(context, node.args[0], scope, depth + 1) if word in _REDUCING else None
    if word == "entropy" and inner is not None and not node.args:
        return _Part(_ENTROPY, 1)
    if not isinstance(value, Call):
        return None
    functions = [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(value, scope))]
    if len(functions) == 1:
        formula = formula_of(context, functions[0])
        return _part(context, formula, functions[0].scope, depth + 1) if formula is not None else None
    if inner is not None and not functions and word in _REDUCING:
        return _part(context, inner, scope, depth + 1)
    return None


def _product(context: Context, node: ast.BinOp, scope: Scope, depth: int) -> _Part | None:
    """Return what a product is: one with a weight, or a log-probability with an advantage or its probability."""
    sign, factors = 1, list[ast.expr]()
    for factor in operands(node, ast.Mult):
        while isinstance(factor, ast.UnaryOp) and isinstance(factor.op, ast.USub):
            sign, factor = -sign, factor.operand
        number = constant(factor)
        if isinstance(number, int | float):
            sign = sign if number > 0 else -sign
        else:
            factors.append(factor)
    if len(factors) == 2:
        for one, other in (factors, factors[::-1]):
            if _ADVANTAGE.search(_word(one)) and not _ADVANTAGE.search(_word(other)):
                if _NEGATED.search(_word(other)):
                    return _Part(_POLICY, sign)
                return _Part(_POLICY, -sign) if _LOG.search(_word(other)) or _clipped(other) else None
            if same_probability(context, one, other, scope):
                return _Part(_ENTROPY, -sign)
    parts = [(factor, _part(context, factor, scope, depth + 1)) for factor in factors]
    known = [part for _, part in parts if part is not None]
    weights = [factor for factor, part in parts if part is None]
    if len(known) != 1 or not all(isinstance(one, ast.Name | ast.Attribute | ast.Subscript) for one in weights):
        return None
    return _turned(known[0], sign)


def _word(node: ast.expr) -> str:
    """Return the name of a factor, also within ``stop_gradient`` or a function that gives it."""
    if isinstance(node, ast.Call):
        if last_word(node.func) in {"stop_gradient", "squeeze", "exp"} and node.args:
            return _word(node.args[0])
        return last_word(node.func)
    return entry_word(node)


def _clipped(node: ast.expr) -> bool:
    """Say whether a factor is a ratio that is clipped."""
    return (
        isinstance(node, ast.Call)
        and last_word(node.func) == "clip"
        and bool(node.args)
        and _LOG.search(_word(node.args[0])) is not None
    )


def same_probability(context: Context, one: ast.expr, other: ast.expr, scope: Scope) -> bool:
    """Say whether two factors are a probability and its own logarithm."""
    one, other = _unmasked(one), _unmasked(other)
    chance, logarithm = _made(context, one, scope), _made(context, other, scope)
    if not isinstance(chance, ast.Call) or not isinstance(logarithm, ast.Call):
        return False
    if not chance.args or not logarithm.args:
        return False
    words = last_word(chance.func), last_word(logarithm.func)
    if words == ("softmax", "log_softmax"):
        return ast.unparse(chance.args[0]) == ast.unparse(logarithm.args[0])
    if words == ("exp", "log_softmax"):
        return ast.unparse(chance.args[0]) in {ast.unparse(other), ast.unparse(logarithm)}
    inner = logarithm.args[0].left if isinstance(logarithm.args[0], ast.BinOp) else logarithm.args[0]
    return words == ("softmax", "log") and ast.unparse(inner) in {ast.unparse(one), ast.unparse(chance)}


def _unmasked(node: ast.expr) -> ast.expr:
    """Return what ``jnp.where(mask, x, 0)`` keeps; another expression itself."""
    masked = isinstance(node, ast.Call) and last_word(node.func) == "where" and len(node.args) == 3
    return node.args[1] if masked and isinstance(node, ast.Call) and constant(node.args[2]) == 0 else node


def _made(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return the expression that a variable is the name of; another expression itself."""
    if not isinstance(node, ast.Name):
        return node
    made = made_by(context, node, scope)
    if made is None and (bound := resolved(context, node, scope)) is not None:  # one of several assigned at once
        value = bound.value
        made = value.node if isinstance(value, Call | Unknown) and isinstance(value.node, ast.expr) else None
        made = made if made is not None and context.bodies.home(made) is scope else None
    return made if made is not None else node


def _difference(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is a difference of two."""
    made = _made(context, node, scope)
    return isinstance(made, ast.BinOp) and isinstance(made.op, ast.Sub)


def _divergence(context: Context, node: ast.expr, scope: Scope) -> _Part | None:
    """Return the divergence of a Gaussian from the normal one: ``1 + logvar - mean**2 - exp(logvar)`` is minus it."""
    given = list(_terms(node, 1))
    if len(given) != 4:
        return None
    terms = [(_made(context, term, scope), term, sign) for term, sign in given]
    signs = {sign for made, _, sign in terms if one_of(made, (1,))}
    squares = {sign for made, _, sign in terms if squared(made) is not None}
    exps = {sign for made, _, sign in terms
            if any(s == -sign and _is_exp(context, made, other, scope) for _, other, s in terms)}  # fmt: skip
    if len(signs) != 1 or not exps:
        return None
    one = signs.pop()
    if squares | exps != {-one} or len([1 for _, _, sign in terms if sign == one]) != 2:
        return None
    return _Part(_DIVERGENCE, -one)


def _is_exp(context: Context, made: ast.expr, other: ast.expr, scope: Scope) -> bool:
    """Say whether one term is the exponential of another, or the other its logarithm."""
    if isinstance(made, ast.Call) and last_word(made.func) == "exp" and len(made.args) == 1:
        return ast.unparse(made.args[0]) == ast.unparse(other)
    log = _made(context, other, scope)
    if isinstance(log, ast.Call) and last_word(log.func) == "log" and len(log.args) == 1:
        return ast.unparse(_made(context, log.args[0], scope)) == ast.unparse(made)
    return False


_BAD = """\
import jax.numpy as jnp


def vae_loss(recon, x, mean, logvar):
    error = jnp.sum((recon - x) ** 2, axis=-1)
    kl = 0.5 * jnp.sum(1 + logvar - mean**2 - jnp.exp(logvar), axis=-1)
    return jnp.mean(error + kl)
"""
_POLICY_BAD = """\
import jax
import jax.numpy as jnp


def loss_fn(logits, log_prob, advantages):
    probs, log_probs = jax.nn.softmax(logits), jax.nn.log_softmax(logits)
    entropy = -jnp.sum(probs * log_probs, axis=-1).mean()
    policy_loss = -jnp.mean(log_prob * advantages)
    return policy_loss + 0.01 * entropy
"""

RULE = lint_rule(
    "NNX925",
    "part-with-wrong-sign",
    "a divergence, an entropy, or the volume of a flow with the wrong sign beside the other part, or of a whole batch",
    why="""\
`1 + logvar - mean**2 - exp(logvar)` is minus twice the divergence of a VAE's code. Without the minus in front of it the
loss has no lower bound: it rewards codes far from the prior. The entropy of a policy is a bonus; added to a loss it is
fined, and the policy stops trying early. The density of a flow adds the volume of the step that leads to the base, and
takes off that of the step which leads away from it; each example has its own.
""",
    source="Kingma and Welling 2014, appendix B; Mnih et al. 2016; measured: the loss falls without bound",
    severity="error",
    check=_check,
    bad=(_BAD, _POLICY_BAD),
    clean=(
        _BAD.replace("kl = 0.5", "kl = -0.5"),
        _BAD.replace("error + kl", "error - kl"),
        _POLICY_BAD.replace("policy_loss + 0.01", "policy_loss - 0.01"),
    ),
)
