"""NNX633: an epsilon-greedy policy that explores where it should be greedy."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, resolved, written
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Function

_GREEDY = pattern(r"argmax|greedy|best_action")
_RANDOM = pattern(r"randint|choice|random_action|\.sample\(|integers|randrange|explor")
_RATE = pattern(r"(^|_)(eps|epsilon|exploration\w*|explore\w*)(_|$)|epsilon")
_DRAWS = frozenset({"uniform", "random", "rand"})
_EPSILON = pattern(rb"eps|explor", needs=(b"eps", b"explor"))
_ARGMAX = pattern(rb"argmax", needs=(b"argmax",))
_CHOOSING = frozenset({"where", "select", "cond"})


def _check(context: Context) -> Iterator[Finding]:
    asked = context.asked.modules
    modules = {module for module in asked if module.source.matches(_EPSILON) and module.source.matches(_ARGMAX)}
    if not modules:
        return
    for scope, test, yes, no in _choices(context):
        if scope.module not in modules or in_test(scope):
            continue
        test = written(context, test, scope)
        small = _draw_is_small(context, test, scope)
        if small is None:
            continue
        first, second = (_text(context, way, scope) for way in (yes, no))
        if not small:
            first, second = second, first
        if _is(first, _GREEDY, _RANDOM) and _is(second, _RANDOM, _GREEDY):
            yield finding(
                RULE.code,
                scope,
                test,
                "the greedy action is taken with the probability of exploring, and a random one otherwise",
                "exchange the two, or compare the other way round",
            )


def _choices(context: Context) -> Iterator[tuple[Scope, ast.expr, list[ast.AST], list[ast.AST]]]:
    """Yield the choices between two ways, with their conditions."""
    for scope, chosen in each(context, ast.IfExp):
        yield scope, chosen.test, [chosen.body], [chosen.orelse]
    for scope, branch in each(context, ast.If):
        if branch.orelse:
            yield scope, branch.test, [*branch.body], [*branch.orelse]
        elif isinstance(branch.body[-1], ast.Return):
            body = scope.function.node.body if scope.function is not None else []
            if isinstance(body, list) and branch in body:
                yield scope, branch.test, [*branch.body], [*body[body.index(branch) + 1 :]]
    for event in context.bodies.named(*_CHOOSING):
        if event.scope.module in context.asked and len(event.node.args) > 2:
            test, yes, no = event.node.args[:3]
            yield event.scope, test, [yes], [no]


def _draw_is_small(context: Context, test: ast.expr, scope: Scope) -> bool | None:
    """Say whether a condition holds where a drawn number is below the rate of exploring; None for other conditions."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    less = isinstance(test.ops[0], ast.Lt | ast.LtE)
    if not less and not isinstance(test.ops[0], ast.Gt | ast.GtE):
        return None
    left, right = test.left, test.comparators[0]
    for drawn, rate, turned in ((left, right, False), (right, left, True)):
        made = written(context, drawn, scope)
        if isinstance(made, ast.Call) and last_word(made.func) in _DRAWS and _rate(context, rate, scope):
            return less != turned
    return None


def _rate(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a number is the rate of exploring, and not what is left of 1."""
    if not isinstance(node, ast.Name | ast.Attribute) or not _RATE.search(last_word(node).lower()):
        return False
    made = written(context, node, scope)
    return not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Sub)


def _text(context: Context, way: list[ast.AST], scope: Scope) -> str:
    """Return what a way does, also if a name or a function says it."""
    texts = []
    for node in way:
        texts.append(ast.unparse(node))
        for name in ast.walk(node):
            if isinstance(name, ast.Name):
                made = written(context, name, scope)
                if made is not name:
                    texts.append(ast.unparse(made))
        found = resolved(context, node, scope) if isinstance(node, ast.Name) else None
        if found is not None and isinstance(found.value, Function):
            texts.append(ast.unparse(found.value.facts.node))
    return "\n".join(texts)


def _is(text: str, one: re.Pattern[str], other: re.Pattern[str]) -> bool:
    return one.search(text) is not None and other.search(text) is None


_BAD = """\
import jax
import jax.numpy as jnp


def act(key, q_values, epsilon):
    explore_key, action_key = jax.random.split(key)
    any_action = jax.random.randint(action_key, (), 0, q_values.shape[-1])
    greedy = jnp.argmax(q_values, axis=-1)
    return jnp.where(jax.random.uniform(explore_key) < epsilon, greedy, any_action)
"""

RULE = lint_rule(
    "NNX633",
    "greedy-exchanged",
    "an epsilon-greedy policy that is greedy with the probability of exploring",
    why="""\
With probability epsilon a policy explores, and else it takes the best action. The other way round it acts at random
nearly always once epsilon has decayed, while the losses look as usual.
""",
    source="Sutton and Barto, Reinforcement Learning, section 2.2; measured: shares of greedy actions",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("greedy, any_action)", "any_action, greedy)"),),
)
