"""NNX986: a loss of a policy that makes actions with an advantage less likely."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test, shown
from codemods.nnx.lint.policy_losses import made_by
from codemods.nnx.lint.syntax import inside, operands
from codemods.nnx.nodes import last_word

_LOSS = re.compile(r"(^|_)(policy|actor|pg|reinforce|vpg|a2c)_(\w+_)?loss")
_TURNED = re.compile(r"neg|minus|objective|surrogate")
_ADVANTAGE = re.compile(r"(\w+_)?(advantages?|advs?|returns?|rewards?_to_go)")
_COSTS = re.compile(rb"(?<![a-z])(costs?|energy|energies|minimi[sz]e|tours?|lengths?_of)(?![a-z])", re.I)
_REDUCING = frozenset({"mean", "sum"})
_PICKING = frozenset({"take_along_axis", "log_prob", "log_softmax", "squeeze"})
_DEPTH = 5


def _check(context: Context) -> Iterator[Finding]:
    for module in context.asked.modules:
        if _COSTS.search(module.source.data):
            continue  # advantages may be those of a cost, of which less is better
        for function in module.functions:
            name = function.name.lower()
            if not _LOSS.search(name) or _TURNED.search(name) or in_test(function.scope):
                continue
            returned = [n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
            value = returned[0].value if len(returned) == 1 else None
            while isinstance(value, ast.Tuple) and value.elts:
                value = value.elts[0]
            product = _reduced(context, function.scope, value)
            if product is not None and not _turned(context, function):
                yield finding(
                    RULE.code,
                    function.scope,
                    product,
                    f"a step that makes {shown(function)} smaller makes actions with a high advantage less likely",
                    "return its negative: -(log_prob * advantage).mean()",
                )


def _reduced(context: Context, scope: Scope, node: ast.expr | None, depth: int = 0) -> ast.expr | None:
    """Return the product of log-probabilities and advantages whose mean or sum an expression is, with no sign."""
    if node is None or depth > _DEPTH:
        return None
    if isinstance(node, ast.Name):
        return _reduced(context, scope, made_by(context, node, scope), depth + 1)
    if not isinstance(node, ast.Call) or last_word(node.func) not in _REDUCING:
        return None
    given = node.args[0] if node.args else node.func.value if isinstance(node.func, ast.Attribute) else None
    if isinstance(given, ast.Name):
        given = made_by(context, given, scope)
    factors = operands(given, ast.Mult) if given is not None else []
    if len(factors) != 2:
        return None
    for chances, advantage in (factors, factors[::-1]):
        if isinstance(advantage, ast.Name | ast.Attribute | ast.Call) and _advantage(context, scope, advantage):
            if _log_probability(context, scope, chances):
                return given
    return None


def _advantage(context: Context, scope: Scope, node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return last_word(node.func) == "stop_gradient" and bool(node.args) and _advantage(context, scope, node.args[0])
    if not _ADVANTAGE.fullmatch(last_word(node).lower()) or _TURNED.search(last_word(node).lower()):
        return False
    made = made_by(context, node, scope)
    return not (isinstance(made, ast.UnaryOp) and isinstance(made.op, ast.USub))


def _log_probability(context: Context, scope: Scope, node: ast.expr, depth: int = 0) -> bool:
    """Say whether an expression picks log-probabilities of actions."""
    if depth > _DEPTH:
        return False
    if isinstance(node, ast.Subscript):
        return _log_probability(context, scope, node.value, depth + 1)
    if isinstance(node, ast.Call) and last_word(node.func) in _PICKING:
        if last_word(node.func) in {"log_prob", "log_softmax"}:
            return True
        return bool(node.args) and _log_probability(context, scope, node.args[0], depth + 1)
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else None
    return made is not None and _log_probability(context, scope, made, depth + 1)


def _turned(context: Context, function: FunctionFacts) -> bool:
    """Say whether a caller turns the sign, or adds the gradient."""
    for event in context.flow.sites.callers(function):
        graded = isinstance(event.node.func, ast.Call)  # jax.grad(loss)(...), which a step subtracts
        for node in ast.walk(event.statement):
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and inside(event.node, node.operand):
                return True
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add if graded else ast.Sub):
                if inside(event.node, node.right) or (graded and inside(event.node, node.left)):
                    return True
            if isinstance(node, ast.Lambda) and any(isinstance(n, ast.UnaryOp) for n in ast.walk(node)):
                return True
    return False


_BAD = """\
import jax
import jax.numpy as jnp


def policy_loss(logits, actions, advantages):
    log_probs = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_probs, actions[:, None], axis=-1)[:, 0]
    return jnp.mean(chosen * advantages)
"""

RULE = lint_rule(
    "NNX986",
    "policy-sign",
    "a loss of a policy without the minus",
    why="""\
The gradient of the mean of `log_prob * advantage` makes actions with a high advantage more likely. An optimizer goes
against the gradient of what it is given, so that the loss has to be the negative. The rule goes by the names of the
function and of the advantages, and is silent where a caller turns the sign, or where the file speaks of costs.
""",
    source="Sutton and Barto, section 13.3; measured: the probability of the better action falls",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("return jnp", "return -jnp"),),
)
