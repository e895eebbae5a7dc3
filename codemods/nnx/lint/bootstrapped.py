"""NNX778: a temporal-difference target that lets the gradient through."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import factors
from codemods.nnx.lint.around import around
from codemods.nnx.lint.compared_by_helper import compared_by_helper
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.policy_losses import graded, model_call, stops_gradients
from codemods.nnx.lint.syntax import constant, entry_word, names_in, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Param, Sequence

_DISCOUNT = pattern(r"(^|_)(gammas?|discounts?|disc)(_|$)", re.I)
_REWARD = pattern(r"(^|_)(r|rs|rew|rews|rewards?|costs?)(_|\d|$)", re.I)
_NEXT = pattern(r"next|succ|(^|_)(s2|sp|obs2|nobs|ns)$|_(tp1|t1|prime|2)$", re.I)
_ADVANTAGE = pattern(r"(^|_)(adv|advs|advantages?|deltas?|td|td_errors?)(_|$)", re.I)
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
        name = _used(context, target, found, scope)
        if name is not None:
            help = "take the target of a second model, or stop the gradient: jax.lax.stop_gradient(...)"
            yield finding(
                RULE.code,
                scope,
                target,
                f"the target moves with the prediction: the gradient goes through `{ast.unparse(found)}` as well",
                f"stop it: {name} = jax.lax.stop_gradient(...), or take the target of a second model" if name else help,
            )


def _used(context: Context, target: ast.BinOp, found: ast.expr, scope: Scope) -> str | None:
    """Return the name of a target that a loss compares with a prediction; empty if it has none, None if none does."""
    name = _name(context, target, scope)
    if name is not None and _compared(context, name, found, scope):
        read = context.bodies.reads(scope, name)
        return name if not _mentions_stop(context, scope) or any(_differs(context, n, scope) for n in read) else None
    if name is None and _predicted(context, found, scope) and _differs(context, target, scope):
        return ""
    if name is not None and compared_by_helper(context, name, found, scope) and not _mentions_stop(context, scope):
        return name
    function = scope.function
    if function is None or not _given_back(context, target, name, scope):
        return None
    for caller in context.flow.sites.callers(function):
        if caller.scope is scope or _stops(context, caller.scope):
            continue
        if not any(isinstance(n, ast.Name) and graded(context, n, caller.scope) for n in ast.walk(caller.node)):
            continue
        theirs = _name(context, caller.node, caller.scope)
        if theirs is not None and _compared(context, theirs, found, caller.scope, anywhere=True):
            return theirs
        if theirs is None and _differs(context, caller.node, caller.scope):
            return ""
    return None


def _given_back(context: Context, target: ast.BinOp, name: str | None, scope: Scope) -> bool:
    """Say whether a function gives a target to its caller."""
    if isinstance(around(context, scope).get(target), ast.Return | ast.Lambda):
        return True
    returned = (n.value for n in context.bodies.nodes(scope) if isinstance(n, ast.Return))
    return name is not None and any(isinstance(one, ast.Name) and one.id == name for one in returned)


def _differs(context: Context, target: ast.expr, scope: Scope) -> bool:
    """Say whether a loss squares the difference of a target, where it stands, to something."""
    outer = around(context, scope).get(target)
    if isinstance(outer, ast.Call) and last_word(outer.func) in _LOSSES:
        return True
    if not isinstance(outer, ast.BinOp) or not isinstance(outer.op, ast.Sub):
        return False
    name = _name(context, outer, scope)
    if name is None:
        above = around(context, scope).get(outer)
        return above is not None and _squares(above, outer)
    return any(
        isinstance(one, ast.Name) and one.id == name and _squares(node, one)
        for node in context.bodies.nodes(scope)
        if isinstance(node, ast.BinOp | ast.Call)
        for one in ast.iter_child_nodes(node)
    )


def _squares(node: ast.AST, part: ast.expr) -> bool:
    """Say whether an expression is the square of its part, or another loss of it."""
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Pow):
            return node.left is part and constant(node.right) == 2
        return isinstance(node.op, ast.Mult) and ast.dump(node.left) == ast.dump(node.right)
    return isinstance(node, ast.Call) and last_word(node.func) in _LOSSES | {"square", "huber", "abs"}


def _is_reward(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and last_word(node.func) in {"array", "asarray"} and node.args:
        node = node.args[0]
    return _REWARD.search(entry_word(node)) is not None


def _discounted(context: Context, node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return what the differentiated model says of the next state, if a term is that times a discount."""
    parts = list(factors(node))
    if len(parts) < 2 or not any(map(_is_discount, parts)):
        return None
    return next((call for part in parts if (call := _of_next(context, part, scope, 0)) is not None), None)


def _is_discount(node: ast.expr) -> bool:
    number = constant(node)
    return _DISCOUNT.search(entry_word(node)) is not None or (isinstance(number, float) and _LEAST < number < 1)


def _of_next(context: Context, node: ast.expr, scope: Scope, depth: int) -> ast.expr | None:
    """Return what the differentiated model says of the next state, of which a value is made."""
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Name):
        made = made_by(context, node, scope) or _unpacked(node, scope)
        return _of_next(context, made, scope, depth + 1) if made is not None else None
    if isinstance(node, ast.Subscript):
        return _of_next(context, node.value, scope, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):  # less the entropy
        return _of_next(context, node.left, scope, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node if _linear(context, node, scope) and _mentions_next(node) else None
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


def _linear(context: Context, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether a product of matrices is a linear model: of features and the weights that are differentiated."""
    return isinstance(node.right, ast.Name) and graded(context, node.right, scope)


def _mentions_next(node: ast.expr) -> bool:
    """Say whether an expression is made of the next state."""
    return any(isinstance(n, ast.expr) and _NEXT.search(entry_word(n)) is not None for n in ast.walk(node))


def _unpacked(node: ast.Name, scope: Scope) -> ast.expr | None:
    """Return the call of which a variable is a part of the result: ``_, value = model(x)``."""
    value = scope.module.values.get(node)
    while isinstance(value, Item):
        place = value.index.value if isinstance(value.index, Const) else None
        if isinstance(value.base, Sequence) and isinstance(place, int) and place < len(value.base.items):
            value = value.base.items[place]
        else:
            value = value.base
    return value.node if isinstance(value, Call) else None


def _differentiated(context: Context, node: ast.Call, scope: Scope) -> bool:
    """Say whether a call is one of a model, or with parameters, of which the derivative is taken."""
    if model_call(context, node, scope):
        return True
    call, params = scope.module.values.get(node), node.args[0] if node.args else None
    if not isinstance(call, Call) or not isinstance(params, ast.Name) or not graded(context, params, scope):
        return False
    called = [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(call, scope))]
    if not called:
        given = isinstance(call.callee, Param) or (
            isinstance(call.callee, Attr) and isinstance(call.callee.base, Param)
        )
        return given and not any(module.source.mentions(b"stop_gradient") for module in context.project.modules)
    return not any(map(stops_gradients, called))


def _mentions_stop(context: Context, scope: Scope) -> bool:
    nodes = context.bodies.nodes(scope)
    return any(isinstance(n, ast.Name | ast.Attribute) and last_word(n) == "stop_gradient" for n in nodes)


def _stops(context: Context, scope: Scope) -> bool:
    """Say whether a function stops a gradient somewhere, but for the advantages in the loss of a policy."""
    above = around(context, scope)
    for node in context.bodies.nodes(scope):
        if not isinstance(node, ast.Name | ast.Attribute) or last_word(node) != "stop_gradient":
            continue
        call = above.get(node)
        if not isinstance(call, ast.Call) or call.func is not node or len(call.args) != 1:
            return True
        factor = isinstance(outer := above.get(call), ast.BinOp) and isinstance(outer.op, ast.Mult)
        if not factor or not isinstance(call.args[0], ast.Name) or not _ADVANTAGE.search(call.args[0].id):
            return True
    return False


def _name(context: Context, target: ast.expr, scope: Scope) -> str | None:
    """Return the variable that a target is given to."""
    outer = around(context, scope).get(target)
    targets = outer.targets if isinstance(outer, ast.Assign) else []
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else None


def _predicted(context: Context, after: ast.expr, scope: Scope, anywhere: bool = False) -> bool:
    """Say whether the same model is asked for the state before."""
    if isinstance(after, ast.BinOp):
        weights = ast.dump(after.right)
        products = (n for n in context.bodies.nodes(scope) if isinstance(n, ast.BinOp))
        return any(
            isinstance(n.op, ast.MatMult) and ast.dump(n.right) == weights and not _mentions_next(n) for n in products
        )
    if not isinstance(after, ast.Call):
        return False
    func, word = ast.dump(after.func), last_word(after.func)
    return any(
        isinstance(node, ast.Call)
        and node.args
        and (last_word(node.func) == word if anywhere else ast.dump(node.func) == func)
        and (anywhere or _with_same(node, after))
        and not any(_NEXT.search(entry_word(one)) for one in node.args)
        for node in context.bodies.nodes(scope)
    )


def _with_same(before: ast.Call, after: ast.Call) -> bool:
    """Say whether two calls are given the same parameters: all but the last argument, and the next state."""
    pairs = zip(before.args[:-1], after.args[:-1], strict=False)
    same = all(_NEXT.search(entry_word(two)) or ast.dump(one) == ast.dump(two) for one, two in pairs)
    return same and len(before.args) == len(after.args)


def _compared(context: Context, name: str, after: ast.expr, scope: Scope, anywhere: bool = False) -> bool:
    """Say whether a loss compares a variable with what the same model says of the state before."""
    if not _predicted(context, after, scope, anywhere):
        return False
    nodes = context.bodies.nodes(scope)
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
