"""NNX961: the greatest value of a whole batch, where each example's own is wanted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.array_calls import whole_of
from codemods.nnx.lint.arrays import Arrays, batched
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.discounts import is_discount
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant, entry_word, keyword, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Item, Param

_REWARD = pattern(r"(^|_)(r|rs|rew|rews|rewards?)(_batch)?$", re.I)
_REDUCING = frozenset({"max", "amax", "min", "amin", "nanmax"})
# what holds the entries of several examples
_BATCHES = frozenset({"batch", "minibatch", "mini_batch", "transitions"})


def _check(context: Context) -> Iterator[Finding]:
    words = (b"gamma", b"discount", b"0.9")
    if not any(any(word in m.source.data for word in words) for m in context.project.modules):
        return
    told: set[ast.AST] = set()
    for scope, node in each(context, ast.BinOp):
        function = scope.function
        if not isinstance(node.op, ast.Add) or function is None:
            continue
        for call, values, plural in _bootstraps(context, node, scope):
            if call in told or in_test(scope) or function in context.shared(batched):
                continue
            if _several(context, function, values, scope, plural):
                told.add(call)
                yield finding(
                    RULE.code,
                    scope,
                    call,
                    "without an axis this is one value of the whole batch, which every example gets for its next state",
                    f"take that of each example: {_along(call)}",
                )


def _bootstraps(context: Context, node: ast.BinOp, scope: Scope) -> Iterator[tuple[ast.Call, ast.expr, bool]]:
    """Yield the extremes of all values that a sum of a reward and a discounted value has, with these values, and
    whether there are several rewards by their name."""
    if any(isinstance(side, ast.BinOp) and isinstance(side.op, ast.Add) for side in (node.left, node.right)):
        return  # of more terms, perhaps of thousands
    for first, later in ((node.left, node.right), (node.right, node.left)):
        converted = isinstance(first, ast.Call) and last_word(first.func) in {"array", "asarray"} and first.args
        reward = first.args[0] if isinstance(first, ast.Call) and converted else first
        factors = operands(later, ast.Mult)
        if not _REWARD.search(entry_word(reward)) or not any(is_discount(one) for one in factors):
            continue
        for factor in factors:
            made = written(context, factor, scope)
            if isinstance(made, ast.Call) and last_word(made.func) == "stop_gradient" and len(made.args) == 1:
                made = written(context, made.args[0], scope)
            values = _reduced(made)
            if values is not None and isinstance(made, ast.Call):
                yield made, values, (_plural(reward) or _of_batch(reward, scope)) and not _entry(values)


def _of_batch(reward: ast.expr, scope: Scope) -> bool:
    """Say whether a reward is unpacked from the batch that a function gets: ``obs, action, reward, ... = batch``."""
    value = scope.module.values.get(reward)
    whole = value.base if isinstance(value, Item) else None
    return isinstance(whole, Param) and whole.name.lower() in _BATCHES


def _plural(reward: ast.expr) -> bool:
    """Say whether the name of a reward is one of several, of which none is chosen as in ``rewards[t]``."""
    named = entry_word(reward).lower() in {"rewards", "batch_rewards", "reward_batch"}
    if isinstance(reward, ast.Attribute | ast.Subscript) and last_word(reward.value).lower() in _BATCHES:
        return True
    return named and not (isinstance(reward, ast.Subscript) and _entry(reward))


def _entry(node: ast.expr) -> bool:
    """Say whether an expression is what stands at one index, as the row ``table[state]``; no text, slice or several."""
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice | ast.Tuple):
        return False
    return not isinstance(constant(node.slice), str)


def _reduced(node: ast.expr) -> ast.expr | None:
    """Return the array of which an expression is the greatest or smallest value of all."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _REDUCING:
        return None
    return whole_of(node)


def _several(context: Context, function: FunctionFacts, values: ast.expr, scope: Scope, plural: bool) -> bool:
    """Say whether the values are those of several examples: their axes tell it, or what the function does else."""
    axes = Arrays(context, {}).written(values, scope).axes
    if axes is not None:
        return axes > 1
    if plural:
        return True
    outer = function
    while (above := enclosing_function(outer.scope.parent)) is not None:
        outer = above
    return any(_chosen_for_each(node) for node in ast.walk(outer.node))


def _chosen_for_each(node: ast.AST) -> bool:
    """Say whether code takes the value of one action in each row: ``q[jnp.arange(n), a]``, or along an axis."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
        rows = node.slice.elts[0]
        return isinstance(rows, ast.Call) and last_word(rows.func) == "arange"
    if not isinstance(node, ast.Call):
        return False
    axis = keyword(node, "axis")
    if last_word(node.func) == "sum" and constant(axis) in (1, -1):
        return any(isinstance(n, ast.Call) and last_word(n.func) == "one_hot" for n in ast.walk(node))
    if last_word(node.func) != "take_along_axis":
        return False
    axis = node.args[2] if len(node.args) > 2 else axis
    index = node.args[1] if len(node.args) > 1 else None
    column = isinstance(index, ast.Subscript) and isinstance(index.slice, ast.Tuple)
    return column and constant(axis) in (1, -1)


def _along(call: ast.Call) -> str:
    """Return a reduction with the axis of the actions."""
    return f"{ast.unparse(call)[:-1]}{', ' if call.args else ''}axis=-1)"


_BAD = """\
import jax.numpy as jnp


def td_loss(q, target, batch, gamma=0.99):
    next_q = target(batch["next_obs"])
    goal = batch["reward"] + gamma * (1 - batch["done"]) * jnp.max(next_q)
    chosen = jnp.take_along_axis(q(batch["obs"]), batch["action"][:, None], axis=1)[:, 0]
    return jnp.mean((chosen - goal) ** 2)
"""

RULE = lint_rule(
    "NNX961",
    "greatest-of-batch",
    "the greatest value of a whole batch, where each example's own is wanted",
    why="""\
`jnp.max` of an array without an axis is one number. In a target of temporal differences every example of the batch then
goes on with the greatest value that any of them has, and nothing says so: a number is broadcast against all rewards.
""",
    source="keras-rl/keras-rl pull request 239; measured: other targets",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.max(next_q)", "jnp.max(next_q, axis=-1)"),),
)
