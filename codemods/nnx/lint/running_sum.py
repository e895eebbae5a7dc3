"""NNX955: a sum over all epochs so far, divided by what one epoch has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.epochs import over_epochs
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import inside, names_in, other_term
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_COUNT = pattern(r"^n$|^n_|num|count|size|steps?$|tokens?$|time|elapsed", re.I)
_PLAIN = frozenset({"len", "int", "float", "max", "ceil"})
_NUMBER = frozenset({"float", "item", "device_get", "array", "asarray"})


def _check(context: Context) -> Iterator[Finding]:
    for scope, loop in each(context, ast.For):
        if not over_epochs(loop) or in_test(scope):
            continue
        inner = [node for node in ast.walk(loop) if isinstance(node, ast.For) and node is not loop]
        added = {_added(node) for one in inner for node in ast.walk(one) if _measured(node)}
        told: set[str] = set()
        for node in _divisions(loop, inner) if added else ():
            name = _sum(node.left)
            if name not in added or name in told or not _runs_on(context, scope, loop, name):
                continue
            if _of_one_epoch(loop, node.right, name):
                told.add(name)
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"`{name}` adds up all epochs so far, and is divided by what one epoch has",
                    f"begin it anew in every epoch: {name} = 0",
                )


def _added(node: ast.AST) -> str | None:
    """Return the variable that a statement adds something to."""
    return _parts(node)[0]


def _parts(node: ast.AST) -> tuple[str | None, ast.expr | None]:
    """Return the variable that a statement adds something to, and what it adds."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
        return node.target.id, node.value
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return None, None
    name = node.targets[0].id
    other = other_term(node.value, name)
    return (None, None) if other is None else (name, other)


def _measured(node: ast.AST) -> bool:
    """Say whether a statement adds what was measured, and does not count: steps, examples and tokens run on."""
    added = _parts(node)[1]
    if added is None or isinstance(added, ast.Constant):
        return False
    return not any(
        (isinstance(one, ast.Call) and last_word(one.func) in {"len", "prod", "time", "perf_counter"})
        or (isinstance(one, ast.Attribute) and one.attr in {"shape", "size", "nbytes"})
        for one in ast.walk(added)
    ) and not (isinstance(added, ast.Name | ast.Attribute) and _COUNT.search(last_word(added)))


def _divisions(loop: ast.For, inner: list[ast.For]) -> Iterator[ast.BinOp]:
    """Yield the quotients of an epoch that stand behind its loops over batches."""
    first = min((one.end_lineno or one.lineno for one in inner), default=0)
    for node in ast.walk(loop):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and node.lineno > first:
            if not any(inside(node, one) for one in inner):
                yield node


def _sum(node: ast.expr) -> str:
    """Return the variable in ``total``, ``float(total)`` or ``total.item()``."""
    while isinstance(node, ast.Call) and last_word(node.func) in _NUMBER:
        held = array_of(node)
        if held is None:
            return ""
        node = held
    return node.id if isinstance(node, ast.Name) else ""


def _runs_on(context: Context, scope: Scope, loop: ast.For, name: str) -> bool:
    """Say whether a sum begins as nought before a loop, which only adds to it."""
    stores = context.bodies.stores(scope, name)
    within = [n for n in stores if inside(n, loop)]
    begun = [n for n in stores if n not in within and n.lineno < loop.lineno]
    if not begun or len(begun) + len(within) != len(stores) or name in scope.globals:
        return False
    adding = {target for node in ast.walk(loop) if _added(node) == name for target in _targets(node)}
    return all(n in adding for n in within) and _nought(context, scope, begun[-1])


def _targets(node: ast.AST) -> list[ast.expr]:
    return [node.target] if isinstance(node, ast.AugAssign) else node.targets if isinstance(node, ast.Assign) else []


def _nought(context: Context, scope: Scope, target: ast.expr) -> bool:
    """Say whether the statement that binds a variable gives it nought."""
    for node in context.bodies.nodes(scope):
        if not isinstance(node, ast.Assign):
            continue
        for one in node.targets:
            if one is target:
                return _is_nought(node.value)
            if isinstance(one, ast.Tuple) and target in one.elts and isinstance(node.value, ast.Tuple):
                if len(one.elts) == len(node.value.elts):
                    return _is_nought(node.value.elts[one.elts.index(target)])
    return False


def _is_nought(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in {int, float} and node.value == 0


def _of_one_epoch(loop: ast.For, divisor: ast.expr, name: str) -> bool:
    """Say whether a divisor is the same in every epoch, or begins anew in each."""
    names = names_in(divisor)
    if any(isinstance(one, ast.Call) and last_word(one.func) not in _PLAIN for one in ast.walk(divisor)):
        return False
    if name in names or names & (names_in(loop.target) | _counted(loop.iter)):
        return False
    for one in names:
        stored = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == one and isinstance(n.ctx, ast.Store)]
        adding = [t for n in ast.walk(loop) if _added(n) == one for t in _targets(n)]
        if stored and all(n in adding for n in stored):
            return False  # a count that runs on as well
    return True


def _counted(node: ast.expr) -> set[str]:
    """Return the names of the number of epochs."""
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call) and last_word(one.func) in {"range", "trange"}]
    return {name for call in calls for one in call.args for name in names_in(one)}


_BAD = """\
from flax import nnx


def fit(step, model, batches, num_epochs):
    total = 0.0
    for epoch in range(num_epochs):
        for batch in batches:
            total += step(model, batch)
        print(epoch, total / len(batches))
"""

RULE = lint_rule(
    "NNX955",
    "running-sum",
    "a sum over all epochs so far that is divided by the number of batches of one",
    why="""\
A sum that begins before the loop over the epochs goes on from one into the next. Divided by the number of batches of
one epoch it is no mean: a loss that stays the same grows with every epoch, and one that falls seems to rise.
""",
    source="JetBrains-Research/code2seq#112; measured: a loss of 1 is printed as 1, 2, 3",
    check=_check,
    bad=(_BAD,),
    clean=(
        """\
from flax import nnx


def fit(step, model, batches, num_epochs):
    for epoch in range(num_epochs):
        total = 0.0
        for batch in batches:
            total += step(model, batch)
        print(epoch, total / len(batches))
""",
    ),
)
