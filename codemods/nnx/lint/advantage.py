"""NNX734: a policy loss whose advantage lets its gradient into the critic."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import factors
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.policy_losses import model_call
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Item, Unknown

_ADVANTAGE = pattern(r"(^|_)(adv|advs|advantages?|td|td_errors?|deltas?)(_|$)", re.I)
_CRITIC = pattern(r"(^|_)(v|vs|vals?|values?|critics?|baselines?)(_|$)", re.I)
_PARAMS = pattern(r"(^|_)(params?|parameters|weights|theta)$", re.I)
_LOG = pattern(r"log_?p|log_?softmax|log_?pi|nll|cross_entropy|logpdf|logpmf|(^|_)ratios?(_|$)", re.I)
# what gives the same numbers, in another shape or type
_SAME = frozenset({"squeeze", "reshape", "ravel", "flatten", "astype", "asarray"})
_DEPTH = 6


def _check(context: Context) -> Iterator[Finding]:
    told: set[ast.AST] = set()
    for scope, product in each(context, ast.BinOp):
        if not isinstance(product.op, ast.Mult) or scope.function is None or in_test(scope):
            continue
        parts = list(factors(product))
        weights = [(one, found) for one in parts if (found := _advantage(context, one, scope, 0)) is not None]
        if not weights or not any(_logarithm(context, one, scope, 0) for one in parts):
            continue
        for factor, found in weights:
            if found[0] in told or _logarithm(context, factor, scope, 0) or _stopped(context, product, scope):
                continue
            told.add(found[0])
            yield finding(
                RULE.code,
                scope,
                found[0],
                f"the policy's loss trains the critic: its gradient goes through `{ast.unparse(found[1])}` as well",
                "stop it: advantage = jax.lax.stop_gradient(returns - values)",
                related=[(product, "the loss multiplies by it here")],
            )


def _logarithm(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether an expression is a log-probability of a policy, or a ratio of two probabilities, by its names."""
    if depth > _DEPTH:
        return False
    if isinstance(node, ast.Name):
        made = None if _LOG.search(node.id) else made_by(context, node, scope)
        return _LOG.search(node.id) is not None or (made is not None and _logarithm(context, made, scope, depth + 1))
    if isinstance(node, ast.Call):
        if _LOG.search(last_word(node.func)):
            return True
        inner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if last_word(node.func) == "exp" and node.args and isinstance(node.args[0], ast.BinOp):
            return _logarithm(context, node.args[0].left, scope, depth + 1)
        parts = [*node.args[:1], *([inner] if isinstance(inner, ast.Call | ast.Subscript | ast.BinOp) else [])]
        return any(_logarithm(context, one, scope, depth + 1) for one in parts) or _gives(context, node, scope, depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):  # with ones where the actions are
        return any(_logarithm(context, one, scope, depth + 1) for one in factors(node))
    return isinstance(node, ast.Subscript | ast.UnaryOp) and _logarithm(
        context, node.value if isinstance(node, ast.Subscript) else node.operand, scope, depth + 1
    )


def _gives(context: Context, node: ast.Call, scope: Scope, depth: int) -> bool:
    """Say whether a function of the project gives log-probabilities: ``return nnx.log_softmax(h)``."""
    value = scope.module.values.get(node)
    if not isinstance(value, Call):
        return False
    found = [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(value, scope))]
    if not found and isinstance(value.callee, Attr):
        owners = context.sources.originals(context.flow.here(value.callee.base, scope))
        classes = [context.flow.classes.class_of(owner) for owner in owners]
        methods = [context.flow.classes.method(one, value.callee.name) for one in classes if one is not None]
        found = [one for one in methods if one is not None]
    ends = [_returned(context, function) for function in found]
    return bool(ends) and all(
        end is not None and _logarithm(context, end, function.scope, depth + 2)
        for end, function in zip(ends, found, strict=True)
    )


def _returned(context: Context, function: FunctionFacts) -> ast.expr | None:
    """Return the one array that a function gives; None if it gives several, or one of several."""
    if isinstance(function.node, ast.Lambda):
        return function.node.body
    given = [n.value for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
    return given[0] if len(given) == 1 and isinstance(given[0], ast.Call | ast.Name | ast.Subscript) else None


def _advantage(context: Context, node: ast.expr, scope: Scope, depth: int) -> tuple[ast.expr, ast.expr] | None:
    """Return the difference of returns and values that an expression is, and the values, if gradients go into them."""
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Name):
        made = made_by(context, node, scope)
        return _advantage(context, made, scope, depth + 1) if made is not None else None
    if isinstance(node, ast.Call):
        inner = _reshaped(node)
        return _advantage(context, inner, scope, depth + 1) if inner is not None else None
    if not isinstance(node, ast.BinOp):
        return None
    if isinstance(node.op, ast.Sub) and _critic(context, node.right, scope, 0) and _named(context, node, scope):
        return node, node.right
    if isinstance(node.op, ast.Sub | ast.Div | ast.Mult):
        return _advantage(context, node.left, scope, depth + 1)
    return None


def _named(context: Context, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether a difference is called an advantage, or what it takes off a value."""
    outer = around(context, scope).get(node)
    names = [last_word(t) for t in outer.targets] if isinstance(outer, ast.Assign) else []
    right = node.right
    while (inner := _reshaped(right)) is not None:
        right = inner
    words = {last_word(n.func) for n in (right,) if isinstance(n, ast.Call)} | {last_word(right)}
    return any(map(_ADVANTAGE.search, names)) or any(map(_CRITIC.search, words))


def _reshaped(node: ast.expr) -> ast.expr | None:
    """Return the array of which an expression takes a part or the numbers in another shape."""
    if isinstance(node, ast.Subscript):
        return node.value
    if not isinstance(node, ast.Call) or last_word(node.func) not in _SAME:
        return None
    if isinstance(node.func, ast.Attribute) and not (
        isinstance(node.func.value, ast.Name) and node.func.value.id in {"jnp", "np", "jax", "lax"}
    ):
        return node.func.value
    return node.args[0] if node.args else None


def _critic(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether an expression is what the differentiated model gives, with its gradient."""
    if isinstance(node, ast.Subscript) and _entry(node, scope):
        return True
    inner = _reshaped(node)
    if inner is not None and depth < _DEPTH:
        return _critic(context, inner, scope, depth + 1)
    if isinstance(node, ast.Name):
        value = scope.module.values.get(node)
        while isinstance(value, Item):
            value = value.base
        made = value.node if isinstance(value, Call | Unknown) else None
        if isinstance(made, ast.Call | ast.Subscript):
            return depth < _DEPTH and _critic(context, made, scope, depth + 1)
        return False
    return isinstance(node, ast.Call) and context.bodies.home(node) is scope and model_call(context, node, scope)


def _entry(node: ast.Subscript, scope: Scope) -> bool:
    """Say whether an expression is a value among what is learned: ``params["value"]`` of a loss of ``params``."""
    word, function = constant(node.slice), scope.function
    if function is None or not isinstance(word, str) or not _CRITIC.search(word):
        return False
    first = next((param for param in function.params.values() if param is not function.self_param), None)
    return first is not None and _PARAMS.search(first.name) is not None and scope.module.values.get(node.value) is first


def _stopped(context: Context, node: ast.AST, scope: Scope) -> bool:
    """Say whether an expression stands in a call that stops its gradient."""
    above = around(context, scope)
    outer = above.get(node)
    while isinstance(outer, ast.expr):
        if isinstance(outer, ast.Call) and last_word(outer.func) == "stop_gradient":
            return True
        outer = above.get(outer)
    return False


_BAD = """\
import jax
import jax.numpy as jnp
from flax import nnx


class Agent(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.actor = nnx.Linear(3, 2, rngs=rngs)
        self.critic = nnx.Linear(3, 1, rngs=rngs)


def loss_fn(agent, obs, actions, returns):
    values = agent.critic(obs)[:, 0]
    log_probs = nnx.log_softmax(agent.actor(obs))[jnp.arange(len(actions)), actions]
    advantage = returns - values
    return -jnp.mean(log_probs * advantage) + jnp.mean((returns - values) ** 2)


agent = Agent(nnx.Rngs(0))
grads = nnx.grad(loss_fn)(agent, jnp.ones((4, 3)), jnp.zeros(4, int), jnp.ones(4))
"""

RULE = lint_rule(
    "NNX734",
    "advantage-with-gradient",
    "an advantage in the loss of a policy that lets the gradient into the critic",
    why="""\
The policy's gradient weighs log-probabilities by the advantage as by a number. Where the values in it come from the
model that is differentiated, the loss can also be made small by wrong values: they grow without bound for likely
actions, and the policy learns from them. `jax.lax.stop_gradient` around the advantage makes it a number; the loss of
the values is left as it is.
""",
    source="Mnih et al. 2016, Asynchronous Methods for Deep Reinforcement Learning; measured: values far from returns",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("advantage = returns - values", "advantage = jax.lax.stop_gradient(returns - values)"),),
)
