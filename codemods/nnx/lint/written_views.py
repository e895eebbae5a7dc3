"""What NumPy changes in place other than by an assignment to an item; part of NNX840."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.places import each, receiver
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.values import Attr, Call

_METHODS = frozenset({"sort", "fill", "partition", "put", "resize", "byteswap"})
# functions that change their first argument
_CHANGING = frozenset(
    f"numpy.{word}"
    for word in ("fill_diagonal", "copyto", "putmask", "place", "put", "random.shuffle", "put_along_axis")
)
_GENERATORS = frozenset({"numpy.random.default_rng", "numpy.random.RandomState"})


def changed_in_place(context: Context) -> Iterator[tuple[Scope, ast.AST, ast.Name]]:
    """Yield what changes an array of NumPy in place, with the variable that holds the array."""
    for scope, added in each(context, ast.AugAssign):
        if isinstance(added.target, ast.Name) and _of_numpy(context, added.value, scope):
            yield scope, added, added.target
    for event in context.bodies.named(*_METHODS, "shuffle", *(name.rpartition(".")[2] for name in _CHANGING)):
        target = _changed(context, event) if event.scope.module in context.asked else None
        if isinstance(target, ast.Name):
            yield event.scope, event.node, target
    for event in context.bodies.named("clip", "nan_to_num", "add", "subtract", "multiply", "divide", "exp", "maximum"):
        if event.scope.module not in context.asked or not context.flow.calls.name(event).startswith("numpy."):
            continue
        node = keyword(event.node, "out")
        if node is None and constant(keyword(event.node, "copy")) is False and event.node.args:
            node = event.node.args[0]
        if isinstance(node, ast.Name):
            yield event.scope, event.node, node


def _changed(context: Context, event: CallEvent) -> ast.expr | None:
    """Return what a call changes in place; None for other calls, also of methods of the same name."""
    name, call = context.flow.calls.name(event), event.value
    if name:
        return event.node.args[0] if name in _CHANGING and event.node.args else None
    if not isinstance(call.callee, Attr) or event.used:
        return None
    if call.callee.name in _METHODS:
        return receiver(event)
    made = context.sources.originals(context.flow.here(call.callee.base, event.scope))
    shuffles = call.callee.name == "shuffle" and event.node.args and made
    generators = all(isinstance(one.value, Call) and context.flow.calls.callee_name(one) in _GENERATORS for one in made)
    return event.node.args[0] if shuffles and generators else None


def _of_numpy(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an operand is a number or made by NumPy, with which an array of NumPy stays one; an array of JAX
    would take the operation over, and give a new array."""
    if isinstance(constant(node), int | float):
        return True
    value = scope.module.values.get(node)
    if not isinstance(value, Call):
        return False
    return context.flow.calls.callee_name(context.flow.here(value, scope)).startswith("numpy.")
