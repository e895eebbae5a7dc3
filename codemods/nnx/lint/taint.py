"""Which values are traced arrays: parameters of traced functions and what is computed from them.

A value counts as traced only if the text shows it. What is known while tracing is not traced: shapes, lengths, types,
comparisons with None, static arguments, attributes of objects.
"""

from __future__ import annotations

import ast

from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.kinds import Kind, Kinds
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.names import (
    ARRAY_ATTRIBUTES,
    ARRAY_METHODS,
    BATCHING,
    COMPILING,
    JITS,
    STATIC_RESULTS,
    TREE_MAPS,
    gives_arrays,
    last,
)
from codemods.nnx.lint.traced import Root, Traced, Tracing, function_of, original, root_param
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Choice,
    Comprehension,
    Const,
    Each,
    Free,
    Item,
    Loop,
    Mapping,
    Param,
    Sequence,
    Star,
    Unknown,
    Value,
)

_PYTHON = frozenset({"int", "bool", "str", "float"})  # annotations of what is no array
_BUILTINS = frozenset({"abs", "sum", "min", "max", "round", "pow", "divmod"})


class Taint:
    """Answers whether values are traced arrays."""

    def __init__(self, flow: Flow, kinds: Kinds, traced: Traced) -> None:
        self._flow = flow
        self._kinds = kinds
        self._traced = traced
        self._known: dict[tuple[Value, Scope], bool] = {}
        self._params: dict[Param, bool] = {}

    def node(self, node: ast.expr, scope: Scope) -> bool:
        """Say whether an expression of a scope is a traced array."""
        value = scope.module.values.get(node)
        return value is not None and self.of(value, scope)

    def of(self, value: Value, scope: Scope) -> bool:
        """Say whether a value of a scope is a traced array."""
        key = (value, scope)
        known = self._known.get(key)
        if known is None:
            self._known[key] = False  # ends cycles
            known = self._known[key] = self._of(value, scope)
        return known

    def holds(self, value: Value, scope: Scope) -> bool:
        """Say whether a value is a traced array or a container with one in it."""
        if isinstance(value, Sequence):
            return any(self.holds(item, scope) for item in value.items)
        if isinstance(value, Mapping):
            return any(self.holds(item, scope) for _, item in value.items)
        if isinstance(value, Comprehension):
            return self.holds(value.element, scope)
        if isinstance(value, Star):
            return self.holds(value.value, scope)
        if isinstance(value, Changed) and not isinstance(value.node, ast.AugAssign):
            return self.holds(value.before, scope) or self.holds(value.value, scope)
        return self.of(value, scope)

    def node_holds(self, node: ast.expr, scope: Scope) -> bool:
        """Say the same of an expression, f-strings included."""
        if isinstance(node, ast.JoinedStr):
            return any(isinstance(v, ast.FormattedValue) and self.node(v.value, scope) for v in node.values)
        if isinstance(node, ast.Starred):
            return self.node_holds(node.value, scope)
        value = scope.module.values.get(node)
        return value is not None and self.holds(value, scope)

    # -- values -------------------------------------------------------------------------------------

    def _of(self, value: Value, scope: Scope) -> bool:
        if isinstance(value, Param):
            return self.param(value)
        if isinstance(value, Call):
            return self._call(value, scope)
        if isinstance(value, Attr):
            return self._attribute(value, scope)
        if isinstance(value, Item):
            return self._item(value, scope)
        if isinstance(value, Unknown):
            return self._expression(value.node, scope)
        if isinstance(value, Free):
            return self._free(value)
        if isinstance(value, Choice):
            return any(self.of(option, scope) for option in value.options)
        if isinstance(value, Loop):
            return self.of(value.before, scope) or (value.again is not None and self.of(value.again, scope))
        if isinstance(value, Each):
            return self._each(value, scope)
        if isinstance(value, Changed):
            if isinstance(value.node, ast.AugAssign):
                added = value.value.base if isinstance(value.value, Each) else value.value
                return self.of(value.before, scope) or self.of(added, scope)
            return isinstance(value.node, ast.Subscript) and self.of(value.before, scope)
        return False

    def _each(self, value: Each, scope: Scope) -> bool:
        """An element of an array, or of a list of arrays; the keys of a dict look the same for a parameter."""
        base = value.base
        if isinstance(base, Sequence | Comprehension | Changed):
            return self.holds(base, scope)
        return isinstance(base, Call) and self.of(base, scope)

    def _free(self, value: Free) -> bool:
        if value.scope.function is None or value.scope.function not in self._traced:
            return False
        return any(self.of(bound, value.scope) for bound in value.scope.bindings.get(value.name, ()))

    def _item(self, value: Item, scope: Scope) -> bool:
        base, index = value.base, value.index
        if isinstance(base, Sequence) and isinstance(index, Const) and isinstance(index.value, int):
            if -len(base.items) <= index.value < len(base.items) and not any(isinstance(i, Star) for i in base.items):
                return self.of(base.items[index.value], scope)
        if isinstance(base, Mapping) and isinstance(index, Const):
            for key, item in base.items:
                if isinstance(key, Const) and key.value == index.value:
                    return self.of(item, scope)
        return self.holds(base, scope) or self.of(index, scope)

    def _attribute(self, value: Attr, scope: Scope) -> bool:
        if value.name in ARRAY_ATTRIBUTES:
            return self.of(value.base, scope)
        if value.name == "value":
            param = root_param(value.base)
            if param is not None and param.function in self._traced and isinstance(value.base, Attr):
                return Kind.VARIABLE in self._kinds.of(self._flow.here(value.base, scope))
        return False

    def _expression(self, node: ast.AST, scope: Scope) -> bool:
        values = scope.module.values
        if isinstance(node, ast.BinOp):
            left, right = values.get(node.left), values.get(node.right)
            if isinstance(left, Const) and isinstance(left.value, str):
                return False
            return any(v is not None and self.of(v, scope) for v in (left, right))
        if isinstance(node, ast.UnaryOp):
            return self.node(node.operand, scope)
        if isinstance(node, ast.Compare):
            return self._compare(node, scope)
        if isinstance(node, ast.AugAssign):
            parts = [values.get(node.target), values.get(node.value)]
            return any(v is not None and self.of(v, scope) for v in parts)
        return False

    def _compare(self, node: ast.Compare, scope: Scope) -> bool:
        operands = [node.left, *node.comparators]
        if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            return False
        if any(isinstance(o, ast.Constant) and (o.value is None or isinstance(o.value, str)) for o in operands):
            return False
        if any(isinstance(o, ast.Tuple | ast.List | ast.Dict) for o in operands) and not any(
            isinstance(op, ast.In | ast.NotIn) for op in node.ops
        ):
            return False  # a container is compared
        if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            return isinstance(node.comparators[-1], ast.Tuple | ast.List | ast.Set) and self.node(node.left, scope)
        return any(self.node(o, scope) for o in operands)

    # -- parameters ---------------------------------------------------------------------------------

    def param(self, param: Param) -> bool:
        """Say whether a parameter receives a traced array."""
        if param not in self._params:
            self._params[param] = False  # ends recursion
            tracing = self._traced.get(param.function)
            self._params[param] = tracing is not None and self._received(param, tracing)
        return self._params[param]

    def _received(self, param: Param, tracing: Tracing) -> bool:
        if param is param.function.self_param or self._is_object(param):
            return False
        if any(_traces(root, param) for root in tracing.roots) and not self._left_out(param):
            return True
        note = param.function.annotations.get(param.name)
        if isinstance(note, ast.Name) and note.id in _PYTHON:
            return False
        for frame in tracing.sites:
            argument = self._flow.argument(frame, param.name)
            if argument is None:
                continue
            argument = original(argument)
            scope = argument.frame.function.scope if argument.frame is not None else param.function.scope.module.scope
            if argument.value is not param and self.of(argument.value, scope):
                return True
        return any(self.holds(tree, scope) for name, tree, scope in tracing.mapped if name == param.name)

    def _left_out(self, param: Param) -> bool:
        """Say whether no call in sight gives a parameter that has a default, which is not traced then."""
        function = param.function
        if param.name not in function.defaults:
            return False
        calls = self._flow.callers(function)
        place = list(function.params).index(param.name) if param.name in function.params else None
        if place and function.owner is not None:  # the object whose method is called may take the first place
            place -= 1
        return not any(_gives(event, param.name, place) for event in calls)

    def _is_object(self, param: Param) -> bool:
        """Say whether a parameter is annotated as something that is no array."""
        for bound in self._flow.annotated(param):
            kinds = self._kinds.class_kinds(bound)
            if kinds and not kinds & {Kind.ARRAY, Kind.KEY}:
                return True
        return False

    # -- calls --------------------------------------------------------------------------------------

    def _call(self, value: Call, scope: Scope) -> bool:
        flow = self._flow
        call = flow.here(value, scope)
        callee = flow.follow(call, value.callee)
        name = flow.callee_name(call)
        if name:
            return self._foreign(value, name, scope)
        method = value.callee
        if isinstance(method, Attr) and method.name in ARRAY_METHODS and self.of(method.base, scope):
            return True
        if isinstance(callee.value, Call):
            wrapper = flow.wrapper_name(callee, callee.value)
            if wrapper in GRADIENTS:
                return function_of(scope) in self._traced
            if wrapper in JITS or wrapper in BATCHING:
                return self._arguments(value, scope)
            if wrapper.startswith("flax.nnx.") and self._kinds.of(callee) == {Kind.MODULE}:  # a layer of the library
                return self._arguments(value, scope)
        invoked = flow.invoked(call)
        if invoked:
            if not self._arguments(value, scope) and all(_apart(found.function) for found, _ in invoked):
                return False
            return any(
                self.of(returned, found.function.scope) for found, _ in invoked for returned in found.function.returns
            )
        if isinstance(method, Attr):
            if method.name in {"get", "pop"} and self.of(method.base, scope):
                return True
            param = root_param(method.base)
            own = param is not None and param.function in self._traced
            return own and not isinstance(method.base, Param) and self._arguments(value, scope)
        if isinstance(method, Param) and method.function in self._traced:
            return self._arguments(value, scope)
        return False

    def _foreign(self, value: Call, name: str, scope: Scope) -> bool:
        if name.startswith("builtins."):
            word = last(name)
            return word in _BUILTINS and self._arguments(value, scope)
        if name in {"jax.lax.axis_index"}:
            return True
        if name.startswith("numpy.") and name not in STATIC_RESULTS:
            return self._arguments(value, scope)
        if name in TREE_MAPS:
            return any(self.holds(a, scope) for a in value.args[1:])
        return gives_arrays(name) and self._arguments(value, scope)

    def _arguments(self, value: Call, scope: Scope) -> bool:
        return any(self.holds(a, scope) for a in value.args) or any(self.holds(v, scope) for _, v in value.keywords)


def _apart(function: FunctionFacts) -> bool:
    """Say whether a function gets values by its parameters only."""
    return function.owner is None and function_of(function.scope.parent) is None


def _traces(root: Root, param: Param) -> bool:
    """Say whether a transform traces a parameter; a body leaves those with a default to ``functools.partial``."""
    if param.name in root.static:
        return False
    return root.transform in COMPILING or param.name not in param.function.defaults


def _gives(event: CallEvent, name: str, place: int | None) -> bool:
    """Say whether a call may pass a parameter."""
    if event.value.starred or any(k.arg in {None, name} for k in event.node.keywords):
        return True
    return place is not None and len(event.node.args) > place
