"""NNX932: a target of temporal differences that goes on behind the end of an episode."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.advantage_errors import values_across
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.discounts import is_discount
from codemods.nnx.lint.inverted_end import inverted_end
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import constant, entry_word, operands
from codemods.nnx.nodes import first_element, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.source import Source

_END = pattern(r"^(batch_|b_)?(dones?|terminals?|terms?|terminated|terminations?)(_batch)?$", re.I)
_REWARD = pattern(r"^(batch_|b_)?(r|rs|rew|rews|rewards?)(_batch)?$", re.I)


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.BinOp):
        function = scope.function
        if not isinstance(node.op, ast.Add) or function is None or in_test(scope):
            continue
        end = inverted_end(context, node, scope)
        if end:
            yield finding(
                RULE.code,
                scope,
                node,
                f"the value of the next state counts only behind the end of an episode, where `{end}` is 1",
                f"turn it round: reward + gamma * (1 - {end}) * value",
            )
        if not _target(node):
            continue
        if isinstance(around(context, scope).get(node), ast.BinOp):
            continue
        outer = function
        while outer.scope.parent is not None and outer.scope.parent.function is not None:
            outer = outer.scope.parent.function
        ends = _unread(outer.node) or _field_unread(context, node, outer.node) or _row_unread(node, function.node)
        if ends:
            yield finding(
                RULE.code,
                scope,
                node,
                f"the value of the next state counts behind the end of an episode too: `{ends[0]}` is never used",
                f"leave it out there: reward + gamma * (1 - {ends[0]}) * value",
            )
    yield from _of_advantages(context)


def _of_advantages(context: Context) -> Iterator[Finding]:
    """Yield the errors of a sum of advantages that alone goes on behind the end of an episode."""
    told: set[ast.AST] = set()
    for scope, node, value in values_across(context):
        if node not in told:
            told.add(node)
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{value}` counts behind the end of an episode too: only the sum of later errors is left out there",
                f"leave it out too: reward + gamma * (1 - done) * {value}",
            )


def _field_unread(context: Context, node: ast.BinOp, body: ast.AST) -> list[str]:
    """Return the flag of ends beside the reward in a record ``batch.reward``, if no code reads it off a record."""
    reward = next((one for one in operands(node, ast.Add) if _REWARD.search(entry_word(one))), None)
    word = entry_word(reward) if isinstance(reward, ast.Attribute | ast.Subscript) else ""
    if not word or any(_END.search(n.id) for n in ast.walk(body) if isinstance(n, ast.Name)):
        return []
    found: set[str] = set()
    for module in context.project.modules:
        if any(_END.search(entry_word(n)) for n in module.source.of_type(ast.Attribute, ast.Subscript)):
            return []
        if isinstance(reward, ast.Attribute):
            records = [set(cls.fields) for cls in module.classes] + _named_tuples(module.source)
        else:
            records = [{str(constant(key)) for key in one.keys} for one in module.source.of_type(ast.Dict)]
        for names in records:
            if word in names and any(_NEXT.search(name) for name in names):
                found |= {name for name in names if _END.search(name)} or {""}
    return sorted(found) if "" not in found else []


def _named_tuples(source: Source) -> list[set[str]]:
    """Return the fields of each record that ``namedtuple("Step", "obs reward")`` or ``NamedTuple`` makes."""
    found: list[set[str]] = []
    for node in source.of_type(ast.Call) if source.mentions(b"amed") else ():
        if last_word(node.func) not in {"namedtuple", "NamedTuple"} or len(node.args) < 2:
            continue
        fields = node.args[1]
        if isinstance(fields, ast.List | ast.Tuple):
            firsts = (first_element(one) for one in fields.elts)
            found.append({str(constant(one)) for one in firsts})
        elif isinstance(text := constant(fields), str):
            found.append(set(text.replace(",", " ").split()))
    return found


_NEXT = pattern(r"next|s_?prime|s2|obs2|_tp1|^s1$", re.I)


def _target(node: ast.BinOp) -> bool:
    """Say whether a sum is one of a reward and a discounted value."""
    if any(isinstance(side, ast.BinOp) and isinstance(side.op, ast.Add) for side in (node.left, node.right)):
        return False  # of more terms, perhaps of thousands
    terms = operands(node, ast.Add)
    if len(terms) != 2:
        return False
    for reward, later in (terms, terms[::-1]):
        factors = operands(later, ast.Mult)
        rates = [one for one in factors if is_discount(one)]
        if _REWARD.search(entry_word(reward)) and len(rates) == 1 and len(factors) == 2:
            return True
    return False


def _row_unread(node: ast.BinOp, body: ast.AST) -> list[str]:
    """Return the flag of ends that a round takes apart together with its reward, and does not read."""
    rewards = {n.id for n in operands(node, ast.Add) if isinstance(n, ast.Name)}
    inner = list(ast.walk(body))
    read = {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for one in inner:
        if not isinstance(one, ast.Assign) or not isinstance(one.value, ast.Name | ast.Subscript | ast.Attribute):
            continue
        target = one.targets[0]
        if not isinstance(target, ast.Tuple):
            continue
        names = [n.id for n in target.elts if isinstance(n, ast.Name)]
        if rewards & {*names}:
            ends = [name for name in names if _END.search(name) or name == "d"]
            return ends if not read & {*ends} else []
    return []


def _unread(body: ast.AST) -> list[str]:
    """Return the flags of ends that a function gets beside others and never reads; none if it reads one of them."""
    names = [n for n in ast.walk(body) if isinstance(n, ast.Name)]
    if any(_END.search(n.id) and not isinstance(n.ctx, ast.Store) for n in names):
        return []
    if any(isinstance(n, ast.Attribute | ast.Subscript) and _END.search(entry_word(n)) for n in ast.walk(body)):
        return []
    unpacked = {
        one.id
        for n in ast.walk(body)
        if isinstance(n, ast.Assign) and not isinstance(n.value, ast.Tuple)
        for target in n.targets
        if isinstance(target, ast.Tuple) and len(target.elts) > 3
        for one in target.elts
        if isinstance(one, ast.Name) and _END.search(one.id)
    }
    return sorted(unpacked)


_BAD = """\
import jax.numpy as jnp


def td_loss(q, target, batch, gamma=0.99):
    obs, actions, rewards, next_obs, dones = batch
    chosen = jnp.take_along_axis(q(obs), actions[:, None], axis=1)[:, 0]
    goal = rewards + gamma * target(next_obs).max(axis=1)
    return jnp.mean((chosen - goal) ** 2)
"""

RULE = lint_rule(
    "NNX932",
    "end-of-episode-ignored",
    "a target of temporal differences that takes the value behind the end of an episode",
    why="""\
Where an episode has ended nothing comes any more: the target is the reward alone. A loss that unpacks the flag and does
not use it adds the value of a state that belongs to another episode, and the values grow too large.
""",
    source="Mnih et al. 2015, algorithm 1; measured: other targets",
    severity="warning",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("gamma * target", "gamma * (1 - dones) * target"),
        _BAD.replace("next_obs, dones", "next_obs, _"),
    ),
)
