"""Functions that a project hands to others: their names stand in ``__all__``."""

from __future__ import annotations

from codemods.nnx.facts import FunctionFacts, ModuleFacts
from codemods.nnx.flow import Flow
from codemods.nnx.values import Const, Sequence


def exported(flow: Flow, function: FunctionFacts) -> bool:
    """Say whether ``__all__`` of a module names a function, so that code that is not in sight may call it."""
    if function.owner is not None or function.scope.parent is not function.scope.module.scope:
        return False
    return any(
        module.source.mentions(b"__all__") and function.name in _names(module) and _is(flow, module, function)
        for module in flow.project.modules
    )


def _names(module: ModuleFacts) -> set[object]:
    """Return the names in the lists that a module binds to ``__all__``."""
    lists = module.scope.bindings.get("__all__", ())
    items = [item for value in lists if isinstance(value, Sequence) for item in value.items]
    return {item.value for item in items if isinstance(item, Const)}


def _is(flow: Flow, module: ModuleFacts, function: FunctionFacts) -> bool:
    """Say whether a name is a function in a module, also under decorators: defined there, or imported."""
    values = module.scope.bindings.get(function.name, ())
    return any(
        callee.function is function
        for value in values
        for callee in flow.calls.callables(flow.resolve(flow.here(value, module.scope)))
    )
