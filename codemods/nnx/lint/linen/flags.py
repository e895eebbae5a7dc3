"""What the flags of a model of Linen are in a call of it."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Const

# what apply takes for itself
_OWN = frozenset({"rngs", "mutable", "method", "capture_intermediates"})


def call_flags(event: CallEvent, method: FunctionFacts) -> dict[str, object]:
    """Return the literals that the parameters of a model's ``__call__`` get."""
    names = list(method.params)[1:]
    found: dict[str, object] = {
        name: value.value for name, value in method.defaults.items() if isinstance(value, Const)
    }
    found |= {name: constant(node) for name, node in zip(names, event.node.args[1:], strict=False)}
    found |= {k.arg: constant(k.value) for k in event.node.keywords if k.arg is not None and k.arg not in _OWN}
    return found


def is_off(node: ast.expr, flags: Mapping[str, object]) -> bool:
    """Say whether a flag is False, going by what the parameters are."""
    turned = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    inner = node.operand if isinstance(node, ast.UnaryOp) and turned else node
    value = flags.get(inner.id) if isinstance(inner, ast.Name) else constant(inner)
    return value is turned if isinstance(value, bool) else False
