"""NNX637: a sum over all rounds of a loop that is divided by the number of the last round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import constant, operands
from codemods.nnx.nodes import last_word


def _check(context: Context) -> Iterator[Finding]:
    for scope, loop in each(context, ast.For):
        counter = _counter(loop)
        if counter is None or in_test(scope):
            continue
        sums = {name for statement in loop.body if (name := _added(statement))}
        if not sums or _stored(loop, counter):
            continue
        node = _divided(context, scope, loop, sums, counter)
        if node is not None:
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{counter}` is the number of the last round, which counts from 0: {counter} + 1 rounds are summed up",
                f"divide by {counter} + 1, or by the number of batches",
            )


def _counter(loop: ast.For) -> str | None:
    """Return the variable that counts the rounds of a loop from 0."""
    call, target = loop.iter, loop.target
    if not isinstance(call, ast.Call) or loop.orelse:
        return None
    word = last_word(call.func)
    if word == "enumerate" and len(call.args) == 1 and not call.keywords and isinstance(target, ast.Tuple):
        target = target.elts[0]
    elif word != "range" or (len(call.args) != 1 and not (len(call.args) == 2 and constant(call.args[0]) == 0)):
        return None
    return target.id if isinstance(target, ast.Name) else None


def _added(statement: ast.stmt) -> str:
    """Return the variable to which every round adds; empty if a statement does something else."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        return statement.target.id if isinstance(statement.target, ast.Name) else ""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name) and isinstance(statement.value, ast.BinOp):
            terms = operands(statement.value, ast.Add)
            return target.id if len(terms) > 1 and any(last_word(one) == target.id for one in terms) else ""
    return ""


def _stored(loop: ast.For, counter: str) -> bool:
    """Say whether the body sets the counter itself, or leaves a round before all is added."""
    for statement in loop.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id == counter and isinstance(node.ctx, ast.Store):
                return True
            if isinstance(node, ast.Break | ast.Continue):
                return True
    return False


def _divided(context: Context, scope: Scope, loop: ast.For, sums: set[str], counter: str) -> ast.AST | None:
    """Return what divides a sum by the counter behind the loop."""
    end = loop.end_lineno or loop.lineno
    names = context.bodies.names(scope)
    again = [n.lineno for name in (*sums, counter) for n in names.get(name, ()) if isinstance(n.ctx, ast.Store)]
    until = min((line for line in again if line > end), default=end + _FAR)
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div) and end < node.lineno <= until:
            if last_word(node.target) in sums and _is(node.value, counter):
                return node
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div) or not end < node.lineno <= until:
            continue
        over = node.left
        while isinstance(over, ast.Call) and len(over.args) == 1:
            over = over.args[0]
        if isinstance(over, ast.Name) and over.id in sums and _is(node.right, counter):
            return node
    return None


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


_FAR = 1_000_000
_BAD = """\
def evaluate(loss_fn, params, batches):
    total = 0.0
    for i, batch in enumerate(batches):
        total += loss_fn(params, batch)
    return total / i


import jax.numpy as jnp

print(evaluate(lambda p, b: jnp.mean(p * b), 1.0, [jnp.ones(2), jnp.ones(2)]))
"""

RULE = lint_rule(
    "NNX637",
    "last-index",
    "a sum over all rounds of a loop that is divided by the number of the last one",
    why="""\
`enumerate` and `range` count from 0, so that behind the loop the counter is one less than the number of rounds: the
mean is too great, and a single batch divides by zero.
""",
    source="Python's documentation of enumerate; measured: twice the mean of two batches",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("total / i\n", "total / (i + 1)\n"),),
)
