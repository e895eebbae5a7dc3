"""Probabilities as code writes them: a number, a variable or an attribute, or one minus that."""

from __future__ import annotations

import ast
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.arithmetic import complement
from codemods.nnx.lint.around import around
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word

_DEPTH = 6


class Share(NamedTuple):
    """A probability.

    Attributes:
        base: a number, or the text of a variable or an attribute.
        rest: whether one minus that is meant.
    """

    base: float | str
    rest: bool

    def other(self) -> Share:
        """Return one minus this."""
        return Share(1.0 - self.base, False) if isinstance(self.base, float) else Share(self.base, not self.rest)


def share_of(context: Context, node: ast.expr, scope: Scope, depth: int = 0) -> Share | None:
    """Return what a probability is; None if it is no number, variable or attribute that is set once, or one minus that.

    Args:
        context: the analysis.
        node: the expression.
        scope: the body that it stands in.
        depth: how many others it was followed through.
    """
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Call) and last_word(node.func) in {"max", "maximum"} and len(node.args) == 2:
        unknown = [one for one in node.args if not isinstance(constant(one), float)]
        return share_of(context, unknown[0], scope, depth + 1) if len(unknown) == 1 else None  # against zero
    number = constant(node)
    if isinstance(number, int | float) and not isinstance(number, bool):
        return Share(float(number), False) if 0 < number < 1 else None
    if isinstance(node, ast.BinOp):
        other = complement(node)
        rest = share_of(context, other, scope, depth + 1) if other is not None else None
        return rest.other() if rest is not None else None
    if isinstance(node, ast.Name):
        return _variable(context, node, scope, depth)
    if isinstance(node, ast.Subscript):
        entry = isinstance(node.value, ast.Name | ast.Attribute) and isinstance(constant(node.slice), str)
        kept = not any(
            isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load) for n in context.bodies.nodes(scope)
        )
        return Share(ast.unparse(node), False) if entry and kept else None
    if isinstance(node, ast.Attribute):
        return _attribute(context, node, scope, depth)
    return None


def _variable(context: Context, node: ast.Name, scope: Scope, depth: int) -> Share | None:
    stores = context.bodies.stores(scope, node.id)
    if len(stores) > 1 or (stores and is_param(node, scope)):
        return None
    if not stores:
        return Share(node.id, False)
    made = own_expression(context, node, scope)
    found = share_of(context, made, scope, depth + 1) if made is not None else None
    return found if found is not None else Share(node.id, False)


def _attribute(context: Context, node: ast.Attribute, scope: Scope, depth: int) -> Share | None:
    """Return the share that an attribute is, by what ``__init__`` makes it of if nothing else sets it."""
    if not isinstance(node.value, ast.Name | ast.Attribute):
        return None
    text = ast.unparse(node)
    function = scope.function
    own = function.self_param if function is not None else None
    if own is None or not isinstance(node.value, ast.Name) or node.value.id != own.name or function is None:
        stored = any(isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load) and n.attr == node.attr
                     for n in context.bodies.nodes(scope))  # fmt: skip
        return None if stored else Share(text, False)
    methods = function.owner.methods if function.owner is not None else {}
    stores = [
        (name, one, method.scope)
        for name, method in methods.items()
        for one in context.bodies.nodes(method.scope)
        if isinstance(one, ast.Attribute) and one.attr == node.attr and not isinstance(one.ctx, ast.Load)
    ]
    if any(name != "__init__" for name, _, _ in stores) or len(stores) > 1:
        return None
    statement = around(context, stores[0][2]).get(stores[0][1]) if stores else None
    if not isinstance(statement, ast.Assign) or depth > _DEPTH:
        return Share(text, False)
    found = share_of(context, statement.value, stores[0][2], depth + 1)
    if found is None or isinstance(found.base, float):
        return found if found is not None else Share(text, False)
    dotted = found.base if "." in found.base else f"__init__.{found.base}"
    return Share(dotted, found.rest)


def is_param(node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is a parameter of the function that it stands in."""
    return isinstance(node, ast.Name) and scope.function is not None and node.id in scope.function.params


def own_expression(context: Context, node: ast.Name, scope: Scope) -> ast.expr | None:
    """Return the expression that a variable of a body is the name of."""
    made = made_by(context, node, scope)
    return made if made is not None and made in context.bodies.paths(scope) else None
