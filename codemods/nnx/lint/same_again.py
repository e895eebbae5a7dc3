"""What a variable that is bound again means for compiled code which reads it: nothing, or a new compilation."""

from __future__ import annotations

import ast
from bisect import bisect_right

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.syntax import constant, inside
from codemods.nnx.values import Call, Free, Param, Unknown, Value


def other_item(context: Context, function: FunctionFacts, name: str, change: ast.AST) -> bool:
    """Say whether a statement changes another item of a dict than those that a function reads.

    Args:
        context: the analysis.
        function: what is compiled, or called by that.
        name: the variable with the dict.
        change: the statement that binds the variable, or an item of it.
    """
    target = change.targets[0] if isinstance(change, ast.Assign) and len(change.targets) == 1 else None
    target = change.target if isinstance(change, ast.AugAssign) else target
    if not isinstance(target, ast.Subscript) or constant(target.slice) is None:
        return False
    nodes = [n for n in context.bodies.nodes(function.scope) if not isinstance(n, ast.expr_context)]
    read = [n for n in nodes if isinstance(n, ast.Name) and n.id == name]
    items = [n for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name) and n.value.id == name]
    keys = [constant(one.slice) for one in items]
    return len(items) == len(read) and None not in keys and constant(target.slice) not in keys


def compiled_anew(context: Context, function: FunctionFacts, free: Free) -> bool:
    """Say whether another optimizer takes the place of the first, whose state is an argument of the compiled function:
    a state of another structure makes JAX compile it anew."""
    reads = [
        n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Name) and n.id == free.name
    ]  # fmt: skip
    steps = [
        event
        for event in context.bodies.calls.get(function.scope, ())
        if isinstance(event.node.func, ast.Attribute)
        and event.node.func.attr == "update"
        and event.node.func.value in reads
        and len(event.value.args) > 1
        and isinstance(event.value.args[1], Param)
        and event.value.args[1].function is function
    ]
    if not steps or len(steps) != len(reads):
        return False
    makers = {_maker(context, value, free.scope) for value in free.scope.bindings.get(free.name, ())}
    return len(makers) > 1


def in_other_cells(context: Context, function: FunctionFacts, free: Free, change: ast.AST) -> bool:
    """Say whether another cell of a notebook makes an optimizer anew: its parameters are most often others, too, and
    JAX compiles for these."""
    starts = function.scope.module.source.cells
    if bisect_right(starts, function.node.lineno) == bisect_right(starts, getattr(change, "lineno", 0)):
        return False
    made = (_maker(context, value, free.scope) for value in free.scope.bindings.get(free.name, ()))
    return all(maker.startswith("optax.") for maker in made)


def of_other_lengths(context: Context, function: FunctionFacts, scope: Scope, change: ast.AST) -> bool:
    """Say whether all calls that follow a change get what a new mask leaves of an array: JAX compiles for its length.

    Args:
        context: the analysis.
        function: what reads a variable, and is compiled.
        scope: the body that changes the variable, and calls the function.
        change: what binds the variable.
    """
    nodes = context.bodies.nodes(scope)
    calls = [
        n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == function.name
    ]
    loops = [n for n in nodes if isinstance(n, ast.For | ast.While)] if calls else []
    line = getattr(change, "lineno", 0)
    first = min((call.lineno for call in calls), default=line)
    after = {
        call: around
        for call in calls
        if (around := [loop for loop in loops if inside(change, loop) and inside(call, loop)]) or call.lineno > line
    }
    return bool(after) and all(
        any(
            all(inside(mask, loop) for loop in around) and (around or mask.lineno > first)
            for mask in _masks(scope, call)
        )
        for call, around in after.items()
    )


def _masks(scope: Scope, call: ast.Call) -> list[ast.expr]:
    """Return the conditions by which the arguments of a call are taken from arrays: ``x[mask]``."""
    indices = [part.slice for part in call.args if isinstance(part, ast.Subscript)]
    values = [scope.module.values.get(index) for index in indices if isinstance(index, ast.Name)]
    made = [value.node for value in values if isinstance(value, Unknown)]
    return [node for node in made if isinstance(node, ast.Compare)]


def _maker(context: Context, value: Value, scope: Scope) -> str:
    """Return what makes an optimizer, with what ``inject_hyperparams`` is given and the like."""
    if not isinstance(value, Call):
        return ""
    if isinstance(value.callee, Call):
        return ast.unparse(value.node.func)
    parts = [_maker(context, one, scope) for one in value.args if isinstance(one, Call)]
    return f"{context.flow.calls.callee_name(context.flow.here(value, scope))}({', '.join(parts)})"
