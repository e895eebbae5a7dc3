"""States that ``nnx.replace_by_pure_dict`` fills, and that nothing uses afterwards; part of NNX896."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import elements

# what gives a state of its own, whose Variables are not those of a model when their values are replaced
_MAKING = frozenset({"flax.nnx.split", "flax.nnx.state", "copy.deepcopy", "flax.nnx.clone", *TREE_MAPS})


def unused_states(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls that fill a state which nothing reads behind them, with its name.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, "replace_by_pure_dict"):
        state = argument(event.node, 0, "state")
        function = event.scope.function
        if name != "flax.nnx.replace_by_pure_dict" or not isinstance(state, ast.Name) or event.loops:
            continue
        if in_test(event.scope) or context.bodies.guarded(event.node, event.scope):
            continue
        if event.scope.module.source.notebook and function is None:
            continue
        nodes = list(ast.walk(event.scope.node))
        if not _own(context, event, nodes, state.id):
            continue
        last = event.node.end_lineno or event.node.lineno
        if not any(
            isinstance(n, ast.Name) and n.id == state.id and isinstance(n.ctx, ast.Load) and n.lineno > last
            for n in nodes
        ):
            yield event, state.id


def _own(context: Context, event: CallEvent, nodes: list[ast.AST], name: str) -> bool:
    """Say whether a body makes what a name stands for, and no caller or object holds it as well."""
    kept = any(isinstance(n, ast.Global | ast.Nonlocal) and name in n.names for n in nodes)
    nested = any(
        isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and n is not event.scope.node
        and any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(n))
        for n in nodes
    )  # fmt: skip
    if kept or nested:
        return False
    calls = {call.node: call for call in context.bodies.calls.get(event.scope, ())}
    stored = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    left = {*stored}
    for node in nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        if left & {*elements(target)}:
            call = calls.get(node.value) if isinstance(node.value, ast.Call) else None
            if call is None or context.flow.calls.name(call) not in _MAKING:
                return False
            left -= {*ast.walk(target)}
    return bool(stored) and not left
