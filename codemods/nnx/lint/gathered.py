"""Whether a program keeps what a generator, or an object that is gone through, gives; part of NNX776."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.places import callers_of, in_test, position
from codemods.nnx.values import Call

_GOING_THROUGH = frozenset({"__iter__", "__next__"})


def gathered(context: Context, function: FunctionFacts) -> bool:
    """Say whether a program keeps all, or some, of what a generator gives: in a list, or in a queue ahead.

    Args:
        context: the analysis.
        function: the generator, or the ``__iter__`` or ``__next__`` of a class.
    """
    if function.owner is not None and function.name in _GOING_THROUGH:
        return any(_gathers(context, node, scope) for node, scope in _objects(context, function))
    return any(_gathers(context, one.node, one.scope) for one in callers_of(context, function))


def _objects(context: Context, method: FunctionFacts) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield where objects of a method's class stand: what makes them, and the names that hold them."""
    for event in context.flow.sites.calls_of(method.owner.name) if method.owner is not None else ():
        bound = context.flow.resolve(context.flow.here(event.value, event.scope))
        if context.flow.classes.class_of(bound) is not method.owner or in_test(event.scope):
            continue
        yield event.node, event.scope
        for node in context.bodies.nodes(event.scope):
            if isinstance(node, ast.Name) and event.scope.module.values.get(node) is event.value:
                yield node, event.scope


def _gathers(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a program keeps all, or some, of what an expression gives when it is gone through."""
    outer = around(context, scope).get(node)
    if isinstance(outer, ast.For):
        return outer.iter is node and _appended(outer)
    if isinstance(outer, ast.comprehension):
        made = around(context, scope).get(outer)
        kept = made.elt if isinstance(made, ast.ListComp | ast.SetComp) and len(made.generators) == 1 else None
        name = outer.target.id if isinstance(outer.target, ast.Name) else ""
        return outer.iter is node and isinstance(kept, ast.Name) and kept.id == name
    if not isinstance(outer, ast.Call):
        return False
    if isinstance(outer.func, ast.Name) and outer.func.id in {"list", "tuple"}:
        return outer.args == [node]
    call, value = scope.module.values.get(outer), scope.module.values.get(node)
    if not isinstance(call, Call) or call.starred or value is None:
        return False
    for callee in context.flow.calls.reached(context.flow.here(call, scope)):
        names = {p.name for p in callee.function.params.values() if call.argument(position(p), p.name) is value}
        loops = (one for one in context.bodies.nodes(callee.function.scope) if isinstance(one, ast.For))
        if any(isinstance(one.iter, ast.Name) and one.iter.id in names and _appended(one) for one in loops):
            return True
    return False


def _appended(loop: ast.For) -> bool:
    """Say whether a loop appends what it goes over."""
    name = loop.target.id if isinstance(loop.target, ast.Name) else ""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and any(isinstance(part, ast.Name) and part.id == name for part in node.args)
        for one in loop.body
        for node in ast.walk(one)
    )
