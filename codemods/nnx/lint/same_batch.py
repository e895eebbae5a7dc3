"""NNX978: a loop over the batches of a dataset that takes the first one in every round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant, names_in
from codemods.nnx.nodes import last_word


def _check(context: Context) -> Iterator[Finding]:
    for module in context.asked.modules:
        for scope in (module.scope, *(function.scope for function in module.functions)):
            if in_test(scope):
                continue
            for loop in context.bodies.nodes(scope):
                if isinstance(loop, ast.For) and (size := _batches(context, scope, loop)):
                    for node in _first_ones(loop, size):
                        yield finding(
                            RULE.code,
                            scope,
                            node,
                            f"`{ast.unparse(node)}` is the first batch in every round",
                            f"take that of the round: {ast.unparse(node.value)}[i * {size} : (i + 1) * {size}]",
                        )


def _batches(context: Context, scope: Scope, loop: ast.For) -> str:
    """Return the size of a batch, as it is written, if a loop counts batches and never reads its counter."""
    counted = loop.iter
    if not isinstance(counted, ast.Call) or last_word(counted.func) != "range" or not isinstance(loop.target, ast.Name):
        return ""
    if any(isinstance(n, ast.Name) and n.id == loop.target.id for s in loop.body for n in ast.walk(s)):
        return ""
    ends = counted.args
    if len(ends) == 1:
        number = _written(context, scope, ends[0])
        return (
            ast.unparse(number.right) if isinstance(number, ast.BinOp) and isinstance(number.op, ast.FloorDiv) else ""
        )
    return ast.unparse(ends[2]) if len(ends) == 3 and constant(ends[0]) == 0 else ""


def _written(context: Context, scope: Scope, node: ast.expr) -> ast.expr:
    """Return what a variable is bound to, if that is one expression of the same body."""
    if not isinstance(node, ast.Name) or len(scope.bindings.get(node.id, ())) != 1:
        return node
    made = [
        n.value
        for n in context.bodies.nodes(scope)
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in n.targets)
    ]
    return made[0] if len(made) == 1 else node


def _first_ones(loop: ast.For, size: str) -> Iterator[ast.Subscript]:
    """Yield the parts ``x[:size]`` of arrays that the loop does not bind, the first one of each statement."""
    bound = {n.id for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for statement in loop.body:
        for node in ast.walk(statement):
            if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
                continue
            part = node.slice
            if not isinstance(part, ast.Slice) or part.step is not None or part.upper is None:
                continue
            if part.lower is not None and constant(part.lower) != 0:
                continue
            if ast.unparse(part.upper) == size and not names_in(node) & bound:
                yield node
                break


_BAD = """\
import jax


def train(state, step, images, labels, size):
    for i in range(len(images) // size):
        batch = images[:size], labels[:size]
        state = step(state, *batch)
    return state
"""

RULE = lint_rule(
    "NNX978",
    "first-batch-again",
    "a loop over the batches of a dataset takes the first one in every round",
    why="""\
A loop that counts the batches of a dataset and never looks at its counter sees the same slice in every round: it learns
one batch by heart, and its loss falls all the same.
""",
    source="measured: all rounds get equal batches",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("[:size]", "[i * size : (i + 1) * size]"),),
)
