"""Draws in a loop with a key of one seed, which is made anew in every round; part of NNX830."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.key_anew import fixed_seed
from codemods.nnx.lint.keys import DRAWING
from codemods.nnx.lint.names import KEY_MAKERS
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import innermost_loop, times_stored
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_KEYS = pattern(r"^(\w+_)?(key|rng)s?$")
_ADDING = (ast.Add, ast.Sub)


def seeds_in_loops(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the draws that give the same numbers in every round of a loop, with the key as it is written.

    Only where that cannot be meant: the numbers are added to what the loop goes on with, or the function is given a
    key of its own, which this draw leaves aside.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, *DRAWING):
        loop = innermost_loop(event)
        if not name.startswith("jax.random.") or loop is None or in_test(event.scope) or not event.node.args:
            continue
        made = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)) if event.value.args else None
        if made is None or not isinstance(made.value, Call):
            continue
        if context.flow.calls.callee_name(made) not in KEY_MAKERS or not fixed_seed(context, made.value, event):
            continue
        inside = any(node is made.value.node for node in ast.walk(loop))
        own = _own_key(event) or _left_aside(context, event, loop)
        if inside and (_goes_on(event, loop) or (own and not _for_shapes(event))):
            yield event, ast.unparse(event.node.args[0])


def _goes_on(event: CallEvent, loop: ast.AST) -> bool:
    """Say whether the numbers are added to a variable that the next round goes on with: ``x = x + noise``."""
    statement = event.statement
    if isinstance(statement, ast.AugAssign):
        plain = isinstance(statement.op, _ADDING) and isinstance(statement.target, ast.Name)
        return plain and any(term is event.node for term in _terms(statement.value))
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return False
    before = isinstance(loop, ast.For) and any(
        isinstance(n, ast.Name) and n.id == target.id for n in ast.walk(loop.target)
    )
    if before or times_stored(loop, target.id) > 1:
        return False  # it begins anew in every round
    terms = _terms(statement.value)
    added = isinstance(statement.value, ast.BinOp) and isinstance(statement.value.op, _ADDING)
    return added and event.node in terms and any(isinstance(n, ast.Name) and n.id == target.id for n in terms)


def _terms(node: ast.expr) -> list[ast.expr]:
    """Return what an expression is put together of by arithmetic alone."""
    if isinstance(node, ast.BinOp):
        return [*_terms(node.left), *_terms(node.right)]
    return _terms(node.operand) if isinstance(node, ast.UnaryOp) else [node]


def _own_key(event: CallEvent) -> bool:
    """Say whether the function around a draw is given a key that tells its calls apart, and gives back what it drew."""
    function = event.scope.function
    if function is None or isinstance(function.node, ast.Lambda):
        return False
    taken = [name for name in function.params if _KEYS.match(name)]
    return bool(taken) and bool(function.returns)


def _left_aside(context: Context, event: CallEvent, loop: ast.AST) -> bool:
    """Say whether each round makes a key of its own, and nothing reads that."""
    if not isinstance(loop, ast.For | ast.While):
        return False
    for statement in loop.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        if last_word(statement.value.func) not in {"fold_in", "split"} or len(statement.targets) != 1:
            continue
        made = {one.id for one in elements(statement.targets[0]) if isinstance(one, ast.Name)}
        given = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
        for name in made - given:
            reads = context.bodies.names(event.scope).get(name, ())
            if _KEYS.match(name.rstrip("_0123456789i")) and not any(isinstance(n.ctx, ast.Load) for n in reads):
                value = event.scope.module.values.get(statement.value)
                here = context.flow.here(value, event.scope) if value is not None else None
                return here is not None and context.flow.calls.callee_name(here).startswith("jax.random.")
    return False


def _for_shapes(event: CallEvent) -> bool:
    """Say whether the numbers only show shapes: what they are given to makes parameters, or is compiled ahead."""
    return any(
        isinstance(node, ast.Call) and last_word(node.func) in {"init", "init_with_output", "eval_shape", "lower"}
        for node in ast.walk(event.statement)
    )
