"""What was drawn in front of an error, and is lost where the handler of the error draws again."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.conditions import apart
from codemods.nnx.lint.keys import Use
from codemods.nnx.lint.syntax import Path, inside, names_in
from codemods.nnx.lint.unread import given_names, unread


def lost_in_try(context: Context, one: Use, two: Use, paths: dict[ast.AST, Path]) -> bool:
    """Say whether a second draw stands in a handler, and all that the first gave was only used by what has failed.

    Args:
        context: the analysis.
        one: the first use of a key.
        two: the second one.
        paths: the blocks around the nodes of the body that both stand in.
    """
    scope, way = two.event.scope, paths.get(two.event.node, ())
    failed = [block for block, arm in way if isinstance(block, ast.Try) and arm == "handlers"]
    if scope.function is None or not failed or one.event.loops or two.event.loops:
        return False
    tried = failed[-1].body
    names = set(given_names(one.event.statement, one.event.node))
    if not names or not isinstance(one.event.statement, ast.Assign):
        return False
    reads = [n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    assigned = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.Assign)]
    for statement in sorted(assigned, key=lambda n: n.lineno):
        if statement.lineno > one.event.statement.lineno and names & names_in(statement.value):
            bound = given_names(statement, statement.value)
            if not bound:
                return False  # something else may keep it
            names |= bound
    made = [n.value for n in assigned]
    made += [n.value for part in tried for n in ast.walk(part) if isinstance(n, ast.Return) and n.value is not None]
    return all(
        any(inside(n, value) for value in made) or apart(paths.get(n, ()), way, scope.node)
        for n in reads
        if n.id in names
    ) and _unused(context, scope, two.event.statement, names)


def _unused(context: Context, scope: Scope, statement: ast.stmt, names: set[str]) -> bool:
    """Say whether a statement reads none of some variables, and nothing behind it does."""
    return not names & names_in(statement) and unread(context, scope, statement, names)
