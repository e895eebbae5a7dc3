"""Values that are written down somewhere: as literals, or as names of literals."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Const, Sequence, Star, Unknown


def literal(context: Context, node: ast.expr | None, scope: Scope) -> object:
    """Return the value of a literal, or of a name that stands for one: ``EPS``, ``self.eps``, ``NO_DECAY``.

    Args:
        context: the analysis.
        node: an expression.
        scope: the body that it stands in.

    Returns:
        The value, of a list too a tuple; None if it is not known, or None itself.
    """
    known = constant(node)
    if known is not None or node is None:
        return known
    value = scope.module.values.get(node)
    return None if value is None else _known(context, context.flow.resolve(context.flow.here(value, scope)), 0)


def _known(context: Context, found: Bound, depth: int) -> object:
    value = found.value
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Unknown):
        return constant(value.node) if isinstance(value.node, ast.expr) else None
    if not isinstance(value, Sequence) or depth or any(isinstance(item, Star) for item in value.items):
        return None
    parts = tuple(_known(context, context.flow.follow(found, item), depth + 1) for item in value.items)
    return None if None in parts else parts
