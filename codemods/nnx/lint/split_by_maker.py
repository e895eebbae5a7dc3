"""States that a function splits off its arguments and gives back beside a step; part of NNX811."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.places import position
from codemods.nnx.lint.syntax import argument
from codemods.nnx.values import Call, Const, Item, Param, Sequence, Value


def split_by_maker(context: Context, event: CallEvent, name: str) -> Iterator[tuple[list[ast.expr], str]]:
    """Yield the arguments whose whole state ``step, state = make(model, optimizer)`` gives to a variable.

    Args:
        context: the analysis.
        event: the call.
        name: the variable.

    Yields:
        The arguments, and how all of them are written together.
    """
    statement = event.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
    if not isinstance(target, ast.Tuple) or event.value.starred:
        return
    places = [i for i, one in enumerate(target.elts) if isinstance(one, ast.Name) and one.id == name]
    callees = context.flow.calls.callables(context.flow.here(event.value.callee, event.scope))
    if len(places) != 1 or len(callees) != 1 or callees[0].args or callees[0].receiver is not None:
        return
    function = callees[0].function
    returned = function.returns[0] if len(function.returns) == 1 else None
    if not isinstance(returned, Sequence) or len(returned.items) != len(target.elts):
        return
    params = _split(context, function, returned.items[places[0]])
    given = [argument(event.node, position(param), param.name) for param in params]
    nodes = [node for node in given if node is not None]
    if nodes and len(nodes) == len(given):
        texts = [ast.unparse(node) for node in nodes]
        yield nodes, texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _split(context: Context, function: FunctionFacts, state: Value) -> list[Param]:
    """Return the parameters of which a value is the whole state, as ``nnx.split`` gives it."""
    made = state.base if isinstance(state, Item) and state.index == Const(1) else None
    if not isinstance(made, Call) or len(made.args) != 1 or made.starred:
        return []
    if context.flow.calls.callee_name(context.flow.here(made, function.scope)) != "flax.nnx.split":
        return []
    whole = made.args[0]
    parts = whole.items if isinstance(whole, Sequence) else (whole,)
    params = [part for part in parts if isinstance(part, Param) and part.function is function]
    return params if len(params) == len(parts) else []
