"""Attributes that compiled code sets and reads again in the same run, whatever an earlier run has left in them."""

from __future__ import annotations

import ast
from typing import TypeGuard

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope
from codemods.nnx.lint.between import compiling_roots
from codemods.nnx.values import Const, Free, Param, Value

_CONSTRUCTORS = frozenset({"__init__", "__post_init__", "__new__", "setup"})


def within_one_run(context: Context, target: ast.Attribute, function: FunctionFacts) -> bool:
    """Say whether all compiled code sets an attribute of its object before it reads it, and no other code reads what
    that leaves there: none reads it, or some sets it as well.

    Args:
        context: the analysis.
        target: the attribute where it is set.
        function: the traced method that sets it.
    """
    owner = function.owner
    if owner is None or function.scope.module.values.get(target.value) is not function.self_param:
        return False
    family = {owner, *context.flow.classes.mro(owner)[0], *context.flow.classes.heirs(owner)}
    if not _set_outside(context, target.attr, family, function.name):
        if _read_outside(context, target.attr, family) or not _read_within(context, target.attr):
            return False
    roots = {root.function for root in compiling_roots(context, function)}
    known: dict[FunctionFacts, str] = {}
    return bool(roots) and all(_first(context, root, target.attr, family, known) == "set" for root in roots)


def _read_outside(context: Context, name: str, family: set[ClassFacts]) -> bool:
    """Say whether code that is not compiled may read an attribute of an object of some classes."""
    for event in context.project.attributes():
        if event.node.attr != name or event.context != "load" or event.scope.function in context.traced:
            continue
        base = _meant(context, event.base, event.scope)
        holder = base.function.owner if isinstance(base, Param) and base is base.function.self_param else None
        holder = holder or context.flow.classes.class_of(context.flow.here(base, event.scope))
        if holder is None or holder in family:
            return True
    return False


def _read_within(context: Context, name: str) -> bool:
    """Say whether compiled code reads an attribute: one that nothing here reads is for those who use the class."""
    return any(
        event.node.attr == name and event.context == "load" and event.scope.function in context.traced
        for event in context.project.attributes()
    )


def _set_outside(context: Context, name: str, family: set[ClassFacts], method: str) -> bool:
    """Say whether code that is not compiled sets an attribute too, to more than a constant and not at first."""
    for event in context.flow.fields.stores().get(name, ()):
        base, function = _meant(context, event.base, event.scope), event.scope.function
        if function is None or function in context.traced or function.name in {*_CONSTRUCTORS, method}:
            continue  # a method that another class has in place of the traced one sets no more than that
        if isinstance(base, Param) and base.function.owner in family and not isinstance(event.stored, Const):
            return True
    return False


def _meant(context: Context, base: Value, scope: Scope) -> Value:
    """Return what a variable of an inner function stands for, as the object of the method around."""
    return context.flow.resolve(context.flow.here(base, scope)).value if isinstance(base, Free) else base


def _first(
    context: Context, function: FunctionFacts, name: str, family: set[ClassFacts], known: dict[FunctionFacts, str]
) -> str:
    """Return what a function does first with an attribute: ``set`` or ``read``; empty if it does neither for certain.

    Args:
        context: the analysis.
        function: the function, with the methods that it calls.
        name: the attribute.
        family: the classes of the object.
        known: what is known of functions so far, each of which is looked at once.
    """
    if function not in known:
        known[function] = ""  # of one that calls itself
        known[function] = _found_first(context, function, name, family, known)
    return known[function]


def _found_first(
    context: Context, function: FunctionFacts, name: str, family: set[ClassFacts], known: dict[FunctionFacts, str]
) -> str:
    other = function.self_param.name if function.self_param is not None and function.owner not in family else ""
    calls = {event.node: event for event in context.bodies.calls.get(function.scope, ())}
    paths = context.bodies.paths(function.scope)
    found: list[tuple[tuple[int, int], ast.AST]] = []
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Assign):
            found += [(_end(node), n) for target in node.targets for n in ast.walk(target) if _names(n, other, name)]
        elif isinstance(node, ast.Call) or (_names(node, other, name) and isinstance(node.ctx, ast.Load)):
            found.append((_end(node), node))
    for _, node in sorted(found, key=lambda one: (one[0], _is_store(one[1]))):
        certain = not any(isinstance(block, ast.If | ast.IfExp | ast.Try | ast.While | ast.For)
                          for block, _ in paths.get(node, ()))  # fmt: skip
        if isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Load):
                return "read"
            if certain:
                return "set"
            continue
        event = calls.get(node) if isinstance(node, ast.Call) else None
        if event is None:
            continue
        done = {
            _first(context, callee.function, name, family, known)
            for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope))
            if callee.function is not function
        }
        if "read" in done:
            return "read"
        if done == {"set"} and certain:
            return "set"
    return ""


def _names(node: ast.AST, other: str, name: str) -> TypeGuard[ast.Attribute]:
    """Say whether a node may be an attribute of the object, and not of the one of another class that has a method."""
    if not isinstance(node, ast.Attribute) or node.attr != name:
        return False
    return not (isinstance(node.value, ast.Name) and node.value.id == other)


def _is_store(node: ast.AST) -> bool:
    """Say whether a node is an attribute that is set, which happens behind all that the same statement reads."""
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)


def _end(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
