"""What a function reads only where an argument was left out, which all traced calls give."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.lint.traced import Tracing
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Const


def for_want(context: Context, function: FunctionFacts, node: ast.Attribute) -> bool:
    """Say whether a place is reached only where an argument is None, and no traced call that matters leaves it so.

    A transform of the bare function matters where the code around it also runs what assigns to the attribute: a script
    that only loads a model and runs it does not.

    Args:
        context: the analysis.
        function: the traced function.
        node: an attribute that it reads.
    """
    wanted = {
        block.test.left.id
        for block, arm in context.bodies.paths(function.scope).get(node, ())
        if isinstance(block, ast.If | ast.IfExp)
        if isinstance(block.test, ast.Compare) and isinstance(block.test.left, ast.Name)
        if len(block.test.ops) == 1 and isinstance(block.test.ops[0], ast.Is if arm == "body" else ast.IsNot)
        if isinstance(one := block.test.comparators[0], ast.Constant) and one.value is None
        if block.test.left.id in function.params
    }
    tracing = context.traced.get(function)
    return tracing is not None and any(_given(context, tracing, name, node.attr) for name in wanted)


def _given(context: Context, tracing: Tracing, name: str, attribute: str) -> bool:
    if not tracing.sites:
        return False
    for frame in tracing.sites:
        argument = context.flow.argument(frame, name)
        if argument is None or argument.value == Const(None):
            return False
    writers = {
        event.scope.function.name
        for event in context.flow.fields.stores().get(attribute, ())
        if event.scope.function is not None
    }
    for root in tracing.roots:
        if root.partial and name in root.static:
            continue
        if any(last_word(event.node.func) in writers for event in context.bodies.calls.get(root.scope, ())):
            return False
    return True
