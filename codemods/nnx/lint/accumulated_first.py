"""NNX666: gradients of several batches that are applied after the first one already."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, kinds_of
from codemods.nnx.lint.syntax import argument, constant, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Const, of_display

_APPLYING = frozenset({"apply_updates", "apply_gradients"})


def _check(context: Context) -> Iterator[Finding]:
    loops: list[tuple[Scope, ast.For | ast.While]] = [*each(context, ast.For), *each(context, ast.While)]
    for scope, loop in loops:
        for place, block in enumerate(loop.body):
            counted = _every(block.test) if isinstance(block, ast.If) and not block.orelse else None
            if counted is None or not isinstance(block, ast.If) or in_test(scope):
                continue
            counter, rounds = counted
            if counter != _counter(loop) and not _counted_by_hand(scope, loop, place, counter):
                continue
            if not _applied(context, scope, block) or _rest_of_epoch(loop, block):
                continue
            kept = {name for one in loop.body[:place] for name in _collected(one)}
            emptied = sorted(kept & _bound(block.body) & names_in(block))
            if emptied:
                yield finding(
                    RULE.code,
                    scope,
                    block.test,
                    f"this is true in the first round already: `{emptied[0]}` is applied with the gradient of one "
                    "batch, and what the last rounds add never",
                    f"ask for the last of {ast.unparse(rounds)} rounds: ({counter} + 1) % {ast.unparse(rounds)} == 0",
                )


def _counted_by_hand(scope: Scope, loop: ast.For | ast.While, place: int, name: str) -> bool:
    """Say whether a variable is zero before a loop, and one more behind a place in each of its rounds."""
    counting = [
        one.target
        for one in loop.body[place + 1 :]
        if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add) and constant(one.value) == 1
    ]
    if not counting:
        return False
    bound = [
        n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    others = [n for n in bound if n not in counting]
    zero = [of_display(value) for value in scope.bindings.get(name, ())[:1]]
    return (
        len(others) == 1 == len(bound) - len(others)
        and others[0].lineno < loop.lineno
        and (len(zero) == 1 and isinstance(zero[0], Const) and zero[0].value == 0)
    )


def _counter(loop: ast.For | ast.While) -> str | None:
    """Return the variable of a loop that counts its rounds from zero."""
    if isinstance(loop, ast.While):
        return None
    given, target = loop.iter, loop.target
    while isinstance(given, ast.Call) and last_word(given.func) in {"tqdm", "trange"} and given.args:
        if last_word(given.func) == "trange":
            break
        given = given.args[0]
    if not isinstance(given, ast.Call):
        return None
    word = last_word(given.func)
    if word in {"range", "trange"} and isinstance(target, ast.Name):
        return target.id if len(given.args) == 1 or constant(given.args[0]) == 0 else None
    if word == "enumerate" and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
        start = argument(given, 1, "start")
        return target.elts[0].id if start is None or constant(start) == 0 else None
    return None


def _every(test: ast.expr) -> tuple[str, ast.expr] | None:
    """Return what a condition counts, and the number of rounds after which it is true again, as it is at zero."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        if constant(test.comparators[0]) != 0:
            return None
        test = test.left
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    else:
        return None
    if not isinstance(test, ast.BinOp) or not isinstance(test.op, ast.Mod) or constant(test.right) == 1:
        return None
    return (test.left.id, test.right) if isinstance(test.left, ast.Name) else None


def _applied(context: Context, scope: Scope, block: ast.If) -> bool:
    """Say whether an optimizer makes a step in a block."""
    inner = set(ast.walk(block))
    for event in context.bodies.calls.get(scope, ()):
        func = event.node.func
        if event.node not in inner:
            continue
        if last_word(func) in _APPLYING:
            return True
        if isinstance(func, ast.Attribute) and func.attr == "update":
            held = scope.module.values.get(func.value)
            if held is not None and kinds_of(context, held, scope) in ({Kind.OPTIMIZER}, {Kind.TRANSFORM}):
                return True
    return False


def _collected(statement: ast.stmt) -> Collection[str]:
    """Return the variables to which a statement adds something."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        func = statement.value.func
        return names_in(func.value) if isinstance(func, ast.Attribute) and func.attr == "append" else frozenset()
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        return names_in(statement.target)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return set()
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return set()
    value = statement.value
    parts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    adding = any(
        isinstance(n, ast.Add) or (isinstance(n, ast.Name | ast.Attribute) and last_word(n) in {"add", "tree_add"})
        for n in ast.walk(value)
    )
    return {target.id} if adding and any(target.id in names_in(part) for part in parts) else set()


def _bound(body: list[ast.stmt]) -> set[str]:
    """Return the variables that some statements give a new value, or empty."""
    nodes = [n for one in body for n in ast.walk(one)]
    emptied = {
        n.value.id
        for n in nodes
        if isinstance(n, ast.Attribute) and n.attr == "clear" and isinstance(n.value, ast.Name)
    }
    return emptied | {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store | ast.Del)}


def _rest_of_epoch(loop: ast.For | ast.While, block: ast.If) -> bool:
    """Say whether a loop goes on to the next round before a block, so that its counter does not count what is added."""
    before = loop.body[: loop.body.index(block)]
    return any(isinstance(n, ast.Continue | ast.Break) for one in before for n in ast.walk(one))


_BAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
total = None
for step in range(8):
    x = jax.random.normal(jax.random.key(step), (4, 2))
    grads = nnx.grad(lambda m: jnp.mean(m(x) ** 2))(model)
    total = grads if total is None else jax.tree.map(jnp.add, total, grads)
    if step % 4 == 0:
        optimizer.update(model, jax.tree.map(lambda g: g / 4, total))
        total = None
"""

RULE = lint_rule(
    "NNX666",
    "applied-in-first-round",
    "gradients of several batches are applied after the first batch already",
    why="""\
A loop that counts from zero finds `step % 4 == 0` in its first round. Gradients that are added up to be applied after
four batches are then applied after one, divided by four as they are, and the last three of the training never.
""",
    source="transformers pull request 12675; measured: steps after 1, 4, 4 and 4 batches of 16",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("step % 4", "(step + 1) % 4"),),
)
