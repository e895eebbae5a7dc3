"""NNX986: a loss of a policy that makes actions with an advantage less likely."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import in_test, shown
from codemods.nnx.lint.policy_losses import turned_by_callers
from codemods.nnx.lint.syntax import constant, entry_word, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_LOSS = pattern(r"(^|_)(policy|actor|actor_critic|pg|reinforce|vpg|a2c|a3c|ppo)_(\w+_)?loss")
_ANY_LOSS = pattern(r"_?loss(_fn|_fun|_func|_function)?|\w+_loss_fn")
_ASCENT = pattern(rb"ascen[dt]|maximi[sz]|lambda \w+: ?-\w|negative\(|scale\((lr|learning|\d)", re.I)
_TURNED = pattern(r"neg|minus|objective|surrogate")
_ADVANTAGE = pattern(r"(\w+_)?(advantages?|advs?|returns?|rewards?_to_go)")
_COSTS = pattern(
    rb"(?<![a-z])(costs?|energy|energies|minimi[sz]e|tours?|lengths?_of)(?![a-z])",
    re.I,
    needs=(b"cost", b"energ", b"minimi", b"tour", b"length_of", b"lengths_of"),
)
_REDUCING = frozenset({"mean", "sum"})
_PICKING = frozenset({"take_along_axis", "log_prob", "log_softmax", "logpdf", "squeeze", "sum"})
_READS = ast.Name | ast.Attribute | ast.Subscript | ast.Call
_DEPTH = 5


def _check(context: Context) -> Iterator[Finding]:
    for function, product in context.shared(turned_policies):
        if function.scope.module in context.asked:
            yield finding(
                RULE.code,
                function.scope,
                product,
                f"a step that makes {shown(function)} smaller makes actions with a high advantage less likely",
                "return its negative: -(log_prob * advantage).mean()",
            )


def turned_policies(context: Context) -> list[tuple[FunctionFacts, ast.expr]]:
    """Return the losses of policies without the minus, each with the mean or sum that should have it."""
    found: list[tuple[FunctionFacts, ast.expr]] = []
    for module in context.project.modules:
        for function in module.functions:
            name = function.name.lower()
            if not _is_loss(context, function) or _TURNED.search(name) or in_test(function.scope):
                continue
            returned = [n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
            value = returned[0].value if len(returned) == 1 else None
            while isinstance(value, ast.Tuple) and value.elts:
                value = value.elts[0]
            parts = _added(context, function.scope, value)
            product = next((one for part in parts if (one := _reduced(context, function.scope, part))), None)
            # advantages may be those of a cost, of which less is better
            if product is not None and not module.source.matches(_COSTS) and not turned_by_callers(context, function):
                found.append((function, product))
    return found


def _is_loss(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function is a loss of a policy by its name, or any loss whose gradient is taken."""
    name = function.name.lower()
    if _LOSS.search(name):
        return True
    if not _ANY_LOSS.fullmatch(name) or function.scope.module.source.matches(_ASCENT):
        return False
    return any(root.function is function for root in context.traced.gradients)


def _added(context: Context, scope: Scope, node: ast.expr | None, depth: int = 0) -> Iterator[ast.expr]:
    """Yield what a sum or difference adds, such as the error of a policy beside that of its values."""
    for term in operands(node, ast.Add) if node is not None and depth <= _DEPTH else ():
        made = made_by(context, term, scope) if isinstance(term, ast.Name) else None
        made = made if made is not None else term
        if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Add | ast.Sub):
            yield from _added(context, scope, made.left if isinstance(made.op, ast.Sub) else made, depth + 1)
        else:
            yield made


def _reduced(context: Context, scope: Scope, node: ast.expr | None, depth: int = 0) -> ast.expr | None:
    """Return the product of log-probabilities and advantages whose mean or sum an expression is, with no sign."""
    if node is None or depth > _DEPTH:
        return None
    if isinstance(node, ast.Name):
        return _reduced(context, scope, made_by(context, node, scope), depth + 1)
    if _surrogate(context, scope, node):
        return node  # of one step, which is mapped
    if not isinstance(node, ast.Call) or last_word(node.func) not in _REDUCING:
        return None
    given = array_of(node)
    if isinstance(given, ast.Name):
        given = made_by(context, given, scope)
    if given is not None and _surrogate(context, scope, given):
        return given
    factors = operands(given, ast.Mult) if given is not None else []
    if len(factors) != 2:
        return None
    for chances, advantage in (factors, factors[::-1]):
        if isinstance(advantage, _READS) and _advantage(context, scope, advantage):
            if _log_probability(context, scope, chances):
                return given
    return None


def _surrogate(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether an expression is the clipped objective of PPO: the smaller of two products with the advantage."""
    if not isinstance(node, ast.Call) or last_word(node.func) not in {"minimum", "min"} or len(node.args) != 2:
        return False
    ratios: list[ast.expr] = []
    for one in node.args:
        made = made_by(context, one, scope) if isinstance(one, ast.Name) else one
        factors = operands(made, ast.Mult) if made is not None else []
        others = [f for f in factors if not (isinstance(f, _READS) and _advantage(context, scope, f))]
        if len(factors) != 2 or len(others) != 1:
            return False
        ratios.append(others[0])
    found = [made_by(context, one, scope) if isinstance(one, ast.Name) else one for one in ratios]
    words = {last_word(one.func) for one in found if isinstance(one, ast.Call)}
    return "exp" in words and bool(words & {"clip", "clamp"})


def _advantage(context: Context, scope: Scope, node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return last_word(node.func) == "stop_gradient" and bool(node.args) and _advantage(context, scope, node.args[0])
    word = entry_word(node).lower()
    if not _ADVANTAGE.fullmatch(word) or _TURNED.search(word):
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
        if last_word(node.func) in {"log_prob", "log_softmax", "logpdf"}:
            return True
        if last_word(node.func) == "sum":
            return _of_one_hot(context, scope, node, depth) or _of_density(context, scope, node)
        given = [*node.args[:1], *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        return any(_log_probability(context, scope, one, depth + 1) for one in given)
    if _gaussian(node):
        return True
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else None
    return made is not None and _log_probability(context, scope, made, depth + 1)


def _of_density(context: Context, scope: Scope, node: ast.Call) -> bool:
    """Say whether a call sums the logarithms of the densities of the parts of an action."""
    summed = array_of(node)
    if isinstance(summed, ast.Name):
        summed = made_by(context, summed, scope)
    if isinstance(summed, ast.Call):
        return last_word(summed.func) in {"log_prob", "logpdf"}
    return summed is not None and _gaussian(summed)


def _gaussian(node: ast.expr) -> bool:
    """Say whether an expression is the logarithm of a Gaussian density: ``-0.5 * ((a - mean) / std) ** 2 - ...``."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        node = node.left
    if not isinstance(node, ast.BinOp | ast.UnaryOp) or not ast.unparse(node).lstrip("(").startswith("-"):
        return False
    return any(
        (isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow) and constant(n.right) == 2)
        or (isinstance(n, ast.Call) and last_word(n.func) == "square")
        for n in ast.walk(node)
    )


def _of_one_hot(context: Context, scope: Scope, node: ast.Call, depth: int) -> bool:
    """Say whether a call is ``jnp.sum(log_probs * jax.nn.one_hot(actions, n), axis=-1)``."""
    parts = operands(node.args[0], ast.Mult) if node.args else []
    made = [made_by(context, one, scope) if isinstance(one, ast.Name) else one for one in parts]
    hot = [isinstance(one, ast.Call) and last_word(one.func) == "one_hot" for one in made]
    if len(parts) != 2 or sum(hot) != 1:
        return False
    return _log_probability(context, scope, parts[hot.index(False)], depth + 1)


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
