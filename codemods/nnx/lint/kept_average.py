"""Attributes that a method moves towards a new value by a weighted mean with the old one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.facts import ClassFacts
from codemods.nnx.lint.arithmetic import complement, factors
from codemods.nnx.lint.syntax import assignments, constant, made_of
from codemods.nnx.nodes import last_word

_VALUES = frozenset({"value", "raw_value"})


def keeps_average(owner: ClassFacts, name: str) -> bool:
    """Say whether a method other than the constructor gives an attribute a weighted mean of its old and a new value:
    ``self.mean[...] = decay * self.mean[...] + (1 - decay) * x``.

    Args:
        owner: the class.
        name: the attribute.
    """
    for method in _methods(owner):
        pairs = [pair for node in ast.walk(method) for pair in assignments(node)]
        for target, value in pairs:
            if of_attribute(target, name) and any(_is_mean(one, name) for one in made_of(value, pairs)):
                return True
    return False


def read_otherwise(owner: ClassFacts, name: str) -> bool:
    """Say whether a method other than the constructor reads an attribute for something else than for its new value.

    Args:
        owner: the class.
        name: the attribute.
    """
    for method in _methods(owner):
        for node in _statements(method):
            stored = isinstance(node, ast.Assign) and any(of_attribute(target, name) for target in node.targets)
            if stored or any(_is_mean(one, name) for one in ast.walk(node)):
                continue
            if any(
                isinstance(one, ast.Attribute) and one.attr == name and last_word(one.value) == "self"
                for one in ast.walk(node)
            ):
                return True
    return False


def _methods(owner: ClassFacts) -> list[ast.FunctionDef]:
    """Return the methods of a class but its constructor."""
    return [one for one in owner.node.body if isinstance(one, ast.FunctionDef) and one.name != "__init__"]


def _statements(method: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Yield the statements of a method that hold no other ones."""
    for node in ast.walk(method):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield node


def of_attribute(node: ast.expr, name: str) -> bool:
    """Say whether a node is the value of an attribute: ``self.mean.value``, ``self.mean[...]`` or ``self.mean``."""
    whole = isinstance(node, ast.Subscript) and constant(node.slice) is ...
    if isinstance(node, ast.Attribute | ast.Subscript) and (whole or getattr(node, "attr", "") in _VALUES):
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr == name and last_word(node.value) == "self"


def _is_mean(node: ast.AST, name: str) -> bool:
    """Say whether a node is a mean of an attribute and something else, with weights that add up to one."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return False
    for old, new in ((node.left, node.right), (node.right, node.left)):
        weights = [one for one in factors(old) if not of_attribute(one, name)]
        others = list(factors(new))
        if len(weights) != 1 or len(list(factors(old))) != 2 or len(others) < 2:
            continue
        if any(of_attribute(one, name) for part in others for one in ast.walk(part) if isinstance(one, ast.expr)):
            continue
        if any(_add_up(weights[0], other) for other in others):
            return True
    return False


def _add_up(one: ast.expr, two: ast.expr) -> bool:
    first, second = constant(one), constant(two)
    if isinstance(first, float) and isinstance(second, float):
        return abs(first + second - 1) < 1e-9
    for part, whole in ((one, two), (two, one)):
        rest = complement(whole)
        if rest is not None and ast.dump(rest) == ast.dump(part):
            return True
    return False
