"""Loops that take a step for every batch, told by the size of the batches."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.formula import at, binary, one_source, operand, same_number
from codemods.nnx.lint.places import is_test
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_STEP = pattern(r"step|update")
_WHOLE = frozenset({"builtins.int", "math.ceil", "math.floor", "numpy.ceil", "numpy.floor"})


def steps_of_loop(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a number is how many batches a loop goes through that takes a step for each.

    Args:
        context: the analysis.
        node: the number, as ``steps_per_epoch`` that is ``len(x) // batch_size``.
        scope: the body that it stands in.
    """
    size = _batch_size(context, at(context, node, scope))
    if size is None:
        return False
    return any(
        same_number(context, size, other)
        for module in context.project.modules
        if not is_test(module)
        for where in (module.scope, *(function.scope for function in module.functions))
        for loop in context.bodies.nodes(where)
        if isinstance(loop, ast.For) and _takes_steps(loop)
        for other in _sizes(context, loop.iter, where)
    )


def _batch_size(context: Context, bound: Bound) -> Bound | None:
    """Return by what the number of examples is divided."""
    found = one_source(context, bound)
    if found is None:
        return None
    if isinstance(found.value, Call) and context.flow.calls.callee_name(found) in _WHOLE and found.value.args:
        found = context.flow.with_value(found, found.value.args[0])
    quotient = binary(found, ast.FloorDiv, ast.Div)
    if quotient is None or not _examples(context, found, quotient.left):
        return None
    return operand(context, found, quotient.right)


def _examples(context: Context, bound: Bound, node: ast.expr) -> bool:
    """Say whether a number is the length of something."""
    found = one_source(context, operand(context, bound, node))
    if found is not None and isinstance(found.value, Call):
        return context.flow.calls.callee_name(found) == "builtins.len"
    return any(isinstance(n, ast.Attribute) and n.attr in {"shape", "size"} for n in ast.walk(node))


def _takes_steps(loop: ast.For) -> bool:
    inner = [n for statement in loop.body for n in ast.walk(statement)]
    if any(isinstance(n, ast.For | ast.While) for n in inner):
        return False
    return any(isinstance(n, ast.Call) and _STEP.search(last_word(n.func)) for n in inner)


def _sizes(context: Context, node: ast.expr, scope: Scope) -> Iterator[Bound]:
    """Yield the sizes of the batches that a loop may go through."""
    if not isinstance(node, ast.Call):
        return
    if last_word(node.func) in {"enumerate", "tqdm", "prefetch", "iter", "list"} and node.args:
        yield from _sizes(context, node.args[0], scope)
    elif last_word(node.func) == "range" and len(node.args) == 3:
        yield at(context, node.args[2], scope)
    elif last_word(node.func) == "reshape" and len(node.args) == 2:
        yield at(context, node.args[1], scope)
    else:
        yield from _of_generator(context, at(context, node, scope))


def _of_generator(context: Context, call: Bound) -> Iterator[Bound]:
    """Yield the sizes of the batches that a generator of the project gives."""
    if not isinstance(call.value, Call):
        return
    for callee, frame in context.flow.calls.invoked(call):
        if not callee.function.generator:
            continue
        for loop in context.bodies.nodes(callee.function.scope):
            if not isinstance(loop, ast.For) or not any(isinstance(n, ast.Yield) for n in ast.walk(loop)):
                continue
            counted = loop.iter
            if isinstance(counted, ast.Call) and last_word(counted.func) == "range" and len(counted.args) == 3:
                inside = at(context, counted.args[2], callee.function.scope)
                yield Bound(inside.value, frame)
