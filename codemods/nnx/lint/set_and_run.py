"""Methods that set an attribute to what their caller gives, and then run compiled code that has read it before."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.running import running_calls
from codemods.nnx.lint.syntax import argument, constant, inside, names_in
from codemods.nnx.values import Param


def set_and_run(context: Context, event: AttrEvent, compiled: Iterable[tuple[str, ClassFacts | None]]) -> bool:
    """Say whether a method sets an attribute and runs compiled code, and is called with other values on one object.

    Such as ``def fit(self, rate): self.rate = rate; self.step()`` of which there are calls of ``trainer.fit(0.1)`` and
    ``trainer.fit(0.01)``.

    Args:
        context: the analysis.
        event: what sets the attribute.
        compiled: the attributes under which objects have the compiled code that reads it, with their classes.
    """
    setter, given = event.scope.function, getattr(event.statement, "value", None)
    value = event.scope.module.values.get(given) if given is not None else None
    if setter is None or setter.owner is None or not isinstance(value, Param) or value.function is not setter:
        return False
    if context.bodies.paths(event.scope).get(event.node):  # under a condition
        return False
    owner = ast.unparse(event.node.value)
    if not any(
        call.lineno > event.node.lineno
        for name, cls in compiled
        for call in running_calls(context, event.scope, owner, name, cls)
        if name
    ):
        return False
    return _with_others(context, setter, value)


def _with_others(context: Context, setter: FunctionFacts, param: Param) -> bool:
    """Say whether one body calls a method twice on one object with other constants, or with those that a loop gives."""
    place = list(setter.params).index(param.name) - 1
    seen: dict[tuple[object, str], set[str]] = {}
    for caller in context.bodies.named(setter.name):
        func, scope = caller.node.func, caller.scope
        if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name) or in_test(scope):
            continue
        if caller.value.starred or scope.function in context.traced or not _of_class(context, caller, setter):
            continue
        stores = [n for n in context.bodies.names(scope).get(func.value.id, ()) if isinstance(n.ctx, ast.Store)]
        given = argument(caller.node, place, param.name)
        if given is None or len(stores) > 1:
            continue
        if constant(given) is not None and not context.bodies.paths(scope).get(caller.node):
            found = seen.setdefault((scope, func.value.id), set())
            found.add(ast.dump(given))
            if len(found) > 1:
                return True
        for loop in caller.loops:
            if isinstance(loop, ast.For) and names_in(given) & names_in(loop.target):
                if not any(inside(one, loop) for one in stores):
                    return True
    return False


def _of_class(context: Context, caller: CallEvent, setter: FunctionFacts) -> bool:
    """Say whether a call is that of a method of a class, and of no other one."""
    callee = context.flow.here(caller.value.callee, caller.scope)
    return {one.function for one in context.flow.calls.callables(callee)} == {setter}
