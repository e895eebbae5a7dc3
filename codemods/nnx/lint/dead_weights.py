"""Computations of other weights out of those of a model, for variables that nobody reads; part of NNX842."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.dropped_tree import computes_only
from codemods.nnx.lint.places import kinds_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Const, Function

# functions that give each weight another value, and are no look at it
_CHANGING = frozenset({"clip", "where", "maximum", "minimum", "multiply", "divide", "add", "subtract", "tanh", "sign",
                       "nan_to_num", "clip_by_value", "dot", "matmul", "round"})  # fmt: skip
_LOOKS = frozenset({"print", "append", "update", "copy_from", "set_value", "setattr", "add", "write", "save"})
_NEW = pattern(r"new|clip|param|weight|state|ema|norm|decay|scal|update|shadow|target|average|grad")


def new_weights(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether a map over the state or the gradient of a model gives each leaf another value, and does no more.

    Args:
        context: the analysis.
        event: the map.
        name: the variable that gets its result.
    """
    if len(event.value.args) != 2 or event.value.starred or len(event.node.args) != 2:
        return False
    kinds = kinds_of(context, event.value.args[1], event.scope)
    if not kinds or not kinds <= {Kind.STATE, Kind.GRADIENT}:
        return False
    given = event.node.args[1]
    if not (isinstance(given, ast.Name) and given.id == name) and not _NEW.search(name):
        return False
    mapped = event.node.args[0]
    if isinstance(mapped, ast.Lambda):
        return _changes(mapped.body)
    if isinstance(mapped, ast.Call):
        return last_word(mapped.func) == "partial" and bool(mapped.args) and last_word(mapped.args[0]) in _CHANGING
    found = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
    if not isinstance(found, Function) or isinstance(found.facts.node, ast.Lambda):
        return False
    results = [n.value for n in ast.walk(found.facts.node) if isinstance(n, ast.Return)]
    return (
        bool(results)
        and all(one is not None and _changes(one) for one in results)
        and computes_only(context, found.facts)
    )


def moves_weights(context: Context, event: CallEvent) -> bool:
    """Say whether a function of the project is called that gives the weights of a target network moved towards others,
    and does no more: ``target = soft_update(online, target, tau)``.

    Args:
        context: the analysis.
        event: the call.
    """
    if not _FOLLOWING.search(last_word(event.node.func)):
        return False
    called = [one.function for one in context.flow.calls.callables(context.flow.here(event.value.callee, event.scope))]
    return bool(called) and all(
        not isinstance(one.node, ast.Lambda)
        and bool(one.returns)
        and Const(None) not in one.returns
        and not any(map(_changing, ast.walk(one.node)))
        and any(
            last_word(n.func) in {"map", "tree_map", "tree_multimap", "incremental_update"} and len(n.args) > 2
            for n in ast.walk(one.node)
            if isinstance(n, ast.Call)
        )
        for one in called
    )


def _changing(node: ast.AST) -> bool:
    """Say whether a node may change something: an assignment to what others hold, or a call for its effect."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        return not isinstance(node.ctx, ast.Load)
    called = isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
    return called or isinstance(node, ast.Global | ast.Nonlocal)


_FOLLOWING = pattern(
    r"^_?((soft|polyak|ema|target)_?(target_?)?(update|average)|(update|move)_?(soft_?)?(target|ema)(_?\w+)?)s?$"
)


def _changes(body: ast.expr) -> bool:
    """Say whether an expression computes another value of a leaf: arithmetic, or a function that gives such."""
    words = {last_word(node.func) for node in ast.walk(body) if isinstance(node, ast.Call)}
    if words & _LOOKS - {"add"} or any(isinstance(node, ast.NamedExpr) for node in ast.walk(body)):
        return False
    if isinstance(body, ast.BinOp):
        read = {node.attr for node in ast.walk(body) if isinstance(node, ast.Attribute)}
        return not read & {"size", "shape", "ndim", "nbytes", "itemsize"}
    return isinstance(body, ast.Call) and last_word(body.func) in _CHANGING
