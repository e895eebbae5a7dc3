"""Whether a function, or its gradient, may be mapped over examples, so that what it gets is one of them."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, ModuleFacts, Scope
from codemods.nnx.lint.arrays import batched
from codemods.nnx.nodes import last_word

_MAPS = frozenset({"vmap", "pmap", "vectorize"})
_GRADIENTS = frozenset({"grad", "value_and_grad"})


def may_be_mapped(context: Context, function: FunctionFacts, scope: Scope) -> bool:
    """Say whether a function may be given one example at a time.

    So it is if it is mapped, or what maps cannot be told from it; a module that maps other functions says nothing.

    Args:
        context: the analysis.
        function: the function.
        scope: where its gradient is made.
    """
    mapped = context.shared(batched)
    if function in mapped or (scope.function is not None and scope.function in mapped):
        return True
    return any(_in_module(context, function, module) for module in {scope.module, function.scope.module})


def _in_module(context: Context, function: FunctionFacts, module: ModuleFacts) -> bool:
    if not any(module.source.mentions(word.encode()) for word in _MAPS):
        return False
    told: set[ast.AST] = set()
    for event in module.calls:
        if last_word(event.node.func) not in _MAPS or not event.value.args:
            continue
        told.add(event.node.func)
        callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
        if not callees or any(callee.gradient or _like(callee.function, function) for callee in callees):
            return True
    named = (*module.source.of_type(ast.Attribute), *module.source.of_type(ast.Name))
    return any(last_word(node) in _MAPS and node not in told for node in named)


def _like(mapped: FunctionFacts, function: FunctionFacts) -> bool:
    """Say whether what is mapped is a function, or may call it or differentiate something."""
    if mapped is function:
        return True
    words = {last_word(n) for n in ast.walk(mapped.node) if isinstance(n, ast.Name | ast.Attribute)}
    return bool(words & _GRADIENTS) or function.name in words
