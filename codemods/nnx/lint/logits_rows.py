"""Whether logits have a row for each label, as far as the text and the callers tell; for NNX980."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.places import callers_of, position, written
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Param

# what may leave one vector of logits of a whole batch or sequence
_REDUCING = frozenset({"mean", "sum", "max", "min", "average", "squeeze", "ravel", "take", "scan", "vmap"})
_DEPTH = 3  # callers that hand the logits on


def has_rows(context: Context, logits: ast.expr, labels: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Say whether logits certainly have two axes, and the labels one.

    Args:
        context: the analysis.
        logits: the logits.
        labels: the labels.
        scope: where both stand.
        depth: how many callers handed them on.
    """
    made = written(context, logits, scope)
    if _sliced(made) or (Arrays(context, {}).written(logits, scope).axes or 0) >= 2:
        return True
    if Arrays(context, {}).written(labels, scope).axes == 1 and _of_rows(context, made, scope):
        return True
    if _judged(context, logits, labels, scope):
        return True
    values = scope.module.values
    given = [one for node in (logits, labels) if isinstance(one := values.get(node), Param)]
    if depth == _DEPTH or len(given) != 2 or any(one.function is not scope.function for one in given):
        return False
    callers = callers_of(context, given[0].function)
    return bool(callers) and all(_passed_rows(context, event, given, depth) for event in callers)


def _passed_rows(context: Context, event: CallEvent, given: list[Param], depth: int) -> bool:
    """Say whether a call passes logits with two axes, and labels with one."""
    if event.value.starred or event.scope.function is given[0].function:
        return False
    logits, labels = (argument(event.node, position(one), one.name) for one in given)
    return logits is not None and labels is not None and has_rows(context, logits, labels, event.scope, depth + 1)


def _sliced(node: ast.expr) -> bool:
    """Say whether an array is cut along two axes, of which it has as many then: ``logits[:, :-1]``."""
    parts = node.slice.elts if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) else []
    return sum(isinstance(one, ast.Slice) for one in parts) >= 2


def _of_rows(context: Context, made: ast.expr, scope: Scope) -> bool:
    """Say whether logits are computed of an array with two axes, and by nothing that may leave one of them."""
    called = None
    if isinstance(made, ast.Call):
        value = scope.module.values.get(made)
        found = context.flow.calls.invoked(context.flow.here(value, scope)) if isinstance(value, Call) else []
        called = found[0][0].function if len(found) == 1 and not found[0][0].gradient else None
    if called is not None:
        if _leaves_one(called):
            return False
    elif not any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.MatMult) for n in ast.walk(made)):
        return False
    arrays = Arrays(context, {})
    if any(isinstance(n, ast.Call) and last_word(n.func) in _REDUCING for n in ast.walk(made)):
        return False
    names = (n for n in ast.walk(made) if isinstance(n, ast.Name))
    return any((arrays.written(one, scope).axes or 0) >= 2 for one in names)


def _leaves_one(function: FunctionFacts) -> bool:
    """Say whether a function may give one vector for many rows."""
    first = next(iter(function.params), "")
    return any(
        (isinstance(n, ast.Call) and last_word(n.func) in _REDUCING)
        or (isinstance(n, ast.Subscript) and last_word(n.value) != first and _numbered(n.slice))
        for n in ast.walk(function.node)
    )


def _numbered(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(constant(one), int) for one in parts)


def _judged(context: Context, logits: ast.expr, labels: ast.expr, scope: Scope) -> bool:
    """Say whether the same function counts right answers, which are one for each row and label."""
    wanted = ast.dump(labels)
    for node in context.bodies.nodes(scope):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
            continue
        for guess, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            found = written(context, guess, scope)
            if ast.dump(other) != wanted or not isinstance(found, ast.Call) or last_word(found.func) != "argmax":
                continue
            axis = constant(argument(found, 1, "axis"))
            if found.args and axis in (1, -1) and ast.dump(found.args[0]) == ast.dump(logits):
                return True
    return False
