"""Compiled functions that are made anew each time, and used only before a change: they cannot keep an earlier value."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.between import Place, upwards
from codemods.nnx.lint.syntax import inside
from codemods.nnx.lint.traced import function_of
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Free, Function

_LOOPS = ast.For | ast.While | ast.AsyncFor
_TRANSFORMS = frozenset({"grad", "hessian", "jacfwd", "jacrev", "jit", "pmap", "value_and_grad", "vmap"})


def used_before(context: Context, function: FunctionFacts, change: Place) -> bool:
    """Say whether a function is never used again when something changes, since the next use makes it anew.

    Args:
        context: the analysis.
        function: what reads the changed value, and is traced.
        change: where it changes, in host code.
    """
    outer = function_of(function.scope.parent)
    while outer is not None and outer in context.traced:
        function, outer = outer, function_of(outer.scope.parent)
    scope = function.scope.parent
    if scope is None or function.owner is not None or (scope.function is not None and scope.function.decorators):
        return False
    uses = _uses(context, function, scope)
    if not uses:
        return False
    if scope.function is None and change[0] is not scope:
        return False
    here = [node for home, node in upwards(context, [change]) if home is scope]
    return not any(_comes_between(context, function, scope, node, uses) for node in here)


def _comes_between(
    context: Context, function: FunctionFacts, scope: Scope, node: ast.stmt | ast.expr, uses: list[ast.Name]
) -> bool:
    """Say whether a place comes before a use of the same function."""
    if any(use.lineno >= node.lineno for use in uses) and (node.end_lineno or node.lineno) >= function.node.lineno:
        return True
    around = [block for block, _ in context.bodies.paths(scope).get(node, ()) if isinstance(block, _LOOPS)]
    again = [loop for loop in around if not inside(function.node, loop)]
    return any(inside(use, loop) for use in uses for loop in again)


def _uses(context: Context, function: FunctionFacts, scope: Scope) -> list[ast.Name]:
    """Return where a body uses a function in it; none if something may keep it, or if it is used elsewhere too."""
    if isinstance(function.node, ast.Lambda) or function.name in scope.remote or function.name in scope.globals:
        return []
    reads = context.bodies.reads(scope, function.name)
    own, values = set(reads), scope.module.values
    inner = [n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == function.name and n not in own]
    if any(not isinstance(value := values.get(n), Function | Free) or value == Free(scope, n.id) for n in inner):
        return []
    if context.bodies.stores(scope, function.name):
        return []
    paths = context.bodies.paths(scope)
    home = tuple(paths.get(function.node, ()))
    if any(tuple(paths.get(read, ()))[: len(home)] != home for read in reads):
        return []  # an earlier round may have made the one that is used
    called: set[ast.expr] = set()
    for event in context.bodies.calls.get(scope, ()):
        if event.node.func in reads:
            called.add(event.node.func)
            continue
        given = [n for n in (*event.node.args, *(k.value for k in event.node.keywords)) if n in reads]
        if given and (_called_at_once(context, event, scope) or _only_calls(context, event)):
            called.update(given)
    return reads if all(read in called for read in reads) else []


def _called_at_once(context: Context, event: CallEvent, scope: Scope) -> bool:
    """Say whether what a transform makes of a function is called, and not kept: ``jax.grad(loss)(params)``."""
    if last_word(event.node.func) not in _TRANSFORMS:
        return False
    return any(other.node.func is event.node for other in context.bodies.calls.get(scope, ()))


def _only_calls(context: Context, event: CallEvent) -> bool:
    """Say whether a call reaches functions of the project that give back no function, and keep nothing in an object."""
    reached = [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope))]
    return bool(reached) and not any(map(_keeps, reached))


def _keeps(function: FunctionFacts) -> bool:
    """Say whether a function may keep what it is given, or hand out a function that holds it."""
    if isinstance(function.node, ast.Lambda) or function.generator or function.scope.globals:
        return True
    own = {n.name for n in ast.walk(function.node) if isinstance(n, ast.FunctionDef) and n is not function.node}
    for node in ast.walk(function.node):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            names = {part.id for part in parts if isinstance(part, ast.Name)}
            if names & (own | set(function.params)) or any(isinstance(part, ast.Lambda) for part in parts):
                return True
            if any(isinstance(p, ast.Call) and last_word(p.func) in {*_TRANSFORMS, "partial"} for p in parts):
                return True
    return False
