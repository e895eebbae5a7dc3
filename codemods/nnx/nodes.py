"""Going over syntax trees, several times as fast as :func:`ast.walk`, which rules would spend most of their time in."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from codemods.nnx.annotated import AnnotatedAssign

# fields that hold no node, or one that says nothing by itself
_PLAIN = frozenset(
    {
        "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "lineno", "module", "n",
        "name", "op", "ops", "rest", "s", "simple", "tag", "type_comment",
    }
)  # fmt: skip
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes right below a node in order, without operators and contexts."""
    kind = type(node)
    fields = _FIELDS.get(kind)
    if fields is None:
        # the name of a type alias is a node
        fields = _FIELDS[kind] = tuple(
            f for f in kind._fields if f not in _PLAIN or (f == "name" and kind.__name__ == "TypeAlias")
        )
    found: list[ast.AST] = []
    for field in fields:
        value = getattr(node, field, None)
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def every(root: ast.AST) -> list[ast.AST]:
    """Return a node and all below it, as :func:`ast.walk` does, without operators and contexts."""
    found = [root]
    for node in found:
        found += children(node)
    return found


def is_decoration(call: ast.Call) -> bool:
    """Say whether a call stands for what a decorator does to its function, so that the text has no such call.

    What it calls and what it is given begin where the decorator does then.
    """
    if not call.args:
        return (call.end_lineno, call.end_col_offset) == (call.func.end_lineno, call.func.end_col_offset)
    return (call.args[0].lineno, call.args[0].col_offset) <= (call.func.lineno, call.func.col_offset)


def applied_word(decorator: ast.expr) -> str:
    """Return the last word of what a decorator applies, also one with options: ``@partial(jax.grad, argnums=1)``."""
    if isinstance(decorator, ast.Call):
        given = decorator.args[0] if decorator.args and last_word(decorator.func) == "partial" else decorator.func
        return last_word(given)
    return last_word(decorator)


def last_word(node: ast.AST | None) -> str:
    """Return the last part of a name: ``f`` of ``f`` as of ``module.f``; empty if a node is no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def elements(node: ast.expr | None, *, lists: bool = False) -> list[ast.expr]:
    """Return the elements of a tuple, such as the parts of an index or the targets of an assignment; else a node alone.

    Args:
        node: the expression; None for none, which has no elements.
        lists: whether a list is taken apart, too.
    """
    if isinstance(node, ast.Tuple) or (lists and isinstance(node, ast.List)):
        return node.elts
    return [node] if node is not None else []


def first_element(node: ast.expr) -> ast.expr:
    """Return the first element of a tuple, such as the first part of an index; another node itself."""
    return node.elts[0] if isinstance(node, ast.Tuple) and node.elts else node


def by_type(nodes: Iterable[ast.AST]) -> dict[type[ast.AST], list[ast.AST]]:
    """Return nodes by their types; annotated assignments in functions and modules are among the others."""
    found: dict[type[ast.AST], list[ast.AST]] = {}
    for node in nodes:
        kind: type[ast.AST] = type(node)
        found.setdefault(ast.Assign if kind is AnnotatedAssign else kind, []).append(node)
    return found
