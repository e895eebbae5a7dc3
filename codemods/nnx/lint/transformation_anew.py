"""Optimizers of compiled steps whose transformation is made anew in every round of a loop; part of NNX908."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.places import foreign, in_test, jit_of
from codemods.nnx.lint.rounds import few
from codemods.nnx.lint.syntax import argument, inside, names_in
from codemods.nnx.lint.traced import Root
from codemods.nnx.project import enclosing_function

_OPTIMIZERS = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})


def transformations_anew(context: Context) -> Iterator[tuple[CallEvent, ast.expr]]:
    """Yield the optimizers that a loop makes and hands to compiled code, each with its transformation.

    The transformation is the same in every round, but made anew: its functions are no arrays, so that a compiled
    function that is given the optimizer is compiled for each of them. Where the model is no new one, NNX894 says so.
    """
    for event, name in foreign(context, "Optimizer", "ModelAndOptimizer"):
        loop = next((one for one in reversed(event.loops) if isinstance(one, ast.For | ast.While)), None)
        given = argument(event.node, 1, "tx")
        if name not in _OPTIMIZERS or loop is None or given is None or event.value.starred or in_test(event.scope):
            continue
        statement = event.statement
        target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
        if not isinstance(target, ast.Name) or context.bodies.sometimes(event.node, event.scope, loop):
            continue
        if enclosing_function(event.scope) in context.traced or few(context, event.scope, loop):
            continue
        if not names_in(event.node.args[0] if event.node.args else event.node) & _stored(loop):
            continue
        made = _made(context, event, given, loop)
        if made is not None and _compiled(context, event, target.id, loop):
            yield event, made


def _stored(loop: ast.For | ast.While) -> set[str]:
    """Return the variables that a loop binds."""
    return {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _made(context: Context, event: CallEvent, given: ast.expr, loop: ast.For | ast.While) -> ast.expr | None:
    """Return the call of optax that makes the transformation within a loop, of nothing that changes in it."""
    stored = _stored(loop)
    if isinstance(given, ast.Name):
        makers = [
            n.value for n in context.bodies.nodes(event.scope)
            if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == given.id for t in n.targets)
        ]  # fmt: skip
        if len(makers) != 1:
            return None
        given = makers[0]
    calls = [one for one in context.bodies.calls.get(event.scope, ()) if one.node is given]
    if not calls or not inside(given, loop) or names_in(given) & stored:
        return None
    if not context.flow.calls.name(calls[0]).startswith("optax."):
        return None
    if any(isinstance(n, ast.Attribute) and names_in(n) == {"self"} for n in ast.walk(given)):
        return None  # a setting that a method may change
    return given


def _compiled(context: Context, event: CallEvent, name: str, loop: ast.For | ast.While) -> bool:
    """Say whether a loop gives an optimizer to a function that is compiled outside of it."""
    for call in context.bodies.calls.get(event.scope, ()):
        given = [*call.node.args, *(k.value for k in call.node.keywords)]
        if inside(call.node, loop) and any(isinstance(one, ast.Name) and one.id == name for one in given):
            roots: tuple[Root, ...] = jit_of(context, call)
            if roots and not any(root.scope is event.scope and inside(root.node, loop) for root in roots):
                return True
    return False
