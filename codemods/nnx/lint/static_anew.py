"""Static arguments that are a new object at every call: functions, transformations, objects; part of NNX908."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.lint.places import written
from codemods.nnx.lint.rounds import looped
from codemods.nnx.lint.static_parts import dataclass_options
from codemods.nnx.lint.syntax import inside
from codemods.nnx.nodes import last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Call, Function

#: What makes a transformation of optax, whose functions are new ones each time.
_TRANSFORMATIONS = frozenset(
    f"optax.{word}"
    for word in ("adabelief", "adafactor", "adagrad", "adam", "adamax", "adamaxw", "adamw", "chain", "lamb", "lars",
                 "lion", "nadam", "nadamw", "novograd", "radam", "rmsprop", "sgd", "sm3", "yogi")
)  # fmt: skip
#: What gives a class a say in which of its objects are equal, or are one and the same.
_OWN = frozenset({"__eq__", "__hash__", "__new__"})


def made_anew(context: Context, event: CallEvent, node: ast.expr) -> str:
    """Return in words what kind of object a call makes for an argument each time; empty if it is not known to.

    Args:
        context: the analysis.
        event: the call.
        node: the argument.
    """
    if enclosing_function(event.scope) in context.traced:
        return ""
    value = event.scope.module.values.get(node)
    made: ast.AST = written(context, node, event.scope)
    if isinstance(node, ast.Name) and isinstance(value, Function):
        made = value.facts.node
    if not isinstance(made, ast.Lambda | ast.Call | ast.FunctionDef) or not _each_time(context, event, made):
        return ""
    if isinstance(made, ast.Lambda | ast.FunctionDef) or last_word(made.func) == "partial":
        return "function"
    bound = context.flow.resolve(context.flow.here(event.scope.module.values[made], event.scope))
    if not isinstance(bound.value, Call):
        return ""
    if context.flow.calls.callee_name(bound) in _TRANSFORMATIONS:
        return "transformation"
    cls = context.flow.classes.class_of(bound) if bound.value.node is made else None
    return f"object of `{cls.name}`" if cls is not None and compared_by_identity(context, cls) else ""


def _each_time(context: Context, event: CallEvent, made: ast.AST) -> bool:
    """Say whether each round of a loop around a call makes something, or each call of a function that loops call."""
    loops = [loop for loop in event.loops if isinstance(loop, ast.For | ast.While)]
    if any(inside(made, loop) and not _few(loop) for loop in loops):
        return True
    function = event.scope.function
    if function is None or isinstance(function.node, ast.Lambda) or made is function.node:
        return False
    around = context.bodies.paths(event.scope).get(event.node, ())
    if any(isinstance(block, ast.If | ast.IfExp | ast.Try) for block, _ in around):
        return False  # perhaps in one call alone
    return inside(made, function.node) and looped(context, function)


def _few(loop: ast.For | ast.While) -> bool:
    """Say whether a loop goes through what is written there, as ``for name in ("a", "b")``."""
    return isinstance(loop, ast.For) and isinstance(loop.iter, ast.Tuple | ast.List | ast.Dict)


def compared_by_identity(context: Context, cls: ClassFacts) -> bool:
    """Say whether an object of a class is equal to itself alone, for all that is known of its bases.

    Args:
        context: the analysis.
        cls: the class.
    """
    own, foreign = context.flow.classes.mro(cls)
    if foreign - {"builtins.object"} or context.flow.fields.stores().get("__hash__"):
        return False
    for one in own:
        if one.node.keywords or not _OWN.isdisjoint(one.scope.bindings):
            return False
        options = dataclass_options(context, one) if len(one.decorators) == 1 else None
        if one.decorators and (options is None or options.get("eq") is not False or None in options):
            return False
    return True
