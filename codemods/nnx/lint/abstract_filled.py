"""What a body does to the abstract model that it makes: whether something may put arrays into it."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Ref, Value


class Filling(enum.IntEnum):
    """How far a model may have been filled."""

    NOTHING = 0
    PARAMETERS = 1  # nothing but its parameters
    PERHAPS = 2  # anything


class _Kind(enum.Enum):
    MODEL = 1
    STATE = 2
    PARAMETERS = 3  # the state of nnx.Param alone


# what takes a model, or a state, and changes neither
_READING = frozenset(
    {"print", "len", "repr", "str", "type", "isinstance", "id", "leaves", "leaves_with_path", "structure", "tabulate",
     "display", "graphdef", "get_partition_spec", "get_named_sharding", "to_pure_dict", "pure", "as_pure",
     "replace_by_pure_dict", "restore", "StandardRestore", "PyTreeRestore", "construct_restore_args"}
)  # fmt: skip
_PARTS = frozenset({"flax.nnx.state", "flax.nnx.split", "flax.nnx.variables"})
_MODES = frozenset({"eval", "train"})


def filling(
    context: Context, scope: Scope, model: Value, looks: Callable[[CallEvent, Value], bool], leaving: bool
) -> Filling:
    """Return how far a body may fill the model that a call in it makes, directly or by the states that share with it.

    Args:
        context: the analysis.
        scope: the body.
        model: the call that makes the abstract model.
        looks: says of a call that is given the model whether it only reads it.
        leaving: whether a state that the body returns may be filled behind it.
    """
    if not isinstance(model, Call) or context.bodies.home(model.node) is not scope:
        return Filling.NOTHING
    return _Uses(context, scope, looks, leaving).of(model)


class _Uses:
    """The uses of a model and of its states in one body."""

    def __init__(
        self, context: Context, scope: Scope, looks: Callable[[CallEvent, Value], bool], leaving: bool
    ) -> None:
        self.context, self.scope, self.looks, self.leaving = context, scope, looks, leaving
        self.parents = {child: node for node in ast.walk(scope.node) for child in ast.iter_child_nodes(node)}
        self.events = {event.node: event for event in context.bodies.calls.get(scope, ())}
        self.tracked: dict[str, _Kind] = {}
        self.pending: list[str] = []

    def of(self, model: Call) -> Filling:
        worst = self._use(model.node, _Kind.MODEL, model)
        while self.pending and worst is not Filling.PERHAPS:
            name = self.pending.pop()
            if self._inner(name):
                return Filling.PERHAPS
            for node in self.context.bodies.names(self.scope).get(name, ()):
                if isinstance(node.ctx, ast.Load):
                    worst = max(worst, self._use(node, self.tracked[name], model))
        return worst

    def _inner(self, name: str) -> bool:
        """Say whether a function within the body reads a variable."""
        return any(
            function.scope.parent is not None
            and name not in function.params
            and name not in function.scope.bindings
            and self._within(function.scope)
            and name in self.context.bodies.names(function.scope)
            for function in self.scope.module.functions
        )

    def _within(self, scope: Scope | None) -> bool:
        while scope is not None and scope.parent is not None:
            scope = scope.parent
            if scope is self.scope:
                return True
        return False

    def _bind(self, target: ast.expr, kind: _Kind) -> Filling:
        if not isinstance(target, ast.Name):
            return Filling.NOTHING if isinstance(target, ast.Attribute) else Filling.PERHAPS
        if self.tracked.setdefault(target.id, kind) is not kind:
            return Filling.PERHAPS
        self.pending.append(target.id)
        return Filling.NOTHING

    def _use(self, node: ast.expr, kind: _Kind, model: Value) -> Filling:
        parent = self.parents.get(node)
        if isinstance(parent, ast.Assign | ast.AnnAssign) and parent.value is node:
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            if any(isinstance(target, ast.Name) and target.id in self.tracked for target in targets):
                return Filling.NOTHING if all(isinstance(one, ast.Name) for one in targets) else Filling.PERHAPS
            return max(self._bind(target, kind) for target in targets)
        if isinstance(parent, ast.Expr):
            return Filling.NOTHING
        if isinstance(parent, ast.Tuple | ast.Return | ast.List | ast.Dict):
            return self._returned(parent, kind)
        if isinstance(parent, ast.keyword):
            parent = self.parents.get(parent)
        if isinstance(parent, ast.Attribute) and kind is _Kind.MODEL:
            called = self.parents.get(parent)
            mode = parent.attr in _MODES and isinstance(called, ast.Call) and called.func is parent
            return Filling.NOTHING if mode else Filling.PERHAPS
        if isinstance(parent, ast.Call):
            return self._given(parent, node, kind, model)
        return self._worst(kind)

    def _worst(self, kind: _Kind) -> Filling:
        return Filling.PARAMETERS if kind is _Kind.PARAMETERS else Filling.PERHAPS

    def _returned(self, node: ast.AST, kind: _Kind) -> Filling:
        """Return what comes of handing a model or a state to the caller, who is asked about the model only."""
        outer: ast.AST | None = node
        while isinstance(outer, ast.Tuple | ast.List | ast.Dict):
            outer = self.parents.get(outer)
        if not isinstance(outer, ast.Return):
            return self._worst(kind)
        return Filling.NOTHING if kind is _Kind.MODEL or not self.leaving else self._worst(kind)

    def _given(self, call: ast.Call, node: ast.expr, kind: _Kind, model: Value) -> Filling:
        """Return what comes of a call that gets a model or a state, or of calling it."""
        if call.func is node:
            return Filling.NOTHING
        event = self.events.get(call)
        if event is None:
            return self._worst(kind)
        name = self.context.flow.calls.name(event)
        word = last_word(call.func)
        if name in _PARTS and kind is _Kind.MODEL and call.args[:1] == [node]:
            return self._parts(call, event, name)
        if name == "flax.nnx.update":
            return self._updated(call) if call.args[:1] == [node] else Filling.NOTHING
        if name == "flax.nnx.merge":
            return self._use(call, _Kind.MODEL, model)
        if name in TREE_MAPS and keyword(call, "is_leaf") is None and len(call.args) < 5:
            return Filling.NOTHING  # leaves are handed on, not the Variables that hold them
        if word in _READING and (name or word.startswith(("restore", "Standard"))):
            return Filling.NOTHING
        if kind is _Kind.MODEL and self.looks(event, model):
            return Filling.NOTHING
        return self._worst(kind)

    def _parts(self, call: ast.Call, event: CallEvent, name: str) -> Filling:
        """Follow the states that a call takes from the model."""
        only = len(event.value.args) == 2 and self._parameters(event.value.args[1])
        if name != "flax.nnx.split":
            return self._use(call, _Kind.PARAMETERS if only else _Kind.STATE, event.value)
        parent = self.parents.get(call)
        if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant):
            return Filling.NOTHING if parent.slice.value == 0 else self._use(parent, _Kind.STATE, event.value)
        target = parent.targets[0] if isinstance(parent, ast.Assign) and len(parent.targets) == 1 else None
        if isinstance(parent, ast.Call):
            return self._use(call, _Kind.STATE, event.value)
        if not isinstance(target, ast.Tuple):
            return Filling.PERHAPS
        kinds = [_Kind.PARAMETERS if self._parameters(one) else _Kind.STATE for one in event.value.args[1:]] or [
            _Kind.STATE
        ]
        if len(kinds) != len(target.elts) - 1:
            return Filling.PERHAPS
        return max(self._bind(one, kind) for one, kind in zip(target.elts[1:], kinds, strict=True))

    def _parameters(self, filter: Value) -> bool:
        return self.context.flow.resolve(self.context.flow.here(filter, self.scope)).value == Ref("flax.nnx.Param")

    def _updated(self, call: ast.Call) -> Filling:
        """Return what ``nnx.update`` writes into the model."""
        if call.keywords or len(call.args) < 2 or not all(map(self._of_parameters, call.args[1:])):
            return Filling.PERHAPS
        return Filling.PARAMETERS

    def _of_parameters(self, node: ast.expr) -> bool:
        """Say whether a state is that of the model's parameters, or another one of its shape."""
        if isinstance(node, ast.Name):
            if self.tracked.get(node.id) is not None:
                return self.tracked[node.id] is _Kind.PARAMETERS
            held = self.scope.module.values.get(node)
            return isinstance(held, Call) and self._shaped(held.node)
        return isinstance(node, ast.Call) and self._shaped(node)

    def _shaped(self, call: ast.Call) -> bool:
        event = self.events.get(call)
        if event is None:
            return False
        name = self.context.flow.calls.name(event)
        if name in _PARTS and name != "flax.nnx.split":
            return len(event.value.args) == 2 and self._parameters(event.value.args[1])
        if name not in TREE_MAPS and last_word(call.func) != "restore":
            return False
        names = [one for one in call.args if isinstance(one, ast.Name) and one.id in self.tracked]
        return bool(names) and all(self.tracked[one.id] is _Kind.PARAMETERS for one in names)
