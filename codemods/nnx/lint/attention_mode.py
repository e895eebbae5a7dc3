"""NNX712: attention that is not told whether it decodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr

# where a project speaks of these, the mode may be set from somewhere else
_ELSEWHERE = (b"set_attributes", b".decode", b"nnx.view", b"set_mode", b"setattr")


def _check(context: Context) -> Iterator[Finding]:
    made = [
        event
        for event, name in foreign(context, "MultiHeadAttention")
        if name == "flax.nnx.MultiHeadAttention" and keyword(event.node, "decode") is None and not event.value.starred
    ]
    if not made or any(word in m.source.data for m in context.project.modules for word in _ELSEWHERE):
        return
    for event in made:
        statement, function = event.statement, event.scope.function
        if in_test(event.scope) or not isinstance(statement, ast.Assign) or statement.value is not event.node:
            continue
        if len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        word = last_word(target)
        for call in context.bodies.named(word) if word else ():
            func, callee = call.node.func, call.value.callee
            if call.value.starred or keyword(call.node, "decode") is not None or not call.node.args:
                continue
            if isinstance(target, ast.Name):
                same = isinstance(func, ast.Name) and call.scope is event.scope and callee is event.value
            else:
                outer, owner = call.scope.function, function.owner if function is not None else None
                same = (
                    isinstance(callee, Attr)
                    and outer is not None
                    and owner is not None
                    and outer.owner is owner
                    and callee.base is outer.self_param
                    and len(owner.stores.get(word, ())) == 1
                )
            if same and not context.bodies.guarded(call.node, call.scope):
                yield finding(
                    RULE.code,
                    call.scope,
                    call.node,
                    "the attention is not told whether it decodes, neither here nor where it is made",
                    "make it with decode=False, or with decode=True and a cache",
                    related=[(event.node, "made here")] if call.scope.module is event.scope.module else [],
                )


RULE = lint_rule(
    "NNX712",
    "attention-mode",
    "nnx.MultiHeadAttention is called without being told whether it decodes",
    why="""\
`nnx.MultiHeadAttention` wants `decode=` as an argument of its constructor or of the call: there is no default, and
without it every call raises a ValueError. In training it is False.
""",
    source="measured on Flax 0.10.7 and 0.12.8: ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx


class Block(nnx.Module):
    def __init__(self, dim: int, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(num_heads=4, in_features=dim, rngs=rngs)

    def __call__(self, x):
        return x + self.attention(x)
""",
    ),
    clean=(
        """\
from flax import nnx


class Block(nnx.Module):
    def __init__(self, dim: int, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(num_heads=4, in_features=dim, decode=False, rngs=rngs)
        self.cross = nnx.MultiHeadAttention(num_heads=4, in_features=dim, rngs=rngs)

    def __call__(self, x, other):
        return self.cross(x + self.attention(x), other, decode=False)
""",
    ),
)
