"""NNX709: the weights of a prioritized replay without the number of what is drawn from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import in_test, written
from codemods.nnx.lint.syntax import argument, constant, entry_word, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_BETA = pattern(r"(^|_)betas?(_|$|\d)", re.I)
_WEIGHTS = pattern(r"(^|_)(w|ws|weights?|isw|is_w\w*)(_|$)", re.I)
_SCALES = frozenset({"max", "amax", "mean", "sum"})
# where jax.random.choice and those of numpy take the probabilities, by position
_PLACES = {"jax.random.choice": 4, "numpy.random.choice": 3}


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named("choice"):
        if event.scope.module not in context.asked or in_test(event.scope):
            continue
        place = _PLACES.get(context.flow.calls.name(event))
        given = argument(event.node, place, "p") if place is not None else keyword(event.node, "p")  # of a generator
        target = event.statement.targets[0] if isinstance(event.statement, ast.Assign) else None
        if not isinstance(given, ast.Name | ast.Attribute) or not isinstance(target, ast.Name):
            continue
        if getattr(event.statement, "value", None) is not event.node or _scaled(event):
            continue
        for node in context.bodies.nodes(event.scope):
            base = _powered(context, node, event.scope)
            if base is not None and _drawn(context, base, given, target, event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    "these weights grow with the size of the memory: for equal priorities they are not 1",
                    f"multiply by how many there are: (n * {ast.unparse(base)}) ** -beta, or divide by the greatest",
                )
                break


def _powered(context: Context, node: ast.AST, scope: Scope) -> ast.expr | None:
    """Return p in ``p ** -beta``, ``(1 / p) ** beta``, ``1 / p**beta`` and ``jnp.power(p, -beta)``."""
    base: ast.expr | None = None
    exponent: ast.expr | None = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base, exponent = node.left, node.right
    elif isinstance(node, ast.Call) and last_word(node.func) == "power" and len(node.args) == 2:
        base, exponent = node.args
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and constant(node.left) == 1:
        below = node.right
        if isinstance(below, ast.BinOp) and isinstance(below.op, ast.Pow) and _share(below.right):
            return below.left
        return None
    if base is None or exponent is None:
        return None
    if isinstance(exponent, ast.UnaryOp) and isinstance(exponent.op, ast.USub):
        return base if _share(exponent.operand) else None
    inverse = written(context, base, scope)
    if isinstance(inverse, ast.BinOp) and isinstance(inverse.op, ast.Div) and constant(inverse.left) == 1:
        return inverse.right if _share(exponent) else None
    return None


def _share(node: ast.expr) -> bool:
    """Say whether an exponent takes a part of the bias away: it is called beta, or is between 0 and 1."""
    number = constant(node)
    if isinstance(number, int | float):
        return 0 < number < 1
    return _BETA.search(entry_word(node)) is not None


def _drawn(context: Context, base: ast.expr, given: ast.expr, target: ast.Name, scope: Scope) -> bool:
    """Say whether a number is the probability by which something was drawn."""
    chosen = made_by(context, base, scope) if isinstance(base, ast.Name) else base
    if isinstance(chosen, ast.Call) and last_word(chosen.func) == "take" and len(chosen.args) >= 2:
        return ast.unparse(chosen.args[0]) == ast.unparse(given) and ast.unparse(chosen.args[1]) == target.id
    if not isinstance(chosen, ast.Subscript) or ast.unparse(chosen.slice) != target.id:
        return False
    same = ast.unparse(chosen.value) == ast.unparse(given)
    return same and isinstance(chosen.value, ast.Name | ast.Attribute)


def _scaled(event: CallEvent) -> bool:
    """Say whether the module divides weights by the greatest of them, or by their mean."""
    for node in event.scope.module.source.of_type(ast.BinOp):
        right = node.right
        if not isinstance(node.op, ast.Div) or not any(
            isinstance(n, ast.Call) and last_word(n.func) in _SCALES for n in ast.walk(right)
        ):
            continue
        if any(_WEIGHTS.search(last_word(n)) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)):
            return True
    return False


_BAD = """\
import jax
import jax.numpy as jnp


def sample(key, priorities, size, beta=0.4):
    probs = priorities / priorities.sum()
    index = jax.random.choice(key, priorities.shape[0], (size,), p=probs)
    weights = probs[index] ** (-beta)
    return index, weights


print(sample(jax.random.key(0), jnp.ones(1000), 4))
"""

RULE = lint_rule(
    "NNX709",
    "weights-of-draws",
    "weights of a prioritized replay without the number of transitions, and not divided by the greatest",
    why="""\
The weights take away what drawing by priority prefers: `(n * p) ** -beta`, which is 1 for equal priorities, or those
divided by the greatest of them. Without the number the loss is `n ** beta` times as large as that of plain samples, for
a memory of a million and a beta of 0.4 by 250, and it grows while the memory fills.
""",
    source="Schaul et al. 2016, section 3.4; pull request 34 of a public project; measured: a loss of 39.8, not 1",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("probs[index] ** (-beta)", "(priorities.shape[0] * probs[index]) ** (-beta)"),
        _BAD.replace("return index, weights", "return index, weights / weights.max()"),
    ),
)
