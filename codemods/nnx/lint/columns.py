"""Which values are columns: what a module with one feature gives for every example."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.linen_outputs import ELEMENTWISE, gives_column
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Attr, Call, Const, Free, Item, Param, Ref, Sequence, Unknown, Value

_SPACES = ("jax.nn.", "jax.numpy.", "jax.lax.", "flax.nnx.")
# functions whose result has the shape of their first argument
_ALIKE = ELEMENTWISE | {
    "log", "log1p", "expm1", "sqrt", "abs", "square", "clip", "stop_gradient", "log_sigmoid", "asarray", "round",
    "nan_to_num", "negative", "cos", "leaky_relu", "elu",
}  # fmt: skip
_METHODS = frozenset({"astype", "clip", "copy", "round"})
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_DEPTH = 5  # how many values one is followed through


def may_be_column(module: ModuleFacts, node: ast.expr, depth: int = 0) -> bool:
    """Say at a glance whether an expression may be a column, which is asked of all operations of a project."""
    if depth > _DEPTH:
        return False
    if isinstance(node, ast.BinOp):
        return may_be_column(module, node.left, depth + 1) or may_be_column(module, node.right, depth + 1)
    if isinstance(node, ast.UnaryOp):
        return may_be_column(module, node.operand, depth + 1)
    if isinstance(node, ast.Compare):
        return may_be_column(module, node.left, depth + 1)
    value = module.values.get(node)
    if isinstance(value, Item):
        value = value.base
    if isinstance(value, Call):
        func = value.node.func
        if _own(value) or (isinstance(func, ast.Name) and func.id not in _ALIKE):
            return True
        inner = value.node.args[0] if value.node.args else None
        if isinstance(func, ast.Attribute) and func.attr in _METHODS and may_be_column(module, func.value, depth + 1):
            return True
        return inner is not None and may_be_column(module, inner, depth + 1)
    if isinstance(value, Unknown) and value.node is not node and isinstance(value.node, ast.expr):
        return may_be_column(module, value.node, depth + 1)
    return isinstance(value, Free)


class Columns:
    """Answers whether values are columns."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def is_column(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Say whether an expression is a column on every way, of a module that gets more than one example."""
        if depth > _DEPTH:
            return False
        if isinstance(node, ast.UnaryOp):
            return not isinstance(node.op, ast.Not) and self.is_column(node.operand, scope, depth + 1)
        if isinstance(node, ast.Compare):
            return constant(node.comparators[-1]) is not None and self.is_column(node.left, scope, depth + 1)
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, _OPERATORS) and self._operation(node, scope, depth)
        value = scope.module.values.get(node)
        if value is None:
            return False
        if isinstance(value, Unknown):
            inner = value.node
            return inner is not node and isinstance(inner, ast.expr) and self.is_column(inner, scope, depth + 1)
        if isinstance(value, Free):
            return self._free(value, scope, depth)
        return self._is_column(value, scope, depth)

    def one_feature(self, owner: Bound) -> bool:
        """Say whether a value is a module that gives one feature."""
        return self._narrow(owner, None, 0)

    def of_module(self, call: Call, scope: Scope) -> bool:
        """Say whether a call gives the output of a module with one feature on every way."""
        return _own(call) and self._of_module(call, scope, None)

    def _is_column(self, value: Value, scope: Scope, depth: int) -> bool:
        if gives_column(self._context, value, scope):
            return not self._of_one(value, scope)
        place: int | None = None
        if isinstance(value, Item):
            number = value.index.value if isinstance(value.index, Const) else None
            if type(number) is not int:
                return False
            value, place = value.base, number
        if not isinstance(value, Call):
            return False
        context = self._context
        here = context.flow.here(value, scope)
        name = context.flow.calls.callee_name(here)
        if name:
            alike = name.startswith(_SPACES) and last(name) in _ALIKE and place is None and bool(value.node.args)
            return alike and self.is_column(value.node.args[0], scope, depth + 1)
        callee = value.callee
        if isinstance(callee, Attr) and callee.name in _METHODS and isinstance(value.node.func, ast.Attribute):
            return place is None and self.is_column(value.node.func.value, scope, depth + 1)
        return _own(value) and self._of_module(value, scope, place) and not self._of_one(value, scope)

    def _free(self, value: Free, scope: Scope, depth: int) -> bool:
        """Say whether a variable of a function around is a column."""
        found = self._context.flow.resolve(self._context.flow.here(value, scope))
        if found.frame is None or found.value is value:
            return False
        outer = found.frame.function.scope
        if isinstance(found.value, Unknown):
            inner = found.value.node
            return isinstance(inner, ast.expr) and self.is_column(inner, outer, depth + 1)
        return self._is_column(found.value, outer, depth + 1)

    def _operation(self, node: ast.BinOp, scope: Scope, depth: int) -> bool:
        """Say whether an operation is one of two columns, or of a column and a number."""
        columns = [self.is_column(side, scope, depth + 1) for side in (node.left, node.right)]
        if all(columns) or not any(columns):
            return all(columns)
        other = node.right if columns[0] else node.left
        return constant(other) is not None or Arrays(self._context, {}).written(other, scope).axes == 0

    def _of_one(self, value: Value, scope: Scope) -> bool:
        """Say whether a module is applied to a single example, of which it gives a vector of one element."""
        call = value.base if isinstance(value, Item) else value
        given = call.args[-1] if isinstance(call, Call) and call.args else None
        return given is not None and Arrays(self._context, {}).of(given, scope).axes == 1

    def _of_module(self, call: Call, scope: Scope, place: int | None) -> bool:
        """Say whether a call gives the output of a layer with one feature on every way, or has it at a place."""
        owners = self._context.sources.originals(self._context.flow.here(call.callee, scope))
        return bool(owners) and all(self._narrow(owner, place, 0) for owner in owners)

    def _narrow(self, owner: Bound, place: int | None, depth: int) -> bool:
        """Say whether a module gives one feature: a layer, several of which the last one does, or a class.

        Args:
            owner: the module.
            place: which of several results is asked about; None if there is one.
            depth: how many modules this one is in.
        """
        flow = self._context.flow
        found = flow.resolve(owner)
        name = flow.calls.callee_name(found)
        if depth > 3 or not isinstance(found.value, Call):
            return False
        if name == "flax.nnx.Linear":
            width = found.value.argument(1, "out_features")
            return place is None and width is not None and self._one(flow.with_value(found, width))
        if name == "flax.nnx.Sequential":
            layers = list(found.value.args) if not found.value.starred else []
            while layers and self._activation(flow.follow(found, layers[-1])):
                layers.pop()
            ending = layers[-1] if layers else None
            return ending is not None and self._narrow(flow.follow(found, ending), place, depth + 1)
        cls = flow.classes.class_of(found) if not name else None
        method = flow.classes.method(cls, "__call__") if cls is not None else None
        if method is None or not method.returns:
            return False
        returned = [value if place is None else _picked(value, place) for value in method.returns]
        return all(value is not None and self._one_feature(value, method.scope, depth) for value in returned)

    def _one(self, width: Bound) -> bool:
        """Say whether a number is one, whatever the callers give."""
        found = self._context.sources.originals(width)
        return bool(found) and all(one.value == Const(1) for one in found)

    def _activation(self, layer: Bound) -> bool:
        """Say whether a layer of a chain is a function that gives as many columns as it gets."""
        name = layer.value.name if isinstance(layer.value, Ref) else ""
        return name.startswith(_SPACES) and last(name) in _ALIKE

    def _one_feature(self, value: Value, scope: Scope, depth: int) -> bool:
        """Say whether a value is what ``self.layer(x)`` gives of a layer with one feature, or a function of that."""
        if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp) and depth < 3:
            if not isinstance(value.node.op, _OPERATORS):
                return False
            sides = (value.node.left, value.node.right)
            parts = [scope.module.values.get(side) or Unknown(side) for side in sides]
            return any(
                constant(sides[1 - i]) is not None and self._one_feature(part, scope, depth + 1)
                for i, part in enumerate(parts)
            )
        if not isinstance(value, Call) or not isinstance(value.callee, Attr):
            return False
        context = self._context
        name = context.flow.calls.callee_name(context.flow.here(value, scope))
        if name:
            known = name.startswith(_SPACES) and last(name) in _ALIKE and bool(value.args)
            return known and depth < 3 and self._one_feature(value.args[0], scope, depth + 1)
        fields = context.flow.fields.field(context.flow.here(value.callee.base, scope), value.callee.name)
        return bool(fields) and all(self._narrow(one, None, depth + 1) for one in fields)


def _own(call: Call) -> bool:
    """Say whether a call is none of a function at the top of a module."""
    callee = call.callee
    if isinstance(callee, Attr) and callee.name in {"apply", "apply_fn"}:  # also of a module at the top
        return True
    return isinstance(callee, Param | Free | Call) or (isinstance(callee, Attr) and not callee.of_global)


def _picked(value: Value, place: int) -> Value | None:
    """Return one of several results of a function, as far as they are told apart."""
    if not isinstance(value, Sequence) or not isinstance(value.node, ast.Tuple):
        return None
    if any(isinstance(one, ast.Starred) for one in value.node.elts) or not 0 <= place < len(value.items):
        return None
    return value.items[place]
