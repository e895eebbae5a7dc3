"""Whether something sets the mode of a module, training or evaluation, before a place of the code runs."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.nodes import last_word
from codemods.nnx.source import Source
from codemods.nnx.values import Attr, Call

_SETTERS = ("eval", "set_attributes", "set_mode")
_FLAGS = frozenset({"deterministic", "use_running_average"})
_OUTER = 4  # functions that call each other


def mode_set(context: Context, made: Bound, place: ast.AST, scope: Scope) -> bool:
    """Say whether something may set the mode of a module before a place runs, as ``model.eval()`` does.

    Args:
        context: the analysis.
        made: the module; that of a call may be told apart from others.
        place: where the module is used.
        scope: where that stands.
    """
    return context.shared(_flags_assigned) or any(
        _may_be(context, event, made) and not _after(context, event, place, scope, 0)
        for event in context.bodies.named(*_SETTERS)
    )


def flags_named(source: Source) -> bool:
    """Say whether a text names a flag of the modes in code, or makes a view of a module, which has its own.

    Args:
        source: the text; what it only prints does not count.
    """
    if source.mentions(b".view("):
        return True
    if not any(source.mentions(flag.encode()) for flag in _FLAGS):
        return False
    names = {node.arg for node in source.of_type(ast.keyword)}
    names |= {node.arg for node in source.of_type(ast.arg)}
    names |= {node.attr for node in source.of_type(ast.Attribute)}
    texts = [key for node in source.of_type(ast.Dict) for key in node.keys]
    texts += [one for node in source.of_type(ast.Call) if last_word(node.func) == "setattr" for one in node.args]
    names |= {one.value for one in texts if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return not names.isdisjoint(_FLAGS)


def _flags_assigned(context: Context) -> bool:
    """Say whether a flag of a layer is assigned to anywhere but in the constructor of its own class."""
    return any(
        event.stored is not None
        and event.node.attr in _FLAGS
        and not (event.scope.function is not None and event.base is event.scope.function.self_param)
        for module in context.project.modules
        if any(module.source.mentions(flag.encode()) for flag in _FLAGS)
        for event in module.attributes
    )


def _may_be(context: Context, event: CallEvent, made: Bound) -> bool:
    """Say whether a call of a method may be one of a module, or of what holds it."""
    callee = event.value.callee
    if not isinstance(callee, Attr) or not isinstance(made.value, Call):
        return True
    of = context.sources.originals(context.flow.here(callee.base, event.scope))
    cls = context.flow.classes.class_of(made)
    return not of or any(
        not isinstance(one.value, Call) or one.value is made.value or context.flow.classes.class_of(one) is not cls
        for one in of
    )


def _after(context: Context, event: CallEvent, place: ast.AST, scope: Scope, depth: int) -> bool:
    """Say whether a call comes after a place when both run: in the same body, or in one that calls its function."""
    line = getattr(place, "lineno", 0)
    if event.scope is scope:
        again = any(getattr(loop, "lineno", 0) <= line <= getattr(loop, "end_lineno", 0) for loop in event.loops)
        return event.node.lineno > (getattr(place, "end_lineno", None) or line) and not again
    function = scope.function
    if function is None or depth > _OUTER:
        return False
    callers = list(context.flow.sites.callers(function))
    return bool(callers) and all(_after(context, event, one.node, one.scope, depth + 1) for one in callers)
