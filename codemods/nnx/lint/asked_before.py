"""Branches of ``lax.cond`` that run only where what they guard against was asked for."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.syntax import inside, names_in, taken_apart
from codemods.nnx.nodes import last_word

_ROUNDS = 6  # through how many assignments a name is followed


def asked_before(context: Context, function: FunctionFacts, event: CallEvent) -> bool:
    """Say whether a guard stands in the branch of ``lax.cond`` that is taken if the condition holds, and asks about
    what the condition asks about: it may well never hold there.

    Args:
        context: the analysis.
        function: the function with the guard.
        event: the call of ``where``.
    """
    outer = function.scope.parent
    if outer is None or not event.node.args:
        return False
    for call in context.bodies.named("cond"):
        node = call.node
        if call.scope is not outer or len(node.args) < 3:
            continue
        branch = node.args[1]
        if not (isinstance(branch, ast.Name) and branch.id == function.name) and branch is not function.node:
            continue
        if not (context.flow.calls.name(call) or last_word(node.func)).endswith("cond"):
            continue
        within = _sources(context, function.scope, set(names_in(event.node.args[0])), event.node)
        within |= _operands(context, function, within, node.args[3:])
        asked = _sources(context, outer, set(names_in(node.args[0])), node)
        if within & asked:
            return True
    return False


def _sources(context: Context, scope: Scope, names: set[str], node: ast.AST) -> set[str]:
    """Return names with those from which assignments of a body before a place make what they stand for."""
    line = getattr(node, "lineno", 0)
    assigned = [
        ({name for target in n.targets for name in names_in(target)}, names_in(n.value))
        for n in context.bodies.nodes(scope)
        if isinstance(n, ast.Assign) and n.lineno < line and not inside(node, n)
    ]
    for _ in range(_ROUNDS):
        more = {name for targets, made in assigned if targets & names for name in made}
        if more <= names:
            break
        names = names | more
    return names


def _operands(context: Context, function: FunctionFacts, names: set[str], given: list[ast.expr]) -> set[str]:
    """Return the names of the operands that a branch gets for some of its names, or for parts of a tuple of them."""
    params = list(function.params)
    found = {name for param, node in zip(params, given, strict=False) if param in names for name in names_in(node)}
    for n in context.bodies.nodes(function.scope):
        if not isinstance(n, ast.Assign) or not isinstance(n.value, ast.Name) or n.value.id not in params:
            continue
        place = params.index(n.value.id)
        whole = given[place] if place < len(given) else None
        if isinstance(whole, ast.Tuple):
            for part, node in taken_apart(n.targets[0], whole):
                if isinstance(part, ast.Name) and part.id in names and node is not whole:
                    found |= names_in(node)
    return found
