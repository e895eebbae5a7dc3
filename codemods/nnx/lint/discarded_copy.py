"""Changed copies of frozen objects that nobody takes; part of NNX842."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Attr, Changed

_FROZEN = (b"struct", b"TrainState", b"NamedTuple", b"namedtuple", b"chex", b"PyTreeNode")
_COPYING = frozenset({"replace", "_replace", "apply_gradients"})


def discarded_copies(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the statements that only make a changed copy, with what they would change."""
    if not any(word in module.source.data for module in context.asked.modules for word in _FROZEN):
        return
    own = {name for cls in context.project.classes() for name in cls.methods if name in _COPYING}
    for event in context.bodies.named(*sorted(_COPYING)):
        func, node = event.node.func, event.node
        if event.used or not isinstance(func, ast.Attribute) or not isinstance(event.value.callee, Attr):
            continue
        if event.scope.module not in context.asked or in_test(event.scope) or func.attr in own:
            continue
        words = [keyword.arg for keyword in node.keywords]
        if node.args or not words or None in words or "inplace" in words or context.flow.calls.name(event):
            continue
        if not isinstance(event.statement, ast.Expr) or event.statement.value is not node:
            continue
        if all(_has_it(context, event, keyword) for keyword in node.keywords):
            continue
        if (func.attr != "apply_gradients" or words == ["grads"]) and not context.bodies.guarded(node, event.scope):
            yield event, ast.unparse(func.value)


def _has_it(context: Context, event: CallEvent, given: ast.keyword) -> bool:
    """Say whether an object has the value already that a copy is to get: it is its own attribute, changed in place."""
    assert isinstance(event.value.callee, Attr)
    value = event.scope.module.values.get(given.value)
    while isinstance(value, Changed):
        value = value.before
    return isinstance(value, Attr) and value.name == given.arg and value.base == event.value.callee.base
