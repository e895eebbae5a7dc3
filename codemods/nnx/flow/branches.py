"""Where nodes stand in the text of a function: their line, and the branches that lead to them."""

from __future__ import annotations

import ast

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def exclusive(function: ast.AST, nodes: list[ast.AST]) -> bool:
    """Say whether at most one of some nodes of a function runs, and that once."""
    ways = [_way(function, node) for node in nodes]
    if any(way is None for way in ways):
        return False
    for index, one in enumerate(ways):
        for other in ways[:index]:
            assert one is not None
            assert other is not None
            fork = next((a, b) for a, b in zip(one, other, strict=False) if a != b)
            if fork[0][0] is not fork[1][0] or not isinstance(fork[0][0], ast.If | ast.IfExp):
                return False
    return True


def _way(function: ast.AST, wanted: ast.AST) -> list[tuple[ast.AST, str]] | None:
    """Return the branches that lead to a node, outermost first; None if it lies in a loop."""
    for name, value in ast.iter_fields(function):
        children = value if isinstance(value, list) else [value]
        for child in children:
            if child is wanted:
                return [(function, name), (child, "")]
            if isinstance(child, ast.AST) and not (isinstance(child, ast.stmt) and _elsewhere(child, wanted)):
                below = _way(child, wanted)
                if below is not None:
                    return [(function, name), *below] if not isinstance(function, _LOOPS) else None
    return None


def _elsewhere(statement: ast.stmt, wanted: ast.AST) -> bool:
    """Say whether a node stands on other lines than a statement, so that it is not in it."""
    line = getattr(wanted, "lineno", None)
    if line is None or isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False  # decorators stand before the lines of what they decorate
    return not statement.lineno <= line <= (statement.end_lineno or line)


def line_of(node: ast.AST | None) -> int:
    """Return the line of a node, also of the loop of a comprehension; 0 if it has none."""
    if isinstance(node, ast.comprehension):
        node = node.target
    return getattr(node, "lineno", 0)
