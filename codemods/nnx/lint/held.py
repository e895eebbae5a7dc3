"""Plain objects that compiled code holds without getting them as traced arguments.

They are the ``self`` of a method that is bound before it is compiled, static arguments, and what functions capture.
"""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.frames import Bound, Frame
from codemods.nnx.lint.names import COMPILING
from codemods.nnx.lint.places import kinds_of
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Attr, Call, Free, ModuleRef, Param, Ref


def held(context: Context, function: FunctionFacts, node: ast.expr) -> bool:
    """Say whether an expression names a plain object that stays the same while traced code is compiled for it."""
    if not isinstance(node, ast.Name):
        return False
    value = function.scope.module.values.get(node)
    if not isinstance(value, Free | Param) or kinds_of(context, value, function.scope):
        return False
    return _held(context, context.flow.here(value, function.scope), 0)


def _held(context: Context, bound: Bound, depth: int) -> bool:
    value = bound.value
    if isinstance(value, Free):
        if value.scope.function in context.traced:
            return depth < 3 and any(
                isinstance(one, Param | Free) and _held(context, context.flow.here(one, value.scope), depth + 1)
                for one in value.scope.bindings.get(value.name, ())
            )
        found = context.flow.resolve(bound)
        cls = context.flow.classes.class_of(found)
        if cls is not None and "threading.local" in context.flow.classes.mro(cls)[1]:
            return False  # as a rule a stack that is left as it was
        return not isinstance(found.value, ModuleRef | Ref)
    if not isinstance(value, Param):
        return False
    tracing = context.traced.get(value.function)
    if tracing is None:
        return False
    if any(_fixed(root, value) for root in tracing.roots):
        return True
    if depth > 3:
        return False
    own = value is value.function.self_param
    for frame in tracing.sites:
        given = frame.receiver if own else context.flow.argument(frame, value.name)
        if given is not None and given.value is not value and _held(context, given, depth + 1):
            return True
        if own and _captured(context, frame, depth + 1):
            return True
    return False


def _captured(context: Context, frame: Frame, depth: int) -> bool:
    """Say whether the object whose method a call in traced code calls is captured there, as a global is."""
    callee = frame.site.callee if isinstance(frame.site, Call) else None
    scope = context.bodies.home(frame.site.node) if isinstance(frame.site, Call) else None
    if scope is None or not isinstance(callee, Attr) or not isinstance(callee.base, Free):
        return False
    return not kinds_of(context, callee.base, scope) and _held(context, context.flow.here(callee.base, scope), depth)


def _fixed(root: Root, param: Param) -> bool:
    """Say whether a transform compiles a function for one value of a parameter."""
    if root.bound and param is root.function.self_param:
        return True
    readable = bool(root.declared) or len(root.static) < len(root.function.params)
    return root.transform in COMPILING and readable and param.name in root.static - root.unmapped
