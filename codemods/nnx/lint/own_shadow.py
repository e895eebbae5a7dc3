"""Averages of a model with itself, which a class keeps under a second name; a part of NNX859."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import foreign, in_test, kinds_of, passed, position
from codemods.nnx.lint.syntax import argument
from codemods.nnx.values import Attr, Call, Class, Param, Value


def own_shadows(context: Context, promises: Callable[[str], bool]) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield the models that an object keeps as its average, and that it is then asked to average with themselves.

    Args:
        context: the analysis.
        promises: says whether an attribute of some name is meant to hold a copy.
    """
    kept: dict[ClassFacts, list[tuple[Param, str, FunctionFacts]]] = {}
    for event, name in foreign(context, "update", everywhere=True):
        held = event.value.args[0] if name == "flax.nnx.update" and event.value.args else None
        method = event.scope.function
        if (
            not isinstance(held, Attr)
            or method is None
            or held.base is not method.self_param
            or not promises(held.name)
        ):
            continue
        cls = method.owner
        stores = cls.stores.get(held.name, []) if cls is not None else []
        given = stores[0][1] if len(stores) == 1 else None
        if cls is not None and isinstance(given, Param) and given.function.name == "__init__":
            kept.setdefault(cls, []).append((given, held.name, method))
    for made in context.asked.calls() if kept else ():
        cls = _made_of(context, made)
        for param, name, method in kept.get(cls, ()) if cls is not None and not in_test(made.scope) else ():
            model = passed(made, param)
            if model is None or kinds_of(context, model, made.scope) != {Kind.MODULE}:
                continue
            if any(_same(context, made, model, call, method) for call in context.bodies.named(method.name)):
                node = argument(made.node, position(param), param.name)
                if node is not None:
                    yield made.scope, node, name


def _made_of(context: Context, event: CallEvent) -> ClassFacts | None:
    callee = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee).value
    return callee.facts if isinstance(callee, Class) else None


def _same(context: Context, made: CallEvent, model: Value, call: CallEvent, method: FunctionFacts) -> bool:
    """Say whether a method of the object that was made gets the model that its constructor got."""
    flow, callee = context.flow, call.value.callee
    if not isinstance(callee, Attr) or flow.resolve(flow.here(callee.base, call.scope)).value is not made.value:
        return False
    own = flow.resolve(flow.here(model, made.scope))
    given = (passed(call, param) for param in method.params.values() if param is not method.self_param)
    return isinstance(own.value, Call) and any(
        one is not None and flow.resolve(flow.here(one, call.scope)) == own for one in given
    )
