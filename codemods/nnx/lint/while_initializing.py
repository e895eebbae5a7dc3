"""Which traced functions are only called where something is initialized, by a flag that is off in compiled code."""

from __future__ import annotations

import ast
import re

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const

_FLAG = pattern(r"initiali[sz]ing|(^|_)(is_?init|init_?(mode|phase))$", re.I)
_CALLERS = 4  # through how many functions the calls are followed


def while_initializing(context: Context, function: FunctionFacts, depth: int = 0) -> bool:
    """Say whether every call of a function in traced code stands below a flag that is set while something is
    initialized, or never: ``if self.initializing: self.params[name] = initializer(shape)``.

    Args:
        context: the analysis.
        function: a traced function.
        depth: through how many of its callers this is asked.
    """
    tracing = context.traced.get(function)
    if tracing is None or tracing.roots or not tracing.sites or depth > _CALLERS:
        return False
    for frame in tracing.sites:
        caller = frame.caller.function if frame.caller is not None else None
        node = frame.site.node if isinstance(frame.site, Call) else None
        if caller is None or node is None:
            return False
        if not _below_flag(context, node, caller.scope) and not while_initializing(context, caller, depth + 1):
            return False
    return True


def _below_flag(context: Context, node: ast.AST, scope: Scope) -> bool:
    """Say whether a node is reached with a flag alone that compiled code does not see set."""
    for block, arm in context.bodies.paths(scope).get(node, ()):
        if not isinstance(block, ast.If | ast.IfExp) or arm != "body":
            continue
        parts = block.test.values if isinstance(block.test, ast.BoolOp) else [block.test]
        if isinstance(block.test, ast.BoolOp) and not isinstance(block.test.op, ast.And):
            continue
        for test in parts:
            name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
            if name and (_FLAG.search(name) or (isinstance(test, ast.Attribute) and _never_set(context, name))):
                return True
    return False


def _never_set(context: Context, name: str) -> bool:
    """Say whether the project assigns nothing but False or None to attributes of a name."""
    stored = [event.stored for event in context.flow.fields.stores().get(name, ())]
    return bool(stored) and all(isinstance(one, Const) and one.value in (False, None) for one in stored)
