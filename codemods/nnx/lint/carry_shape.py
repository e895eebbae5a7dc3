"""Carries that are made for whole sequences, and given to a cell with one step of them; part of NNX874."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import argument, constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr

_CELLS = frozenset(f"flax.nnx.{name}" for name in ("LSTMCell", "OptimizedLSTMCell", "GRUCell", "SimpleCell"))
_TURNING = frozenset({"swapaxes", "moveaxis", "transpose"})
_SCANS = frozenset({"jax.lax.scan", "flax.nnx.scan"})

_MESSAGE = "the carry is made for the shape of whole sequences, and the cell gets one step of them"


def of_whole_sequences(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the shapes of sequences that cells get for the shape of one step, with what is wrong and the way out.

    Args:
        context: the analysis.
    """
    for event in context.bodies.named("initialize_carry"):
        node, function, callee = argument(event.node, 0, "input_shape"), event.scope.function, event.value.callee
        if event.scope.module not in context.asked or function is None or not isinstance(callee, Attr):
            continue
        if not isinstance(event.node.func, ast.Attribute):
            continue
        if not isinstance(node, ast.Attribute) or node.attr != "shape" or not isinstance(node.value, ast.Name):
            continue
        if in_test(event.scope) or context.bodies.guarded(event.node, event.scope) or _stored(function, node.value.id):
            continue
        if owner_class(context, callee.base, event.scope) not in _CELLS:
            continue
        if _stepped(context, event, node.value.id):
            text = node.value.id
            yield event, node, _MESSAGE, f"write initialize_carry({text}[:, 0].shape, rngs)"


def _stored(function: FunctionFacts, name: str) -> bool:
    """Say whether a function gives a name a value besides that of its argument."""
    return any(
        isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in ast.walk(function.node)
    )


def _stepped(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether the function goes through sequences of a name step by step with the cell, or by an nnx.RNN."""
    func = event.node.func
    assert isinstance(func, ast.Attribute)
    cell = ast.unparse(func.value)
    turned = _turned(context, event, name)
    runs = False
    for other in context.bodies.calls.get(event.scope, ()):
        called, given = ast.unparse(other.node.func), other.node.args
        if called == cell and len(given) == 2 and _step(given[1], name):
            return True
        if keyword(other.node, "initial_carry") is not None and given and ast.unparse(given[0]) == name:
            runs = runs or owner_class(context, other.value.callee, other.scope) == "flax.nnx.RNN"
        if context.flow.calls.name(other) in _SCANS and _over(other.node, name, turned) and _runs(event, cell):
            return True
    return runs


def _step(node: ast.expr, name: str) -> bool:
    """Say whether an argument is one step of sequences: ``x[:, t]``, or what a loop takes of turned ones."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name) or node.value.id != name:
        return False
    index = node.slice
    if not isinstance(index, ast.Tuple):
        return False
    first, *rest = index.elts
    if not isinstance(first, ast.Slice) or first.lower is not None or first.upper is not None or not rest:
        return False
    return not isinstance(rest[0], ast.Slice | ast.Starred) and all(isinstance(one, ast.Slice) for one in rest[1:])


def _turned(context: Context, event: CallEvent, name: str) -> frozenset[str]:
    """Return the names of what the function makes of sequences of a name by putting time first."""
    found = set()
    for node in context.bodies.nodes(event.scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            if _turns(node.value, name):
                found.add(node.targets[0].id)
    return frozenset(found)


def _turns(node: ast.expr, name: str) -> bool:
    """Say whether an expression puts the second axis of sequences first: ``jnp.swapaxes(x, 0, 1)``."""
    if not isinstance(node, ast.Call) or last_word(node.func) not in _TURNING:
        return False
    func, given = node.func, list(node.args)
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == name:
        given = [func.value, *given]
    if not given or not isinstance(given[0], ast.Name) or given[0].id != name or node.keywords:
        return False
    axes = [constant(one) for one in given[1:]]
    flat = list(axes[0]) if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
    if last_word(func) == "transpose":
        return flat[:2] == [1, 0]
    return sorted(map(str, flat)) == ["0", "1"]


def _over(call: ast.Call, name: str, turned: frozenset[str]) -> bool:
    """Say whether a scan goes over sequences whose time stands first."""
    xs = argument(call, 2, "xs")
    return xs is not None and ((isinstance(xs, ast.Name) and xs.id in turned) or _turns(xs, name))


def _runs(event: CallEvent, cell: str) -> bool:
    """Say whether a function within, the body of a scan, runs the cell."""
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func) == cell and len(node.args) == 2
        for node in ast.walk(event.scope.node)
    )
