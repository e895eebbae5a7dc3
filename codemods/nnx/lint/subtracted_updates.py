"""Updates of optax that are taken off the parameters, although they carry their sign; part of NNX878."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.names import OPTIMIZERS, TREE_MAPS, last
from codemods.nnx.lint.places import each, foreign, in_test, kinds_of
from codemods.nnx.values import Attr, Call, Const, Item, Value

# the optimizers whose updates go down the slope when they are added
_SIGNED = OPTIMIZERS | {"noisy_sgd", "sm3"}


def subtracted_updates(context: Context) -> Iterator[tuple[Scope, ast.AST]]:
    """Yield where the first result of ``tx.update`` is taken off parameters, by a tree function or as one array.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, *sorted({last(one) for one in TREE_MAPS})):
        if name not in TREE_MAPS or event.value.starred or len(event.value.args) != 3 or in_test(event.scope):
            continue
        if _takes_off(event.node.args[0]) and _updates(context, event.value.args[2], event.scope):
            yield event.scope, event.node
    if not any(module.source.mentions(b"optax") for module in context.asked.modules):
        return
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Sub) or not isinstance(node.right, ast.Name) or in_test(scope):
            continue
        value = scope.module.values.get(node.right)
        if isinstance(value, Item) and _updates(context, value, scope):
            yield scope, node


def _takes_off(node: ast.expr) -> bool:
    """Say whether a function is ``lambda p, u: p - u``."""
    if not isinstance(node, ast.Lambda) or len(node.args.args) != 2 or not isinstance(node.body, ast.BinOp):
        return False
    names = [one.arg for one in node.args.args]
    sides = [side.id if isinstance(side, ast.Name) else "" for side in (node.body.left, node.body.right)]
    return isinstance(node.body.op, ast.Sub) and sides == names


def _updates(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value is the updates that an optimizer of optax gives."""
    if not isinstance(value, Item) or value.index != Const(0) or not isinstance(value.base, Call):
        return False
    callee = value.base.callee
    if not isinstance(callee, Attr) or callee.name != "update" or len(value.base.args) < 2:
        return False
    if kinds_of(context, callee.base, scope) != {Kind.TRANSFORM}:
        return False
    made = context.sources.originals(context.flow.here(callee.base, scope))
    return bool(made) and all(_signed(context, one) for one in made)


def _signed(context: Context, made: Bound) -> bool:
    """Say whether a transformation is an optimizer with its learning rate, or a chain with one."""
    if not isinstance(made.value, Call):
        return False
    name = context.flow.calls.callee_name(made)
    if name == "optax.chain":
        parts = [
            one for given in made.value.args for one in context.sources.originals(context.flow.follow(made, given))
        ]
        return any(isinstance(one.value, Call) and _signed(context, one) for one in parts)
    return name.startswith("optax.") and last(name) in _SIGNED
