"""Functions that run for the shapes of what they make only, as under ``eval_shape``: nothing is computed in them."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.nodes import last_word

_SHAPING = frozenset({"jax.eval_shape", "flax.nnx.eval_shape"})
_CALLS = 12  # through how many of them a function is followed back


def only_shapes(context: Context, function: FunctionFacts | None, depth: int = 0) -> bool:
    """Say whether all calls of a function that the project makes, tests apart, stand behind ``eval_shape``.

    Args:
        context: the analysis.
        function: a function, also the constructor of a module.
        depth: how many calls were followed back to it.
    """
    shaped = context.shared(_shaped)
    if function is None or not shaped or depth > _CALLS:
        return False
    if function in shaped:
        return True
    callers = [one for one in context.flow.sites.callers(function) if not in_test(one.scope)]
    return bool(callers) and all(only_shapes(context, one.scope.function, depth + 1) for one in callers)


def _shaped(context: Context) -> frozenset[FunctionFacts]:
    """Return the functions that ``eval_shape`` is given, and that nothing else gets."""
    given: dict[ast.AST, FunctionFacts] = {}
    for event, name in foreign(context, "eval_shape", everywhere=True):
        if name in _SHAPING and event.value.args:
            here = context.flow.here(event.value, event.scope)
            for callee in context.flow.calls.callables(context.flow.with_value(here, event.value.args[0])):
                given[event.node.args[0]] = callee.function
    found = {*given.values()}
    return frozenset(one for one in found if one.name == "<lambda>" or _nowhere_else(context, one, {*given}))


def _nowhere_else(context: Context, function: FunctionFacts, given: set[ast.AST]) -> bool:
    """Say whether the name of a function is only read where ``eval_shape`` is given it."""
    if any(last_word(one.node.func) != "eval_shape" for one in context.flow.sites.callers(function)):
        return False
    reads = [
        node
        for node in function.scope.module.source.of_type(ast.Name)
        if node.id == function.name and isinstance(node.ctx, ast.Load)
    ]
    return bool(reads) and all(node in given for node in reads)
