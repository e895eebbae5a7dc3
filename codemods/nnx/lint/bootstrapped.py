"""NNX778: a temporal-difference target that lets the gradient through."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.policy_losses import factors, graded, made_by, model_call, stops_gradients
from codemods.nnx.lint.syntax import constant, entry_word, names_in, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_DISCOUNT = re.compile(r"(^|_)(gammas?|discounts?|disc)(_|$)", re.I)
_REWARD = re.compile(r"(^|_)(r|rs|rew|rews|rewards?|costs?)(_|\d|$)", re.I)
_NEXT = re.compile(r"next|succ|(^|_)(s2|sp|obs2|nobs|ns)$|_(tp1|t1|prime|2)$", re.I)
_LOSSES = frozenset({"l2_loss", "huber_loss", "squared_error", "mse_loss", "smooth_l1_loss", "mse"})
# what gives one of several numbers, or the same ones in another shape
_REDUCING = frozenset(
    {"max", "amax", "min", "amin", "minimum", "maximum", "mean", "squeeze", "reshape", "ravel", "flatten",
     "take_along_axis", "sum", "logsumexp", "asarray", "astype"}
)  # fmt: skip
_LEAST, _DEPTH = 0.5, 6  # discounts that are written as a number


def _check(context: Context) -> Iterator[Finding]:
    sums = [(scope, node) for scope, node in each(context, ast.BinOp) if isinstance(node.op, ast.Add)]
    inner = {side for _, node in sums for side in (node.left, node.right)}
    for scope, target in sums:
        if target in inner or scope.function is None or in_test(scope):
            continue  # each sum is looked at once, with all its terms
        terms = operands(target, ast.Add)
        if not any(_is_reward(term) for term in terms):
            continue
        found = next((call for term in terms if (call := _discounted(context, term, scope)) is not None), None)
        if found is None or _stops(context, scope) or "residual" in scope.function.name:
            continue
        name = _name(context, target, scope)
        if name is not None and _compared(context, name, found, scope):
            yield finding(
                RULE.code,
                scope,
                target,
                f"the target moves with the prediction: the gradient goes through `{ast.unparse(found)}` as well",
                f"stop it: {name} = jax.lax.stop_gradient(...), or take the target of a second model",
            )


def _is_reward(node: ast.expr) -> bool:
    return _REWARD.search(entry_word(node)) is not None


def _discounted(context: Context, node: ast.expr, scope: Scope) -> ast.Call | None:
    """Return what the differentiated model says of the next state, if a term is that times a discount."""
    parts = list(factors(node))
    if len(parts) < 2 or not any(map(_is_discount, parts)):
        return None
    return next((call for part in parts if (call := _of_next(context, part, scope, 0)) is not None), None)


def _is_discount(node: ast.expr) -> bool:
    number = constant(node)
    return _DISCOUNT.search(entry_word(node)) is not None or (isinstance(number, float) and _LEAST < number < 1)


def _of_next(context: Context, node: ast.expr, scope: Scope, depth: int) -> ast.Call | None:
    """Return the call of the differentiated model with the next state that a value is made of."""
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Name):
        made = made_by(context, node, scope)
        return _of_next(context, made, scope, depth + 1) if made is not None else None
    if isinstance(node, ast.Subscript):
        return _of_next(context, node.value, scope, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):  # less the entropy
        return _of_next(context, node.left, scope, depth + 1)
    if not isinstance(node, ast.Call):
        return None
    if last_word(node.func) in _REDUCING:
        whole = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        ways = (_of_next(context, one, scope, depth + 1) for one in (*whole, *node.args[:2]))
        return next((way for way in ways if way is not None), None)
    given = [*node.args, *(k.value for k in node.keywords)]
    if not any(_NEXT.search(entry_word(one)) for one in given):
        return None
    return node if context.bodies.home(node) is scope and _differentiated(context, node, scope) else None


def _differentiated(context: Context, node: ast.Call, scope: Scope) -> bool:
    """Say whether a call is one of a model, or with parameters, of which the derivative is taken."""
    if model_call(context, node, scope):
        return True
    call, params = scope.module.values.get(node), node.args[0] if node.args else None
    if not isinstance(call, Call) or not isinstance(params, ast.Name) or not graded(context, params, scope):
        return False
    called = [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(call, scope))]
    return bool(called) and not any(map(stops_gradients, called))


def _stops(context: Context, scope: Scope) -> bool:
    """Say whether a function stops a gradient somewhere."""
    return any(
        isinstance(node, ast.Name | ast.Attribute) and last_word(node) == "stop_gradient"
        for node in context.bodies.nodes(scope)
    )


def _name(context: Context, target: ast.BinOp, scope: Scope) -> str | None:
    """Return the variable that a target is given to."""
    outer = around(context, scope).get(target)
    targets = outer.targets if isinstance(outer, ast.Assign) else []
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else None


def _compared(context: Context, name: str, after: ast.Call, scope: Scope) -> bool:
    """Say whether a loss compares a variable with what the same model says of the state before."""
    func, params = ast.dump(after.func), [ast.dump(one) for one in after.args[:-1]]
    nodes = context.bodies.nodes(scope)
    if not any(
        isinstance(node, ast.Call)
        and node.args
        and ast.dump(node.func) == func
        and [ast.dump(one) for one in node.args[:-1]] == params
        and not any(_NEXT.search(entry_word(one)) for one in node.args)
        for node in nodes
    ):
        return False
    return any(
        (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Sub)
            and any(isinstance(one, ast.Name) and one.id == name for one in (node.left, node.right))
        )
        or (isinstance(node, ast.Call) and last_word(node.func) in _LOSSES and name in names_in(node))
        for node in nodes
    )


_BAD = """\
import jax
import jax.numpy as jnp


def q_values(params, observations):
    return jax.nn.relu(observations @ params["hidden"]) @ params["out"]


def td_loss(params, batch, gamma):
    chosen = jnp.take_along_axis(q_values(params, batch["obs"]), batch["actions"][:, None], 1)[:, 0]
    best = q_values(params, batch["next_obs"]).max(-1)
    target = batch["rewards"] + gamma * (1 - batch["done"]) * best
    return jnp.mean((chosen - target) ** 2)


params = {"hidden": jnp.ones((3, 4)), "out": jnp.ones((4, 2))}
batch = {"obs": jnp.ones((2, 3)), "next_obs": jnp.ones((2, 3)), "actions": jnp.zeros((2,), int)}
batch |= {"rewards": jnp.ones(2), "done": jnp.zeros(2)}
grads = jax.grad(td_loss)(params, batch, 0.9)
"""

_TARGET = 'batch["rewards"] + gamma * (1 - batch["done"]) * best'
_OF_TARGET = _BAD.replace("def td_loss(params, batch", "def td_loss(params, target_params, batch")
_OF_TARGET = _OF_TARGET.replace("best = q_values(params", "best = q_values(target_params")
_OF_TARGET = _OF_TARGET.replace("(td_loss)(params, batch", "(td_loss)(params, params, batch")

RULE = lint_rule(
    "NNX778",
    "target-with-gradient",
    "a target of temporal differences that lets the gradient through",
    why="""\
The target of a temporal difference, reward + discount * value of the next state, stands for a number that is not known
yet. Where the model that is differentiated computes it and nothing stops the gradient, the loss also falls by making
the next state worse, which is no step towards the values that the rewards give. `jax.lax.stop_gradient` around the
target, or the parameters of a target network, make it a number.
""",
    source="Mnih et al. 2015, Human-level control through deep reinforcement learning; Sutton and Barto, section 9.3",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace(_TARGET, f"jax.lax.stop_gradient({_TARGET})"), _OF_TARGET),
)
