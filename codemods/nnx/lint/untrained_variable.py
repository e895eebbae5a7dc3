"""Weights in a plain nnx.Variable, which no optimizer takes that is made for nnx.Param; part of NNX899."""

from __future__ import annotations

import ast
import re

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.trained_constant import params_trained
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Value

_FIXED = pattern(r"rand|fix|frozen|freeze|const|target|teacher|feature|freq|noise|buffer|ema|stat|quanti|\bvq", re.I)
_SETTING = frozenset({"set_value", "copy_from", "update_from_state", "setattr"})
_FILTERS = frozenset({"All", "Any", "Not", "DiffState", "OfType", "filter_state", "split", "state", "pop", "update",
                      "PathContains", "merge"})  # fmt: skip


def held_in_variable(context: Context, cls: ClassFacts, name: str, stored: Call, init: FunctionFacts) -> Value | None:
    """Return what an attribute holds in an ``nnx.Variable`` that is no parameter and that nothing ever writes.

    Args:
        context: the analysis.
        cls: the class.
        name: the attribute.
        stored: the call that makes it.
        init: the constructor.

    Returns:
        What the Variable begins with; None if it may be meant as it is, or is none.
    """
    if not stored.args or stored.keywords or _FIXED.search(cls.name) or _FIXED.search(name):
        return None
    if context.flow.calls.callee_name(context.flow.here(stored, init.scope)) != "flax.nnx.Variable":
        return None
    if not context.shared(params_trained) or context.shared(_chosen) or name in context.shared(_written):
        return None
    return stored.args[0]


def _chosen(context: Context) -> bool:
    """Say whether the project names ``nnx.Variable`` itself in a filter, or puts states into models."""
    if any(name == "flax.nnx.update" for _, name in foreign(context, "update", everywhere=True)):
        return True
    return any(
        last_word(part) == "Variable" and isinstance(part, ast.Attribute | ast.Name)
        for module in context.project.modules
        for call in module.source.of_type(ast.Call)
        if last_word(call.func) in _FILTERS
        for given in (*call.args, *(word.value for word in call.keywords))
        for part in ast.walk(given)
    )


def _written(context: Context) -> frozenset[str]:
    """Return the attributes whose value some statement of the project sets."""
    found: set[str] = set()
    for module in context.project.modules:
        targets: list[ast.Subscript | ast.Attribute] = [*module.source.of_type(ast.Subscript)]
        targets += module.source.of_type(ast.Attribute)
        found |= {
            node.value.attr
            for node in targets
            if not isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Attribute)
        }
        for call in module.source.of_type(ast.Call):
            func = call.func
            if isinstance(func, ast.Attribute) and func.attr in _SETTING and isinstance(func.value, ast.Attribute):
                found.add(func.value.attr)
            elif last_word(func) == "setattr":
                texts = [one.value for one in call.args if isinstance(one, ast.Constant)]
                found |= {text for text in texts if isinstance(text, str)}
    return frozenset(found)
