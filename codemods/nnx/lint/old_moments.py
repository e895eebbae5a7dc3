"""Optimizers by hand that compute a new moment and hand the old one on; part of NNX565."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern

_MOMENT = pattern(
    r"^(m|v|mu|nu|mom|moments?|momentum|velocity|first_moments?|second_moments?|exp_avg(_sq)?|cache|g_sq)$"
)
_WORDS = (b"grad",)


def old_moments(context: Context) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield the entries of a state that a function returns as it came, though it has computed the next one.

    Args:
        context: the analysis.
    """
    for module in context.asked.modules:
        if not all(module.source.mentions(word) for word in _WORDS):
            continue
        for function in module.functions:
            if in_test(function.scope) or isinstance(function.node, ast.Lambda):
                continue
            nodes = context.bodies.nodes(function.scope)
            made = {
                t.id: n.value for n in nodes if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)
            }
            returned = [n.value for n in nodes if isinstance(n, ast.Return) and n.value is not None]
            for part in (one for value in returned for one in elements(value) or [value]):
                given = _entries(part)
                new = [name for name, value in given.items() if isinstance(value, ast.Name) and value.id == name]
                for name, value in given.items():
                    if name in made and len(new) > 1 and _MOMENT.match(name) and _is_old(value, name):
                        if ast.unparse(value) in map(ast.unparse, _parts(made[name])) and _others(made, new):
                            yield function.scope, value, name


def _entries(node: ast.expr | None) -> dict[str, ast.expr]:
    """Return the entries of a dict or of a record, by their names."""
    if isinstance(node, ast.Dict):
        keys = [constant(key) for key in node.keys]
        return {key: value for key, value in zip(keys, node.values, strict=True) if isinstance(key, str)}
    if isinstance(node, ast.Call) and not node.args and last_word(node.func)[:1].isupper():
        return {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    return {}


def _is_old(node: ast.expr, name: str) -> bool:
    """Say whether an expression is an entry of another record, of the same name."""
    if isinstance(node, ast.Attribute):
        return node.attr == name and isinstance(node.value, ast.Name)
    return isinstance(node, ast.Subscript) and constant(node.slice) == name and isinstance(node.value, ast.Name)


def _parts(node: ast.expr) -> list[ast.expr]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Attribute | ast.Subscript)]


def _others(made: dict[str, ast.expr], names: list[str]) -> bool:
    """Say whether another moment is computed as well, and handed on."""
    return any(_MOMENT.match(name) and name in made for name in names)
