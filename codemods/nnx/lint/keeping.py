"""Loops that keep what a call gives in every round."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.syntax import constant, innermost_loop, inside
from codemods.nnx.nodes import last_word

_GATHERING = frozenset({"append", "add", "insert"})
# what takes things out of a container again
_TAKING = frozenset({"pop", "popleft", "popitem", "clear", "remove"})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)


def kept_in(context: Context, event: CallEvent) -> ast.AST | None:
    """Return the loop or comprehension that gathers what a call gives as it is; None if there is none.

    Args:
        context: the analysis.
        event: the call.
    """
    for node in context.bodies.nodes(event.scope):
        if isinstance(node, _COMPREHENSIONS):
            element = node.value if isinstance(node, ast.DictComp) else node.elt
            if any(part is event.node for part in parts(element)):
                return node
    loop = innermost_loop(event)
    if loop is None:
        return None
    names = {event.statement.targets[0].id} if _named(event) else set()  # type: ignore[attr-defined]
    for node in ast.walk(loop):
        holder: ast.expr | None = None
        given: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _GATHERING:
            holder, given = node.func.value, node.args
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.value, ast.List):
            holder, given = node.target, [node.value]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            if constant(node.targets[0].slice) is None:
                holder, given = node.targets[0].value, [node.value]
        held = [part for one in given for part in parts(one)]
        if holder is None or not any(_is(part, event, names) for part in held):
            continue
        if isinstance(holder, ast.Name | ast.Attribute) and _stays(context, event, holder, loop):
            return loop
    return None


def _named(event: CallEvent) -> bool:
    """Say whether a statement gives the result of a call a name, and nothing else."""
    statement = event.statement
    return (
        isinstance(statement, ast.Assign)
        and statement.value is event.node
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
    )


def parts(node: ast.expr) -> list[ast.expr]:
    """Return an expression and what stands in it as a part of a display."""
    if isinstance(node, ast.Tuple | ast.List):
        return [part for one in node.elts for part in parts(one)]
    if isinstance(node, ast.Dict):
        return [part for one in node.values for part in parts(one)]
    if isinstance(node, ast.Call) and last_word(node.func) == "dict" and not node.args:
        return [part for word in node.keywords for part in parts(word.value)]
    return [node]


def _is(node: ast.expr, event: CallEvent, names: set[str]) -> bool:
    return node is event.node or (isinstance(node, ast.Name) and node.id in names)


def _stays(context: Context, event: CallEvent, holder: ast.expr, loop: ast.AST) -> bool:
    """Say whether a container is there before a loop, and nothing is taken out of it or puts another in its place."""
    text = ast.unparse(holder)
    grown = {node.target for node in context.bodies.nodes(event.scope) if isinstance(node, ast.AugAssign)}
    for node in context.bodies.nodes(event.scope):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TAKING:
            if ast.unparse(node.func.value) == text:
                return False
        elif isinstance(node, ast.Delete) and any(text in ast.unparse(one) for one in node.targets):
            return False
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store) and node not in grown:
            if inside(node, loop) and ast.unparse(node) == text:
                return False
        elif isinstance(node, ast.Assign) and any(ast.unparse(one) == text for one in node.targets):
            if isinstance(node.value, ast.Call) and last_word(node.value.func) == "deque":
                return False  # of a fixed length
    return True
