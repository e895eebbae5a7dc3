"""NNX639: a target network that is handed in, and whose place the trained network takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import names_in, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_TARGET = pattern(
    r"^(target|tgt)_?(params?|net(work)?|model|q(_?net(work)?)?|critic|state|variables)?\d?$"
    r"|^(params?|q|critic|model|network)_target\d?$"
)
_NAMES = pattern(rb"target|tgt", needs=(b"target", b"tgt"))
_DISCOUNT = pattern(r"(^|\W|_)(gamma|discount)", 0)


def _check(context: Context) -> Iterator[Finding]:
    for module in context.asked.modules:
        if not module.source.matches(_NAMES):
            continue
        for function in module.functions:
            if isinstance(function.node, ast.Lambda) or in_test(function.scope):
                continue
            named = [name for name in function.params if _TARGET.search(name)]
            if len(named) != 1 or named[0] in names_in(_body(function)):
                continue
            node = _bootstrapped(function)
            if node is not None:
                yield finding(
                    RULE.code,
                    function.scope,
                    node,
                    f"`{named[0]}` is never used: the values behind the discount are those of the network that learns",
                    f"take them from {named[0]}",
                )


def _body(function: FunctionFacts) -> ast.Module:
    body = function.node.body
    return ast.Module(body if isinstance(body, list) else [], [])


def _bootstrapped(function: FunctionFacts) -> ast.expr | None:
    """Return a target ``r + gamma * q`` of what another parameter gives by itself."""
    for node in ast.walk(function.node):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
            continue
        terms = [one for one in operands(node, ast.Add) if _DISCOUNT.search(ast.unparse(one).lower())]
        if len(terms) == 1 and len(operands(node, ast.Add)) == 2 and isinstance(terms[0], ast.BinOp):
            if any(_of_network(function, name) for name in names_in(terms[0])):
                return node
    return None


def _of_network(function: FunctionFacts, name: str, depth: int = 0) -> bool:
    """Say whether a variable holds values of a network that the function gets."""
    stores = [
        n.value
        for n in ast.walk(function.node)
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in n.targets)
    ]
    if len(stores) != 1 or depth > _DEPTH:
        return False
    calls = [n for n in ast.walk(stores[0]) if isinstance(n, ast.Call)]
    networks = [n for n in calls if isinstance(n.func, ast.Name) or last_word(n.func) == "apply"]
    if networks:
        return len(networks) == 1 and not names_in(networks[0].func).isdisjoint(function.params)
    return any(_of_network(function, one, depth + 1) for one in names_in(stores[0]) if one != name)


_DEPTH = 3
_BAD = """\
import jax
import jax.numpy as jnp


def td_loss(q_net, target_net, batch, gamma=0.99):
    chosen = jnp.take_along_axis(q_net(batch["obs"]), batch["action"][:, None], axis=1)[:, 0]
    best = jax.lax.stop_gradient(q_net(batch["next_obs"]).max(axis=-1))
    target = batch["reward"] + gamma * (1 - batch["done"]) * best
    return jnp.mean((chosen - target) ** 2)
"""

RULE = lint_rule(
    "NNX639",
    "unused-target",
    "a target network that is handed in, and whose place the trained network takes",
    why="""\
A target network holds still while the other learns. A function that gets one and takes the values of the next states
from the network that learns chases its own estimates, as if there were no target network.
""",
    source="Mnih and others, 2015, algorithm 1; measured: the same loss for every target network",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace('stop_gradient(q_net(batch["next_obs"])', 'stop_gradient(target_net(batch["next_obs"])'),),
)
