"""Fields of train states that only their ``create`` sets: each state hands them on to the next; for NNX807."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.nodes import last_word

_CHANGING = frozenset({"replace", "_replace", "apply_gradients", "evolve", "tree_at", "update"})
_STEPPED = frozenset({"params", "opt_state", "step", "batch_stats"})  # what a step changes without naming it


def kept_fields(context: Context) -> frozenset[str]:
    """Return the fields that calls such as ``TrainState.create(...)`` set, and nothing else in the project.

    Args:
        context: the analysis.
    """
    made: set[str] = set()
    changed: set[str] = {*_STEPPED}
    for event in context.project.calls():
        word = last_word(event.node.func)
        if word == "create" and isinstance(event.node.func, ast.Attribute):
            if "State" in last_word(event.node.func.value):
                given = {one.arg for one in event.node.keywords if one.arg}
                made |= given
                if event.loops and not any(map(_compiles, event.loops)):
                    changed |= given  # each round has its own, and compiled code that of the first
        elif word in _CHANGING:
            changed |= {one.arg for one in event.node.keywords if one.arg}
            if any(one.arg is None for one in event.node.keywords):
                return frozenset()  # replace(**fields): any of them
    if not made - changed:
        return frozenset()
    stored = {event.node.attr for event in context.project.attributes() if event.context == "store"}
    return frozenset(made - changed - stored)


def _compiles(loop: ast.AST) -> bool:
    """Say whether functions are written in a loop, and decorated: each round compiles its own."""
    return any(isinstance(n, ast.FunctionDef) and n.decorator_list for n in ast.walk(loop))
