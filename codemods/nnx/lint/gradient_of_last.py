"""NNX568: gradients of several batches of which the last one alone is applied."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import each, in_test, kinds_of
from codemods.nnx.lint.syntax import inside, names_in
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.optimizer.gradients import gradient
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr

_GRADIENT = pattern(rb"grad\b", needs=(b"grad",))
_KEYS = pattern(r"(^|_)(keys?|rngs?|prng|seed)(_|\d|$)")
_APPLYING = frozenset({"update", "apply_gradients"})
_MAPS = frozenset(name.rpartition(".")[2] for name in TREE_MAPS)


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.matches(_GRADIENT) for module in context.project.modules):
        return
    for scope, loop in each(context, ast.For):
        if loop.orelse or in_test(scope) or any(isinstance(n, _LEAVING) for n in ast.walk(loop)):
            continue
        for statement, name in _overwritten(loop):
            applied = _applied(context, scope, loop, name)
            if applied is not None and not _trains(context, scope, loop):
                yield finding(
                    RULE.code,
                    scope,
                    statement,
                    f"every round overwrites `{name}`, of which the update behind the loop gets the last alone",
                    "add the gradients up in the loop, or make the update a part of it",
                    related=[(applied.node, "it is applied here")],
                )


_LEAVING = (ast.Break, ast.Return, ast.Yield, ast.YieldFrom, ast.Raise)


def _overwritten(loop: ast.For) -> Iterator[tuple[ast.Assign, str]]:
    """Yield the assignments that every round of a loop makes of a call with what changes, with a name nothing reads."""
    stored: list[str] = []
    read: set[str] = set()
    for node in ast.walk(loop):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                stored.append(node.id)
            else:
                read.add(node.id)
    carried = _carried(loop)
    for statement in loop.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        last = elements(statement.targets[0])[-1:]
        if last and isinstance(last[0], ast.Name) and isinstance(statement.value, ast.Call):
            name = last[0].id
            given = names_in(statement.value)
            if name not in read and stored.count(name) == 1 and given & set(stored) and not given & carried:
                yield statement, name


def _carried(loop: ast.For) -> set[str]:
    """Return the variables that a round makes of those of the round before: the last of them is what is wanted.

    Keys do not count, of which each round draws another batch.
    """
    made: list[tuple[set[str], frozenset[str]]] = []
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            made += [
                ({n.id for n in ast.walk(one) if isinstance(n, ast.Name)}, names_in(node.value)) for one in node.targets
            ]
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            made.append(({node.target.id}, names_in(node.value) | {node.target.id}))
    carried = {name for targets, read in made for name in targets & read if not _KEYS.search(name)}
    before = -1
    while before != len(carried):
        before = len(carried)
        carried |= {name for targets, read in made if read & carried for name in targets}
    return carried


def _applied(context: Context, scope: Scope, loop: ast.For, name: str) -> CallEvent | None:
    """Return the call behind a loop that steps with gradients which the loop left in a variable."""
    held = {name}
    end = loop.end_lineno or loop.lineno
    for event in sorted(context.bodies.calls.get(scope, ()), key=lambda one: one.node.lineno):
        if event.node.lineno <= end:
            continue
        given = [*event.node.args, *(one.value for one in event.node.keywords)]
        for one in given:  # update(model, jax.tree.map(lambda g: g / n, grads))
            given += one.args if isinstance(one, ast.Call) and last_word(one.func) in _MAPS else []
        read = [node for node in given if isinstance(node, ast.Name) and node.id in held]
        statement, word = event.statement, last_word(event.node.func)
        if read and (word in _APPLYING or _steps(context, event)):
            value, callee = scope.module.values.get(read[0]), event.value.callee
            own = isinstance(callee, Attr) and Kind.OPTIMIZER in kinds_of(context, callee.base, scope)
            taken = value is not None and gradient(context.flow, context.flow.here(value, scope)) is not None
            return event if own or taken else None
        if isinstance(statement, ast.Assign) and statement.value is event.node:
            targets = {n.id for one in statement.targets for n in ast.walk(one) if isinstance(n, ast.Name)}
            held = held | targets if read and word in _MAPS else held - targets
    return None


def _trains(context: Context, scope: Scope, loop: ast.For) -> bool:
    """Say whether a loop makes steps of its own, as of a critic before one of the generator."""
    for event in context.bodies.calls.get(scope, ()):
        word = last_word(event.node.func)
        applies = (word == "update" and len(event.node.args) > 1) or word in {"apply_gradients", "apply_updates"}
        if inside(event.node, loop) and (applies or _steps(context, event)):
            return True
    return False


def _steps(context: Context, event: CallEvent) -> bool:
    """Say whether a call hands an optimizer on, to the function that makes the update."""
    return any(Kind.OPTIMIZER in kinds_of(context, one, event.scope) for one in event.value.given)


_BAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx


def train(model, optimizer, batches):
    for x in batches:
        loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(model)
    optimizer.update(model, grads)
    return loss


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
train(model, optimizer, [jnp.ones((4, 2)), jnp.zeros((4, 2))])
"""

RULE = lint_rule(
    "NNX568",
    "gradient-of-last-batch",
    "a loop computes gradients of every batch, and the last one alone is applied behind it",
    why="""\
Where every round of a loop gives `grads` a new value and nothing in the loop reads it, the update behind the loop gets
the gradient of the last batch: all others are computed for nothing. With micro batches the step is also divided by
their number. Add the gradients up with `jax.tree.map(jnp.add, total, grads)`, use `optax.MultiSteps`, or move the
update into the loop.
""",
    source="tutorials on accumulated gradients; measured: the weights of three of four micro batches never move",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("    optimizer.update", "        optimizer.update"),),
)
