"""NNX928: the best parameters, which are kept and never used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import each, foreign, in_test
from codemods.nnx.lint.syntax import inside, taken_apart
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern

_BEST = pattern(r"(^|_)(best|optimal|lowest)(_|$)", re.I)
_COPIES = frozenset({"copy.deepcopy", "flax.nnx.state", "flax.nnx.split", "flax.nnx.clone", "flax.nnx.as_pure",
                     "flax.nnx.to_pure_dict", "jax.device_get", *TREE_MAPS})  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    yield from _named(context)
    for event, name in foreign(context, *{name.rpartition(".")[2] for name in _COPIES}):
        if name not in _COPIES or in_test(event.scope):
            continue
        kept = _kept(event)
        if kept is None or not _compared(context, event) or _used(context, event.scope, kept):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{kept}` is never used: what goes on after the training are the last weights, and not the best ones",
            f"put them back when it ends, as by nnx.update(model, {kept}), or return them",
        )


def _named(context: Context) -> Iterator[Finding]:
    """Yield the assignments of parameters, which are never changed in place, to a variable for the best ones."""
    for scope, node in each(context, ast.Assign):
        function = scope.function
        if function is None or len(node.targets) != 1 or in_test(scope):
            continue
        for kept, given in taken_apart(node.targets[0], node.value):
            if not isinstance(kept, ast.Name) or not _BEST.search(kept.id):
                continue
            if kept.id in scope.globals or kept.id in scope.remote:
                continue
            if not isinstance(given, ast.Name | ast.Attribute) or not _PARAMETERS.fullmatch(last_word(given)):
                continue
            if _in_comparing_loop(context, scope, node) and not _used(context, scope, kept.id):
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"`{kept.id}` is never used: what goes on after the training are the last weights, and not the "
                    "best ones",
                    f"return `{kept.id}`, or go on with it",
                )


_PARAMETERS = pattern(r"(\w+_)?(params|parameters|weights|variables)")


def _in_comparing_loop(context: Context, scope: Scope, node: ast.Assign) -> bool:
    """Say whether an assignment stands in a loop under a condition that compares something."""
    blocks = [block for block, arm in context.bodies.paths(scope).get(node, ()) if arm != "test"]
    loops = [block for block in blocks if isinstance(block, ast.For | ast.While)]
    tests = [block.test for block in blocks if isinstance(block, ast.If)]
    return bool(loops) and any(
        isinstance(n, ast.Compare) and inside(n, loops[0]) for test in tests for n in ast.walk(test)
    )


def _kept(event: CallEvent) -> str | None:
    """Return the local variable that alone gets what a call copies."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.value is not event.node:
        return None
    target = statement.targets[0]
    names = elements(target)
    best = [one.id for one in names if isinstance(one, ast.Name) and _BEST.search(one.id)]
    return best[0] if len(best) == 1 else None


def _compared(context: Context, event: CallEvent) -> bool:
    """Say whether a call stands in a loop under a condition that compares something."""
    blocks = [block for block, arm in context.bodies.paths(event.scope).get(event.node, ()) if arm != "test"]
    tests = [block.test for block in blocks if isinstance(block, ast.If)]
    return (
        bool(event.loops)
        and any(isinstance(n, ast.Compare) for test in tests for n in ast.walk(test))
        and any(inside(test, event.loops[0]) for test in tests)
    )


def _used(context: Context, scope: Scope, name: str) -> bool:
    """Say whether a function, or one in it, reads a variable, or others may."""
    body: ast.AST = scope.function.node if scope.function is not None else scope.module.source.tree
    if scope.function is None:
        others = (module for module in context.project.modules if module is not scope.module)
        if any(name.encode() in module.source.data for module in others):
            return True
    for node in ast.walk(body):
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            return True
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Store):
            if not _asks(node, body):
                return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"locals", "vars"}:
            return True
    return False


def _asks(name: ast.Name, body: ast.AST) -> bool:
    """Say whether a variable is only asked whether there is one: ``best is None``."""
    return any(
        isinstance(node, ast.Compare) and node.left is name and ast.unparse(node.comparators[0]) == "None"
        for node in ast.walk(body)
    )


_BAD = """\
import jax
import jax.numpy as jnp
from flax import nnx


def train(model, step, evaluate, epochs):
    best, best_params = float("inf"), None
    for _ in range(epochs):
        step(model)
        loss = evaluate(model)
        if loss < best:
            best = loss
            best_params = jax.tree.map(jnp.copy, nnx.state(model, nnx.Param))
    return model, best
"""

RULE = lint_rule(
    "NNX928",
    "best-never-used",
    "the best parameters of a training are kept, and never used",
    why="""\
The loop copies the parameters whenever the validation is better than before, and nothing reads the copy: the model that
is returned, or saved, has the last parameters, and the number beside it belongs to others.
""",
    source="measured: the loss of the returned model is twice the best one",
    severity="warning",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("    return model", "    nnx.update(model, best_params)\n    return model"),
        _BAD.replace("return model, best", "return best_params, best"),
    ),
)
