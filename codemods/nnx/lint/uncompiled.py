"""Where compilation is switched off: ``with jax.disable_jit():`` and the setting of the same effect."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, ModuleFacts, Scope
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import Path, argument, constant
from codemods.nnx.lint.traced import Root, function_of
from codemods.nnx.nodes import last_word

_CALLERS = 3  # how many callers up a call is followed


def uncompiled(path: Path) -> bool:
    """Say whether a place stands in a block that turns compilation off.

    Args:
        path: the blocks around it.
    """
    return any(
        isinstance(one := item.context_expr, ast.Call)
        and last_word(one.func) == "disable_jit"
        and ((given := argument(one, 0, "disable")) is None or constant(given) is True)
        for block, arm in path
        if isinstance(block, ast.With) and arm == "body"
        for item in block.items
    )


def never_compiled(context: Context) -> dict[FunctionFacts, bool]:
    """Return the traced functions all of whose calls in sight stand where compilation is switched off: their loops and
    they themselves are run by Python, each time. Each comes with whether it gets tracers for all that, of ``vmap`` or
    of a gradient."""
    if not any(module.source.mentions(b"disable_jit") for module in context.project.modules):
        return {}
    modules = frozenset(module for module in context.project.modules if _sets(module))
    off = {root: _off(context, root, modules) for root in context.traced.roots}
    graded = frozenset(root.function for root in context.traced.gradients)
    found = ((function, _never(context, function, off, graded)) for function in context.traced.known)
    return {function: traced for function, traced in found if traced is not None}


def _never(
    context: Context, function: FunctionFacts, off: dict[Root, bool], graded: frozenset[FunctionFacts]
) -> bool | None:
    """Say whether a function still gets tracers if whatever traces it from plain Python does so where compilation is
    switched off; None if something does not."""
    found: list[bool] = []
    traced = False
    waiting, seen = [function], {function}
    while waiting:
        tracing = context.traced.get(waiting.pop())
        if tracing is None:
            continue
        callers = {way.by for way in tracing.ways}
        traced = traced or tracing.function in graded
        for root in tracing.roots:
            traced = traced or last(root.transform) not in _IN_PYTHON
            around = function_of(root.scope)
            if around is not None and around in context.traced:
                callers.add(around)
            else:
                found.append(off[root])
        waiting += callers - seen
        seen |= callers
    return traced if found and all(found) else None


# what Python does itself where compilation is switched off
_IN_PYTHON = frozenset({"jit", "pjit", "scan", "fori_loop", "while_loop", "cond", "switch", "map"})


def _off(context: Context, root: Root, modules: frozenset[ModuleFacts]) -> bool:
    """Say whether compilation is switched off where a transform is applied, and what it makes is called."""
    if root.scope.module in modules:
        return True
    places: list[tuple[ast.AST, Scope]] = [(event.node, event.scope) for event in context.traced.calls_of(root)]
    if not root.decorator and not places:
        places = [(root.node, root.scope)]
    return bool(places) and all(_stands_off(context, node, scope, modules, 0) for node, scope in places)


def _stands_off(context: Context, node: ast.AST, scope: Scope, modules: frozenset[ModuleFacts], depth: int) -> bool:
    if "test" in scope.module.source.file_name:
        return False  # whoever else calls it compiles it
    if scope.module in modules or uncompiled(context.bodies.paths(scope).get(node, ())):
        return True
    function = scope.function
    if function is None or depth == _CALLERS:
        return False
    callers = context.flow.sites.callers(function)
    return bool(callers) and all(_stands_off(context, one.node, one.scope, modules, depth + 1) for one in callers)


def _sets(module: ModuleFacts) -> bool:
    """Say whether a module switches compilation off for all that it does, by ``jax_disable_jit``."""
    if not module.source.mentions(b"jax_disable_jit"):
        return False
    settings = [
        call
        for call in module.source.of_type(ast.Call)
        if last_word(call.func) == "update" and call.args and constant(call.args[0]) == "jax_disable_jit"
    ]
    body = getattr(module.scope.node, "body", ())
    return (
        len(settings) == 1
        and len(settings[0].args) == 2
        and constant(settings[0].args[1]) is True
        and any(isinstance(statement, ast.Expr) and statement.value is settings[0] for statement in body)
    )
