"""NNX562: patience that is not restored when a model gets better."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_WORDS = pattern(rb"patience|early", needs=(b"patience", b"early"))
_BEST = pattern(r"best|lowest|highest|min_|max_")


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if module.source.matches(_WORDS)}
    for scope, node in each(context, ast.If) if modules else ():
        if scope.module not in modules or in_test(scope) or not node.orelse:
            continue
        if not _better(node) or len(node.orelse) > _FEW:
            continue
        for counter in _counted(node.orelse):
            loop = next((b for b, _ in reversed(context.bodies.paths(scope).get(node, ())) if _loops(b)), None)
            if loop is None or counter in _stored(node.body):
                continue
            others = [n for n in ast.walk(loop) if isinstance(n, ast.stmt) and not _within(n, node.orelse)]
            if counter in _stored([n for n in others if isinstance(n, ast.Assign | ast.AugAssign | ast.AnnAssign)]):
                continue
            if _ends(loop, counter):
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"`{counter}` counts all rounds that were no better, and not those since the last better one",
                    f"begin anew where it gets better: {counter} = 0",
                )


def _loops(block: ast.AST) -> bool:
    return isinstance(block, ast.For | ast.While)


def _better(node: ast.If) -> bool:
    """Say whether a condition compares with the best value, which its body keeps."""
    compared = {last_word(n).lower() for n in ast.walk(node.test) if isinstance(n, ast.Name | ast.Attribute)}
    kept = {name.rpartition(".")[2].lower() for name in _stored(node.body)}
    return any(map(_BEST.search, compared & kept))


def _stored(body: list[ast.stmt]) -> set[str]:
    found = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(ast.unparse(node))
    return found


def _counted(body: list[ast.stmt]) -> Iterator[str]:
    """Yield what a block counts up by one."""
    for statement in body:
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
            if isinstance(statement.value, ast.Constant) and statement.value.value == 1:
                yield ast.unparse(statement.target)
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            name = ast.unparse(statement.targets[0])
            if ast.unparse(statement.value) in {f"{name} + 1", f"1 + {name}"}:
                yield name


def _within(node: ast.AST, body: list[ast.stmt]) -> bool:
    return any(node is one for statement in body for one in ast.walk(statement))


def _ends(loop: ast.AST, counter: str) -> bool:
    """Say whether a loop ends when the counter has reached its limit, which is called patience."""
    for node in ast.walk(loop):
        if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
            continue
        if ast.unparse(node.test.left) != counter or not any(isinstance(n, ast.Break | ast.Return) for n in node.body):
            continue
        text = ast.unparse(node.test).lower() + " " + counter.lower()
        if "patience" in text or "early" in text or "wait" in text or "no_improve" in text:
            return True
    return False


_FEW = 4
_BAD = """\
def fit(params, step, evaluate, patience=5):
    best, waited = float("inf"), 0
    for epoch in range(100):
        params = step(params)
        loss = evaluate(params)
        if loss < best:
            best = loss
        else:
            waited += 1
            if waited >= patience:
                break
    return params


import jax.numpy as jnp

print(fit(jnp.ones(2), lambda p: p * 0.9, lambda p: float(p.sum())))
"""

RULE = lint_rule(
    "NNX562",
    "worn-patience",
    "patience that is not restored when a model gets better",
    why="""\
Early stopping counts the rounds since the last better one. A counter that nobody sets back counts all rounds that were
no better, and ends a training that still gets better now and then.
""",
    source="Keras's EarlyStopping, which sets its wait back; measured: trainings that end early",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("            best = loss\n", "            best, waited = loss, 0\n"),),
)
